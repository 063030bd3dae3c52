"""Graph optimizations of onnxruntime's CPU provider, as far as they matter for the time.

1. A Transpose of a Transpose is merged into one, or none.
2. A Transpose of the last two axes that only MatMul reads is fused into the product.
3. A Pad that only Conv or AveragePool reads is fused into their padding.
4. A Concat of results of the same Transpose is moved before the Transpose.
5. Conv and AveragePool on two axes use blocks of 16 channels if the channels allow it (`blocked_kind`).
   ReorderInput and ReorderOutput convert, once per tensor; a neighbouring Transpose from or to channels-last
   is part of the reordering. Concat on the channels and sums of blocked tensors stay blocked.
6. Gathers of one position each that together are all positions of an axis become one Split.

Seen in the optimized models of onnxruntime 1.31 and 1.32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from passes.cost.graph import Graph, Step, Tensor

BLOCK = 16
"""Channels in a block, with AVX-512."""

ALIGNED = 4
"""Reordering takes channels in multiples of this."""

FROM_LAST, TO_LAST = [0, 3, 1, 2], [0, 2, 3, 1]
"""Permutations from channels-last to channels-first, and back."""

DIRECT, BLOCKED, DEPTHWISE, POINTWISE, POOL = (
    "ConvDirect",
    "ConvBlocked",
    "ConvDepthwise",
    "ConvPointwise",
    "AveragePoolBlocked",
)
"""Blocked kernels. The first reads channels-first data and writes blocks, the others read blocks."""

REORDER_INPUT, REORDER_INPUT_LAST = "ReorderInput", "ReorderInputLast"
REORDER_OUTPUT, REORDER_OUTPUT_LAST = "ReorderOutput", "ReorderOutputLast"

ELEMENTWISE = ("Add", "Sum", "Mul")
"""Ops that stay blocked if all operands are blocked and have the shape of the result."""

JOINS = ("Concat", *ELEMENTWISE)
"""Ops that stay blocked if all operands are."""


def apply_rewrites(graph: Graph) -> Graph:
    for rewrite in (_gathers, _transposes, _fuse_transposes, _fuse_pads, _move_transposes, _assign_blocks):
        rewrite(graph)
        graph.index()
    return graph


def _gathers(graph: Graph) -> None:
    gathered = {_value(step.operand(0)) for step in graph.steps if step.kind == "Gather"}
    split = {value for value in gathered if _take_all(graph.readers.get(value, []))}
    steps: list[Step] = []
    for step in graph.steps:
        if step.kind != "Gather" or _value(step.operand(0)) not in split:
            steps.append(step)
        elif step is (readers := graph.readers[_value(step.operand(0))])[0]:
            axis = step.int("axis", 0) % len(step.operand(0).shape)
            steps.append(Step("Split", step.operands[:1], tuple(r.result for r in readers), {"axis": axis}))
    graph.steps = steps


def _take_all(readers: Sequence[Step]) -> bool:
    """Return whether the readers are Gathers that take each position of one axis once."""
    if len(readers) < 2 or any(step.kind != "Gather" for step in readers):
        return False
    data, axis = readers[0].operand(0), readers[0].int("axis", 0)
    if any(step.operand(0).value is not data.value or step.int("axis", 0) != axis for step in readers):
        return False
    size = data.shape[axis]
    places = [step.operand(1).known() or [] for step in readers]
    return len(readers) == size and sorted(places) == [[place] for place in range(size)]


def perm_of(step: Step) -> list[int]:
    return step.ints("perm", range(len(step.result.shape))[::-1])


def _transposes(graph: Graph) -> None:
    makers = graph.makers()
    instead: dict[SSAValue, SSAValue] = {}
    kept: list[Step] = []
    for old in graph.steps:
        step = _reading(old, instead)
        inner = makers.get(_value(step.operand(0))) if step.kind == "Transpose" else None
        if inner is not None and inner.kind == "Transpose":
            first = perm_of(inner)
            perm = [first[axis] for axis in perm_of(step)]
            step = replace(step, operands=inner.operands, attributes={"perm": perm})
            source = inner.operand(0).value
            if perm == sorted(perm) and source is not None and not graph.leaves(step.result.value):
                instead[_value(step.result)] = source
                continue
        if step.result.value is not None:
            makers[step.result.value] = step
        kept.append(step)
    graph.steps = _without_unread(graph, kept)


def _reading(step: Step, instead: dict[SSAValue, SSAValue]) -> Step:
    if not any(t is not None and t.value in instead for t in step.operands):
        return step
    return replace(
        step, operands=tuple(t and replace(t, value=instead.get(_value(t), t.value)) for t in step.operands)
    )


def _without_unread(graph: Graph, steps: Sequence[Step]) -> list[Step]:
    read = {t.value for step in steps for t in step.operands if t is not None}
    return [
        s for s in steps if s.kind != "Transpose" or s.result.value in read or graph.leaves(s.result.value)
    ]


def _value(tensor: Tensor) -> SSAValue:
    assert tensor.value is not None
    return tensor.value


def _fuse_transposes(graph: Graph) -> None:
    fused = {
        step.result.value
        for step in graph.steps
        if step.kind == "Transpose"
        and _swaps_last_two(perm_of(step))
        and _read_only_by(graph, step, "MatMul")
    }
    kept = [step for step in graph.steps if step.result.value not in fused]
    graph.steps = [
        _mark_transposed(step) if step.kind == "MatMul" and step.operand(0).value in fused else step
        for step in kept
    ]


def _mark_transposed(product: Step) -> Step:
    """Mark a product whose first factor onnxruntime transposes on the fly."""
    return replace(product, attributes={**product.attributes, "transA": 1})


def _swaps_last_two(perm: list[int]) -> bool:
    n = len(perm)
    return perm == [*range(n - 2), n - 1, n - 2]


def _read_only_by(graph: Graph, step: Step, *kinds: str) -> bool:
    readers = graph.readers.get(_value(step.result), [])
    return bool(readers) and not graph.leaves(step.result.value) and all(r.kind in kinds for r in readers)


def _fuse_pads(graph: Graph) -> None:
    """Fuse Pads: the convolution then has the padded tensor as operand."""
    fused = {
        step.result.value
        for step in graph.steps
        if step.kind == "Pad"
        and len(step.result.shape) == 4
        and step.result.shape[:2] == step.operand(0).shape[:2]
        and _read_only_by(graph, step, "Conv", "AveragePool")
    }
    graph.steps = [step for step in graph.steps if step.result.value not in fused]


def _move_transposes(graph: Graph) -> None:
    """Apply rule 4, for Concat alone."""
    makers = graph.makers()
    steps: list[Step] = []
    moved: set[SSAValue | None] = set()
    for step in graph.steps:
        inner = _movable(graph, step, makers)
        if not inner:
            steps.append(step)
            continue
        moved |= {s.result.value for s in inner}
        steps.extend(_concat_first(step, inner))
    graph.steps = [step for step in steps if step.result.value not in moved]


def _movable(graph: Graph, step: Step, makers: dict[SSAValue, Step]) -> list[Step]:
    """Return the Transposes of one permutation that a Concat alone reads; empty if it has other operands."""
    if step.kind != "Concat":
        return []
    inner = [makers[_value(t)] for t in step.operands if t is not None and t.value in makers]
    if len(inner) != len(step.operands) or any(s.kind != "Transpose" for s in inner):
        return []
    alone = all(_read_only_by(graph, s, "Concat") for s in inner)
    return inner if alone and len({tuple(perm_of(s)) for s in inner}) == 1 else []


def _concat_first(step: Step, inner: Sequence[Step]) -> list[Step]:
    perm = perm_of(inner[0])
    axis = perm[step.int("axis", 0) % len(perm)]
    sources = tuple(s.operand(0) for s in inner)
    shape = [0] * len(perm)
    for position, source in enumerate(perm):
        shape[source] = step.result.shape[position]
    # the new tensor has no IR value: reuse that of the first Transpose, which is removed
    between = replace(step.result, shape=tuple(shape), value=inner[0].result.value)
    concat = Step("Concat", sources, (between,), {"axis": axis})
    return [concat, Step("Transpose", (between,), step.results, {"perm": perm})]


@dataclass(frozen=True)
class _Formats:
    """Tensors that exist in blocks, and those of them that also exist in the graph's layout."""

    blocked: set[SSAValue]
    plain: set[SSAValue]


