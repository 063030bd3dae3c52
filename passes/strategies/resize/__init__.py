"""Lowerings of resize gradients."""
