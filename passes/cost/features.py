"""Features that determine the time of a step; their names are the rows of the cost data.

The suffix says what is counted: `.bytes` moved within the caches, `.far` those beyond NEAR, `.runs` of
contiguous elements, `.elements`; `node` counts nodes. A multiply-add is one flop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dialects.onnx import traits
from passes.cost.features_conv import average_pool, blocked_kernel, col2im, conv, conv_transpose
from passes.cost.features_matmul import gemm_op, matmul
from passes.cost.graph import VIEWS, Graph, Step, Tensor
from passes.cost.vector import ALONE, Features, add, traffic
from passes.onnxruntime import optimizer_model

Rule = Callable[[Step], Features]


def features(graph: Graph) -> Features:
    """Return the features of a graph to which `optimizer_model.apply_rewrites` was applied."""
    total: Features = {}
    for step in graph.steps:
        add(total, step_features(step, graph))
    return total


def step_features(step: Step, graph: Graph) -> Features:
    if step.kind in VIEWS:
        leaves = graph.leaves(step.result.value)
        return {"node": 1.0} | traffic("Copy", 2 * step.result.bytes) if leaves else {"view": 1.0}
    rule = rule_of(step.kind) or _elementwise
    return {"node": 1.0} | rule(step)


def rule_of(kind: str) -> Rule | None:
    """Return the pricing rule of a kind of step, None for an unknown kind. That is priced as elementwise; a
    test checks that gradc creates none."""
    return _RULES.get(kind) or (_elementwise if kind in _ELEMENTWISE else None)


def _bytes_of(*tensors: Tensor | None) -> int:
    return sum(t.bytes for t in tensors if t is not None)


def _plain(name: str) -> Rule:
    """Make a rule that counts bytes read and written."""

    def rule(step: Step) -> Features:
        return traffic(name, _bytes_of(step.operand(0), *step.results))

    return rule


def _reorder(name: str, last: bool = False) -> Rule:
    """Make a rule of a reorder: bytes of channels and blocks. Partial blocks are copied element by element.
    Threads share the blocks of all images, unless channels are `last`."""

    def rule(step: Step) -> Features:
        data = step.operand(0)
        batch, channels, *_ = data.shape
        found = _block_features(name, data)
        is_one_block = not last and batch == 1 and channels <= optimizer_model.BLOCK
        return {ALONE + feature: count for feature, count in found.items()} if is_one_block else found

    return rule


def _block_features(name: str, data: Tensor) -> Features:
    batch, channels, *image = data.shape
    positions, filled = batch * math.prod(image), channels % optimizer_model.BLOCK
    if not filled:
        return traffic(name, 2 * data.bytes)
    unused = positions * (optimizer_model.BLOCK - filled)
    partial = {f"{name}.partial": float(positions * optimizer_model.BLOCK)}
    return traffic(name, 2 * data.bytes + unused * data.itemsize) | partial


def _elementwise(step: Step) -> Features:
    """Count bytes, and spans: runs over the last axes, in which no operand changes between broadcast and
    not."""
    name = step.kind if step.kind in ("Add", "Mul", "Sum") else "Elementwise"
    found = traffic(name, _bytes_of(*step.operands, *step.results))
    operands = [t for t in step.operands if t is not None]
    if all(t.elements in (1, step.result.elements) for t in operands):
        return found
    return found | {f"{name}.spans": step.result.elements / max(1, _span(operands, step.result))}


def _span(operands: Sequence[Tensor], result: Tensor) -> int:
    """Return the elements of the innermost axes over which every operand is either whole or broadcast."""
    rank = len(result.shape)
    shapes = [(1,) * (rank - len(t.shape)) + t.shape for t in operands]
    span, kinds = 1, None
    for axis in range(rank)[::-1]:
        size = result.shape[axis]
        if size == 1:
            continue
        current = tuple(shape[axis] == size for shape in shapes)
        if kinds is not None and current != kinds:
            break
        kinds = current
        span *= size
    return span


def _copy_features(name: str, pieces: Sequence[tuple[int, int]], itemsize: int) -> Features:
    """Count copies of `pieces`: (elements, length of a run)."""
    total = sum(elements for elements, _ in pieces)
    runs = sum(elements / max(1, run) for elements, run in pieces)
    return traffic(name, 2 * total * itemsize) | {f"{name}.runs": runs}


def _run(whole: Sequence[int], part: Sequence[int]) -> int:
    """Return the number of contiguous elements shared by a tensor and a window of it."""
    run = 1
    for size, kept in zip(reversed(whole), reversed(part), strict=True):
        run *= kept
        if size != kept:
            break
    return run


def _slice(step: Step) -> Features:
    data, result = step.operand(0), step.result
    run = _run(data.shape, result.shape)
    steps = step.operands[4] if len(step.operands) > 4 else None
    if steps is not None and any(s != 1 for s in steps.known() or [0]):
        return {"Slice.strided": float(result.elements)} | traffic("Slice", 2 * result.bytes)
    return _copy_features("Slice", [(result.elements, run)], result.itemsize)


def _pad(step: Step) -> Features:
    data, result = step.operand(0), step.result
    run = _run(result.shape, data.shape)
    return _copy_features("Pad", [(data.elements, run)], data.itemsize) | {"Pad.filled": float(result.bytes)}


def _concat(step: Step) -> Features:
    axis = step.int("axis", 0) % max(1, len(step.result.shape))
    parts = [t for t in step.operands if t is not None]
    pieces = [(t.elements, math.prod(t.shape[axis:])) for t in parts]
    return _copy_features("Concat", pieces, step.result.itemsize) | {"Concat.parts": float(len(parts))}


def _split(step: Step) -> Features:
    axis = step.int("axis", 0) % len(step.operand(0).shape)
    pieces = [(t.elements, math.prod(t.shape[axis:])) for t in step.results]
    return _copy_features("Split", pieces, step.result.itemsize) | {"Split.parts": float(len(step.results))}


def _gather(step: Step) -> Features:
    data, result = step.operand(0), step.result
    axis = step.int("axis", 0) % len(data.shape)
    return _copy_features("Gather", [(result.elements, math.prod(data.shape[axis + 1 :]))], result.itemsize)


def _expand(step: Step) -> Features:
    data, result = step.operand(0), step.result
    shape = (1,) * (len(result.shape) - len(data.shape)) + data.shape
    return _copy_features("Expand", [(result.elements, _run(result.shape, shape))], result.itemsize)


def _transpose(step: Step) -> Features:
    """Count one of three loops: one axis moves outwards or inwards, or anything else. Runs of elements are
    copied, single ones if the last axis moves. Axes of size 1 count as axes."""
    shape, perm, result = step.operand(0).shape, optimizer_model.perm_of(step), step.result
    rank = len(perm)
    long = [axis for axis in perm if shape[axis] != 1]
    if long == sorted(long):
        return traffic("Copy", 2 * result.bytes)
    kept = rank
    while kept > 0 and perm[kept - 1] == kept - 1:
        kept -= 1
    run = math.prod(shape[kept:])
    name = f"Transpose.{_direction(perm)}"
    found = traffic(name, 2 * result.bytes)
    unit = "runs" if run > 1 else "elements"
    return found | {f"{name}.{unit}": result.elements / max(1, run)}


def _direction(perm: Sequence[int]) -> str:
    """Classify a permutation: one axis moves `outwards` (also a swap) or `inwards`, else `general`."""
    moved = [i for i, axis in enumerate(perm) if axis != i]
    first, last = moved[0], moved[-1]
    window = list(perm[first : last + 1])
    if window == [last, *range(first, last)]:
        return "outwards"
    return "inwards" if window == [*range(first + 1, last + 1), first] else "general"


def _reduce(step: Step) -> Features:
    """Count a reduction; onnxruntime has fast loops for some patterns of reduced axes."""
    data, result = step.operand(0), step.result
    pattern: list[bool] = []
    sizes: list[int] = []
    for size, keep in zip(data.shape, _keeps_axis(step), strict=True):
        if size == 1 and keep:
            continue
        if pattern and pattern[-1] == keep:
            sizes[-1] *= size
        else:
            pattern.append(keep)
            sizes.append(size)
    word = "".join("K" if keep else "R" for keep in pattern)
    name = f"ReduceSum.{word if word in _REDUCTIONS else 'general'}"
    found = traffic(name, data.bytes + result.bytes) | {f"{name}.elements": float(data.elements)}
    if word == "KRK":
        return found | {f"{name}.runs": float(sizes[0] * sizes[1]), f"{name}.calls": float(sizes[0])}
    return found | {f"{name}.results": float(result.elements)}


_REDUCTIONS = ("KR", "RK", "KRK")
"""Patterns of kept (K) and reduced (R) axes with a special loop, neighbours of a kind merged."""


def _keeps_axis(step: Step) -> list[bool]:
    data = step.operand(0)
    rank = len(data.shape)
    given = step.operands[1].known() if len(step.operands) > 1 and step.operands[1] is not None else None
    given = step.ints("axes", given if given is not None else range(rank))
    reduced = {axis % rank for axis in given}
    return [axis not in reduced for axis in range(rank)]


def _resize(step: Step) -> Features:
    """Count a Resize: images have a special loop, doubled ones a faster one; any other rank is slower."""
    shape = step.result.shape
    name = {4: "Resize.image", 3: "Resize.line"}.get(len(shape), "Resize.general")
    if len(shape) == 4 and shape[2:] == tuple(2 * size for size in step.operand(0).shape[2:]):
        name = "Resize.doubled"
    found = traffic(name, _bytes_of(step.operand(0), step.result))
    return found | {f"{name}.elements": float(step.result.elements)}


def _depth_to_space(step: Step) -> Features:
    found = traffic("DepthToSpace", 2 * step.result.bytes)
    return found | {"DepthToSpace.elements": float(step.result.elements)}


def _max_pool(step: Step) -> Features:
    """Count a MaxPool like AveragePool. With indices it reads elements one by one, as a general Transpose,
    but takes half as long again (2 to 4 ns each)."""
    if len(step.results) == 1:
        return average_pool(step)
    taps = math.prod(step.ints("kernel_shape", ()))
    return {"Transpose.general.elements": 1.5 * step.result.elements * max(3, taps)}


def _scatter_elements(step: Step) -> Features:
    """Count a copy, and a scatter of single elements at 3 to 5 ns each."""
    updates = step.operand(2).elements
    return traffic("Copy", 2 * step.result.bytes) | {"Transpose.general.elements": 2.0 * updates}


_ELEMENTWISE = traits.POINTWISE | traits.ALONG_AN_AXIS | frozenset(("GatherElements", "Range"))
"""Steps whose time is determined by the bytes read and written, as far as measured."""

_RULES: dict[str, Rule] = {
    "Gemm": gemm_op,
    "MatMul": matmul,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Col2Im": col2im,
    "AveragePool": average_pool,
    "MaxPool": _max_pool,
    optimizer_model.DIRECT: blocked_kernel,
    optimizer_model.BLOCKED: blocked_kernel,
    optimizer_model.DEPTHWISE: blocked_kernel,
    optimizer_model.POINTWISE: blocked_kernel,
    optimizer_model.POOL: blocked_kernel,
    optimizer_model.REORDER_INPUT: _reorder("ReorderInput"),
    optimizer_model.REORDER_INPUT_LAST: _reorder("ReorderInputLast", last=True),
    optimizer_model.REORDER_OUTPUT: _reorder("ReorderOutput"),
    optimizer_model.REORDER_OUTPUT_LAST: _reorder("ReorderOutputLast", last=True),
    "Cast": _plain("Cast"),
    "Slice": _slice,
    "Pad": _pad,
    "Concat": _concat,
    "Split": _split,
    "Gather": _gather,
    "Expand": _expand,
    "Tile": _expand,
    "ConstantOfShape": lambda step: traffic("Copy", step.result.bytes),
    "Transpose": _transpose,
    "ScatterElements": _scatter_elements,
    "ReduceSum": _reduce,
    "Resize": _resize,
    "DepthToSpace": _depth_to_space,
    "Shape": lambda step: {},
}
