"""Decompositions of com.microsoft's mixtures of experts: each row passes all experts, weighted by 0 unless
routed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import f32

from dialects.onnx import ops as onnx
from dialects.support.dtypes import UI8
from passes.autodiff.common.primal import Primal, refusal
from passes.autodiff.common.slice_adjoint import size_of, vector
from passes.autodiff.rules.quantize import spread
from passes.builder.values import Builder, Value
from passes.decompositions.contrib.packed_weights import BITS, mark_as_packed, unpack_codes
from passes.decompositions.registry import Results

INTERLEAVED = 1
"""`swiglu_fusion` with alternating rows of gate and value. 2: one half after the other."""


@dataclass(frozen=True)
class Layer:
    """x W^T + b of each expert, W (experts, rows, width), b (experts, rows)."""

    weights: Value
    bias: Value | None

    def of(self, x: Value) -> Value:
        y = x.apply(onnx.MatMulOp, self.weights.transpose([0, 2, 1]))
        return y if self.bias is None else y + self.bias.unsqueeze([1])


def moe(f: Primal, e: Builder) -> Results:
    layers = [_layer(f.operand(place), f.operand(place + 1)) for place in (2, 4, 6)]
    return [_combine_experts(f, layers, None)]


def q_moe(f: Primal, e: Builder) -> Results:
    """MoE of quantized weights; a kernel's rounding of rows to 8 bits is not modeled."""
    if f.value("quant_type", "int") != "int":
        raise refusal("quant_type", given=f.value("quant_type"), expected="int")
    if f.value("weights_prepacked", -1) == 1:
        raise refusal("weights_prepacked", given=1, expected=0)
    layers = [
        _layer(_dequantize(f, i, place), f.operand(place + 2)) for i, place in enumerate((2, 5, 8), start=1)
    ]
    return [_combine_experts(f, layers, f.operand(14))]


def _layer(weights: Value | None, bias: Value | None) -> Layer | None:
    if weights is None:
        return None
    return Layer(weights.cast(f32), None if bias is None else bias.cast(f32))


