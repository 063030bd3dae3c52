"""Names of tensors of floats that may be meant where what is named is none."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import BlockArgument, SSAValue

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import name_of, several
from dialects.support.names import name_of_value
from passes.vjp.flows import is_float


def next_floats(value: SSAValue) -> str:
    """Those behind a value that is none."""
    found = _next_floats(value)
    return f"the next floats behind it are {several(found)}" if found else ""


def floats_behind_inputs(values: Mapping[str, SSAValue]) -> str:
    """What can be named where no input is a tensor of floats."""
    inputs = [value for value in values.values() if isinstance(value, BlockArgument)]
    found = list(dict.fromkeys(name for value in inputs for name in _next_floats(value)))
    return f" among its inputs; the next floats behind them are {several(found)}" if found else ""


_SIZES = (onnx.ShapeOp, onnx.SizeOp)
"""Ops that read no number of a tensor."""


def _next_floats(value: SSAValue) -> list[str]:
    """Which tensors of floats come first behind a value that is none."""
    waiting, seen = [value], {value}
    found: list[str] = []
    for one in waiting:
        readers = (use.operation for use in one.uses if not isinstance(use.operation, _SIZES))
        for result in (result for reader in readers for result in reader.results):
            if result in seen:
                continue
            seen.add(result)
            name = name_of_value(result) or name_of(result.op)
            if is_float(result) and name:
                found.append(name)
            elif not is_float(result):
                waiting.append(result)
    return found
