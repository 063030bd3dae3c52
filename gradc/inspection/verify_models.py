"""Comparison of a compiled model with its source model, both on onnxruntime."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from os import PathLike
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from dialects.onnx.ops import ConstantOp
from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError, several
from dialects.support.limits import LimitError
from dialects.support.option_names import option
from gradc.compiler.compiled import Compiled
from gradc.inspection.first_difference import Difference, first_difference
from gradc.inspection.fixed_inputs import FixedInputsSession
from gradc.inspection.input_ranges import RangeRun, range_runs
from gradc.inspection.unexercised import branches_of, search
from gradc.model.intermediate_outputs import kinds_of_file, values_after
from gradc.runtime import RUNTIMES
from gradc.runtime.session import Session, ep_of
from gradc.verification.exact_match import is_same, kind_of
from gradc.verification.operand_values import has_restricted_values
from gradc.verification.random_ops import KINDS, RandomOp, random_outputs
from gradc.verification.samples import ANY_SIZES, Guess
from gradc.verification.verify import RTOL, OutputError, compare

SIZES = (ANY_SIZES, Guess(1, 1), Guess(3, 7), Guess(2, 9, step=2), Guess(1, 64))
"""Sizes of dynamic dims; the source model may be invalid at some of them."""


DRAWS, PATIENCE = 40, 5.0
"""Limits on redrawing inputs that the model rejects: number of draws, seconds of CPU time."""

MOST_NUMBERS = 8
"""Elements of an input in a message."""

FURTHER_SIZES = (Guess(4, 4), Guess(2, 2))
"""Sizes for a model that runs at none of the others."""

NO_COMMON_DIFFERENCE = (
    "no common value of both models differs if all of them are outputs: the runtime fuses the nodes of the "
    "models differently, or the value that differs has a name in only one of them"
)


@dataclass(frozen=True)
class ModelError(OutputError):
    """Error of an output relative to the source model, or the reason why there is none.

    `sizes` are the dynamic sizes of the inputs; `random` are the random ops due to which it is not compared.
    `exercises` is the branch or the range for which the inputs were drawn, `unexercised` are the branches
    without inputs.
    """

    identical: bool = False
    sizes: str = ""
    refused: str = ""
    random: tuple[str, ...] = ()
    exercises: str = ""
    unexercised: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return bool(self.random) or super().ok

    @property
    def inputs(self) -> str:
        """The sizes and the branch or range of the inputs."""
        return "; ".join(filter(None, (self.sizes, self.exercises)))

    @property
    def empty(self) -> bool:
        """True if the outputs agree but have no elements."""
        return self.ok and not self.random and prod(self.shape) == 0

    @property
    def verdict(self) -> str:
        if self.refused:
            return f"FAILED: {self.refused}"
        if self.random:
            return f"not comparable: {several(self.random)} draws random numbers"
        if self.empty:
            return "ok, but it has no elements"
        return "ok, identical" if self.identical else super().verdict


@dataclass(frozen=True)
class WithinError(ModelError):
    """Error of the first value that differs; `difference` names the nodes at fault."""

    difference: Difference | None = None


@dataclass(frozen=True, eq=False)
class Expected:
    """Inputs, and the source model's outputs for them."""

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    sizes: str
    exercises: str = ""


