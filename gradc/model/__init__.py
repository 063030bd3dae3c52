"""ONNX models: export, saving, and inspection without a runtime."""
