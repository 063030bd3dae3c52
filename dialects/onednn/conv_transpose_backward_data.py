"""ConvTransposeBackwardData (oneDNN 3.13, dev_guide_op_convtransposebackwarddata)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Pure

from dialects.grad.geometry import Pads, Window, axis_letters, check_fits, same_pad_samples, same_pads_forward
from dialects.grad.reference import conv
from dialects.onednn.base import IOX_OR_XOI, OneDNNConvOp, show
from dialects.onednn.conv import library_weights
from dialects.support import layouts, shapes
from dialects.support.attributes import defaulted
from dialects.support.diagnostics import Diagnostic, GradcError
from dialects.support.documented_op import DISCARDABLE_PREFIX, documented_op
from dialects.support.interfaces import AmbiguousOp, set_type
from dialects.support.op_cache_key import once_per_state
from dialects.support.shapes import Dim, element_type_of, shape_of, tensor_type

DEFAULT_LAYOUT = DISCARDABLE_PREFIX + "settled_layout"
"""Attribute of an op whose weights layout is ambiguous, and chosen by default."""


@dataclass(frozen=True)
class ConvTransposeBackwardDataProblem:
    """The resolved sizes of the op, in NCX order. Pads are None per axis if Y is unknown."""

    batch: Dim
    out_channels: int
    in_channels: int
    groups: int
    windows: tuple[Window, ...]
    src: tuple[Dim, ...]
    dst: tuple[Dim, ...]
    pads: tuple[Pads | None, ...]
    documented_weights: bool
    """True if the weights are (C / groups, O, K...), the page's layout, not (C, O / groups, K...)."""


