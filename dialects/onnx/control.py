"""The regions of If, Loop, Scan and SequenceMap, and their terminator.

A region is a graph: its block arguments are the graph's inputs, its yielded values the outputs. It may
capture values from enclosing scopes, as an ONNX graph does by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, Region, SSAValue
from xdsl.irdl import AnyAttr, IRDLOperation, irdl_op_definition, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure

from dialects.onnx import assembly
from dialects.onnx.types import SequenceType, UnknownType, word_of
from dialects.support.diagnostics import error_at


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Terminator with the outputs of a region's graph."""

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


def check_regions(op: Operation, regions: Mapping[str, Region]) -> None:
    """Raise unless each region is a graph: one block that ends in onnx.Yield."""
    for name, region in regions.items():
        if len(region.blocks) != 1 or not isinstance(region.block.last_op, YieldOp):
            raise error_at(op, f"region {name}", expected="one block that ends in onnx.Yield")


def check_control(op: Operation, regions: Mapping[str, Region]) -> None:
    """Raise unless the inputs and outputs of the graphs match the op's operands and results."""
    kind = op.name.removeprefix("onnx.")
    for name, region in regions.items():
        inputs, outputs = region.block.args, list(_outputs(region))
        taken = {"If": 0, "Loop": 2 + _loop_carried_count(op)}.get(kind, len(op.operands))
        if len(inputs) != taken:
            raise error_at(op, f"inputs of {name}", given=len(inputs), expected=taken)
        made = outputs[1:] if kind == "Loop" else outputs
        if len(made) != len(op.results) or (kind == "Loop" and not outputs):
            expected = len(op.results) + (kind == "Loop")
            raise error_at(op, f"outputs of {name}", given=len(outputs), expected=expected)
        for index, (value, result) in enumerate(zip(made, op.results, strict=True)):
            type_ = SequenceType(value.type) if kind == "SequenceMap" else value.type
            known = not any(isinstance(v.type, UnknownType) for v in (value, result))
            if known and word_of(type_) != word_of(result.type):
                what = f"type of output {index} of {name}"
                raise error_at(op, what, given=word_of(type_), expected=word_of(result.type))


def _outputs(region: Region) -> tuple[SSAValue, ...]:
    last = region.block.last_op
    return tuple(last.operands) if last is not None else ()


def _loop_carried_count(op: Operation) -> int:
    """Return the number of loop-carried values of a Loop: operands except trip count and condition."""
    found = getattr(op, "v_initial", ())
    return len(found)
