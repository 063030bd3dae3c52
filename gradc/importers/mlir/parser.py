"""Importer of MLIR text: a verified module whose ops have source positions."""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.parser import AttrParser, Parser, ParserState
from xdsl.utils.exceptions import DiagnosticException, ParseError, UnregisteredConstructException
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer

from dialects import context
from dialects.support import limits
from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    Position,
    location,
    name_of,
    position_of,
)
from dialects.support.entry import NAME, entry_function, return_op
from dialects.support.error_list import OpReference, is_opaque
from gradc.graph.checks import check_graph, short
from gradc.importers.mlir.unknown_ops import opaque_op, unknown_ops_error
from gradc.importers.text import PositionIndex, check_commas, check_nesting, decode

TEXT_ERRORS = (
    DiagnosticException,
    UnregisteredConstructException,
    ArithmeticError,
    AssertionError,
    LookupError,
    NotImplementedError,
    RecursionError,
    ValueError,
)
"""Exceptions of xDSL's parser for invalid text, besides ParseError. Some of its checks are assertions."""


def import_mlir(text: str | bytes, file: str, auto_pad_rule: str | None = None) -> ModuleOp:
    """Parse and verify a module; `file` is its name in diagnostics.

    `auto_pad_rule` replaces that of every op. Raises GradcError, one line with file, line and column, for
    invalid text.
    """
    parser = LocatingParser(file)
    module = parser.read(decode(text, file))
    with parser.locating_errors():
        function = check_graph(module, auto_pad_rule)
    _store_names(function, parser.names)
    return module


class LinearLexer(MLIRLexer):
    """xDSL's lexer, whose own string pattern takes exponential time on an unclosed string."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class FloatBits(AttrParser._TensorLiteralElement):
    """An element of a dense literal. Hexadecimal spells the bits of a float, as in MLIR."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        text = self.span.text.lower()
        if not isinstance(type, AnyFloat) or not text.startswith("0x"):
            return super().to_type(parser, type)
        size = type.compile_time_size
        if len(text) != 2 + 2 * size:
            parser.raise_error(f"expected {2 * size} hexadecimal digits for {type}", at_position=self.span)
        return next(type.iter_unpack(int(text, 16).to_bytes(size, "little")))


class LocatingParser(Parser):
    """xDSL's parser with a position for every op and GradcErrors."""

    def __init__(self, file: str):
        super().__init__(context(), "", file)
        self._file = file
        self._places = PositionIndex("", file)
        self._starts: list[int] = []
        self._is_splat = False
        self._spread: TensorType | None = None
        self._unknown: list[OpReference] = []
        self.names: dict[SSAValue, str] = {}
        """Value names as written; a `name_hint` loses a trailing `_1`."""

    def read(self, text: str, implicit_module: bool = True) -> ModuleOp:
        """Parse a module; `implicit_module` wraps top-level ops in one."""
        start = Position(self._file, 1, 1)
        check_nesting(text, self._file)
        check_commas(text, self._file)
        self._places = PositionIndex(text, self._file)
        try:
            self._parser_state = ParserState(LinearLexer(Input(text, self._file)))
            module = self.parse_module(implicit_module)
        except (ParseError, *TEXT_ERRORS) as error:
            self._raise_unknown(None)
            raise _to_located_error(error, self._position(self.pos)) from None
        self._raise_unknown(module)
        if position_of(module) is None:
            module.location = location(position=start)
        return module

    def _raise_unknown(self, module: ModuleOp | None) -> None:
        """Raise one error for all unknown ops of the text that was parsed."""
        if not self._unknown:
            return
        error = unknown_ops_error(self._unknown)
        error.graph = _drawable(module)
        raise error from None

    @contextmanager
    def locating_errors(self) -> Iterator[None]:
        """Locate errors whose message begins with an attribute name at that attribute."""
        try:
            yield
        except GradcError as error:
            raise error.map_diagnostics(self._at_attribute) from None

    def _at_attribute(self, diagnostic: Diagnostic) -> Diagnostic:
        what = diagnostic.message.partition(": ")[0]
        return replace(diagnostic, position=self._place_of(what, diagnostic.position))

    def _place_of(self, what: str, position: Position | None) -> Position | None:
        """Return the position of the first word of `what` that is an attribute of the op at `position`."""
        starts = [start for start in self._starts if self._position(start) == position]
        if not starts:
            return position
        text = self.lexer.input.content
        following = bisect.bisect(self._starts, starts[0])
        end = self._starts[following] if following < len(self._starts) else len(text)
        for word in re.findall(r"\w+", what):
            found = re.compile(rf'[{{,]\s*"?({word})\b"?\s*=').search(text, starts[0], end)
            if found is not None:
                return self._position(found.start(1))
        return position

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> Any:
        """Parse a splat as one element and repeat its bytes; xDSL packs every element separately."""
        self._is_splat, self._spread = False, None
        found = super().parse_dense_int_or_fp_elements_attr(type)
        if self._spread is None:
            return found
        count = math.prod(self._spread.get_shape())
        return DenseIntOrFPElementsAttr(self._spread, BytesAttr(found.data.data * count))

    def _parse_tensor_literal(self) -> Any:
        elements, shape = super()._parse_tensor_literal()
        self._is_splat = not shape
        return elements, shape

    def _parse_dense_literal_type(self) -> Any:
        """Give a splat the type of a single element: its claimed size must not be allocated."""
        type_ = super()._parse_dense_literal_type()
        count, written = math.prod(type_.get_shape()), len(self.lexer.input)
        if count > written:
            limits.check("constant-elements", count, f"elements of a constant of type {type_}")
        if not self._is_splat or count < 2 or not isinstance(type_, TensorType):
            return type_
        self._spread = type_
        return TensorType(type_.element_type, [1] * len(type_.get_shape()))

    def _consume_token(self, expected_kind: Any = None) -> Any:
        """Raise ParseError where xDSL only asserts the token."""
        if expected_kind is not None and self._current_token.kind != expected_kind:
            self.raise_error(f"'{expected_kind.value}' expected", self._current_token.span)
        return super()._consume_token(expected_kind)

    def _parse_tensor_literal_element(self) -> FloatBits:
        element = super()._parse_tensor_literal_element()
        return FloatBits(element.is_negative, element.value, element.span)

    def parse_operation(self) -> Operation:
        position = self._position(self.pos)
        self._count_op(self.pos)
        try:
            op = super().parse_operation()
        except (ParseError, *TEXT_ERRORS) as error:
            raise _to_located_error(error, position) from None
        if position_of(op) is None:
            op.location = location(name_of(op) or self._name(op), position)
        return op

    def _count_op(self, start: int) -> None:
        """Count an op; at the limit, estimate the number of ops by the number of lines."""
        self._starts.append(start)
        if len(self._starts) > limits.current().ops:
            lines = self.lexer.input.content.count("\n")
            limits.check("ops", max(len(self._starts), lines), "ops of the graph")

    def _get_op_by_name(self, name: str) -> type[Operation]:
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is not None:
            return found
        self._unknown.append(OpReference(name, name, self._position(self._starts[-1])))
        return opaque_op(name)

    def _register_ssa_definition(self, name: str, values, span) -> None:
        super()._register_ssa_definition(name, values, span)
        if len(values) == 1 and not name[0].isdigit():
            self.names[values[0]] = name

    def _name(self, op: Operation) -> str:
        return self.names.get(op.results[0], "") if len(op.results) == 1 else ""

    def _position(self, offset: int) -> Position:
        return self._places.of(offset)


