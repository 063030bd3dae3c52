"""Shape rules of ops with spatial axes: channels first, (N, C, spatial...)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dialects.onnx.call import Call, axes_of
from dialects.onnx.dims import add, ceildiv, floordiv, multiply, product, smallest, vector
from dialects.support.diagnostics import violation
from dialects.support.shapes import Dim, Shape, same_dim, show, static


@dataclass(frozen=True)
class Window:
    """A sliding window, one entry per spatial axis, with defaults for absent attributes."""

    kernel: tuple[Dim, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    auto_pad: str

    @property
    def rank(self) -> int:
        return len(self.kernel)

    def extent(self, i: int) -> int | None:
        """Return Ke = (K-1)d + 1, the span of the dilated kernel."""
        size = self.kernel[i]
        return (size - 1) * self.dilations[i] + 1 if isinstance(size, int) else None

    def pads(self, i: int) -> int:
        return self.begin[i] + self.end[i]


def window(call: Call, kernel: Sequence[Dim]) -> Window:
    """Return the window that the op's attributes describe; raises GradcError for invalid lists."""
    rank = len(kernel)
    auto_pad = call.attribute("auto_pad", "NOTSET")
    if auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise violation("auto_pad", given=auto_pad)
    pads = _list(call, "pads", 2 * rank, 0)
    explicit = pads if auto_pad == "NOTSET" else (0,) * (2 * rank)
    return Window(
        kernel=tuple(kernel),
        strides=_list(call, "strides", rank, 1),
        dilations=_list(call, "dilations", rank, 1),
        begin=explicit[:rank],
        end=explicit[rank:],
        auto_pad=auto_pad,
    )


