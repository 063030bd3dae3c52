"""Record of a reverse walk: for each op the cotangents it was given and the contributions it made.

A gradient check tests every step by itself, so that a wrong derivative is blamed on its op.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class Step:
    """One op of a walk.

    cotangents: a result of the op -> its cotangent, for each result that is read.
    contributions: values that the op reads, each with what the op adds to its cotangent, in its shape.
    """

    op: Operation
    cotangents: Mapping[SSAValue, SSAValue]
    contributions: Sequence[tuple[SSAValue, SSAValue]] = ()


@dataclass
class Record:
    """The steps of the walk over a function's ops, and the seeds it began with.

    totals: a value -> its complete cotangent.
    """

    steps: list[Step] = field(default_factory=list[Step])
    seeds: list[tuple[SSAValue, SSAValue]] = field(default_factory=list[tuple[SSAValue, SSAValue]])
    totals: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    _made: list[tuple[SSAValue, SSAValue]] | None = None

    def begin(self, op: Operation, cotangents: Mapping[SSAValue, SSAValue]) -> None:
        self._made = []
        self.steps.append(Step(op, cotangents, self._made))

    def end(self) -> None:
        self._made = None

    def add(self, value: SSAValue, contribution: SSAValue) -> None:
        """Note a contribution of the op that the walk is at, or a seed before the first."""
        (self.seeds if self._made is None else self._made).append((value, contribution))


@dataclass(frozen=True)
class Differentiated:
    """A copy of a module as it was differentiated: the forward ops, behind them what the walk emitted.

    inputs: name -> argument, of the function that was differentiated.
    weights: an argument that stands for a constant -> the constant.
    cotangents: name of a result -> the argument that is its cotangent; empty where the seeds are constants.
    of, wrt: name -> value, of what is differentiated and by what.
    forward: how many ops of the function are forward ops.
    """

    module: ModuleOp
    record: Record
    inputs: Mapping[str, SSAValue]
    weights: Mapping[SSAValue, DenseIntOrFPElementsAttr]
    cotangents: Mapping[str, SSAValue]
    of: Mapping[str, SSAValue]
    wrt: Mapping[str, SSAValue]
    forward: int

    def cloned(self) -> Differentiated:
        """The same in terms of a clone of the module, which nobody else changes."""
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
        record = Record(steps, pairs(self.record.seeds), dict(pairs(list(self.record.totals.items()))))
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
        )
