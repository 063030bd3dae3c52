"""Complex numbers as pairs of real values: ONNX has no kernels of complex ones."""
