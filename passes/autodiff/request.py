"""Resolve the names in a gradient request to values, and report all errors at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.node import NodeOp
from dialects.onnx.types import type_text
from dialects.support.diagnostics import several, suggest, usage
from dialects.support.entry import return_op, state_names
from dialects.support.error_list import Errors
from dialects.support.names import name_of_value
from dialects.support.option_names import option
from dialects.support.shapes import shape_of
from passes.autodiff.activity.active_values import is_float, may_be_active
from passes.autodiff.activity.float_names import floats_behind_inputs, is_unranked, next_floats, rank_hint
from passes.autodiff.named_values import base_of
from passes.autodiff.vjp import missing_decomposition

T = TypeVar("T")


def collect_errors(*checks: Callable[[], T]) -> list[T]:
    """Return the results of all callables; raise their errors together."""
    errors, found = Errors(), list[T]()
    for check in checks:
        with errors.collecting():
            found.append(check())
    errors.check()
    return found


def resolve_floats(what: str, names: Sequence[str], values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
    """Return the named values. Those of known rank must be float tensors."""
    if len(set(names)) < len(names):
        raise usage(option(what), given=several(list(names)), expected="no name twice")
    if not names:
        kind, hint = ("input", floats_behind_inputs(values)) if what == "wrt" else ("result", "")
        raise usage(f"{option(what)}: the function has no {kind} of floats", hint=hint)
    found, errors = dict[str, SSAValue](), Errors()
    for name in names:
        with errors.collecting():
            value = value_named(what, name, values)
            if not is_unranked(value):
                check_float(what, name, value)
            found[name] = value
    errors.check()
    return found


def resolve_names(what: str, names: Sequence[str], values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
    """Return the named values, of any type."""
    errors = Errors()
    for name in names:
        errors.attempt(value_named, what, name, values)
    errors.check()
    return {name: values[name] for name in names}


def value_named(what: str, name: str, values: Mapping[str, SSAValue]) -> SSAValue:
    if name not in values:
        shown = name or "''"
        raise usage(f"{option(what)}: there is no value {shown}", hint=_other_name(name, values))
    return values[name]


def check_floats(what: str, values: Mapping[str, SSAValue]) -> None:
    errors = Errors()
    for name, value in values.items():
        errors.attempt(check_float, what, name, value)
    errors.check()


def check_float(what: str, name: str, value: SSAValue) -> None:
    if is_float(value) or (what == "of" and _may_have_ranks(value)):
        return
    expected = "a tensor of floats of known rank" if is_unranked(value) else "a tensor of floats"
    of_rank = "; ".join(filter(None, (missing_decomposition(value), rank_hint(value))))
    hint = of_rank if is_unranked(value) else next_floats(what, value)
    raise usage(f"{option(what)} {name}", given=type_text(value.type), expected=expected, hint=hint)


def floats(values: Sequence[SSAValue], names: Sequence[str]) -> list[str]:
    """Return the names of float values, including those of unknown rank."""
    pairs = zip(names, values, strict=True)
    return [name for name, value in pairs if is_float(value) or (is_unranked(value) and may_be_active(value))]


def default_output(function: FuncOp, names: Sequence[str]) -> list[str]:
    """Return the name of the only float result that is no state. Raises UsageError if there are several."""
    states = state_names(function.res_attrs)
    outputs = floats(return_op(function).arguments, names)
    found = [name for name in dict.fromkeys(outputs) if name not in states]
    if len(found) > 1:
        what = f"{option('of')}: the function has {len(found)} results of floats, {several(found)}"
        raise usage(what, hint="name what to differentiate")
    for name, maps in zip(names, return_op(function).arguments, strict=True):
        made = None if found else maps.owner
        if isinstance(made, NodeOp) and made.title == "ai.onnx.ml.ZipMap":
            tensor = name_of_value(made.operands[0]) or "by its name"
            hint = f"{name} is a sequence of maps; name the tensor that it is made of, {tensor}"
            raise usage("no result to differentiate", expected="a tensor of floats", hint=hint)
    return found


def _may_have_ranks(value: SSAValue) -> bool:
    """Return whether `value` is a result of an If whose branches give it different ranks."""
    return isinstance(value.owner, onnx.IfOp) and is_unranked(value) and may_be_active(value)


def _other_name(name: str, values: Mapping[str, SSAValue]) -> str:
    """Return a hint for an unknown name: the closest match or the index syntax."""
    base, missing = _element_of(name, values)
    whole = values.get(base)
    if whole is not None and not is_unranked(whole):
        rank = len(shape_of(whole))
        example = f"{base}[{','.join('0' * rank)}]"
        return f"{missing}an element of {base} is written {example}; : takes a whole axis"
    return suggest(name, values) or "gradc inspect --values lists all values"


def _element_of(name: str, values: Mapping[str, SSAValue]) -> tuple[str, str]:
    """Split an element name: the tensor's name, and a message if a bracket is missing."""
    head, opening, _ = name.rpartition("[")
    if opening and not name.endswith("]"):
        return head, "the closing ] is missing: "
    if not opening and name.endswith("]"):
        return max(
            (one for one in values if name.startswith(one)), key=len, default=""
        ), "the opening [ is missing: "
    return base_of(name), ""