@dataclass(frozen=True, eq=False)
class Pair:
    """A model file and its compilation, to run on the same inputs."""

    compiled: Compiled
    path: str | PathLike[str]
    rtol: float | None = None
    ep: Any = None
    threads: int | None = None
    runtime: str | None = None
    """The compiled model's; the source model runs on onnxruntime."""
    constants: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    """Inputs of the source model that are constants in the compiled one."""

    @cached_property
    def original(self) -> Session:
        return FixedInputsSession(self.path, self.constants, ep=self.provider, threads=self.threads)

    def expected(self, inputs: Mapping[str, Any]) -> Expected:
        return Expected(inputs, self.original.run(inputs), self.sizes(inputs))

    def sizes(self, inputs: Mapping[str, Any]) -> str:
        return _sizes(self.original, inputs)

    def forget_original(self) -> None:
        """Drop the source model's session, so that weights are in memory once."""
        self.__dict__.pop("original", None)

    def rows(self, given: Expected) -> list[ModelError]:
        """Run the compiled model; return a row per output."""
        inputs, expected, sizes = given.inputs, given.outputs, given.sizes
        try:
            found = self.compiled.run(inputs, self.ep, self.threads, self.runtime)
        except GradcError as error:
            why = error.diagnostic.message
            return [_error_row(name, want, sizes, why) for name, want in expected.items()]
        rows = against(expected, self.compiled, found, self.rtol, sizes)
        return [self._unless_random(row, expected[row.name]) for row in rows]

    def range_rows(self, given: RangeRun) -> Iterator[ModelError]:
        """Yield a row for each output that is wrong for inputs of another range."""
        names = [name for name in given.outputs if name not in self.random and given.is_determined(name)]
        try:
            found = self.compiled.run(given.inputs, self.ep, self.threads, self.runtime)
        except GradcError as error:
            why = error.diagnostic.message
            yield from (_error_row(name, given.outputs[name], "", why) for name in names)
            return
        ops, placed = depth(self.compiled.source), dict(zip(given.outputs, found.values(), strict=False))
        for name in names:
            got, want = given.compared(name, found.get(name, placed[name]))
            usual = RTOL.get(kind_of(want), 0.0) * max(ops, 1) if self.rtol is None else self.rtol
            row = _row(name, got, want, given.bound(name, usual), ops, "")
            if not row.ok:
                yield row

    @cached_property
    def random(self) -> Mapping[str, tuple[RandomOp, ...]]:
        """Output name -> the random ops on which it depends."""
        found = random_outputs(self.compiled.source)
        kinds = kinds_of_file(self.path, KINDS) if found else {}
        return {
            name: tuple(replace(op, kind=kinds.get(op.name, op.kind)) for op in ops)
            for name, ops in found.items()
        }

    def _unless_random(self, row: ModelError, want: Any) -> ModelError:
        """Return the row, without errors if they are due to random ops; seeded generators may agree."""
        ops = self.random.get(row.name, ())
        if not ops or (row.ok and all(op.seeded for op in ops)) or len(row.shape) != np.ndim(want):
            return row
        return replace(row, worst=np.nan, typical=np.nan, identical=False, random=tuple(map(str, ops)))

    def first_difference(self, inputs: Mapping[str, Any], beyond_bounds: bool) -> WithinError | None:
        """Return the first value beyond its bound, or, without `beyond_bounds`, the first not bitwise
        identical."""
        sizes = self.sizes(inputs)

        def row(name: str, ops: int, got: Any, want: Any) -> ModelError:
            return _row(name, got, want, self.rtol, ops, sizes)

        def differs(ops: int, got: Any, want: Any) -> bool:
            found = row("", ops, got, want)
            return not (found.ok if beyond_bounds else found.identical)

        drawn = {op.name for ops in self.random.values() for op in ops}
        skipped = values_after(self.path, drawn) if drawn else set[str]()
        given = {**self.constants, **inputs}
        found = first_difference(
            self.compiled, self.path, given, differs, self.provider, self.threads, skipped
        )
        if found is None:
            return None
        measured = row(found.value, found.depth, found.got, found.want)
        return WithinError(**vars(measured), difference=found)

    @property
    def is_on_other_runtime(self) -> bool:
        """True if the compiled model does not run on onnxruntime, whose sessions return inner values."""
        return self.runtime not in (None, RUNTIMES[0])

    @property
    def provider(self) -> Any:
        return ep_of(self.compiled.options.target) if self.ep is None else self.ep


def against(
    expected: Mapping[str, Any],
    compiled: Compiled,
    found: Mapping[str, Any],
    rtol: float | None = None,
    sizes: str = "",
) -> list[ModelError]:
    """Return a row per output of the source model. The bound grows with the longest chain of ops."""
    ops = depth(compiled.source)
    placed = dict(zip(expected, found.values(), strict=False))  # an output that is also an input was renamed
    return [
        _row(name, found.get(name, placed[name]), want, rtol, ops, sizes) for name, want in expected.items()
    ]


