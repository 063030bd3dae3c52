"""Peak memory of a model's values when its nodes run in order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType
from xdsl.ir import Block, Operation, SSAValue

from dialects.onnx import traits
from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import ConstantOp
from dialects.onnx.types import UnknownType
from dialects.support import entry, shapes
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import Shape
from passes.builder.captured_values import values_read_by


class _Unknown(Exception):
    """The size of a value is unknown."""


def peak_bytes(module: ModuleOp, dims: Sequence[str] = ()) -> int | None:
    """Return the peak bytes of computed values, with dynamic `dims` of 1; None if a size is unknown.

    Inputs and constants do not count, and views (Reshape) take none. Runtimes may reorder nodes and reuse the
    memory of operands.
    """
    try:
        return _Run(dict.fromkeys(dims, 1)).peak(entry.entry_function(module).body.block)
    except _Unknown:
        return None


class _Run:
    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes

    def peak(self, block: Block) -> int:
        held, ends = _lives(block)
        alive = most = 0
        for place, op in enumerate(block.ops):
            new = () if isinstance(op, ConstantOp) else op.results
            alive += sum(self._bytes(value) for value in new if held[value] is value)
            within = (self.peak(inner) for region in op.regions for inner in region.blocks)
            most = max(most, alive + max(within, default=0))
            alive -= sum(map(self._bytes, ends.get(place, ())))
        return most

    def _bytes(self, value: SSAValue) -> int:
        """Return the bytes of a tensor; containers hold tensors counted elsewhere and take 0."""
        if isinstance(value.type, UnrankedTensorType | UnknownType):
            raise _Unknown
        if not isinstance(value.type, TensorType):
            return 0
        dtype = of_mlir(value.type.element_type)
        return math.prod(self._known(shapes.shape_of(value))) * (1 if dtype is None else dtype.numpy.itemsize)

    def _known(self, shape: Shape) -> Sequence[int]:
        found = shapes.static(shapes.with_sizes(shape, self.sizes))
        if found is None:
            raise _Unknown
        return found


def _lives(block: Block) -> tuple[dict[SSAValue, SSAValue], dict[int, list[SSAValue]]]:
    """Return the owner of each value's memory, and the values whose last reader is the op at an index."""
    held: dict[SSAValue, SSAValue] = {value: value for value in block.args}
    last: dict[SSAValue, int] = {}
    for place, op in enumerate(block.ops):
        for value in values_read_by(op):
            holder = held.get(value, value)
            if holder in last:
                last[holder] = place
        for value in op.results:
            held[value] = held.get(op.operands[0], op.operands[0]) if _is_view(op) else value
            if held[value] is value and not isinstance(op, ConstantOp):
                last[value] = place
    ends: dict[int, list[SSAValue]] = {}
    for value, place in last.items():
        ends.setdefault(place, []).append(value)
    return held, ends


def _is_view(op: Operation) -> bool:
    return isinstance(op, OnnxOp) and op.onnx_name() in traits.VIEWS
