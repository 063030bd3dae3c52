"""Decompositions of the com.microsoft ops that onnxruntime's optimizer writes."""

from __future__ import annotations

from dialects.onnx import ops as onnx
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder, Value
from passes.decompositions.contrib.activations import apply_activation, numbers_of
from passes.decompositions.registry import Results


def fused_conv(f: Primal, e: Builder) -> Results:
    """act(Conv(X, W, B) + Z)"""
    own = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    given = {name: value for name, value in f.attributes.items() if name in own}
    found = f.x.apply(onnx.ConvOp, f.operand(1), f.operand(2), **given)
    added = f.operand(3)
    found = found if added is None else found + added
    return [apply_activation(f.value("activation", ""), found, f.value("activation_params", []))]


def fused_gemm(f: Primal, e: Builder) -> Results:
    own = ("alpha", "beta", "transA", "transB")
    given = {name: value for name, value in f.attributes.items() if name in own}
    found = f.x.apply(onnx.GemmOp, f.operand(1), f.operand(2), **given)
    numbers = numbers_of(f.attributes, "activation_alpha", "activation_beta", "activation_gamma")
    return [apply_activation(f.value("activation", ""), found, numbers)]


def fused_matmul(f: Primal, e: Builder) -> Results:
    """alpha A B; each operand may be transposed, or have its rows before the batch."""
    b = f.required(1)
    a = _permute(f.x, f.value("transA", 0), f.value("transBatchA", 0))
    found = a.apply(onnx.MatMulOp, _permute(b, f.value("transB", 0), f.value("transBatchB", 0)))
    alpha = f.value("alpha", 1.0)
    name = f.value("activation", "")
    numbers = numbers_of(f.attributes, "activation_alpha", "activation_beta", "activation_gamma")
    return [apply_activation(name, found if alpha == 1 else found * alpha, numbers)]


def _permute(x: Value, last: int, batch: int) -> Value:
    order = list(range(x.rank))
    if x.rank < 2 or not (last or batch):
        return x
    if batch:  # the rows precede the batch
        order = [*order[1:-1], 0, order[-1]]
    if last:
        order = [*order[:-2], order[-1], order[-2]]
    return x.transpose(order)


def gelu(f: Primal, e: Builder) -> Results:
    return [_add_bias(f).apply(onnx.GeluOp, approximate="none")]


def fast_gelu(f: Primal, e: Builder) -> Results:
    return [_add_bias(f).apply(onnx.GeluOp, approximate="tanh")]


def _add_bias(f: Primal) -> Value:
    bias = f.operand(1)
    return f.x if bias is None else f.x + bias


def gemm_fast_gelu(f: Primal, e: Builder) -> Results:
    bias, y = f.operand(2), f.x.apply(onnx.MatMulOp, f.operand(1))
    return [(y if bias is None else y + bias).apply(onnx.GeluOp, approximate="tanh")]


def quick_gelu(f: Primal, e: Builder) -> Results:
    alpha = f.value("alpha", 1.702)
    return [f.x * (f.x if alpha == 1 else f.x * alpha).sigmoid()]


def _add_skip(f: Primal, bias: int) -> Value:
    skip, added = f.required(1), f.operand(bias)
    total = f.x + skip
    return total if added is None else total + added


def skip_layer_normalization(f: Primal, e: Builder) -> Results:
    total = _add_skip(f, 4)
    op = onnx.LayerNormalizationOp
    beta = f.operand(3)
    shift = None if beta is None else beta.value
    made = op(total.value, f.required(2).value, shift, axis=-1, epsilon=f.value("epsilon", 1e-12))
    y, mean, deviation = map(e, e.emit.all(made))
    return [y, mean, deviation, total]


def skip_simplified(f: Primal, e: Builder) -> Results:
    total = _add_skip(f, 3)
    epsilon = f.value("epsilon", 1e-5)
    y = total.apply(onnx.RMSNormalizationOp, f.operand(2), axis=-1, epsilon=epsilon)
    return [y, None, None, total]


def simplified_layer_normalization(f: Primal, e: Builder) -> Results:
    given = {name: f.attributes[name] for name in ("axis", "epsilon", "stash_type") if name in f.attributes}
    return [f.x.apply(onnx.RMSNormalizationOp, f.operand(1), **given)]


def layer_normalization(f: Primal, e: Builder) -> Results:
    scale, bias = f.required(1), f.operand(2)
    given = {name: f.attributes[name] for name in ("axis", "epsilon", "stash_type") if name in f.attributes}
    op = onnx.LayerNormalizationOp(f.x.value, scale.value, None if bias is None else bias.value, **given)
    return list(map(e, e.emit.all(op)))


def quantize(f: Primal, e: Builder) -> Results:
    own = {"axis": f.attributes["axis"]} if "axis" in f.attributes else {}
    return [f.x.apply(onnx.QuantizeLinearOp, f.operand(1), f.operand(2), **own)]


def dequantize(f: Primal, e: Builder) -> Results:
    own = {"axis": f.attributes["axis"]} if "axis" in f.attributes else {}
    return [f.x.apply(onnx.DequantizeLinearOp, f.operand(1), f.operand(2), **own)]
