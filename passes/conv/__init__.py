"""Gradients of convolutions as convolutions and products: phases, windows, rows, and their cost."""
