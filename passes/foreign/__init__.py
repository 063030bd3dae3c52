"""Ops of other domains than ONNX's own that ops of ONNX stand for: a gradient goes through these."""
