"""AvgPoolBackward and MaxPoolBackward (oneDNN 3.13)."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.irdl import operand_def, opt_operand_def, result_def

from dialects.grad.geometry import Pads, Window, axis_letters
from dialects.grad.reference.pool import avg_pool_backward, max_pool_backward
from dialects.onednn.base import AUTO_PAD, DATA_FORMAT, show
from dialects.onednn.op_spec import OpSpec
from dialects.onednn.pool import PoolWindowsOp
from dialects.onednn.windows import same_total
from dialects.onnx.dims import add, multiply, subtract
from dialects.support import layouts, shapes, size_guards
from dialects.support.attributes import FLAG, INTS, AttributeSpec
from dialects.support.shapes import Dim, NamedShape, Shape, element_type_of, shape_of, tensor_type


class PoolGradientOp(PoolWindowsOp, ABC):
    """Base of both pool gradients. Rounding up affects the size of diff_dst only."""

    COMMON_ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec[Any]]] = {
        **dict.fromkeys(("strides", "pads_begin", "pads_end", "kernel"), INTS),
        "auto_pad": AUTO_PAD,
        "data_format": DATA_FORMAT,
    }

    if TYPE_CHECKING:
        diff_dst: Any

    diff_src = result_def(TensorType)

    def pads(self, sizes: Sequence[Dim]) -> list[Pads | None]:
        return [self.axis_pads(axis, size) for axis, size in enumerate(sizes)]

    def check_windows(self, src: Shape) -> None:
        """Check that the sizes of diff_dst are those of the pool, rounded down or up."""
        self.check_window_lists(len(src) - 2)
        self.check_list("kernel", len(src) - 2, 1)
        given = layouts.reorder(src, self.data_format, "NCX")
        dst = self.channels_first(self.diff_dst)
        for name, one, other in zip(("N", "C"), dst, given, strict=False):
            if not size_guards.equal(f"diff_dst axis {name}", one, other):
                raise self.error(f"diff_dst axis {name}", given=one, expected=f"{other}, that of src")
        letters, pads_of = axis_letters(len(src) - 2), self.pads(given[2:])
        rows = zip(letters, self.windows, given[2:], dst[2:], pads_of, strict=True)
        for letter, window, x, y, pads in rows:
            self._require_size(letter, window, x, y, pads)
            if isinstance(x, int) and x < 0:
                raise self.error(f"src axis {letter}", given=x, expected="0 or more")
            if pads is not None and isinstance(x, int) and isinstance(y, int):
                self._check_size(letter, window, x + sum(pads), y)

    def _check_size(self, letter: str, window: Window, total: int, y: int) -> None:
        """Check y against `total`, the size of src with its pads."""
        beyond = total - window.extent
        fitting = [n for n in (beyond // window.stride + 1, -(-beyond // window.stride) + 1) if n > 0]
        if not fitting:
            least = f"{window.extent - window.stride + 1} or more, for a window of {window.extent}"
            raise self.error(f"src axis {letter} with its pads", given=total, expected=least)
        if y not in fitting:
            expected = " or ".join(map(str, dict.fromkeys(fitting)))
            raise self.error(f"diff_dst axis {letter}", given=y, expected=expected)

    def _require_size(self, letter: str, window: Window, x: Dim, y: Dim, pads: Pads | None) -> None:
        """Require that y differs by less than 1 from the unrounded quotient."""
        total = same_total(window, x) if self.is_same else None if pads is None else sum(pads)
        beyond = subtract(add(x, total), window.extent)
        rest = subtract(beyond, multiply(subtract(y, 1), window.stride))
        size_guards.between(
            f"{letter} of diff_dst for that of src", rest, 1 - window.stride, window.stride - 1
        )
        size_guards.between(f"{letter} of src", x)
        size_guards.positive(f"{letter} of diff_dst", y)

    def _first(self, array: np.ndarray) -> np.ndarray:
        return layouts.transpose(array, self.data_format, "NCX")

    def _begin(self, sizes: Sequence[int]) -> list[int]:
        return [pads[0] for pads in self.pads(sizes) if pads is not None]

    def _back(self, array: np.ndarray) -> tuple[np.ndarray]:
        return (layouts.transpose(array, "NCX", self.data_format),)


class MaxPoolGradientOp(PoolGradientOp, ABC):
    SUMMARY: ClassVar = "The gradient of max pooling: to the first maximum of each window."
    CONSTRAINTS: ClassVar = (
        "C1 one float dtype on both ports; C2 ranks of 3 to 5, lists of one value per spatial axis; "
        "C3 batch and channels are those of src; C4 the pool gives the sizes of diff_dst, rounded down or "
        "up."
    )
    COMMON_ATTRIBUTES: ClassVar = {**PoolGradientOp.COMMON_ATTRIBUTES, "dilations": INTS.with_default(())}
    SAMPLE: ClassVar = {"strides": [1], "kernel": [1], "pads_begin": [0], "pads_end": [0]}

    src = operand_def(TensorType)
    diff_dst = operand_def(TensorType)

    @property
    def steps(self) -> tuple[int, ...]:
        return self.value("dilations") or (1,) * len(self.kernel)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check_same_dtype([("src", self.src), ("diff_dst", self.diff_dst)])
        n = self.check_rank("src", self.src)
        if len(shape_of(self.diff_dst)) != n + 2:
            raise self.error("rank of diff_dst", given=show(self.diff_dst), expected=n + 2)
        if self.value("dilations"):
            self.check_list("dilations", n, 1, "1 means dense")
        self.check_windows(shape_of(self.src))
        return (tensor_type(element_type_of(self.src), shape_of(self.src)),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, diff_dst = map(self._first, operands)
        return self._back(self.SPEC.meaning(src, diff_dst, self.windows, self._begin(src.shape[2:])))


class AvgPoolGradientOp(PoolGradientOp, ABC):
    SUMMARY: ClassVar = "The gradient of average pooling: an equal share to each element of a window."
    CONSTRAINTS: ClassVar = (
        "C1 a float dtype, src_shape s32; C2 ranks of 3 to 5, lists of one value per spatial axis; C3 "
        "src_shape (input, else attribute) or the declared result says the shape of diff_src; C4 its batch "
        "and channels are those of diff_dst; C5 the pool gives the sizes of diff_dst, rounded down or up."
    )
    COMMON_ATTRIBUTES: ClassVar = {
        **PoolGradientOp.COMMON_ATTRIBUTES,
        "exclude_pad": FLAG,
        "src_shape": INTS.with_default(()),
    }
    SAMPLE: ClassVar = {
        "strides": [1],
        "kernel": [1],
        "pads_begin": [0],
        "pads_end": [0],
        "src_shape": [DYNAMIC_INDEX, 3, 3],
        "data_format": "NCX",
    }
    UNSET_WHEN_ZERO: ClassVar = ("src_shape",)

    diff_dst = operand_def(TensorType)
    src_shape_input = opt_operand_def(TensorType)

    @property
    def steps(self) -> tuple[int, ...]:
        return (1,) * len(self.kernel)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check_float("diff_dst", self.diff_dst)
        n = self.check_rank("diff_dst", self.diff_dst)
        if self.src_shape_input is not None:
            self.check_shape_input("src_shape", self.src_shape_input, n + 2)
        shape = self.image_shape()
        if len(shape) != n + 2:
            raise self.error("length of src_shape", given=len(shape), expected=n + 2)
        self.check_windows(shape)
        given = layouts.reorder(shape, self.data_format, "NCX")
        dst = self.channels_first(self.diff_dst)
        merged = (*shapes.merge(given[:2], dst[:2]), *given[2:])
        return (
            tensor_type(element_type_of(self.diff_dst), layouts.reorder(merged, "NCX", self.data_format)),
        )

    def image_shape(self) -> Shape:
        """Return the shape of diff_src as far as it is known at compile time."""
        if self.src_shape_input is not None:
            given = size_guards.elements_of(self.src_shape_input)
            return (None,) * len(shape_of(self.diff_dst)) if given is None else tuple(given)
        if self.value("src_shape"):
            return tuple(None if size == DYNAMIC_INDEX else size for size in self.value("src_shape"))
        return shape_of(self.diff_src)

    @classmethod
    def port_dtype(cls, port: str, dtype: str) -> str:
        return "s32" if port == "src_shape" else dtype

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return (shape[0], 3, *shape[2:])

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        first, *rest = operands
        shape = rest[0].astype(int).tolist() if rest else self.image_shape()
        spatial = layouts.reorder(tuple(shape), self.data_format, "NCX")[2:]
        sizes = [size for size in spatial if isinstance(size, int)]
        diff_dst = self._first(first)
        begin, excludes = self._begin(sizes), self.value("exclude_pad")
        return self._back(self.SPEC.meaning(diff_dst, sizes, self.windows, begin, excludes))


MAX = (
    OpSpec(
        "MaxPoolBackward",
        "sum of diff_dst over the windows whose first maximum is src[i]",
        max_pool_backward,
        decides=True,
    ),
)
AVG = (
    OpSpec(
        "AvgPoolBackward",
        "sum over the windows that contain i of diff_dst / (size of the window)",
        avg_pool_backward,
    ),
)
