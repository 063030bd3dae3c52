"""Facts about onnxruntime: its quirks, and a model of its graph optimizer."""
