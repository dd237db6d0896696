"""Invariant kernels to isotypic blocks: one module a method, from the cheapest to the most general."""
