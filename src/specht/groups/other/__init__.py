"""Other symmetries than that of positions: rotations, segments, sets and graphs, with labels that a spectrum can carry."""
