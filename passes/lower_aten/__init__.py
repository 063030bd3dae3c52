"""lower-aten: write ATen ops, as PyTorch's captures contain them, as ONNX ops."""

from passes.lower_aten.lower_aten import LowerAtenPass

__all__ = ["LowerAtenPass"]
