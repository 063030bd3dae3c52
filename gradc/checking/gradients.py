"""The proof of a gradient: slopes by differences of its primal in float64, by numpy and by no rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.support import dense, entry
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import (
    Diagnostic,
    UnsupportedError,
    diagnostic_at,
    several,
)
from dialects.support.shapes import has_rank, static_shape
from gradc.checking.claims import CheckError, Claim, remark
from gradc.checking.drawn import SEEDS, drawn_inputs, guesses_of, in_words
from gradc.checking.large_constants import has_large_constants, without_large_constants
from gradc.checking.lines import Arrays, Line, evaluated, in_float64, line, widened
from gradc.checking.roundings import NUDGES, ROUNDINGS, is_of_roundings, nudged
from gradc.checking.samples import Guess
from gradc.checking.single import alone, inputs_of
from gradc.checking.slopes import NEAR, Slope, slope
from gradc.checking.straight_through import off_codes
from passes.differentiate import Request, differentiate
from passes.vjp.reach.flows import is_float

MOST_WORK = 200_000_000
"""Multiplications of the primal beyond which nothing is checked unless it is asked for; an element that
another op reads or writes counts as PER_ELEMENT of them, an op as PER_OP. It takes some three seconds."""

PER_ELEMENT, PER_OP = 20, 50_000

NOTHING_TOLD = ": the results have no numbers at the sizes that were drawn"

MOST_ALONE = 8
"""Values by which slopes are looked at one by one; those of further ones all at once."""

DIRECTIONS_ALONE = 3
"""Directions along which an op is looked at alone: along one its slope may be small by cancellation."""


class TooMuchWork(Exception):
    """The primal is larger than what is checked without being asked for."""


@dataclass
class Work:
    """What evaluating took, so far; raises TooMuchWork."""

    most: float
    done: float = 0.0

    def __call__(self, op: Operation, args: Sequence[Any], results: Sequence[Any]) -> None:
        arrays = [array for array in (*args, *results) if isinstance(array, np.ndarray)]
        self.done += PER_OP + PER_ELEMENT * sum(array.size for array in arrays) + _products(op, arrays)
        if self.done > self.most:
            raise TooMuchWork


def _products(op: Operation, arrays: Sequence[np.ndarray]) -> int:
    name = op.name.removeprefix("onnx.")
    if name in ("Conv", "ConvTranspose") and len(arrays) > 2:
        larger = arrays[-1] if name == "Conv" else arrays[0]
        return larger.size * prod(arrays[1].shape[1:])
    if name in ("MatMul", "Gemm") and len(arrays) > 2 and arrays[0].ndim:
        return arrays[-1].size * max(arrays[0].shape)
    return 0


def check_gradient(claim: Claim, rules: Mapping[str, Any] | None, most: float) -> list[Diagnostic]:
    """Remarks on what could not be decided. Raises CheckError where the gradient is wrong, TooMuchWork where
    the primal takes more than `most`."""
    if most < np.inf:
        _check_weights(claim.primal, most)  # before there is a copy of them in float64
    try:
        return (
            _decided_at_codes(claim, rules, most) if claim.straight_through else _decided(claim, rules, most)
        )
    except UnsupportedError as error:
        return [remark(f"the gradient could not be checked: {error.diagnostic.message}")]


def _decided_at_codes(claim: Claim, rules: Mapping[str, Any] | None, most: float) -> list[Diagnostic]:
    """Or beside them, where they decide nothing or tell of a fault: many are 0, where there are kinks."""
    try:
        remarks = _decided(claim, rules, most)
    except CheckError:
        return _decided(claim, rules, most, beside=True)
    return _decided(claim, rules, most, beside=True) if remarks else []


def _check_weights(module: ModuleOp, most: float) -> None:
    attributes = [constant_attribute(op.results[0]) for op in module.walk() if op.results]
    if PER_ELEMENT * sum(prod(a.type.get_shape()) for a in attributes if a is not None) > most:
        raise TooMuchWork


def _decided(
    claim: Claim, rules: Mapping[str, Any] | None, most: float, *, beside: bool = False
) -> list[Diagnostic]:
    straight, wrt = claim.straight_through, list(claim.gradients)
    path = line(claim.primal, claim.of, wrt, straight_through=straight, beside=beside)
    undecided, why = list(claim.gradients), ""
    gradient, guesses = widened(claim.gradient), guesses_of(claim.primal)
    given = len(guesses)
    if path.is_beside:
        off_codes(gradient)
    arguments = entry.entry_function(claim.primal).args
    is_open = not all(has_rank(value) and static_shape(value) is not None for value in arguments)
    for turn in range(SEEDS + given - 1):
        seed = turn - (given - len(guesses))  # the next guess is tried at the same point
        if seed == SEEDS:
            break
        try:
            point = _point(claim, path, gradient, seed, most, guesses[0])
            found = dict(point.slopes(undecided))
        except (TooMuchWork, UnsupportedError):
            raise
        except Exception as error:  # sizes that were drawn, and that the model cannot have
            why, guesses = f": {in_words(error)}", guesses[1:] or guesses
            continue
        if is_open and not point.tells():
            why, guesses = NOTHING_TOLD, guesses[1:] or guesses
            continue
        found |= _right_without_large_constants(claim, path, gradient, seed, guesses[0], found)
        wrong = [name for name, one in found.items() if one.verdict == "wrong"]
        wrong = [name for name in wrong if point.slope([name]).verdict == "wrong"]  # and along another line
        if wrong and any(_is_of_roundings(claim, gradient, point, name, found[name]) for name in wrong):
            why = ", as they are what roundings leave of terms that cancel"
            continue
        if wrong and point.writes_twice():
            why = ", as integers were drawn by which one place is written twice"
            continue
        if wrong and point.is_masked():
            why = ", as masks were drawn that leave a Softmax nothing to see"
            continue
        if wrong:
            raise _wrong(point, max(wrong, key=lambda name: found[name].error), rules, seed)
        undecided = [name for name in undecided if name not in found or found[name].verdict != "right"]
        if not undecided:
            return []
    what = f"the gradient by {several(undecided)} could not be decided by differences"
    return [remark(f"{what}{why or ', which agree at none of the points that were tried'}")]


@dataclass
class _Point:
    """A point of the primal, the cotangents there, and what the gradient says."""

    path: Line
    inputs: Mapping[str, Any]
    cotangents: Mapping[str, np.ndarray]
    gradients: Mapping[str, np.ndarray]
    values: Mapping[str, np.ndarray]
    rng: np.random.Generator
    results: Mapping[str, np.ndarray] = field(default_factory=dict)

    def tells(self) -> bool:
        """Whether there is a number among the results: some of no elements are infinite, as a maximum is."""
        return any(np.isfinite(result).any() for result in self.results.values())

    def slopes(self, names: Sequence[str]) -> Iterator[tuple[str, Slope]]:
        """Of each name, or of many together if there are many: then of each if that is not right."""
        first, others = names[:MOST_ALONE], names[MOST_ALONE:]
        if others:
            together = self.slope(others)
            first = first if together.verdict == "right" else names
            yield from ((name, together) for name in others if together.verdict == "right")
        yield from ((name, self.slope([name])) for name in first)

    def writes_twice(self) -> bool:
        """Whether a place is written twice, and nothing is added up: which one stays, ONNX does not say."""
        found: list[bool] = []
        self.path.run(self.inputs, {}, lambda op, args, _: found.append(_writes_twice(op, args)))
        return any(found)

    def is_masked(self) -> bool:
        """Whether a Softmax sees no number that a step can move: a mask that was added swallows all."""
        found: list[bool] = []
        self.path.run(self.inputs, {}, lambda op, args, _: found.append(_is_masked(op, args)))
        return any(found)

    def slope(self, names: Sequence[str]) -> Slope:
        directions = {name: self._direction(self.values[name]) for name in names}
        if any(self.gradients[name].shape != self.values[name].shape for name in names):
            return Slope(np.nan, np.nan, "wrong", np.inf)
        terms = [(self.gradients[name] * directions[name]).reshape(-1) for name in names]
        joined = np.concatenate(terms)
        return slope(self._along(directions), float(joined.sum()), float(np.linalg.norm(joined)))

    def _direction(self, value: np.ndarray) -> np.ndarray:
        size = float(np.sqrt(np.mean(np.square(value)))) if value.size else 0.0
        return self.rng.standard_normal(value.shape) * (size or 1.0)

    def total(self, results: Mapping[str, np.ndarray]) -> float:
        """What slopes are of."""
        return float(self._terms(results).sum())

    def _terms(self, results: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.concatenate([(results[name] * c).reshape(-1) for name, c in self.cotangents.items()])

    def _along(self, directions: Mapping[str, np.ndarray]) -> Callable[[float], tuple[float, float]]:
        def value(t: float) -> tuple[float, float]:
            found = self.path.run(self.inputs, {name: t * d for name, d in directions.items()})
            terms = self._terms(found)
            return float(terms.sum()), float(np.abs(terms).sum())

        return value


def _is_masked(op: Operation, args: Sequence[Any]) -> bool:
    if not isinstance(op, onnx.SoftmaxOp | onnx.LogSoftmaxOp) or not np.size(args[0]):
        return False
    axis = op.onnx_attributes().get("axis", -1)
    assert isinstance(axis, int)
    highest = np.max(args[0], axis=axis)
    return bool((np.isfinite(highest) & (np.spacing(np.abs(highest)) > NEAR)).any())


def _writes_twice(op: Operation, args: Sequence[Any]) -> bool:
    if isinstance(op, onnx.MaxUnpoolOp):
        return len(np.unique(args[1])) < np.size(args[1])
    if not isinstance(op, onnx.ScatterElementsOp | onnx.ScatterNDOp):
        return False
    attributes: Any = op.onnx_attributes()
    if attributes.get("reduction", "none") != "none":
        return False
    data, indices = args[0], np.asarray(args[1])
    if isinstance(op, onnx.ScatterNDOp):
        places = indices.reshape(-1, indices.shape[-1])
        places = places % np.array(data.shape[: indices.shape[-1]])
    else:
        axis = attributes.get("axis", 0)
        columns = list(np.indices(indices.shape))
        columns[axis] = indices % data.shape[axis]
        places = np.stack([column.reshape(-1) for column in columns], -1)
    return len(np.unique(places, axis=0)) < len(places)


def _point(claim: Claim, path: Line, gradient: ModuleOp, seed: int, most: float, guess: Guess) -> _Point:
    inputs = drawn_inputs(claim.primal, seed, guess)
    found = path.run(inputs, {}, Work(most))
    rng = np.random.default_rng([seed, 2])  # neither a cotangent nor a direction is what an input is
    cotangents = {name: _cotangent(claim, found[name], rng) for name in claim.of}
    values = {name: found[f"value {name}"] for name in claim.gradients}
    results = {name: found[name] for name in claim.of}
    said = _said(claim, gradient, inputs, cotangents)
    return _Point(path, inputs, cotangents, said, values, rng, results)


def _right_without_large_constants(
    claim: Claim, path: Line, gradient: ModuleOp, seed: int, guess: Guess, found: Mapping[str, Slope]
) -> dict[str, Slope]:
    """The slopes that are right, among those found not to be, where both have smaller constants."""
    off = [name for name, one in found.items() if one.verdict != "right"]
    if not off or not has_large_constants(path.module):
        return {}
    path = replace(path, module=without_large_constants(path.module))
    point = _point(claim, path, without_large_constants(gradient), seed, np.inf, guess)
    return {name: one for name in off if (one := point.slope([name])).verdict == "right"}


def _cotangent(claim: Claim, value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if claim.cotangents:
        return rng.standard_normal(value.shape)
    return np.full(value.shape, 1 / max(value.size, 1) if claim.reduce == "mean" else 1.0)


def _said(
    claim: Claim, gradient: ModuleOp, inputs: Mapping[str, Any], cotangents: Mapping[str, np.ndarray]
) -> Arrays:
    """The gradients by the name of what they are by."""
    function = entry.entry_function(gradient)
    weights = {name: dense.to_numpy(value) for name, value in entry.defaults(function).items()}
    seeds = {claim.cotangents[name]: c for name, c in cotangents.items() if claim.cotangents}
    given = {**weights, **inputs, **seeds}
    results = evaluated(gradient, [in_float64(given[name]) for name in entry.input_names(function)])
    by_name = dict(zip(entry.output_names(function), results, strict=True))
    return {
        name: by_name[result] / claim.factors.get(result, 1.0) for name, result in claim.gradients.items()
    }


def _is_of_roundings(claim: Claim, gradient: ModuleOp, point: _Point, name: str, one: Slope) -> bool:
    """Whether a gradient is another one where inputs differ by a rounding, or its primal, which is of some
    other gradient, differs by what the differences are wrong by."""
    total = point.total(point.results)
    for inputs in (nudged(point.inputs, seed) for seed in range(NUDGES)):
        said = _said(claim, gradient, inputs, point.cotangents)[name]
        off = abs(point.total(point.path.run(inputs, {})) - total)
        if (
            is_of_roundings(point.gradients[name], said)
            or abs(one.said - one.found) <= ROUNDINGS * off / NEAR
        ):
            return True
    return False


def _wrong(point: _Point, name: str, rules: Mapping[str, Any] | None, seed: int) -> CheckError:
    one = point.slope([name])
    of = " and ".join(point.path.of)
    found = f"along a direction drawn from seed {seed} it is {one.said:.6g}, by differences {one.found:.6g}"
    text = f"the gradient of {of} by {name} is wrong: {found}"
    blamed = _blamed(point, name, rules)
    if blamed is None:
        return CheckError(Diagnostic("error", f"{text}; every op is right alone, so their sum is not"))
    op, alone_ = blamed
    apart = f"alone it gives {alone_.said:.6g} for {alone_.found:.6g}"
    return CheckError(diagnostic_at(op, "error", f"{text}; the derivative of this op is to blame: {apart}"))


def _blamed(point: _Point, name: str, rules: Mapping[str, Any] | None) -> tuple[Operation, Slope] | None:
    """The op on the way whose own derivative is furthest off."""
    seen: list[tuple[Operation, Sequence[Any]]] = []
    point.path.run(point.inputs, {}, lambda op, args, results: seen.append((op, args)))
    found: dict[object, tuple[Operation, Slope]] = {}
    function = entry.entry_function(point.path.module)
    displacements = function.args[len(point.path.inputs) :]
    reached: set[SSAValue] = {displacements[point.path.wrt.index(name)]}
    for op, args in seen:
        if op.parent_block() is not function.body.block or reached.isdisjoint(op.operands):
            continue
        reached.update(filter(is_float, op.results))
        if not set(displacements).isdisjoint(op.operands):
            continue
        shapes = tuple(np.shape(array) for array in args)
        key = (op.name, tuple(sorted(op.properties.items())), shapes)
        one = None if key in found else _alone(op, args, rules)
        if one is not None and one.verdict == "wrong":
            found[key] = (op, one)
    return max(found.values(), key=lambda pair: pair[1].error, default=None)


def _alone(op: Operation, args: Sequence[Any], rules: Mapping[str, Any] | None) -> Slope | None:
    """How an op's own derivative does where the op was; None for one that cannot be looked at alone."""
    try:
        primal = alone(op, verify=False)
        function = entry.entry_function(primal)
        values = dict(zip(op.operands, args, strict=True))
        names = entry.input_names(function)
        inputs = dict(zip(names, (values[value] for value in inputs_of(op)), strict=True))
        wrt = [name for name, value in zip(names, function.args, strict=True) if is_float(value)]
        results = zip(entry.output_names(function), op.results, strict=True)
        of = [name for name, value in results if is_float(value)]
        gradient = primal.clone()
        request = Request(of, wrt, cotangents=True, allow_unused=True)
        found = differentiate(gradient, request, rules=rules)
        claim = Claim(primal, gradient, of, found.gradients, found.cotangents)
        path, rng = line(primal, of, wrt), np.random.default_rng(0)
        shapes = path.run(inputs, {})
        cotangents = {name: rng.standard_normal(shapes[name].shape) for name in of}
        said = _said(claim, gradient, inputs, cotangents)
        point = _Point(path, inputs, cotangents, said, {n: shapes[f"value {n}"] for n in wrt}, rng)
        slopes = [point.slope([one]) for one in wrt for _ in range(DIRECTIONS_ALONE)]
    except Exception:  # an op with regions, or without a meaning alone
        return None
    return max(slopes, key=lambda one: (one.verdict == "wrong", one.error))