def depth(module: ModuleOp) -> int:
    """Return the longest chain of ops."""
    known: dict[SSAValue, int] = {}
    for op in entry.entry_function(module).body.block.ops:
        before = max((known.get(operand, 0) for operand in op.operands), default=0)
        known.update(dict.fromkeys(op.results, before + (not isinstance(op, ConstantOp))))
    return max(known.values(), default=0)


def verify(
    compiled: Compiled,
    path: str | PathLike[str],
    inputs: Mapping[str, Any],
    rtol: float | None = None,
    ep: Any = None,
    threads: int | None = None,
) -> list[ModelError]:
    """Compare the models on inputs; return a row per output."""
    pair = Pair(compiled, path, rtol, ep, threads)
    expected = pair.expected(inputs)
    pair.forget_original()
    return pair.rows(expected)


Draw = Callable[[Guess], Mapping[str, Any]]
"""Function that draws inputs of guessed sizes."""


def verify_at_sizes(
    pair: Pair, draw: Draw, guesses: Sequence[Guess], within: bool = False, redraws: bool = True
) -> Iterator[ModelError | str]:
    """Yield the rows at all distinct sizes, and remarks on sizes at which the source model does not run.

    The first wrong rows are followed by the first wrong value with the nodes at fault; with `within`,
    identical or not, by the first value that is not identical. With `redraws`, rejected inputs are drawn
    again, and wrong outputs for inputs of other ranges follow. Raises GradcError if the model runs at no
    size.
    """
    runs, refusals = _source_runs(pair, draw, guesses, redraws)
    ranges: list[RangeRun] = []
    if runs and redraws:
        ranges = [*range_runs(pair.compiled.source, pair.original.run, runs[0].inputs)]
    unexercised = _through_branches(pair, runs, redraws) if runs else ()
    pair.forget_original()
    located = wrong = False
    for run in runs:
        about = {"exercises": run.exercises, "unexercised": unexercised}
        rows = [replace(row, **about) for row in pair.rows(run)]
        yield from rows
        right = all(row.ok for row in rows)
        wrong |= not right
        if located or (right and not within) or any(row.refused for row in rows) or pair.is_on_other_runtime:
            continue
        located = True
        found = pair.first_difference(run.inputs, beyond_bounds=not right)
        if found is not None:
            yield found
        elif not all(row.identical or row.random for row in rows):
            yield NO_COMMON_DIFFERENCE
    for given in () if wrong else ranges:
        rows = [*pair.range_rows(given)]
        yield from (replace(row, sizes=runs[0].sizes, exercises=given.label) for row in rows)
    if not runs:
        raise refusals[0]
    if unexercised:
        yield f"not exercised: {several(unexercised)}; {option('inputs')} gives inputs for them"
    for refusal in refusals:
        yield f"skipped sizes at which the source model does not run: {refusal.diagnostic.message}"


def _source_runs(
    pair: Pair, draw: Draw, guesses: Sequence[Guess], redraws: bool
) -> tuple[list[Expected], list[GradcError]]:
    """Run the source model at all distinct sizes; return the runs and the errors.

    If it runs at none, inputs that are sizes, axes or indices are drawn again.
    """
    runs, refusals = _runs(pair, draw, guesses)
    is_drawn = bool(_restricted_inputs(pair)) or (len(guesses) > 1 and _is_dynamic(pair.original))
    if runs or not is_drawn or not redraws:
        return runs, refusals
    if any(isinstance(error, UnsupportedError) for error in refusals):
        return [], [error for error in refusals if isinstance(error, UnsupportedError)]
    guesses = [*guesses, *FURTHER_SIZES] if len(guesses) > 1 else guesses
    until = time.thread_time() + PATIENCE
    for values in range(1, DRAWS):
        for guess in guesses:
            runs, _ = _runs(pair, draw, [replace(guess, values=values)])
            if runs:
                others = [each for each in guesses if each != guess]
                more, refused = _runs(pair, draw, [replace(each, values=values) for each in others])
                return [*runs, *more], refused
            if time.thread_time() > until:
                return [], [_no_inputs_error(pair, draw, guesses[0], refusals[0])]
    return [], [_no_inputs_error(pair, draw, guesses[0], refusals[0])]