@documented_op
class ConvTransposeBackwardDataOp(OneDNNConvOp, AmbiguousOp):
    """Gradient of a transposed convolution with respect to its input: a forward convolution.

    diff_src[n, c, x] = sum over j, k of diff_dst[n, o, x s - pb + k d] weights[c, j, k], with o the
    j-th channel of c's group and positions outside diff_dst counting as 0.

    diff_dst (N, O, Y...) in data_format; weights as IOX or XOI, where I is C and O is O / groups
    (the library) or, if the sizes require it, I is C / groups and O is O (the page);
    diff_src (N, C, X...) with X = (Y + pb + pe - Ke) div s + 1.

    C1 one float dtype on all ports; C2 rank 3 to 5, weights of the same rank; C3 list lengths and
    ranges; C4 groups divides the channels, the weights fit one of their two layouts; C5 Ke <= Y + pb
    + pe; C6 0 <= output_padding < s, and the transposed convolution of X gives Y; C7 a declared
    result has the inferred sizes.
    """

    name = "onednn.conv_transpose_backward_data"
    KIND: ClassVar[str] = "ConvTransposeBackwardData"

    EXTRA_PORT_HINT: ClassVar = "this op has no shape input: its sizes follow from diff_dst"
    FOREIGN_ATTRIBUTES: ClassVar = {
        "dst_shape": "dst_shape belongs to ConvolutionBackwardData: here the sizes follow from diff_dst"
    }

    diff_dst = operand_def(TensorType)
    weights = operand_def(TensorType)
    weights_format = defaulted(IOX_OR_XOI)
    diff_src = result_def(TensorType)

    traits = traits_def(Pure())

    @property
    def out_channels(self) -> int | None:
        return None if self.is_ambiguous else self.problem().out_channels

    def infer_result_types(self) -> tuple[TensorType, ...]:
        problem = self.problem()
        channels = None if self.is_ambiguous else problem.in_channels
        shape = (problem.batch, channels, *problem.src)
        shape = layouts.reorder(shape, "NCX", self.data_format)
        return (tensor_type(element_type_of(self.diff_dst), shape),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        diff_dst = layouts.transpose(operands[0], self.data_format, "NCX")
        weights = layouts.transpose(operands[1], self.weights_format, "IOX")
        if self.problem().documented_weights:
            weights = library_weights(weights, self.groups)
        windows, dst = self.windows(weights.shape[2:]), diff_dst.shape[2:]
        axes = [self.axis_pads(windows, dst, axis) for axis in range(len(windows))]
        pads = [pad for pad in axes if pad is not None]
        sizes = [window.output_size(y, *pad) for window, y, pad in zip(windows, dst, pads, strict=True)]
        steps = (self.strides, self.dilations, [pad[0] for pad in pads])
        result = conv.conv_transpose_backward_data(diff_dst, weights, sizes, *steps, self.groups)
        return (layouts.transpose(result, "NCX", self.data_format),)

    @once_per_state
    def problem(self) -> ConvTransposeBackwardDataProblem:
        """Run all checks C1 to C7 and return the resolved sizes."""
        self.check_same_dtype([("diff_dst", self.diff_dst), ("weights", self.weights)])
        n = self.check_rank("diff_dst", self.diff_dst)
        self.check_sizes("diff_dst", shape_of(self.diff_dst), self.data_format)
        self.check_lists(n)
        static = self.static_weights(self.weights, n)
        first, second, *kernel = layouts.reorder(static, self.weights_format, "IOX")
        batch, channels, *dst = self.channels_first(self.diff_dst)
        documented = self._is_documented(channels, first, second, kernel)
        groups = self.groups
        in_channels = first * groups if documented else first
        out_channels = second if documented else second * groups
        self.divides(in_channels, "C, the I of weights,")
        windows = self.windows(kernel)
        pads = tuple(self.axis_pads(windows, dst, i) for i in range(n))
        src = tuple(
            self._axis_size(letter, window, y, pad)
            for letter, window, y, pad in zip(axis_letters(n), windows, dst, pads, strict=True)
        )
        self._check_output_padding(windows, dst, src, pads)
        self._check_declared((batch, in_channels, *src), windows, dst, pads)
        return ConvTransposeBackwardDataProblem(
            batch, out_channels, in_channels, groups, windows, src, tuple(dst), pads, documented
        )

    def _is_documented(self, channels: Dim, first: int, second: int, kernel: Sequence[int]) -> bool:
        """Return whether the weights have the page's layout (C / groups, O, ...), not (C, O / groups, ...).

        The channels of diff_dst decide: they are O. If they are unknown, the declared channels of diff_src
        do: they are C. Without both, divisibility by groups may exclude one layout; otherwise it is the
        library's, with a remark.
        """
        groups = self.groups
        if groups > 1 and not isinstance(channels, int):
            documented = self._declared_reading(first)
            readings = self._possible_readings(first, second)
            if documented is None and not any(readings):
                raise self._layout_error(first, second, kernel)
            documented = readings == (False, True) if documented is None else documented
            if documented:
                self.divides(second, "O, the second dimension of weights,")
            return documented
        if not isinstance(channels, int):
            return False
        self.divides(channels, "O, the channels of diff_dst,")
        if second * groups != channels and second != channels:
            raise self._channel_error(channels, first, second, kernel)
        documented = second * groups != channels
        if groups > 1 and self._declared_reading(first) is (not documented):
            raise self._reading_error(channels, first, documented)
        return documented

    def _possible_readings(self, first: int, second: int) -> tuple[bool, bool]:
        """Return whether groups divide the channels in the library's layout, and in the page's."""
        groups = self.groups
        return first % groups == 0, second % groups == 0

    def _declared_reading(self, first: int) -> bool | None:
        """Return whether the declared channels of diff_src imply the page's layout; None if neither."""
        declared, groups = self._declared_channels(), self.groups
        return {first: False, first * groups: True}.get(declared) if isinstance(declared, int) else None

    @property
    def is_ambiguous(self) -> bool:
        """True if both weights layouts are possible; the library's is then assumed."""
        static = self.static_weights(self.weights, len(shape_of(self.diff_dst)) - 2)
        first, second, *_ = layouts.reorder(static, self.weights_format, "IOX")
        channels = self.channels_first(self.diff_dst)[1]
        known = isinstance(channels, int) or self._declared_reading(first) is not None
        return self.groups > 1 and not known and all(self._possible_readings(first, second))

    def choose_reading(self) -> bool:
        if not self.is_ambiguous:
            return False
        problem = self.problem()
        self.attributes[DEFAULT_LAYOUT] = StringAttr("library")
        for value, channels in ((self.diff_dst, problem.out_channels), (self.diff_src, problem.in_channels)):
            shape = list(shape_of(value))
            shape[layouts.axis_of(self.data_format, "C", len(problem.windows))] = channels
            set_type(value, tensor_type(element_type_of(value), shape))
        return True

    def _layout_error(self, first: int, second: int, kernel: Sequence[int]) -> GradcError:
        groups, shape = self.groups, self._in_weights_format((first, second, *kernel))
        return self.error(
            "groups",
            given=groups,
            expected=f"a divisor of {first}, the C of weights {shape} in the library's layout (C, O/groups, "
            f"...), or of {second}, the O of it in the page's layout (C/groups, O, ...)",
        )

    def _reading_error(self, channels: int, first: int, documented: bool) -> GradcError:
        groups = self.groups
        readings = [f"the library's layout (C, O/groups, ...), C = {first}"]
        readings.append(f"the page's layout (C/groups, O, ...), C = {first * groups}")
        expected, given = reversed(readings) if documented else readings
        return self.error(
            f"weights {show(self.weights)} with groups {groups}",
            given=f"{given}, by the channels {self._declared_channels()} of diff_src",
            expected=f"{expected}, by the {channels} channels of diff_dst",
        )

    def _channel_error(self, channels: int, first: int, second: int, kernel: Sequence[int]) -> GradcError:
        groups = self.groups
        library = self._in_weights_format((first, channels // groups, *kernel))
        given = f"{second} (weights {show(self.weights)} read as {self.value('weights_format')})"
        if groups == 1:
            data = self.data_format
            axis = layouts.axis_of(data, "C", len(kernel))
            expected = f"{channels}, the channels of diff_dst {show(self.diff_dst)} ({data}: axis {axis})"
        else:
            documented = self._in_weights_format((-(-first // groups), channels, *kernel))
            expected = (
                f"O/groups = {channels}/{groups} = {channels // groups} (weights like {library}) "
                f"or, in the page's layout, O = {channels} (weights like {documented})"
            )
        hint = self.format_hint(self.diff_dst, second * groups)
        return self.error("weights O", given=given, expected=expected, hint=hint)

    def _declared_channels(self) -> Dim:
        declared = shape_of(self.diff_src)
        data = self.data_format
        return declared[layouts.axis_of(data, "C", len(declared) - 2)] if len(declared) > 2 else None

    def _in_weights_format(self, shape: tuple[int, ...]) -> str:
        return shapes.show(layouts.reorder(shape, "IOX", self.weights_format))

    def axis_pads(self, windows: Sequence[Window], dst: Sequence[Dim], axis: int) -> Pads | None:
        if not self.is_same:
            return self.explicit_pads()[axis]
        y = dst[axis]
        if not isinstance(y, int):
            return None
        return same_pads_forward(windows[axis], y, self.auto_pad, self.auto_pad_rule)

    def _axis_size(self, letter: str, window: Window, y: Dim, pads: Pads | None) -> Dim:
        if pads is None or not isinstance(y, int):
            return None
        try:
            check_fits(window, y, pads)
        except GradcError as error:
            hint = self.default_hint("data_format", "weights_format")
            raise self.error(f"axis {letter}: {error.diagnostic.message}", hint=hint) from None
        return window.output_size(y, *pads)

    def _check_output_padding(
        self,
        windows: Sequence[Window],
        dst: Sequence[Dim],
        src: Sequence[Dim],
        pads: Sequence[Pads | None],
    ) -> None:
        if not self.is_given("output_padding"):
            return
        rows = zip(axis_letters(len(dst)), self.value("output_padding"), windows, dst, src, pads, strict=True)
        for letter, given, window, y, x, pad in rows:
            if given >= window.stride:
                raise self.error(
                    f"output_padding axis {letter}",
                    given=given,
                    expected=f"less than the stride {window.stride}",
                )
            if pad is not None and isinstance(x, int) and isinstance(y, int):
                self._check_forward(letter, given, window, y, x, pad)

    def _check_forward(self, letter: str, given: int, window: Window, y: int, x: int, pads: Pads) -> None:
        """Check Y = s (X - 1) + Ke - pb - pe + output_padding."""
        forward = window.input_size(x, *pads, given)
        if forward != y:
            raise self.error(
                f"output_padding axis {letter}: forward gives {window.stride}*({x}-1) + {window.extent} - "
                f"{sum(pads)} + {given} = {forward}, diff_dst has {y}",
                given=given,
                expected=window.residue(y, *pads),
            )

    def _check_declared(
        self,
        shape: tuple[Dim, ...],
        windows: Sequence[Window],
        dst: Sequence[Dim],
        pads: Sequence[Pads | None],
    ) -> None:
        if len(shape_of(self.diff_src)) != len(shape):
            raise self.error("rank of diff_src", given=show(self.diff_src), expected=len(shape))
        declared = self.channels_first(self.diff_src)
        notes = [f"{shape[0]}, the batch of diff_dst", f"{shape[1]}, the I of weights"]
        for window, y, pad, x in zip(windows, dst, pads, shape[2:], strict=True):
            pb, pe = pad or (0, 0)
            notes.append(f"({y} + {pb} + {pe} - {window.extent}) div {window.stride} + 1 = {x}")
        for letter, given, x, note in zip(
            ["N", "C", *axis_letters(len(dst))], declared, shape, notes, strict=True
        ):
            if not shapes.same_dim(given, x):
                raise self.error(
                    f"diff_src axis {letter}",
                    given=f"{given} {show(self.diff_src)}",
                    expected=f"{note} {shapes.show(self._in_data_format(shape))}",
                )

    def _in_data_format(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return layouts.reorder(shape, "NCX", self.data_format)

    def remarks(self) -> Iterator[Diagnostic]:
        yield from self.remark_on_pads()
        problem = self.problem()
        if problem.documented_weights:
            given = self.static_weights(self.weights, len(problem.windows))
            _, channels, *kernel = layouts.reorder(given, self.weights_format, "IOX")
            shape = (problem.in_channels, channels // problem.groups, *kernel)
            yield self.remark(
                f"weights {show(self.weights)} are in the page's layout (C/groups, O, ...); the library, "
                f"PyTorch and ONNX would have (C, O/groups, ...) = {self._in_weights_format(shape)}"
            )
        yield from self._guess_remark(problem)
        yield from self._rule_remarks(problem)

    def _guess_remark(self, problem: ConvTransposeBackwardDataProblem) -> Iterator[Diagnostic]:
        if DEFAULT_LAYOUT not in self.attributes:
            return
        c, o, groups = problem.in_channels, problem.out_channels, problem.groups
        yield self.remark(
            f"weights {show(self.weights)} are read in the library's layout (C, O/groups, ...), C = {c}, "
            f"O = {o}, not in the page's (C/groups, O, ...), C = {c * groups}, O = {o // groups}: the "
            "channels of diff_dst and diff_src are unknown; declare one of them"
        )

    def _rule_remarks(self, problem: ConvTransposeBackwardDataProblem) -> Iterator[Diagnostic]:
        if not self.is_same or self.states_rule:
            return
        rule, word_ = self.auto_pad_rule, self.auto_pad
        other = "library" if rule == "documented" else "documented"
        rows = zip(axis_letters(len(problem.dst)), problem.windows, problem.dst, problem.pads, strict=True)
        for letter, window, y, pads in rows:
            if not isinstance(y, int):
                if any(
                    same_pads_forward(window, size, word_, rule)
                    != same_pads_forward(window, size, word_, other)
                    for size in same_pad_samples(window)
                ):
                    yield self.dynamic_rule_remark(letter)
                continue
            alternative = same_pads_forward(window, y, word_, other)
            if alternative != pads:
                yield self.remark(
                    f"auto_pad {word_} axis {letter}: the {rule} rule gives pads {pads}, the {other} rule "
                    f"would give {alternative}"
                )
