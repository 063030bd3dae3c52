"""Gradients of Convolution and ConvTranspose with respect to their weights."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_operand_def, result_def

from dialects.grad.geometry import (
    Pads,
    Window,
    axis_letters,
    check_consistent,
    check_fits,
)
from dialects.grad.reference.conv_weights import conv_backward_weights
from dialects.onednn.base import AUTO_PAD, DATA_FORMAT, IOX_OR_XOI, OIX_OR_XIO, WeightedOp
from dialects.onednn.families import TableOp
from dialects.onednn.op_spec import OpSpec
from dialects.onednn.windows import same_pads, same_total
from dialects.onnx.dims import add, ceildiv, floordiv, multiply, subtract
from dialects.support import layouts, shapes, size_guards
from dialects.support.attributes import INT, INTS
from dialects.support.diagnostics import Diagnostic, GradcError
from dialects.support.interfaces import InfersOperands
from dialects.support.shapes import Dim, NamedShape, Shape, element_type_of, shape_of, tensor_type
from dialects.support.size_guards import SIZE_LIMIT


@dataclass(frozen=True)
class WeightsSpec(OpSpec):
    """A weights gradient; `order` is ONNX's axis order of the weights. The windows slide over the tensor
    whose channels are second in it: O are the channels of diff_dst, I those of src."""

    order: str = "OIX"


class WeightsGradientOp(TableOp, WeightedOp, InfersOperands, ABC):
    """Gradient of a convolution, or of a transposed one, with respect to its weights."""

    SPEC: ClassVar[WeightsSpec]  # pyright: ignore[reportIncompatibleVariableOverride]

    SUMMARY: ClassVar = "The gradient of a convolution with respect to its weights."
    CONSTRAINTS: ClassVar = (
        "C1 one float dtype on src and diff_dst, weights_shape s32; C2 ranks of 3 to 5, one batch, lists of "
        "one value per spatial axis; C3 the shape of the weights is known when compiling: by weights_shape "
        "(input, else attribute), or as the declared result; C4 its channels are those of src and diff_dst, "
        "one of the two divided by groups; C5 the forward op gives the sizes of diff_dst."
    )
    COMMON_ATTRIBUTES: ClassVar = {
        **dict.fromkeys(("strides", "pads_begin", "pads_end", "dilations"), INTS),
        "auto_pad": AUTO_PAD,
        "groups": INT.with_default(1),
        "data_format": DATA_FORMAT,
        "weights_shape": INTS.with_default(()),
    }
    RANKS: ClassVar = (3, 4, 5)
    SAMPLE: ClassVar = {
        "strides": [1],
        "dilations": [1],
        "pads_begin": [0],
        "pads_end": [0],
        "weights_shape": [1, 3, 3],
    }
    UNSET_WHEN_ZERO: ClassVar = ("weights_shape",)

    src = operand_def(TensorType)
    diff_dst = operand_def(TensorType)
    weights_shape_input = opt_operand_def(TensorType)
    diff_weights = result_def(TensorType)

    @property
    def is_transposed(self) -> bool:
        return self.SPEC.order == "IOX"

    @property
    def image(self) -> SSAValue:
        """The tensor that the windows slide over."""
        return self.diff_dst if self.is_transposed else self.src

    @property
    def window_values(self) -> SSAValue:
        """The tensor with one element per window."""
        return self.src if self.is_transposed else self.diff_dst

    @property
    def kernel_windows(self) -> tuple[Window, ...]:
        return self.windows(self._weights()[2:])

    def pads_of_axis(self, axis: int, image: Dim, values: Dim) -> Pads | None:
        """Return the pads of a spatial axis; None if they depend on an unknown size. For a transposed
        convolution the begin pad is that of a convolution over src, as in the library; the end pad reaches to
        the last window."""
        window, word_ = self.kernel_windows[axis], self.auto_pad
        if not self.is_same:
            return self.explicit_pads()[axis]
        if self.is_transposed:
            given = same_pads(window, values, word_)
            if given is None or not isinstance(image, int) or not isinstance(values, int):
                return None
            return given[0], max(0, window.full_size(values) - image - given[0])
        return same_pads(window, image, word_)

    def pads(self) -> list[Pads | None]:
        """Return the pads per spatial axis, None if they depend on an unknown size."""
        images, values = (self.channels_first(value)[2:] for value in (self.image, self.window_values))
        pairs = zip(images, values, strict=True)
        return [self.pads_of_axis(axis, *sizes) for axis, sizes in enumerate(pairs)]

    def operand_shapes(self) -> Iterator[tuple[SSAValue, Shape]]:
        first, second, *_ = self._weights()
        beyond = (None,) * (len(shape_of(self.src)) - 2)
        channels = ((self.window_values, first), (self.image, second * self.groups))
        for value, count in channels:
            yield value, layouts.reorder((None, count, *beyond), "NCX", self.data_format)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        self.check_same_dtype([("src", self.src), ("diff_dst", self.diff_dst)])
        self._check_ports()
        shape = self._weights()
        self._check_channels(shape)
        self._check_sizes()
        given = layouts.reorder(shape, self.SPEC.order, self.weights_format)
        for name, sizes in self._sources():
            size_guards.equal_shapes(name, sizes, given)
        return (tensor_type(element_type_of(self.src), given),)

    def _check_ports(self) -> None:
        n = self.check_rank("src", self.src)
        if len(shape_of(self.diff_dst)) != n + 2:
            expected = f"{n + 2}, that of src"
            raise self.error("rank of diff_dst", given=len(shape_of(self.diff_dst)), expected=expected)
        for port, value in (("src", self.src), ("diff_dst", self.diff_dst)):
            self.check_sizes(port, shape_of(value), self.data_format)
        self.check_lists(n)
        if self.weights_shape_input is not None:
            self.check_shape_input("weights_shape", self.weights_shape_input, n + 2)
        batches = [shape_of(value)[0] for value in (self.src, self.diff_dst)]
        if not size_guards.equal("batch of diff_dst", batches[1], batches[0]):
            raise self.error("batch of diff_dst", given=batches[1], expected=f"{batches[0]}, that of src")

    def _sources(self) -> Iterator[tuple[str, Sequence[Dim]]]:
        """Yield sources of the weights' shape by decreasing precedence."""
        if self.weights_shape_input is not None:
            sizes = size_guards.elements_of(self.weights_shape_input)
            if sizes is not None:
                yield "the weights_shape input", sizes
        if self.value("weights_shape"):
            sizes = self.value("weights_shape")
            yield "the weights_shape attribute", [None if d == DYNAMIC_INDEX else d for d in sizes]
        yield "the declared result type", shape_of(self.diff_weights)

    def _weights(self) -> tuple[int, ...]:
        """Return the shape of the weights in ONNX's order."""
        rank = len(shape_of(self.src))
        for name, shape in self._sources():
            if len(shape) != rank:
                raise self.error(f"length of {name}", given=len(shape), expected=f"{rank}, the rank of src")
            static = shapes.static(shape)
            if static is None:
                continue
            self.check_sizes(name, static, self.weights_format)
            if any(size < 1 for size in static):
                raise self.error(name, given=list(static), expected="positive sizes")
            return layouts.reorder(static, self.weights_format, self.SPEC.order)
        raise self.error(
            "the shape of the weights is not known when compiling",
            expected="one of: a constant weights_shape input, the weights_shape attribute, the declared "
            "shape of the output tensor",
        )

    def _check_channels(self, weights: Sequence[int]) -> None:
        groups, first, second = self.groups, weights[0], weights[1]
        wanted = ((self.window_values, first), (self.image, second * groups))
        for value, channels in wanted:
            port = "src" if value is self.src else "diff_dst"
            given = self.channels_first(value)[1]
            if not size_guards.equal(f"channels of {port}", given, channels):
                format_ = self.weights_format
                shown = shapes.show(layouts.reorder(weights, self.SPEC.order, format_))
                raise self.error(
                    f"channels of {port}",
                    given=given,
                    expected=f"{channels} (weights {shown} as {format_}, groups {groups})",
                    hint=self.default_hint("data_format", "weights_format"),
                )
        if first % groups:
            raise self.error("groups", given=groups, expected=f"a divisor of {first}")

    def _check_sizes(self) -> None:
        images, values = (self.channels_first(value)[2:] for value in (self.image, self.window_values))
        rows = zip(axis_letters(len(images)), self.kernel_windows, images, values, self.pads(), strict=True)
        for letter, window, x, y, pads in rows:
            self._require_size(letter, window, x, y, pads)
            if pads is None or not isinstance(x, int):
                continue
            try:
                check_fits(window, x, pads)
                if isinstance(y, int):
                    check_consistent(window, x, y, pads)
            except GradcError as error:
                raise self.error(f"axis {letter}: {error.diagnostic.message}") from None

    def _require_size(self, letter: str, window: Window, x: Dim, y: Dim, pads: Pads | None) -> None:
        """Require y windows over x: 0 <= x + pads - Ke - s (y - 1) < s. With `same`, the end pad of a
        transposed convolution compensates a smaller x."""
        last, least = multiply(subtract(y, 1), window.stride), 0
        total: Dim = None if pads is None else sum(pads)
        if self.is_same and self.is_transposed:
            whole = same_total(window, y)
            begin = floordiv(whole, 2) if self.auto_pad == "same_upper" else ceildiv(whole, 2)
            total, least = begin, -SIZE_LIMIT
        elif self.is_same:
            total = same_total(window, x)
        rest = subtract(subtract(add(x, total), window.extent), last)
        size_guards.between(f"{letter} of diff_dst for that of src", rest, least, window.stride - 1)

    def remarks(self) -> Iterator[Diagnostic]:
        found = [(name, tuple(shape)) for name, shape in self._sources() if shapes.static(shape)]
        if len(found) > 1 and found[0][0] != "the declared result type" and found[0][1] != found[1][1]:
            (chosen, _), (other, shape) = found[:2]
            yield self.remark(f"{chosen} precedes {other} {list(shape)}")
        yield from self.remark_on_pads()

    @classmethod
    def port_dtype(cls, port: str, dtype: str) -> str:
        return "s32" if port == "weights_shape" else dtype

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        return (*shape[:-1], 3)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, diff_dst = (layouts.transpose(array, self.data_format, "NCX") for array in operands[:2])
        image, values = (diff_dst, src) if self.is_transposed else (src, diff_dst)
        sizes = enumerate(zip(image.shape[2:], values.shape[2:], strict=True))
        pads = [self.pads_of_axis(axis, *pair) for axis, pair in sizes]
        kernel = self._weights()[2:]
        begin = [pad[0] for pad in pads if pad is not None]
        lists = (kernel, self.strides, self.dilations, begin)
        result = self.SPEC.meaning(image, values, *lists, self.groups)
        return (layouts.transpose(result, self.SPEC.order, self.weights_format),)


GRADIENTS = (
    WeightsSpec(
        "ConvolutionBackwardWeights",
        "sum over n, y of diff_dst[n, o, y] src[n, c, y s - pb + k d], for each o, c of its group, and k",
        conv_backward_weights,
        {"weights_format": OIX_OR_XIO},
    ),
    WeightsSpec(
        "ConvTransposeBackwardWeights",
        "sum over n, x of src[n, c, x] diff_dst[n, o, x s - pb + k d], for each c, o of its group, and k",
        conv_backward_weights,
        {"weights_format": IOX_OR_XOI},
        order="IOX",
    ),
)
