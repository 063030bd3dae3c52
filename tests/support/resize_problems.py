"""Random problems of the resize gradients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from support import forward
from support.generator import Generator, channels_of, in_layout, spatial_of
from support.problems import Node, Value
from xdsl.dialects.builtin import DYNAMIC_INDEX

from dialects.cann.resize import ResizeBilinearV2GradOp, UpsampleBilinear2dBackwardOp
from dialects.onednn.interpolate_backward import InterpolateBackwardOp
from dialects.support.shapes import Dim

RARE_LAYOUTS = {"halved": "NCX", "uneven": "NXC"}
"""In which the strategies for these problems are."""


class ResizeGenerator(Generator):
    # --- InterpolateBackward -----------------------------------------------------------------------

    def halved(self, dst: Value | None = None) -> Value:
        """The forward op shrinks by two: every position of src is read by one output alone."""
        return self.interpolate(dst, "halved")

    def uneven(self, dst: Value | None = None) -> Value:
        """`nearest` enlarges by less than two: some positions of src are read by two outputs an axis."""
        return self.interpolate(dst, "uneven")

    def interpolate(self, dst: Value | None = None, rare: str | None = None) -> Value:
        data = RARE_LAYOUTS[rare] if rare and dst is None else self.layout(dst)
        n = len(dst.declared) - 2 if dst else self.draw.choice((2, 1) if rare else (2, 1, 3))
        largest = 9 if n < 3 else 5
        if dst is None:
            dst = self.fresh_diff_dst(n, data, largest)
        ys = [spatial_of(size, data) for size in dst.sizes]
        declared_y = spatial_of(dst.declared, data)
        whole = self.flag(4)
        axes = [self._resized(i, declared_y[i], [y[i] for y in ys], largest, whole) for i in range(n)]
        if rare and len(set(ys)) == 1:
            xs = [2 * y if rare == "halved" else -(-2 * y // 3) for y in ys[0]]
            axes = [(x, (x,) * len(ys)) for x in xs]
        batch = dst.declared[0] if self.flag(3) else self.declared_batch()
        channels = channels_of(dst.sizes[0], data)
        xs = [tuple(sizes[run] for _, sizes in axes) for run in range(self.problem.runs)]
        src = self.problem.add_input(
            "src",
            self.dtype,
            in_layout((batch, channels, *(d for d, _ in axes)), data),
            [in_layout((self.batches[run], channels, *xs[run]), data) for run in range(self.problem.runs)],
        )
        modes = ("nearest", "nearest", "linear", "bilinear", "trilinear")
        mode = self.draw.choice(("nearest",) if rare == "uneven" else modes)
        coordinate = self.draw.choice(("half_pixel",) if rare else ("half_pixel", "align_corners"))
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
        self, index: int, declared: Dim, ys: Sequence[int], largest: int, whole: bool = False
    ) -> tuple[Dim, tuple[int, ...]]:
        """The declared and run-time sizes X of one axis, whose Y is given. `whole`: enlarged by a whole
        factor where Y is known."""
        if not whole and self.flag(6):  # the identity, known by size or name or only at run time
            known = ys[0] if len(set(ys)) == 1 else None
            return self.draw.choice((declared, known)), tuple(ys)
        if len(set(ys)) == 1 and (whole or self.flag()):  # enlarged by a whole factor
            x = self.draw.choice([x for x in range(1, ys[0] + 1) if ys[0] % x == 0])
            return x, (x,) * len(ys)
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


def _scales_fit(scales: Sequence[float], xs: Sequence[int], ys: Sequence[int]) -> bool:
    """Whether six digits of a scale still tell the size."""
    return all(abs(s * x - y) < 1e-3 for s, x, y in zip(scales, xs, ys, strict=True))
