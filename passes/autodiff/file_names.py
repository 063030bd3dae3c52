"""Weights that a request names as the exported module did, where the file has them under other names."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import Diagnostic, sentence
from dialects.support.names import name_of_value
from dialects.support.shapes import shape_of, show

IN_FILE = "gradc.in_file"
"""Attribute of a weight that got the name of the exported module: its name and its form in the file."""


def pop_file_names(function: FuncOp) -> dict[str, str]:
    """Return name and form in the file by the name of the exported module, and remove the attributes."""
    found: dict[str, str] = {}
    for op in function.body.block.ops:
        text = op.attributes.pop(IN_FILE, None) if isinstance(op, onnx.ConstantOp) else None
        if isinstance(text, StringAttr):
            found[name_of_value(op.results[0])] = text.data
    return found


def file_name_remarks(wrt: Mapping[str, SSAValue], in_file: Mapping[str, str]) -> list[Diagnostic]:
    """Return a remark on each weight whose gradient has the shape and order of another tensor in the file."""
    return [
        Diagnostic(
            "remark",
            sentence(
                f"{name} is {in_file[name]} in the file",
                hint=f"so are its value and its gradient, of shape {show(shape_of(value))}",
            ),
        )
        for name, value in wrt.items()
        if name in in_file
    ]
