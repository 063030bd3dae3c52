"""Products with constant weights, into whose channels factors and offsets are folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.shapes import element_type_of, has_rank, shape_of
from passes.builder.operands import replace_uses
from passes.fold_affine.channel_axes import attributes_of

Array = np.ndarray


@dataclass(frozen=True)
class Channels:
    """Functions that scale the weights of a product along its input and output channels.

    `offset` maps an offset of the inputs to one of the outputs, None if the latter is not uniform over the
    positions; `counts` gives the numbers of input and output channels; `axis` is the channel axis of both.
    """

    inputs: Callable[[OnnxOp, Array, Array], Array]
    outputs: Callable[[OnnxOp, Array, Array], Array]
    offset: Callable[[OnnxOp, Array, Array], Array | None]
    counts: Callable[[OnnxOp, Array], tuple[int, int]]
    axis: int


def _groups(op: OnnxOp) -> int:
    return int(attributes_of(op).get("group", 1))


def _along(vector: Array, axis: int, rank: int) -> Array:
    return vector.reshape([-1 if i == axis else 1 for i in range(rank)])


def _by_groups(weights: Array, vector: Array, groups: int, is_inner: bool) -> Array:
    """Scale weights (groups * A, B, ...) by a vector of A or B per group."""
    parts = weights.reshape(groups, len(weights) // groups, *weights.shape[1:])
    shape = [groups, 1, -1] if is_inner else [groups, -1, 1]
    return (parts * vector.reshape(*shape, *[1] * (weights.ndim - 2))).reshape(weights.shape)


def _conv_offset(op: OnnxOp, weights: Array, vector: Array) -> Array | None:
    given = attributes_of(op)
    if any(given.get("pads") or ()) or given.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return None
    taps = weights.sum(tuple(range(2, weights.ndim)), dtype=np.float64)
    parts = taps.reshape(_groups(op), -1, taps.shape[1])
    return np.einsum("goi,gi->go", parts, vector.reshape(len(parts), -1)).reshape(-1)


def _is_transposed(op: OnnxOp) -> bool:
    return bool(attributes_of(op).get("transB", 0))


def _gemm_offset(op: OnnxOp, weights: Array, vector: Array) -> Array | None:
    given = attributes_of(op)
    if given.get("alpha", 1.0) != 1 or given.get("beta", 1.0) != 1:
        return None
    return weights @ vector if _is_transposed(op) else vector @ weights


CHANNELS: Mapping[type[Operation], Channels] = MappingProxyType(
    {
        onnx.ConvOp: Channels(
            lambda op, w, s: _by_groups(w, s, _groups(op), is_inner=True),
            lambda op, w, s: w * _along(s, 0, w.ndim),
            _conv_offset,
            lambda op, w: (w.shape[1] * _groups(op), w.shape[0]),
            1,
        ),
        onnx.ConvTransposeOp: Channels(
            lambda op, w, s: w * _along(s, 0, w.ndim),
            lambda op, w, s: _by_groups(w, s, _groups(op), is_inner=True),
            lambda op, w, t: None,
            lambda op, w: (w.shape[0], w.shape[1] * _groups(op)),
            1,
        ),
        onnx.GemmOp: Channels(
            lambda op, w, s: w * (s if _is_transposed(op) else s[:, None]),
            lambda op, w, s: w * (s[:, None] if _is_transposed(op) else s),
            _gemm_offset,
            lambda op, w: (w.shape[1], w.shape[0]) if _is_transposed(op) else (w.shape[0], w.shape[1]),
            -1,
        ),
        onnx.MatMulOp: Channels(
            lambda op, w, s: w * s[:, None],
            lambda op, w, s: w * s,
            lambda op, w, t: t @ w,
            lambda op, w: (w.shape[0], w.shape[1]),
            -1,
        ),
    }
)


@dataclass(frozen=True)
class LinearMap:
    """A product with weights that have no other reader, and the Add of its bias, if any."""

    op: OnnxOp
    addition: onnx.AddOp | None = None

    @property
    def channels(self) -> Channels:
        return CHANNELS[type(self.op)]

    @property
    def weights(self) -> Array:
        found = constant_of(self.op.operands[1])
        assert found is not None
        return found

    @property
    def result(self) -> SSAValue:
        return self.op.results[0] if self.addition is None else self.addition.results[0]

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """Results that change when the weights do."""
        product = self.op.results[0]
        return (product,) if self.addition is None else (product, self.addition.results[0])

    @property
    def inputs(self) -> int:
        return self.channels.counts(self.op, self.weights)[0]

    @property
    def outputs(self) -> int:
        return self.channels.counts(self.op, self.weights)[1]

    @property
    def takes_bias(self) -> bool:
        """True if a bias can be set without another op and is not scaled."""
        if isinstance(self.op, onnx.MatMulOp):
            return self.addition is not None
        return attributes_of(self.op).get("beta", 1.0) == 1

    def axis_of(self, value: SSAValue) -> int:
        """Return the channel axis of the data or the result."""
        return self.channels.axis % len(shape_of(value))

    @property
    def reads_all_channels(self) -> bool:
        """True if each output channel depends on all input channels. Zero padding keeps a mean of 0."""
        return _groups(self.op) == 1

    def takes_factors(self) -> bool:
        """True unless a Gemm reads its data transposed."""
        return not attributes_of(self.op).get("transA", 0)

    def offset_of(self, vector: Array) -> Array | None:
        """Return the offset of the output channels that an offset of the input channels causes."""
        return self.channels.offset(self.op, self.weights, vector)

    def scale_inputs(self, factors: Array) -> None:
        self._put_weights(self.channels.inputs(self.op, self.weights, _like(factors, self.weights)))

    def scale_outputs(self, factors: Array) -> None:
        bias = self._bias()
        self._put_weights(self.channels.outputs(self.op, self.weights, _like(factors, self.weights)))
        if bias is not None:
            self._put_bias(bias * factors)

    def centre_inputs(self) -> None:
        """Make the weights of each output channel sum to 0, which changes nothing for inputs of mean 0."""
        axis = 1 if isinstance(self.op, onnx.ConvOp) or _is_transposed(self.op) else 0
        means = self.weights.mean(axis, dtype=np.float64, keepdims=True)
        self._put_weights(self.weights - _like(means, self.weights))

    def add_bias(self, vector: Array) -> None:
        bias = self._bias()
        self._put_bias(vector if bias is None else bias + vector)

    def _bias(self) -> Array | None:
        """Return the bias per output channel in f64."""
        value = _bias_value(self.op, self.addition)
        found = None if value is None else constant_of(value)
        if found is None:
            return None
        return np.broadcast_to(found.astype(np.float64).reshape(-1), (self.outputs,))

    def _put_weights(self, weights: Array) -> None:
        before = self.op.operands[1].owner
        self.op.operands[1] = self._constant(weights, self.op)
        assert isinstance(before, Operation)
        Rewriter.erase_op(before)

    def _put_bias(self, bias: Array) -> None:
        if self.addition is not None:
            index = _constant_index(self.addition)
            assert index is not None
            self.addition.operands[index] = self._constant(bias, self.addition)
            return
        if not isinstance(self.op, onnx.MatMulOp):
            self._put_third(self._constant(bias, self.op))
            return
        product = self.op.results[0]
        total = onnx.AddOp(product, self._constant(bias, self.op))
        total.location = self.op.location
        Rewriter.insert_op(total, InsertPoint.after(self.op))
        replace_uses(product, total.C, but_of=total)

    def _put_third(self, bias: SSAValue) -> None:
        if len(self.op.operands) > 2:
            self.op.operands[2] = bias
        else:
            self.op.operands = [*self.op.operands, bias]

    def _constant(self, array: Array, before: Operation) -> SSAValue:
        """Create a constant in the dtype of the weights, without their name."""
        constant = onnx.ConstantOp(np.ascontiguousarray(array, self.weights.dtype))
        constant.location = before.location
        Rewriter.insert_op(constant, InsertPoint.before(before))
        return constant.output


def _like(vector: Array, weights: Array) -> Array:
    return vector.astype(weights.dtype)


def linear_map(op: Operation) -> LinearMap | None:
    """Return an op as a linear map if its f32 or f64 weights are a constant without other readers, and its
    bias is absent or constant."""
    if type(op) not in CHANNELS or not _has_own_weights(op):
        return None
    assert isinstance(op, OnnxOp)
    addition = _addition(op) if isinstance(op, onnx.MatMulOp) else None
    if isinstance(op, onnx.MatMulOp) and len(shape_of(op.operands[1])) != 2:
        return None
    found = LinearMap(op, addition)
    bias = _bias_value(op, addition)
    return found if bias is None or _is_vector(bias, found.outputs) else None


def _has_own_weights(op: Operation) -> bool:
    data, weights = op.operands[0], op.operands[1]
    return (
        constant_of(weights) is not None
        and weights.has_one_use()
        and element_type_of(weights) in (f32, f64)
        and has_rank(data)
        and has_rank(op.results[0])
        and len(shape_of(data)) > 1
    )


def _bias_value(op: Operation, addition: onnx.AddOp | None) -> SSAValue | None:
    if addition is not None:
        index = _constant_index(addition)
        return None if index is None else addition.operands[index]
    return op.operands[2] if len(op.operands) > 2 else None


def _addition(product: Operation) -> onnx.AddOp | None:
    """Return the only reader of a product if it adds a constant per channel."""
    result = product.results[0]
    use = result.get_user_of_unique_use()
    if not isinstance(use, onnx.AddOp) or use.parent is not product.parent:
        return None
    index = _constant_index(use)
    if index is None or use.operands[1 - index] is not result:
        return None
    channels = shape_of(result)[-1]
    is_bias = isinstance(channels, int) and _is_vector(use.operands[index], channels)
    return use if is_bias and len(shape_of(use.operands[index])) <= len(shape_of(result)) else None


def _constant_index(op: Operation) -> int | None:
    return next((i for i, value in enumerate(op.operands) if constant_of(value) is not None), None)


def _is_vector(value: SSAValue, channels: int) -> bool:
    """Return whether a constant has one element, or one per channel along its last axis."""
    known = constant_of(value)
    if known is None:
        return False
    return known.size == 1 or (known.size == channels and known.shape[-1] == channels)
