"""Convolution and ConvTranspose (oneDNN 3.13), the forward ops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_operand_def, result_def

from dialects.grad.geometry import Pads, Window, axis_letters, check_fits, library_pads
from dialects.grad.reference import conv
from dialects.onednn.base import AUTO_PAD, DATA_FORMAT, IOX_OR_XOI, OIX_OR_XIO, WeightedOp, show
from dialects.onednn.families import TableOp
from dialects.onednn.op_spec import OpSpec
from dialects.onednn.windows import positions, same_pads, same_positions, spread
from dialects.onnx.dims import add
from dialects.support import layouts, size_guards
from dialects.support.attributes import INT, INTS, AttributeSpec
from dialects.support.diagnostics import Diagnostic, GradcError, violation
from dialects.support.interfaces import InfersOperands
from dialects.support.op_cache_key import once_per_state
from dialects.support.shapes import Dim, NamedShape, Shape, element_type_of, shape_of, tensor_type


@dataclass(frozen=True)
class ForwardProblem:
    """The resolved sizes of the op, in NCX order. Pads are None per axis if they depend on dynamic sizes."""

    batch: Dim
    in_channels: int
    out_channels: int
    windows: tuple[Window, ...]
    src: tuple[Dim, ...]
    pads: tuple[Pads | None, ...]
    dst: tuple[Dim, ...]


class ForwardConvOp(TableOp, WeightedOp, InfersOperands, ABC):
    """Base of both directions: ports, checks, and channels inferred from the weights."""

    COMMON_ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec[Any]]] = {
        "strides": INTS,
        "pads_begin": INTS,
        "pads_end": INTS,
        "dilations": INTS,
        "auto_pad": AUTO_PAD,
        "groups": INT.with_default(1),
        "data_format": DATA_FORMAT,
    }
    RANKS: ClassVar = (3, 4, 5)
    SAMPLE: ClassVar = {"strides": [1], "dilations": [1], "pads_begin": [0], "pads_end": [0]}

    WEIGHTS: ClassVar[str]
    """ONNX's axis order of the weights."""

    src = operand_def(TensorType)
    weights = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    dst = result_def(TensorType)

    @classmethod
    def knows_sizes(cls, port: str) -> bool:
        return port == "weights"

    @classmethod
    def port_shape(cls, port: str, shape: NamedShape) -> NamedShape:
        """Return NXC data, XIO or XOI weights with as many channels, and a bias."""
        channels = shape[-1] if isinstance(shape[-1], int) else 3
        return {
            "src": (*shape[:-1], channels),
            "weights": (*[1] * (len(shape) - 2), channels, channels),
            "bias": (channels,),
        }[port]

    def infer_result_types(self) -> tuple[TensorType, ...]:
        problem = self.problem()
        shape = (problem.batch, problem.out_channels, *problem.dst)
        return (tensor_type(element_type_of(self.src), self.in_data_format(shape)),)

    def operand_shapes(self) -> Iterator[tuple[SSAValue, Shape]]:
        """Yield the channels of src, which the weights imply."""
        problem = self.problem()
        yield self.src, self.in_data_format((None, problem.in_channels, *(None,) * len(problem.src)))

    def in_data_format(self, shape: Sequence[Dim]) -> Shape:
        return layouts.reorder(shape, "NCX", self.data_format)

    @once_per_state
    def problem(self) -> ForwardProblem:
        """Run all checks and return the resolved sizes."""
        ports = [(self.port(index), value) for index, value in enumerate(self.operands)]
        self.check_same_dtype(ports)
        n = self.check_rank("src", self.src)
        self.check_sizes("src", shape_of(self.src), self.data_format)
        self.check_lists(n)
        first, second, *kernel = layouts.reorder(
            self.static_weights(self.weights, n), self.weights_format, self.WEIGHTS
        )
        batch, channels, *sizes = self.channels_first(self.src)
        in_channels, out_channels = self.channels(first, second, channels)
        if not size_guards.equal("channels of src", channels, in_channels):
            raise self._channel_error(channels, in_channels)
        self._check_bias(out_channels)
        windows = self.windows(kernel)
        pads = tuple(self.axis_pads(*pair) for pair in zip(range(n), windows, sizes, strict=True))
        dst = tuple(self._axis_size(i, windows[i], sizes[i], pads[i]) for i in range(n))
        return ForwardProblem(batch, in_channels, out_channels, windows, tuple(sizes), pads, dst)

    @abstractmethod
    def channels(self, first: int, second: int, given: Dim) -> tuple[int, int]:
        """Return the channels of src and dst from the first two axes of the weights, in ONNX's order."""

    @abstractmethod
    def axis_pads(self, axis: int, window: Window, size: Dim) -> Pads | None:
        """Return the pads of an axis of src; None if they depend on dynamic sizes."""

    @abstractmethod
    def axis_size(self, axis: int, window: Window, size: Dim, pads: Pads | None) -> Dim:
        """Return the size of an axis of dst."""

    def _axis_size(self, axis: int, window: Window, size: Dim, pads: Pads | None) -> Dim:
        try:
            return self.axis_size(axis, window, size, pads)
        except GradcError as error:
            letter = axis_letters(len(self.strides))[axis]
            hint = self.default_hint("data_format", "weights_format")
            raise self.error(f"axis {letter}: {error.diagnostic.message}", hint=hint) from None

    def _channel_error(self, channels: Dim, expected: int) -> GradcError:
        axis = layouts.axis_of(self.data_format, "C", len(self.strides))
        return self.error(
            f"channels of src (axis {axis} of {self.data_format})",
            given=f"{channels} {show(self.src)}",
            expected=f"{expected}, by weights {show(self.weights)} as {self.weights_format} with groups "
            f"{self.groups}",
            hint=self.format_hint(self.src, expected),
        )

    def _check_bias(self, channels: int) -> None:
        if self.bias is not None and not size_guards.equal_shapes("bias", shape_of(self.bias), (channels,)):
            expected = f"[{channels}], the channels of dst"
            raise self.error("shape of bias", given=show(self.bias), expected=expected)

    def canonical(self, src: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both in ONNX's axis order."""
        data = layouts.transpose(src, self.data_format, "NCX")
        return data, layouts.transpose(weights, self.weights_format, self.WEIGHTS)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        src, weights = self.canonical(*operands[:2])
        windows = self.windows(weights.shape[2:])
        pads = [
            self.axis_pads(*axis) for axis in zip(range(len(windows)), windows, src.shape[2:], strict=True)
        ]
        rows = zip(range(len(windows)), windows, src.shape[2:], pads, strict=True)
        sizes = [self.axis_size(*row) for row in rows]
        begin = [pad[0] for pad in pads if pad is not None]
        dst = self.SPEC.meaning(src, weights, sizes, self.strides, self.dilations, begin, self.groups)
        for bias in operands[2:]:
            dst = dst + bias.reshape(-1, *[1] * len(windows))
        return (layouts.transpose(dst, "NCX", self.data_format),)

    def remarks(self) -> Iterator[Diagnostic]:
        yield from self.remark_on_pads()


class ConvolutionForwardOp(ForwardConvOp, ABC):
    """Convolution: each element of dst is the weighted sum of a window of src."""

    SUMMARY: ClassVar = "The weighted sum of each window of the input."
    CONSTRAINTS: ClassVar = (
        "src (N, C, X...) in data_format, weights (O, C / groups, K...) as OIX or XIO, bias (O), dst (N, O, "
        "Y...) with Y = (X + pb + pe - (K - 1) d - 1) div s + 1, or ceil(X / s) with auto_pad same_upper, "
        "whose odd pad is at the end, and same_lower. C1 one float dtype on all ports; C2 rank 3 to 5; C3 "
        "one value per spatial axis in each list; C4 groups divides O, and C is groups times the I of "
        "weights; C5 the kernel fits into the padded input."
    )
    WEIGHTS: ClassVar = "OIX"

    def channels(self, first: int, second: int, given: Dim) -> tuple[int, int]:
        del given
        self.divides(first, "O of weights")
        return second * self.groups, first

    def axis_pads(self, axis: int, window: Window, size: Dim) -> Pads | None:
        return same_pads(window, size, self.auto_pad) if self.is_same else self.explicit_pads()[axis]

    def axis_size(self, axis: int, window: Window, size: Dim, pads: Pads | None) -> Dim:
        if self.is_same or pads is None:
            return same_positions(window, size)
        if isinstance(size, int):
            check_fits(window, size, pads)
        beyond = add(size, sum(pads) - window.extent)
        size_guards.between(f"spatial axis {axis} of src for the kernel", beyond)
        return positions(window, size, pads)


class ConvTransposeForwardOp(ForwardConvOp, ABC):
    """Transposed convolution: each element of src adds its weights, scaled, to a window of dst."""

    SUMMARY: ClassVar = "Each element of the input adds its weights, scaled, to a window of the output."
    CONSTRAINTS: ClassVar = (
        "src (N, C, X...) in data_format, weights (C, O / groups, K...) as IOX or XOI, or (C / groups, O, "
        "K...) if the channels of src require it, bias (O), dst (N, O, Y...) with Y = s (X - 1) "
        "+ (K - 1) d + 1 - pb - pe + output_padding; auto_pad same_upper, whose odd pad is at the end, and "
        "same_lower have pb + pe = max(0, (K - 1) d + 1 - s), and a declared Y may be up to s - 1 larger. C1 "
        "one float dtype on all ports; C2 rank 3 to 5; C3 one value per spatial axis in each list; C4 groups "
        "divides C; C5 Y is positive."
    )
    WEIGHTS: ClassVar = "IOX"
    UNSET_WHEN_ZERO: ClassVar[tuple[str, ...]] = ("output_padding",)

    if TYPE_CHECKING:
        output_padding: tuple[int, ...]

    @property
    def output_pads(self) -> tuple[int, ...]:
        """The output_padding of each axis."""
        if self.is_same and not any(self.output_padding):
            return tuple(self._left(axis) for axis in range(len(self.strides)))
        return self.output_padding or (0,) * len(self.strides)

    def _left(self, axis: int) -> int:
        """Return how far the declared size exceeds what the windows cover; the library pads to dst's size."""
        if len(shape_of(self.dst)) != len(shape_of(self.src)):
            return 0
        declared, size = (self.channels_first(value)[2:][axis] for value in (self.dst, self.src))
        if not isinstance(declared, int) or not isinstance(size, int):
            return 0
        n = len(self.strides)
        kernel = layouts.reorder(self.static_weights(self.weights, n), self.weights_format, self.WEIGHTS)[2:]
        window = self.windows(kernel)[axis]
        found = spread(window, size, library_pads(window, 0, self.auto_pad), 0)
        left = declared - found if isinstance(found, int) else 0
        return left if 0 < left < window.stride else 0

    def check_lists(self, spatial_rank: int) -> None:
        super().check_lists(spatial_rank)
        if self.output_padding:
            self.check_list("output_padding", spatial_rank, 0)

    @property
    def documented_weights(self) -> bool:
        """True if the channels of src show that the weights are (C / groups, O, K...), the page's layout."""
        first, *_ = layouts.reorder(shape_of(self.weights), self.weights_format, self.WEIGHTS)
        channels = self.channels_first(self.src)[1]
        return isinstance(first, int) and self.groups > 1 and channels == first * self.groups

    def channels(self, first: int, second: int, given: Dim) -> tuple[int, int]:
        if self.documented_weights:
            self.divides(second, "O, the second dimension of weights,")
            return first * self.groups, second
        self.divides(first, "C, the I of weights,")
        return first, second * self.groups

    def axis_pads(self, axis: int, window: Window, size: Dim) -> Pads | None:
        del size
        return library_pads(window, 0, self.auto_pad) if self.is_same else self.explicit_pads()[axis]

    def axis_size(self, axis: int, window: Window, size: Dim, pads: Pads | None) -> Dim:
        assert pads is not None
        found = spread(window, size, pads, self.output_pads[axis])
        if isinstance(found, int) and found < 1:
            terms = (
                f"{window.stride} * ({size} - 1) + {window.extent} - {sum(pads)} + {self.output_pads[axis]}"
            )
            raise violation("size of dst", given=f"{terms} = {found}", expected="1 or more")
        size_guards.positive(f"spatial axis {axis} of dst", found)
        return found

    def canonical(self, src: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        data, canonical = super().canonical(src, weights)
        return data, library_weights(canonical, self.groups) if self.documented_weights else canonical

    def remarks(self) -> Iterator[Diagnostic]:
        yield from super().remarks()
        if self.documented_weights:
            yield self.remark(
                f"weights {show(self.weights)} are in the page's layout (C/groups, O, ...), by the channels "
                "of src; the library, PyTorch and ONNX would have (C, O/groups, ...)"
            )


def library_weights(weights: np.ndarray, groups: int) -> np.ndarray:
    """Convert weights (C / groups, O, K...), the page's layout, to (C, O / groups, K...).

    Input channel i of group q is c = q C/g + i, output channel j of it o = q O/g + j, so that library[q C/g +
    i, j] = page[i, q O/g + j].
    """
    per_group, out_channels, *kernel = weights.shape
    split = weights.reshape(per_group, groups, out_channels // groups, *kernel)
    moved = np.moveaxis(split, 1, 0)
    return moved.reshape(groups * per_group, out_channels // groups, *kernel)


CONVOLUTION = (
    OpSpec(
        "Convolution",
        "bias[o] + the sum over c, k of src[n, c, y s - pb + k d] weights[o, c, k], with c of o's group and "
        "0 beyond the edges",
        conv.conv_transpose_backward_data,
        {"weights_format": OIX_OR_XIO},
    ),
)
"""A convolution is the gradient of the transposed one: the same index equation."""

CONV_TRANSPOSE = (
    OpSpec(
        "ConvTranspose",
        "bias[o] + the sum over c, x, k of src[n, c, x] weights[c, o, k], with y = x s - pb + k d and c of "
        "o's group",
        conv.conv_backward_data,
        {"weights_format": IOX_OR_XOI, "output_padding": INTS.with_default(())},
    ),
)
