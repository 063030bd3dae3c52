"""Benchmarks of whole models: ONNX files, and networks and functions of torch."""

MODEL_PEERS = ("original", "onnxslim", "forward", "onnx-ad", "torch", "torch.compile")
"""`original` and `forward` are the model itself on onnxruntime, for a compiled model and for a gradient."""

ON_REQUEST = ("torch.compile",)
"""Peers that run on request only: half a minute per case."""

NETWORKS_SUITE, TRAINING_SUITE, TORCH_SUITE = "networks", "training", "torch"
DERIVATIVES_SUITE = "derivatives"
MODEL_SUITES = (NETWORKS_SUITE, TRAINING_SUITE, TORCH_SUITE, DERIVATIVES_SUITE)

ONE_THREAD = (TRAINING_SUITE, TORCH_SUITE, DERIVATIVES_SUITE)
"""Suites that run with one thread by default, in CPU time."""
