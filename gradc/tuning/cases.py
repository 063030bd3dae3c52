"""Tuning cases of a graph: its canonical gradients, grouped by problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from dialects.support import entry, shapes
from dialects.support.interfaces import set_type
from gradc.graph.tensors import tensor_info
from gradc.problems import OPS, Problem, problem_of
from gradc.tuning.stores import AT
from gradc.verification.samples import Sizes
from passes.infer_types import infer_types
from passes.strategies.choice import Candidate, candidates
from passes.targets.target import Target

GivenShapes = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Case:
    """A problem, its ops, and its candidate strategies, the cheapest applicable one first.

    `sizes` is the problem with the sizes to measure, None if they are unknown.
    """

    problem: Problem
    sizes: Problem | None
    candidates: tuple[Candidate, ...]
    ops: list[Operation] = field(default_factory=list)

    @property
    def key(self) -> str:
        """Key of the case in a store."""
        at = f"{AT}{self.sizes}" if self.sizes not in (None, self.problem) else ""
        return f"{self.problem}{at}"

    @property
    def applicable(self) -> tuple[str, ...]:
        """Names of the applicable strategies, the cheapest first."""
        return tuple(c.strategy.name for c in self.candidates if c.refusal is None)

    def why_not(self, strategy: str) -> str | None:
        """Return the reason why a strategy does not apply; None if it does."""
        for candidate in self.candidates:
            if candidate.strategy.name == strategy:
                return candidate.refusal
        return f"no strategy {strategy} is known for it"

    @property
    def predicted_seconds(self) -> float:
        """Predicted time of all ops of the case with the cheapest strategy."""
        costs = [c.cost for c in self.candidates if c.cost is not None]
        return len(self.ops) * min(costs, default=0.0)


def cases(module: ModuleOp, target: Target, given: GivenShapes) -> list[Case]:
    """Return the cases of a module of canonical gradients, in the order of their first ops.

    `given` fixes shapes of inputs by name, to measure at. Raises GradcError if one does not fit.
    """
    gradients, sized = _gradients(module), _gradients(_with_shapes(module, given))
    found: dict[tuple[str, str], Case] = {}
    for op, sized_op in zip(gradients, sized, strict=True):
        problem = problem_of(op)
        sizes = _sizes(problem, problem_of(sized_op))
        identity = (str(problem), str(sizes))
        if identity not in found:
            found[identity] = Case(problem, sizes, tuple(candidates(op, target)))
        found[identity].ops.append(op)
    return list(found.values())


def _gradients(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if type(op) in OPS]


def _sizes(problem: Problem, sized: Problem) -> Problem | None:
    """Return the problem with the sizes of `sized`, None if those are not static."""
    if not shapes.is_static(sized.diff_dst):
        return None
    return problem if sized == problem else replace(problem, diff_dst=sized.diff_dst)


def _with_shapes(module: ModuleOp, given: GivenShapes) -> ModuleOp:
    """Return the module with the given input shapes and the types that follow."""
    if not given:
        return module
    module = module.clone()
    function = entry.entry_function(module)
    names = entry.input_names(function)
    infos = [tensor_info(name, argument) for name, argument in zip(names, function.args, strict=True)]
    sizes = Sizes(infos, given)
    for info, argument in zip(infos, function.args, strict=True):
        set_type(argument, shapes.tensor_type(shapes.element_type_of(argument), sizes.known(info)))
    infer_types(module)
    return module
