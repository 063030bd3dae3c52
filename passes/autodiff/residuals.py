"""Residuals: operands and results that the derivative of each op keeps alive, by their ONNX names.

They may depend on the operand whose gradient is requested. Sizes, integers and booleans are not counted.
tests/property/test_residuals.py compares the table with what the rules read where all sizes are static.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_NOTHING = (
    "Add", "AffineGrid", "AveragePool", "Cast", "CastLike", "CenterCropPad", "Col2Im", "Compress", "Concat",
    "CumSum", "DFT", "DepthToSpace", "DequantizeLinear", "Dropout", "Expand", "Flatten", "Gather",
    "GatherElements", "GatherND", "GlobalAveragePool", "Identity", "MaxUnpool", "Mean", "Neg", "OneHot",
    "Pad", "Range", "ReduceMean", "ReduceSum", "Reshape", "Resize", "ReverseSequence", "Slice",
    "ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceErase", "SequenceInsert",
    "SpaceToDepth", "Split", "SplitToSequence", "Squeeze", "Sub", "Sum", "TensorScatter", "Tile",
    "Transpose", "Trilu", "Unsqueeze", "Where",
)  # fmt: skip

RESIDUALS: Mapping[str, str | Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(_NOTHING, ""),
        "Abs": "X",
        "Acos": "input",
        "Acosh": "input",
        "Asin": "input",
        "Asinh": "input",
        "Atan": "input",
        "Atanh": "input",
        "Attention": {
            "Q": "Q K V attn_mask past_key past_value",
            "K": "Q K V attn_mask past_key past_value",
            "V": "Q K attn_mask past_key",
            "attn_mask": "Q K V attn_mask",
            "past_key": "Q K V past_key past_value",
            "past_value": "Q K past_key",
        },
        "BatchNormalization": {
            "X": "X scale input_var",
            "scale": "X input_mean input_var",
            "B": "",
            "input_mean": "scale input_var",
            "input_var": "X scale input_mean input_var",
        },
        "CausalConvWithState": "input weight bias past_state",
        "Celu": "X",
        "Clip": {"input": "input output", "min": "input min", "max": "input max"},
        "Conv": {"X": "W", "W": "X", "B": ""},
        "ConvTranspose": {"X": "W", "W": "X", "B": ""},
        "Cos": "input",
        "Cosh": "input",
        "CumProd": "x",
        "DeformConv": {
            "X": "W offset mask",
            "W": "X offset",
            "offset": "X W offset mask",
            "B": "",
            "mask": "X offset",
        },
        "Det": "X",
        "Div": {"A": "B", "B": "B C"},
        "DynamicQuantizeLinear": "x",
        "Einsum": "Inputs",
        "Elu": "X Y",
        "Erf": "input",
        "Exp": "output",
        "GRU": "X W R B initial_h Y",
        "Gelu": "X",
        "Gemm": {"A": "B", "B": "A", "C": ""},
        "GlobalLpPool": "X Y",
        "GlobalMaxPool": "X",
        "GridSample": {"X": "grid", "grid": "X grid"},
        "GroupNormalization": {"X": "X scale", "scale": "X", "bias": ""},
        "HardSigmoid": "X",
        "HardSwish": "X",
        "InstanceNormalization": {"input": "input scale", "scale": "input", "B": ""},
        "LRN": "X Y",
        "LSTM": "X W R B initial_h initial_c P Y",
        "LayerNormalization": {"X": "X Scale Mean InvStdDev", "Scale": "X Mean InvStdDev", "B": ""},
        "LeakyRelu": "X",
        "LinearAttention": {
            "query": "query key value past_state decay beta",
            "key": "query key value past_state decay beta",
            "value": "query key decay beta",
            "past_state": "query key decay beta",
            "decay": "query key value past_state decay beta",
            "beta": "query key value past_state decay beta",
        },
        "Log": "input",
        "LogSoftmax": "output",
        "LpNormalization": "input output",
        "LpPool": "X Y",
        "MatMul": {"A": "B", "B": "A"},
        "Max": "data_0 max",
        "MaxPool": "X",
        "MeanVarianceNormalization": "X Y",
        "Min": "data_0 min",
        "Mish": "X",
        "Mod": {"A": "", "B": "A B C"},
        "Mul": {"A": "B", "B": "A"},
        "NegativeLogLikelihoodLoss": {"input": "weight", "weight": "input"},
        "PRelu": {"X": "X slope", "slope": "X"},
        "Pow": {"X": "X Y Z", "Y": "X Z"},
        "RMSNormalization": {"X": "X scale", "scale": "X"},
        "RNN": "X W R B initial_h Y",
        "Reciprocal": "Y",
        "ReduceL1": "data",
        "ReduceL2": "data reduced",
        "ReduceLogSum": "reduced",
        "ReduceLogSumExp": "data reduced",
        "ReduceMax": "data reduced",
        "ReduceMin": "data reduced",
        "ReduceProd": "data",
        "ReduceSumSquare": "data",
        "Relu": "Y",
        "RoiAlign": "X",
        "RotaryEmbedding": {"X": "cos_cache sin_cache", "cos_cache": "X", "sin_cache": "X"},
        "STFT": {"signal": "window", "window": "signal"},
        "ScatterElements": "data updates output",
        "ScatterND": "data updates output",
        "Selu": "X Y",
        "Shrink": "input",
        "Sigmoid": "Y",
        "Sin": "input",
        "Sinh": "input",
        "Softmax": "output",
        "SoftmaxCrossEntropyLoss": {"scores": "weights log_prob", "weights": "weights output log_prob"},
        "Softplus": "X",
        "Softsign": "input",
        "Sqrt": "Y",
        "SwiGLU": {"A": "A B", "B": "A"},
        "Swish": "X",
        "Tan": "output",
        "Tanh": "output",
        "ThresholdedRelu": "X",
        "TopK": "Indices",
        "Unique": "indices",
    }
)
"""ONNX op -> its residuals, for all gradients or for each operand's gradient."""


def residuals_text(name: str) -> str:
    """Return the residuals of an op as text."""
    kept = RESIDUALS[name]
    if isinstance(kept, str):
        return kept.replace(" ", ", ")
    return "; ".join(f"{operand}: {names.replace(' ', ', ') or '-'}" for operand, names in kept.items())
