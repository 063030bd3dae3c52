"""Base class of ops with documented attributes: text form, normalised attributes, diagnostics.

    %y = onednn.interpolate_backward %src, %dy {mode = "linear", sizes = [6, 6]} : (...) -> ...

Lists are printed as lists; words are accepted in any case. Attributes are normalised once, on creation, so
that later passes and the printer see the documented spelling.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    TensorType,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VariadicDef,
    VarOperandDef,
    irdl_op_definition,
    operand_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from dialects.support import shapes
from dialects.support.attributes import (
    AttributeSpec,
    DocumentedAttribute,
    documented_attributes,
)
from dialects.support.diagnostics import Diagnostic, GradcError, diagnostic_at, error_at, suggest
from dialects.support.error_list import Errors
from dialects.support.interfaces import (
    InfersTypes,
    check_results,
    inferred_types,
    refine_results,
    set_type,
)
from dialects.support.memo import Memo
from dialects.support.op_cache_key import VerifiedOnce
from dialects.support.shapes import Shape

DISCARDABLE_PREFIX = "source."
"""Prefix of attributes that the importers add to an op, such as its id in the document."""

CHOICE = "gradc.choice"
"""Attribute that selects the strategy for lowering a gradient."""

STRATEGY = "gradc.strategy"
"""Attribute with the strategy that produced an ONNX op, for information only."""


OpT = TypeVar("OpT", bound="DocumentedOp")
ResultT = TypeVar("ResultT")

_NORMALISED = Memo()
"""Normalised properties by class, operand types and given properties. Most ops are clones."""


_OPERAND, _RESULT = (type(definition(TensorType)) for definition in (operand_def, result_def))
"""Types of the definitions in a class body."""


def _documented_names(cls: type, kind: type) -> Iterator[str]:
    """Yield the documented names of the definitions of a class, in the order of the op's operands or results.

    An operand that may be an attribute instead has the suffix `_input`.
    """
    seen: set[str] = set()
    for base in cls.__mro__:
        for name, definition in vars(base).items():
            if isinstance(definition, kind) and name not in seen:
                seen.add(name)
                yield f"{name}_i" if definition.cls is VarOperandDef else name.removesuffix("_input")


def documented_op(cls: type[OpT]) -> type[OpT]:
    """Define an op, as `irdl_op_definition` does, with accessors that return Python values: `op.strides` is
    `op.value("strides")`."""
    defined = irdl_op_definition(cls)
    for name in documented_attributes(defined):
        setattr(defined, name, property(partial(DocumentedOp.value, name=name)))
    return defined


class DocumentedOp(VerifiedOnce, IRDLOperation, InfersTypes, ABC):
    """An op whose attributes are declared with an `AttributeSpec` each."""

    PORTS: ClassVar[tuple[str, ...]]
    """The documented names of the operands, in order; by default from their definitions. A last `src_i`
    denotes any number of operands, `src_0`, `src_1` and so on, and is declared with `var_operand_def`."""

    RESULTS: ClassVar[tuple[str, ...]]
    """The documented names of the results, in order; by default from their definitions. An op has all of
    them, even unused ones."""

    EXTRA_PORT_HINT: ClassVar[str] = ""
    """Hint for an op with more operands than documented."""

    BY_PARTS: ClassVar[bool] = False
    """True if `evaluate` converts its operands to float64 by parts: whole copies would take much memory."""

    FOREIGN_ATTRIBUTES: ClassVar[Mapping[str, str]] = {}
    """Attribute names of other frameworks, with a hint for each."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Derive PORTS and RESULTS of a class with definitions, unless it states them."""
        super().__init_subclass__(**options)
        own = dict(vars(cls))
        for name, kind in (("PORTS", _OPERAND), ("RESULTS", _RESULT)):
            if name not in own and any(isinstance(definition, kind) for definition in own.values()):
                setattr(cls, name, tuple(_documented_names(cls, kind)))
                cls.__annotations__[name] = ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        super().__post_init__()
        given = (part for item in self.properties.items() for part in item)
        key = (type(self), *self.operand_types, *given)
        self.properties = dict(_NORMALISED.get(key, self._normalise))

    def _normalise(self) -> dict[str, Attribute]:
        self.normalise()
        return dict(self.properties)

    def normalise(self) -> None:
        """Encode every attribute canonically; subclasses drop written-out unset defaults."""
        for name, documented in documented_attributes(type(self)).items():
            given = self.properties.get(name)
            if given is not None:
                self.properties[name] = documented.spec.reencode(given)

    def value(self, name: str) -> Any:
        """Return the Python value of an attribute: the given one, else the documented default."""
        documented = documented_attributes(type(self))[name]
        given = self.properties.get(name)
        return documented.spec.default if given is None else documented.spec.decode(given)

    def is_given(self, name: str) -> bool:
        return name in self.properties

    def verify_all(self) -> None:
        check_form(self)
        super().verify_all()

    def verify_(self) -> None:
        check_results(self)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the results for float64 operands by the definition of the op; the interpreter rounds them.

        With `BY_PARTS` the operands have their own dtypes.
        """
        raise NotImplementedError

    def result_role(self, index: int) -> str:
        return self.result_name(index)

    @classmethod
    def result_name(cls, index: int) -> str:
        """Return the documented name of a result."""
        return cls.RESULTS[index] if index < len(cls.RESULTS) else f"outputs[{index}]"

    @classmethod
    def port(cls, index: int) -> str:
        """Return the documented name of an operand."""
        if index >= len(cls.PORTS) - 1 and cls.is_variadic():
            return f"{cls.PORTS[-1].removesuffix('_i')}_{index - len(cls.PORTS) + 1}"
        return cls.PORTS[index] if index < len(cls.PORTS) else f"inputs[{index}]"

    @classmethod
    def is_variadic(cls) -> bool:
        """Return whether the last port takes any number of operands."""
        return cls.PORTS[-1].endswith("_i")

    @classmethod
    def undeclared_dtype(cls, index: int, operands: Sequence[Attribute]) -> Attribute:
        """Return the dtype of a result without a declared one, where the operands' dtypes do not determine
        it."""
        del index
        return operands[0]

    def fewest_results(self) -> int:
        """Return how many results a document must list; it may omit the later ones."""
        return len(self.RESULTS)

    def checked(self, check: Callable[..., ResultT], *args: Any) -> ResultT:
        """Run a check on plain values; a GradcError gets this op's location."""
        try:
            return check(*args)
        except GradcError as error:
            raise error.at_op(self) from None

    def error(self, what: str, given: Any = None, expected: Any = None, hint: str = "") -> GradcError:
        return error_at(self, what, given=given, expected=expected, hint=hint)

    def remark(self, message: str, *, strict: bool = False) -> Diagnostic:
        return diagnostic_at(self, "remark", message, strict=strict)

    @classmethod
    def parse(cls, parser: Parser):
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        given = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_function_type()
        known = documented_attributes(cls)
        return cls.create(
            operands=parser.resolve_operands(operands or [], types.inputs.data, position),
            result_types=types.outputs.data,
            properties={name: attr for name, attr in given.items() if name in known},
            attributes={name: attr for name, attr in given.items() if name not in known},
        )

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        entries = self.properties | self.attributes
        if entries:
            printer.print_string(" {")
            printer.print_list(entries.items(), lambda entry: _print_entry(printer, *entry))
            printer.print_string("}")
        printer.print_string(" : ")
        printer.print_attribute(
            FunctionType.from_lists([o.type for o in self.operands], [r.type for r in self.results])
        )


