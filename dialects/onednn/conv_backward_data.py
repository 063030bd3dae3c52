"""ConvolutionBackwardData (oneDNN 3.13, dev_guide_op_convolutionbackwarddata)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.irdl import (
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from dialects.grad.geometry import (
    Pads,
    Window,
    axis_letters,
    check_consistent,
    check_fits,
    documented_total,
    library_total,
    same_pad_samples,
    same_pads_backward,
)
from dialects.grad.reference import conv
from dialects.onednn.base import OIX_OR_XIO, OneDNNConvOp, show
from dialects.support import layouts, shapes
from dialects.support.attributes import INTS, defaulted, optional
from dialects.support.constants import constant_value
from dialects.support.diagnostics import Diagnostic, GradcError
from dialects.support.documented_op import documented_op
from dialects.support.op_cache_key import once_per_state
from dialects.support.shapes import Dim, Shape, element_type_of, shape_of, tensor_type


@dataclass(frozen=True)
class ConvolutionBackwardDataProblem:
    """The resolved sizes of the op, in NCX order; None marks dynamic ones.

    src and dst are the spatial sizes X and Y; pads are None per axis if they depend on an unknown size.
    """

    batch: Dim
    out_channels: int
    in_channels: int
    groups: int
    windows: tuple[Window, ...]
    src: tuple[Dim, ...]
    dst: tuple[Dim, ...]
    pads: tuple[Pads | None, ...]


@dataclass(frozen=True)
class ShapeSource:
    """A source of the full shape of diff_src, in `data_format` order."""

    name: str
    shape: Shape


@documented_op
class ConvolutionBackwardDataOp(OneDNNConvOp):
    """Gradient of a convolution with respect to its input.

    diff_src[n, c, x] = sum over o, k of diff_dst[n, o, y] weights[o, j, k], with x + pb - k d = y s
    on every axis, 0 <= y < Y, and c the j-th channel of o's group.

    diff_dst (N, O, Y...) in data_format; weights (O, C / groups, K...) as OIX or XIO; dst_shape, s32
    (N, C, X...) in data_format, the shape of diff_src.

    C1 one float dtype on all ports, dst_shape s32; C2 rank 3 to 5, weights of the same rank; C3 list
    lengths and ranges; C4 groups divides O, O of weights is the channel count of diff_dst; C5 the
    shape of diff_src is given by dst_shape (input, else attribute) or by the result type, in full
    rank; C6 its N, C agree with diff_dst and weights; C7 (X - Ke + pb + pe) div s + 1 == Y on every
    axis; C8 with the library's rule, same_* needs Y == ceil(X / s).
    """

    name = "onednn.convolution_backward_data"
    KIND: ClassVar[str] = "ConvolutionBackwardData"

    diff_dst = operand_def(TensorType)
    weights = operand_def(TensorType)
    dst_shape_input = opt_operand_def(TensorType)
    weights_format = defaulted(OIX_OR_XIO)
    dst_shape = optional(INTS)
    diff_src = result_def(TensorType)

    traits = traits_def(Pure())

    @property
    def out_channels(self) -> int:
        return self.problem().out_channels

    def infer_result_types(self) -> tuple[TensorType, ...]:
        problem = self.problem()
        shape = (problem.batch, problem.in_channels, *problem.src)
        shape = layouts.reorder(shape, "NCX", self.data_format)
        return (tensor_type(element_type_of(self.diff_dst), shape),)

    def evaluate(self, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        diff_dst = layouts.transpose(operands[0], self.data_format, "NCX")
        weights = layouts.transpose(operands[1], self.weights_format, "OIX")
        src: Sequence[Dim] = self.problem().src
        if self.has_runtime_shape:
            src = layouts.reorder(operands[2].tolist(), self.data_format, "NCX")[2:]
        pads = self.resolve_pads(self.windows(weights.shape[2:]), src, diff_dst.shape[2:])
        steps = (self.strides, self.dilations, [pad[0] for pad in pads if pad is not None])
        sizes = [size for size in src if isinstance(size, int)]
        result = conv.conv_backward_data(diff_dst, weights, sizes, *steps, self.groups)
        return (layouts.transpose(result, "NCX", self.data_format),)

    @property
    def has_runtime_shape(self) -> bool:
        """True if the size of diff_src is the run-time value of an operand."""
        return self.dst_shape_input is not None and constant_value(self.dst_shape_input) is None

    @once_per_state
    def problem(self) -> ConvolutionBackwardDataProblem:
        """Run all checks C1 to C8 and return the resolved sizes."""
        n = self._check_ports()
        out_channels, per_group, *kernel = self._weights_oix(n)
        batch, channels, *dst = self.channels_first(self.diff_dst)
        if not shapes.same_dim(channels, out_channels):
            raise self._channel_error(channels, out_channels, kernel, per_group)
        self.divides(out_channels, "O of weights")
        source = self._source(n)
        in_channels = per_group * self.groups
        src: tuple[Dim, ...] = (None,) * n
        if source is not None:
            src = self._check_source(source, batch, in_channels, per_group)
        windows = self.windows(kernel)
        pads = self.resolve_pads(windows, src, dst)
        for letter, window, x, y, pad in zip(axis_letters(n), windows, src, dst, pads, strict=True):
            self._check_axis(letter, window, x, y, pad)
        return ConvolutionBackwardDataProblem(
            batch, out_channels, in_channels, self.groups, windows, src, tuple(dst), pads
        )

    def _check_ports(self) -> int:
        ports = [("diff_dst", self.diff_dst), ("weights", self.weights)]
        self.check_same_dtype(ports)
        n = self.check_rank("diff_dst", self.diff_dst)
        self.check_sizes("diff_dst", shape_of(self.diff_dst), self.data_format)
        self.check_lists(n)
        if self.dst_shape_input is not None:
            self.check_shape_input("dst_shape", self.dst_shape_input, n + 2)
        return n

    def _weights_oix(self, n: int) -> tuple[int, ...]:
        static = self.static_weights(self.weights, n)
        return layouts.reorder(static, self.weights_format, "OIX")

    def _channel_error(
        self, channels: Dim, out_channels: int, kernel: Sequence[int], per_group: int
    ) -> GradcError:
        data, weights = self.data_format, self.weights_format
        axis = layouts.axis_of(data, "C", len(kernel))
        return self.error(
            "weights O",
            given=f"{out_channels} ({weights} reads weights {show(self.weights)} as spatial {list(kernel)}, "
            f"I {per_group}, O {out_channels})",
            expected=f"{channels}, the channels of diff_dst {show(self.diff_dst)} ({data}: axis {axis})",
            hint=self.format_hint(self.diff_dst, out_channels),
        )

    def sources(self) -> list[ShapeSource]:
        """Return the known sources of diff_src's shape by decreasing precedence."""
        found: list[ShapeSource] = []
        if self.dst_shape_input is not None:
            value = constant_value(self.dst_shape_input)
            shape = None if value is None else tuple(int(v) for v in value.ravel())
            found += [] if shape is None else [ShapeSource("the dst_shape input", shape)]
        if self.is_given("dst_shape"):
            dims = self.value("dst_shape")
            shape = tuple(None if d == DYNAMIC_INDEX else d for d in dims)
            found.append(ShapeSource("the dst_shape attribute", shape))
        declared = shape_of(self.diff_src)
        spatial = layouts.spatial_axes(self.data_format, max(len(declared) - 2, 0))
        if all(isinstance(declared[axis], int) for axis in spatial):
            found.append(ShapeSource("the declared result type", declared))
        return found

    def _source(self, n: int) -> ShapeSource | None:
        """Return the source that takes precedence; None if that is a run-time input."""
        if len(shape_of(self.diff_src)) != n + 2:
            raise self.error(
                "rank of diff_src", given=show(self.diff_src), expected=f"{n + 2}, that of diff_dst"
            )
        found = self.sources()
        for source in found:
            self._check_full_rank(source, n + 2)
        if self.has_runtime_shape:
            return None
        if not found:
            raise self.error(
                "the shape of diff_src is not given",
                expected="one of: the dst_shape input, the dst_shape attribute, the declared shape of the "
                "output tensor",
            )
        chosen, last = found[0], found[-1]
        if not shapes.compatible(chosen.shape, last.shape) and last.name == "the declared result type":
            raise self.error(
                "shape of diff_src",
                given=f"{shapes.show(last.shape)} by {last.name}",
                expected=f"{shapes.show(chosen.shape)} by {chosen.name}",
            )
        return chosen

    def _check_full_rank(self, source: ShapeSource, rank: int) -> None:
        if len(source.shape) != rank:
            raise self.error(
                f"length of {source.name}",
                given=f"{len(source.shape)} {shapes.show(source.shape)}",
                expected=rank,
                hint=f"the full shape, including N and C, in {self.value('data_format')} order",
            )

    def _check_source(
        self, source: ShapeSource, batch: Dim, in_channels: int, per_group: int
    ) -> tuple[Dim, ...]:
        n, channels, *spatial = layouts.reorder(source.shape, self.data_format, "NCX")
        for letter, x in zip(axis_letters(len(spatial)), spatial, strict=True):
            if not isinstance(x, int) or x < 1:
                given = "unknown" if x is None else x
                raise self.error(f"{source.name} axis {letter}", given=given, expected="a positive size")
        if isinstance(n, int) and n < 0 and not isinstance(batch, int):
            unknown = f"0 or more, or {DYNAMIC_INDEX} (None in Python) for a dynamic one"
            raise self.error(f"batch of {source.name}", given=n, expected=unknown)
        if not shapes.same_dim(n, batch):
            raise self.error(f"batch of {source.name}", given=n, expected=f"{batch}, that of diff_dst")
        if not shapes.same_dim(channels, in_channels):
            raise self._source_channel_error(source, channels, in_channels, per_group)
        return tuple(spatial)

    def _source_channel_error(
        self, source: ShapeSource, channels: Dim, in_channels: int, per_group: int
    ) -> GradcError:
        groups = self.groups
        hints = [self.default_hint("data_format", "weights_format")]
        if isinstance(channels, int) and channels % groups == 0 and groups > 1:
            wanted = f"{channels}/{groups} = {channels // groups}"
            hints.insert(0, f"or weights I = C/groups = {wanted}, got {per_group}")
        return self.error(
            f"channels of {source.name}",
            given=channels,
            expected=f"weights I * groups = {per_group} * {groups} = {in_channels}",
            hint="; ".join(hint for hint in hints if hint),
        )

    def resolve_pads(
        self, windows: Sequence[Window], src: Sequence[Dim], dst: Sequence[Dim]
    ) -> tuple[Pads | None, ...]:
        if not self.is_same:
            return tuple(self.explicit_pads())
        letters = axis_letters(len(windows))
        return tuple(
            self.pads_of_axis(axis, letters[axis], windows[axis], x, y)
            for axis, (x, y) in enumerate(zip(src, dst, strict=True))
        )

    def pads_of_axis(
        self, axis: int, letter: str, window: Window, x: Dim, y: Dim, rule: str = ""
    ) -> Pads | None:
        """Return the pads of one axis under `auto_pad` same_*; None if they depend on unknown sizes."""
        if not isinstance(x, int):
            return None
        padding = self.value("output_padding")[axis] if self.is_given("output_padding") else 0
        known_y = y if isinstance(y, int) else None
        rule = rule or self.auto_pad_rule
        try:
            return same_pads_backward(window, x, known_y, padding, self.auto_pad, rule)
        except GradcError as error:
            raise self.error(f"axis {letter}: {error.diagnostic.message}") from None

    def _check_axis(self, letter: str, window: Window, x: Dim, y: Dim, pads: Pads | None) -> None:
        if pads is None or not isinstance(x, int):
            return
        try:
            check_fits(window, x, pads)
            if isinstance(y, int):
                check_consistent(window, x, y, pads)
        except GradcError as error:
            hint = self.default_hint("data_format", "weights_format")
            raise self.error(f"axis {letter}: {error.diagnostic.message}", hint=hint) from None

    def remarks(self) -> Iterator[Diagnostic]:
        yield from self._source_remarks()
        yield from self.remark_on_pads()
        problem = self.problem()
        rows = zip(
            axis_letters(len(problem.windows)),
            problem.windows,
            problem.src,
            problem.dst,
            problem.pads,
            strict=True,
        )
        for axis, (letter, window, x, y, pads) in enumerate(rows):
            if pads is not None and isinstance(x, int):
                yield from self._residue_remark(axis, letter, window, x, pads)
            else:
                yield from self._dynamic_residue_remark(axis, letter)
            if pads is not None and isinstance(x, int) and isinstance(y, int):
                yield from self._rule_remark(axis, letter, window, x, y, pads)
            elif self._is_rule_ambiguous(axis, letter, window):
                yield self.dynamic_rule_remark(letter)

    def _dynamic_residue_remark(self, axis: int, letter: str) -> Iterator[Diagnostic]:
        if not self.is_given("output_padding") or (self.is_same and self.auto_pad_rule != "library"):
            return
        if given := self.value("output_padding")[axis]:
            yield self.remark(
                f"output_padding axis {letter}: given {given}; the dynamic size of diff_src decides"
            )

    def _rules_differ(self, axis: int, letter: str, window: Window, x: int) -> bool:
        """Compare both rules for a size of diff_src and the size of diff_dst that both admit."""
        y = -(-x // window.stride)
        pads = [self.pads_of_axis(axis, letter, window, x, y, rule) for rule in ("documented", "library")]
        return pads[0] != pads[1]

    def _source_remarks(self) -> Iterator[Diagnostic]:
        if not self.is_given("dst_shape") or self.dst_shape_input is None:
            return
        attribute = shapes.show(self.value("dst_shape"))
        value = constant_value(self.dst_shape_input)
        if value is None:
            yield self.remark(
                f"the dst_shape attribute {attribute} is ignored: the dst_shape input precedes it"
            )
        elif tuple(value.ravel()) != self.dst_shape:
            yield self.remark(
                f"the dst_shape input {value.tolist()} precedes the dst_shape attribute {attribute}"
            )

    def _residue_remark(
        self, axis: int, letter: str, window: Window, x: int, pads: Pads
    ) -> Iterator[Diagnostic]:
        if not self.is_given("output_padding"):
            return
        given, residue = self.value("output_padding")[axis], window.residue(x, *pads)
        if given not in (0, residue):
            yield self.remark(
                f"output_padding axis {letter}: given {given}, neither 0 nor the residue {residue} that "
                f"the size {x} of diff_src leaves; the size decides",
                strict=True,
            )

    def _is_rule_ambiguous(self, axis: int, letter: str, window: Window) -> bool:
        """Return whether the rules differ for some sizes of an axis and the graph states none."""
        if not self.is_same or self.states_rule:
            return False
        return any(self._rules_differ(axis, letter, window, x) for x in same_pad_samples(window))

    def _rule_remark(
        self, axis: int, letter: str, window: Window, x: int, y: int, pads: Pads
    ) -> Iterator[Diagnostic]:
        if not self.is_same or self.states_rule:
            return
        rule = self.auto_pad_rule
        other = "library" if rule == "documented" else "documented"
        try:
            alternative = self.pads_of_axis(axis, letter, window, x, y, other)
        except GradcError:
            totals = (
                f"{library_total(window, x)} by the library's rule, {documented_total(window, x, y, 0)} by "
                "the page's"
            )
            yield self.remark(
                f"auto_pad {self.value('auto_pad')} axis {letter}: the {rule} rule gives pads {pads}; the "
                f"{other} rule has none for these sizes (total {totals})"
            )
            return
        if alternative is not None and alternative != pads:
            yield self.remark(
                f"auto_pad {self.value('auto_pad')} axis {letter}: the {rule} rule gives pads {pads}, "
                f"the {other} rule would give {alternative}"
            )
