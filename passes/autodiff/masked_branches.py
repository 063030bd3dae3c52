"""Branches of a Where with an infinite or NaN derivative where the other branch is selected.

The cotangent of `log(x)` in `Where(x > 0, log(x), 0)` is 0 at x = 0, and 0 times the derivative there is NaN.
So the branch reads `Where(x > 0, x, s)` instead of x, for a number s at which the whole branch is finite.
Selected elements are unchanged, others get a finite derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import numpy, traits
from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.call import Call
from dialects.onnx.values import constant_of
from dialects.support.dtypes import known_dtype, of_mlir
from dialects.support.interfaces import set_type
from dialects.support.shapes import element_type_of, has_rank
from passes.autodiff.activity.active_values import is_float
from passes.autodiff.compositions import is_at_most_zero
from passes.builder.pattern_driver import ops_within
from passes.builder.values import Builder

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
"""Ops whose derivative or result is not finite everywhere -> the operands that decide it."""

_ELEMENTWISE = traits.FUNCTIONS | traits.ARITHMETIC | traits.BOUNDED | traits.CHOICES

MOST_OPS = 32
"""Size limit of a rewritten branch, in ops."""

MOST_ELEMENTS = 2**20
"""Size limit of its constants."""

_BASES = (0.75, 1.5, 0.3, 2.5, -0.75, -1.5)
"""Candidates for s at the first operand of a branch; the next operands get numbers near them."""

_STEP = 1e-4


def guard_masked_branches(
    module: ModuleOp, kept: Collection[SSAValue], is_active: Callable[[SSAValue], bool]
) -> bool:
    """Rewrite branches that only a Where reads; return whether the module changed.

    Values of `kept`, by which the caller differentiates, are never within a branch. A branch without an
    active operand is unchanged.
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
    """The elementwise ops, in order, that compute one operand of a Where and have no other readers."""

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
        """Guard the operands that decide finiteness; return whether there are any with safe numbers."""
        operands = list(self._operands())
        if not any(map(is_active, operands)):
            return False
        guarded = [value for value in operands if is_float(value) and self._is_decisive(value)]
        numbers = self._safe_numbers(operands) if guarded else None
        if numbers is None:
            return False
        e = Builder()
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
        """Return the non-constant values that the branch reads and does not compute."""
        made = {result for op in self.ops for result in op.results}
        operands = dict.fromkeys(value for op in self.ops for value in op.operands)
        return (value for value in operands if value not in made and constant_of(value) is None)

    def _is_decisive(self, value: SSAValue) -> bool:
        """Return whether an operand of the branch reaches a steep operand."""
        reached = {value}
        for op in self.ops:
            if any(op.operands[i] in reached for i in _steep_operands(op)):
                return True
            if not reached.isdisjoint(op.operands):
                reached.update(op.results)
        return False

    def _safe_numbers(self, operands: Sequence[SSAValue]) -> Mapping[SSAValue, float] | None:
        """Return a number for each operand with all ops finite at and near it, or None."""
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
    """Infer the result types again for operands of larger shapes."""
    for result, type_ in zip(op.results, op.infer_result_types(), strict=True):
        if type_ is not None:
            set_type(result, type_)


def _elementwise_ops(value: SSAValue, where: Operation, kept: Collection[SSAValue]) -> list[OnnxOp]:
    """Return the float ops that compute a value, in order; none of a long branch."""
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
    """Return whether only ops of `own`, and the Where at `index`, read the op's result."""
    return all(
        use.operation in own or (use.operation is where and use.index == index) for use in op.results[0].uses
    )


def _result(op: OnnxOp, known: Mapping[SSAValue, np.ndarray]) -> np.ndarray | None:
    """Return the result for known operands; None for large constants or without a reference."""
    arrays = [None if value is None else known.get(value, constant_of(value)) for value in op.onnx_inputs()]
    dtype = of_mlir(element_type_of(op.results[0]))
    if dtype is None or op.onnx_name() not in numpy.KERNELS:
        return None
    if any(array is not None and array.size > MOST_ELEMENTS for array in arrays):
        return None
    call = Call(op.onnx_name(), (), op.onnx_attributes(), 1)
    with np.errstate(all="ignore"):
        return numpy.evaluate(call, arrays, [dtype.numpy])[0]


def _steep_operands(op: OnnxOp) -> Sequence[int]:
    """Return the non-constant operands that decide whether an op's derivative is finite."""
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
    return np.array(number, known_dtype(element_type_of(value)).numpy)