def _dequantize(f: Primal, number: int, place: int) -> Value | None:
    """Return (codes - zero points) scales, per row or per block of a row."""
    codes, scales, zeros, e = f.operand(place), f.operand(place + 1), f.operand(10 + number), f.e
    if codes is None:
        return None
    bits = f.value(f"fc{number}_expert_weight_bits", f.value("expert_weight_bits", 4))
    experts, rows, count = codes.shape
    if bits not in BITS or codes.dtype != UI8 or scales is None:
        raise refusal(
            f"fc{number}_expert_weight_bits", given=bits, expected="2, 4 or 8, of bytes with scales"
        )
    if not isinstance(experts, int) or not isinstance(rows, int) or not isinstance(count, int):
        raise refusal("sizes of weights", given="unknown", expected="known")
    width, block = count * 8 // bits, f.value("block_size", 0)
    numbers = mark_as_packed(unpack_codes(codes, [experts * rows, count], bits).cast(f32))
    numbers = numbers.apply(onnx.ReshapeOp, e.ints([experts, rows, width]))
    blocks = width // block if block > 0 else 1
    by = scales.cast(f32).apply(onnx.ReshapeOp, e.ints([experts, rows, blocks]))
    apart = e(e.emit.constant(np.array(2 ** (bits - 1), np.float32)))
    own = {"axis": 2, "block_size": width // blocks}
    if zeros is not None:
        apart = spread(_zero_points(zeros, (experts, rows, blocks), bits, is_blocked=block > 0), numbers, own)
    return (numbers - apart) * spread(by, numbers, own)


def _zero_points(zeros: Value, sizes: tuple[int, int, int], bits: int, is_blocked: bool) -> Value:
    """Return zero points packed along the blocks of a row, or along the rows of an expert."""
    e, (experts, rows, blocks) = zeros.e, sizes
    groups, count = (experts * rows, blocks) if is_blocked else (experts, rows)
    found = unpack_codes(zeros, [groups, -(-count * bits // 8)], bits)
    if found.shape[1] != count:
        found = found.apply(onnx.SliceOp, e.ints([0]), e.ints([count]), e.ints([1]))
    return found.cast(f32).apply(onnx.ReshapeOp, e.ints(sizes))


def _combine_experts(f: Primal, layers: Sequence[Layer | None], router_weights: Value | None) -> Value:
    e, (first, second, gated) = f.e, layers
    if f.value("use_sparse_mixer", 0):
        hint = "onnxruntime's kernel of the CPU does not look at it, that of CUDA mixes in another way"
        raise refusal("use_sparse_mixer", given=1, expected=0, hint=hint)
    assert first is not None  # both weights are required operands
    assert second is not None
    if f.value("swiglu_fusion", 0):
        first, gated = _halves(first, f.value("swiglu_fusion"))
    x = f.x.cast(f32).apply(onnx.ReshapeOp, vector(f.x, [1, -1, size_of(f.x, f.x.rank - 1)]))
    inner = _activate(f, first.of(x), None if gated is None else gated.of(x))
    share = _routing_weights(f, router_weights).transpose([1, 0])
    y = second.of(inner) * share.unsqueeze([2])
    total = y.apply(onnx.ReduceSumOp, e.ints([0]), keepdims=0)
    return total.apply(onnx.ReshapeOp, e.shape(f.x), allowzero=1).cast(f.x.dtype)


def _halves(layer: Layer, order: int) -> tuple[Layer, Layer]:
    """Return the gate and value layers."""

    def part(x: Value | None, index: int) -> Value | None:
        if x is None:
            return None
        e, rows = x.e, size_of(x, 1)
        half = rows // 2 if isinstance(rows, int) else rows.apply(onnx.DivOp, e.ints([2]))
        axis, sizes = (2, [half, 2]) if order == INTERLEAVED else (1, [2, half])
        others = [size_of(x, i) for i in range(2, x.rank)]
        apart = x.apply(onnx.ReshapeOp, vector(x, [size_of(x, 0), *sizes, *others]))
        return apart.apply(onnx.GatherOp, e(e.emit.constant(np.array(index))), axis=axis)

    gate, other = (part(layer.weights, i) for i in (0, 1))
    assert gate is not None
    assert other is not None
    return Layer(gate, part(layer.bias, 0)), Layer(other, part(layer.bias, 1))


def _routing_weights(f: Primal, router_weights: Value | None) -> Value:
    """Return the weight of each expert for each row (rows, experts): 0 except for the top `k`."""
    e, router = f.e, f.required(1)
    router, is_normed = router.cast(f32), f.value("normalize_routing_weights", 0)
    _, places = map(e, e.emit.all(onnx.TopKOp(router.value, e.ints([f.value("k", 1)]).value, axis=1)))
    source = router.apply(onnx.SoftmaxOp, axis=1) if router_weights is None else router_weights.cast(f32)
    shares = source.apply(onnx.GatherElementsOp, places, axis=1)
    if is_normed:
        shares = shares / shares.apply(onnx.ReduceSumOp, e.ints([1]), keepdims=1)
    return e.fill_like(0, router).apply(onnx.ScatterElementsOp, places, shares, axis=1)


_FUNCTIONS: Mapping[str, Callable[[Value], Value]] = MappingProxyType(
    {
        "geglu": lambda x: x.apply(onnx.GeluOp, approximate="tanh"),
        "gelu": lambda x: x.apply(onnx.GeluOp, approximate="tanh"),
        "identity": lambda x: x,
        "relu": lambda x: x.apply(onnx.ReluOp),
        "relu2": lambda x: x.apply(onnx.ReluOp).square(),
        "silu": lambda x: x * x.sigmoid(),
    }
)


def _activate(f: Primal, gate: Value, other: Value | None) -> Value:
    kind = f.value("activation_type", "relu")
    if kind in ("swiglu", "geglu") and other is None:
        raise refusal(
            "activation_type", given=kind, expected="with swiglu_fusion, or with fc3_experts_weights"
        )
    if kind == "swiglu":
        assert other is not None
        return _swiglu(f, gate, other)
    function = _FUNCTIONS.get(kind)
    if function is None:
        raise refusal("activation_type", given=kind, expected=", ".join(sorted({*_FUNCTIONS, "swiglu"})))
    y = function(gate)
    return y if other is None else y * other


def _swiglu(f: Primal, gate: Value, other: Value) -> Value:
    limit, alpha = f.value("swiglu_limit", np.inf), f.value("activation_alpha", 1.0)
    is_bounded, is_late = bool(np.isfinite(limit)), f.value("swiglu_limit_after_activation", 0)
    if is_bounded:
        gate, other = gate if is_late else gate.at_most(limit), other.clip_to(-limit, limit)
    y = gate * (gate if alpha == 1 else gate * alpha).sigmoid()
    y = y.at_most(limit) if is_bounded and is_late else y
    beta = f.value("activation_beta", 0.0)
    return y * (other + beta if beta else other)
