"""pin-values: make the requested values results, and constants among them arguments.

Between `pin-values` and `unpin-values` the function returns the values `of`, those to keep and those of
`wrt`, whose names its attribute `gradc.request` has. A constant by which the function is differentiated is an
argument with the attribute `gradc.pinned`, the constant, so that no pass folds it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx.ops import ConstantOp
from dialects.support.constants import constant_attribute
from dialects.support.entry import (
    NAME,
    edge_attributes,
    entry_function,
    input_names,
    keep_argument_attributes,
    output_names,
    return_op,
    set_defaults,
    set_new_names,
    state_names,
    update_function_type,
)
from passes.autodiff.file_names import pop_file_names
from passes.autodiff.named_values import add_elements, values_by_name
from passes.autodiff.request import collect_errors, default_output, floats, resolve_floats, resolve_names
from passes.autodiff.rules.norm import unmark_centred
from passes.autodiff.session import SessionPass
from passes.autodiff.shared_weights import pop_copies
from passes.autodiff.stop_gradient import drop_constant_stops, values_after_stops, values_before_stops
from passes.builder.locations import place_by_operands
from passes.builder.rewriting import REQUEST
from passes.builder.values import Builder

PINNED = "gradc.pinned"
"""Attribute of an argument that replaces a constant: the constant, the location and attributes of its op."""


@dataclass(frozen=True)
class PinValuesPass(SessionPass):
    """Make the requested values results, and constants among them arguments.

    `of`, `wrt`: by default the only float result and every float input. `keep`: further values.
    """

    name = "pin-values"

    of: tuple[str, ...] = ()
    wrt: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function = entry_function(op)
        unmark_centred(op)  # fold-affine marks anew
        self.session.copies = pop_copies(function)
        self.session.in_file = pop_file_names(function)
        values = values_by_name(function)
        read, moved = values_after_stops(values), values_before_stops(values)
        of, wrt, keep = collect_errors(
            lambda: self._of(function, read),
            lambda: resolve_floats("wrt", self.wrt or default_wrt(function), moved),
            lambda: self._keep(function, read),
        )
        pinned = pin(function, wrt)
        drop_constant_stops(function)
        set_pinned_values(function, *(_replaced(named, pinned) for named in (of, keep, wrt)))

    def _of(self, function: FuncOp, values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
        names = self.of or default_output(function, output_names(function))
        return resolve_floats("of", names, {**values, **add_elements(function, names, values)})

    def _keep(self, function: FuncOp, values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
        return resolve_names(
            "keep_outputs", self.keep, {**values, **add_elements(function, self.keep, values)}
        )


def default_wrt(function: FuncOp) -> list[str]:
    """Return the names of the float inputs that are no states."""
    states = state_names(function.arg_attrs)
    return [name for name in floats(function.args, input_names(function)) if name not in states]


@dataclass(frozen=True)
class PinnedValues:
    """The values of a gradient request, by name."""

    of: Mapping[str, SSAValue]
    keep: Mapping[str, SSAValue]
    wrt: Mapping[str, SSAValue]

    @classmethod
    def in_function(cls, function: FuncOp) -> PinnedValues:
        request = cast("DictionaryAttr", function.attributes[REQUEST])
        values = iter(return_op(function).arguments)
        return cls(*({name: next(values) for name in _names(request.data[part])} for part in _PARTS))


_PARTS = ("of", "keep", "wrt")


def set_pinned_values(
    function: FuncOp,
    of: Mapping[str, SSAValue],
    keep: Mapping[str, SSAValue],
    wrt: Mapping[str, SSAValue],
) -> None:
    """Let a function with named arguments return the values of a request."""
    parts = {"of": of, "keep": keep, "wrt": wrt}
    set_results(function, Builder(), [value for named in parts.values() for value in named.values()])
    set_new_names(function, input_names(function), [name for named in parts.values() for name in named])
    function.attributes[REQUEST] = DictionaryAttr(
        {part: ArrayAttr(map(StringAttr, named)) for part, named in parts.items()}
    )
    update_function_type(function)


def set_results(function: FuncOp, e: Builder, results: Sequence[SSAValue]) -> None:
    """Insert the ops of `e` at the end of a function, and return `results` instead."""
    last = return_op(function)
    place_by_operands(e.emit.ops, function.body.block, "result")
    Rewriter.insert_op([*e.emit.ops, ReturnOp(*results)], InsertPoint.before(last))
    Rewriter.erase_op(last)


def pinned_constants(function: FuncOp) -> dict[SSAValue, DenseIntOrFPElementsAttr]:
    """Return the arguments that replace constants, with these."""
    return {
        argument: cast("DenseIntOrFPElementsAttr", constant.data["value"])
        for argument, constant in _pinned(function).items()
    }


def keep_as_inputs(function: FuncOp, arguments: Collection[SSAValue]) -> None:
    """Let those of the arguments that replace constants be inputs with these as their defaults."""
    weights = pinned_constants(function)
    pairs = zip(function.args, edge_attributes(function.arg_attrs, len(function.args)), strict=True)
    function.arg_attrs = ArrayAttr(
        DictionaryAttr({k: v for k, v in of.items() if k != PINNED or argument not in arguments})
        for argument, of in pairs
    )
    named = zip(input_names(function), function.args, strict=True)
    set_defaults(function, {name: weights[arg] for name, arg in named if arg in weights and arg in arguments})


def release(function: FuncOp, arguments: Collection[SSAValue]) -> None:
    """Turn those of the arguments that replace constants back into them."""
    block = function.body.block
    pinned = {argument: of for argument, of in _pinned(function).items() if argument in arguments}
    keep_argument_attributes(function, [argument not in pinned for argument in block.args])
    for argument, constant in pinned.items():
        value, location, attributes = (constant.data[name] for name in ("value", "location", "attributes"))
        op = ConstantOp.create(
            result_types=[argument.type],
            properties={"value": value},
            attributes=dict(cast("DictionaryAttr", attributes).data),
            location=cast("LocationAttr", location),
        )
        op.results[0].name_hint = argument.name_hint
        first = block.first_op
        assert first is not None
        block.insert_op_before(op, first)
        argument.replace_all_uses_with(op.results[0])
        block.erase_arg(argument)


def pin(function: FuncOp, values: Mapping[str, SSAValue]) -> dict[SSAValue, SSAValue]:
    """Replace constants among the values by arguments of their names; return the arguments by the values."""
    pinned = dict[SSAValue, SSAValue]()
    block = function.body.block
    before = zip(input_names(function), edge_attributes(function.arg_attrs, len(block.args)), strict=True)
    entries = [{**attributes, NAME: StringAttr(name)} for name, attributes in before]
    for name, value in values.items():
        if value in pinned or constant_attribute(value) is None or not isinstance(value, OpResult):
            continue
        argument = pinned[value] = block.insert_arg(value.type, len(block.args))
        argument.name_hint = value.name_hint
        entries.append({NAME: StringAttr(name), PINNED: _description(value)})
        value.replace_all_uses_with(argument)
        Rewriter.erase_op(value.op)
    function.arg_attrs = ArrayAttr(map(DictionaryAttr, entries))
    return pinned


def _description(constant: OpResult) -> DictionaryAttr:
    op = constant.op
    attributes = DictionaryAttr(op.attributes)
    return DictionaryAttr(
        {"value": op.properties["value"], "location": op.location, "attributes": attributes}
    )


def _pinned(function: FuncOp) -> dict[BlockArgument, DictionaryAttr]:
    pairs = zip(function.args, edge_attributes(function.arg_attrs, len(function.args)), strict=True)
    found = {argument: attributes.get(PINNED) for argument, attributes in pairs}
    return {argument: of for argument, of in found.items() if isinstance(of, DictionaryAttr)}


def _replaced(values: Mapping[str, SSAValue], pinned: Mapping[SSAValue, SSAValue]) -> dict[str, SSAValue]:
    return {name: pinned.get(value, value) for name, value in values.items()}


def _names(attribute: Attribute) -> list[str]:
    return [name.data for name in cast("ArrayAttr[StringAttr]", attribute)]
