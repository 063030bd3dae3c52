"""Folding of constant factors and offsets into weights; passes/fold_affine/__init__.py says why."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp, UnitAttr, f64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from dialects.support.shapes import element_type_of, has_rank
from passes.builder.captured_values import dependents
from passes.builder.op_builder import OpBuilder
from passes.builder.operands import replace_uses
from passes.builder.rewriting import functions
from passes.fold_affine.affine_ops import (
    AFFINE,
    CENTRED,
    NONE,
    ONE,
    Affine,
    affine_of,
    data_of,
    is_one,
    upper_bound,
)
from passes.fold_affine.channel_axes import only_moves, track_axis
from passes.fold_affine.linear_maps import CHANNELS, LinearMap, linear_map

MOST_MOVES = 64
"""Limit on the ops between a factor and the products that it is folded into."""

MOST_ADDED = 1
"""Limit on the Add ops that folding one offset may create, for products without a bias."""


POOLS = (onnx.AveragePoolOp, onnx.GlobalAveragePoolOp, onnx.GlobalMaxPoolOp, onnx.ReduceMeanOp)


def fold_affine(module: ModuleOp, kept: Collection[SSAValue] = (), wrt: Collection[SSAValue] = ()) -> None:
    """Fold factors and offsets into the weights of products; the values of `kept` do not change. Gelu ops
    that depend on `wrt` are expanded if their factors can be folded."""
    for function in functions(module):
        for block in [block for op in function.walk() for region in op.regions for block in region.blocks]:
            _Folding(block, frozenset(kept), frozenset(wrt)).apply()


@dataclass(frozen=True)
class _Gate:
    """behind x g(factor x), as in GELU: `scaled` multiply x by a constant, `product` is the last Mul."""

    product: Operation
    scaled: tuple[Operation, ...]
    factor: np.ndarray
    behind: np.ndarray

    @property
    def values(self) -> list[SSAValue]:
        return [op.results[0] for op in self.scaled]


def _factor(op: Operation, value: SSAValue) -> np.ndarray | None:
    """Return the nonzero constant that `op` multiplies `value` by, if it does."""
    found = affine_of(op, value, None, 1)
    return None if found is None or found.offset.any() or not found.factor.all() else found.factor


@dataclass(frozen=True)
class _Folding:
    block: Block
    kept: frozenset[SSAValue]
    wrt: frozenset[SSAValue]

    def apply(self) -> None:
        products = [op for op in self.block.ops if type(op) in CHANNELS]
        if not products:
            return
        self._write_gelus()
        for op in products:
            while self._fold_behind(op) or self._fold_gate(op) or self._fold_bound(op):
                pass
        for op in reversed([op for op in self.block.ops if type(op) in AFFINE]):
            self._fold_ahead(op)

    def _fold_behind(self, op: Operation) -> bool:
        """Fold the affine op that alone reads a product into the product's weights."""
        found = linear_map(op)
        if found is None:
            return False
        value: SSAValue = found.result
        axis: int | None = found.axis_of(value)
        values = list(found.values)
        while (reader := self._reader(value)) is not None and _passes_on(reader):
            axis = None if axis is None else track_axis(reader, axis)
            value = reader.results[0]
            values.append(value)
        affine = None if reader is None else affine_of(reader, value, axis, found.outputs)
        if reader is None or affine is None or not affine.is_safe or self._keeps(*values, reader.results[0]):
            return False
        if affine.offset.any() and not found.takes_bias:
            return False
        found.scale_outputs(_per_channel(affine.factor, found.outputs))
        if affine.offset.any():
            found.add_bias(_per_channel(affine.offset, found.outputs))
        _replace_op(value, reader)
        return True

    def _fold_gate(self, op: Operation) -> bool:
        """Fold c of x g(c x), as in GELU, into the weights that yield x, and 1 / c into the readers."""
        found = linear_map(op)
        gate = None if found is None else self._gate(found.result)
        if found is None or gate is None:
            return False
        value, back = gate.product.results[0], Affine(gate.behind / gate.factor, NONE)
        if self._keeps(*found.values, value, *gate.values) or not back.is_safe:
            return False
        if not self._multiply(value, back):
            return False
        found.scale_outputs(_per_channel(gate.factor, found.outputs))
        for read in gate.scaled:
            _replace_op(found.result, read)
        return True

    def _gate(self, value: SSAValue) -> _Gate | None:
        readers = [use.operation for use in value.uses]
        if len(readers) != 2 or any(op.parent is not self.block for op in readers):
            return None
        for inner, outer in (readers, readers[::-1]):
            factor, behind = _factor(inner, value), _factor(outer, value)
            product = outer if behind is None else self._reader(outer.results[0])
            if factor is None or not isinstance(product, onnx.MulOp) or len(set(product.operands)) != 2:
                continue
            if any(constant_of(operand) is not None for operand in product.operands):
                continue
            if behind is None:
                return _Gate(product, (inner,), factor, ONE)
            return _Gate(product, (inner, outer), factor, behind)
        return None

    def _fold_bound(self, op: Operation) -> bool:
        """Rescale a Clip to [0, c], as in ReLU6, to [0, 1], which a runtime may have a kernel for."""
        found = linear_map(op)
        clip = None if found is None else self._reader(found.result)
        bound = upper_bound(clip) if isinstance(clip, onnx.ClipOp) else None
        if found is None or clip is None or bound in (None, 1.0):
            return False
        factor, value = np.array([bound]), clip.results[0]
        products = (
            [] if self._keeps(*found.values, value) else self._products_behind(value, None, is_factor=True)
        )
        if not products or not Affine(factor, NONE).is_safe:
            return False
        found.scale_outputs(_per_channel(1 / factor, found.outputs))
        for product in products:
            product.scale_inputs(_per_channel(factor, product.inputs))
        one = onnx.ConstantOp(np.ones_like(constant_of(clip.operands[2])))
        one.location = clip.location
        Rewriter.insert_op(one, InsertPoint.before(clip))
        clip.operands[2] = one.output
        return True

    def _multiply(self, value: SSAValue, affine: Affine) -> bool:
        """Fold a factor into the readers of `value`: a constant factor, or the weights of products."""
        reader = self._reader(value)
        other = None if reader is None else affine_of(reader, value, None, 1)
        if reader is None or other is None or other.offset.any():
            products = self._products_behind(value, None)
            for product in products:
                product.scale_inputs(_per_channel(affine.factor, product.inputs))
            return bool(products)
        if self._keeps(reader.results[0]):
            return False
        constant = onnx.ConstantOp(_scalar(other.factor * affine.factor, reader))
        product = onnx.MulOp(value, constant.output)
        product.location = constant.location = reader.location
        product.C.name_hint = reader.results[0].name_hint
        Rewriter.insert_op([constant, product], InsertPoint.before(reader))
        _replace_op(product.C, reader)
        return True

    def _fold_ahead(self, op: Operation) -> None:
        """Fold a per-channel affine op into the weights of all products that read its result."""
        value = op.results[0]
        found = None if op.parent is not self.block or not has_rank(value) else AFFINE[type(op)](op)
        if found is None or not found[1].is_safe:
            return
        axis, affine = found
        products = self._products_behind(value, None if affine.is_uniform and axis is None else axis)
        if not products:
            return
        if not affine.is_identity and _put_ahead(products, affine):
            _strip(op)
        if isinstance(op, onnx.LayerNormalizationOp) and all(
            product.reads_all_channels for product in products
        ):
            _centre(op, products)

    def _products_behind(
        self, value: SSAValue, axis: int | None, *, is_factor: bool = False
    ) -> list[LinearMap]:
        """Return the products that read `value`, directly or through ops that only move elements; empty if
        there is any other reader. `axis` is the channel axis, None for any; `is_factor` also allows pools in
        between, which commute with a uniform positive factor."""
        axes: dict[SSAValue, int | None] = {value: axis}
        waiting, products = [value], list[LinearMap]()
        joined = list[Operation]()
        for one in waiting:
            if one in self.kept or len(waiting) > MOST_MOVES:
                return []
            for use in one.uses:
                op, place = use.operation, axes[one]
                if isinstance(op, onnx.ShapeOp):
                    continue
                product = linear_map(op) if op.parent is self.block and use.index == 0 else None
                if product is not None:
                    if not product.takes_factors() or place not in (None, product.axis_of(one)):
                        return []
                    products.append(product)
                    continue
                after = None if place is None else track_axis(op, place)
                is_moved = only_moves(op) or (is_factor and isinstance(op, POOLS))
                is_moved = is_moved and (use.index == 0 or isinstance(op, onnx.ConcatOp))
                if op.parent is not self.block or not is_moved or (place is not None and after is None):
                    return []
                if any(axes.get(result, after) != after for result in op.results):
                    return []
                joined.append(op)
                waiting += [result for result in op.results if result not in axes]
                axes |= dict.fromkeys(op.results, after)
        concats = [op for op in joined if isinstance(op, onnx.ConcatOp)]
        return products if all(part in axes for op in concats for part in op.operands) else []

    def _write_gelus(self) -> None:
        """Expand each Gelu into a product with its gate if the factors can be folded."""
        gelus = [op for op in self.block.ops if isinstance(op, onnx.GeluOp)]
        if not gelus:
            return
        _, reached = dependents(self.block.ops, self.wrt)
        for op in gelus:
            is_plain = op.onnx_attributes().get("approximate", "none") == "none"
            is_plain = is_plain and self._is_product(op.X)
            if is_plain and op.Y in reached and self._products_behind(op.Y, None):
                _write_gelu(op)

    def _is_product(self, value: SSAValue) -> bool:
        made = value.owner
        if isinstance(made, onnx.AddOp):
            made = next((v.owner for v in made.operands if isinstance(v.owner, onnx.MatMulOp)), made)
        found = linear_map(made) if isinstance(made, Operation) else None
        return found is not None and found.result is value and value.has_one_use()

    def _reader(self, value: SSAValue) -> Operation | None:
        """Return the only reader of a value if it is in this block."""
        reader = value.get_user_of_unique_use()
        return reader if reader is not None and reader.parent is self.block else None

    def _keeps(self, *values: SSAValue) -> bool:
        return not self.kept.isdisjoint(values)


