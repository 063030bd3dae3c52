"""Lowerings of ATen ops, one file per group of ops; each has a table `RULES`."""
