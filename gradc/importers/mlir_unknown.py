"""Ops of MLIR text that gradc does not have: read as far as they can be, to be refused all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from dialects import DIALECTS
from dialects.support.diagnostics import Diagnostic, GradcError, nearest
from dialects.support.findings import Finding, first_of_each_kind, together


@cache
def opaque_op(name: str) -> type[Operation]:
    """An op that is read in the generic form, or in the one that all of gradc's ops have."""
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


def refusal(found: Sequence[Finding]) -> GradcError:
    """Why a text with these is refused: names that are no ops, each told once."""
    return together([_unknown(finding) for finding in first_of_each_kind(found)])


def _unknown(finding: Finding) -> GradcError:
    hint = nearest(finding.kind, _known_ops())
    text = "unknown op" + (f"; {hint}" if hint else "")
    return GradcError(Diagnostic("error", text, finding.subject, finding.position))


def _known_ops() -> Iterator[str]:
    for factory in DIALECTS.values():
        yield from (op.name for op in factory().operations)
