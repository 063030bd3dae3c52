"""Patterns of the pass onnxruntime-peepholes that need more than a few lines."""
