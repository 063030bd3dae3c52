"""Random problems of the ops declared by op specs, within what their classes declare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from support.compare import TOLERANCES, ulp
from support.spatial_problems import DRAWN
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.irdl import VariadicDef

from dialects.onednn.batch_norm import BatchNormalizationOp, TrainingOp
from dialects.onednn.families import ReductionOp, TableOp, UnaryBackwardOp
from dialects.onednn.linear import BiasOp, ChannelOp, ProductOp
from dialects.onednn.norm import (
    GroupNormalizationOp,
    LastAxesOp,
    LayerNormalizationBackwardOp,
    LayerNormalizationOp,
    RMSNormalizationOp,
)
from dialects.onednn.prelu import ParametricReluBackwardOp, ParametricReluOp
from dialects.onednn.quant import (
    DynamicDequantizationOp,
    DynamicQuantizationOp,
    DynamicScalingOp,
    StaticScalingOp,
)
from dialects.onednn.softmax import SoftmaxFamilyBackwardOp, SoftmaxFamilyOp
from dialects.onednn.spec_classes import spec_class
from dialects.onednn.structure import ConcatenationOp, IdentityDropoutOp, ReshapeOp, TransposeOp
from dialects.support import dtypes
from dialects.support.attributes import AttributeSpec, documented_attributes
from dialects.support.diagnostics import Position, location
from dialects.support.documented_op import Declared, build
from dialects.support.entry import set_names, update_function_type
from dialects.support.shapes import Shape, tensor_type

POSITIVE = {"Log", "Sqrt", "SqrtBackward", "Pow", "Reciprocal", "Divide"}
"""Kinds whose operands stay away from 0, so that errors stay of the size of a rounding."""

SCALES = (0.25, 0.5, 1.0, 2.0, 0.1, 0.3, 0.05)
"""Of quantisation: many an eighth lies half way between two integers of one of these."""


@dataclass(frozen=True)
class SpecProblem:
    """One op on random data. `declared` are the shapes that the module says, `feeds` the arrays."""

    kind: str
    dtype: str
    declared: tuple[tuple[str, Shape], ...]
    feeds: tuple[np.ndarray, ...]
    attributes: dict[str, Any]
    result_dtype: str | None = None
    """Of the first result, where the operands leave several."""

    @property
    def names(self) -> list[str]:
        return [f"x{i}" for i in range(len(self.feeds))]

    def module(self) -> ModuleOp:
        types = [tensor_type(_mlir(dtype), shape) for dtype, shape in self.declared]
        block = Block(arg_types=types)
        place = location("op", Position("row.mlir", 1, 1))
        declared = [] if self.result_dtype is None else [Declared(dtype=_mlir(self.result_dtype))]
        cls, operands = spec_class(self.kind), list(block.args)
        op = build(cls, operands, self.attributes, declared=declared, location=place)
        last = ReturnOp(*op.results)
        block.add_ops([op, last])
        function = FuncOp("main", ([], []), Region(block))
        update_function_type(function)
        set_names(function, self.names, list(op.RESULTS))
        module = ModuleOp([function])
        for made in (last, function, module):
            made.location = place
        module.verify()
        return module

    def assert_agree(self, got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> None:
        """Within some roundings of f32 of the largest value, and one of a half type."""
        for array, exact in zip(got, want, strict=True):
            assert (array.dtype, array.shape) == (exact.dtype, exact.shape), self
            if exact.dtype.kind in "biu" or exact.dtype.itemsize == 1:
                np.testing.assert_array_equal(array, exact, str(self))
                continue
            wide, precise = array.astype(np.float64), exact.astype(np.float64)
            finite = np.isfinite(precise)
            np.testing.assert_array_equal(wide[~finite], precise[~finite])
            tolerance = TOLERANCES[_name(exact.dtype)]
            scale = np.maximum(np.abs(precise[finite]), 1)
            allowed = 4e-6 * scale + tolerance.ulps * ulp(precise[finite], tolerance)
            worst = np.max(np.abs(wide[finite] - precise[finite]) - allowed, initial=-1)
            assert worst <= 0, (self.kind, self.attributes, worst)


def slots(kind: str) -> Iterator[tuple[str, bool]]:
    """The dtypes of a kind, each with sizes known at compile time and without; several of each where the
    geometry has many cases."""
    cls = spec_class(kind)
    for dtype in cls.SPEC.dtypes * (3 if issubclass(cls, tuple(DRAWN)) else 1):
        yield dtype, False
        yield dtype, True


def draw(kind: str, dtype: str, dynamic: bool, rng: np.random.Generator) -> SpecProblem:
    cls = spec_class(kind)
    drawn = next((draw for base, draw in DRAWN.items() if issubclass(cls, base)), _plain)
    attributes, shapes = drawn(cls, rng)
    ports = [cls.port(index) for index in range(len(shapes))]
    types = [cls.port_dtype(port, dtype) for port in ports]
    rows = zip(ports, types, shapes, strict=True)
    feeds = tuple(_data(kind, port, type_, size, rng) for port, type_, size in rows)
    known = [not dynamic or cls.knows_sizes(port) for port in ports]
    sizes = [size if reported else (None,) * len(size) for reported, size in zip(known, shapes, strict=True)]
    declared = tuple(zip(types, sizes, strict=True))
    chosen = str(rng.choice(cls.result_dtypes(dtype))) if cls.CHOOSES_DTYPE else None
    if "f8" in f"{types[0]} {chosen}" and attributes.get("zps"):
        attributes = {**attributes, "zps": []}
    return SpecProblem(kind, dtype, declared, feeds, attributes, chosen)


def _plain(cls: type[TableOp], rng: np.random.Generator) -> tuple[dict[str, Any], list[tuple[int, ...]]]:
    shape = tuple(int(size) for size in rng.integers(1, 5, rng.integers(1, 5)))
    filled = (ReductionOp, TrainingOp, *((LastAxesOp,) if len(shape) == 1 else ()))
    shape = (0, *shape[1:]) if rng.random() < 0.1 and not issubclass(cls, filled) else shape
    least = next((rank for base, rank in _LEAST_RANKS.items() if issubclass(cls, base)), 1)
    shape = (*(2,) * (least - len(shape)), *shape)
    attributes = _attributes(cls, shape, rng)
    return attributes, _shapes(cls, shape, attributes, rng)


def _shapes(
    cls: type[TableOp], shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    own = next((shapes for base, shapes in _SHAPES.items() if issubclass(cls, base)), None)
    if own is not None:
        return own(shape, attributes, rng)
    if issubclass(cls, BatchNormalizationOp):
        return _batch_shapes(cls, shape, attributes, rng)
    count = sum(port not in documented_attributes(cls) for port in cls.PORTS)
    if count == 1 or issubclass(cls, UnaryBackwardOp) or attributes.get("auto_broadcast") == "none":
        return [shape] * count
    other = tuple(1 if rng.random() < 0.3 else size for size in shape[rng.integers(0, len(shape)) :])
    found = [shape, other] if rng.random() < 0.5 else [other, shape]
    return [other, *found][-count:]


def _slope_shapes(
    shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """A vector along the channels, or any shape that broadcasts to that of src."""
    vector = len(shape) == 1 or rng.random() < 0.5
    ncx = attributes.get("data_format", "NXC") == "NCX" and attributes.get("per_channel_broadcast", True)
    axis = 1 if ncx and len(shape) > 1 else -1
    if vector:
        slope = (int(rng.choice([1, shape[axis]])),)
    else:
        slope = tuple(1 if rng.random() < 0.4 else size for size in shape[rng.integers(0, len(shape) - 1) :])
    return [shape, slope, shape]


def _joined_shapes(
    shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    axis, sizes = attributes["axis"] % len(shape), rng.integers(0, 4, rng.integers(1, 4))
    return [tuple(int(size) if i == axis else dim for i, dim in enumerate(shape)) for size in sizes]


def _normalized_shapes(
    shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    normalized = shape[attributes.get("begin_norm_axis", -1) :]
    return [shape, *[normalized] * 2] if attributes.get("use_affine", True) else [shape]


def _bias_shapes(
    shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    return [shape, (_channels(shape, attributes),)]


def _channels(shape: tuple[int, ...], attributes: dict[str, Any]) -> int:
    return shape[1 if attributes.get("data_format", "NXC") == "NCX" else -1]


def _layer_backward_shapes(
    shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    axis = attributes.get("begin_norm_axis", -1) % len(shape)
    affine = [shape[axis:]] * int(rng.integers(1, 3)) if attributes.get("use_affine", True) else []
    return [shape, shape, shape[:axis], shape[:axis], *affine]


def _rms_shapes(
    shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    normalized = shape[attributes.get("begin_norm_axis", -1) :]
    return [shape, normalized] if rng.random() < 0.7 else [shape]


def _group_shapes(
    shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    vector = (_channels(shape, attributes),)
    return [shape, vector, vector] if attributes.get("use_affine", True) else [shape]


def _batch_shapes(
    cls: type[TableOp], shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """The data, then as many vectors as the op takes at most, or some fewer."""
    data = len(cls.DATA)  # pyright: ignore[reportAttributeAccessIssue]
    least = sum(not isinstance(d, VariadicDef) for _, d in cls.get_irdl_definition().operands)
    vectors = int(rng.integers(least, len(cls.PORTS) + 1)) - data
    return [shape] * data + [(_channels(shape, attributes),)] * vectors


def _product_shapes(
    shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Vectors, matrices, and batches of them of which either side may be repeated."""
    k, n = shape[-1], int(rng.integers(1, 4))
    batch = tuple(1 if rng.random() < 0.3 else size for size in shape[:-2][rng.integers(0, 2) :])
    right = (k,) if rng.random() < 0.2 else (*(batch if rng.random() < 0.5 else ()), k, n)
    left = _exchanged_if(shape, attributes.get("transpose_a", False))
    bias = [(n,)] if len(right) > 1 and rng.random() < 0.5 else []
    return [left, _exchanged_if(right, attributes.get("transpose_b", False)), *bias]


