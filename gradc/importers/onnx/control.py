"""Types of the arguments of nested graphs, and of the results of their nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import GraphProto
from xdsl.dialects.builtin import (
    TensorType,
    UnrankedTensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Region, SSAValue

from dialects.onnx import containers
from dialects.onnx.types import OptionalType, SequenceType, UnknownType
from dialects.shapes.forms import Size
from dialects.support import shapes
from dialects.support.diagnostics import violation
from gradc.importers.onnx.attributes import int_of, ints
from gradc.importers.onnx.source import Source
from gradc.importers.onnx.types import type_of


def refine_type(inferred: Attribute | None, declared: Attribute | None) -> Attribute:
    """Return the type of a result: the inferred one, or the declared one if the inferred has no rank."""
    if inferred is None:
        return UnknownType() if declared is None else declared
    if isinstance(inferred, UnrankedTensorType) and isinstance(declared, TensorType):
        return declared if declared.element_type == inferred.element_type else inferred
    return inferred


def drop_names(type_: Attribute) -> Attribute:
    """Drop the names of dynamic sizes, which differ in each step of a loop."""
    if isinstance(type_, SequenceType):
        return SequenceType(drop_names(type_.element))
    if isinstance(type_, OptionalType):
        return OptionalType(drop_names(type_.element))
    if not isinstance(type_, TensorType):
        return type_
    dims = [None if isinstance(dim, Size) else dim for dim in shapes.shape_of(type_)]
    return shapes.tensor_type(type_.element_type, dims)


def drop_rank(type_: Attribute) -> Attribute:
    """Drop the shape, which may change from one step of a loop to the next."""
    if isinstance(type_, SequenceType):
        return SequenceType(drop_rank(type_.element))
    if isinstance(type_, OptionalType):
        return OptionalType(drop_rank(type_.element))
    return UnrankedTensorType(type_.element_type) if isinstance(type_, TensorType) else type_


def join_types(a: Attribute, b: Attribute) -> Attribute:
    """Return the type of a value that has either type."""
    if a == b:
        return a
    if isinstance(a, SequenceType) and isinstance(b, SequenceType):
        return SequenceType(join_types(a.element, b.element))
    if isinstance(a, OptionalType):
        return OptionalType(join_types(a.element, b.element)) if isinstance(b, OptionalType) else b
    if isinstance(a, UnknownType) or isinstance(b, UnknownType):
        return drop_rank(b if isinstance(a, UnknownType) else a)
    return containers.join_types(a, b)


# Arguments


def argument_types(
    op_type: str,
    since: int,
    operands: Sequence[SSAValue | None],
    attributes: Mapping[str, Attribute],
    graphs: Mapping[str, GraphProto],
) -> dict[str, Sequence[Attribute]]:
    """Return the argument types of each nested graph of a node."""
    if op_type == "If":
        return dict.fromkeys(graphs, ())
    if op_type not in ("Loop", "Scan", "SequenceMap") or "body" not in graphs:
        return {}
    declared = [drop_names(type_of(value.type)) for value in graphs["body"].input]
    given = _outer_types(op_type, since, operands, attributes)
    if len(declared) != len(given):
        raise violation(f"inputs of the body of {op_type}", given=len(declared), expected=len(given))
    return {"body": [_argument(op_type, *pair) for pair in zip(given, declared, strict=True)]}


def _argument(op_type: str, given: Attribute, declared: Attribute) -> Attribute:
    """Return the type of a body's argument. A Loop's values may change shape: the declared one counts."""
    known = drop_rank(given) if op_type == "Loop" else given
    if isinstance(known, UnknownType):
        return declared
    if isinstance(known, UnrankedTensorType) and isinstance(declared, TensorType):
        return declared if declared.element_type == known.element_type else known
    if isinstance(known, SequenceType) and isinstance(declared, SequenceType):
        return SequenceType(_argument(op_type, known.element, declared.element))
    return known


def _outer_types(
    op_type: str, since: int, operands: Sequence[SSAValue | None], attributes: Mapping[str, Attribute]
) -> list[Attribute]:
    types = [UnknownType() if value is None else value.type for value in operands]
    if op_type == "Loop":
        return [TensorType(i64, []), TensorType(i1, []), *types[2:]]
    if op_type == "SequenceMap":
        return [type_.element if isinstance(type_, SequenceType) else type_ for type_ in types]
    if since < SCAN_WITHOUT_BATCH:
        types = [without_axis(type_, 0) for type_ in types[1:]]
    count = int_of(attributes.get("num_scan_inputs"), len(types))
    if not 0 < count <= len(types):
        raise violation("num_scan_inputs", given=count, expected=f"1 to {len(types)}")
    states, scanned = types[: len(types) - count], types[len(types) - count :]
    axes = ints(attributes["scan_input_axes"]) if "scan_input_axes" in attributes else (0,) * count
    if len(axes) != count:
        raise violation("scan_input_axes", given=len(axes), expected=count)
    return [*states, *map(without_axis, scanned, axes)]


SCAN_WITHOUT_BATCH = 9
"""The opset from which Scan has no batch axis and no operand for sequence lengths."""


def without_axis(type_: Attribute, axis: int) -> Attribute:
    """Return the type of the slices of a scan input."""
    if not isinstance(type_, TensorType):
        return type_
    dims = list(shapes.shape_of(type_))
    if not -len(dims) <= axis < len(dims):
        raise violation("scan_input_axes", given=axis, expected=f"an axis of {len(dims)}")
    del dims[axis]
    return shapes.tensor_type(type_.element_type, dims)


# Results


def results(node: Source, declared: Sequence[Attribute | None]) -> list[Attribute | None]:
    """Return the result types of a node with nested graphs, from what these yield."""
    yields = [_yield_types(region) for region in node.regions.values()]
    made = _inferred_types(node, yields)
    if len(made) != len(declared):
        raise violation(f"outputs of {node.op_type}", given=len(declared), expected=len(made))
    return [_better(*pair) for pair in zip(made, declared, strict=True)]


def _better(made: Attribute, declared: Attribute | None) -> Attribute:
    if isinstance(made, UnknownType) and declared is not None:
        return declared
    return refine_type(made, declared)


def _yield_types(region: Region) -> list[Attribute]:
    last = region.block.last_op
    return [] if last is None else [value.type for value in last.operands]


def _inferred_types(node: Source, yields: Sequence[Sequence[Attribute]]) -> list[Attribute]:
    if node.op_type == "If":
        one, other = yields
        if len(one) != len(other):
            raise violation("outputs of the branches of If", given=f"{len(one)} and {len(other)}")
        return [join_types(*pair) for pair in zip(one, other, strict=True)]
    (body,) = yields
    if node.op_type == "SequenceMap":
        return [SequenceType(drop_rank(type_)) for type_ in body]
    if node.op_type == "Loop":
        return _loop_types(node, body[1:])
    return _scan_types(node, body)


def _loop_types(node: Source, made: Sequence[Attribute]) -> list[Attribute]:
    initial = [UnknownType() if v is None else v.type for v in node.operands[2:]]
    carried = [join_types(drop_names(a), drop_names(b)) for a, b in zip(initial, made, strict=False)]
    return [*carried, *(_stack_type(type_, 0) for type_ in made[len(initial) :])]


def _scan_types(node: Source, made: Sequence[Attribute]) -> list[Attribute]:
    count = len(node.operands) - int_of(node.attributes.get("num_scan_inputs"), 0)
    initial = [UnknownType() if v is None else v.type for v in node.operands[:count]]
    given = node.attributes.get("scan_output_axes")
    axes = ints(given) if given is not None else (0,) * (len(made) - count)
    if len(axes) != len(made) - count:
        raise violation("scan_output_axes", given=len(axes), expected=len(made) - count)
    carried = [join_types(a, b) for a, b in zip(initial, made, strict=False)]
    return [*carried, *map(_stack_type, made[count:], axes)]


def _stack_type(type_: Attribute, axis: int) -> Attribute:
    if not isinstance(type_, TensorType):
        return type_
    dims = list(shapes.shape_of(drop_names(type_)))
    if not -len(dims) - 1 <= axis <= len(dims):
        raise violation("scan_output_axes", given=axis, expected=f"an axis of {len(dims) + 1}")
    dims.insert(axis + len(dims) + 1 if axis < 0 else axis, None)
    return shapes.tensor_type(type_.element_type, dims)
