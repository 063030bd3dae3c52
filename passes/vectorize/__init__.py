"""Vectorization over a new leading axis of chosen inputs: a vmap over ONNX ops."""
