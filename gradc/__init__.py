"""gradc: a compiler from gradient op graphs to plain ONNX."""
