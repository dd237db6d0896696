"""What a transformer of finite width learns: its embedding adapts to the data, and the symmetry of the kernel breaks."""
