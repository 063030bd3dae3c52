"""Lowerings of convolution gradients with respect to data."""
