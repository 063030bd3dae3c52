"""Errors of checkers and runtimes that are due to the source: an invalid model, or opaque nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp

from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError, error_at, printable

LONGEST = 500
LONGEST_REFUSAL = 300

NODE = re.compile(r"\(op_type:([^,()]*), node name: ([^()]*)\): ")
"""Name of a node in messages of onnx's inference."""


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
        text = printable(str(error))[:LONGEST_REFUSAL]
        named = [op for op in nodes if f"{op.domain.data}:{op.op_type.data}" in text]
        what = f"a model with nodes that gradc does not know is refused: {text}"
        raise error_at((named or nodes)[0], what, kind=UnsupportedError) from None


@contextmanager
def report_invalid_source(source: ModuleOp) -> Iterator[None]:
    """Raise a checker error as a GradcError if the source graph itself fails the check."""
    from gradc.model.validity import InvalidModelError  # imports onnx

    try:
        yield
    except InvalidModelError:
        found = _finding(source)
        if found is None:
            raise
        raise GradcError(found) from None


def _finding(source: ModuleOp) -> Diagnostic | None:
    """Return the checker's error for a source graph of ONNX ops, before any pass."""
    from gradc.model.exporter import export_parts, newest_opset
    from gradc.model.validity import InvalidModelError

    ops = entry.entry_function(source).body.block.ops
    if not all(isinstance(op, OnnxOp | NodeOp) for op in list(ops)[:-1]):
        return None
    try:
        export_parts(source, opset=newest_opset(), metadata={})
    except InvalidModelError as error:
        return _first_node_diagnostic(str(error.__cause__))
    except GradcError:
        return None
    return None


def _first_node_diagnostic(text: str) -> Diagnostic:
    """Return the error as one line, located at the first node that it names."""
    named = NODE.search(text)
    subject = f'{named[1]} "{named[2]}"' if named else "graph"
    rest = " ".join((text[named.end() :] if named else text).split())
    return Diagnostic("error", f"the model is not valid: {printable(rest)[:LONGEST]}", subject)
