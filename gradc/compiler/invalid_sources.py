"""What onnx says of models that were wrong before gradc read them: that is no fault of gradc's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp

from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, GradcError, printable

LONGEST = 500

NODE = re.compile(r"\(op_type:([^,()]*), node name: ([^()]*)\): ")
"""How onnx's inference names a node."""


@contextmanager
def blamed_on_source(source: ModuleOp) -> Iterator[None]:
    """An error of onnx's checks is the graph's where the graph itself, as a model, does not pass them."""
    from gradc.model.validity import InvalidModelError  # imports onnx

    try:
        yield
    except InvalidModelError:
        found = _finding(source)
        if found is None:
            raise
        raise GradcError(found) from None


def _finding(source: ModuleOp) -> Diagnostic | None:
    """What onnx finds in a graph of its own ops, before any pass."""
    from gradc.model.exporter import export_parts, newest_opset
    from gradc.model.validity import InvalidModelError

    ops = entry.entry_function(source).body.block.ops
    if not all(isinstance(op, OnnxOp | NodeOp) for op in list(ops)[:-1]):
        return None
    try:
        export_parts(source, opset=newest_opset(), metadata={})
    except InvalidModelError as error:
        return _located(str(error.__cause__))
    except GradcError:
        return None
    return None


def _located(text: str) -> Diagnostic:
    """One line with the first node that is named."""
    named = NODE.search(text)
    subject = f'{named[1]} "{named[2]}"' if named else "graph"
    rest = " ".join((text[named.end() :] if named else text).split())
    return Diagnostic("error", f"the model is not valid: {printable(rest)[:LONGEST]}", subject)
