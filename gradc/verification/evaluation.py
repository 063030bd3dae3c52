"""Evaluation of a function in float64, op by op, with forward-mode tangents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Block, Operation, Region, SSAValue

from dialects.evaluate import interpreter_of
from dialects.grad.stop_gradient import StopGradientOp
from dialects.lifetimes import last_uses
from dialects.onnx.base import OnnxOp
from dialects.onnx.control import YieldOp
from dialects.onnx.interpreter import containers, control
from dialects.onnx.interpreter import evaluate as evaluate_op
from dialects.onnx.interpreter.pairs import pair_with, tangent_of, value_of
from dialects.onnx.node import NodeOp
from dialects.onnx.numpy import OPERAND_ERRORS
from dialects.support import dense, entry, shapes
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import GradcError, kind_of, name_of, violation
from gradc.verification.kernels import Kernels, push_single
from gradc.verification.tangent_errors import shake
from gradc.verification.tangents import Tangent, jvp
from gradc.verification.widening import wide

Values = tuple[Any, ...]


MOVES = frozenset(containers.MEANINGS) - {"ConcatFromSequence", "SplitToSequence"} | {"Identity"}
"""Ops that pass arrays and pairs through."""


class NotComputed(Exception):
    """An op has no value at a sample; the message names the op."""


def reason_of(error: GradcError | NotComputed) -> str:
    """Return the reason why an op has no value, as one line."""
    text = error.diagnostic.message if isinstance(error, GradcError) else str(error)
    return " ".join(text.split())[:200]


class Evaluation:
    """Values and tangents of a module whose floats are f64.

    `carries` are the ops of the function whose results get tangents; within regions all results do. `marked`
    returns the results of ops with a different derivative, such as straight-through estimators. With
    `shaken`, tangents within regions and of `inner` ops get errors of random signs and the size of their
    bounds.
    """

    def __init__(
        self,
        module: ModuleOp,
        carries: Collection[Operation] = (),
        kernel: Kernels | None = None,
        marked: Callable[[Operation, Callable[[SSAValue], Any], Any], Any] | None = None,
        shaken: np.random.Generator | None = None,
        inner: Collection[Operation] = (),
    ) -> None:
        self._module = module
        self._carries = carries
        self._kernel = kernel
        self._marked = marked
        self._shaken = shaken
        self._inner = inner
        self._scopes: list[dict[SSAValue, Any]] = [{}]
        self._interpreter: Interpreter | None = None
        self.tangents: dict[SSAValue, Any] = {}
        """Result of an op in `carries` -> its `Tangent`, or those of a sequence's elements."""

        self.open_within: dict[Operation, list[tuple[Operation, int]]] = {}
        """Op with regions -> inner ops with undecided elements, and their number."""

        self.taken: dict[Operation, set[int]] = {}
        """Op with regions -> indices of the regions that ran."""

        self._around: list[Operation] = []

    def __getitem__(self, value: SSAValue) -> Any:
        """Return a value or pair as set or computed; constants in their own type. Raises NotComputed."""
        for scope in reversed(self._scopes):
            if value in scope:
                return scope[value]
        constant = constant_attribute(value)
        if constant is None:
            raise NotComputed(f"{value.name_hint or 'a value'} is not computed where it is needed")
        return dense.to_numpy(constant)

    def __contains__(self, value: SSAValue) -> bool:
        return any(value in scope for scope in self._scopes) or constant_attribute(value) is not None

    def __setitem__(self, value: SSAValue, given: Any) -> None:
        self._scopes[-1][value] = given

    def forget(self, value: SSAValue) -> None:
        self._scopes[0].pop(value, None)

    def run(self, op: Operation) -> None:
        """Compute the results of an op. Raises NotComputed."""
        if len(op.results) == 1 and constant_attribute(op.results[0]) is not None:
            return
        carries = len(self._scopes) > 1 or op in self._carries
        args = tuple(wide_of(self[operand]) for operand in op.operands)
        try:
            results = self._results(op, args if carries else tuple(map(value_of, args)), carries)
        except GradcError as error:
            if error.__cause__ is None:
                raise
            raise NotComputed(_not_computed(op, args)) from error
        for value, result in zip(op.results, results, strict=True):
            self[value] = result

    def _results(self, op: Operation, args: Values, carries: bool) -> Values:
        if isinstance(op, StopGradientOp):
            return tuple(map(value_of, args))
        name = op.onnx_name() if isinstance(op, OnnxOp) else ""
        if name in control.MEANINGS:
            assert isinstance(op, OnnxOp)
            self._around.append(op)
            try:
                return control.MEANINGS[name](self, op, args)
            finally:
                self._around.pop()
        if (
            self._marked is not None
            and (found := self._marked(op, self.__getitem__, self.numbers)) is not None
        ):
            return found
        if name in MOVES:
            assert isinstance(op, OnnxOp)
            return args if name == "Identity" else (containers.evaluate(op, args),)
        values, tangents = tuple(map(value_of, args)), tuple(map(tangent_of, args))
        results = self.numbers(op, values)
        if not carries or all(tangent is None for tangent in tangents):
            return results
        found = self.jvp(op, values, tangents, results)
        self._note(op, found)
        if self._shaken is not None and (self._around or op in self._inner):
            found = [shake(op, tangents, tangent, self._shaken) for tangent in found]
        return tuple(pair_with(r, _directional_derivative(t)) for r, t in zip(results, found, strict=True))

    def jvp(
        self,
        op: Operation,
        values: Sequence[Any],
        tangents: Sequence[Any],
        results: Sequence[Any] | None = None,
    ) -> list[Any]:
        """Return the directional derivatives of the results of an op without regions."""

        def run(given: Sequence[Any]) -> Values:
            return self.numbers(op, given)

        if self._kernel is not None and self._kernel.is_single(op):
            return list(push_single(values, tangents, run))
        return jvp(op, values, tangents, run, results=results)

    def _note(self, op: Operation, found: Sequence[Any]) -> None:
        if not self._around:
            self.tangents.update(zip(op.results, found, strict=True))
            return
        count = sum(open_elements(tangent) for tangent in found)
        if count:
            self.open_within.setdefault(self._around[0], []).append((op, count))

    def numbers(self, op: Operation, values: Sequence[Any]) -> Values:
        """Return the results of an op for operand values, which may have other shapes if the op is
        pointwise."""
        if isinstance(op, NodeOp) and self._kernel is not None:
            return tuple(map(wide, self._kernel(op, values)))
        with np.errstate(all="ignore"):
            if not isinstance(op, OnnxOp):
                return self._interpret(op, tuple(values))
            name = op.onnx_name()
            if name in containers.MEANINGS:
                return (containers.evaluate(op, tuple(values)),)
            if name == "Constant":
                return (op.call().attribute("value"),)
            return evaluate_op(op, tuple(values))

    def _interpret(self, op: Operation, values: Values) -> Values:
        if self._interpreter is None:
            self._interpreter = interpreter_of(self._module)
        try:
            return self._interpreter.run_op(op, values)
        except OPERAND_ERRORS as error:
            raise violation(f"operands of {kind_of(op)}: {error}") from error

    def run_ssacfg_region(self, region: Region, args: Values, name: str = "", /) -> Values:
        """Run the block of a region; control flow calls this for each step."""
        op = region.parent_op()
        assert op is not None
        self.taken.setdefault(op, set()).add(op.regions.index(region))
        block = region.block
        self._scopes.append(dict(zip(block.args, args, strict=True)))
        try:
            return self._run_block(block)
        finally:
            self._scopes.pop()

    def _run_block(self, block: Block) -> Values:
        for op in block.ops:
            if isinstance(op, YieldOp | func.ReturnOp):
                return tuple(wide_of(self[value]) for value in op.operands)
            self.run(op)
        return ()


