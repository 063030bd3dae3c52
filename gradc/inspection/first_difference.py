"""First difference between a model and its compilation.

A value that survives a compilation keeps its name, so both models are run with all common names as outputs.
From the wrong outputs a walk goes back over wrong values to the first in model order; wrong values that only
lead to right ones are ignored, such as a tensor whose axes were reordered. At fault are the nodes between the
value found and the right values before it: several if values between them were fused or folded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.compiler.compiled import Compiled
from gradc.model.intermediate_outputs import Step, steps_of_file, values_of
from gradc.runtime.session import Ep, Session

AT_ONCE = 64
"""Values in memory at a time."""


@dataclass(frozen=True)
class Difference:
    """The first value that differs. `steps` are the nodes of the model that may be at fault, the last of
    which computes the value; `after` are their inputs, which agree. `depth` is the longest chain of nodes to
    the value."""

    value: str
    depth: int
    got: np.ndarray
    want: np.ndarray
    steps: tuple[Step, ...]
    after: tuple[str, ...]

    def __str__(self) -> str:
        *others, last = self.steps
        start = f", from {', '.join(self.after)}, which agree" if self.after else ""
        if not others:
            return f'{last} gives "{self.value}"{start}'
        return f'one of {len(self.steps)} nodes up to {last}, which gives "{self.value}"{start}'


Differs = Callable[[int, np.ndarray, np.ndarray], bool]
"""(depth, got, want) -> whether the arrays differ after a chain of `depth` nodes."""


def first_difference(
    compiled: Compiled,
    path: str | os.PathLike[str],
    inputs: Mapping[str, Any],
    differs: Differs,
    ep: Ep | None = None,
    threads: int | None = None,
    skipped: Collection[str] = (),
) -> Difference | None:
    """Return the first value not in `skipped` that differs.

    None if no common value differs: the runtime then fuses nodes differently, or the wrong value has no
    common name.
    """
    steps = steps_of_file(path)
    depths = _depths(steps)
    kept = values_of(compiled.parts)
    shared = [name for step in steps if step.kind != "Constant" for name in step.makes if name in kept]
    given = {info.name for info in compiled.outputs}
    shared = [name for name in shared if name not in skipped]
    wanted = [name for name in shared if name not in given]
    sessions = (
        Session(path, ep=ep, threads=threads, within=wanted),
        Session(compiled.parts, ep=ep, threads=threads, within=wanted),
    )
    tensors = _tensors(sessions[0]) & _tensors(sessions[1])
    shared = [name for name in shared if name in tensors]
    wrong = set[str]()
    for start in range(0, len(shared), AT_ONCE):
        names = shared[start : start + AT_ONCE]
        want, got = (session.run(_read(session, inputs), names) for session in sessions)
        wrong.update(name for name in names if differs(depths[name], got[name], want[name]))
    found = _leading_to(wrong & given, wrong, steps, set(shared))
    first = next((name for name in shared if name in found), None)
    if first is None:
        return None
    want, got = (session.run(_read(session, inputs), [first]) for session in sessions)
    blamed, after = _between(first, steps, set(shared))
    return Difference(first, depths[first], got[first], want[first], blamed, after)


def _leading_to(ends: set[str], wrong: set[str], steps: Sequence[Step], shared: set[str]) -> set[str]:
    """Return the wrong values from which `ends` are reached through wrong or uncommon values."""
    found = set(ends)
    for step in reversed(steps):
        if any(name in found for name in step.makes):
            found.update(name for name in step.reads if name in wrong or name not in shared)
    return found & wrong


def _tensors(session: Session) -> set[str]:
    return {info.name for info in session.outputs if info.is_tensor and info.dtype != "string"}


def _read(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    known = {info.name for info in (*session.inputs, *session.optional)}
    return {name: array for name, array in inputs.items() if name in known}


def _depths(steps: Sequence[Step]) -> dict[str, int]:
    """Return the length of the longest chain of nodes to each value."""
    found: dict[str, int] = {}
    for step in steps:
        depth = 1 + max((found.get(name, 0) for name in step.reads), default=0)
        found.update(dict.fromkeys(step.makes, depth))
    return found


def _between(value: str, steps: Sequence[Step], shared: set[str]) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Return the nodes between a value and the common values before it, and those values."""
    makers = {name: step for step in steps for name in step.makes if step.kind != "Constant"}
    waiting, found, after = [value], dict[int, Step](), dict[str, None]()
    while waiting:
        step = makers[waiting.pop()]
        if step.place in found:
            continue
        found[step.place] = step
        inner, known = _sides(step, makers, shared)
        waiting += inner
        after.update(dict.fromkeys(known))
    return tuple(step for step in steps if step.place in found), tuple(after)


def _sides(step: Step, makers: Mapping[str, Step], shared: set[str]) -> tuple[list[str], list[str]]:
    """Return the operands that nodes compute, split into uncommon and common ones."""
    made = [name for name in step.reads if name in makers]
    return [n for n in made if n not in shared], [n for n in made if n in shared]
