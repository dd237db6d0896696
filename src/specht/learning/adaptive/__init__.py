"""Kernels that adapt to the target, as those of networks of finite width do."""