@dataclass(frozen=True)
class Declared:
    """Declared shape and dtype of a result; None if undeclared."""

    shape: Shape | None = None
    dtype: Attribute | None = None


def build(
    cls: type[OpT],
    operands: Sequence[SSAValue],
    attributes: Mapping[str, Any],
    *,
    declared: Sequence[Declared] = (),
    location: LocationAttr | None = None,
    discardable: Mapping[str, Attribute] | None = None,
) -> OpT:
    """Return a verified op from Python values, with inferred result types.

    `declared` constrains the first results. Raises GradcError at `location` for anything undocumented.
    """
    known = (*declared, *(Declared(),) * (len(cls.RESULTS) - len(declared)))
    op = cls.create(
        operands=operands,
        result_types=[_declared_type(cls, index, operands, each) for index, each in enumerate(known)],
        location=location,
        attributes=discardable or {},
    )
    errors = Errors()
    for name, value in attributes.items():
        errors.attempt(_set, op, name, value)
    errors.check()
    op.normalise()
    check_form(op)
    for result, inferred, each in zip(op.results, inferred_types(op), known, strict=True):
        assert isinstance(inferred, TensorType)
        shape = shapes.shape_of(inferred if each.shape is None else result)
        set_type(result, shapes.tensor_type(each.dtype or inferred.element_type, shape))
    refine_results(op)
    return op


def _set(op: DocumentedOp, name: str, value: Any) -> None:
    documented = documented_attributes(type(op)).get(name)
    if documented is None:
        raise unknown_attribute(op, name)
    try:
        op.properties[name] = documented.spec.encode(value)
    except ValueError as error:
        raise error_at(op, f"attribute {name}: {error}") from None


def check_form(op: DocumentedOp) -> None:
    """Raise unless the op has exactly its documented operands and attributes, with their types."""
    errors = Errors()
    errors.attempt(_check_ports, op)
    errors.attempt(_check_results, op)
    for name, given in op.attributes.items():
        errors.attempt(_check_discardable, op, name, given)
    misspelt = [name for name in op.attributes if not name.startswith(DISCARDABLE_PREFIX)]
    for documented in documented_attributes(type(op)).values():
        errors.attempt(_check_attribute, op, documented, misspelt)
    errors.check()


