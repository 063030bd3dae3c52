"""Ops that move, cast or index elements without arithmetic."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from functools import reduce
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, i32
from xdsl.irdl import operand_def, result_def, var_operand_def

from dialects.onednn.base import show
from dialects.onednn.families import TableOp
from dialects.onednn.op_spec import OpSpec
from dialects.onnx.call import Call, Tensor
from dialects.onnx.dims import add, product
from dialects.onnx.infer.reshapes import reshape
from dialects.support import dtypes, shapes, size_guards
from dialects.support.attributes import FLAG, INT, INTS
from dialects.support.constants import constant_value
from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError, error_at
from dialects.support.shapes import Dim, element_type_of, shape_of, tensor_type


class ConcatenationOp(TableOp, ABC):
    """Concatenation along an axis."""

    SUMMARY: ClassVar = "Tensors joined along an axis."
    CONSTRAINTS: ClassVar = (
        "C1 one float dtype on all ports; C2 shapes that differ along the axis at most; "
        "C3 axis from -rank to rank - 1."
    )
    COMMON_ATTRIBUTES: ClassVar = {"axis": INT}

    src = var_operand_def(TensorType)
    dst = result_def(TensorType)

    def concat_axis(self) -> int:
        """Return the axis as a non-negative index."""
        return self.resolve_axis(self.operands[0])

    def infer_result_types(self) -> tuple[TensorType, ...]:
        ports = [(self.port(index), value) for index, value in enumerate(self.operands)]
        self.check_same_dtype(ports)
        axis = self.concat_axis()
        common: shapes.Shape = (None,) * len(shape_of(self.operands[0]))
        for port, value in ports:
            others = tuple(None if i == axis else dim for i, dim in enumerate(shape_of(value)))
            if not size_guards.equal_shapes(port, others, common):
                given = ", ".join(f"{name} {show(v)}" for name, v in ports)
                raise self.error("shapes differ", given=given, expected=f"equal sizes but for axis {axis}")
            common = shapes.merge(common, others)
        along: Dim = reduce(add, (shape_of(value)[axis] for value in self.operands), 0)
        together = tuple(along if i == axis else dim for i, dim in enumerate(common))
        return (tensor_type(element_type_of(self.operands[0]), together),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.SPEC.meaning(operands, self.concat_axis()),)


class ReshapeOp(TableOp, ABC):
    """Reshape to a static shape."""

    SUMMARY: ClassVar = "The elements of a tensor in another shape."
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; C2 the shape has as many elements as src; at most one size is -1, which is "
        "inferred from the others; with special_zero, a 0 copies the size of src, else it is a size of 0."
    )
    COMMON_ATTRIBUTES: ClassVar = {"shape": INTS, "special_zero": FLAG}
    SAMPLE: ClassVar = {"shape": [-1]}

    src = operand_def(TensorType)
    dst = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self._check_dtype("src", self.src)
        wanted = np.array(self.value("shape"), np.int64)
        operands = (Tensor(shape_of(self.src)), Tensor(wanted.shape, wanted))
        call = Call("Reshape", operands, {"allowzero": int(not self.value("special_zero"))})
        (shape,) = self.checked(reshape, call)
        if size_guards.is_collecting():
            size_guards.equal("number of elements", product(shape_of(self.src)), product(shape))
        return (tensor_type(element_type_of(self.src), shape),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        """Reshape; sizes copied from src are excluded on both sides when -1 is inferred."""
        (src,) = operands
        wanted = self.value("shape")
        copied = [axis for axis, size in enumerate(wanted) if size == 0 and self.value("special_zero")]
        before = [size for axis, size in enumerate(src.shape) if axis not in copied]
        behind = [size for axis, size in enumerate(wanted) if axis not in copied and size != -1]
        rest = int(np.prod(before)) // max(int(np.prod(behind)), 1)
        shape = [
            src.shape[a] if a in copied else rest if size == -1 else size for a, size in enumerate(wanted)
        ]
        return (self.SPEC.meaning(src, shape),)


class TransposeOp(TableOp, ABC):
    """Transposition by a static permutation."""

    SUMMARY: ClassVar = "The axes of a tensor in another order."
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; C2 order has each axis once, from -rank to rank - 1; an empty one reverses them."
    )
    COMMON_ATTRIBUTES: ClassVar = {"order": INTS}
    SAMPLE: ClassVar = {"order": []}

    src = operand_def(TensorType)
    dst = result_def(TensorType)

    def permutation(self) -> tuple[int, ...]:
        """Return, for each axis of dst, the axis of src, as non-negative indices."""
        order, rank = self.value("order"), len(shape_of(self.src))
        if not order:
            return tuple(reversed(range(rank)))
        for axis in order:
            if not -rank <= axis < rank:
                raise self.error("order", given=axis, expected=f"{-rank} to {rank - 1}")
        found = tuple(axis % rank for axis in order)
        if sorted(found) != list(range(rank)):
            raise self.error("order", given=list(order), expected=f"each of {rank} axes once")
        return found

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self._check_dtype("src", self.src)
        shape = shape_of(self.src)
        moved = [shape[axis] for axis in self.permutation()]
        return (tensor_type(element_type_of(self.src), moved),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.SPEC.meaning(*operands, self.permutation()),)


class DtypeConversionOp(TableOp, ABC):
    """Conversion to the dtype of the result."""

    SUMMARY: ClassVar = "Each element in the dtype of the result."
    CONSTRAINTS: ClassVar = "C1 f32 on one side, bf16 or f16 on the other."
    CHOOSES_DTYPE: ClassVar = True

    src = operand_def(TensorType)
    dst = result_def(TensorType)

    @classmethod
    def result_dtypes(cls, dtype: str) -> tuple[str, ...]:
        return ("f32",) if dtype in dtypes.HALVES else dtypes.HALVES

    def infer_result_types(self) -> tuple[TensorType, ...]:
        dtype = self.check_chosen(self._check_dtype("src", self.src))
        return (tensor_type(dtype, shape_of(self.src)),)


class AxisIndexOp(TableOp, ABC):
    """The index of each element along an axis."""

    SUMMARY: ClassVar = "The position of each element on an axis."
    CONSTRAINTS: ClassVar = "C1 a float dtype; dst is s32; C2 axis from -rank to rank - 1."
    COMMON_ATTRIBUTES: ClassVar = {"axis": INT}

    src = operand_def(TensorType)
    dst = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self._check_dtype("src", self.src)
        self.resolve_axis(self.src)
        return (tensor_type(i32, shape_of(self.src)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        return (self.SPEC.meaning(*operands, self.resolve_axis(self.src)),)


class IdentityDropoutOp(TableOp, ABC):
    """Dropout with probability 0; oneDNN does not document which elements it drops."""

    SUMMARY: ClassVar = "Drops elements with a probability; only 0 is supported."
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; C2 seed and offset are s64, probability is f32, each a scalar or one element; "
        "C3 probability is 0: any other constant is an error, any other run-time value an error of `gradc "
        "run`, and NaN elsewhere."
    )

    src = operand_def(TensorType)
    seed = operand_def(TensorType)
    offset = operand_def(TensorType)
    probability = operand_def(TensorType)
    dst = result_def(TensorType)
    mask = result_def(TensorType)

    @classmethod
    def port_dtype(cls, port: str, dtype: str) -> str:
        return {"src": dtype, "probability": "f32"}.get(port, "s64")

    @classmethod
    def port_shape(cls, port: str, shape: shapes.NamedShape) -> shapes.NamedShape:
        return shape if port == "src" else ()

    def fewest_results(self) -> int:
        return 1

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self._check_dtype("src", self.src)
        for port, value in zip(self.PORTS[1:], self.operands[1:], strict=True):
            given, expected = dtypes.name_of(element_type_of(value)), self.port_dtype(port, "")
            if given != expected:
                raise self.error(f"dtype of {port}", given=given, expected=expected)
            if shape_of(value) and not size_guards.equal_shapes(port, shape_of(value), (1,)):
                raise self.error(f"shape of {port}", given=show(value), expected="a scalar")
        shape = shape_of(self.src)
        return (tensor_type(element_type_of(self.src), shape), tensor_type(dtypes.UI8, shape))

    def remarks(self) -> Iterator[Diagnostic]:
        if constant_value(self.probability) is None:
            yield self.remark(
                "probability is known at run time only; dst is NaN unless it is 0: "
                "which elements oneDNN drops is not documented"
            )


def nonzero_probability(op: IdentityDropoutOp, given: float) -> GradcError:
    """Return the error of a Dropout with a nonzero probability."""
    hint = "which elements oneDNN drops is not documented; leave the op out for inference"
    return error_at(op, "probability", given=given, expected="0", hint=hint, kind=UnsupportedError)


def dropout_identity(src: np.ndarray, seed: np.ndarray, offset: np.ndarray, probability: np.ndarray):
    """Return src, or NaN if the probability is not 0, and a mask of ones."""
    dst = src if probability.reshape(()) == 0 else np.full(src.shape, np.nan)
    return dst, np.ones(src.shape, np.uint8)


def positions(src: np.ndarray, axis: int) -> np.ndarray:
    shape = [size if i == axis else 1 for i, size in enumerate(src.shape)]
    return np.broadcast_to(np.arange(src.shape[axis], dtype=np.int32).reshape(shape), src.shape)


JOINING = (OpSpec("Concat", "the elements of src_0, src_1, ... along the axis", np.concatenate, moves=True),)
RESHAPING = (
    OpSpec(
        "StaticReshape",
        "the elements of src, those of the last axis next to each other",
        np.reshape,
        moves=True,
    ),
)
PERMUTING = (
    OpSpec(
        "StaticTranspose",
        "src with its axes in the given order: axis k is axis order[k] of src",
        np.transpose,
        moves=True,
    ),
)
CASTING = (
    OpSpec(
        "TypeCast",
        "src[i], rounded to nearest, half to even, where the dtype of dst is the narrower one",
        np.asarray,
        dtypes=("f32", "bf16", "f16"),
        rounds=True,
    ),
)
INDEXING = (OpSpec("GenIndex", "the position of i on the axis", positions),)
DROPPING = (OpSpec("Dropout", "src[i]; mask is 1", dropout_identity),)