def with_explicit_pads(view: Window, sizes: Sequence[int]) -> Window:
    """Replace SAME by explicit pads for static sizes; UPPER puts the odd one at the end."""
    if not view.auto_pad.startswith("SAME"):
        return view
    totals: list[int] = []
    for i, size in enumerate(sizes):
        extent = view.extent(i)
        assert extent is not None
        totals.append(max((-(-size // view.strides[i]) - 1) * view.strides[i] + extent - size, 0))
    return _split_pads(view, totals)


def with_pads_for(view: Window, sizes: Sequence[int], wanted: Sequence[int], extra: Sequence[int]) -> Window:
    """Return a transposed convolution's window with the pads that give the `wanted` sizes."""
    totals: list[int] = []
    for i, (size, size_wanted) in enumerate(zip(sizes, wanted, strict=True)):
        extent = view.extent(i)
        assert extent is not None
        totals.append(max(view.strides[i] * (size - 1) + extra[i] + extent - size_wanted, 0))
    return _split_pads(view, totals)


def _split_pads(view: Window, totals: Sequence[int]) -> Window:
    less, more = (tuple(part) for part in zip(*((t // 2, t - t // 2) for t in totals), strict=True))
    begin, end = (less, more) if view.auto_pad == "SAME_UPPER" else (more, less)
    return replace(view, begin=begin, end=end)


def _list(call: Call, name: str, length: int, least: int) -> tuple[int, ...]:
    """Return an attribute of `length` integers >= `least`, which is also the default."""
    found = tuple(call.attribute(name, (least,) * length))
    if len(found) != length:
        raise violation(name, given=list(found), expected=f"{length} values")
    if min(found, default=least) < least:
        raise violation(name, given=list(found), expected=f"values of at least {least}")
    return found


def _kernel(call: Call, weights: Shape) -> Shape:
    """Return the kernel sizes of convolution weights; `kernel_shape` must agree with them."""
    given = call.attribute("kernel_shape")
    if given is None:
        return weights[2:]
    if len(given) != len(weights) - 2 or not all(map(same_dim, given, weights[2:])):
        raise violation("kernel_shape", given=list(given), expected=show(weights[2:]))
    return tuple(given)


def _check_ranks(call: Call) -> tuple[Shape, Shape, int]:
    data, weights = call.operand(0).shape, call.operand(1).shape
    if len(data) < 3 or len(data) != len(weights):
        raise violation(
            f"ranks of {call.name}", given=f"{show(data)} and {show(weights)}", expected="equal, 3 or more"
        )
    group = call.attribute("group", 1)
    if group < 1:
        raise violation("group", given=group, expected="1 or more")
    return data, weights, group


def _check_bias(call: Call, channels: Dim) -> None:
    bias = call.optional(2)
    if bias is not None and (bias.rank != 1 or not same_dim(bias.shape[0], channels)):
        raise violation("bias", given=show(bias.shape), expected=show((channels,)))


def conv(call: Call) -> list[Shape]:
    """Map X (N, C, x...), W (O, C/g, k...) to Y (N, O, y...)."""
    data, weights, group = _check_ranks(call)
    channels, out = data[1], weights[0]
    if not same_dim(channels, multiply(weights[1], group)):
        raise violation(
            "channels of Conv", given=f"{channels} in the data", expected=multiply(weights[1], group)
        )
    if isinstance(out, int) and out % group:
        raise violation("output channels of Conv", given=out, expected=f"a multiple of {group}")
    _check_bias(call, out)
    view = window(call, _kernel(call, weights))
    return [(data[0], out, *_window_counts(view, data[2:], ceil=False))]


def average_pool(call: Call) -> list[Shape]:
    data = call.operand(0).shape
    kernel = call.attribute("kernel_shape")
    if len(data) - 2 != len(kernel):
        raise violation("kernel_shape", given=list(kernel), expected=f"{len(data) - 2} values")
    view = window(call, kernel)
    return [(*data[:2], *_window_counts(view, data[2:], ceil=bool(call.attribute("ceil_mode", 0))))]


def ends_of_whole_windows(call: Call) -> list[int] | None:
    """Return end pads that give the pool's windows without `ceil_mode`, where that drops a window starting in
    the end padding; else None. They are negative if the last elements are in no window."""
    data = call.operand(0).shape
    view, sizes = window(call, call.attribute("kernel_shape")), static(data[2:])
    if sizes is None or not call.attribute("ceil_mode", 0) or view.auto_pad.startswith("SAME"):
        return None
    ends: list[int] = []
    is_left_out = False
    for i, size in enumerate(sizes):
        extent, count = view.extent(i), _positions(view, i, size, ceil=True)
        assert isinstance(extent, int)
        assert isinstance(count, int)
        is_left_out |= count <= -(-(size + view.pads(i) - extent) // view.strides[i])
        ends.append((count - 1) * view.strides[i] + extent - size - view.begin[i])
    return ends if is_left_out else None


def _window_counts(view: Window, sizes: Sequence[Dim], ceil: bool) -> list[Dim]:
    return [_positions(view, i, size, ceil) for i, size in enumerate(sizes)]


def _positions(view: Window, i: int, size: Dim, ceil: bool) -> Dim:
    """Return the number of window positions along axis i: (X + pads - Ke) div s + 1."""
    stride, extent = view.strides[i], view.extent(i)
    if view.auto_pad.startswith("SAME"):
        return ceildiv(size, stride)
    if extent is None:
        return None
    slack = view.pads(i) - extent
    if isinstance(size, int) and size + slack < 0:
        raise violation(
            f"window of {extent} on spatial axis {i}", given=f"{size} + {view.pads(i)} of padding"
        )
    if not ceil:
        return add(floordiv(add(size, slack), stride), 1)
    count = add(ceildiv(add(size, slack), stride), 1)
    # a window that starts in the end padding is dropped
    if isinstance(size, int) and isinstance(count, int):
        return count - 1 if (count - 1) * stride >= size + view.begin[i] else count
    # at most one does if the padding is no wider than the window
    return smallest(count, ceildiv(add(size, view.begin[i]), stride)) if view.end[i] <= extent else None


def conv_transpose(call: Call) -> list[Shape]:
    """Map X (N, C, x...), W (C, O/g, k...) to Y (N, O, y...)."""
    data, weights, group = _check_ranks(call)
    if not same_dim(data[1], weights[0]):
        raise violation("channels of ConvTranspose", given=data[1], expected=weights[0])
    if isinstance(weights[0], int) and weights[0] % group:
        raise violation("channels of ConvTranspose", given=weights[0], expected=f"a multiple of {group}")
    out = multiply(weights[1], group)
    _check_bias(call, out)
    view = window(call, _kernel(call, weights))
    sizes = call.attribute("output_shape")
    if sizes is not None:
        return [(data[0], out, *sizes[-view.rank :])]
    extra = _list(call, "output_padding", view.rank, 0)
    spread = [_transposed_size(view, i, size, extra[i]) for i, size in enumerate(data[2:])]
    return [(data[0], out, *spread)]


def _transposed_size(view: Window, i: int, size: Dim, extra: int) -> Dim:
    """Return s (X-1) + Ke - pads + output_padding; for SAME s X, or less if that needs negative pads, as
    onnx's inference and onnxruntime do (onnx's reference pads with zeros)."""
    stride, extent = view.strides[i], view.extent(i)
    if extent is None:
        return None
    if view.auto_pad.startswith("SAME"):
        return add(multiply(size, stride), min(0, extent + extra - stride))
    result = add(multiply(size, stride), extent - view.pads(i) + extra - stride)
    if isinstance(result, int) and result < 1:
        raise violation(f"size of the result on spatial axis {i}", given=result, expected="1 or more")
    return result


def col2im(call: Call) -> list[Shape]:
    """Map data (N, C * prod(block), L), image_shape, block_shape to (N, C, image...)."""
    data = call.operand(0)
    if data.rank != 3:
        raise violation("data of Col2Im", given=show(data.shape), expected="rank 3")
    image = vector(call.operand(1), "the image_shape of Col2Im")
    block = vector(call.operand(2), "the block_shape of Col2Im")
    if image is None and block is None:
        return [(data.shape[0], *call.unknown("the image_shape of Col2Im", call.operand(1))[1:])]
    count = len(image or block or ())
    image, block = ((None,) * count if given is None else given for given in (image, block))
    if len(image) != len(block):
        raise violation("block_shape", given=show(block), expected=f"{len(image)} values")
    view = window(call, block)
    channels, taps = data.shape[1], product(block)
    if isinstance(channels, int) and isinstance(taps, int) and channels % taps:
        raise violation("channels of Col2Im", given=channels, expected=f"a multiple of {taps}")
    positions = product(_window_counts(view, image, ceil=False))
    if not same_dim(data.shape[2], positions):
        raise violation("columns of Col2Im", given=data.shape[2], expected=positions)
    return [(data.shape[0], floordiv(channels, taps), *image)]


def depth_to_space(call: Call) -> list[Shape]:
    data, block = call.operand(0), call.attribute("blocksize")
    if data.rank != 4:
        raise violation("input of DepthToSpace", given=show(data.shape), expected="rank 4")
    if block < 1:
        raise violation("blocksize", given=block, expected="1 or more")
    batch, channels, height, width = data.shape
    if isinstance(channels, int) and channels % (block * block):
        raise violation("channels", given=channels, expected=f"a multiple of {block * block}")
    depth = floordiv(channels, block * block)
    return [(batch, depth, multiply(height, block), multiply(width, block))]


def resize(call: Call) -> list[Shape]:
    data, scales, sizes = call.operand(0), call.optional(2), call.optional(3)
    axes = axes_of(call.attribute("axes", range(data.rank)), data.rank)
    scales = None if scales is not None and scales.shape == (0,) else scales
    if (scales is None) == (sizes is None):
        raise violation("Resize", expected="either scales or sizes")
    given = scales or sizes
    assert given is not None
    if given.rank != 1 or not same_dim(given.shape[0], len(axes)):
        raise violation("scales or sizes", given=show(given.shape), expected=f"{len(axes)} values")
    result = list(data.shape)
    wanted = _sizes_by_scales(call, axes) if scales is not None else _sizes_by_sizes(call, axes)
    for axis, dim in zip(axes, wanted, strict=True):
        result[axis] = dim
    return [tuple(result)]


def _sizes_by_scales(call: Call, axes: Sequence[int]) -> list[Dim]:
    """Return floor(X * scale) in f32, as runtimes do; None with `tf_crop_and_resize`."""
    data, scales = call.operand(0), call.operand(2).value
    if scales is None:
        return [None] * len(axes)
    if call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
        return [None] * len(axes)
    return [_scale_dim(data.shape[axis], float(s)) for axis, s in zip(axes, scales, strict=True)]


MAX_DENOMINATOR = 2**10
"""Largest denominator of a scale with which float arithmetic on sizes is exact."""


def _scale_dim(dim: Dim, scale: float) -> Dim:
    """Compute in f32 as onnxruntime does: 30 times 1.9 is 57, although float32(1.9) is less than 1.9."""
    if not 0 < scale < math.inf:
        raise violation("scales", given=scale, expected="finite, more than 0")
    if isinstance(dim, int):
        return int(np.float32(dim) * np.float32(scale))
    ratio = Fraction(scale)
    exact = ratio.denominator <= MAX_DENOMINATOR
    return floordiv(multiply(dim, ratio.numerator), ratio.denominator) if exact else None


def _sizes_by_sizes(call: Call, axes: Sequence[int]) -> list[Dim]:
    data, sizes = call.operand(0), call.operand(3).dims
    policy = call.attribute("keep_aspect_ratio_policy", "stretch")
    if sizes is None:
        return [None] * len(axes)
    if policy == "stretch":
        return list(sizes)
    wanted, given = static(sizes), static([data.shape[axis] for axis in axes])
    if wanted is None or given is None:
        return [None] * len(axes)
    ratios = [w / g for w, g in zip(wanted, given, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(scale * g + 0.5) for g in given]
