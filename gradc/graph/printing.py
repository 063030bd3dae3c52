"""Text of a module, complete or with large constants elided."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from dialects.support import entry
from dialects.support.diagnostics import location, name_of

ELIDED_ABOVE = 16
"""Largest number of elements of a constant that is not elided."""


class NamingPrinter(Printer):
    """Printer that adds the names of ops with several results; otherwise the result carries the name."""

    def print_op(self, op: Operation) -> None:
        super().print_op(op)
        name = name_of(op) if len(op.results) > 1 else ""
        if name and not self.print_debuginfo:
            self.print_string(" ")
            self.print_attribute(location(name))


class ElidingPrinter(NamingPrinter):
    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DenseIntOrFPElementsAttr) and _elements(attribute) > ELIDED_ABOVE:
            self.print_string("dense<...> : ")
            self.print_attribute(attribute.type)
            return
        super().print_attribute(attribute)

    def print_op_attributes(self, attributes: Mapping[str, Attribute], **options: Any) -> bool:
        shown = {name: value for name, value in attributes.items() if name not in entry.OF_NODES}
        return super().print_op_attributes(shown, **options)


def _elements(attribute: DenseIntOrFPElementsAttr) -> int:
    count = 1
    for dim in attribute.type.get_shape():
        count *= dim
    return count


def module_text(module: ModuleOp) -> str:
    """Return the module's text, which parses to the same module."""
    return _print(module, NamingPrinter)


def elided_text(module: ModuleOp) -> str:
    """Return the module's text without large constants and node annotations; it cannot be parsed."""
    return _print(module, ElidingPrinter)


def located_text(module: ModuleOp) -> str:
    """Return the module's text with the location of every op."""
    return _print(module, Printer, places=True)


def _print(module: ModuleOp, printer: type[Printer], places: bool = False) -> str:
    stream = StringIO()
    printer(stream=stream, print_debuginfo=places).print_op(module)
    return stream.getvalue() + "\n"
