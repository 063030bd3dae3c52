"""The canonical gradient of a pool that takes the largest."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Pure

from dialects.grad.conv import DATA_LAYOUTS
from dialects.grad.geometry import Window, axis_letters
from dialects.grad.sampled import SAMPLE_BATCH, SAMPLE_SIZE, SampledOp
from dialects.support import layouts, shapes
from dialects.support.attributes import INTS, required, word
from dialects.support.diagnostics import violation
from dialects.support.documented_op import build, documented_op
from dialects.support.dtypes import name_of
from dialects.support.shapes import Shape, element_type_of, shape_of, tensor_type


@documented_op
class MaxPoolBackwardOp(SampledOp):
    """Gradient of a pool that takes the largest of each window.

    diff_src[n, c, x] = sum of diff_dst[n, c, y] over the windows y whose first largest is src[n, c, x]: of
    the places y s - pb + k d, in row-major order, the first that no other is greater than. A place outside
    src is -inf, and a NaN is greater than nothing.

    src and diff_src (N, C, X...) and diff_dst (N, C, Y...) have their axes in the order of `layout`. How far
    the windows reach beyond src is what the sizes of diff_dst say.

    C1 ranks of 3 to 5, lists of one entry per spatial axis; C2 positive kernel, strides and dilations,
    non-negative pads; C3 src and diff_dst have one dtype, one batch and the same channels.
    """

    name = "grad.max_pool_backward"

    PORTS: ClassVar = ("src", "diff_dst")
    RESULTS: ClassVar = ("diff_src",)
    LAID_OUT: ClassVar = ("src", "diff_dst", "diff_src")

    src = operand_def(TensorType)
    diff_dst = operand_def(TensorType)
    kernel = required(INTS)
    strides = required(INTS)
    dilations = required(INTS)
    pads_begin = required(INTS)
    layout = required(word(*DATA_LAYOUTS))
    diff_src = result_def(TensorType)

    traits = traits_def(Pure())

    @property
    def windows(self) -> tuple[Window, ...]:
        rows = zip(self.kernel, self.strides, self.dilations, strict=True)
        return tuple(Window(*row) for row in rows)

    @property
    def spatial_rank(self) -> int:
        return len(shape_of(self.src)) - 2

    def channels_first(self, value: SSAValue) -> Shape:
        """A shape as (N, C, spatial sizes...)."""
        return layouts.reorder(shape_of(value), self.layout, "NCX")

    def sample_shapes(self) -> tuple[tuple[int, ...], ...]:
        (n, c, *xs), (m, o, *ys) = map(self.channels_first, self.operands)
        batch = next((size for size in (n, m) if isinstance(size, int)), SAMPLE_BATCH)
        channels = next((size for size in (c, o) if isinstance(size, int)), SAMPLE_BATCH)
        rows = zip(self.windows, self.pads_begin, xs, ys, strict=True)
        pairs = [_sample(*row) for row in rows]
        found = ((batch, channels, *(x for x, _ in pairs)), (batch, channels, *(y for _, y in pairs)))
        return tuple(layouts.reorder(shape, "NCX", self.layout) for shape in found)

    def flops(self) -> int | None:
        """Every place of every window is compared once."""
        windows = shapes.static(shape_of(self.diff_dst))
        return None if windows is None else prod(windows) * prod(self.kernel)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        return self.checked(self._infer)

    def _infer(self) -> tuple[TensorType, ...]:
        ranks = [len(shape_of(value)) for value in self.operands]
        if ranks[0] != ranks[1] or not 3 <= ranks[0] <= 5:
            given = f"{ranks[0]} and {ranks[1]}"
            raise violation("ranks of src and diff_dst", given=given, expected="equal, 3 to 5")
        check_lists(self, ("kernel", "strides", "dilations", "pads_begin"), ranks[0] - 2)
        names = [name_of(element_type_of(value)) for value in self.operands]
        if names[0] != names[1]:
            raise violation(
                "dtypes of src and diff_dst", given=f"{names[0]} and {names[1]}", expected="equal"
            )
        src, dst = map(self.channels_first, self.operands)
        for what, one, other in zip(("batch", "channels"), dst, src, strict=False):
            if not shapes.same_dim(one, other):
                raise violation(f"{what} of diff_dst", given=one, expected=f"{other}, as of src")
        known = (*shapes.merge(src[:2], dst[:2]), *src[2:])
        return (tensor_type(element_type_of(self.src), layouts.reorder(known, "NCX", self.layout)),)


def check_lists(op: SampledOp, names: Sequence[str], n: int) -> None:
    """Lists of `n` numbers: pads of at least 0, others of at least 1."""
    for name in names:
        low = 0 if name.startswith("pads") else 1
        values = op.value(name)
        if len(values) != n or any(value < low for value in values):
            letters = f", those of {axis_letters(n)}" if len(values) != n else ""
            raise violation(name, given=list(values), expected=f"{n} values >= {low}{letters}")


def _sample(window: Window, begin: int, x: object, y: object) -> tuple[int, int]:
    """X and Y that fit each other, for what is known of them."""
    if isinstance(y, int):
        return x if isinstance(x, int) else max(1, window.full_size(y) - begin), y
    size = x if isinstance(x, int) else SAMPLE_SIZE
    return size, max(1, (size + begin - window.extent) // window.stride + 1)


def max_pool_backward(
    src: SSAValue, diff_dst: SSAValue, windows: Sequence[Window], begin: Sequence[int], layout: str
) -> MaxPoolBackwardOp:
    attributes = {
        "kernel": [window.kernel for window in windows],
        "strides": [window.stride for window in windows],
        "dilations": [window.dilation for window in windows],
        "pads_begin": list(begin),
        "layout": layout,
    }
    return build(MaxPoolBackwardOp, (src, diff_dst), attributes)
