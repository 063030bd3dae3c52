"""Record of a reverse walk: the cotangents and contributions of each op.

A gradient check tests each step separately, so that it can name the op with a wrong derivative.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from dialects.support.dtypes import HALVES, of_mlir


@dataclass(frozen=True)
class Step:
    """One op of a walk.

    cotangents: a used result of the op -> its cotangent.
    contributions: operands with the op's addend to their cotangents, in their shapes.
    """

    op: Operation
    cotangents: Mapping[SSAValue, SSAValue]
    contributions: Sequence[tuple[SSAValue, SSAValue]] = ()


@dataclass
class Record:
    """The steps of the walk over a function's ops, and its seeds.

    totals: a value -> its complete cotangent.
    narrowed: ops whose derivative uses a half type that the op does not, and that type.
    """

    steps: list[Step] = field(default_factory=list[Step])
    seeds: list[tuple[SSAValue, SSAValue]] = field(default_factory=list[tuple[SSAValue, SSAValue]])
    totals: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    narrowed: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])
    _made: list[tuple[SSAValue, SSAValue]] | None = None

    def begin(self, op: Operation, cotangents: Mapping[SSAValue, SSAValue]) -> None:
        self._made = []
        self.steps.append(Step(op, cotangents, self._made))

    def end(self) -> None:
        self._made = None

    def check_types(self, op: Operation, emitted: Sequence[Operation]) -> None:
        """Record an op whose derivative adds a half type."""
        more = _halves(emitted) - _halves([op])
        self.narrowed += [(op, name) for name in sorted(more)]

    def add(self, value: SSAValue, contribution: SSAValue) -> None:
        """Record a contribution of the current op, or a seed before the first op."""
        (self.seeds if self._made is None else self._made).append((value, contribution))


@dataclass(frozen=True)
class Differentiated:
    """A differentiated copy of a module: the primal ops and those that the walk emitted.

    inputs: name -> argument of the differentiated function.
    weights: argument that replaces a constant -> the constant.
    cotangents: name of a result -> its cotangent's argument; empty if the seeds are constants.
    of, wrt: name -> value.
    primal: the primal ops; the walk may emit some that come before them, such as checkpoints of a Loop.
    """

    module: ModuleOp
    record: Record
    inputs: Mapping[str, SSAValue]
    weights: Mapping[SSAValue, DenseIntOrFPElementsAttr]
    cotangents: Mapping[str, SSAValue]
    of: Mapping[str, SSAValue]
    wrt: Mapping[str, SSAValue]
    primal: Collection[Operation]

    def clone_module(self) -> Differentiated:
        """Return a copy that refers to a clone of the module."""
        new: dict[SSAValue, SSAValue] = {}
        ops: dict[Operation, Operation] = {}
        module = self.module.clone(new)
        ops.update(zip(self.module.walk(), module.walk(), strict=True))

        def pairs(given: Sequence[tuple[SSAValue, SSAValue]]) -> list[tuple[SSAValue, SSAValue]]:
            return [(new[value], new[found]) for value, found in given]

        def named(given: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
            return {name: new[value] for name, value in given.items()}

        steps = [
            Step(ops[step.op], dict(pairs(list(step.cotangents.items()))), pairs(step.contributions))
            for step in self.record.steps
        ]
        totals = dict(pairs(list(self.record.totals.items())))
        narrowed = [(ops[op], name) for op, name in self.record.narrowed]
        record = Record(steps, pairs(self.record.seeds), totals, narrowed)
        weights = {new[argument]: constant for argument, constant in self.weights.items()}
        return replace(
            self,
            module=module,
            record=record,
            inputs=named(self.inputs),
            weights=weights,
            cotangents=named(self.cotangents),
            of=named(self.of),
            wrt=named(self.wrt),
            primal=frozenset(map(ops.__getitem__, self.primal)),
        )


def _halves(ops: Sequence[Operation]) -> set[str]:
    """Return the half types of operands and results, those in regions included."""
    inner = [op for given in ops for op in given.walk()]
    types = {value.type for op in inner for value in (*op.operands, *op.results)}
    found = [of_mlir(type_.element_type) for type_ in types if isinstance(type_, TensorType)]
    return {dtype.name for dtype in found if dtype is not None and dtype.name in HALVES}
