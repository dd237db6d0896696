"""Exact group theory: which irreducible representations there are, how large they are, and how often each one occurs."""
