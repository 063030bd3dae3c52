"""AvgPool and MaxPool (oneDNN 3.13), the forward ops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, result_def

from dialects.grad.geometry import Pads, Window, axis_letters, check_fits
from dialects.onednn.base import AUTO_PAD, DATA_FORMAT, WindowedOp
from dialects.onednn.families import TableOp
from dialects.onednn.op_spec import OpSpec
from dialects.onednn.windows import positions, same_pads, same_positions
from dialects.onnx.dims import add, multiply, subtract
from dialects.support import dtypes, layouts, limits, size_guards
from dialects.support.attributes import FLAG, INTS, AttributeSpec, word
from dialects.support.diagnostics import Diagnostic, GradcError, violation
from dialects.support.shapes import Dim, element_type_of, shape_of, tensor_type
from dialects.support.taps import iter_taps

ROUNDING = word("floor", "ceil", default="floor")

Tap = tuple[np.ndarray, np.ndarray]
"""For one tap, its elements of all windows (a fresh array), and a mask of those inside the data."""


class PoolWindowsOp(TableOp, WindowedOp, ABC):
    """A pool or its gradient: the windows and their pads."""

    RANKS: ClassVar = (3, 4, 5)

    if TYPE_CHECKING:
        kernel: tuple[int, ...]

    @property
    @abstractmethod
    def steps(self) -> tuple[int, ...]:
        """The dilation per axis."""

    @property
    def windows(self) -> tuple[Window, ...]:
        return tuple(Window(*row) for row in zip(self.kernel, self.strides, self.steps, strict=True))

    def axis_pads(self, axis: int, size: Dim) -> Pads | None:
        """Return the pads of an axis, None if they depend on an unknown size."""
        if self.is_same:
            return same_pads(self.windows[axis], size, self.auto_pad)
        return self.explicit_pads()[axis]

    def remarks(self) -> Iterator[Diagnostic]:
        yield from self.remark_on_pads()


class PoolingOp(PoolWindowsOp, ABC):
    """Each element of dst is the mean or maximum of a window of src."""

    COMMON_ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec[Any]]] = {
        "strides": INTS,
        "pads_begin": INTS,
        "pads_end": INTS,
        "kernel": INTS,
        "auto_pad": AUTO_PAD,
        "rounding_type": ROUNDING,
        "data_format": DATA_FORMAT,
    }
    SAMPLE: ClassVar = {"strides": [1], "kernel": [2], "pads_begin": [0], "pads_end": [0]}

    if TYPE_CHECKING:
        rounding_type: str

    src = operand_def(TensorType)
    dst = result_def(TensorType)

    @property
    @abstractmethod
    def option(self) -> bool | float:
        """The extra argument of the op spec's function."""

    @property
    def rounds_up(self) -> bool:
        return self.rounding_type == "ceil" and not self.is_same

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check_float("src", self.src)
        n = self.check_rank("src", self.src)
        self.check_sizes("src", shape_of(self.src), self.data_format)
        self.check_window_lists(n)
        self.check_list("kernel", n, 1)
        batch, channels, *sizes = self.channels_first(self.src)
        dst = [self._axis_size_or_error(axis, size) for axis, size in enumerate(sizes)]
        shape = layouts.reorder((batch, channels, *dst), "NCX", self.data_format)
        return (tensor_type(element_type_of(self.src), shape),)

    def pads(self) -> list[Pads | None]:
        """Return the pads per axis, None if they depend on dynamic sizes."""
        return [self.axis_pads(axis, size) for axis, size in enumerate(self.channels_first(self.src)[2:])]

    def _axis_size_or_error(self, axis: int, size: Dim) -> Dim:
        try:
            return self._axis_size(axis, size)
        except GradcError as error:
            letter = axis_letters(len(self.kernel))[axis]
            hint = self.default_hint("data_format")
            raise self.error(f"axis {letter}: {error.diagnostic.message}", hint=hint) from None

    def _axis_size(self, axis: int, size: Dim) -> Dim:
        window, pads = self.windows[axis], self.axis_pads(axis, size)
        if pads is None:
            return same_positions(window, size)
        if isinstance(size, int):
            check_fits(window, size, pads)
        found = positions(window, size, pads, ceil=self.rounds_up)
        beyond = add(size, sum(pads) - window.extent)
        size_guards.between(f"spatial axis {axis} of src for the kernel", beyond)
        self.check_windows(window, size, pads, found)
        return found

    def check_windows(self, window: Window, size: Dim, pads: Pads, count: Dim) -> None:
        """Raise if one of `count` windows is empty and the op does not allow that."""

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        (src,) = operands
        data = layouts.transpose(src, self.data_format, "NCX")
        axes = list(enumerate(data.shape[2:]))
        begin = [pads[0] for pads in (self.axis_pads(*axis) for axis in axes) if pads is not None]
        counts = [self._axis_size(*axis) for axis in axes]
        sizes = [count for count in counts if isinstance(count, int)]
        dst = self.SPEC.meaning(_taps(data, self.windows, begin, sizes), self.option)
        return (layouts.transpose(dst, "NCX", self.data_format),)


