"""Random problems of every source op: all ranks, layouts, attributes, dtypes, static and dynamic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from support import forward
from support.draw import Draw, HypothesisDraw, SeededDraw
from support.problems import Node, Problem, Value, random_array
from xdsl.dialects.builtin import DYNAMIC_INDEX

from dialects.cann.resize import ResizeBilinearV2GradOp, UpsampleBilinear2dBackwardOp
from dialects.onednn.conv_transpose import ConvTransposeBackwardDataOp
from dialects.onednn.convolution import ConvolutionBackwardDataOp
from dialects.onednn.interpolate import InterpolateBackwardOp
from dialects.support.shapes import Dim, Shape

RUNS = 3
ONEDNN_DTYPES = ("f32", "bf16", "f16")
STATIC, BATCH, SPATIAL = "static", "batch", "spatial"
DYNAMICS = (STATIC, BATCH, SPATIAL)
CONSTANT_FORMS = ("onnx", "arith")


@dataclass
class Generator:
    """Draws one problem. `dynamic` is static, batch or spatial (which includes the batch)."""

    draw: Draw
    dynamic: str
    dtype: str
    problem: Problem
    batches: tuple[int, ...]

    # --- small choices ---------------------------------------------------------------------------

    def flag(self, one_in: int = 2) -> bool:
        return self.draw.integer(0, one_in - 1) == one_in - 1

    def ints(self, count: int, low: int, high: int) -> list[int]:
        return [self.draw.integer(low, high) for _ in range(count)]

    def case(self, word: str) -> str:
        """A word in one of the spellings that are read."""
        return self.draw.choice((word, word.lower(), word.upper(), word.capitalize()))

    def layout(self, dst: Value | None) -> str:
        """Any layout can be read into a shape, unless a channel count would be a run-time size."""
        if dst is None or self.dynamic != SPATIAL:
            return self.draw.choice(("NCX", "NXC"))
        return "NCX" if isinstance(dst.declared[1], int) and not _differ(dst.sizes, 1) else "NXC"

    # --- values ----------------------------------------------------------------------------------

    def fresh_diff_dst(self, n: int, layout: str, largest: int) -> Value:
        """A new diff_dst of n spatial axes."""
        channels = self.draw.choice((1, 2, 3, 4, 6))
        spatial = [self._spatial(i, largest) for i in range(n)]
        declared: list[Dim] = [self.declared_batch(), channels, *(d for d, _ in spatial)]
        sizes = [
            (self.batches[run], channels, *(s[run] for _, s in spatial)) for run in range(self.problem.runs)
        ]
        order = [0, *range(2, n + 2), 1] if layout == "NXC" else list(range(n + 2))
        reordered = [tuple(size[i] for i in order) for size in sizes]
        return self.problem.add_input("dy", self.dtype, tuple(declared[i] for i in order), reordered)

    def declared_batch(self) -> Dim:
        if self.dynamic == STATIC or (self.dynamic == SPATIAL and len(set(self.batches)) == 1):
            return self.batches[0]
        return self.draw.choice(("N", None))

    def _spatial(self, index: int, largest: int) -> tuple[Dim, tuple[int, ...]]:
        if self.dynamic != SPATIAL or self.flag(3):
            size = self.draw.integer(1, largest)
            return size, (size,) * self.problem.runs
        name = f"Y{len(self.problem.inputs)}_{index}" if self.flag() else None
        if self.flag(4):
            return name, (self.draw.integer(1, largest),) * self.problem.runs
        return name, tuple(self.ints(self.problem.runs, 1, largest))

    def weights(self, shape: Sequence[int]) -> Value:
        if self.flag():
            return self.problem.add_input("w", self.dtype, tuple(shape), (tuple(shape),) * self.problem.runs)
        array = random_array([self.problem.seed, 99, len(self.problem.constants)], self.dtype, shape)
        return self.problem.add_constant("w", array, self.draw.choice(CONSTANT_FORMS))

    def sizes_operand(self, name: str, values: Sequence[Sequence[int]], *, constant: bool) -> Value:
        if not constant:
            return self.problem.add_sizes(name, values)
        array = np.array(values[0], np.int32)
        return self.problem.add_constant(name, array, self.draw.choice(CONSTANT_FORMS))

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
        strides, dilations = self.ints(n, 1, 4 if n < 3 else 3), self.ints(n, 1, 3 if n < 3 else 2)
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
        strides, dilations = self.ints(n, 1, 4 if n < 3 else 3), self.ints(n, 1, 3 if n < 3 else 2)
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

    # --- InterpolateBackward -----------------------------------------------------------------------

    def interpolate(self, dst: Value | None = None) -> Value:
        data = self.layout(dst)
        n = len(dst.declared) - 2 if dst else self.draw.choice((2, 1, 3))
        largest = 9 if n < 3 else 5
        if dst is None:
            dst = self.fresh_diff_dst(n, data, largest)
        ys = [spatial_of(size, data) for size in dst.sizes]
        declared_y = spatial_of(dst.declared, data)
        axes = [self._resized(i, declared_y[i], [y[i] for y in ys], largest) for i in range(n)]
        batch = dst.declared[0] if self.flag(3) else self.declared_batch()
        channels = channels_of(dst.sizes[0], data)
        xs = [tuple(sizes[run] for _, sizes in axes) for run in range(self.problem.runs)]
        src = self.problem.add_input(
            "src",
            self.dtype,
            in_layout((batch, channels, *(d for d, _ in axes)), data),
            [in_layout((self.batches[run], channels, *xs[run]), data) for run in range(self.problem.runs)],
        )
        mode = self.draw.choice(("nearest", "linear", "bilinear", "trilinear"))
        coordinate = self.draw.choice(("half_pixel", "align_corners"))
        rounding = self.draw.choice(("exact", "pytorch_nearest", "onnx_prefer_floor"))
        if coordinate == "align_corners" and rounding == "pytorch_nearest":
            rounding = "exact"
        attributes = {"mode": self.case(mode), "coordinate_transformation_mode": self.case(coordinate)}
        if rounding != "exact":
            attributes["nearest_rounding"] = rounding
        if data == "NCX" or self.flag():
            attributes["data_format"] = self.case(data)
        if coordinate == "half_pixel" and self.flag():
            del attributes["coordinate_transformation_mode"]
        operands = [src, dst]
        fixed = len(set(ys)) == 1
        forms = ["sizes", "input", "constant", "scales", "both", "all"] if fixed else ["input", "scales"]
        form = self.draw.choice(forms)
        if form in ("sizes", "both", "all"):
            attributes["sizes"] = list(ys[0])
        if form in ("scales", "both"):
            attributes["scales"] = [float(f"{y / x:.6g}") for x, y in zip(xs[0], ys[0], strict=True)]
            if form == "both":
                attributes["scales"] = [1.5] * n  # sizes precede them
        if form in ("input", "constant", "all"):
            operands.append(self.sizes_operand("sizes", ys, constant=form == "constant"))
        if form == "scales" and not _scales_fit(attributes["scales"], xs[0], ys[0]):
            attributes["sizes"] = list(ys[0])
        interpolation, rule = "linear", coordinate
        if mode == "nearest":
            interpolation = {"exact": "half_up", "pytorch_nearest": "floor"}.get(rounding, "half_down")
            rule = "asymmetric" if rounding == "pytorch_nearest" else coordinate
        forwards = tuple(
            forward.Resize(
                {
                    (1 if data == "NXC" else 2) + i: forward.ResizeAxis(x, y, interpolation, rule)
                    for i, (x, y) in enumerate(zip(xs[run], ys[run], strict=True))
                }
            )
            for run in range(self.problem.runs)
        )
        result = self.problem.result("dx", self.dtype, src.declared, src.sizes)
        self.problem.nodes.append(
            Node(InterpolateBackwardOp, tuple(operands), attributes, result, None, forwards, diff_dst=1)
        )
        return result

    def _resized(
        self, index: int, declared: Dim, ys: Sequence[int], largest: int
    ) -> tuple[Dim, tuple[int, ...]]:
        """The declared and run-time sizes X of one axis, whose Y is given."""
        if self.flag(6):  # the identity, known by size or name or only at run time
            known = ys[0] if len(set(ys)) == 1 else None
            return self.draw.choice((declared, known)), tuple(ys)
        return self._spatial(index + 10, largest)

    # --- Ascend --------------------------------------------------------------------------------------

    def resize_v2(self, dst: Value | None = None) -> Value:
        data = self.layout(dst)
        layout = "NCHW" if data == "NCX" else "NHWC"
        if dst is None:
            dst = self.fresh_diff_dst(2, data, 9)
        ys = [spatial_of(size, data) for size in dst.sizes]
        declared_y = spatial_of(dst.declared, data)
        axes = [self._resized(i, declared_y[i], [y[i] for y in ys], 9) for i in range(2)]
        xs = [tuple(sizes[run] for _, sizes in axes) for run in range(self.problem.runs)]
        channels = channels_of(dst.sizes[0], data)
        dtype = self.draw.choice(("f32", "f16", "bf16")) if dst.dtype == "f32" else dst.dtype
        image = self.problem.add_input(
            "image",
            dtype,
            in_layout((self.declared_batch(), channels, *(d for d, _ in axes)), data),
            [in_layout((self.batches[run], channels, *xs[run]), data) for run in range(self.problem.runs)],
        )
        mode = self.draw.choice(("asymmetric", "half_pixel", "align_corners"))
        scales = self._scales(list(zip(xs[0], ys[0], strict=True)))
        attributes: dict = {"scales": scales}
        if layout != "NCHW" or self.flag():
            attributes["format"] = self.case(layout)
        if mode == "half_pixel":
            attributes["half_pixel_centers"] = True
        if mode == "align_corners":
            attributes["align_corners"] = True
        if scales == [0.0, 0.0] and self.flag():
            del attributes["scales"]
        forwards = self._bilinear(data, xs, ys, mode, scales)
        result = self.problem.result("dx", dtype, image.declared, image.sizes)
        self.problem.nodes.append(
            Node(ResizeBilinearV2GradOp, (dst, image), attributes, result, None, forwards)
        )
        return result

    def _scales(self, sizes: Sequence[tuple[int, int]]) -> list[float]:
        scales = []
        for x, y in sizes:
            options = (0.0, y / x, float(np.float32(y / x)), 0.75, 1.7, 3.0, -1.0)
            scales.append(self.draw.choice(options))
        return scales

    def _bilinear(self, data: str, xs, ys, mode: str, scales: Sequence[float]):
        first = 2 if data == "NCX" else 1
        return tuple(
            forward.Resize(
                {
                    first + i: forward.ResizeAxis(xs[run][i], ys[run][i], "linear", mode, scales[i])
                    for i in range(2)
                }
            )
            for run in range(self.problem.runs)
        )

    def upsample(self, dst: Value | None = None) -> Value:
        data = self.layout(dst)
        layout = "NCHW" if data == "NCX" else "NHWC"
        if dst is None:
            dst = self.fresh_diff_dst(2, data, 9)
        ys = [spatial_of(size, data) for size in dst.sizes]
        x = tuple(self.ints(2, 1, 9))
        channels = channels_of(dst.sizes[0], data)
        corners = self.flag(3)
        scales = self._scales(list(zip(x, ys[0], strict=True)))
        sizes = [in_layout((n, channels, *x), data) for n in self.batches]
        batch = dst.declared[0]
        attributes = {
            "outputSize": [
                value if isinstance(known, int) or len(set(ys)) == 1 else DYNAMIC_INDEX
                for value, known in zip(ys[0], spatial_of(dst.declared, data), strict=True)
            ],
            "inputSize": [batch if isinstance(batch, int) else DYNAMIC_INDEX, *sizes[0][1:]],
            "alignCorners": corners,
            "scalesH": scales[0],
            "scalesW": scales[1],
        }
        if layout != "NCHW" or self.flag():
            attributes["format"] = layout
        mode = "align_corners" if corners else "half_pixel"
        forwards = self._bilinear(data, [x] * self.problem.runs, ys, mode, scales)
        result = self.problem.result("dx", dst.dtype, (batch, *sizes[0][1:]), sizes)
        self.problem.nodes.append(
            Node(UpsampleBilinear2dBackwardOp, (dst,), attributes, result, None, forwards)
        )
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


def _scales_fit(scales: Sequence[float], xs: Sequence[int], ys: Sequence[int]) -> bool:
    """Whether six digits of a scale still tell the size."""
    return all(abs(s * x - y) < 1e-3 for s, x, y in zip(scales, xs, ys, strict=True))


def _differ(sizes: Sequence[tuple[int, ...]], axis: int) -> bool:
    return len({size[axis] for size in sizes}) > 1


def spatial_of(shape: Shape, data: str) -> tuple:
    return tuple(shape[2:] if data == "NCX" else shape[1:-1])


def channels_of(shape: Sequence[int], data: str) -> int:
    return shape[1] if data == "NCX" else shape[-1]


def in_layout(shape: Sequence, data: str) -> tuple:
    """A shape from NCX order."""
    n, c, *spatial = shape
    return (n, c, *spatial) if data == "NCX" else (n, *spatial, c)


KINDS: dict[str, Callable[[Generator], Value]] = {
    "convolution": Generator.convolution,
    "conv_transpose": Generator.conv_transpose,
    "interpolate": Generator.interpolate,
    "resize_v2": Generator.resize_v2,
    "upsample": Generator.upsample,
}


ASCEND = ("resize_v2", "upsample")


def _kinds_of(dtype: str, kinds: Sequence[str]) -> list[str]:
    return [kind for kind in kinds if dtype != "f64" or kind not in ASCEND]


def generate(
    draw: Draw,
    *,
    kinds: Sequence[str] = tuple(KINDS),
    dynamics: Sequence[str] = DYNAMICS,
    dtypes: Sequence[str] = ONEDNN_DTYPES,
    most_ops: int = 1,
) -> Problem:
    """A problem of one op, or a graph of several with shared values and several outputs."""
    dynamic = draw.choice(dynamics)
    runs = 1 if dynamic == STATIC else RUNS
    dtype = draw.choice([d for d in dtypes if _kinds_of(d, kinds)])
    kind = draw.choice(_kinds_of(dtype, kinds))
    problem = Problem(seed=draw.integer(0, 10**6), runs=runs)
    batches = tuple(draw.choice((1, 2, 3, 0)) for _ in range(runs))
    generator = Generator(draw, dynamic, dtype, problem, batches)
    values = [KINDS[kind](generator)]
    for _ in range(draw.integer(0, most_ops - 1)):
        values.append(_another(generator, kinds, values))
    read = {v.name for node in problem.nodes for v in node.operands}
    problem.outputs = [v for v in values if v.name not in read or draw.choice((True, False))]
    return problem


MOST_ELEMENTS = 20_000


def _another(generator: Generator, kinds: Sequence[str], values: Sequence[Value]) -> Value:
    """One more op: on an earlier result, on an earlier diff_dst, or on a new one."""
    draw, problem = generator.draw, generator.problem
    shared = [node.operands[node.diff_dst] for node in problem.nodes]
    dst = draw.choice((*values, *shared, None))
    fitting = _kinds_of(generator.dtype, kinds)
    if dst is not None:
        large = max(int(np.prod(size)) for size in dst.sizes) > MOST_ELEMENTS // 20
        if large or dst.dtype != generator.dtype:
            dst = None
        elif len(dst.declared) != 4:
            fitting = [kind for kind in fitting if kind not in ASCEND]
            dst = dst if fitting else None
    return KINDS[draw.choice(fitting or kinds)](generator, dst)  # pyright: ignore[reportCallIssue]


@st.composite
def problems(draw, **options) -> Problem:
    """`generate` as a hypothesis strategy."""
    return generate(HypothesisDraw(draw), **options)


def seeded(seed: int | Sequence[int], **options) -> Problem:
    """`generate` from a seed."""
    return generate(SeededDraw(seed), **options)
