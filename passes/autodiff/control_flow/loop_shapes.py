"""Shape inference for loop-carried values: which of them keep their shapes in all steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from dialects.onnx.control import YieldOp
from dialects.onnx.ops import IfOp, LoopOp, SliceOp
from dialects.shapes.forms import Fresh, Size, fresh
from dialects.support.interfaces import set_type
from dialects.support.shapes import Dim, Shape, element_type_of, has_rank, shape_of, show, tensor_type
from passes.autodiff.control_flow.loop_invariant_state import shape_of_last
from passes.autodiff.control_flow.promote_carried_rank import raise_ranks
from passes.infer_types import refine_with_regions

_FIRST = 10**8
"""First symbol number used here, above those of any module."""

_STEP = 2 * _FIRST
"""First symbol number of sizes that are local to one step, such as those of an If or a Slice."""


@dataclass(frozen=True)
class CarriedShape:
    """The type of a carried value in each step; `changes` describes how its shape changes, if it does."""

    type: Attribute
    changes: str = ""


def carried_types(
    block: Block,
    arguments: Sequence[BlockArgument],
    initial: Sequence[SSAValue],
    following: Sequence[SSAValue],
) -> list[CarriedShape]:
    """Infer by induction the shapes that a step preserves, starting from the initial ones.

    A size that is not proved to be preserved is None; one that is disproved changes.
    """
    found = _by_induction(block, arguments, initial, following)
    return [replace(one, type=without_symbols(one.type)) for one in found]


def shapes_in_each_step(
    block: Block,
    arguments: Sequence[BlockArgument],
    initial: Sequence[SSAValue],
    following: Sequence[SSAValue],
    values: Sequence[SSAValue],
) -> list[Shape | None]:
    """Return shapes of body values that hold in every step; sizes that may vary are None, and so are shapes
    of unknown rank."""
    if not values:
        return []
    kept = _by_induction(block, arguments, initial, following)
    found = _shapes_after_step(block, dict(zip(arguments, kept, strict=True)), values)
    return [None if one is None else tuple(None if _is_step_local(d) else d for d in one) for one in found]


def _by_induction(
    block: Block,
    arguments: Sequence[BlockArgument],
    initial: Sequence[SSAValue],
    following: Sequence[SSAValue],
) -> list[CarriedShape]:
    """Infer carried types, with symbols for dynamic initial sizes."""
    numbers = count(_FIRST)
    found = [
        CarriedShape(_symbolic_type(value, numbers) if has_rank(value) else argument.type)
        for argument, value in zip(arguments, initial, strict=True)
    ]
    while True:
        after = _shapes_after_step(block, dict(zip(arguments, found, strict=True)), following)
        again = [_merge_step(*row) for row in zip(found, arguments, after, strict=True)]
        if again == found:
            return found
        found = again


def _shapes_after_step(
    block: Block, kept: Mapping[BlockArgument, CarriedShape], following: Sequence[SSAValue]
) -> list[Shape | None]:
    """Return the shapes of carried values after one step; None for unknown ranks."""
    types = [kept[argument].type if argument in kept else argument.type for argument in block.args]
    trial = Block(arg_types=types)
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, trial.args, strict=True))
    numbers = count(_STEP)
    for op in block.ops:
        if isinstance(op, YieldOp):
            continue
        new = op.clone(values)
        trial.add_op(new)
        for inner in new.walk():  # these shapes hold in this step only
            if isinstance(inner, LoopOp):
                _normalize_loop(inner)
        refine_with_regions(new)
        for inner in reversed(list(new.walk())):
            if isinstance(inner, IfOp):
                _join_branches(inner, numbers)
            elif isinstance(inner, SliceOp) and has_rank(inner.results[0]):
                set_type(inner.results[0], _symbolic_type(inner.results[0], numbers))
    made = [values.get(value, value) for value in following]
    found = [shape_of(value) if has_rank(value) else None for value in made]
    trial.drop_all_references()
    return found


def _join_branches(op: IfOp, numbers: Iterator[int]) -> None:
    """Set the result sizes that the branches agree on; others get fresh symbols."""
    ends = [region.block.last_op for region in op.regions]
    for index, result in enumerate(op.results):
        made = [end.operands[index] for end in ends if end is not None]
        shapes = [shape_of(value) for value in made if has_rank(value)]
        if len(shapes) == 2 and len(shapes[0]) == len(shapes[1]):
            dims = [_join_dims(a, b, numbers) for a, b in zip(*shapes, strict=True)]
            set_type(result, tensor_type(element_type_of(result), dims))


def _join_dims(a: Dim, b: Dim, numbers: Iterator[int]) -> Dim:
    if a == b or a is None or b is None:
        return a if a == b else None
    return fresh(next(numbers))


def _merge_step(before: CarriedShape, argument: BlockArgument, after: Shape | None) -> CarriedShape:
    """Merge what is known of a value before and after a step."""
    if not isinstance(before.type, TensorType):
        return before
    shape = shape_of(before.type)
    changes = before.changes or f"from {show(shape)} to {'an unknown rank' if after is None else show(after)}"
    if after is None or len(shape) != len(after):
        return CarriedShape(UnrankedTensorType(before.type.element_type), changes)
    known = [dim if dim == other else None for dim, other in zip(shape, after, strict=True)]
    does = before.changes or any(map(_differ, shape, after))
    return CarriedShape(tensor_type(before.type.element_type, known), changes if does else "")


def _differ(a: Dim, b: Dim) -> bool:
    """Return whether two sizes differ for some values of the symbols. A plain name may be declared for the
    same size, unless the size is 1 before the step, which broadcasts."""
    if isinstance(a, int) and (isinstance(b, int) or a == 1):
        return b is not None and a != b
    return a is not None and a != b and isinstance(b, Size) and b.name is None


def _symbolic_type(value: SSAValue, numbers: Iterator[int]) -> TensorType:
    shape = [fresh(next(numbers)) if dim is None else dim for dim in shape_of(value)]
    return tensor_type(element_type_of(value), shape)


def without_symbols(type_: Attribute) -> Attribute:
    """Return the type without symbols that are local to this module."""
    if not isinstance(type_, TensorType):
        return type_
    dims = [None if _has_local_symbols(dim) else dim for dim in shape_of(type_)]
    return tensor_type(type_.element_type, dims)


def _has_local_symbols(dim: Dim, first: int = _FIRST) -> bool:
    leaves = dim.leaves if isinstance(dim, Size) else ()
    return any(isinstance(leaf, Fresh) and leaf.number >= first for leaf in leaves)


def _is_step_local(dim: Dim) -> bool:
    """Return whether the size is local to one step."""
    return _has_local_symbols(dim, _STEP)


def normalize_loops(module: ModuleOp) -> bool:
    """Set the ranks that Loops preserve where bodies declare none; return whether anything changed."""
    loops = [op for op in module.walk() if isinstance(op, LoopOp)]
    raised = [raise_ranks(op) for op in loops]
    settled = [_normalize_loop(op) for op in loops]
    return any(raised) or any(settled)


def _normalize_loop(op: LoopOp) -> bool:
    block, states = op.body.block, len(op.v_initial)
    last = block.last_op
    assert last is not None
    arguments, made = block.args[2:], last.operands[1:]
    if all(map(has_rank, (*arguments, *op.results))):
        return False
    kept = carried_types(block, arguments, op.v_initial, made[:states])
    for argument, result, one in zip(arguments, op.results, kept, strict=False):
        if isinstance(one.type, TensorType):
            for value in (argument, result):
                if isinstance(value.type, UnrankedTensorType):
                    set_type(value, one.type)
    for inner in block.ops:
        refine_with_regions(inner)
    for index, result in enumerate(op.results[:states]):
        if (shape := shape_of_last(op, index)) is not None:
            set_type(result, tensor_type(element_type_of(result), shape))
    for value, result in zip(made[states:], op.results[states:], strict=True):
        if has_rank(value) and isinstance(result.type, UnrankedTensorType):
            set_type(result, tensor_type(element_type_of(value), (None, *shape_of(value))))
    return True
