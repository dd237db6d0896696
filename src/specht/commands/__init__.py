"""The command line: one file a command, which holds its configuration, its computation and its page."""