def _through_branches(pair: Pair, runs: list[Expected], search_more: bool) -> tuple[str, ...]:
    """Add runs that visit unvisited branches; return the branches left."""
    branches = branches_of(pair.path, pair.provider, pair.threads, pair.constants)
    if branches is None:
        return ()
    try:
        for run in runs:
            branches.visit(run.inputs)
    except GradcError:
        return ()

    def accept(inputs: Mapping[str, Any], label: str) -> None:
        runs.append(replace(pair.expected(inputs), exercises=label))

    if search_more:
        search(branches, [run.inputs for run in runs], accept)
    return branches.missing


def _runs(pair: Pair, draw: Draw, guesses: Sequence[Guess]) -> tuple[list[Expected], list[GradcError]]:
    original = pair.original
    seen, runs, refusals = set[str](), list[Expected](), list[GradcError]()
    for guess in guesses:
        try:
            inputs = draw(guess)
        except LimitError as error:
            refusals.append(error)
            continue
        if (sizes := _sizes(original, inputs)) in seen:
            continue
        try:
            runs.append(pair.expected(inputs))
            seen.add(sizes)
        except GradcError as error:
            refusals.append(error)
    return runs, refusals


def _is_dynamic(session: Session) -> bool:
    """Return whether an input has a dynamic dim."""
    return any(not all(isinstance(dim, int) for dim in info.dims) for info in session.inputs)


def _restricted_inputs(pair: Pair) -> list[str]:
    """Return the inputs whose values are restricted."""
    function = entry.entry_function(pair.compiled.source)
    named = zip(function.args, entry.input_names(function), strict=True)
    return [name for argument, name in named if has_restricted_values(argument)]


def _no_inputs_error(pair: Pair, draw: Draw, guess: Guess, error: GradcError) -> UnsupportedError:
    """Return the error that no inputs were found at which the model, which may be valid, runs."""
    inputs = draw(guess)
    drawn = [f"{name} as {_brief(inputs[name])}" for name in _restricted_inputs(pair) if name in inputs]
    sizes = _sizes(pair.original, inputs)
    given = [f"sizes {sizes}"] * bool(sizes) + drawn
    text = f"the model runs at none of the drawn inputs, such as {several(given, 4)}"
    others = f"{option('shape')} and {option('size')} other sizes"
    hint = f"{option('inputs')} gives valid inputs, {others}"
    return UnsupportedError(Diagnostic("error", f"{text}: {error.diagnostic.message}; {hint}"))


def _brief(array: Any) -> str:
    numbers = np.ravel(array).tolist() if isinstance(array, np.ndarray) else [array]
    text = ", ".join(map(str, numbers[:MOST_NUMBERS]))
    return f"[{text}{', ...' if len(numbers) > MOST_NUMBERS else ''}]"


def _sizes(session: Session, inputs: Mapping[str, Any]) -> str:
    """Return the dynamic sizes of inputs as text, by dim name or else by input name."""
    found: dict[str, str] = {}
    for info in session.inputs:
        array = inputs.get(info.name)
        if not isinstance(array, np.ndarray) or len(info.dims) != array.ndim:
            continue
        named = {dim: str(n) for dim, n in zip(info.dims, array.shape, strict=True) if isinstance(dim, str)}
        found |= named
        if None in info.dims:
            found[info.name] = "x".join(map(str, array.shape))
    return ", ".join(f"{name}={size}" for name, size in found.items())


def _error_row(name: str, want: Any, sizes: str, why: str) -> ModelError:
    shape = want.shape if isinstance(want, np.ndarray) else ()
    return ModelError(name, kind_of(want), shape, np.inf, np.inf, 0.0, sizes=sizes, refused=why)


def _row(name: str, got: Any, want: Any, rtol: float | None, ops: int, sizes: str) -> ModelError:
    bound = RTOL.get(kind_of(want), 0.0) * max(ops, 1) if rtol is None else rtol
    return ModelError(**vars(compare(name, got, want, bound)), identical=is_same(got, want), sizes=sizes)
