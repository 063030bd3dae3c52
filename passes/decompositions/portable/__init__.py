"""Decompositions that onnxruntime, OpenVINO, onnxruntime-web and tract compute alike."""
