"""gradc's dialects: what things mean.

Data flows from the source dialects `onednn` and `cann` through the canonical `grad` to `onnx`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.ir import Dialect

if TYPE_CHECKING:
    from dialects.support.documented_op import DocumentedOp


def _onednn() -> Dialect:
    from dialects.onednn import ONEDNN

    return ONEDNN


def _cann() -> Dialect:
    from dialects.cann import CANN

    return CANN


def _grad() -> Dialect:
    from dialects.grad import GRAD

    return GRAD


def _onnx() -> Dialect:
    from dialects.onnx import ONNX

    return ONNX


def _builtin() -> Dialect:
    from xdsl.dialects.builtin import Builtin

    return Builtin


def _func() -> Dialect:
    from xdsl.dialects.func import Func

    return Func


def _arith() -> Dialect:
    from xdsl.dialects.arith import Arith

    return Arith


DIALECTS: dict[str, Callable[[], Dialect]] = {
    "builtin": _builtin,
    "func": _func,
    "arith": _arith,
    "onednn": _onednn,
    "cann": _cann,
    "grad": _grad,
    "onnx": _onnx,
}
"""Dialect name -> factory, so that a tool loads only what it meets."""

SOURCE_DIALECTS = ("onednn", "cann")


def context() -> Context:
    """An xDSL context that knows every dialect of gradc."""
    ctx = Context()
    for name, factory in DIALECTS.items():
        ctx.register_dialect(name, factory)
    return ctx


def source_ops() -> dict[str, type[DocumentedOp]]:
    """Documented kind -> op class, for every op that a graph file may hold."""
    found = {}
    for name in SOURCE_DIALECTS:
        for op in DIALECTS[name]().operations:
            found[op.KIND] = op  # pyright: ignore[reportAttributeAccessIssue]
    return found