def _taps(
    data: np.ndarray, windows: Sequence[Window], begin: Sequence[int], counts: Sequence[int]
) -> Iterator[Tap]:
    for tap in iter_taps([window.kernel for window in windows], 4 * prod((*data.shape[:2], *counts))):
        rows = zip(windows, begin, counts, tap, strict=True)
        places = [np.arange(count) * w.stride - b + k * w.dilation for w, b, count, k in rows]
        sizes = data.shape[2:]
        inside = [(at >= 0) & (at < size) for at, size in zip(places, sizes, strict=True)]
        held = [at.clip(0, size - 1) for at, size in zip(places, sizes, strict=True)]
        yield data[(..., *np.ix_(*held))], np.logical_and.reduce(np.meshgrid(*inside, indexing="ij"))


NO_LOWER_BOUND = -(2**31)
"""Lower bound for a list whose negative entries are checked elsewhere."""


class AveragePoolingOp(PoolingOp, ABC):
    """Average pooling."""

    SUMMARY: ClassVar = "The mean of each window of the input."
    CONSTRAINTS: ClassVar = (
        "src (N, C, X...) in data_format, dst (N, C, Y...) with Y = (X + pb + pe - K) / s + 1 rounded as "
        "rounding_type says, or ceil(X / s) with auto_pad same_upper, whose odd pad is at the end, and "
        "same_lower. C1 a float dtype; C2 rank 3 to 5; C3 one value per spatial axis in each list; C4 the "
        "window fits into the padded input; C5 with exclude_pad each window holds an element."
    )

    if TYPE_CHECKING:
        exclude_pad: bool

    @property
    def steps(self) -> tuple[int, ...]:
        return (1,) * len(self.kernel)

    def check_window_lists(self, spatial_rank: int) -> None:
        """Check the lists; unlike other ops, the library accepts end pads down to -stride."""
        self.check_list("strides", spatial_rank, 1)
        self.check_list("pads_begin", spatial_rank, 0)
        self.check_list("pads_end", spatial_rank, NO_LOWER_BOUND)
        for letter, end, stride in zip(axis_letters(spatial_rank), self.pads_end, self.strides, strict=True):
            if end + stride < 0:
                raise self.error(f"pads_end axis {letter}", given=end, expected=f"{-stride} or more")

    def check_windows(self, window: Window, size: Dim, pads: Pads, count: Dim) -> None:
        if not self.exclude_pad:
            return
        last = add(multiply(add(count, -1), window.stride), -pads[0])
        inside = subtract(size, last)
        size_guards.positive("elements of the last window", inside)
        if isinstance(inside, int) and (pads[0] >= window.kernel or inside < 1):
            which = "first" if pads[0] >= window.kernel else "last"
            raise violation(
                f"with exclude_pad the {which} of {count} windows contains only padding",
                given=f"kernel {window.kernel}, stride {window.stride}, pads {pads}, size {size}",
                hint="its mean is 0/0: reduce the pads, or round down",
            )

    @property
    def option(self) -> bool:
        return self.exclude_pad


