"""Unknown ops in MLIR text: parsed generically, then reported together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from dialects import DIALECTS
from dialects.support.diagnostics import Diagnostic, GradcError, suggest
from dialects.support.error_list import OpReference, combine, first_of_each_kind


@cache
def opaque_op(name: str) -> type[Operation]:
    """Return an op class that parses the generic form and the custom form of gradc's dialects."""
    unregistered = UnregisteredOp.with_name(name)

    class OpaqueOp(unregistered):
        @classmethod
        def parse(cls, parser: Parser) -> Operation:
            operands = parser.parse_optional_undelimited_comma_separated_list(
                parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
            )
            attributes = parser.parse_optional_attr_dict()
            parser.parse_punctuation(":")
            position = parser.pos
            types = parser.parse_function_type()
            values = parser.resolve_operands(operands or [], types.inputs.data, position)
            return cls.create(operands=values, result_types=types.outputs.data, attributes=attributes)

    return OpaqueOp


def unknown_ops_error(found: Sequence[OpReference]) -> GradcError:
    """Return the error that lists each unknown op name once."""
    return combine([_unknown(finding) for finding in first_of_each_kind(found)])


def _unknown(finding: OpReference) -> GradcError:
    hint = suggest(finding.kind, _op_names()) or "MLIR text has ops of onednn, cann, onnx and grad"
    return GradcError(Diagnostic("error", f"unknown op; {hint}", finding.subject, finding.position))


def _op_names() -> Iterator[str]:
    for factory in DIALECTS.values():
        yield from (op.name for op in factory().operations)
