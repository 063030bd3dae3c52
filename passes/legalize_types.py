"""legalize-types: give every tensor a dtype for which the target has kernels.

1. A gradient of half type is computed in f32 and rounded: operands are widened, the result is narrowed. An
   isolated one, for which the target has one kernel that accumulates in f32, keeps the half type; one that
   reads another gradient's result, or is read by one, does not.
2. An ONNX op without a kernel for its half type is widened the same way.
3. An op that reads a narrowed value reads the value before narrowing: a region of such ops widens once at
   its inputs, and narrows once at its outputs.
4. An ONNX op without a kernel for its int or bool type is left to legalize-onnx, which reports it.

Case 1 applies to source and canonical ops alike, so that all intermediate values of their lowerings are f32.

Case 3 omits roundings, and overflows, of single ops. A half type is a storage type; values that are never
stored need not be rounded, the result is more accurate, and no op of the region rounds more than once
(onnxruntime does the same when it inserts Casts). Native kernels would round again, and give inf beyond the
half type: hence the condition of case 1, by which a graph overflows on no target earlier than on another. A
Cast in the source is an explicit rounding and is preserved, as are ops whose purpose is rounding. An op that
moves elements has the type of its operand. Equal reads the rounded value: the other operand may be computed
from that by an op with a half kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType, f32
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp, TakeWindowOp
from dialects.grad.max_pool import MaxPoolBackwardOp
from dialects.onnx import ops as onnx
from dialects.onnx.base import UNROUNDED, OnnxOp
from dialects.support import shapes
from dialects.support.documented_op import DocumentedOp
from dialects.support.dtypes import HALVES, name_of
from dialects.support.interfaces import set_type
from dialects.support.shapes import shape_of
from passes.builder.captured_values import ancestor_in_block
from passes.builder.operands import replace_uses, set_operand
from passes.builder.rewriting import rewrite
from passes.simplify import simplify
from passes.targets.target import Target, TargetPass

if TYPE_CHECKING:
    from dialects.onednn.op_spec import OpSpec

SINGLE_KERNELS = (
    "onednn.convolution_backward_data",
    "onednn.conv_transpose_backward_data",
    ConvBackwardDataOp.name,
    ConvTransposeBackwardDataOp.name,
    TakeWindowOp.name,
)
"""Ops lowered to one kernel, which may read a half type and accumulate in f32, as cuDNN's f16 convolutions
do; a resize is several products, whose intermediate values would round."""


@dataclass(frozen=True)
class LegalizeTypesPass(TargetPass):
    name = "legalize-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = rewrite(op, [Widen(self.env)])
        left = [cast for cast in op.walk() if UNROUNDED in cast.attributes]
        for cast in left:
            del cast.attributes[UNROUNDED]
        if changed or left:
            simplify(op)


@dataclass
class Widen(RewritePattern):
    """Pattern that widens ops. `wide` maps each half value at a widened op to its f32 tensor."""

    target: Target
    wide: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if any(map(is_half, (*op.operands, *op.results))) and self._needs_f32(op):
            self._widen(op, rewriter)

    def _needs_f32(self, op: Operation) -> bool:
        """Return whether an op with a half operand or result is computed in f32."""
        spec = _spec(op)
        if spec is not None and (spec.moves or spec.rounds):
            return spec.moves and any(map(self._is_narrowed, op.operands))
        if isinstance(op, DocumentedOp):
            return not _native(op, self.target) or self._is_linked(op)
        if not isinstance(op, OnnxOp) or isinstance(op, onnx.ConstantOp | onnx.CastOp):
            return False
        return any(map(is_half, op.operands)) and self.target.lacks_kernel(op) is not None

    def _is_linked(self, op: Operation) -> bool:
        """Return whether a half value connects this gradient with another one."""
        halves = [value for value in op.operands if is_half(value)]
        if any(map(self._is_narrowed, halves)):
            return True
        makers = [value.owner for value in halves]
        readers = [use.operation for result in op.results if is_half(result) for use in result.uses]
        return any(isinstance(other, DocumentedOp) for other in (*makers, *readers))

    def _is_narrowed(self, value: SSAValue) -> bool:
        """Return whether a value is the Cast after a widened op."""
        maker = value.owner
        return isinstance(maker, onnx.CastOp) and self.wide.get(value) is maker.operands[0]

    def _widen(self, op: Operation, rewriter: PatternRewriter) -> None:
        for index, operand in enumerate(op.operands):
            if is_half(operand):
                set_operand(op, index, self._widen_operand(operand, op, rewriter))
        for result in op.results:
            if is_half(result):
                _declare_wide(op, shapes.element_type_of(result))
                self._narrow(result, rewriter)
        rewriter.notify_op_modified(op)

    def _widen_operand(self, value: SSAValue, reader: Operation, rewriter: PatternRewriter) -> SSAValue:
        """Return the f32 value of an operand. Readers come in graph order and share the first one's Cast. A
        reader with a discontinuous result reads the rounded value."""
        if decides(reader) and self._is_narrowed(value):
            cast = onnx.CastOp(value, to=f32)
            rewriter.insert(cast, InsertPoint.before(reader))
            return cast.results[0]
        if value not in self.wide and (number := before_rounding(value)) is not None:
            self.wide[value] = number
        if value not in self.wide:
            cast = onnx.CastOp(value, to=f32)
            block = value.owner if isinstance(value.owner, Block) else value.owner.parent
            assert block is not None
            rewriter.insert(cast, InsertPoint.before(ancestor_in_block(reader, block)))
            self.wide[value] = cast.results[0]
        return self.wide[value]

    def _narrow(self, result: OpResult, rewriter: PatternRewriter) -> None:
        """Change a half result to f32, and redirect its readers to a Cast."""
        half = shapes.element_type_of(result)
        set_type(result, _wide_type(result))
        cast = onnx.CastOp(result, to=half)
        rewriter.insert(cast, InsertPoint.after(result.op))
        narrow = cast.results[0]
        replace_uses(result, narrow, but_of=cast)
        narrow.name_hint, result.name_hint = result.name_hint, None
        self.wide[narrow] = result


def _declare_wide(op: Operation, half: Attribute) -> None:
    """Change attributes that declare results of a half type to f32."""
    if isinstance(op, OnnxOp):
        for name in [name for name, value in op.properties.items() if value == half]:
            op.properties[name] = f32


def before_rounding(value: SSAValue) -> SSAValue | None:
    """Return the f32 value that a value rounds, unless the rounding is explicit."""
    maker = value.owner
    return maker.operands[0] if isinstance(maker, onnx.CastOp) and UNROUNDED in maker.attributes else None


def decides(op: Operation) -> bool:
    """Return whether rounding an operand can change a result by more than that."""
    if (spec := _spec(op)) is not None:
        return spec.decides
    return isinstance(op, MaxPoolBackwardOp | onnx.EqualOp)


def _spec(op: Operation) -> OpSpec | None:
    """Return the op spec of a oneDNN op. The dialect's classes are imported for graphs that have its ops."""
    if not op.name.startswith("onednn."):
        return None
    from dialects.onednn.families import TableOp

    return op.SPEC if isinstance(op, TableOp) else None


def _native(op: Operation, target: Target) -> bool:
    dtypes = {name_of(shapes.element_type_of(result)) for result in op.results}
    return all(op.name in SINGLE_KERNELS and dtype in target.spec.f32_accumulating for dtype in dtypes)


def is_half(value: SSAValue) -> bool:
    is_tensor = isinstance(value.type, TensorType | UnrankedTensorType)
    return is_tensor and name_of(shapes.element_type_of(value)) in HALVES


def _wide_type(value: SSAValue) -> Attribute:
    return shapes.tensor_type(f32, shape_of(value)) if shapes.has_rank(value) else UnrankedTensorType(f32)
