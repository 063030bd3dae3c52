"""Activations of neural networks and their backward ops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from dialects.onnx import ops as onnx
from dialects.shapes.sizes import floordiv
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.precision import in_float32
from passes.lower_aten.promotion import is_float
from passes.lower_aten.rules.pointwise import error_function
from passes.lower_aten.shapes import sizes


def silu(f: Call, e: Builder) -> Value:
    return f.self * f.self.sigmoid()


def silu_backward(f: Call, e: Builder) -> Value:
    sigmoid = f.self.sigmoid()
    return f.grad_output * sigmoid * (1 + f.self * (1 - sigmoid))


def gelu(f: Call, e: Builder) -> Value:
    """x times the normal distribution function, or its approximation by tanh."""
    x = f.self
    if f.approximate == "none":
        return x * 0.5 * (1 + error_function(x * math.sqrt(0.5)))
    return x * 0.5 * (1 + _gelu_argument(x).tanh())


def _gelu_argument(x: Value) -> Value:
    return (x + x * x * x * _CUBIC) * math.sqrt(2 / math.pi)


_CUBIC = 0.044715


def gelu_backward(f: Call, e: Builder) -> Value:
    x, g = f.self, f.grad_output
    if f.approximate == "none":
        density = (x * x * -0.5).exp() * math.sqrt(0.5 / math.pi)
        return g * (0.5 * (1 + error_function(x * math.sqrt(0.5))) + x * density)
    tanh = _gelu_argument(x).tanh()
    slope = (1 + x * x * (3 * _CUBIC)) * math.sqrt(2 / math.pi)
    return g * (0.5 * (1 + tanh) + x * 0.5 * (1 - tanh * tanh) * slope)


def elu(f: Call, e: Builder) -> Value:
    """scale * x above 0, else scale * alpha * (e^(input_scale * x) - 1)."""
    x = f.self
    if f.scale == f.input_scale == 1 and f.dtype == f32:
        return x.apply(onnx.EluOp, alpha=float(f.alpha))
    if f.input_scale == 1 and f.dtype == f32:
        return x.apply(onnx.SeluOp, alpha=float(f.alpha), gamma=float(f.scale))
    below = ((x * f.input_scale).exp() - 1) * (f.alpha * f.scale)
    return (x > 0).where(x * f.scale, below)


def elu_backward(f: Call, e: Builder) -> Value:
    """The gradient from the input, or from the result if `is_result`."""
    g, x = f.grad_output, f.self_or_result
    if f.is_result:
        slope = (x + f.alpha * f.scale) * f.input_scale
    else:
        slope = (x * f.input_scale).exp() * (f.input_scale * f.alpha * f.scale)
    return g * (x > 0).where(e.fill_like(f.scale, x), slope)


def celu(f: Call, e: Builder) -> Value:
    """max(x, 0) + min(0, alpha * (e^(x / alpha) - 1))."""
    x = f.self
    return (x > 0).where(x, ((x / f.alpha).exp() - 1) * f.alpha)


def leaky_relu(f: Call, e: Builder) -> Value:
    if f.dtype == f64:  # the attribute is a float32
        return (f.self > 0).where(f.self, f.self * f.negative_slope)
    return f.self.apply(onnx.LeakyReluOp, alpha=float(f.negative_slope))


def leaky_relu_backward(f: Call, e: Builder) -> Value:
    return (f.self > 0).where(f.grad_output, f.grad_output * f.negative_slope)


def threshold(f: Call, e: Builder) -> Value:
    """x, or `value` where x <= threshold."""
    x = f.self
    if f.threshold == 0 and f.value == 0 and is_float(f.dtype):
        return x.apply(onnx.ReluOp)
    return (x <= f.number(f.threshold, x.dtype)).where(f.number(f.value, x.dtype), x)


def threshold_backward(f: Call, e: Builder) -> Value:
    return e.keep(f.grad_output, f.self > f.number(f.threshold, f.self.dtype))


def hardtanh(f: Call, e: Builder) -> Value:
    """x in [min_val, max_val], which are rounded towards zero for integers."""
    low, high = (limit if is_float(f.dtype) else int(limit) for limit in (f.min_val, f.max_val))
    return f.self.apply(onnx.ClipOp, f.number(low, f.dtype), f.number(high, f.dtype))


def hardtanh_backward(f: Call, e: Builder) -> Value:
    return e.keep(f.grad_output, (f.self > float(f.min_val)) & (f.self < float(f.max_val)))


def hardswish(f: Call, e: Builder) -> Value:
    return f.self * hardsigmoid(f, e)


def hardswish_backward(f: Call, e: Builder) -> Value:
    """0 below -3, x / 3 + 1 / 2 up to 3, then 1."""
    x = f.self
    middle = x * (1 / 3) + 0.5
    return f.grad_output * (x < -3).where(e.fill_like(0, x), (x > 3).where(e.fill_like(1, x), middle))


def hardsigmoid(f: Call, e: Builder) -> Value:
    if f.dtype == f64:  # the attributes are float32
        return (f.self / 6 + 0.5).clip_to(0, 1)
    return f.self.apply(onnx.HardSigmoidOp, alpha=1 / 6, beta=0.5)


def hardsigmoid_backward(f: Call, e: Builder) -> Value:
    return e.keep(f.grad_output * (1 / 6), f.self.abs() < 3)


def hardshrink(f: Call, e: Builder) -> Value:
    return (f.self.abs() <= float(f.lambd)).where(e.scalar(0, f.self), f.self)


def softshrink(f: Call, e: Builder) -> Value:
    """x moved towards 0 by lambda, and 0 within lambda of it."""
    return f.self - f.self.clip_to(-float(f.lambd), float(f.lambd))


def shrink_backward(f: Call, e: Builder) -> Value:
    x = f.self
    return (x.abs() <= float(f.lambd)).where(
        e.scalar(0, x), f.grad_output if f.has("grad_output") else f.grad_out
    )


_SMALLEST: Mapping[Attribute, float] = {f64: 2e-16, f32: 1e-7}
"""Relative rounding error by dtype."""


def _has_visible_threshold(f: Call) -> bool:
    """Return whether x and log(1 + e^x) differ by more than a rounding at the threshold."""
    return math.exp(-f.threshold) > _SMALLEST[_key(f.dtype)] * max(f.threshold, 0)


def _key(dtype: Attribute) -> Attribute:
    return f64 if dtype == f64 else f32


def softplus(f: Call, e: Builder) -> Value:
    """log(1 + e^(beta * x)) / beta, and x where beta * x exceeds the threshold."""
    scaled = f.self if f.beta == 1 else f.self * f.beta
    smooth = scaled.softplus()
    smooth = smooth if f.beta == 1 else smooth / f.beta
    return (scaled > float(f.threshold)).where(f.self, smooth) if _has_visible_threshold(f) else smooth


def softplus_backward(f: Call, e: Builder) -> Value:
    scaled = f.self if f.beta == 1 else f.self * f.beta
    smooth = f.grad_output * scaled.sigmoid()
    if not _has_visible_threshold(f):
        return smooth
    return (scaled > float(f.threshold)).where(f.grad_output, smooth)


def mish(f: Call, e: Builder) -> Value:
    return f.self * f.self.softplus().tanh()


def mish_backward(f: Call, e: Builder) -> Value:
    x = f.self
    tanh = x.softplus().tanh()
    return f.grad_output * (tanh + x * x.sigmoid() * (1 - tanh * tanh))


def log_sigmoid_forward(f: Call, e: Builder) -> Sequence[Value | None]:
    """-log(1 + e^-x), and e^-|x|, which the backward op of torch reads."""
    return -(-f.self).softplus(), (-f.self.abs()).exp() if f.is_read(1) else None


def log_sigmoid_backward(f: Call, e: Builder) -> Value:
    return f.grad_output * (-f.self).sigmoid()


def prelu(f: Call, e: Builder) -> Value:
    if f.dtype == f64:
        return (f.self > 0).where(f.self, f.self * f.weight)
    return f.self.apply(onnx.PReluOp, f.weight)


def prelu_backward(f: Call, e: Builder) -> Sequence[Value | None]:
    """The gradients of input and weight, each of the sizes of the result."""
    g, x = f.grad_output, f.self
    by_input = (x > 0).where(g, g * f.weight) if f.is_read(0) else None
    return by_input, g * x.at_most(0) if f.is_read(1) else None


def sigmoid_backward(f: Call, e: Builder) -> Value:
    return f.grad_output * (f.output * (1 - f.output))


def tanh_backward(f: Call, e: Builder) -> Value:
    return f.grad_output * (1 - f.output * f.output)


def logit_backward(f: Call, e: Builder) -> Value:
    """g / (x (1 - x)): 0 outside of [eps, 1 - eps], without an eps NaN outside of [0, 1]."""
    x = f.self
    gradient = f.grad_output / (x * (1 - x))
    if f.has("eps"):
        return e.keep(gradient, (x >= f.eps) & (x <= 1 - f.eps))
    return ((x >= 0) & (x <= 1)).where(gradient, math.nan)


def _halves(f: Call) -> tuple[Value, Value]:
    """Return the halves of the axis `dim`."""
    axis: int = f.dim % f.self.rank
    lengths = f.vector([floordiv(sizes(f.self)[axis], 2)] * 2)
    split = onnx.SplitOp(f.self.value, lengths.value, axis=axis, results=2)
    first, second = f.e.emit.all(split)
    return f.e(first), f.e(second)


def glu(f: Call, e: Builder) -> Value:
    """a * sigmoid(b) of the halves a and b of an axis."""
    a, b = _halves(f)
    return a * b.sigmoid()


def glu_backward(f: Call, e: Builder) -> Value:
    a, b = _halves(f)
    sigmoid = b.sigmoid()
    by_a = f.grad_output * sigmoid
    return e.concat([by_a, by_a * (1 - sigmoid) * a], f.dim % f.self.rank)


_FORMULAS: Mapping[str, Rule] = MappingProxyType(
    {
        "silu.default": silu,
        "silu_backward.default": silu_backward,
        "elu.default": elu,
        "elu_backward.default": elu_backward,
        "celu.default": celu,
        "leaky_relu_backward.default": leaky_relu_backward,
        "hardswish.default": hardswish,
        "hardswish_backward.default": hardswish_backward,
        "hardsigmoid.default": hardsigmoid,
        "hardsigmoid_backward.default": hardsigmoid_backward,
        "softplus.default": softplus,
        "softplus_backward.default": softplus_backward,
        "mish.default": mish,
        "mish_backward.default": mish_backward,
        "log_sigmoid_forward.default": log_sigmoid_forward,
        "log_sigmoid_backward.default": log_sigmoid_backward,
        "_prelu_kernel_backward.default": prelu_backward,
        "sigmoid_backward.default": sigmoid_backward,
        "tanh_backward.default": tanh_backward,
        "logit_backward.default": logit_backward,
        "glu.default": glu,
        "glu_backward.default": glu_backward,
        "gelu_backward.default": gelu_backward,
    }
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{name: in_float32(rule) for name, rule in _FORMULAS.items()},
        "gelu.default": gelu,
        "leaky_relu.default": leaky_relu,
        "threshold.default": threshold,
        "threshold_backward.default": threshold_backward,
        "hardtanh.default": hardtanh,
        "hardtanh_backward.default": hardtanh_backward,
        "hardshrink.default": hardshrink,
        "hardshrink_backward.default": shrink_backward,
        "softshrink.default": softshrink,
        "softshrink_backward.default": shrink_backward,
        "_prelu_kernel.default": prelu,
    }
)