def run_in_float64(module: ModuleOp, inputs: Mapping[SSAValue, Any], kernel: Kernels | None = None) -> Values:
    """Return the results of a module whose floats are f64. Raises NotComputed."""
    evaluation = Evaluation(module, kernel=kernel)
    function = entry.entry_function(module)
    for argument, array in inputs.items():
        evaluation[argument] = array
    ends = last_uses(function.body.block)
    for op in function.body.block.ops:
        if isinstance(op, func.ReturnOp):
            return tuple(wide_of(evaluation[value]) for value in op.operands)
        evaluation.run(op)
        for value in ends.get(op, ()):
            evaluation.forget(value)
    raise AssertionError("a function that does not return")


def wide_of(given: Any) -> Any:
    """Return a value in float64; pairs already are."""
    return wide(given) if _is_plain(given) else given


def shapes_of(given: Any) -> tuple[Any, ...]:
    """Return the shape of an array, or those of a sequence's elements."""
    return tuple(map(np.shape, given)) if isinstance(given, list) else np.shape(given)


def _is_plain(given: Any) -> bool:
    """Return whether a value is an array, or a sequence of arrays without tangents."""
    return isinstance(given, np.ndarray) or (isinstance(given, list) and all(map(_is_plain, given)))


def _directional_derivative(tangent: Any) -> Any:
    if isinstance(tangent, list):
        return [_directional_derivative(each) for each in tangent]
    return tangent.found if isinstance(tangent, Tangent) else None


def open_elements(tangent: Any) -> int:
    """Return the number of undecided elements of a result."""
    if isinstance(tangent, list):
        return sum(map(open_elements, tangent))
    return 0 if tangent is None or tangent.open is None else int(tangent.open.sum())


def _not_computed(op: Operation, args: Sequence[Any]) -> str:
    title = " ".join(filter(None, (kind_of(op), name_of(op))))
    arrays = [value_of(arg) for arg in args]
    shown = [shapes.show(np.shape(array)) for array in arrays if isinstance(array, np.ndarray)]
    return f"{title} has no value for operands of the shapes {', '.join(shown)} of a sample"
