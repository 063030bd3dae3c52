"""What stands for rounding where a gradient passes straight through it, so that differences can be taken.

Of y = DequantizeLinear(QuantizeLinear(x)) a small step of x moves y by as much, within the bounds of the
type, and what y is before the step stays as it is rounded. Of an estimate y = z + (q - z) a step of z moves
y, and q - z stays. So the function is computed twice: once where nothing is displaced, which gives what is
rounded, and once with the displacements, where y moves with x from there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support.diagnostics import Diagnostic, UnsupportedError
from dialects.support.dtypes import limits_of, of_mlir
from dialects.support.shapes import element_type_of
from passes.emit.expressions import Expr, Operators
from passes.emit.operands import set_operand
from passes.vjp.reach.estimates import taking_cotangent
from passes.vjp.rules.quantize import QUANTIZING, STILL, quantizing, scale_of, spread, zero_of

BESIDE = 0.01
"""Of a code."""


def move_straight(function: FuncOp, displaced: Mapping[SSAValue, SSAValue]) -> Mapping[SSAValue, SSAValue]:
    """Let what marked ops give move with what is rounded: each such value -> what stands for it now.

    `displaced` are the sums of values and their displacements.
    """
    pairs = [(op, made) for op in function.walk() if (made := quantizing(op)) is not None]
    estimates = [(op, z) for op in function.walk() if (z := taking_cotangent(op)) is not None]
    if not pairs and not estimates:
        return {}
    if any(op.parent_block() is not function.body.block for op, _ in (*pairs, *estimates)):
        raise UnsupportedError(Diagnostic("error", "it passes straight through rounding in a region"))
    new: dict[SSAValue, SSAValue] = {}
    still = _standing_still(function, displaced)
    for made in {made: None for _, made in pairs if STILL in made.attributes}:
        for measured in made.results[1:]:
            measured.replace_all_uses_with(still[measured])
    moved: dict[Operation, SSAValue] = {}
    for op, beside in (*pairs, *estimates):
        e = Operators()
        moved[op] = _moved(op, beside, still, e).value
        Rewriter.insert_op(e.emit.ops, InsertPoint.before(op))
    for op, value in moved.items():
        new[op.results[0]] = value
        op.results[0].replace_all_uses_with(value)
        Rewriter.erase_op(op)
    return new


def off_codes(module: ModuleOp) -> None:
    """Let what is dequantised by a constant scale lie a little beside the codes: many of these are 0, where
    functions have kinks. A gradient and its function have to be looked at alike."""
    for op in list(module.walk()):
        if not isinstance(op, onnx.DequantizeLinearOp) or not isinstance(op.x.owner, QUANTIZING):
            continue
        scale = constant_of(op.x_scale)
        if scale is None:
            continue
        e, users = Operators(), list(op.y.uses)
        total = e(op.y) + spread(e(e.emit.constant(scale * BESIDE)), e(op.y), op.onnx_attributes())
        Rewriter.insert_op(e.emit.ops, InsertPoint.after(op))
        for use in users:
            set_operand(use.operation, use.index, total.value)


def has_scales_among(module: ModuleOp, values: Collection[SSAValue]) -> bool:
    """Whether something is quantised or dequantised by one of the values."""
    kinds = (onnx.QuantizeLinearOp, onnx.DequantizeLinearOp)
    return any(op.operands[1] in values for op in module.walk() if isinstance(op, kinds))


def _standing_still(function: FuncOp, displaced: Mapping[SSAValue, SSAValue]) -> dict[SSAValue, SSAValue]:
    """Copies of all ops but constants, without displacements: each value -> the one of the copies."""
    sums = {total: value for value, total in displaced.items()}
    found: dict[SSAValue, SSAValue] = {}
    for op in list(function.body.block.ops):
        if isinstance(op, onnx.ConstantOp | ReturnOp):
            continue
        if op.results and op.results[0] in sums:
            value = sums[op.results[0]]
            found[op.results[0]] = found.get(value, value)
            continue
        Rewriter.insert_op(op.clone(found), InsertPoint.before(op))
    for argument in function.args:
        if argument in displaced:
            found[displaced[argument]] = argument
    return found


def _moved(
    op: Operation, beside: OnnxOp | SSAValue, still: Mapping[SSAValue, SSAValue], e: Operators
) -> Expr:
    """What a marked op gives where nothing is displaced, and the way of what is rounded from there."""
    if isinstance(beside, SSAValue):
        return e(still[op.results[0]]) + (e(beside) - e(still.get(beside, beside)))
    assert isinstance(op, OnnxOp)
    return _dequantized(op, beside, still, e)


def _dequantized(op: OnnxOp, made: OnnxOp, still: Mapping[SSAValue, SSAValue], e: Operators) -> Expr:
    """What is rounded where nothing is displaced, by the scale that may be, and the way of x from there."""
    codes = [still.get(value, value) if i != 1 else value for i, value in enumerate(op.operands)]
    base = e(e.emit(op.clone(dict(zip(op.operands, codes, strict=True)))))
    x = e(made.operands[0])
    before = e(still.get(x.value, x.value))
    low, high = _bounds(made, before, e)
    way = x.at_least(low).at_most(high) - before.at_least(low).at_most(high)
    scales = (
        still.get(scale, scale) if STILL in made.attributes else scale for scale in map(scale_of, (op, made))
    )
    new, old = (
        spread(e(scale), x, one.onnx_attributes()) for scale, one in zip(scales, (op, made), strict=True)
    )
    return base + way * (new / old)


def _bounds(made: OnnxOp, x: Expr, e: Operators) -> tuple[Expr, Expr]:
    """The numbers between which those are that a quantised tensor can hold; integers are rounded to."""
    dtype = of_mlir(element_type_of(made.results[0]))
    assert dtype is not None
    half = 0.0 if dtype.name.startswith("f") else 0.5
    zero, attributes = zero_of(made), made.onnx_attributes()
    scale = spread(e(scale_of(made)), x, attributes)
    centre = 0.0 if zero is None or not half else spread(e(zero), x, attributes).cast(x.dtype)
    low, high = limits_of(dtype)
    one, other = (scale * (side - centre) for side in (low - half, high + half))
    return one.at_most(other), one.at_least(other)
