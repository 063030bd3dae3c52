"""Lowerings of pool gradients."""
