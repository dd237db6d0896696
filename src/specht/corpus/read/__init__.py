"""From files to windows of tokens."""
