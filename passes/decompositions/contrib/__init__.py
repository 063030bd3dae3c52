"""Decompositions of ops outside the standard ONNX domain."""
