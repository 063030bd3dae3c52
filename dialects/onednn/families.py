"""Base classes of ops that are declared by op specs: ports, constraints, shape rules and semantics."""

from __future__ import annotations

import contextlib
from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure

from dialects.onednn.base import OneDNNOp, show
from dialects.onednn.op_spec import BackwardOpSpec, OpSpec
from dialects.onnx.dims import broadcast, ints, multiply, subtract
from dialects.support import dtypes, shapes, size_guards
from dialects.support.attributes import FLAG, INTS, AttributeSpec, documented_attributes, word
from dialects.support.diagnostics import Diagnostic, GradcError
from dialects.support.shapes import Dim, NamedShape, Shape, element_type_of, shape_of, tensor_type

AUTO_BROADCAST = word("none", "numpy", default="numpy")
USE_DST = FLAG.with_default(True)


class TableOp(OneDNNOp, ABC):
    """An op declared by an op spec in a table."""

    SPEC: ClassVar[OpSpec]

    SUMMARY: ClassVar[str]
    """One line that applies to all ops of the class."""

    CONSTRAINTS: ClassVar[str]
    """The numbered constraints of each op."""

    COMMON_ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec[Any]]] = {}
    """Attributes that all ops have in addition to those of their spec."""

    SAMPLE: ClassVar[Mapping[str, Any]] = {}
    """Attribute values for an example of the op, where not every value is valid."""

    CHOOSES_DTYPE: ClassVar[bool] = False
    """True if the declared type of the first result selects its dtype."""

    RANKS: ClassVar[Sequence[int]] = (1, 2, 3, 4, 5)
    """Ranks of the data in documentation examples and tests."""

    traits = traits_def(Pure())

    @classmethod
    def result_dtypes(cls, dtype: str) -> tuple[str, ...]:
        """Return the dtypes that the first result may have for data of a dtype."""
        return (dtype,)

    def check_chosen(self, dtype: str) -> Attribute:
        """Return the declared dtype of the first result, which must be admitted."""
        chosen, admitted = element_type_of(self.results[0]), self.result_dtypes(dtype)
        only = dtypes.by_name(admitted[0])
        if len(admitted) == 1 and only is not None:
            return only.mlir
        if dtypes.name_of(chosen) not in admitted:
            what, given = f"dtype of {self.RESULTS[0]}", dtypes.name_of(chosen)
            raise self.error(what, given=given, expected=f"one of {', '.join(admitted)}")
        return chosen

    def resolve_axis(self, value: SSAValue, name: str = "axis") -> int:
        """Return an attribute that is an axis of a tensor, as a non-negative index."""
        axis, rank = self.value(name), len(shape_of(value))
        if not -rank <= axis < rank:
            raise self.error(name, given=axis, expected=f"{-rank} to {rank - 1}")
        return axis % rank

    @classmethod
    def attributes_of(cls, spec: OpSpec) -> dict[str, AttributeSpec[Any]]:
        """Return all attributes of an op spec in this class."""
        return {**spec.attributes, **cls.COMMON_ATTRIBUTES}

    def spec_attributes(self) -> Mapping[str, Any]:
        """Return the value of each attribute of the op spec."""
        return {name: self.value(name) for name in self.SPEC.attributes}

    @classmethod
    def port_dtype(cls, port: str, dtype: str) -> str:
        """Return the dtype of a port for data of a dtype."""
        del port
        return dtype

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        """Return a valid shape of a port for data of a shape."""
        del port
        return shape

    @classmethod
    def knows_sizes(cls, port: str) -> bool:
        """Return whether the sizes of a port must be static."""
        del port
        return False

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the results in float64, or in the dtype that a result always has."""
        results: np.ndarray | tuple[np.ndarray, ...] = self.SPEC.meaning(*operands, **self.arguments())
        return results if isinstance(results, tuple) else (results,)

    def arguments(self) -> Mapping[str, Any]:
        """Return the keyword arguments of the spec's meaning."""
        return self.spec_attributes()

    def remarks(self) -> Iterator[Diagnostic]:
        return iter(())

    def _check_dtype(self, port: str, value: SSAValue) -> str:
        name = dtypes.name_of(element_type_of(value))
        if name not in self.SPEC.dtypes:
            listed = ", ".join(dtype for dtype in self.SPEC.dtypes if dtype != "f64")
            raise self.error(f"dtype of {port}", given=name, expected=f"one of {listed}")
        return name

    def _check_equal_shapes(self, ports: Sequence[tuple[str, SSAValue]]) -> Shape:
        (_, first), *others = ports
        merged = shape_of(first)
        for name, value in others:
            if not size_guards.equal_shapes(name, shape_of(value), merged):
                given = ", ".join(f"{port} {show(v)}" for port, v in ports)
                raise self.error("shapes differ", given=given, expected="equal shapes")
            merged = shapes.merge(merged, shape_of(value))
        return merged

    def _broadcast(self, ports: Sequence[tuple[str, SSAValue]]) -> Shape:
        try:
            return broadcast([shape_of(value) for _, value in ports])
        except GradcError:
            given = ", ".join(f"{port} {show(value)}" for port, value in ports)
            raise self.error("shapes do not broadcast", given=given, expected="equal sizes, or 1") from None


