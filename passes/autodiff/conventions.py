"""Conventions at kinks, and static requirements of VJP rules, as text for the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_SHARE = "equal operands share, each the same part"
_NORM = "0 where the norm is 0"
_FIRST = "the first of equal maxima of a window takes all"

KINKS: Mapping[str, str] = MappingProxyType(
    {
        "Abs": "0 at 0",
        "Clip": "1 at both bounds; where the upper bound is below the lower, all goes to the upper",
        "CumProd": "right where factors are 0",
        "Elu": "alpha at 0",
        "GlobalLpPool": _NORM,
        "GlobalMaxPool": _FIRST,
        "HardSigmoid": "0 at both ends of the slope",
        "HardSwish": "0 at -3, 1 at 3",
        "LeakyRelu": "alpha at 0",
        "LpNormalization": _NORM,
        "LpPool": _NORM,
        "Max": _SHARE,
        "MaxPool": _FIRST,
        "Min": _SHARE,
        "Mod": "that between jumps",
        "PRelu": "the slope at 0",
        "Pow": "0 at 0 where the exponent is 0; inf at 0 where it is below 1, as for Sqrt",
        "ReduceL1": "0 at 0",
        "ReduceL2": _NORM,
        "ReduceLogSumExp": "0 where all elements are -inf",
        "ReduceMax": _SHARE.replace("operands", "elements"),
        "ReduceMin": _SHARE.replace("operands", "elements"),
        "ReduceProd": "right where factors are 0",
        "Relu": "0 at 0",
        "ScatterElements": "`mul`: right where factors are 0; `max`, `min`: equal ones share the cotangent",
        "ScatterND": "as ScatterElements",
        "Selu": "alpha gamma at 0",
        "Shrink": "0 at both ends of the gap",
        "Sqrt": "inf at 0, but 0 of a sum of squares",
        "ThresholdedRelu": "0 at alpha",
        "TopK": "what was chosen takes all",
    }
)
"""ONNX op -> its derivative at kinks, ties and bounds."""

_KERNEL = "the sizes of the kernel"

STATIC_REQUIREMENTS: Mapping[str, str] = MappingProxyType(
    {
        "CausalConvWithState": "the shape of the weights",
        "DeformConv": _KERNEL,
        "Det": "the size of the matrices, which is at most 8",
        "Loop": "nothing, but what is carried keeps its rank",
    }
)
"""ONNX op -> what must be static to write its gradient, besides all ranks."""

UNSUPPORTED_VARIANTS: Mapping[str, str] = MappingProxyType(
    {
        "Einsum": "a label twice in the result",
        "Resize": "by scales and by a region",
    }
)
"""ONNX op -> variants without a derivative in gradc."""
