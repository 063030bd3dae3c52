"""The entry function of a module, and the public names of its inputs and outputs.

Names that are not SSA identifiers (`t0` is one, `encoder/x:0` is not) are stored in the function's argument
and result attributes under `gradc.name`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from dialects.support.diagnostics import error_at, violation
from dialects.support.names import name_of_value

NAME = "gradc.name"

TYPE = "gradc.type"
"""The declared type of an input or output in the source."""


DEFAULT = "gradc.default"
"""The default value of an input, a dense attribute."""


STATE = "gradc.state"
"""Marks an input that a training step replaces by the result of its name with `new_`, and that result."""


SHARED = "gradc.shared"
"""Marks an output that is the same value as an input or an earlier output, and has its name."""


OPSET = "onnx.opset"
"""Module attribute with the opset of the imported model."""

OPTIONAL = "onnx.optional_inputs"
"""Inputs of a gradc model that had an initializer, and are constants in a module."""

METADATA = "onnx.metadata"
"""Module attribute with the model's metadata, a dictionary of strings."""

ABOUT = "onnx.about"
"""Module attribute with the descriptive fields of the model and its graph, also strings."""

NODE_DOCS = "onnx.node_docs"
"""Doc strings of the source model's nodes, by name."""

DOC = "gradc.doc"
"""Doc string of an input or output."""


PROPERTIES = "gradc.properties"
"""Metadata of an input or output, a dictionary of strings."""

DENOTATIONS = "gradc.denotations"
"""Denotations: of the type of an input or output under '', of its dims under their axis."""

ANNOTATIONS = "onnx.annotations"
"""Metadata of the model's graph, nodes and initializers, by name."""


OF_NODES = (NODE_DOCS, ANNOTATIONS)
"""Module attributes with one string per node, which may be long."""


def entry_function(module: ModuleOp) -> FuncOp:
    """Return the module's one function with a body; raises GradcError if there is not exactly one."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    if len(functions) != 1:
        found = ", ".join(f"@{f.sym_name.data}" for f in functions) or "none"
        raise violation("functions in the module", given=found, expected="exactly one")
    function = functions[0]
    if len(function.body.blocks) != 1:
        raise error_at(function, "blocks in the function", given=len(function.body.blocks), expected=1)
    return function


def return_op(function: FuncOp) -> ReturnOp:
    last = function.body.block.last_op
    if not isinstance(last, ReturnOp):
        raise error_at(function, "the function does not end in func.return")
    return last


def input_names(function: FuncOp) -> tuple[str, ...]:
    """Return the public name of each argument: given, else the argument's SSA name, else `arg<i>`."""
    given = _name_attrs(function.arg_attrs, len(function.args))
    return _unique(_name(g, a, f"arg{i}") for i, (g, a) in enumerate(zip(given, function.args, strict=True)))


def output_names(function: FuncOp) -> tuple[str, ...]:
    """Return the public name of each result: given, else the returned value's SSA name, else `result<i>`.

    A name shared with an input or an earlier result stays shared while both are the same value.
    """
    values = return_op(function).arguments
    given, shared = _name_attrs(function.res_attrs, len(values)), _is_shared(function.res_attrs, len(values))
    taken: dict[str, SSAValue] = dict(zip(input_names(function), function.args, strict=True))
    names: list[str] = []
    for index, (own, shares, value) in enumerate(zip(given, shared, values, strict=True)):
        name = _name(own, value, f"result{index}")
        name = name if shares and taken.get(name) is value else free_name(name, taken)
        taken[name] = value
        names.append(name)
    return tuple(names)


