"""gradc's dialects: op definitions and their semantics.

Data flows from the source dialects `onednn`, `cann` and `aten` through the canonical `grad` to `onnx`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.ir import Dialect

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


def _aten() -> Dialect:
    from dialects.aten import ATEN

    return ATEN


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
    "aten": _aten,
}
"""Dialect name -> factory, so that a tool loads only the dialects it needs."""


def context() -> Context:
    """Return an xDSL context with every dialect of gradc."""
    from dialects.lazy_context import LazyContext

    ctx = LazyContext()
    for name, factory in DIALECTS.items():
        ctx.register_dialect(name, factory)
    return ctx


def source_kinds() -> tuple[str, ...]:
    """Return the documented kinds of all ops that a graph file may hold, without creating classes."""
    from dialects.cann import CANN
    from dialects.onednn import CLASSES, SPEC_KINDS

    classes = (*CLASSES, *CANN.operations)
    return (*(cls.KIND for cls in classes), *SPEC_KINDS)  # pyright: ignore


def source_op(kind: str) -> type[DocumentedOp] | None:
    """Return the op class of a documented kind, or None."""
    from dialects.cann import CANN
    from dialects.onednn import CLASSES, SPEC_KINDS, spec_class

    if kind in SPEC_KINDS:
        return spec_class(kind)
    classes = {cls.KIND: cls for cls in (*CLASSES, *CANN.operations)}  # pyright: ignore
    return classes.get(kind)  # pyright: ignore


def source_ops() -> dict[str, type[DocumentedOp]]:
    """Return documented kind -> op class, for every op that a graph file may hold."""
    return {kind: cls for kind in source_kinds() if (cls := source_op(kind)) is not None}
