# pyright: standard
# (numpy meanings in lambdas, which get their types from no annotation)
"""Op specs of the elementwise ops; formulas are those of oneDNN 3.13's pages.

The semantics are written from the formulas, in float64, independently of the lowerings. Where a page and the
library differ (GELU's square root), the library's formula is used.
"""

from __future__ import annotations

import math

import numpy as np

from dialects.onednn.op_spec import BackwardOpSpec, OpSpec
from dialects.support.attributes import FLOAT, word

GELU_MODE = word("gelu_erf", "gelu_tanh", default="gelu_erf")
ALPHA = {"alpha": FLOAT}
ALPHA_BETA = {"alpha": FLOAT, "beta": FLOAT}
BOUNDS = {"min": FLOAT, "max": FLOAT}
STEEPNESS = {"beta": FLOAT.with_default(1.0)}

ARITHMETIC = ("f32", "bf16", "f16", "f64", "s32")
"""Dtypes of binary ops that support integers."""

_TANH_SCALE = math.sqrt(2 / math.pi)
_CUBE = 0.044715

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0, -x))


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, x)


def gelu(x: np.ndarray, mode: str) -> np.ndarray:
    if mode == "gelu_erf":
        return 0.5 * x * (1 + erf(x / math.sqrt(2)))
    return 0.5 * x * (1 + np.tanh(_TANH_SCALE * (x + _CUBE * x**3)))


def gelu_slope(x: np.ndarray, mode: str) -> np.ndarray:
    if mode == "gelu_erf":
        density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return 0.5 * (1 + erf(x / math.sqrt(2))) + x * density
    tanh = np.tanh(_TANH_SCALE * (x + _CUBE * x**3))
    inner = _TANH_SCALE * (1 + 3 * _CUBE * x**2)
    return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh**2) * inner


def mish_slope(x: np.ndarray) -> np.ndarray:
    tanh = np.tanh(softplus(x))
    return tanh + x * sigmoid(x) * (1 - tanh**2)


def hard_swish_slope(x: np.ndarray) -> np.ndarray:
    return np.where(x <= -3, 0, np.where(x >= 3, 1, x / 3 + 0.5))


