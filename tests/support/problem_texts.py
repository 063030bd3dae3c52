"""Random problem strings."""

from __future__ import annotations

from hypothesis import strategies as st


def joined(values) -> str:
    return "x".join(map(str, values))


@st.composite
def texts(draw, most: int = 9, dtypes=("f32", "f16", "bf16", "f64"), unknown: bool = True) -> str:
    """A legal problem string in some order of fields, defaults written out or not."""
    n = draw(st.integers(1, 3))

    def per_axis(low: int, high: int) -> list[int]:
        return [draw(st.integers(low, high)) for _ in range(n)]

    def maybe(size: int) -> int | str:
        return draw(st.sampled_from((size, "?"))) if unknown else size

    kind = draw(st.sampled_from(("conv_backward_data", "conv_transpose_backward_data", "resize_backward")))
    head = [kind, draw(st.sampled_from(dtypes)), draw(st.sampled_from(("NCX", "NXC")))]
    batch, sizes = maybe(draw(st.integers(0, 3))), per_axis(1, most)
    fields: dict[str, str] = {}
    if kind == "resize_backward":
        x = per_axis(1, most)
        axes = sorted(draw(st.sets(st.sampled_from(range(2, n + 2)), min_size=1)))
        source = [x[i] if i + 2 in axes else size for i, size in enumerate(sizes)]
        fields["diff_src"] = joined((batch, 3, *source))
        fields["axes"] = joined(axes)
        rules = ("linear", "nearest_half_up", "nearest_half_down", "nearest_floor")
        fields["interpolation"] = draw(st.sampled_from(rules))
        fields["coordinates"] = draw(st.sampled_from(("half_pixel", "corner", "align_corners")))
        steps = [f"{draw(st.integers(0, 9))}/{draw(st.integers(1, 9))}" for _ in axes]
        fields |= draw(st.sampled_from(({}, {"steps": joined(steps)})))
        fields["diff_dst"] = joined((batch, 3, *sizes))
        defaults = {"axes": joined(range(2, n + 2)), "interpolation": "linear", "coordinates": "half_pixel"}
    else:
        kernel, strides, dilations = per_axis(1, 3), per_axis(1, 3), per_axis(1, 2)
        groups = draw(st.integers(1, 2))
        extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        begin = [draw(st.integers(0, 1)) for _ in kernel]
        if kind == "conv_backward_data":
            full = [s * (y - 1) + e for s, y, e in zip(strides, sizes, extents, strict=True)]
            begin = [min(b, f - 1) for b, f in zip(begin, full, strict=True)]
            end = [0] * n
            fields["residue"] = joined(draw(st.integers(0, s - 1)) for s in strides)
            fields["weights"] = joined((4, 3, *kernel))
        else:
            end = [max(0, e - y - b) for e, y, b in zip(extents, sizes, begin, strict=True)]
            fields["weights"] = joined((2 * groups, 4 // groups, *kernel))
        fields |= {
            "strides": joined(strides),
            "dilations": joined(dilations),
            "pads": f"{joined(begin)}:{joined(end)}",
            "groups": str(groups),
            "weights_are": draw(st.sampled_from(("input", "constant"))),
            "diff_dst": joined((batch, 4, *map(maybe, sizes))),
        }
        ones, zeros = joined([1] * n), joined([0] * n)
        defaults = {"strides": ones, "dilations": ones, "pads": f"{zeros}:{zeros}", "groups": "1"}
        defaults |= {"weights_are": "constant", "residue": zeros}
    written = {k: v for k, v in fields.items() if defaults.get(k) != v or draw(st.booleans())}
    return ",".join((*head, *(f"{k}={written[k]}" for k in draw(st.permutations(list(written))))))


@st.composite
def usual_texts(draw, dtypes=("f32", "f32", "f64")) -> str:
    """A problem string of known sizes such as networks have: channels that fill blocks or do not, images of
    any size, strides that divide or do not."""
    n = draw(st.sampled_from((1, 2, 2, 2, 3)))
    kind = draw(st.sampled_from(("conv_backward_data", "conv_transpose_backward_data", "resize_backward")))
    layout, batch = draw(st.sampled_from(("NCX", "NXC"))), draw(st.sampled_from((1, 1, 2)))
    head = f"{kind},{draw(st.sampled_from(dtypes))},{layout}"
    sizes = [draw(st.integers(1, (120, 30, 9)[n - 1])) for _ in range(n)]
    if kind == "resize_backward":
        return f"{head},{_usual_resize(draw, batch, sizes)}"
    return f"{head},{_usual_convolution(draw, kind, batch, sizes)}"


def _usual_resize(draw, batch: int, sizes: list[int]) -> str:
    channels, ratio = draw(st.sampled_from((1, 3, 16, 20))), draw(st.sampled_from((2, 3, 4, 0)))
    y = [ratio * size or draw(st.integers(1, 30)) for size in sizes]
    rule = draw(st.sampled_from(("linear", "linear", "nearest_half_up", "nearest_floor")))
    coordinates = draw(st.sampled_from(("half_pixel", "corner", "align_corners")))
    shapes = f"diff_dst={joined((batch, channels, *y))},diff_src={joined((batch, channels, *sizes))}"
    return f"{shapes},interpolation={rule},coordinates={coordinates}"


def _usual_convolution(draw, kind: str, batch: int, sizes: list[int]) -> str:
    n = len(sizes)
    groups = draw(st.sampled_from((1, 1, 1, 2, 16)))
    out, inner = (groups * draw(st.sampled_from((1, 3, 8, 16, 32))) for _ in range(2))
    kernel = [draw(st.sampled_from((1, 2, 3, 3, 5) if n < 3 else (1, 2, 3)))] * n
    strides = [draw(st.sampled_from((1, 1, 2, 3)))] * n
    dilations = [draw(st.sampled_from((1, 1, 2)))] * n
    pads = [min(k // 2 * d, size - 1) for k, d, size in zip(kernel, dilations, sizes, strict=True)]
    backward = kind == "conv_backward_data"
    if not backward:
        needed = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        sizes = [max(size, extent) for size, extent in zip(sizes, needed, strict=True)]
    channels = (out, inner // groups) if backward else (inner, out // groups)
    fields = {
        "diff_dst": joined((batch, out, *sizes)),
        "weights": joined((*channels, *kernel)),
        "strides": joined(strides),
        "dilations": joined(dilations),
        "pads": f"{joined(pads)}:{joined(pads)}",
        "groups": str(groups),
        "weights_are": draw(st.sampled_from(("input", "constant"))),
    }
    if backward:
        fields["residue"] = joined(draw(st.integers(0, s - 1)) for s in strides)
    return ",".join(f"{name}={value}" for name, value in fields.items())
