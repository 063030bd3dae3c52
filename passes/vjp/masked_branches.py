"""Branches of a Where whose derivative is infinite or NaN where the other branch is chosen.

The cotangent of `log(x)` in `Where(x > 0, log(x), 0)` is 0 at x = 0, and 0 times the derivative there is NaN.
So the branch reads `Where(x > 0, x, s)` in the place of x, s a number at which all of the branch is finite:
what is chosen stays as it is, and what is not has a finite derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import kernels, traits
from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import Call
from dialects.onnx.values import constant_of
from dialects.support.dtypes import of_mlir
from dialects.support.interfaces import set_type
from dialects.support.shapes import element_type_of, has_rank
from passes.emit.expressions import Operators
from passes.emit.walking import ops_within
from passes.vjp.compositions import is_at_most_zero
from passes.vjp.reach.flows import is_float

_STEEP: Mapping[str, tuple[int, ...]] = {
    "Acos": (0,),
    "Acosh": (0,),
    "Asin": (0,),
    "Atanh": (0,),
    "Cosh": (0,),
    "Div": (1,),
    "Exp": (0,),
    "Log": (0,),
    "Pow": (0, 1),
    "Reciprocal": (0,),
    "Sinh": (0,),
    "Sqrt": (0,),
    "Tan": (0,),
}
"""Ops with a derivative or a result that is not finite everywhere -> the operands that decide where."""

_ELEMENTWISE = traits.FUNCTIONS | traits.ARITHMETIC | traits.BOUNDED | traits.CHOICES

MOST_OPS = 32
"""A branch of more ops stays as it is."""

MOST_ELEMENTS = 2**20
"""So does one with a larger constant."""

_BASES = (0.75, 1.5, 0.3, 2.5, -0.75, -1.5)
"""Numbers that are tried for the first operand of a branch; the next operands have others near them."""

_STEP = 1e-4


def guard_masked_branches(
    module: ModuleOp, kept: Collection[SSAValue], is_active: Callable[[SSAValue], bool]
) -> bool:
    """Rewrite the branches of a module that only a Where reads; whether anything changed.

    Values of `kept`, by which the caller differentiates, are not within a branch. A branch without an active
    operand stays as it is.
    """
    changed = False
    for op in reversed(ops_within(module.body)):
        if isinstance(op, onnx.WhereOp):
            for index in (1, 2):
                branch = Branch.of(op, index, kept)
                changed |= branch is not None and branch.guard(is_active)
    return changed


@dataclass(frozen=True)
class Branch:
    """The elementwise ops that make one operand of a Where, and that nothing else reads, in order."""

    where: onnx.WhereOp
    index: int
    ops: Sequence[OnnxOp]

    @classmethod
    def of(cls, where: onnx.WhereOp, index: int, kept: Collection[SSAValue]) -> Branch | None:
        made = _elementwise_ops(where.operands[index], where, kept)
        if not any(map(_steep_operands, made)):
            return None
        own, changed = set[Operation](), True
        while changed:
            new = [op for op in made if op not in own and _only_reads(op, own, where, index)]
            own.update(new)
            changed = bool(new)
        ops = [op for op in made if op in own]
        return cls(where, index, ops) if any(map(_steep_operands, ops)) else None

    def guard(self, is_active: Callable[[SSAValue], bool]) -> bool:
        """Guard the operands that decide whether the branch is finite; whether there are any, and numbers at
        which it is."""
        operands = list(self._operands())
        if not any(map(is_active, operands)):
            return False
        guarded = [value for value in operands if is_float(value) and self._is_decisive(value)]
        numbers = self._safe_numbers(operands) if guarded else None
        if numbers is None:
            return False
        e = Operators()
        condition = e(self.where.operands[0])
        own, is_broadcast = set(self.ops), False
        for value in guarded:
            x, safe = e(value), e.scalar(numbers[value], e(value))
            chosen = condition.where(x, safe) if self.index == 1 else condition.where(safe, x)
            is_broadcast |= chosen.value.type != value.type
            value.replace_uses_with_if(chosen.value, lambda use: use.operation in own)
        for op in self.ops:
            op.detach()
        Rewriter.insert_op([*e.emit.ops, *self.ops], InsertPoint.before(self.where))
        for op in self.ops if is_broadcast else ():
            _infer_results(op)
        return True

    def _operands(self) -> Iterator[SSAValue]:
        """What the branch reads and does not make, constants left out."""
        made = {result for op in self.ops for result in op.results}
        operands = dict.fromkeys(value for op in self.ops for value in op.operands)
        return (value for value in operands if value not in made and constant_of(value) is None)

    def _is_decisive(self, value: SSAValue) -> bool:
        """Whether an operand of the branch comes to where an op is steep."""
        reached = {value}
        for op in self.ops:
            if any(op.operands[i] in reached for i in _steep_operands(op)):
                return True
            if not reached.isdisjoint(op.operands):
                reached.update(op.results)
        return False

    def _safe_numbers(self, operands: Sequence[SSAValue]) -> Mapping[SSAValue, float] | None:
        """A number for each operand, such that all is finite there and near it."""
        if not all(is_float(value) or _is_truth(value) for value in operands):
            return None
        for base in _BASES:
            numbers = {value: base * (1 + i / 8) for i, value in enumerate(operands)}
            if all(self._is_finite(numbers, factor) for factor in (1 - _STEP, 1, 1 + _STEP)):
                return numbers
        return None

    def _is_finite(self, numbers: Mapping[SSAValue, float], factor: float) -> bool:
        known = {value: _array(number * factor, value) for value, number in numbers.items()}
        for op in self.ops:
            found = _result(op, known)
            if found is None or not np.isfinite(found.astype(np.float64)).all():
                return False
            known[op.results[0]] = found
        return True


def _infer_results(op: OnnxOp) -> None:
    """Give an op the result types of its operands, which have a larger shape than before."""
    for result, type_ in zip(op.results, op.infer_result_types(), strict=True):
        if type_ is not None:
            set_type(result, type_)


def _elementwise_ops(value: SSAValue, where: Operation, kept: Collection[SSAValue]) -> list[OnnxOp]:
    """The ops of floats that make a value, each after those whose results it reads; none of a long branch."""
    found: dict[OnnxOp, None] = {}
    waiting: list[tuple[SSAValue, bool]] = [(value, False)]
    opened = set[OnnxOp]()
    while waiting:
        value, is_closed = waiting.pop()
        op = value.owner
        if not isinstance(op, OnnxOp) or value in kept or op.parent is not where.parent:
            continue
        if is_closed:
            found[op] = None
        elif op not in opened and op.onnx_name() in _ELEMENTWISE and is_float(value):
            opened.add(op)
            if len(opened) > MOST_OPS:
                return []
            waiting += [(value, True), *((operand, False) for operand in op.operands)]
    return list(found)


def _only_reads(op: OnnxOp, own: Collection[Operation], where: Operation, index: int) -> bool:
    """Whether only ops of `own`, and the Where at one place, read the result of an op."""
    return all(
        use.operation in own or (use.operation is where and use.index == index) for use in op.results[0].uses
    )


def _result(op: OnnxOp, known: Mapping[SSAValue, np.ndarray]) -> np.ndarray | None:
    """The result for known operands; None for a constant that is too large, or without a kernel."""
    arrays = [None if value is None else known.get(value, constant_of(value)) for value in op.onnx_inputs()]
    dtype = of_mlir(element_type_of(op.results[0]))
    if dtype is None or op.onnx_name() not in kernels.KERNELS:
        return None
    if any(array is not None and array.size > MOST_ELEMENTS for array in arrays):
        return None
    call = Call(op.onnx_name(), (), op.onnx_attributes(), 1)
    with np.errstate(all="ignore"):
        return kernels.evaluate(call, arrays, [dtype.numpy])[0]


def _steep_operands(op: OnnxOp) -> Sequence[int]:
    """The operands of an op, other than constants, that decide whether its derivative is finite."""
    name = op.onnx_name()
    if name == "Exp" and is_at_most_zero(op.operands[0]):
        return ()
    if name == "Pow":
        exponent = constant_of(op.operands[1])
        if exponent is not None and bool(((exponent >= 1) & (exponent == np.floor(exponent))).all()):
            return ()
    return tuple(i for i in _STEEP.get(name, ()) if constant_of(op.operands[i]) is None)


def _is_truth(value: SSAValue) -> bool:
    dtype = of_mlir(element_type_of(value)) if has_rank(value) else None
    return dtype is not None and dtype.name == "boolean"


def _array(number: float, value: SSAValue) -> np.ndarray:
    dtype = of_mlir(element_type_of(value))
    assert dtype is not None
    return np.array(number, dtype.numpy)
