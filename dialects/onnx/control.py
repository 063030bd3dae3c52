"""The terminator of the regions of If, Loop, Scan and SequenceMap.

A region is a graph: its block arguments are the graph's inputs, what it yields are its outputs. It may read
values from around it, as an ONNX graph does by name.
"""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_op_definition, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure

from dialects.onnx import assembly


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The outputs of the graph that a region is."""

    name = "onnx.Yield"

    outputs = var_operand_def(AnyAttr())

    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, *outputs: SSAValue) -> None:
        super().__init__(operands=[outputs])

    def print(self, printer: Printer) -> None:
        assembly.print_operands(printer, self.operands)
        if self.operands:
            printer.print_string(" : ")
            printer.print_list(self.operand_types, printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> YieldOp:
        operands = assembly.parse_operands(parser)
        if not operands:
            return cls()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        given = [operand for operand in operands if operand is not None]
        return cls(*parser.resolve_operands(given, types, position))
