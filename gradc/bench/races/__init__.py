"""Benchmarks of whole models: ONNX files, and networks that torch exports."""

MODEL_PEERS = ("original", "onnxslim", "forward", "onnx-ad", "torch", "torch.compile")
"""`original` and `forward` are the model itself on onnxruntime, for a compiled model and for a gradient."""

ON_REQUEST = ("torch.compile",)
"""Peers that run on request only: half a minute per case."""

NETWORKS_SUITE, TRAINING_SUITE = "networks", "training"
MODEL_SUITES = (NETWORKS_SUITE, TRAINING_SUITE)