class UnaryOp(TableOp, ABC):
    """An elementwise function: dst[i] = f(src[i])."""

    SUMMARY: ClassVar = "A function of each element."
    CONSTRAINTS: ClassVar = "C1 a float dtype."

    src = operand_def(TensorType)
    dst = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self._check_dtype("src", self.src)
        return (tensor_type(element_type_of(self.src), shape_of(self.src)),)


class BinaryOp(TableOp, ABC):
    """An elementwise function of two operands that broadcast as in numpy."""

    SUMMARY: ClassVar = "A function of two elements, with numpy's broadcasting."
    CONSTRAINTS: ClassVar = (
        "C1 one dtype on both ports, or f32 with a half type; dst has it, or f32 if they differ, unless "
        "another of f32, bf16 and f16 is declared; C2 the shapes broadcast, or are equal where "
        "auto_broadcast is none."
    )
    COMMON_ATTRIBUTES: ClassVar = {"auto_broadcast": AUTO_BROADCAST}
    CHOOSES_DTYPE: ClassVar = True

    src_0 = operand_def(TensorType)
    src_1 = operand_def(TensorType)
    dst = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        return (tensor_type(self._result_dtype(), self._result_shape()),)

    @classmethod
    def undeclared_dtype(cls, index: int, operands: Sequence[Attribute]) -> Attribute:
        return operands[0] if len({*operands}) == 1 else f32

    @classmethod
    def result_dtypes(cls, dtype: str) -> tuple[str, ...]:
        rounds = ("f32", *dtypes.HALVES)
        return (dtype, *(each for each in rounds if each != dtype)) if dtype in rounds else (dtype,)

    def _result_dtype(self) -> Attribute:
        """Return the declared dtype if it and the common one are f32, bf16 or f16, else the common one."""
        common, declared = self._common_dtype(), element_type_of(self.dst)
        rounds = {dtypes.name_of(common), dtypes.name_of(declared)} <= {"f32", *dtypes.HALVES}
        return declared if rounds else common

    def _common_dtype(self) -> Attribute:
        """Return the dtype of the operands; f32 with a half type gives f32."""
        names = {port: self._check_dtype(port, value) for port, value in self._ports()}
        if len({*names.values()}) == 1:
            return element_type_of(self.src_0)
        if "f32" in names.values() and any(name in dtypes.HALVES for name in names.values()):
            return f32
        given = ", ".join(f"{port} {name}" for port, name in names.items())
        raise self.error("dtypes differ", given=given, expected="the same, or f32 with bf16 or f16")

    def _result_shape(self) -> Shape:
        if self.value("auto_broadcast") == "none":
            return self._check_equal_shapes(self._ports())
        return self._broadcast(self._ports())

    def _ports(self) -> list[tuple[str, SSAValue]]:
        return [("src_0", self.src_0), ("src_1", self.src_1)]


