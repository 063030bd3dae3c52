"""Matrix products and biases in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from dialects.onednn.linear import BiasBackwardOp, BiasOp, ProductOp
from dialects.onnx import ops as onnx
from dialects.support.shapes import element_type_of, shape_of
from passes.autodiff.rules.norm import per_channel, sum_over
from passes.builder.values import Builder, Value


def bias_add(op: BiasOp, e: Builder) -> Sequence[Value]:
    return [e(op.src) + per_channel(e(op.bias), op.channel_axis(op.src), len(shape_of(op.src)))]


def bias_backward(op: BiasBackwardOp, e: Builder) -> Sequence[Value]:
    axis = op.channel_axis(op.diff_dst)
    return [sum_over(e(op.diff_dst), [i for i in range(len(shape_of(op.diff_dst))) if i != axis])]


def matmul(op: ProductOp, e: Builder) -> Sequence[Value]:
    """Lower a MatMul, to Gemm if that saves an op; a bias that Gemm does not accept is added."""
    src, weights = e(op.src), e(op.weights)
    transposes = [op.is_transposed(port) for port in op.PORTS[:2]]
    bias = None if op.bias is None else e(op.bias)
    if bias is not None and not shape_of(op.dst) and op.has_single_bias:
        bias = bias.apply(onnx.ReshapeOp, e.ints([]))
    are_matrices = all(len(shape_of(x.value)) == 2 for x in (src, weights))
    if are_matrices and (any(transposes) or bias is not None):
        a, b = map(int, transposes)
        product = src.apply(onnx.GemmOp, weights, bias, transA=a, transB=b)
    else:
        product = _product(src, weights, *transposes)
        product = product if bias is None else product + bias
    return [product.cast(element_type_of(op.dst))]


def _product(src: Value, weights: Value, *transposes: bool) -> Value:
    """Multiply; a transposed matrix times a vector exchanges operands, as onnxruntime loses the Transpose."""
    if any(transposes) and 1 in (len(shape_of(src.value)), len(shape_of(weights.value))):
        return weights.apply(onnx.MatMulOp, src)
    left, right = (x.swap_last_axes() if t else x for x, t in zip((src, weights), transposes, strict=True))
    return left.apply(onnx.MatMulOp, right)


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType(
    {"BiasAdd": bias_add, "BiasAddBackward": bias_backward, "MatMul": matmul}
)
