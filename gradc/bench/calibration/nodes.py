"""Random small models of single ops, and of pairs that the runtime fuses.

Sizes are drawn evenly on a logarithmic scale, with a bound on the elements of each tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from xdsl.dialects.builtin import f32, f64

from dialects.onnx import ops as onnx
from gradc.bench.calibration.model import Build, NodeModel

MOST_ELEMENTS = 2**22
MOST_PRODUCTS = 3e8
"""Multiplications in a model: some 10 ms."""

Draw = Callable[[np.random.Generator], NodeModel | None]
"""None where what was drawn is too large, or no model."""


def nodes(seed: int, scale: float = 1.0) -> Iterator[NodeModel]:
    """`scale` times the usual number of models of each kind."""
    for kind, (count, draw) in KINDS.items():
        rng = np.random.default_rng([seed, *kind.encode()])
        yield from _some(draw, rng, math.ceil(count * scale))


def _some(draw: Draw, rng: np.random.Generator, count: int) -> Iterator[NodeModel]:
    found: set[str] = set()
    while len(found) < count:
        model = draw(rng)
        if model is None or max(math.prod(shape) for shape in model.shapes) > MOST_ELEMENTS:
            continue
        if model.name not in found:
            found.add(model.name)
            yield model


def _size(rng: np.random.Generator, low: float, high: float) -> int:
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def _floats(*shape: int) -> np.ndarray:
    """Values do not matter, but for those that a runtime could recognise."""
    count = math.prod(shape)
    return (0.01 + np.arange(count, dtype=np.float32) % 97 / 97).reshape(shape)


def _shown(*parts: object) -> str:
    """`1x2x3,k=3`: shapes as numbers with x between."""
    return ",".join("x".join(map(str, p)) if isinstance(p, list | tuple) else str(p) for p in parts)


def _matmul(rng: np.random.Generator) -> NodeModel | None:
    batch, m, k, n = _size(rng, 1, 300), _size(rng, 1, 2000), _size(rng, 2, 1200), _size(rng, 1, 5000)
    if rng.random() < 0.4:
        batch = 1
    if not 1e4 < batch * m * k * n < MOST_PRODUCTS or batch * m * n > MOST_ELEMENTS:
        return None
    match rng.integers(3):
        case 0:
            matrix = _floats(m, k)
            return NodeModel(
                "MatMul",
                _shown("left", [batch, m, k, n]),
                ((batch, k, n),),
                lambda emit, args: emit(onnx.MatMulOp(emit.constant(matrix), args[0])),
            )
        case 1:
            matrix = _floats(k, n)
            return NodeModel(
                "MatMul",
                _shown("right", [batch, m, k, n]),
                ((batch, m, k),),
                lambda emit, args: emit(onnx.MatMulOp(args[0], emit.constant(matrix))),
            )
        case _:
            return NodeModel(
                "MatMul",
                _shown("both", [batch, m, k, n]),
                ((batch, m, k), (batch, k, n)),
                lambda emit, args: emit(onnx.MatMulOp(*args)),
            )


def _channels(rng: np.random.Generator) -> int:
    """Often a multiple of 16, as in most networks."""
    return 16 * _size(rng, 1, 32) if rng.random() < 0.7 else _size(rng, 1, 200)


def _conv(rng: np.random.Generator, grouped: bool = False, transposed: bool = False) -> NodeModel | None:
    rank = int(rng.choice([2, 2, 2, 2, 1, 3]))
    batch = int(rng.choice([1, 1, 1, 4]))
    x = [_size(rng, 3, {1: 4000, 2: 224, 3: 40}[rank]) for _ in range(rank)]
    if rank == 2 and rng.random() < 0.6:
        x[1] = x[0]
    groups, inner, outer = 1, _channels(rng), _channels(rng)
    if grouped and rng.random() < 0.6:
        groups = inner = outer = _channels(rng)
    elif grouped:
        groups = int(rng.choice([2, 4, 8, 32]))
        inner, outer = (groups * _size(rng, 1, 48) for _ in range(2))
    k = [int(rng.choice([1, 2, 3, 3, 3, 4, 5, 7]))] * rank
    stride = [int(rng.choice([1, 1, 2])) if not transposed else int(rng.choice([1, 2, 2, 3]))] * rank
    pad = k[0] // 2 if rng.random() < 0.8 else 0
    run_time = rng.random() < 0.25
    if transposed:
        weights = (inner, outer // groups, *k)
        y = [(a - 1) * s - 2 * pad + k[0] for a, s in zip(x, stride, strict=True)]
        products = batch * math.prod(x) * math.prod(weights)
    else:
        weights = (outer, inner // groups, *k)
        y = [(a + 2 * pad - k[0]) // s + 1 for a, s in zip(x, stride, strict=True)]
        products = batch * math.prod(y) * math.prod(weights)
    if min(y) < 1 or max(x) + pad < k[0] or not 1e5 < products < MOST_PRODUCTS:
        return None
    if batch * outer * math.prod(y) > MOST_ELEMENTS or math.prod(weights) > MOST_ELEMENTS:
        return None
    op = onnx.ConvTransposeOp if transposed else onnx.ConvOp
    attributes = {"group": groups, "strides": stride, "pads": [pad] * (2 * rank)}
    return _weighted(
        "ConvTranspose" if transposed else "Conv", op, (batch, inner, *x), weights, attributes, run_time
    )


def _weighted(kind: str, op, data: tuple[int, ...], weights: tuple[int, ...], attributes, run_time: bool):
    name = _shown(data, weights, *(f"{k}={_shown(v)}" for k, v in attributes.items()), "input" * run_time)
    if run_time:
        return NodeModel(kind, name, (data, weights), lambda emit, args: emit(op(*args, **attributes)))
    array = _floats(*weights)
    return NodeModel(
        kind, name, (data,), lambda emit, args: emit(op(args[0], emit.constant(array), **attributes))
    )


def _channels_last(rng: np.random.Generator) -> NodeModel | None:
    inner, outer, size = 16 * _size(rng, 1, 16), 16 * _size(rng, 1, 16), _size(rng, 5, 120)
    k = int(rng.choice([1, 3]))
    if inner * outer * size**2 * k * k > MOST_PRODUCTS:
        return None
    return _between_transposes([inner, outer, size, k], (outer, inner, k, k))


def _depthwise_last(rng: np.random.Generator) -> NodeModel | None:
    """Of any multiple of 4 channels: blocks of 16 that they need not fill."""
    channels, size, k = 4 * _size(rng, 1, 48), _size(rng, 5, 120), int(rng.choice([2, 3, 5]))
    return _between_transposes([channels, size, k], (channels, 1, k, k), channels)


def _between_transposes(name: list[int], shape: tuple[int, ...], group: int | None = None) -> NodeModel:
    """A convolution between two Transposes, which become part of its reordering."""
    *_, size, k = name
    channels = shape[1] * (group or 1)
    weights = _floats(*shape)

    def build(emit, args):
        first = emit(onnx.TransposeOp(args[0], perm=[0, 3, 1, 2]))
        value = emit(onnx.ConvOp(first, emit.constant(weights), pads=[k // 2] * 4, group=group))
        return emit(onnx.TransposeOp(value, perm=[0, 2, 3, 1]))

    return NodeModel("Conv", _shown("NXC", name), ((1, size, size, channels),), build)


def _col2im(rng: np.random.Generator) -> NodeModel | None:
    k, s, c = int(rng.choice([2, 3, 4, 5, 7])), int(rng.choice([1, 2, 2, 3])), _size(rng, 1, 256)
    rank = int(rng.choice([1, 2, 2, 2]))
    y = _size(rng, 4, 100 if rank == 2 else 3000)
    pad = int(rng.choice([0, k // 2]))
    x = (y - 1) * s + k - 2 * pad
    columns = (1, c * k**rank, y**rank)
    if math.prod(columns) > MOST_ELEMENTS or x < 1:
        return None

    def build(emit, args):
        sizes = emit.ints([x] * rank), emit.ints([k] * rank)
        return emit(onnx.Col2ImOp(args[0], *sizes, strides=[s] * rank, pads=[pad] * (2 * rank)))

    return NodeModel(
        "Col2Im", _shown(columns, f"k={k}", f"s={s}", f"p={pad}", f"r={rank}"), (columns,), build
    )


def _pool(rng: np.random.Generator) -> NodeModel | None:
    k, c, y = int(rng.choice([2, 2, 3, 4])), _channels(rng), _size(rng, 4, 200)
    x = (1, c, y * k, y * k)
    if math.prod(x) > MOST_ELEMENTS:
        return None
    return NodeModel(
        "AveragePool",
        _shown(x, f"k={k}"),
        (x,),
        lambda emit, args: emit(onnx.AveragePoolOp(args[0], kernel_shape=[k, k], strides=[k, k])),
    )


def _pool_volume(rng: np.random.Generator) -> NodeModel | None:
    """Volumes, or images with the channels behind, which are not pooled."""
    k, y = int(rng.choice([2, 2, 3, 4])), _size(rng, 4, 150)
    last = [1, _channels(rng)] if rng.random() < 0.7 else [k, _size(rng, 4, 60)]
    window = [k, k, last[0]]
    x = (1, _size(rng, 1, 16), y * k, y * k, last[0] * last[1])
    if math.prod(x) > MOST_ELEMENTS:
        return None
    return NodeModel(
        "AveragePool volume",
        _shown(x, f"k={k}", f"{k}x{last[0]}"),
        (x,),
        lambda emit, args: emit(onnx.AveragePoolOp(args[0], kernel_shape=window, strides=window)),
    )


def _shape(rng: np.random.Generator, rank: int | None = None, most: float = MOST_ELEMENTS) -> list[int]:
    """Random sizes with a random, log-uniform number of elements."""
    rank = rank or int(rng.integers(2, 6))
    total = math.log(rng.uniform(0.2, 1.0)) + rng.uniform(math.log(2000), math.log(most))
    shares = rng.dirichlet(np.ones(rank))
    return [max(1, round(math.exp(total * share))) for share in shares]


def _node(kind: str, name: str, shape: Sequence[int], build: Build, *more: Sequence[int]) -> NodeModel:
    return NodeModel(kind, name, (tuple(shape), *map(tuple, more)), build)


def _transpose(rng: np.random.Generator) -> NodeModel | None:
    shape = _shape(rng)
    perm = rng.permutation(len(shape)).tolist()
    if rng.random() < 0.4:  # between channels first and last, with spatial axes
        shape = [1, *_shape(rng, 3)]
        perm = [0, 2, 3, 1] if rng.random() < 0.5 else [0, 3, 1, 2]
    if perm == sorted(perm):
        return None
    return _node("Transpose", _shown(shape, perm), shape, lambda e, a: e(onnx.TransposeOp(a[0], perm=perm)))


def _slice(rng: np.random.Generator) -> NodeModel | None:
    shape = _shape(rng)
    axis = int(rng.integers(len(shape)))
    size = shape[axis]
    if size < 3:
        return None
    step = 2 if rng.random() < 0.2 else 1
    begin, end = size // 4, size - int(rng.integers(0, size // 2))

    def build(emit, args):
        bounds = (emit.ints([value]) for value in (begin, end, axis, step))
        return emit(onnx.SliceOp(args[0], *bounds))

    return _node("Slice", _shown(shape, axis, begin, end, step), shape, build)


def _concat(rng: np.random.Generator) -> NodeModel | None:
    shape = _shape(rng, most=MOST_ELEMENTS / 3)
    axis, count = int(rng.integers(len(shape))), int(rng.choice([2, 2, 3, 4, 9]))
    if rng.random() < 0.25:  # interleaves
        shape, axis = [*shape, 1], len(shape)
    if count * math.prod(shape) > MOST_ELEMENTS:
        return None
    return _node(
        "Concat",
        _shown(shape, axis, count),
        shape,
        lambda e, a: e(onnx.ConcatOp(list(a), axis=axis)),
        *[shape] * (count - 1),
    )


def _split(rng: np.random.Generator) -> NodeModel | None:
    """The parts are joined in another order: a model has one result."""
    shape, count = _shape(rng), int(rng.choice([2, 3]))
    axis = int(rng.integers(len(shape)))
    shape[axis] = -(-shape[axis] // count) * count

    def build(emit, args):
        split = onnx.SplitOp(args[0], axis=axis, num_outputs=count, results=count)
        emit.ops.append(split)
        return emit(onnx.ConcatOp(list(split.results)[::-1], axis=axis))

    return _node("Split", _shown(shape, axis, count), shape, build)


def _pad(rng: np.random.Generator) -> NodeModel | None:
    shape = _shape(rng)
    pads = [0] * (2 * len(shape))
    for axis in rng.choice(len(shape), size=int(rng.integers(1, 3)), replace=False):
        pads[axis], pads[axis + len(shape)] = (int(v) for v in rng.integers(0, 3, 2))
    if not any(pads):
        return None
    return _node("Pad", _shown(shape, pads), shape, lambda e, a: e(onnx.PadOp(a[0], e.ints(pads))))


def _gather(rng: np.random.Generator) -> NodeModel | None:
    shape = _shape(rng)
    axis = int(rng.integers(len(shape)))
    indices = rng.integers(0, shape[axis], max(1, round(shape[axis] * rng.uniform(0.3, 2)))).astype(np.int64)
    if math.prod(shape) * len(indices) / shape[axis] > MOST_ELEMENTS:
        return None
    return _node(
        "Gather",
        _shown(shape, axis, len(indices)),
        shape,
        lambda e, a: e(onnx.GatherOp(a[0], e.constant(indices), axis=axis)),
    )


def _elementwise(rng: np.random.Generator, op) -> NodeModel | None:
    shape = _shape(rng)
    if rng.random() < 0.4:
        return _node(op.onnx_name(), _shown(shape), shape, lambda e, a: e(op(*a)), shape)
    cut = int(rng.integers(1, len(shape) + 1))
    other = [1 if (rng.random() < 0.3) else size for size in shape[-cut:]]
    array = _floats(*other)
    return _node(
        op.onnx_name(), _shown(shape, "const", other), shape, lambda e, a: e(op(a[0], e.constant(array)))
    )


def _reduce(rng: np.random.Generator) -> NodeModel | None:
    shape = _shape(rng, int(rng.integers(2, 6)))
    if rng.random() < 0.6:  # phases: short axes are summed
        shape = [_size(rng, 1, 64), _size(rng, 2, 300), int(rng.choice([2, 3, 4])), _size(rng, 1, 300)]
    axes = [a for a in range(len(shape)) if rng.random() < 0.4] if rng.random() < 0.5 else [len(shape) - 2]
    if not axes or math.prod(shape) > MOST_ELEMENTS:
        return None
    return _node(
        "ReduceSum",
        _shown(shape, axes),
        shape,
        lambda e, a: e(onnx.ReduceSumOp(a[0], e.ints(axes), keepdims=0)),
    )


def _resize(rng: np.random.Generator) -> NodeModel | None:
    rank = int(rng.choice([1, 2, 2, 2, 3]))
    scale = int(rng.choice([2, 2, 3, 4]))
    shape = [1, *_shape(rng, rank + 1, MOST_ELEMENTS / scale**rank)]
    scales = np.array([1, 1, *[scale] * rank], np.float32)

    def build(emit, args):
        return emit(
            onnx.ResizeOp(
                args[0],
                None,
                emit.constant(scales),
                mode="nearest",
                nearest_mode="floor",
                coordinate_transformation_mode="asymmetric",
            )
        )

    return _node("Resize", _shown(shape, scale), shape, build)


def _depth_to_space(rng: np.random.Generator) -> NodeModel | None:
    b, c, h = int(rng.choice([2, 2, 3, 4])), _size(rng, 1, 128), _size(rng, 4, 128)
    shape = (1, c * b * b, h, h)
    if math.prod(shape) > MOST_ELEMENTS:
        return None
    return _node(
        "DepthToSpace", _shown(shape, b), shape, lambda e, a: e(onnx.DepthToSpaceOp(a[0], blocksize=b))
    )


def _expand(rng: np.random.Generator) -> NodeModel | None:
    shape = _shape(rng, most=MOST_ELEMENTS / 4)
    axis = int(rng.integers(len(shape)))
    given = [1 if a == axis else size for a, size in enumerate(shape)]
    return _node("Expand", _shown(given, shape), given, lambda e, a: e(onnx.ExpandOp(a[0], e.ints(shape))))


def _copy(rng: np.random.Generator) -> NodeModel | None:
    shape = _shape(rng, 3)
    return _node("Copy", _shown(shape), shape, lambda e, a: e(onnx.ReshapeOp(a[0], e.ints([-1]))))


def _cast(rng: np.random.Generator) -> NodeModel | None:
    shape = _shape(rng, 2)
    return _node(
        "Cast", _shown(shape), shape, lambda e, a: e(onnx.CastOp(e(onnx.CastOp(a[0], to=f64)), to=f32))
    )


def _unary(rng: np.random.Generator) -> NodeModel | None:
    shape = _shape(rng, 3)
    return _node("Elementwise", _shown(shape), shape, lambda e, a: e(onnx.SubOp(*a)), shape)


def _wide_matmul(rng: np.random.Generator) -> NodeModel | None:
    m, k, n = _size(rng, 1, 500), _size(rng, 2, 500), _size(rng, 1, 2000)
    if not 1e4 < m * k * n < MOST_PRODUCTS / 2:
        return None
    array = _floats(k, n) if rng.random() < 0.5 else None

    def build(emit, args):
        wide = emit(onnx.CastOp(args[0], to=f64))
        other = (
            emit.constant(array.astype(np.float64))
            if array is not None
            else emit(onnx.CastOp(args[1], to=f64))
        )
        return emit(onnx.MatMulOp(wide, other))

    more = () if array is not None else ((k, n),)
    return _node("MatMul f64", _shown([m, k, n], "const" * (not more)), (m, k), build, *more)


KINDS: dict[str, tuple[int, Draw]] = {
    "MatMul": (140, _matmul),
    "Conv": (160, _conv),
    "Conv grouped": (90, partial(_conv, grouped=True)),
    "Conv NXC": (30, _channels_last),
    "Conv NXC depthwise": (30, _depthwise_last),
    "ConvTranspose": (70, partial(_conv, transposed=True)),
    "ConvTranspose grouped": (40, partial(_conv, grouped=True, transposed=True)),
    "Col2Im": (50, _col2im),
    "AveragePool": (40, _pool),
    "AveragePool volume": (40, _pool_volume),
    "Transpose": (80, _transpose),
    "Slice": (60, _slice),
    "Concat": (70, _concat),
    "Split": (30, _split),
    "Pad": (40, _pad),
    "Gather": (50, _gather),
    "Add": (30, partial(_elementwise, op=onnx.AddOp)),
    "Mul": (40, partial(_elementwise, op=onnx.MulOp)),
    "ReduceSum": (60, _reduce),
    "Resize": (40, _resize),
    "DepthToSpace": (15, _depth_to_space),
    "Expand": (20, _expand),
    "Copy": (15, _copy),
    "Cast": (15, _cast),
    "Elementwise": (12, _unary),
    "MatMul f64": (25, _wide_matmul),
}
"""How many models of each kind, and how one is drawn."""
