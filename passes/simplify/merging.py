"""Merging of equal ops of a block."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Block, Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure

from dialects.onnx.base import OnnxOp
from dialects.onnx.opset_range import nondefault_attributes
from dialects.onnx.values import dims_of
from dialects.shapes.forms import Size
from dialects.support import shapes
from dialects.support.documented_op import STRATEGY
from dialects.support.interfaces import refine_results
from dialects.support.memo import by_identity
from dialects.support.shapes import shape_of
from passes.builder.operands import replace_uses
from passes.simplify.folding import is_open


def merge_equal(block: Block) -> bool:
    """Merge pure ops that are equal but for location, or compute the same sizes, into the first; return
    whether that may allow further simplification."""
    known: dict[object, Operation] = {}
    merged = news = False
    for op in block.ops:
        if op.regions or not _is_pure(type(op)):
            continue
        if merged and isinstance(op, OnnxOp) and any(map(is_open, op.results)):
            # it may now read a value whose unknown sizes have other symbols
            news |= refine_results(op)
        first = _first_equal(op, known)
        if first is op:
            continue
        merged = True
        news |= first.name != op.name or list(first.operands) != list(op.operands)
        for result, same in zip(op.results, first.results, strict=True):
            replace_uses(result, same)
        Rewriter.erase_op(op)
    return news


def _first_equal(op: Operation, known: dict[object, Operation]) -> Operation:
    """Return the first op that equals this one or computes the same sizes, possibly itself."""
    sizes = _sizes(op)
    if sizes is not None and sizes in known:
        return known[sizes]
    first = known.setdefault(_likely_equal(op), op)
    if first is not op:
        first = known.setdefault(_equal(first), first)
        first = known.setdefault(_equal(op), op)
    if sizes is not None:
        known[sizes] = first
    return first


def _sizes(op: Operation) -> object:
    """Return type and elements of a vector of symbolic sizes; None for any other op."""
    if not isinstance(op, OnnxOp) or len(op.results) != 1:
        return None
    dims = dims_of(op.results[0])
    if dims is None or None in dims or all(isinstance(dim, int) for dim in dims):
        return None
    return ("sizes", op.result_types, dims)


def _likely_equal(op: Operation) -> object:
    """Return a key that is equal for equal ops and rarely for others; cheaper than `_equal`."""
    value = op.properties.get("value")
    data = value.data.data if isinstance(value, DenseIntOrFPElementsAttr) else None
    return (type(op), tuple(op.operands), data)


def _equal(op: Operation) -> object:
    """Return a key without location, strategy and attributes that are set to their defaults."""
    marks = {name: value for name, value in op.attributes.items() if name != STRATEGY}
    attributes = (tuple(sorted(given.items())) for given in (_nondefault_attributes(op), marks))
    return (type(op), tuple(op.operands), *map(_without_symbols, op.result_types), *attributes)


def _nondefault_attributes(op: Operation) -> Mapping[str, Attribute]:
    return nondefault_attributes(op) if isinstance(op, OnnxOp) else op.properties


@by_identity
def _without_symbols(type_: Attribute) -> Attribute:
    """Return the type with fresh symbols replaced by unknown sizes."""
    if not isinstance(type_, TensorType):
        return type_
    shape = [None if isinstance(dim, Size) and dim.is_fresh else dim for dim in shape_of(type_)]
    return shapes.tensor_type(type_.element_type, shape)


@cache
def _is_pure(cls: type[Operation]) -> bool:
    return cls.has_trait(Pure, value_if_unregistered=False)
