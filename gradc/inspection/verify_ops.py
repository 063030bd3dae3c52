"""Comparison of each op of a compiled graph with the reference.

The bound on an output grows with the longest chain of ops, each of which rounds: after hundreds of ops, an
error of 1 % passes. Each op of a deep graph is therefore also compiled alone, with the strategies of the
graph, run on the reference's operands, and compared within the bound of one op.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from dialects.onnx.base import OnnxOp
from dialects.support import entry
from dialects.support.constants import constant_attribute, constant_value, is_const
from dialects.support.diagnostics import GradcError, position_of, subject_of
from dialects.support.documented_op import STRATEGY, DocumentedOp
from dialects.support.dtypes import known_dtype
from dialects.support.limits import using
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module
from gradc.verification.isolate_op import inputs_of, isolated
from gradc.verification.verify import OutputError, compare_outputs, depth, inputs_in_order, reference
from passes.infer_types import infer_types
from passes.strategies.choice import AUTO

MOST_AT_ONCE = 4
"""Graphs with a longer chain of ops are compared op by op."""

MOST_NAMED = 10
"""Wrong ops that are reported, the worst first."""

CACHE_SIZE = 64
"""Size of the cache of compiled ops."""

KEPT_BYTES = 2**20
"""Ops with more bytes of weights are not cached: equal ones are rare."""


@dataclass(frozen=True)
class OpError(OutputError):
    """Error of an op on the reference's operands. `unchecked` is the reason why it was not run alone."""

    place: str = ""
    strategy: str = ""
    unchecked: str = ""

    @property
    def verdict(self) -> str:
        return f"not checked alone: {self.unchecked}" if self.unchecked else super().verdict


def verify(
    compiled: Compiled,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    rtol: float | None = None,
    ep: Any = None,
    threads: int | None = None,
    runtime: str | None = None,
) -> list[OutputError]:
    """Return the rows of `compare_outputs`, then those of wrong ops.

    Ops are compared if the longest chain exceeds MOST_AT_ONCE, or if an output is wrong and there are several
    ops; not if `rtol` replaces the bounds. If all ops are right, the worst one is returned, with the
    unchecked.
    """
    fed = inputs_in_order(compiled.source, compiled.inputs, inputs)
    ops = depth(compiled.source)
    looks = rtol is None and ops > MOST_AT_ONCE
    expected, errors = _with_ops(compiled, fed, (ep, threads, runtime)) if looks else (None, [])
    expected = reference(compiled.source, fed) if expected is None else expected
    rows = compare_outputs(compiled.source, fed, outputs, expected, rtol)
    if rtol is None and not looks and ops > 1 and not all(row.ok for row in rows):
        _, errors = _with_ops(compiled, fed, (ep, threads, runtime))
    return [*rows, *_rows_to_report(errors)]


def _rows_to_report(errors: Sequence[OpError]) -> list[OpError]:
    """Return the wrong ops, or else the worst, and the unchecked ones."""
    unchecked = [error for error in errors if error.unchecked]
    checked = sorted(
        (error for error in errors if not error.unchecked),
        key=lambda error: error.worst / error.rtol,
        reverse=True,
    )
    wrong = [error for error in checked if not error.ok]
    return [*(wrong or checked[:1])[:MOST_NAMED], *unchecked[:MOST_NAMED]]


Place = tuple[Any, int | None, str | None]
"""Execution provider, number of threads, and runtime."""


def _with_ops(
    compiled: Compiled, fed: Sequence[np.ndarray], where: Place
) -> tuple[tuple[np.ndarray, ...], list[OpError]]:
    """Return the reference's outputs and the errors of the ops from one evaluation of the source."""
    module = compiled.source.clone()
    infer_types(module)
    ops = _Ops(compiled, where)
    with using(compiled.options.limits):
        return reference(module, fed, ops), ops.errors


