"""Gradients of resizes: axes, sampling at static and dynamic sizes, and the lowerings of one axis."""
