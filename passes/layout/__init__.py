"""Axis orders of ops and tensors, and the cost of changing them."""
