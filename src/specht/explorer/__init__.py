"""The interactive explorer: theory that moves while one looks at it. `specht explore` serves it to a browser of this machine."""