def _assign_blocks(graph: Graph) -> None:
    makers = graph.makers()
    formats = _Formats(set(), set())
    steps: list[Step] = []
    gone: set[SSAValue | None] = set()
    for old in graph.steps:
        kind = blocked_kind(old) or _join_kind(old, formats)
        if kind is None:
            if _is(old, "Transpose", TO_LAST) and old.operand(0).value in formats.blocked:
                steps.append(replace(old, kind=REORDER_OUTPUT_LAST))
                continue
            steps.extend(_plain_operands(old, formats))
            steps.append(old)
            continue
        data = old.operand(0)
        if kind not in (DIRECT, *JOINS) and _value(data) not in formats.blocked:
            maker = makers.get(_value(data))
            last = maker is not None and _is(maker, "Transpose", FROM_LAST) and _has_one_reader(graph, data)
            gone |= {maker.result.value} if last and maker is not None else set()
            steps.append(Step(REORDER_INPUT_LAST if last else REORDER_INPUT, (data,), (data,), {}))
            formats.blocked.add(_value(data))
            formats.plain.add(_value(data))
        elif kind == DIRECT:
            steps.extend(_plain_operands(old, formats))
        formats.blocked.add(_value(old.result))
        steps.append(replace(old, kind=kind))
    for value in graph.results:
        if value in formats.blocked and value not in formats.plain:
            (made,) = (t for s in graph.steps for t in s.results if t.value is value)
            steps.append(Step(REORDER_OUTPUT, (made,), (made,), {}))
    graph.steps = [s for s in steps if s.kind != "Transpose" or s.result.value not in gone]


