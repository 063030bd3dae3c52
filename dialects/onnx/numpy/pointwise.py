# pyright: standard
# (numpy in lambdas, which get their types from no annotation)
"""numpy semantics of the pointwise ops."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from dialects.onnx.call import Call
from dialects.onnx.numpy.error_function import erf
from dialects.onnx.operands import value, values
from dialects.support.diagnostics import violation

Kernel = Callable[[Call], Sequence[np.ndarray]]
Function = Callable[..., np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Compute 1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, 0.0)


def elementwise(function: Function) -> Kernel:
    return lambda call: [function(*values(call))]


def with_attributes(function: Callable[..., np.ndarray], **defaults: float) -> Kernel:
    """Return a kernel for a function of the first operand and of attributes with these defaults."""

    def kernel(call: Call) -> list[np.ndarray]:
        given = {name: call.attribute(name, default) for name, default in defaults.items()}
        return [function(value(call, 0), **given)]

    return kernel


def celu(x: np.ndarray, alpha: float) -> np.ndarray:
    return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))


def elu(x: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


def selu(x: np.ndarray, alpha: float, gamma: float) -> np.ndarray:
    return gamma * elu(x, alpha)


def hard_sigmoid(x: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    return np.maximum(0, np.minimum(1, alpha * x + beta))


def hard_swish(x: np.ndarray) -> np.ndarray:
    return x * hard_sigmoid(x, 1 / 6, 0.5)


def leaky_relu(x: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(x < 0, alpha * x, x)


def thresholded_relu(x: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(x > alpha, x, 0)


def shrink(x: np.ndarray, lambd: float, bias: float) -> np.ndarray:
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


def mish(x: np.ndarray) -> np.ndarray:
    return x * np.tanh(softplus(x))


def swish(x: np.ndarray, alpha: float) -> np.ndarray:
    return x * sigmoid(alpha * x)


def swiglu(call: Call) -> list[np.ndarray]:
    return [swish(value(call, 0), call.attribute("alpha", 1.0)) * value(call, 1)]


def gelu(call: Call) -> list[np.ndarray]:
    x = value(call, 0)
    if call.attribute("approximate", "none") == "tanh":
        return [0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * np.square(x) * x)))]
    return [0.5 * x * (1 + erf(x / math.sqrt(2)))]


def is_inf(x: np.ndarray, detect_negative: int, detect_positive: int) -> np.ndarray:
    return np.isinf(x) & np.where(x > 0, bool(detect_positive), bool(detect_negative))


def prelu(x: np.ndarray, slope: np.ndarray) -> np.ndarray:
    return np.where(x < 0, slope * x, x)


def power(call: Call) -> list[np.ndarray]:
    """Compute x ** y in the type of x; an integer to a negative power is the truncated float result."""
    x, y = values(call)
    result = np.power(x.astype(np.float64), y)
    if x.dtype.kind not in "iu":
        return [result]
    _refuse_inexact(result, x.dtype)
    exact = y.dtype.kind in "iu" and np.all(y >= 0)
    return [np.power(x, y.astype(x.dtype)) if exact else np.trunc(result)]


def _refuse_inexact(result: np.ndarray, dtype: np.dtype) -> None:
    """Raise for results that the type or f64 cannot represent, where runtimes differ."""
    largest = min(np.iinfo(dtype).max, 2**53)
    if not np.all(np.abs(result) <= largest):
        raise violation(f"a power beyond {largest}")


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compute a / b; integer quotients are truncated."""
    if a.dtype.kind == "f":
        return a / b
    _refuse_zero(b)
    floor = a // b
    return floor + ((a % b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


def modulo(call: Call) -> list[np.ndarray]:
    """Compute the remainder of a division that rounds down, or with fmod=1 toward zero."""
    a, b = values(call)
    if a.dtype.kind != "f":
        _refuse_zero(b)
    return [np.fmod(a, b) if call.attribute("fmod", 0) else np.mod(a, b)]


def _refuse_zero(divisor: np.ndarray) -> None:
    if not np.all(divisor):
        raise violation("integer division by zero")


def bit_shift(call: Call) -> list[np.ndarray]:
    """Shift; by the type's width or more, only the sign remains, to the right."""
    x, by = values(call)
    bits = x.dtype.itemsize * 8
    fits = (by >= 0) & (by < bits)
    if call.attribute("direction") == "LEFT":
        return [np.where(fits, np.left_shift(x, np.where(fits, by, 0).astype(x.dtype)), 0)]
    gone = np.where(x < 0, -1, 0).astype(x.dtype) if x.dtype.kind == "i" else np.zeros((), x.dtype)
    return [np.where(fits, np.right_shift(x, np.where(fits, by, 0).astype(x.dtype)), gone)]


def clip(call: Call) -> list[np.ndarray]:
    result = value(call, 0)
    if call.optional(1) is not None:
        result = np.maximum(result, value(call, 1))
    if call.optional(2) is not None:
        result = np.minimum(result, value(call, 2))
    return [result]


def variadic(function: Function) -> Kernel:
    def kernel(call: Call) -> list[np.ndarray]:
        first, *rest = values(call)
        for other in rest:
            first = function(first, other)
        return [first]

    return kernel


def mean(call: Call) -> list[np.ndarray]:
    return [variadic(np.add)(call)[0] / len(call.operands)]


def string_concat(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda x, y: str(x) + str(y), otypes=[object])(a, b)


def regex_full_match(call: Call) -> list[np.ndarray]:
    pattern = re.compile(call.attribute("pattern"))
    match = np.vectorize(lambda text: pattern.fullmatch(str(text)) is not None, otypes=[bool])
    return [match(value(call, 0))]


KERNELS: dict[str, Kernel] = {
    "Abs": elementwise(np.abs),
    "Acos": elementwise(np.arccos),
    "Acosh": elementwise(np.arccosh),
    "Add": elementwise(np.add),
    "And": elementwise(np.logical_and),
    "Asin": elementwise(np.arcsin),
    "Asinh": elementwise(np.arcsinh),
    "Atan": elementwise(np.arctan),
    "Atanh": elementwise(np.arctanh),
    "BitShift": bit_shift,
    "BitwiseAnd": elementwise(np.bitwise_and),
    "BitwiseNot": elementwise(np.bitwise_not),
    "BitwiseOr": elementwise(np.bitwise_or),
    "BitwiseXor": elementwise(np.bitwise_xor),
    "Ceil": elementwise(np.ceil),
    "Celu": with_attributes(celu, alpha=1.0),
    "Clip": clip,
    "Cos": elementwise(np.cos),
    "Cosh": elementwise(np.cosh),
    "Div": elementwise(divide),
    "Elu": with_attributes(elu, alpha=1.0),
    "Equal": elementwise(np.equal),
    "Erf": elementwise(erf),
    "Exp": elementwise(np.exp),
    "Floor": elementwise(np.floor),
    "Gelu": gelu,
    "Greater": elementwise(np.greater),
    "GreaterOrEqual": elementwise(np.greater_equal),
    "HardSigmoid": with_attributes(hard_sigmoid, alpha=0.2, beta=0.5),
    "HardSwish": elementwise(hard_swish),
    "IsInf": with_attributes(is_inf, detect_negative=1, detect_positive=1),
    "IsNaN": elementwise(np.isnan),
    "LeakyRelu": with_attributes(leaky_relu, alpha=0.01),
    "Less": elementwise(np.less),
    "LessOrEqual": elementwise(np.less_equal),
    "Log": elementwise(np.log),
    "Max": variadic(np.maximum),
    "Mean": mean,
    "Min": variadic(np.minimum),
    "Mish": elementwise(mish),
    "Mod": modulo,
    "Mul": elementwise(np.multiply),
    "Neg": elementwise(np.negative),
    "Not": elementwise(np.logical_not),
    "Or": elementwise(np.logical_or),
    "PRelu": elementwise(prelu),
    "Pow": power,
    "Reciprocal": elementwise(lambda x: 1 / x),
    "RegexFullMatch": regex_full_match,
    "Relu": elementwise(lambda x: np.maximum(x, 0)),
    "Round": elementwise(np.rint),
    "Selu": with_attributes(selu, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875),
    "Shrink": with_attributes(shrink, lambd=0.5, bias=0.0),
    "Sigmoid": elementwise(sigmoid),
    "Sign": elementwise(np.sign),
    "Sin": elementwise(np.sin),
    "Sinh": elementwise(np.sinh),
    "Softplus": elementwise(softplus),
    "Softsign": elementwise(lambda x: x / (1 + np.abs(x))),
    "Sqrt": elementwise(np.sqrt),
    "StringConcat": elementwise(string_concat),
    "Sub": elementwise(np.subtract),
    "Sum": variadic(np.add),
    "SwiGLU": swiglu,
    "Swish": with_attributes(swish, alpha=1.0),
    "Tan": elementwise(np.tan),
    "Tanh": elementwise(np.tanh),
    "ThresholdedRelu": with_attributes(thresholded_relu, alpha=1.0),
    "Where": elementwise(np.where),
    "Xor": elementwise(np.logical_xor),
}