def _exchanged_if(shape: tuple[int, ...], exchanged: bool) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if exchanged and len(shape) > 1 else shape


def _scales_shapes(
    shape: tuple[int, ...], attributes: dict[str, Any], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    match attributes.get("qtype", "per_tensor"):
        case "per_group":
            scales = tuple(size // g for size, g in zip(shape, attributes["group_shape"], strict=True))
        case "per_channel":
            scales = (shape[attributes["axis"]],)
        case _:
            scales = (1,)
    return [shape, scales, scales] if rng.random() < 0.7 else [shape, scales]


_LEAST_RANKS: dict[type[TableOp], int] = {ChannelOp: 2, BatchNormalizationOp: 2, GroupNormalizationOp: 2}
"""Of the data of families that need more than one axis."""

_SHAPES = {
    BiasOp: _bias_shapes,
    SoftmaxFamilyBackwardOp: lambda shape, *_: [shape] * 2,
    IdentityDropoutOp: lambda shape, *_: [shape, (), (1,), ()],
    ParametricReluOp: lambda *given: _slope_shapes(*given)[:2],
    ParametricReluBackwardOp: _slope_shapes,
    ConcatenationOp: _joined_shapes,
    DynamicScalingOp: _scales_shapes,
    GroupNormalizationOp: _group_shapes,
    LayerNormalizationOp: _normalized_shapes,
    LayerNormalizationBackwardOp: _layer_backward_shapes,
    ProductOp: _product_shapes,
    RMSNormalizationOp: _rms_shapes,
}
"""Of the operands of families whose shapes follow other rules than numpy's broadcasting."""


def _reshaped(shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    """Two axes joined or the first one again, and one size left open."""
    wanted = [shape[0] * shape[1], *shape[2:]] if len(shape) > 1 and rng.random() < 0.5 else [*shape, 1]
    special = bool(rng.random() < 0.5)
    if special and wanted[0] == shape[0]:
        wanted[0] = 0
    if 0 not in wanted[1:] and shape[0]:
        wanted[-1] = -1
    return {"shape": wanted, "special_zero": special}


def _order(shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    rank = len(shape)
    axes = [int(axis) - rank * int(rng.random() < 0.5) for axis in rng.permutation(rank)]
    return {"order": axes if rng.random() < 0.8 else []}


def _axis(shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    """The default of 1 is none of a vector."""
    if len(shape) > 1 and rng.random() < 0.3:
        return {}
    return {
        "axis": int(rng.integers(1 if len(shape) > 1 else 0, len(shape)))
        - len(shape) * bool(rng.random() < 0.5)
    }


def _first_axis(shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    """Of what is normalised there is something."""
    axis = int(rng.integers(1 if shape[0] == 0 else 0, len(shape)))
    return {"begin_norm_axis": axis - len(shape) * int(rng.random() < 0.5)}


def _static_scales(shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    """Zero points are those of all integer dtypes, and few are even."""
    axis = int(rng.integers(0, len(shape)))
    per_channel = shape[axis] > 0 and rng.random() < 0.5
    count = shape[axis] if per_channel else 1
    scales = [float(np.float32(scale)) for scale in rng.choice(SCALES, count)]
    zps = [int(zero) for zero in rng.integers(0, 8, count)] if rng.random() < 0.5 else []
    qtype = "per_channel" if per_channel else "per_tensor"
    return {"scales": scales, "axis": axis - len(shape), "qtype": qtype, "zps": zps}


def _dynamic_scales(shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    return {"axis": int(rng.integers(-len(shape), len(shape)))}


def _group_scales(shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    divisors = [[d for d in range(1, size + 1) if size % d == 0] or [1] for size in shape]
    groups = [int(rng.choice(found)) if rng.random() < 0.6 else 1 for found in divisors]
    given = {"qtype": str(rng.choice(["per_group", "per_channel", "per_tensor"])), "group_shape": groups}
    return {**given, **_dynamic_scales(shape, rng)}


def _groups(shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    """A divisor of the channels."""
    given = {"data_format": str(rng.choice(["NCX", "NXC"]))}
    channels = _channels(shape, given)
    return {**given, "groups": int(rng.choice([d for d in range(1, channels + 1) if channels % d == 0]))}


_ATTRIBUTES: dict[type[TableOp], Callable[[tuple[int, ...], np.random.Generator], dict[str, Any]]] = {
    **dict.fromkeys((SoftmaxFamilyOp, SoftmaxFamilyBackwardOp), _axis),
    StaticScalingOp: _static_scales,
    DynamicQuantizationOp: _dynamic_scales,
    DynamicDequantizationOp: _group_scales,
    GroupNormalizationOp: _groups,
    LastAxesOp: _first_axis,
    TransposeOp: _order,
    ReshapeOp: _reshaped,
}
"""Of families whose attributes depend on the sizes of the data."""


def _attributes(cls: type[TableOp], shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Any]:
    own = next((make for base, make in _ATTRIBUTES.items() if issubclass(cls, base)), None)
    found: dict[str, Any] = {} if own is None else own(shape, rng)
    for name, documented in documented_attributes(cls).items():
        if name not in found and (documented.required or rng.random() < 0.6):
            found[name] = _value(name, documented.spec, len(shape), rng)
    if found.get("min", 0) > found.get("max", 0):
        found["min"], found["max"] = found["max"], found["min"]
    return found


def _value(name: str, spec: AttributeSpec, rank: int, rng: np.random.Generator) -> Any:
    if spec.words:
        return str(rng.choice(spec.words))
    if spec.tag == "bool":
        return bool(rng.random() < 0.5)
    if spec.tag == "s64":
        return int(rng.integers(-rank, rank))
    if name == "axes":
        axes = rng.permutation(rank)[: rng.integers(0, rank + 1)]
        return [int(axis) - rank * int(rng.random() < 0.5) for axis in axes]
    return float(np.round(rng.uniform(0.2, 2), 2)) * (-1 if name == "min" else 1)


def _data(kind: str, port: str, dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    entry = dtypes.by_name(dtype)
    assert entry is not None
    if port == "probability":
        return np.zeros(shape, entry.numpy)
    if dtype == "boolean":
        return rng.random(shape) < 0.5
    if dtype in ("s32", "s64", "s8", "s4"):
        return rng.integers(-3, 4, shape).astype(entry.numpy)
    if dtype in ("u8", "u4"):
        return rng.integers(0, 8, shape).astype(entry.numpy)
    if port == "scales":
        return rng.choice(SCALES, shape).astype(entry.numpy)
    if kind in ("Quantize", "DynamicQuantize"):
        return (rng.integers(-24, 25, shape) / 8).astype(entry.numpy)
    if kind in POSITIVE or port == "variance":
        return rng.uniform(0.5, 2, shape).astype(entry.numpy)
    if (kind, port) == ("LogSoftmaxBackward", "dst"):
        return -rng.uniform(0, 4, shape).astype(entry.numpy)
    return (rng.normal(size=shape) * 2).astype(entry.numpy)


def _mlir(dtype: str) -> Any:
    entry = dtypes.by_name(dtype)
    assert entry is not None
    return entry.mlir


def _name(dtype: np.dtype) -> str:
    entry = dtypes.of_numpy(dtype)
    assert entry is not None
    return entry.name
