"""Whole models in a benchmark: of a file, and of networks that torch makes."""

MODEL_PEERS = ("original", "onnxslim", "forward", "onnx-ad", "torch", "torch.compile")
"""`original` and `forward` are the model itself on onnxruntime, of a compiled model and of a gradient."""

ON_REQUEST = ("torch.compile",)
"""Takes half a minute a case."""

NETWORKS_SUITE = "networks"