class _Ops:
    """Callback after each op of the reference."""

    def __init__(self, compiled: Compiled, where: Place) -> None:
        self.errors: list[OpError] = []
        self._options, self._where = compiled.options, where
        self._strategies = _strategies(compiled)
        self._kept: dict[object, Compiled] = {}

    def __call__(self, op: Operation, args: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        if not isinstance(op, DocumentedOp | OnnxOp) or constant_attribute(op.results[0]) is not None:
            return
        if op.regions or not all(isinstance(value, np.ndarray) for value in (*args, *results)):
            return  # regions read values that are no operands, and models have no sequences as inputs
        if any(array.dtype.kind in "iub" for array in results):
            return
        if not all(_is_finite(array) for array in (*args, *results)):
            self._leave(op, results, "the reference has inf or NaN there")
            return
        given = dict(zip(op.operands, args, strict=True))
        inputs = inputs_of(op)
        arrays, known = [given[value] for value in inputs], [is_const(value) for value in inputs]
        free = [array for array, fixed in zip(arrays, known, strict=True) if not fixed]
        found: list[OpError] = []
        reasons: list[str] = []
        for strategy in self._strategies.get(op.location, (self._options.strategy_name,)):
            try:
                single = self._single(op, arrays, known, strategy)
                found.append(self._error(op, single, free, results))
            except GradcError as error:
                reasons.append(error.diagnostic.message)
        self.errors += found
        if not found:
            self._leave(op, results, reasons[0])

    def _leave(self, op: Operation, results: Sequence[np.ndarray], why: str) -> None:
        dtype = known_dtype(results[0].dtype)
        row = OutputError("", dtype.name, results[0].shape, 0.0, 0.0, np.inf)
        self.errors.append(_of_op(op, row, unchecked=why))

    def _single(
        self, op: Operation, given: Sequence[np.ndarray], known: Sequence[bool], strategy: str
    ) -> Compiled:
        """Compile the op alone, or return an equal one from the cache. Raises GradcError.

        Operands that are `known` at compile time are constants.
        """
        constants = {f"operand{i}": array for i, array in enumerate(given) if known[i]}

        def compile_op() -> Compiled:
            options = replace(self._options, strategy=strategy, drop_unused_inputs=False, checked=False)
            return compile_module(isolated(op), options, constants)

        fixed = (constant_value(value) for value in op.operands)
        weights = (*constants.values(), *(array for array in fixed if array is not None))
        if sum(array.nbytes for array in weights) > KEPT_BYTES:
            return compile_op()
        key = (*_state(op), strategy, *((name, array.tobytes()) for name, array in constants.items()))
        if key not in self._kept:
            if len(self._kept) >= CACHE_SIZE:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = compile_op()
        return self._kept[key]

    def _error(
        self, op: Operation, single: Compiled, free: Sequence[np.ndarray], results: Sequence[np.ndarray]
    ) -> OpError:
        names = entry.input_names(entry.entry_function(single.source))
        got = single.run(dict(zip(names, free, strict=True)), *self._where)
        rows = compare_outputs(single.source, free, got, results)
        worst = max(rows, key=lambda row: (not row.ok, row.worst))
        strategy = single.options.strategy_name
        return _of_op(op, worst, "" if strategy == AUTO else strategy)


def _of_op(op: Operation, row: OutputError, strategy: str = "", unchecked: str = "") -> OpError:
    place = position_of(op)
    named = replace(row, name=subject_of(op))
    return OpError(**vars(named), place=str(place or ""), strategy=strategy, unchecked=unchecked)


def _strategies(compiled: Compiled) -> dict[Attribute, tuple[str, ...]]:
    """Return the strategies of the nodes of each source location."""
    found: dict[Attribute, dict[str, None]] = {}
    for op in compiled.module.walk():
        if isinstance(name := op.attributes.get(STRATEGY), StringAttr):
            found.setdefault(op.location, {})[name.data] = None
    return {place: tuple(names) for place, names in found.items()}


def _state(op: Operation) -> Iterator[object]:
    """Yield a key that is equal for ops of the same meaning."""
    first = {value: index for index, value in reversed(list(enumerate(op.operands)))}
    constants = (constant_attribute(value) for value in op.operands)
    yield from (op.name, op.operand_types, op.result_types, tuple(sorted(op.properties.items())))
    yield tuple(first[value] for value in op.operands)
    yield tuple(constants)


def _is_finite(array: np.ndarray) -> bool:
    return array.dtype.kind in "iub" or bool(np.isfinite(array.astype(np.float64)).all())