def within(value: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return where a value is strictly between two bounds."""
    return (value > low) & (value < high)


UNARY = (
    OpSpec("Abs", "abs(src[i])", np.abs),
    OpSpec("Clamp", "min(max(src[i], min), max)", lambda x, min, max: np.clip(x, min, max), BOUNDS),
    OpSpec(
        "Elu",
        "src[i] if src[i] > 0, else alpha (exp(src[i]) - 1)",
        lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x)),
        ALPHA,
    ),
    OpSpec("Exp", "exp(src[i])", np.exp),
    OpSpec(
        "GELU",
        "src[i] (1 + erf(src[i] / sqrt(2))) / 2, or with gelu_tanh "
        "src[i] (1 + tanh(sqrt(2 / pi) (src[i] + 0.044715 src[i]^3))) / 2",
        gelu,
        {"mode": GELU_MODE},
    ),
    OpSpec(
        "HardSigmoid",
        "max(0, min(1, alpha src[i] + beta))",
        lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
        ALPHA_BETA,
    ),
    OpSpec("HardSwish", "src[i] min(max(src[i] + 3, 0), 6) / 6", lambda x: x * np.clip(x + 3, 0, 6) / 6),
    OpSpec(
        "LeakyReLU",
        "src[i] if src[i] > 0, else alpha src[i]",
        lambda x, alpha: np.where(x > 0, x, alpha * x),
        ALPHA,
    ),
    OpSpec("Log", "log(src[i])", np.log),
    OpSpec("Mish", "src[i] tanh(log(1 + exp(src[i])))", lambda x: x * np.tanh(softplus(x))),
    OpSpec("Pow", "src[i]^beta", lambda x, beta: x**beta, {"beta": FLOAT}),
    OpSpec("ReLU", "max(src[i], 0)", lambda x: np.maximum(x, 0)),
    OpSpec("Reciprocal", "1 / src[i]", lambda x: 1 / x),
    OpSpec("Reorder", "src[i]: an order of bytes in memory is none of a model", lambda x: x, moves=True),
    OpSpec("Round", "src[i] rounded to an integer, half to even", np.rint, decides=True),
    OpSpec("Sigmoid", "1 / (1 + exp(-src[i]))", sigmoid),
    OpSpec(
        "SoftPlus",
        "log(1 + exp(beta src[i])) / beta",
        lambda x, beta: softplus(beta * x) / beta,
        STEEPNESS,
    ),
    OpSpec("Sqrt", "sqrt(src[i])", np.sqrt),
    OpSpec("Square", "src[i]^2", np.square),
    OpSpec("Tanh", "tanh(src[i])", np.tanh),
)

BINARY = (
    OpSpec("Add", "src_0[i] + src_1[i]", np.add, dtypes=ARITHMETIC),
    OpSpec("Divide", "src_0[i] / src_1[i]", np.divide),
    OpSpec("Maximum", "max(src_0[i], src_1[i])", np.maximum),
    OpSpec("Minimum", "min(src_0[i], src_1[i])", np.minimum),
    OpSpec("Multiply", "src_0[i] src_1[i]", np.multiply),
    OpSpec("SquaredDifference", "(src_0[i] - src_1[i])^2", lambda a, b: np.square(a - b)),
    OpSpec("Subtract", "src_0[i] - src_1[i]", np.subtract, dtypes=ARITHMETIC),
)

COMPARISON = (
    OpSpec("GreaterEqual", "src_0[i] >= src_1[i]", np.greater_equal, dtypes=ARITHMETIC, decides=True),
)

CHOICE = (OpSpec("Select", "src_0[i] where cond[i], else src_1[i]", np.where),)

BACKWARD = (
    BackwardOpSpec("AbsBackward", "diff_dst[i] sign(src[i]), 0 at 0", lambda x, g: g * np.sign(x)),
    BackwardOpSpec(
        "ClampBackward",
        "diff_dst[i] where min < src[i] < max, else 0",
        lambda x, g, min, max: np.where(within(x, min, max), g, 0),
        BOUNDS,
        from_dst=lambda y, g, min, max: np.where(within(y, min, max), g, 0),
    ),
    BackwardOpSpec(
        "EluBackward",
        "diff_dst[i] where src[i] > 0, else diff_dst[i] alpha exp(src[i]); "
        "by dst, else diff_dst[i] (dst[i] + alpha)",
        lambda x, g, alpha: np.where(x > 0, g, g * alpha * np.exp(np.minimum(x, 0))),
        ALPHA,
        from_dst=lambda y, g, alpha: np.where(y > 0, g, g * (y + alpha)),
    ),
    BackwardOpSpec(
        "GELUBackward",
        "diff_dst[i] times the derivative of GELU at src[i]",
        lambda x, g, mode: g * gelu_slope(x, mode),
        {"mode": GELU_MODE},
    ),
    BackwardOpSpec(
        "HardSigmoidBackward",
        "diff_dst[i] alpha where 0 < alpha src[i] + beta < 1, else 0",
        lambda x, g, alpha, beta: np.where(within(alpha * x + beta, 0, 1), g * alpha, 0),
        ALPHA_BETA,
    ),
    BackwardOpSpec(
        "HardSwishBackward",
        "0 where src[i] <= -3, diff_dst[i] where src[i] >= 3, else diff_dst[i] (src[i] / 3 + 1/2)",
        lambda x, g: g * hard_swish_slope(x),
    ),
    BackwardOpSpec(
        "MishBackward", "diff_dst[i] times the derivative of Mish at src[i]", lambda x, g: g * mish_slope(x)
    ),
    BackwardOpSpec(
        "ReLUBackward",
        "diff_dst[i] where src[i] > 0, else 0",
        lambda x, g: np.where(x > 0, g, 0),
        from_dst=lambda y, g: np.where(y > 0, g, 0),
    ),
    BackwardOpSpec(
        "SigmoidBackward",
        "diff_dst[i] s (1 - s), s being the sigmoid of src[i]; by dst, s is dst[i]",
        lambda x, g: g * sigmoid(x) * sigmoid(-x),
        from_dst=lambda y, g: g * y * (1 - y),
    ),
    BackwardOpSpec(
        "SoftPlusBackward",
        "diff_dst[i] / (1 + exp(-beta src[i]))",
        lambda x, g, beta: g * sigmoid(beta * x),
        STEEPNESS,
    ),
    BackwardOpSpec(
        "SqrtBackward",
        "diff_dst[i] / (2 sqrt(src[i])); by dst, diff_dst[i] / (2 dst[i])",
        lambda x, g: g / (2 * np.sqrt(x)),
        from_dst=lambda y, g: g / (2 * y),
    ),
    BackwardOpSpec(
        "TanhBackward",
        "diff_dst[i] (1 - tanh(src[i])^2); by dst, diff_dst[i] (1 - dst[i]^2)",
        lambda x, g: g * (1 - np.tanh(x) ** 2),
        from_dst=lambda y, g: g * (1 - y**2),
    ),
)
