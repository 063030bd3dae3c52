"""ONNX models: written, saved, and looked at before a runtime opens one."""
