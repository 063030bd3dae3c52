"""Benchmarks of compiled gradients against other implementations of the same problem, in one process."""
