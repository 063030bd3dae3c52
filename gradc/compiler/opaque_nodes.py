"""Errors of checkers and runtimes that are due to opaque nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp

from dialects.onnx.node import NodeOp
from dialects.support.diagnostics import GradcError, UnsupportedError, error_at, printable

LONGEST = 300


@contextmanager
def report_opaque_nodes(module: ModuleOp) -> Iterator[None]:
    """Raise an error as an UnsupportedError at an opaque node of the module, if it has any."""
    try:
        yield
    except GradcError:
        raise
    except Exception as error:
        nodes = [op for op in module.walk() if isinstance(op, NodeOp)]
        if not nodes:
            raise
        text = printable(str(error))[:LONGEST]
        named = [op for op in nodes if f"{op.domain.data}:{op.op_type.data}" in text]
        what = f"a model with nodes that gradc does not know is refused: {text}"
        raise error_at((named or nodes)[0], what, kind=UnsupportedError) from None