def _put_ahead(products: Sequence[LinearMap], affine: Affine) -> bool:
    """Fold an affine op into the products that read it; return whether that was possible."""
    offsets: list[np.ndarray | None] = [None] * len(products)
    if affine.offset.any():
        offsets = [product.offset_of(_per_channel(affine.offset, product.inputs)) for product in products]
        added = sum(not product.takes_bias for product in products)
        if added > MOST_ADDED or any(offset is None for offset in offsets):
            return False
    for product, offset in zip(products, offsets, strict=True):
        product.scale_inputs(_per_channel(affine.factor, product.inputs))
        if offset is not None:
            product.add_bias(offset)
    return True


def _centre(op: onnx.LayerNormalizationOp, products: Sequence[LinearMap]) -> None:
    """Center the weights behind an unscaled LayerNormalization: then its cotangents have mean 0."""
    is_plain = len(op.operands) == 2 and is_one(op.operands[1])
    if not is_plain or not all(product.reads_all_channels for product in products):
        return
    for product in products:
        product.centre_inputs()
    op.attributes[CENTRED] = UnitAttr()


def _per_channel(vector: np.ndarray, channels: int) -> np.ndarray:
    return np.broadcast_to(vector, (channels,))


def _scalar(number: np.ndarray, like: Operation) -> np.ndarray:
    constant = next(found for v in like.operands if (found := constant_of(v)) is not None)
    return number.reshape(()).astype(constant.dtype)


