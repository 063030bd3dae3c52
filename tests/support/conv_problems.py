"""Random problems of the convolution gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from support import forward
from support.generator import SPATIAL, Generator, channels_of, in_layout, spatial_of
from support.problems import Node, Value
from xdsl.dialects.builtin import DYNAMIC_INDEX

from dialects.grad.conv import ConvBackwardDataOp
from dialects.grad.conv import ConvTransposeBackwardDataOp as CanonicalConvTranspose
from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
from dialects.onednn.conv_transpose_backward_data import ConvTransposeBackwardDataOp

WIDE = 32
"""Channels of diff_dst where blocks of channels matter."""


class ConvGenerator(Generator):
    # --- ConvolutionBackwardData -------------------------------------------------------------------

    def convolution(self, dst: Value | None = None) -> Value:
        data = self.layout(dst)
        n = len(dst.declared) - 2 if dst else self.draw.choice((2, 1, 3))
        if dst is None:
            dst = self.fresh_diff_dst(n, data, 5 if n < 3 else 3)
        ys = [spatial_of(size, data) for size in dst.sizes]
        channels = channels_of(dst.sizes[0], data)
        groups = self.draw.choice([g for g in (1, 2, 3, channels) if channels % g == 0])
        per_group = self.draw.integer(1, 3)
        strides = [1] * n if self.flag(3) else self.ints(n, 1, 4 if n < 3 else 3)
        dilations = self.ints(n, 1, 3 if n < 3 else 2)
        # a kernel of 1 has lowerings of its own
        kernel = [1] * n if self.flag(4) else self.ints(n, 1, 4 if n < 3 else 3)
        varies = dst.varies and len(set(ys)) > 1
        source = self.draw.choice(self._sources(varies))
        words = ["none", "same_upper", "same_lower", "valid"]
        rules = ["documented", "library"]
        if varies and source != "runtime":
            words, rules = ["same_upper", "same_lower"], ["documented"]
        word, rule = self.draw.choice(words), self.draw.choice(rules)
        attributes = {
            "strides": strides,
            "dilations": dilations,
            "data_format": self.case(data),
            "groups": groups,
            "auto_pad": self.draw.choice(("notset", "NONE")) if word == "none" else self.case(word),
            "auto_pad_rule": rule,
        }
        axes = [
            self._backward_axis(
                Axis(kernel[i], strides[i], dilations[i]), [y[i] for y in ys], word, rule, source == "runtime"
            )
            for i in range(n)
        ]
        attributes["pads_begin"] = [a.given[0] for a in axes]
        attributes["pads_end"] = [a.given[1] for a in axes]
        padding = [a.output_padding for a in axes]
        if any(padding) or self.flag(4):
            attributes["output_padding"] = padding
        for name in ("groups", "auto_pad", "auto_pad_rule"):
            if attributes[name] in (1, "none", "documented") and self.flag():
                del attributes[name]
        weights_format = self.draw.choice(("OIX", "XIO"))
        attributes["weights_format"] = self.case(weights_format)
        order = (channels, per_group, *kernel)
        weights = self.weights(order if weights_format == "OIX" else (*kernel, per_group, channels))
        sizes = [
            in_layout((self.batches[run], per_group * groups, *(a.x[run] for a in axes)), data)
            for run in range(self.problem.runs)
        ]
        operands, declared = [dst, weights], None
        batch = dst.declared[0]
        if source in ("attribute", "both", "runtime") and (source != "runtime" or self.flag(4)):
            shape = list(sizes[0])
            if not isinstance(batch, int):
                shape[0] = self.draw.choice((DYNAMIC_INDEX, shape[0]))
            if source == "runtime" or (source == "both" and self.flag()):
                shape[1] = shape[1] + (data == "NXC")  # the input precedes it
            attributes["dst_shape"] = shape
        if source in ("input", "both", "runtime"):
            operands.append(self.sizes_operand("dst_shape", sizes, constant=source != "runtime"))
        if source == "result":
            declared = (batch if self.flag() else None, *sizes[0][1:])
        forwards = tuple(
            forward.Convolution(
                strides, dilations, [a.pads[run][0] for a in axes], groups, ys[run], data, weights_format
            )
            for run in range(self.problem.runs)
        )
        known = (batch, *sizes[0][1:])
        if source == "runtime":
            known = in_layout((batch, per_group * groups, *(None,) * n), data)
        result = self.problem.result("dx", self.dtype, known, sizes)
        node = Node(
            ConvolutionBackwardDataOp, tuple(operands), attributes, result, declared, forwards, weights=1
        )
        self.problem.nodes.append(node)
        return result

    def _sources(self, varies: bool) -> tuple[str, ...]:
        if self.dynamic != SPATIAL:
            return ("attribute", "result", "input", "both")
        return ("runtime", "runtime", "attribute", "input") if varies else ("runtime", "attribute", "result")

    def _backward_axis(
        self, axis: Axis, ys: Sequence[int], word: str, rule: str, runtime: bool
    ) -> BackwardAxis:
        """Sizes X and pads of one axis for each run. With a known X all runs share it."""
        count = len(ys)
        ignored = (self.draw.integer(0, 2), self.draw.integer(0, 2)) if self.flag(4) else (0, 0)
        if word in ("none", "valid"):
            pads = self._pads(min(axis.full(y) for y in ys) - 1, axis.extent) if word == "none" else (0, 0)
            rests = self.ints(count if runtime else 1, 0, axis.stride - 1)
            xs = [
                axis.full(y) - sum(pads) + r for y, r in zip(ys, rests * (count // len(rests)), strict=True)
            ]
            given = pads if word == "none" else ignored
            wrong = self.flag(8) and word == "none"
            padding = self.draw.integer(0, axis.stride) if wrong else 0
            return BackwardAxis(xs, [pads] * count, given, padding)
        if rule == "library":
            xs = [axis.stride * (y - 1) + self.draw.integer(1, axis.stride) for y in ys]
            xs = xs if runtime else xs[:1] * count
            return BackwardAxis(xs, [axis.library_pads(x, word) for x in xs], ignored, 0)
        padding = self.draw.integer(0, axis.stride - 1)
        xs = []
        for y in ys if runtime else [min(ys)]:
            natural = axis.full(y)
            # beyond the natural size the total is negative and the residue takes what is left
            low, high = (natural, natural + axis.stride - 1 + padding) if self.flag(4) else (1, natural)
            xs.append(self.draw.integer(max(1, low), max(high, 1)))
        if not runtime:
            xs = xs * count
        totals = [axis.full(y) - x + padding for x, y in zip(xs, ys, strict=True)]
        legal = [t >= 0 or axis.output(x) == y for t, x, y in zip(totals, xs, ys, strict=True)]
        if not all(legal):
            xs = [min(x, axis.full(y)) for x, y in zip(xs, ys, strict=True)]
            xs = xs if runtime else [min(xs)] * count
            totals = [axis.full(y) - x + padding for x, y in zip(xs, ys, strict=True)]
        pads = [documented_pads(max(t, 0), word) for t in totals]
        return BackwardAxis(xs, pads, ignored, padding)

    def _pads(self, room: int, extent: int) -> tuple[int, int]:
        """Pads that leave something of a size of room + 1; may exceed the kernel."""
        begin = self.draw.integer(0, min(room, extent + 2))
        end = self.draw.integer(0, min(room - begin, extent + 2))
        return (begin, end)

    # --- ConvTransposeBackwardData -----------------------------------------------------------------

    def conv_transpose(self, dst: Value | None = None) -> Value:
        data = self.layout(dst)
        n = len(dst.declared) - 2 if dst else self.draw.choice((2, 1, 3))
        if dst is None:
            dst = self.fresh_diff_dst(n, data, 9 if n < 3 else 6)
        ys = [spatial_of(size, data) for size in dst.sizes]
        channels = channels_of(dst.sizes[0], data)
        groups = self.draw.choice([g for g in (1, 2, 3, channels) if channels % g == 0])
        per_group = self.draw.integer(1, 3)
        strides = [1] * n if self.flag(3) else self.ints(n, 1, 4 if n < 3 else 3)
        dilations = self.ints(n, 1, 3 if n < 3 else 2)
        kernel = [1] * n if self.flag(5) else self.ints(n, 1, 4 if n < 3 else 3)
        word = self.draw.choice(("none", "same_upper", "same_lower", "valid"))
        rule = self.draw.choice(("documented", "library"))
        axes = []
        for i in range(n):
            sizes = [y[i] for y in ys]
            if word == "valid":
                fitting = (min(sizes) - 1) // dilations[i] + 1
                kernel[i] = min(kernel[i], fitting)
            axis = Axis(kernel[i], strides[i], dilations[i])
            axes.append(self._forward_axis(axis, sizes, word, rule))
        documented = groups > 1 and self.flag()
        weights_format = self.draw.choice(("XOI", "IOX"))
        first, second = per_group * groups, channels // groups
        if documented:
            first, second = per_group, channels
        # at groups > 1 the second dimension tells the layouts apart, and it always differs
        shape = (first, second, *kernel) if weights_format == "IOX" else (*kernel, second, first)
        weights = self.weights(shape)
        attributes = {
            "strides": strides,
            "dilations": dilations,
            "pads_begin": [a.given[0] for a in axes],
            "pads_end": [a.given[1] for a in axes],
            "auto_pad": self.case(word),
            "auto_pad_rule": rule,
            "groups": groups,
            "data_format": self.case(data),
            "weights_format": self.case(weights_format),
        }
        rests = {tuple(a.rests[run] for a in axes) for run in range(self.problem.runs)}
        if len(rests) == 1 and self.flag(3):
            attributes["output_padding"] = list(rests.pop())
        if data == "NXC" and self.flag():
            del attributes["data_format"]
        if weights_format == "XOI" and self.flag():
            del attributes["weights_format"]
        sizes = [
            in_layout((self.batches[run], per_group * groups, *(a.x[run] for a in axes)), data)
            for run in range(self.problem.runs)
        ]
        varies = len(set(ys)) > 1
        known = (dst.declared[0], *sizes[0][1:])
        if self.dynamic == SPATIAL:
            known = in_layout((dst.declared[0], per_group * groups, *(None,) * n), data)
        declared = known if self.flag(3) and (not varies or self.dynamic == SPATIAL) else None
        forwards = tuple(
            forward.ConvTranspose(
                strides,
                dilations,
                [a.pads[run][0] for a in axes],
                groups,
                ys[run],
                data,
                weights_format,
                documented,
            )
            for run in range(self.problem.runs)
        )
        result = self.problem.result("dx", self.dtype, known, sizes)
        node = Node(
            ConvTransposeBackwardDataOp, (dst, weights), attributes, result, declared, forwards, weights=1
        )
        self.problem.nodes.append(node)
        return result

    def _forward_axis(self, axis: Axis, ys: Sequence[int], word: str, rule: str) -> BackwardAxis:
        count = len(ys)
        if word.startswith("same"):
            ignored = (self.draw.integer(0, 2), 1) if self.flag(4) else (0, 0)
            pads = [axis.library_pads(y, word) for y in ys]
            if rule == "documented":
                pads = [documented_pads(sum(p), word) for p in pads]
        else:
            ignored = (0, 0)
            if word == "none":
                missing = max(0, axis.extent - min(ys))
                begin = self.draw.integer(0, axis.extent + 1)
                low = max(0, missing - begin)
                ignored = (begin, self.draw.integer(low, max(low, axis.extent + 1)))
            pads = [ignored] * count
        padded = [y + sum(p) for y, p in zip(ys, pads, strict=True)]
        rests = [(length - axis.extent) % axis.stride for length in padded]
        xs = [(length - axis.extent) // axis.stride + 1 for length in padded]
        return BackwardAxis(xs, pads, ignored, 0, tuple(rests))

    # --- canonical ops -------------------------------------------------------------------------------

    def grouped_convolution(self, dst: Value | None = None) -> Value:
        """`grad.conv_backward_data` of groups of a few channels, enough together for a block of 16."""
        return self.canonical_convolution(dst, grouped=True)

    def grouped_conv_transpose(self, dst: Value | None = None) -> Value:
        """`grad.conv_transpose_backward_data` of such groups."""
        return self.canonical_conv_transpose(dst, grouped=True)

    def canonical_convolution(self, dst: Value | None = None, grouped: bool = False) -> Value:
        """`grad.conv_backward_data` as no source op lowers to it, too: a residue beside unknown sizes."""
        data = self.layout(dst)
        n = len(dst.declared) - 2 if dst else self.draw.choice((2, 1) if grouped else (2, 1, 3))
        dst = dst or self.fresh_diff_dst(n, data, 5 if n < 3 else 3, WIDE if grouped else None)
        channels = channels_of(dst.sizes[0], data)
        groups, per_group, kernel = self._channels(n, channels)
        # as one convolution: stride 1, and pads of less than the kernel
        single = self.flag()
        axes = [Axis(k, 1 if single else self.draw.integer(1, 3), self.draw.integer(1, 2)) for k in kernel]
        ys = [spatial_of(size, data) for size in dst.sizes]
        rooms = [min(axis.full(y[i]) for y in ys) - 1 for i, axis in enumerate(axes)]
        pads = [
            self._pads(min(room, axis.extent - 1) if single else room, axis.extent)
            for room, axis in zip(rooms, axes, strict=True)
        ]
        residue = [self.draw.integer(0, axis.stride - 1) for axis in axes]
        rows = list(zip(axes, pads, residue, strict=True))
        sizes = [
            [a.full(y) - sum(p) + r for (a, p, r), y in zip(rows, spatial, strict=True)] for spatial in ys
        ]
        attributes = self._window(axes, pads, groups) | {"residue": residue, "layout": data}
        weights = self.weights((channels, per_group, *kernel))
        forwards = tuple(
            forward.Convolution(
                [a.stride for a in axes],
                [a.dilation for a in axes],
                [p for p, _ in pads],
                groups,
                y,
                data,
                "OIX",
            )
            for y in ys
        )
        width = per_group * groups
        return self._canonical(ConvBackwardDataOp, dst, weights, attributes, width, sizes, forwards)

    def canonical_conv_transpose(self, dst: Value | None = None, grouped: bool = False) -> Value:
        """`grad.conv_transpose_backward_data`."""
        data = self.layout(dst)
        n = len(dst.declared) - 2 if dst else self.draw.choice((2, 1) if grouped else (2, 1, 3))
        dst = dst or self.fresh_diff_dst(n, data, 9 if n < 3 else 6, WIDE if grouped else None)
        channels = channels_of(dst.sizes[0], data)
        groups, per_group, kernel = self._channels(n, channels)
        single = self.flag()
        axes = [Axis(k, 1 if single else self.draw.integer(1, 3), self.draw.integer(1, 2)) for k in kernel]
        ys = [spatial_of(size, data) for size in dst.sizes]
        resolved = [
            self._forward_axis(axis, [y[i] for y in ys], "none", "library") for i, axis in enumerate(axes)
        ]
        pads = [axis.given for axis in resolved]
        sizes = [[axis.x[run] for axis in resolved] for run in range(self.problem.runs)]
        width = per_group * groups
        weights = self.weights((width, channels // groups, *kernel))
        forwards = tuple(
            forward.ConvTranspose(
                [a.stride for a in axes],
                [a.dilation for a in axes],
                [p for p, _ in pads],
                groups,
                y,
                data,
                "IOX",
                False,
            )
            for y in ys
        )
        attributes = self._window(axes, pads, groups) | {"layout": data}
        return self._canonical(CanonicalConvTranspose, dst, weights, attributes, width, sizes, forwards)

    def _channels(self, n: int, channels: int) -> tuple[int, int, list[int]]:
        """(groups, channels of the other side per group, kernel)."""
        kernel = [1] * n if self.flag() else self.ints(n, 1, 3)
        if channels == WIDE:
            groups = self.draw.choice((4, 8))
            return groups, WIDE // groups // self.draw.choice((1, 2)), kernel
        groups = self.draw.choice([g for g in (1, 2, 3, channels) if channels % g == 0])
        return groups, self.draw.integer(1, 3), kernel

    @staticmethod
    def _window(axes: Sequence[Axis], pads: Sequence[tuple[int, int]], groups: int) -> dict:
        return {
            "strides": [a.stride for a in axes],
            "dilations": [a.dilation for a in axes],
            "pads_begin": [begin for begin, _ in pads],
            "pads_end": [end for _, end in pads],
            "groups": groups,
        }

    def _canonical(
        self, op, dst: Value, weights: Value, attributes: dict, channels: int, spatial, forwards
    ) -> Value:
        """`spatial` are the spatial sizes of the result in each run."""
        data = attributes["layout"]
        sizes = [
            in_layout((size[0], channels, *xs), data) for size, xs in zip(dst.sizes, spatial, strict=True)
        ]
        known = (None,) * len(spatial[0]) if self.dynamic == SPATIAL else spatial[0]
        declared = in_layout((dst.declared[0], channels, *known), data)
        result = self.problem.result("dx", self.dtype, declared, sizes)
        self.problem.nodes.append(Node(op, (dst, weights), attributes, result, None, forwards, weights=1))
        return result


@dataclass(frozen=True)
class Axis:
    """The arithmetic of a window, written a second time."""

    kernel: int
    stride: int
    dilation: int

    @property
    def extent(self) -> int:
        return 1 + self.dilation * (self.kernel - 1)

    def full(self, y: int) -> int:
        """Positions under y windows."""
        return self.extent + self.stride * (y - 1)

    def output(self, x: int) -> int:
        """Windows that fit into x positions."""
        return len(range(0, x - self.extent + 1, self.stride))

    def library_pads(self, x: int, word: str) -> tuple[int, int]:
        outputs = -(-x // self.stride)
        total = max(0, self.full(outputs) - x)
        begin = total // 2 if word == "same_upper" else (total + 1) // 2
        return (begin, total - begin)


def documented_pads(total: int, word: str) -> tuple[int, int]:
    begin = total // 2 if word == "same_lower" else (total + 1) // 2
    return (begin, total - begin)


@dataclass(frozen=True)
class BackwardAxis:
    """Per run: size x of diff_src, true pads. `given` are the pads that the attributes say."""

    x: Sequence[int]
    pads: Sequence[tuple[int, int]]
    given: tuple[int, int]
    output_padding: int
    rests: tuple[int, ...] = ()