class ComparisonOp(BinaryOp, ABC):
    """An elementwise comparison with a boolean result."""

    SUMMARY: ClassVar = "A relation of two elements, with numpy's broadcasting."
    CONSTRAINTS: ClassVar = (
        "C1 one dtype on both ports, or f32 with a half type; C2 the shapes broadcast, or are equal where "
        "auto_broadcast is none."
    )
    CHOOSES_DTYPE: ClassVar = False

    def _result_dtype(self) -> Attribute:
        self._common_dtype()
        return i1


class SelectionOp(TableOp, ABC):
    """Elementwise selection by a condition that broadcasts to the sources' shape without enlarging it."""

    SUMMARY: ClassVar = "Selects elements of two tensors by a condition."
    CONSTRAINTS: ClassVar = (
        "C1 cond is boolean; C2 one float dtype on both sources; C3 the sources broadcast, or have equal "
        "shapes where auto_broadcast is none; C4 cond broadcasts to their shape, or has it."
    )
    COMMON_ATTRIBUTES: ClassVar = {"auto_broadcast": AUTO_BROADCAST}

    cond = operand_def(TensorType)
    src_0 = operand_def(TensorType)
    src_1 = operand_def(TensorType)
    dst = result_def(TensorType)

    @classmethod
    def port_dtype(cls, port: str, dtype: str) -> str:
        return "boolean" if port == "cond" else dtype

    def infer_result_types(self) -> tuple[TensorType, ...]:
        dtype = dtypes.name_of(element_type_of(self.cond))
        if dtype != "boolean":
            raise self.error("dtype of cond", given=dtype, expected="boolean")
        sources = [("src_0", self.src_0), ("src_1", self.src_1)]
        self.check_same_dtype(sources)
        equal = self.value("auto_broadcast") == "none"
        common = self._check_equal_shapes(sources) if equal else self._broadcast(sources)
        together = self._check_equal_shapes([("cond", self.cond), *sources]) if equal else self._with(common)
        return (tensor_type(element_type_of(self.src_0), together),)

    def _with(self, common: Shape) -> Shape:
        """Return the sources' shape, after checking that cond broadcasts to it."""
        with contextlib.suppress(GradcError):
            together = broadcast([shape_of(self.cond), common])
            if len(together) == len(common) and size_guards.equal_shapes("cond", together, common):
                return common
        given, expected = show(self.cond), f"one that broadcasts to {shapes.show(common)}"
        raise self.error("shape of cond", given=given, expected=expected)


