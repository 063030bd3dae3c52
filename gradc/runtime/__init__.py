"""Models on onnxruntime."""