def _check_discardable(op: DocumentedOp, name: str, given: Attribute) -> None:
    if name == CHOICE and not isinstance(given, StringAttr):
        raise error_at(op, f"attribute {name}", given=given, expected='the "name" of a strategy')
    if name != CHOICE and not name.startswith(DISCARDABLE_PREFIX):
        raise unknown_attribute(op, name)


def _check_attribute(op: DocumentedOp, documented: DocumentedAttribute, misspelt: Sequence[str]) -> None:
    """Raise if an attribute is ill-typed, or missing and not misspelt, which is another error."""
    given = op.properties.get(documented.name)
    if given is None and documented.required and not any(suggest(m, [documented.name]) for m in misspelt):
        raise missing_attribute(op, documented.name, documented.spec)
    if given is not None:
        _check_value(op, documented, given)


def _check_ports(op: DocumentedOp) -> None:
    count, least, most = len(op.operands), *_port_counts(type(op))
    if not least <= count <= most:
        missing = ", ".join(op.port(index) for index in range(count, least))
        hint = f"missing {missing}" if missing else op.EXTRA_PORT_HINT
        expected = f"{least} or more" if most is math.inf else _either(least, int(most))
        raise error_at(op, "number of inputs", given=count, expected=expected, hint=hint)
    for index, operand in enumerate(op.operands):
        if not isinstance(operand.type, TensorType):
            raise error_at(op, f"input {op.port(index)}", given=operand.type, expected="a ranked tensor")


def _port_counts(cls: type[DocumentedOp]) -> tuple[int, float]:
    """Return the minimum and maximum number of operands. A variadic port takes at least one."""
    definitions = cls.get_irdl_definition().operands
    least = sum(not isinstance(definition, VariadicDef) for _, definition in definitions)
    return (least + 1, math.inf) if cls.is_variadic() else (least, len(cls.PORTS))


def _either(least: int, most: int) -> str:
    return " or ".join(str(count) for count in range(least, most + 1))


def _check_results(op: DocumentedOp) -> None:
    if len(op.results) != len(op.RESULTS):
        expected = f"{len(op.RESULTS)}: {', '.join(op.RESULTS)}"
        raise error_at(op, "number of outputs", given=len(op.results), expected=expected)


def check_listed_results(op: DocumentedOp, count: int) -> None:
    """Raise unless a document may list `count` results of an op."""
    least, most = op.fewest_results(), len(op.RESULTS)
    if not least <= count <= most:
        missing = ", ".join(op.RESULTS[count:least])
        hint = f"missing {missing}" if missing else ""
        raise error_at(op, "number of outputs", given=count, expected=_either(least, most), hint=hint)


def _check_value(op: DocumentedOp, documented: DocumentedAttribute, given: Attribute) -> None:
    try:
        documented.spec.decode(given)
    except ValueError as error:
        raise error_at(op, f"attribute {documented.name}: {error}") from None


def missing_attribute(op: DocumentedOp, name: str, spec: AttributeSpec[Any]) -> GradcError:
    expected = f"one of {', '.join(spec.words)}" if spec.words else f"a value of type {spec.tag}"
    note = "required even with auto_pad" if name.startswith("pads_") else ""
    return error_at(op, f"attribute {name} is missing", expected=expected, hint=note)


def unknown_attribute(op: DocumentedOp, name: str) -> GradcError:
    known = list(documented_attributes(type(op)))
    elsewhere = type(op).FOREIGN_ATTRIBUTES.get(name, "")
    return error_at(
        op,
        f"unknown attribute {name}",
        expected=f"one of {', '.join(known)}",
        hint=elsewhere or suggest(name, known),
    )


def _declared_type(
    cls: type[DocumentedOp], index: int, operands: Sequence[SSAValue], declared: Declared
) -> TensorType:
    """Return a result type as declared; an undeclared shape is dynamic, with the first operand's rank."""
    types = [operand.type for operand in operands if isinstance(operand.type, TensorType)]
    if not types:
        return shapes.tensor_type(declared.dtype or f32, declared.shape or ())
    dims = declared.shape if declared.shape is not None else (None,) * types[0].get_num_dims()
    given = [type_.element_type for type_ in types]
    return shapes.tensor_type(declared.dtype or cls.undeclared_dtype(index, given), dims)


def _print_entry(printer: Printer, name: str, attr: Attribute) -> None:
    """Print `name = value`, with numbers and lists of numbers untyped."""
    printer.print_string(f"{name} = ")
    match attr:
        case DenseArrayBase() if all(map(math.isfinite, _values(attr))):
            printer.print_string(f"[{', '.join(map(_number, _values(attr)))}]")
        case IntegerAttr() if attr.type == i64:
            printer.print_string(str(attr.value.data))
        case FloatAttr() if attr.type == f64 and math.isfinite(attr.value.data):
            printer.print_string(_number(attr.value.data))
        case _:
            printer.print_attribute(attr)


def _values(attr: DenseArrayBase) -> Sequence[int | float]:
    return cast(Sequence[int | float], attr.get_values())  # pyright: ignore


def _number(value: int | float) -> str:
    """Return a literal that MLIR parses: its floats need a point even before an exponent."""
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
