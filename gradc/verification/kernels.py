"""Kernels for ops without a numpy reference: a user's, or a runtime's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from dialects.onnx.node import NodeOp
from dialects.support import shapes
from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    UnsupportedError,
    diagnostic_at,
    violation,
)
from gradc.verification.tangents import Tangent

Run = Callable[[Sequence[Any]], Sequence[Any]]

RuntimeKernel = tuple[Run, bool]
"""A function that evaluates one op for its operands, and whether it computes in f32."""

STEP = 1e-2
"""Finite-difference step for an f32 kernel, relative to the largest operand."""

SINGLE = 2.0**-22
"""Rounding error of an f32 kernel, relative to its largest result."""


class Kernels:
    """Evaluates nodes with a user's kernels, by op type, or else with a runtime's."""

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]] | None,
        runtime: Callable[[NodeOp], RuntimeKernel | None],
    ) -> None:
        self._functions = dict(functions or {})
        self._runtime = runtime
        self._known: dict[Operation, RuntimeKernel | None] = {}

    def __call__(self, op: Operation, values: Sequence[Any]) -> Sequence[Any]:
        assert isinstance(op, NodeOp)
        if op.title in self._functions:
            return self._of_user(op, values)
        found = self._of_runtime(op)
        if found is None:
            text = f"{op.title} has no numpy kernel; kernels={{'{op.title}': f}} takes one"
            raise UnsupportedError(Diagnostic("error", text))
        return found[0](values)

    def is_single(self, op: Operation) -> bool:
        """Return whether a node is evaluated in f32."""
        if not isinstance(op, NodeOp) or op.title in self._functions:
            return False
        found = self._of_runtime(op)
        return found is not None and found[1]

    def _of_user(self, op: NodeOp, values: Sequence[Any]) -> Sequence[Any]:
        given = iter(values)
        arrays = [None if value is None else next(given) for value in op.onnx_inputs()]
        try:
            found = self._functions[op.title](*arrays, **op.onnx_attributes())
        except Exception as error:
            text = f"kernels[{op.title!r}] failed: {type(error).__name__}: {error}"
            raise GradcError(diagnostic_at(op, "error", text)) from None
        results = [np.asarray(one) for one in (found if isinstance(found, tuple | list) else (found,))]
        _check_results(op, results)
        return results

    def _of_runtime(self, op: NodeOp) -> RuntimeKernel | None:
        if op not in self._known:
            self._known[op] = self._runtime(op)
        return self._known[op]


def _check_results(op: NodeOp, results: Sequence[np.ndarray]) -> None:
    """Check number and shapes of the results of a user's kernel. Raises GradcError."""
    what = f"results of kernels[{op.title!r}]"
    if len(results) != len(op.results):
        raise violation(what, given=len(results), expected=len(op.results)).at_op(op)
    for result, value in zip(results, op.results, strict=True):
        if result.dtype.kind not in "biuf":
            raise violation(what, given=result.dtype, expected="numbers").at_op(op)
        if shapes.has_rank(value) and not shapes.compatible(result.shape, shapes.shape_of(value)):
            given, expected = shapes.show(result.shape), shapes.show(shapes.shape_of(value))
            raise violation(what, given=given, expected=expected).at_op(op)


def push_single(operands: Sequence[Any], tangents: Sequence[Any], run: Run) -> list[Tangent | None]:
    """Return directional derivatives of a smooth op evaluated in f32, by two steps for all elements. The
    noise is the difference of both estimates plus the rounding errors."""
    moved = [(x, t) for x, t in zip(operands, tangents, strict=True) if t is not None]
    size = max((float(np.abs(x).max(initial=0.0)) for x, _ in moved), default=0.0) or 1.0
    speed = max((float(np.abs(t).max(initial=0.0)) for _, t in moved), default=0.0) or 1.0
    step = STEP * size / speed

    def at(length: float) -> Sequence[Any]:
        pairs = zip(operands, tangents, strict=True)
        return run([x if t is None else x + length * t for x, t in pairs])

    ends = zip(at(step), at(-step), at(step / 2), at(-step / 2), strict=True)
    return [_single(*values, step) for values in ends]


def _single(far: Any, behind: Any, near: Any, left: Any, step: float) -> Tangent | None:
    if not isinstance(far, np.ndarray) or far.dtype.kind != "f":
        return None
    coarse, fine = (far - behind) / (2 * step), (near - left) / step
    roundings = SINGLE * float(np.abs(far).max(initial=0.0)) / step
    return Tangent(fine + (fine - coarse) / 3, np.abs(fine - coarse) + roundings, None, None, None)