class UnaryBackwardOp(TableOp, ABC):
    """Gradient of an elementwise op."""

    SPEC: ClassVar[BackwardOpSpec]  # pyright: ignore[reportIncompatibleVariableOverride]

    SUMMARY: ClassVar = "The gradient of a function of each element."
    CONSTRAINTS: ClassVar = "C1 one float dtype on both ports; C2 equal shapes."

    src = operand_def(TensorType)
    diff_dst = operand_def(TensorType)
    diff_src = result_def(TensorType)

    @classmethod
    def attributes_of(cls, spec: OpSpec) -> dict[str, AttributeSpec[Any]]:
        by_dst = isinstance(spec, BackwardOpSpec) and spec.from_dst is not None
        return {**spec.attributes, **({"use_dst": USE_DST} if by_dst else {})}

    @property
    def uses_dst(self) -> bool:
        """True if the first input is the output of the forward op."""
        return "use_dst" in documented_attributes(type(self)) and self.value("use_dst")

    def infer_result_types(self) -> tuple[TensorType, ...]:
        ports = [("src", self.src), ("diff_dst", self.diff_dst)]
        self.check_same_dtype(ports)
        return (tensor_type(element_type_of(self.src), self._check_equal_shapes(ports)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        meaning = self.SPEC.from_dst if self.uses_dst else self.SPEC.meaning
        assert meaning is not None
        return (meaning(*operands, **self.spec_attributes()),)


class ReductionOp(TableOp, ABC):
    """Reduction of src over some axes."""

    SUMMARY: ClassVar = "Over the elements src[j] that share the position of dst on the axes that stay."
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype; C2 each axis from -rank to rank - 1, once; "
        "C3 the input axes is an s32 vector of known length, and excludes the attribute."
    )
    COMMON_ATTRIBUTES: ClassVar = {"axes": INTS.with_default(()), "keep_dims": FLAG.with_default(False)}
    SAMPLE: ClassVar = {"axes": [0]}

    src = operand_def(TensorType)
    axes_input = opt_operand_def(TensorType)
    dst = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self._check_dtype("src", self.src)
        return (tensor_type(element_type_of(self.src), self._result_shape()),)

    def _result_shape(self) -> Shape:
        axes, shape = self.static_axes(), shape_of(self.src)
        keeps = self.value("keep_dims")
        if axes is None:
            return (None,) * (len(shape) if keeps else len(shape) - self._count_of_axes())
        dims: list[Dim] = []
        for axis, dim in enumerate(shape):
            if axis not in axes:
                dims.append(dim)
            elif keeps:
                dims.append(1)
        return tuple(dims)

    def static_axes(self) -> tuple[int, ...] | None:
        """Return the reduced axes as non-negative indices; None if they are a run-time value."""
        if self.axes_input is None:
            return self._resolve_axes(self.value("axes"))
        if self.is_given("axes") and self.value("axes"):
            raise self.error(
                "axes are given twice", given="an attribute and an input", expected="one of the two"
            )
        length = self._count_of_axes()
        axes = size_guards.elements_of(self.axes_input)
        assert axes is None or len(axes) == length
        known = ints(axes)
        if known is None:
            self._require_axes(axes or ())
            return None
        return self._resolve_axes(known)

    def _require_axes(self, axes: Sequence[Dim]) -> None:
        """Require of run-time axes what `_resolve_axes` checks: in range, no two equal or `rank` apart."""
        rank = len(shape_of(self.src))
        for index, axis in enumerate(axes):
            size_guards.between(f"axes[{index}]", axis, -rank, rank - 1)
            for before in axes[:index]:
                square = multiply(subtract(axis, before), subtract(axis, before))
                size_guards.between(f"axes[{index}], once", square, 1)
                apart = subtract(square, rank * rank)
                size_guards.between(f"axes[{index}], counted from the first", multiply(apart, apart), 1)

    def _count_of_axes(self) -> int:
        assert self.axes_input is not None
        (length,) = shape_of(self.axes_input) if len(shape_of(self.axes_input)) == 1 else (None,)
        dtype = dtypes.name_of(element_type_of(self.axes_input))
        if dtype != "s32" or not isinstance(length, int) or length > len(shape_of(self.src)):
            given = f"{dtype} {show(self.axes_input)}"
            raise self.error("input axes", given=given, expected="s32, a vector of known length")
        return length

    def _resolve_axes(self, given: Sequence[int]) -> tuple[int, ...]:
        rank = len(shape_of(self.src))
        for axis in given:
            if not -rank <= axis < rank:
                raise self.error("axes", given=axis, expected=f"{-rank} to {rank - 1}")
        axes = tuple(sorted(axis % rank for axis in given))
        if len({*axes}) < len(axes):
            raise self.error("axes", given=list(given), expected="each axis once")
        return axes

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, *rest = operands
        axes = self._resolve_axes(rest[0].astype(int).tolist()) if rest else self.static_axes()
        if not axes:
            return (src,)
        kept = [axis for axis in range(src.ndim) if axis not in axes]
        count = int(np.prod([src.shape[axis] for axis in axes]))
        rows = src.transpose(*kept, *axes).reshape(*(src.shape[axis] for axis in kept), count)
        reduced = self.SPEC.meaning(rows, axis=-1)
        return (np.expand_dims(reduced, axes) if self.value("keep_dims") else reduced,)
