"""Errors of a compiled graph: of each output, and of each isolated op on the values that reach it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from dialects.support import entry
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import Diagnostic, UnsupportedError, subject_of
from dialects.support.documented_op import DocumentedOp
from dialects.support.dtypes import known_dtype
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module
from gradc.terminal.tables import PLAIN, Look, table
from gradc.verification.errors import MEASURES, Errors, errors
from gradc.verification.exact import exact, term_magnitudes
from gradc.verification.exact_match import unmeasured_reason
from gradc.verification.isolate_op import inputs_of, isolated
from gradc.verification.verify import inputs_in_order, reference


@dataclass(frozen=True)
class Row:
    """Errors of an output or of an op's result. `errors` is None if the shape or dtype is wrong."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    errors: Errors | None


@dataclass(frozen=True)
class Report:
    """Errors of outputs and ops; `ops` is empty for a graph of one op."""

    outputs: tuple[Row, ...]
    ops: tuple[Row, ...]


def report(
    compiled: Compiled,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    ep: Any = None,
    threads: int | None = None,
    runtime: str | None = None,
) -> Report:
    """Report errors of the compiled graph's `outputs` for `inputs`; the ops are compiled and run on `ep`, or
    on `runtime`."""
    function = entry.entry_function(compiled.source)
    if why := unmeasured_reason([*inputs.values(), *outputs.values()]):
        raise UnsupportedError(Diagnostic("error", why))
    fed = inputs_in_order(compiled.source, compiled.inputs, inputs)
    got = [outputs[name] for name in entry.output_names(function)]
    rows = _rows(entry.output_names(function), got, compiled.source, fed)
    gradients = [op for op in function.body.block.ops if isinstance(op, DocumentedOp)]
    ops = _ops(compiled, fed, ep, threads, runtime) if len(gradients) > 1 else ()
    return Report(tuple(rows), tuple(ops))


def _rows(
    names: Sequence[str], got: Sequence[np.ndarray], source: ModuleOp, inputs: Sequence[np.ndarray]
) -> Iterator[Row]:
    wanted = zip(exact(source, inputs), term_magnitudes(source, inputs), strict=True)
    for name, array, (want, terms) in zip(names, got, wanted, strict=True):
        dtype = known_dtype(array.dtype)
        right = array.shape == want.shape and array.dtype.kind not in "iub"
        yield Row(name, dtype.name, array.shape, errors(array, want, terms) if right else None)


def _ops(
    compiled: Compiled, inputs: Sequence[np.ndarray], ep: Any, threads: int | None, runtime: str | None
) -> Iterator[Row]:
    """Compile and run each gradient op alone, on operands of the reference that rounds after every op."""
    block = entry.entry_function(compiled.source).body.block
    known: dict[SSAValue, np.ndarray] = dict(zip(block.args, inputs, strict=True))
    for op in block.ops:
        if isinstance(op, ReturnOp) or all(constant_attribute(result) for result in op.results):
            continue
        module, given = isolated(op), [known[operand] for operand in inputs_of(op)]
        known |= zip(op.results, reference(module, given), strict=True)
        if not isinstance(op, DocumentedOp):
            continue
        single = compile_module(module, compiled.options)
        names = entry.input_names(entry.entry_function(single.source))
        got = single.run(dict(zip(names, given, strict=True)), ep, threads, runtime)
        yield from _rows(_result_names(op), list(got.values()), single.source, given)


def _result_names(op: DocumentedOp) -> list[str]:
    """Return the op's subject for a single result, with the roles appended for several."""
    subject = subject_of(op)
    return [subject] if len(op.results) == 1 else [f"{subject} {role}" for role in op.RESULTS]


def as_text(found: Report, look: Look = PLAIN) -> str:
    header = ("", "dtype", "shape", "error", "worst", "p99", "median", "not finite alike")
    rows = [cells for row in (*found.outputs, *found.ops) for cells in _cells(row)]
    return table(header, rows, numbers=(4, 5, 6, 7), look=look)


def _cells(row: Row) -> Iterator[tuple[str, ...]]:
    shape = "x".join(map(str, row.shape)) or "scalar"
    if row.errors is None:
        yield (row.name, row.dtype, shape, "wrong shape or dtype", "", "", "", "")
        return
    for index, (measure, spread) in enumerate(row.errors.spreads.items()):
        numbers = (f"{value:.3g}" for value in (spread.worst, spread.p99, spread.median))
        first = (row.name, row.dtype, shape) if index == 0 else ("", "", "")
        yield (*first, measure, *numbers, str(row.errors.mismatches) if index == 0 else "")


def as_data(row: Row) -> dict[str, Any]:
    """Return JSON data. An infinite measure is None; all are None if the shape or the dtype is wrong."""
    found: dict[str, Any] = {"name": row.name, "dtype": row.dtype, "shape": list(row.shape)}
    if row.errors is None:
        return found | {"compared": 0, "mismatches": None} | dict.fromkeys(map(_key, MEASURES))
    spreads = {
        _key(measure): {k: v if np.isfinite(v) else None for k, v in vars(spread).items()}
        for measure, spread in row.errors.spreads.items()
    }
    return found | {"compared": row.errors.compared, "mismatches": row.errors.mismatches} | spreads


def _key(measure: str) -> str:
    return measure.replace(" ", "_")