class MaxPoolingOp(PoolingOp, ABC):
    """Max pooling."""

    SUMMARY: ClassVar = "The maximum of each window of the input."
    CONSTRAINTS: ClassVar = (
        "src (N, C, X...) in data_format, dst (N, C, Y...) with Y = (X + pb + pe - (K - 1) d - 1) / s + 1 "
        "rounded as rounding_type says, or ceil(X / s) with auto_pad same_upper, whose odd pad is at the "
        "end, and same_lower; dilations are 1 where there are none. C1 a float dtype; C2 rank 3 to 5; C3 one "
        "value per spatial axis in each list; C4 the window fits into the padded input."
    )

    if TYPE_CHECKING:
        dilations: tuple[int, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        return self.dilations or (1,) * len(self.kernel)

    def check_window_lists(self, spatial_rank: int) -> None:
        super().check_window_lists(spatial_rank)
        if self.dilations:
            self.check_list("dilations", spatial_rank, 1, "1 means dense")

    @property
    def option(self) -> float:
        """The maximum of an empty window, as in the library: the lowest number of the dtype."""
        entry = dtypes.known_dtype(element_type_of(self.src))
        return dtypes.limits_of(entry)[0]

    def has_empty_windows(self) -> bool:
        """Return whether a window may consist of padding alone."""
        sizes = self.channels_first(self.src)[2:]
        rows = zip(self.windows, sizes, self.pads(), strict=True)
        return any(_may_be_empty(*row, ceil=self.rounds_up) for row in rows)


def _may_be_empty(window: Window, size: Dim, pads: Pads | None, ceil: bool) -> bool:
    """Return whether some window may miss the data; for a dynamic size, whether padding can hold a window."""
    if pads is None:
        return False
    count = positions(window, size, pads, ceil=ceil)
    if not isinstance(size, int) or not isinstance(count, int):
        return max(pads[0], pads[1] + (window.stride - 1 if ceil else 0)) >= window.extent
    if window.dilation <= size:  # windows that overlap the data have a tap inside
        return pads[0] >= window.extent or (count - 1) * window.stride - pads[0] >= size
    if count > limits.current().axis_positions:
        return True
    return not window.taps_within(np.arange(count) * window.stride - pads[0], size).all()


def mean(taps: Iterator[Tap], exclude_pad: bool) -> np.ndarray:
    total, count, whole = None, np.zeros(()), 0
    for seen, inside in taps:
        np.copyto(seen, 0, where=~inside)
        total = np.add(0.0 if total is None else total, seen, out=seen if total is None else total)
        count, whole = count + inside, whole + 1
    assert total is not None
    return np.divide(total, count if exclude_pad else whole, out=total)


def largest(taps: Iterator[Tap], least: float) -> np.ndarray:
    """Return the maximum per window; NaN compares as not larger."""
    best: np.ndarray | None = None
    for seen, inside in taps:
        best = np.full(seen.shape, least) if best is None else best
        np.copyto(best, seen, where=inside & (seen > best))
    assert best is not None
    return best


AVERAGING = (
    OpSpec(
        "AvgPool",
        "the mean of src[n, c, y s - pb + k] over k, of the elements alone with exclude_pad, else with 0 "
        "beyond the edges",
        mean,
        {"exclude_pad": FLAG},
    ),
)
MAXIMUM = (
    OpSpec(
        "MaxPool",
        "the maximum of src[n, c, y s - pb + k d] over k within the edges; NaN is ignored, and an empty "
        "maximum is the lowest number of the dtype",
        largest,
        {"dilations": INTS.with_default(())},
        moves=True,
    ),
)