def _replace_op(value: SSAValue, op: Operation) -> None:
    """Replace an op by a value, which takes over the name of its result."""
    result = op.results[0]
    replace_uses(result, value)
    if result.name_hint is not None:
        value.name_hint = result.name_hint
    Rewriter.erase_op(op)


def _passes_on(op: Operation) -> bool:
    return only_moves(op) and len(op.results) == 1 and not isinstance(op, onnx.ConcatOp | onnx.GatherOp)


def _write_gelu(op: onnx.GeluOp) -> None:
    emit = OpBuilder()
    number = element_type_of(op.X)
    half, root, one = (
        emit.constant(np.array(value, np.float64 if number == f64 else np.float32))
        for value in (0.5, math.sqrt(0.5), 1.0)
    )
    inner = emit(onnx.ErfOp(emit(onnx.MulOp(op.X, root))))
    value = emit(onnx.MulOp(emit(onnx.MulOp(op.X, emit(onnx.AddOp(inner, one)))), half))
    for new in emit.ops:
        new.location = op.location
    Rewriter.insert_op(emit.ops, InsertPoint.before(op))
    _replace_op(value, op)


def _strip(op: Operation) -> None:
    """Remove an op's factor and offset, which have been folded elsewhere."""
    if not isinstance(op, onnx.LayerNormalizationOp | onnx.RMSNormalizationOp):
        data = data_of(op)
        assert data is not None
        result = op.results[0]
        replace_uses(result, data)
        Rewriter.erase_op(op)
        return
    scale = constant_of(op.operands[1])
    assert scale is not None
    constant = onnx.ConstantOp(np.ones_like(scale))
    constant.location = op.location
    Rewriter.insert_op(constant, InsertPoint.before(op))
    op.operands = [op.operands[0], constant.output]