def _drawable(module: ModuleOp | None) -> ModuleOp | None:
    """Return the module if it is one function whose known ops are valid, else None."""
    try:
        if module is not None:
            return_op(entry_function(module))
            for op in module.walk():
                if not isinstance(op, ModuleOp | FuncOp) and not is_opaque(op):
                    op.verify(verify_nested_ops=False)
    except (DiagnosticException, ValueError):
        return None
    return module


def _to_located_error(error: Exception, position: Position) -> GradcError:
    """Convert an exception to a GradcError at `position`, unless it has a position."""
    match error:
        case GradcError():
            return error.map_diagnostics(lambda d: d if d.position else replace(d, position=position))
        case ParseError():
            place = error.span.get_location()
            return _error(error.msg, Position(place.file, place.line, place.col))
        case AssertionError():
            if not _raised_by_xdsl(error):
                raise error
            return _error(str(error) or "a value that does not fit its type", position)
        case RecursionError():
            return _error("attributes or regions are nested too deeply", position)
        case _:
            return _error(short(error), position)


def _raised_by_xdsl(error: Exception) -> bool:
    """Return whether xDSL's own code raised the error."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and frame.tb_frame.f_globals.get("__name__", "").startswith("xdsl.")


def _error(message: str, position: Position) -> GradcError:
    return GradcError(Diagnostic("error", message, position=position))


def _store_names(function: FuncOp, names: Mapping[SSAValue, str]) -> None:
    """Store the names of inputs and outputs as attributes if a `name_hint` would change one.

    All of them are stored then: the printer numbers values with equal hints.
    """
    returned = return_op(function).arguments
    if all(names.get(value) == value.name_hint for value in (*function.args, *returned)):
        return
    function.arg_attrs = _with_names(function.arg_attrs, function.args, names)
    function.res_attrs = _with_names(function.res_attrs, returned, names)


def _with_names(
    attrs: ArrayAttr[DictionaryAttr] | None, values: Sequence[SSAValue], names: Mapping[SSAValue, str]
) -> ArrayAttr[DictionaryAttr]:
    given = attrs.data if attrs else [DictionaryAttr({})] * len(values)
    own = [{NAME: StringAttr(names[value])} if value in names else {} for value in values]
    return ArrayAttr(DictionaryAttr(n | dict(g.data)) for n, g in zip(own, given, strict=True))
