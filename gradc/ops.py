"""Building blocks of custom derivative rules: ONNX ops as functions of values.

    from gradc import ops

    def ramp(f, g, e):
        return [ops.Where(f.x > 0, g[0], 0)]

    gradc.grad(model, rules={"com.example.Ramp": ramp})

Every op of ONNX's standard domain without subgraphs is a function under its ONNX name: `ops.MatMul(a, b)`.
Operands come first, in ONNX's order, or by name; None omits an optional one. Attributes are keywords. An
operand is a `Value`, a number, a list of numbers or a numpy array. Numbers and lists get the dtype that the
op requires, arrays keep theirs. Operands that ONNX calls variadic are a list: `ops.Concat([a, b], axis=0)`.
The result is a `Value`, or a tuple of them if ONNX declares several results, as for TopK. `results` is the
number of results of Split. `builder`, the rule's third argument, is needed if no operand is a `Value`.

A mistake in a rule is a `gradc.UsageError` of one line with the op, the rule and its line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, TypeAlias, cast

import numpy as np
from xdsl.ir import Attribute

from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import op_class, op_names
from dialects.onnx.signature import GRAPH, OPTIONAL, SINGLE, Port
from dialects.onnx.signatures import SIGNATURES
from dialects.support.diagnostics import GradcError, suggest, violation
from dialects.support.dtypes import FLOATS, by_name, known_dtype, of_mlir, of_numpy
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule, refusal
from passes.builder.values import Builder, Value

__all__ = ["ZERO", "Builder", "Gradient", "Operand", "Primal", "Rule", "Value", "refusal"]

Number: TypeAlias = bool | int | float
Operand: TypeAlias = Value | Number | Sequence[Number] | np.ndarray
"""What an op takes as operand."""

_KINDS: Final[Mapping[str, tuple[str, type | tuple[type, ...]]]] = {
    "INT": ("an integer", (int, np.integer)),
    "FLOAT": ("a number", (int, float, np.integer, np.floating)),
    "STRING": ("a string", (str, bytes)),
    "INTS": ("a list of integers", (int, np.integer)),
    "FLOATS": ("a list of numbers", (int, float, np.integer, np.floating)),
    "STRINGS": ("a list of strings", (str, bytes)),
    "TENSOR": ("a numpy array", np.ndarray),
}
"""Kind of attribute -> its name in messages, and the types of its Python value or of the elements."""


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in SIGNATURES or _has_subgraphs(name):
        raise AttributeError(f"gradc.ops has no function '{name}'")
    return _function(name)


def __dir__() -> list[str]:
    return [*__all__, *(name for name in op_names() if not _has_subgraphs(name))]


def _has_subgraphs(name: str) -> bool:
    return f": {GRAPH}" in SIGNATURES[name]


@cache
def _function(name: str) -> Callable[..., Value | tuple[Value, ...]]:
    cls = op_class(name)

    def create(
        *operands: Any, builder: Builder | None = None, **attributes: Any
    ) -> Value | tuple[Value, ...]:
        results = attributes.pop("results", None) if _varies(cls) else None
        try:
            return _create(cls, operands, results, builder, attributes)
        except GradcError as error:
            raise error.map_diagnostics(lambda d: replace(d, subject=d.subject or cls.name)) from None

    create.__name__ = create.__qualname__ = name
    create.__module__ = __name__
    create.__doc__ = _description(cls)
    create.__signature__ = _signature(cls)  # pyright: ignore[reportFunctionMemberAccess]
    return create


def _create(
    cls: type[OnnxOp],
    operands: Sequence[Any],
    results: int | None,
    builder: Builder | None,
    attributes: dict[str, Any],
) -> Value | tuple[Value, ...]:
    groups = _operand_groups(cls, operands, attributes)
    values = [one for group in groups for one in _members(group) if isinstance(one, Value)]
    if builder is None:
        if not values:
            raise violation("builder", given="none, and no operand is a Value", expected="the rule's builder")
        builder = values[0].e
    convert = _Conversion(builder, _bound_types(cls, groups), values)
    given = [convert.group(port, group) for port, group in zip(cls.SIGNATURE.operands, groups, strict=True)]
    known = {name: _attribute(cls, name, value) for name, value in attributes.items() if value is not None}
    missing = [a.name for a in cls.SIGNATURE.attributes if a.required and a.name not in known]
    if missing:
        raise violation(f"attribute {missing[0]}", given="none", expected=_kind_text(cls, missing[0]))
    made = builder.emit.all(cls(*given, results=results, **known))
    found = tuple(builder(result) for result in made)
    return found if len(cls.SIGNATURE.results) > 1 or _varies(cls) else found[0]


def _varies(cls: type[OnnxOp]) -> bool:
    """Return whether the number of results varies."""
    return any(map(_is_variadic, cls.SIGNATURE.results))


def _operand_groups(cls: type[OnnxOp], operands: Sequence[Any], attributes: dict[str, Any]) -> list[Any]:
    """Return what is given for each operand of the schema; remove operands given by name from `attributes`.

    Raises GradcError for too many or missing operands.
    """
    ports = cls.SIGNATURE.operands
    if len(ports) == 1 and _is_variadic(ports[0]) and len(operands) > 1:
        operands = [list(operands)]
    if len(operands) > len(ports):
        raise violation("number of operands", given=len(operands), expected=f"{len(ports)} or fewer")
    left = ports[len(operands) :]
    groups = [*operands, *(attributes.pop(port.name, None) for port in left)]
    for port, given in zip(ports, groups, strict=True):
        if given is None and port.option == SINGLE:
            raise violation(f"operand {port.name}", given="none", expected="a value")
        if _is_variadic(port) and not isinstance(given, list | tuple):
            raise violation(f"operand {port.name}", given=_brief(given), expected="a list of values")
    return groups


def _is_variadic(port: Port) -> bool:
    return port.option not in (SINGLE, OPTIONAL)


def _members(group: Any) -> Iterable[Any]:
    return cast(Iterable[Any], group) if isinstance(group, list | tuple) else (group,)


def _bound_types(cls: type[OnnxOp], groups: Sequence[Any]) -> dict[str, Attribute]:
    """Return the dtype of each type variable that a given value determines, and fixed dtypes."""
    found: dict[str, Attribute] = {}
    for port, group in zip(cls.SIGNATURE.operands, groups, strict=True):
        fixed = by_name(port.variable)
        if fixed is not None:
            found[port.variable] = fixed.mlir
        for one in _members(group):
            if isinstance(one, Value):
                found.setdefault(port.variable, one.dtype)
    return found


class _Conversion:
    """Conversion of the arguments of one op to SSA values."""

    def __init__(self, builder: Builder, types: Mapping[str, Attribute], values: Sequence[Value]):
        self._builder, self._types = builder, types
        self._float = next((v.dtype for v in values if _is_float(v.dtype)), None)

    def group(self, port: Port, given: Any) -> Any:
        if given is None:
            return None
        if _is_variadic(port):
            return [self._operand(port, one) for one in given]
        return self._operand(port, given)

    def _operand(self, port: Port, given: Any) -> Any:
        match given:
            case Value():
                return given.value
            case np.ndarray() | np.generic():
                return self._builder.constant(np.asarray(given)).value
            case bool() | int() | float():
                pass
            case list() | tuple() if all(isinstance(one, int | float) for one in cast(list[Any], given)):
                pass
            case _:
                expected = "a Value, a number, a list of numbers or a numpy array"
                raise violation(f"operand {port.name}", given=_brief(given), expected=expected)
        array = np.array(given)
        dtype = of_mlir(self._dtype(port, array))
        if dtype is None or (array.dtype.kind == "f" and dtype.numpy.kind in "iub"):
            wanted = "another dtype" if dtype is None else dtype.name
            raise violation(f"operand {port.name}", given=_brief(given), expected=wanted)
        if isinstance(given, list | tuple):
            return self._builder.constant(array.astype(dtype.numpy)).value
        return self._builder.number(given, dtype.mlir).value

    def _dtype(self, port: Port, array: np.ndarray) -> Attribute:
        """Return the dtype of a number or list: that of its type variable, else one for its elements."""
        if port.variable in self._types:
            return self._types[port.variable]
        if array.dtype.kind == "f" and array.size:
            if self._float is not None:
                return self._float
            array = array.astype(np.float32)
        return known_dtype(array.dtype if array.size else np.dtype(np.int64)).mlir


def _is_float(type_: Attribute) -> bool:
    dtype = of_mlir(type_)
    return dtype is not None and dtype.name in FLOATS


def _attribute(cls: type[OnnxOp], name: str, value: Any) -> Any:
    """Return the value of an attribute. Raises GradcError if the op has no such attribute, or of another
    kind."""
    kinds = cls.SIGNATURE.kinds
    if name not in kinds:
        names = [*kinds, *(port.name for port in cls.SIGNATURE.operands)]
        raise violation(f"{cls.onnx_name()} has no attribute {name}", hint=suggest(name, names))
    kind = kinds[name]
    if kind == "TYPE":
        return _type(name, value)
    if kind not in _KINDS or isinstance(value, Attribute):
        return value
    if kind.endswith("S") and isinstance(value, np.ndarray):
        value = value.tolist()
    whole = (
        [value] if not kind.endswith("S") else value if isinstance(value, list | tuple | range) else [None]
    )
    if not all(isinstance(one, _KINDS[kind][1]) for one in cast(Iterable[Any], whole)):
        raise violation(f"attribute {name}", given=_brief(value), expected=_KINDS[kind][0])
    return value


def _type(name: str, value: Any) -> Attribute:
    """Return the MLIR type for a numpy dtype, the name of one, or the dtype of a Value."""
    if isinstance(value, Attribute):
        return value
    known = by_name(value) if isinstance(value, str) else None
    if known is None:
        try:
            known = of_numpy(np.dtype(value))
        except TypeError:
            known = None
    if known is None:
        raise violation(f"attribute {name}", given=_brief(value), expected="a dtype, such as np.float32")
    return known.mlir


def _kind_text(cls: type[OnnxOp], name: str) -> str:
    kind = cls.SIGNATURE.kinds[name]
    return "a dtype" if kind == "TYPE" else _KINDS[kind][0] if kind in _KINDS else "a value"


def _brief(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, Value):
        return "a Value"
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else type(value).__name__


def _description(cls: type[OnnxOp]) -> str:
    signature = cls.SIGNATURE
    operands = ", ".join(f"{p.name}{p.option}: {p.variable}" for p in signature.operands)
    results = ", ".join(f"{p.name}{p.option}: {p.variable}" for p in signature.results)
    opset = f"newest schema version {signature.revisions[-1]}"
    return f"Create ONNX {cls.onnx_name()} ({opset}).\n\n({operands}) -> {results}"


def _signature(cls: type[OnnxOp]) -> inspect.Signature:
    optional, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    found: list[inspect.Parameter] = []
    for port in cls.SIGNATURE.operands:
        follows = port.option == OPTIONAL or any(p.default is None for p in found)
        default = {"default": None} if follows else {}
        found.append(inspect.Parameter(port.name, optional, **default))
    for attribute in cls.SIGNATURE.attributes:
        default = {} if attribute.required else {"default": attribute.default}
        found.append(inspect.Parameter(attribute.name, keyword, **default))
    for name in ("results", "builder") if _varies(cls) else ("builder",):
        found.append(inspect.Parameter(name, keyword, default=None))
    return inspect.Signature(found)
