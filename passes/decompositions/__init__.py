"""Ops expressed by other ops: for targets without a kernel, older opsets, other domains."""
