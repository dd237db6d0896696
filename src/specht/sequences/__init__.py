"""Where token sequences come from, and what counts as one."""
