"""Import of Gradient (ONNX's preview training domain): its derivatives are inlined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.onnx.attributes import python_values
from dialects.onnx.types import type_text
from dialects.support.diagnostics import violation
from dialects.support.dtypes import FLOATS, of_mlir
from dialects.support.shapes import element_type_of, has_rank
from gradc.importers.onnx.rewrites import Gradients
from gradc.importers.onnx.scope import Scope


def results_of_gradient(
    scope: Scope,
    operands: Sequence[SSAValue | None],
    attributes: Mapping[str, Attribute],
    place: LocationAttr,
    write: Gradients,
) -> Sequence[SSAValue]:
    """Return the derivatives that a Gradient node requests, which `write` creates."""
    found: Any = python_values(attributes)
    names = [found.get(key, []) for key in ("xs", "zs")]
    flat = [name for each in names for name in (each if isinstance(each, list) else [each])]
    if not all(isinstance(name, str) for name in (*flat, found.get("y", ""))):
        raise violation("xs, zs and y of a Gradient", expected="names")
    xs, zs = ([scope.required(name) for name in each] for each in names)
    given = [value for value in operands if value is not None]
    if not xs or "y" not in found or len(given) != len(xs) + len(zs):
        expected = "xs, y, and an input for each of xs and zs"
        raise violation(
            "a Gradient",
            given=f"{len(given)} inputs for {len(xs)} xs and {len(zs)} zs",
            expected=expected,
        )
    y = scope.required(found["y"])
    for name, value in (*zip(names[0], xs, strict=True), (found["y"], y)):
        if not _is_float(value):
            raise violation(name, given=type_text(value.type), expected="a tensor of floats of known rank")
    new, values = write(_ops_before(scope), [*xs, *zs], given, len(xs), y)
    for op in new:
        if op.parent is None:
            scope.block.add_op(op)
        if isinstance(op.location, UnknownLoc):
            op.location = place
    return values


def _ops_before(scope: Scope) -> list[Operation]:
    """Return the ops that precede a node, outer graphs first."""
    outer = [] if scope.parent is None else _ops_before(scope.parent)
    return [*outer, *scope.block.ops]


def _is_float(value: SSAValue) -> bool:
    dtype = of_mlir(element_type_of(value)) if has_rank(value) else None
    return dtype is not None and dtype.name in FLOATS