def set_names(function: FuncOp, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Name the arguments and results; their other attributes stay."""
    function.arg_attrs = _attrs(inputs, function.arg_attrs)
    function.res_attrs = _attrs(outputs, function.res_attrs)


def set_new_names(function: FuncOp, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Name arguments and results after some were added or removed; attributes follow the names. A result
    named like an argument is marked as shared."""
    function.arg_attrs = _attrs(inputs, _of_names(inputs, function.arg_attrs))
    results = _attrs(outputs, _of_names(outputs, function.res_attrs))
    both = [{SHARED: UnitAttr()} if name in inputs else {} for name in outputs]
    function.res_attrs = ArrayAttr(
        DictionaryAttr({**entry.data, **more}) for entry, more in zip(results, both, strict=True)
    )


def defaults(function: FuncOp) -> dict[str, DenseIntOrFPElementsAttr]:
    """Return the default values of optional inputs, by name."""
    found: dict[str, DenseIntOrFPElementsAttr] = {}
    for name, entry in zip(input_names(function), function.arg_attrs or (), strict=False):
        value = entry.data.get(DEFAULT)
        if isinstance(value, DenseIntOrFPElementsAttr):
            found[name] = value
    return found


def set_defaults(function: FuncOp, values: Mapping[str, DenseIntOrFPElementsAttr]) -> None:
    """Set default values of inputs, by name. The inputs must be named."""
    entries = function.arg_attrs or ArrayAttr(())
    found = [
        {**entry.data, DEFAULT: values[name]} if name in values else entry.data
        for name, entry in zip(input_names(function), entries, strict=True)
    ]
    function.arg_attrs = ArrayAttr(map(DictionaryAttr, found))


def state_names(attrs: ArrayAttr[DictionaryAttr] | None) -> set[str]:
    """Return the names of the inputs or results that are states."""
    found = (entry.data.get(NAME) for entry in attrs or () if STATE in entry.data)
    return {name.data for name in found if isinstance(name, StringAttr)}


def mark_states(function: FuncOp, names: Container[str]) -> None:
    """Mark inputs and results, which must be named, as states."""
    sides = (function.arg_attrs, input_names(function)), (function.res_attrs, output_names(function))
    function.arg_attrs, function.res_attrs = (
        ArrayAttr(
            DictionaryAttr({**entry.data, STATE: UnitAttr()} if name in names else entry.data)
            for entry, name in zip(attrs or (), named, strict=True)
        )
        for attrs, named in sides
    )


def set_edge(
    function: FuncOp, inputs: Sequence[tuple[str, Attribute]], outputs: Sequence[tuple[str, Attribute]]
) -> None:
    """Set the names and declared types of arguments and results as a model has them; names may repeat."""
    function.arg_attrs = _attrs_with_types(inputs)
    taken = {name for name, _ in inputs}
    entries: list[DictionaryAttr] = []
    for (name, _), entry in zip(outputs, _attrs_with_types(outputs), strict=True):
        entries.append(DictionaryAttr({**entry.data, SHARED: UnitAttr()}) if name in taken else entry)
        taken.add(name)
    function.res_attrs = ArrayAttr(entries)


def annotate(
    function: FuncOp, inputs: Sequence[Mapping[str, Attribute]], outputs: Sequence[Mapping[str, Attribute]]
) -> None:
    """Add a model's attributes to the arguments and results, which must be named."""
    function.arg_attrs, function.res_attrs = (
        ArrayAttr(DictionaryAttr({**e.data, **more}) for e, more in zip(attrs or (), given, strict=True))
        for attrs, given in ((function.arg_attrs, inputs), (function.res_attrs, outputs))
    )


def edge_attributes(attrs: ArrayAttr[DictionaryAttr] | None, count: int) -> list[Mapping[str, Attribute]]:
    """Return the attributes of each argument, or of each result."""
    found: list[Mapping[str, Attribute]] = [entry.data for entry in attrs or ()]
    return found if len(found) == count else [{}] * count


def keep_argument_attributes(function: FuncOp, kept: Sequence[bool]) -> None:
    """Drop the attributes of removed arguments."""
    if function.arg_attrs is not None and len(function.arg_attrs) == len(kept):
        pairs = zip(function.arg_attrs, kept, strict=True)
        function.arg_attrs = ArrayAttr(entry for entry, stays in pairs if stays)


def declared_types(
    attrs: ArrayAttr[DictionaryAttr] | None, values: Sequence[SSAValue]
) -> tuple[Attribute | None, ...]:
    """Return the type that the source declares for each argument or result, or None."""
    if attrs is None or len(attrs) != len(values):
        return (None,) * len(values)
    return tuple(entry.data.get(TYPE) for entry in attrs)


def declare_results(function: FuncOp, types: Mapping[str, Attribute]) -> None:
    """Declare the types of some results, by name."""
    names = output_names(function)
    attrs = _attrs(names, function.res_attrs)
    declared = ({TYPE: types[name]} if name in types else {} for name in names)
    pairs = zip(attrs, declared, strict=True)
    function.res_attrs = ArrayAttr(DictionaryAttr({**entry.data, **more}) for entry, more in pairs)


def drop_declared_types(function: FuncOp) -> None:
    """Drop declared types once the inferred ones are more precise."""
    for side in ("arg_attrs", "res_attrs"):
        before = getattr(function, side)
        if before is not None:
            kept = ({name: value for name, value in e.data.items() if name != TYPE} for e in before)
            setattr(function, side, ArrayAttr(map(DictionaryAttr, kept)))


def update_function_type(function: FuncOp) -> None:
    """Set the function's type from its block arguments and returned values."""
    function.function_type = FunctionType.from_lists(
        [arg.type for arg in function.args],
        [value.type for value in return_op(function).arguments],
    )


def _attrs(names: Sequence[str], before: ArrayAttr[DictionaryAttr] | None) -> ArrayAttr[DictionaryAttr]:
    kept = [entry.data for entry in before or ()] if before is None or len(before) == len(names) else []
    others = kept or [{}] * len(names)
    pairs = zip(names, others, strict=True)
    return ArrayAttr(DictionaryAttr({**other, NAME: StringAttr(name)}) for name, other in pairs)


def _of_names(names: Sequence[str], before: ArrayAttr[DictionaryAttr] | None) -> ArrayAttr[DictionaryAttr]:
    known = {entry.data.get(NAME): entry for entry in before or ()}
    return ArrayAttr(known.get(StringAttr(name), DictionaryAttr({})) for name in names)


def _attrs_with_types(edge: Sequence[tuple[str, Attribute]]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr(DictionaryAttr({NAME: StringAttr(name), TYPE: type_}) for name, type_ in edge)


def _name_attrs(attrs: ArrayAttr[DictionaryAttr] | None, count: int) -> list[str | None]:
    if attrs is None:
        return [None] * count
    found = [entry.data.get(NAME) for entry in attrs]
    return [name.data if isinstance(name, StringAttr) else None for name in found]


def _is_shared(attrs: ArrayAttr[DictionaryAttr] | None, count: int) -> list[bool]:
    return [False] * count if attrs is None else [SHARED in entry.data for entry in attrs]


def _name(given: str | None, value: SSAValue, default: str) -> str:
    return given or name_of_value(value) or default


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    """Make names unique by a numeric suffix."""
    seen: dict[str, None] = {}
    for name in names:
        seen[free_name(name, seen)] = None
    return tuple(seen)


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name that is not taken: itself, or with a number."""
    candidate, count = name, 1
    while candidate in taken:
        candidate, count = f"{name}_{count}", count + 1
    return candidate
