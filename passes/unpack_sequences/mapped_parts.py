"""SequenceMap over a dynamic number of parts of an axis, as a Scan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from xdsl.ir import Block, BlockArgument, Region, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.shapes.forms import Size
from dialects.support.shapes import Dim, Shape, element_type_of, has_rank, shape_of, tensor_type
from passes.builder.op_builder import OpBuilder
from passes.infer_types import refine_with_regions
from passes.unpack_sequences.axis_parts import EqualParts, ListedParts

Copied = Callable[[Sequence[SSAValue], OpBuilder], list[SSAValue]]
"""Function that copies the ops of a body for given elements, and returns the yielded values."""

Column = EqualParts | ListedParts | SSAValue


def map_parts(columns: Sequence[Column], body: Copied, emit: OpBuilder) -> list[EqualParts] | None:
    """Map a body over parts of one position by a Scan; values are the same in each step. None for longer
    parts, of which the last may be shorter, or if the shape of a result may differ between steps."""
    parts = [column for column in columns if isinstance(column, EqualParts) and column.step == 1]
    if any(column not in parts for column in columns if not isinstance(column, SSAValue)):
        return None
    types = [tensor_type(element_type_of(part.data), _without(part)) for part in parts]
    block, inner = Block(arg_types=types), OpBuilder()
    arguments = iter(block.args)
    inputs = [_element(column, arguments, inner) for column in columns]
    made = body(inputs, inner)
    for op in inner.ops:
        refine_with_regions(op)
    around = [shape_of(value) for value in _read(columns) if has_rank(value)]
    if not all(has_rank(value) and _is_the_same(shape_of(value), around) for value in made):
        inner.discard()
        return None
    block.add_ops([*inner.ops, YieldOp(*made)])
    size = shape_of(parts[0].data)[parts[0].axis]
    scan = onnx.ScanOp(
        [part.data for part in parts],
        num_scan_inputs=len(parts),
        scan_input_axes=[part.axis for part in parts],
        body=Region(block),
        result_types=[tensor_type(element_type_of(value), (size, *shape_of(value))) for value in made],
    )
    return [EqualParts(result, 0, 1, single=True) for result in emit.all(scan)]


def _without(part: EqualParts) -> Shape:
    shape = shape_of(part.data)
    return (*shape[: part.axis], *shape[part.axis + 1 :])


def _element(column: Column, arguments: Iterator[BlockArgument], emit: OpBuilder) -> SSAValue:
    if isinstance(column, SSAValue):
        return column
    slice_ = next(arguments)
    if isinstance(column, EqualParts) and column.single:
        return slice_
    return emit(onnx.UnsqueezeOp(slice_, emit.ints([column.axis])))


def _read(columns: Sequence[Column]) -> list[SSAValue]:
    return [column if isinstance(column, SSAValue) else column.data for column in columns]


def _is_the_same(shape: Shape, around: Sequence[Shape]) -> bool:
    """Return whether a shape depends on `around`'s sizes only, and so is the same in each step."""
    known = {leaf for other in around for dim in other for leaf in _leaves(dim)}
    return None not in shape and all(leaf in known for dim in shape for leaf in _leaves(dim))


def _leaves(dim: Dim) -> Collection[object]:
    return dim.leaves if isinstance(dim, Size) else ()
