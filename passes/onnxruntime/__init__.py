"""What onnxruntime's graph optimizer does to a model."""
