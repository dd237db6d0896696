"""The command line: one file or folder a command, which holds its configuration, its computation and its page."""
