"""Cost of running a module with the numpy reference: estimated from types, and metered per op."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Block, Operation, SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.lifetimes import Ends, last_uses
from dialects.onnx.base import OnnxOp
from dialects.onnx.numpy import KERNELS
from dialects.reference_cost import onnx_ops as onnx_work
from dialects.reference_cost.account import LEAST, STEP, WORD, Account, Work, bytes_of
from dialects.support import shapes
from dialects.support.constants import constant_attribute, constant_value
from dialects.support.documented_op import DocumentedOp
from dialects.support.dtypes import of_mlir
from dialects.support.limits import LimitError
from dialects.support.shapes import Shape, UnknownRank

WIDE = onnx_work.WIDE

SCATTERED_BY_PARTS = ("onednn.interpolate_backward", "cann.", ResizeBackwardOp.name)
"""Ops that allocate nothing but their result."""


class Meter(Interpreter.Listener):
    """Releases values after their last use; accounts for live values and for each op about to run."""

    def __init__(self, account: Account, ends: Mapping[Block, Ends]) -> None:
        self.interpreter: Interpreter | None = None
        self._account = account
        self._ends = dict(ends)
        self._held: dict[Block, dict[SSAValue, int]] = defaultdict(dict)
        self._leaving: dict[Block, Sequence[SSAValue]] = {}

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        block = op.parent
        assert block is not None
        assert self.interpreter is not None
        if op is block.first_op:
            self._hold(block, block.args, self.interpreter.get_values(block.args))
        ends = self._ends.get(block)
        if ends is None:
            ends = self._ends[block] = last_uses(block)
        for value in self._leaving.get(block, ()):
            self._account.held -= self._held[block].pop(value, 0)
        ended = ends.get(op, ())
        self._leaving[block] = [value for value in ended if isinstance(value.owner, Operation)]
        self.interpreter.set_values((value, None) for value in ended)
        self._account.reads += STEP
        _charge(op, self._account, _documented_op_work(op, map(_elements, args)))

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        block = op.parent
        assert block is not None
        if op is block.last_op:
            self._account.held -= sum(self._held.pop(block, {}).values())
        elif constant_attribute_of(op) is None:
            self._hold(block, op.results, results)

    def _hold(self, block: Block, values: Sequence[SSAValue], found: PythonValues) -> None:
        for value, array in zip(values, found, strict=True):
            self._held[block][value] = bytes_of(array)
            self._account.held += self._held[block][value]


def constant_attribute_of(op: Operation) -> Any:
    """Return the elements of a constant op, which the module owns, or None."""
    return constant_attribute(op.results[0]) if len(op.results) == 1 else None


def check(block: Block) -> Ends:
    """Return the lifetimes of a function's values. Raises LimitError, at an op, if types show that a run is
    too costly.

    Regions count only as the iterations of loops whose trip count is known.
    """
    ends, account = last_uses(block), Account()
    account.held = sum(map(_bytes, block.args))
    for op in block.ops:
        account.reads += STEP * (1 + _steps(op))
        _charge(op, account, _work(op))
        ended = (value for value in ends.get(op, ()) if isinstance(value.owner, Operation))
        constants = constant_attribute_of(op) is not None
        account.held -= sum(_bytes(v) for v in ended if constant_attribute(v) is None)
        account.held += 0 if constants else sum(map(_bytes, op.results))
    return ends


def _steps(op: Operation) -> int:
    """Return the number of ops that a Loop interprets, 0 if its trip count is unknown."""
    if not isinstance(op, OnnxOp) or op.onnx_name() != "Loop":
        return 0
    most, block = op.onnx_inputs()[0], op.regions[0].block
    count = None if most is None else constant_value(most)
    last = block.last_op
    if count is None or last is None or last.operands[0] is not block.args[1]:
        return 0
    return int(count.reshape(())) * sum(1 for _ in block.walk())


def _charge(op: Operation, account: Account, work: Work) -> None:
    try:
        account.spend(work)
    except LimitError as error:
        raise error.at_op(op) from None


def _work(op: Operation) -> Work:
    if not isinstance(op, OnnxOp):
        return _documented_op_work(op, [_element_count(value) for value in op.operands])
    if op.onnx_name() not in KERNELS or constant_attribute_of(op) is not None:
        return Work()
    results = [shapes.shape_of(v) if shapes.has_rank(v) else None for v in op.results]
    try:
        return onnx_work.work(op.call(), results)
    except UnknownRank:
        return Work()


def _documented_op_work(op: Operation, operands: Iterable[int]) -> Work:
    """Return the cost of an op outside ONNX from its operands' element counts; zero for all others."""
    if isinstance(op, OnnxOp) or not isinstance(op, DocumentedOp):
        return Work()
    given, made = sum(operands), sum(map(_element_count, op.results))
    if not all(shapes.static(_shape(value)) is not None for value in op.results):
        made = max(made, given)
    if op.name.startswith(SCATTERED_BY_PARTS):
        return Work(given + made + LEAST, WIDE * made)
    return Work(given + made + LEAST, WIDE * (given + 3 * made))


def _shape(value: SSAValue) -> Shape:
    return shapes.shape_of(value) if shapes.has_rank(value) else (None,)


def _element_count(value: SSAValue) -> int:
    return onnx_work.size(_shape(value))


def _elements(value: Any) -> int:
    return math.prod(getattr(value, "shape", ()))


def _bytes(value: SSAValue) -> int:
    if not isinstance(value.type, TensorType) or not shapes.has_rank(value):
        return 0
    dtype = of_mlir(value.type.element_type)
    each = WORD if dtype is None or dtype.numpy.kind in "OUT" else dtype.numpy.itemsize
    return _element_count(value) * each
