"""Gradients of resizes: their axes, sampling at known and at run-time sizes, and the forms of one axis."""