def _plain_operands(step: Step, formats: _Formats) -> list[Step]:
    """Return the reorders of a step that reads the graph's layout."""
    found: list[Step] = []
    for operand in step.operands:
        if operand is None or operand.value not in formats.blocked or operand.value in formats.plain:
            continue
        formats.plain.add(_value(operand))
        found.append(Step(REORDER_OUTPUT, (operand,), (operand,), {}))
    return found


def _is(step: Step, kind: str, perm: list[int]) -> bool:
    return step.kind == kind and perm_of(step) == perm


def _has_one_reader(graph: Graph, tensor: Tensor) -> bool:
    return len(graph.readers.get(_value(tensor), [])) == 1 and not graph.leaves(tensor.value)


def _join_kind(step: Step, formats: _Formats) -> str | None:
    if step.kind not in JOINS or len(step.result.shape) != 4:
        return None
    operands = [t for t in step.operands if t is not None]
    if not all(t.value in formats.blocked for t in operands):
        return None
    if step.kind == "Concat":
        aligned = all(t.shape[1] % BLOCK == 0 for t in operands)
        return step.kind if aligned and step.int("axis", 0) == 1 else None
    return step.kind if all(t.shape == step.result.shape for t in operands) else None


def blocked_kind(step: Step) -> str | None:
    """Return the blocked kernel of a step, or None."""
    if step.kind in ("AveragePool", "MaxPool"):
        data = step.operand(0)
        alone = len(step.results) == 1  # no such kernel computes indices
        fits = alone and len(data.shape) == 4 and data.itemsize == 4 and data.shape[1] % BLOCK == 0
        return POOL if fits else None
    if step.kind != "Conv":
        return None
    data, weights = step.operand(0), step.operand(1)
    if len(data.shape) != 4 or data.itemsize != 4 or not weights.constant:
        return None
    out, per_group, *kernel = weights.shape
    groups = step.int("group", 1)
    if groups > 1:
        return _group_conv_kind(out, per_group, groups)
    if per_group < BLOCK:
        return DIRECT
    if per_group % ALIGNED:
        return None
    dense = not any(step.ints("pads", [0] * 4))
    return POINTWISE if dense and kernel == [1, 1] else BLOCKED


def _group_conv_kind(out: int, per_group: int, groups: int) -> str | None:
    if per_group == 1 and out == groups:
        return DEPTHWISE if out % ALIGNED == 0 else None
    aligned = per_group % BLOCK == 0 and out // groups % BLOCK == 0
    return BLOCKED if aligned else None
