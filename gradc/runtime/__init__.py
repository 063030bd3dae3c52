"""Models on onnxruntime, OpenVINO and tract."""

RUNTIMES = ("onnxruntime", "openvino", "tract")
"""Runtimes of `gradc run` and `gradc verify`; the first is the default."""
