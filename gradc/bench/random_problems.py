"""Random gradient problems with sizes as in networks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from gradc.problems import Problem, parse_problem

MOST_PRODUCTS = 4e8
"""Maximum multiplications of a convolution."""

MOST_ELEMENTS = 2**22

RULES = (
    "",
    ",coordinates=align_corners",
    ",interpolation=nearest_floor,coordinates=corner",
    ",interpolation=nearest_half_up",
)
"""Interpolation rules of frameworks, the most common first."""


def problems(seed: int, count: int) -> Iterator[Problem]:
    """Yield distinct random problems with static sizes, in f32."""
    rng = np.random.default_rng([seed, 7])
    found: set[str] = set()
    while len(found) < count:
        text = _resize(rng) if rng.random() < 0.4 else _conv(rng)
        if text is None or text in found:
            continue
        found.add(text)
        yield parse_problem(text)


def _size(rng: np.random.Generator, low: float, high: float) -> int:
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def _x(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _channels(rng: np.random.Generator) -> int:
    if rng.random() < 0.75:
        return int(rng.choice([16, 32, 64, 96, 128, 256, 512]))
    return _size(rng, 1, 300)


def _spatial(rng: np.random.Generator, rank: int) -> list[int]:
    if rank == 2 and rng.random() < 0.6:
        return [int(rng.choice([7, 14, 28, 56, 112]))] * 2
    most = {1: 4000, 2: 160, 3: 32}[rank]
    size = _size(rng, 4, most)
    return [size] * rank if rng.random() < 0.7 else [_size(rng, 4, most) for _ in range(rank)]


def _conv(rng: np.random.Generator) -> str | None:
    rank = int(rng.choice([2, 2, 2, 2, 2, 2, 1, 3]))
    y = _spatial(rng, rank)
    k, s = int(rng.choice([1, 1, 2, 3, 3, 3, 3, 4, 5, 7])), int(rng.choice([1, 1, 2, 2, 2, 3]))
    pad = int(rng.integers(0, k // 2 + 1)) if rng.random() < 0.3 else (k - 1) // 2
    dilation = 2 if k > 1 and s == 1 and rng.random() < 0.1 else 1
    groups, out, inner = _groups(rng)
    transposed = rng.random() < 0.3
    kind = "conv_transpose_backward_data" if transposed else "conv_backward_data"
    batch = int(rng.choice([1, 1, 1, 2, 8]))
    if transposed:
        sizes = [(a + 2 * pad - dilation * (k - 1) - 1) // s + 1 for a in y]
        products = batch * math.prod(sizes) * inner * out // groups * k**rank
    else:
        sizes = [(a - 1) * s + dilation * (k - 1) + 1 - 2 * pad for a in y]
        products = batch * math.prod(y) * inner * out // groups * k**rank
    if min(sizes) < 1 or not 1e5 < products < MOST_PRODUCTS:
        return None
    if batch * max(out * math.prod(y), inner * math.prod(sizes)) > MOST_ELEMENTS:
        return None
    weights = [inner, out // groups] if transposed else [out, inner // groups]
    residue = s - 1 if not transposed and s > 1 and k > 1 and rng.random() < 0.6 else 0
    fields = {
        "diff_dst": _x([batch, out, *y]),
        "weights": _x([*weights, *[k] * rank]),
        "strides": _x([s] * rank) if s > 1 else "",
        "pads": f"{_x([pad] * rank)}:{_x([pad] * rank)}" if pad else "",
        "dilations": _x([dilation] * rank) if dilation > 1 else "",
        "groups": str(groups) if groups > 1 else "",
        "residue": _x([residue] * rank) if residue else "",
        "weights_are": "input" if rng.random() < 0.2 else "",
    }
    given = (f"{name}={value}" for name, value in fields.items() if value)
    return ",".join((kind, "f32", str(rng.choice(["NCX", "NXC"])), *given))


def _groups(rng: np.random.Generator) -> tuple[int, int, int]:
    """Draw (groups, channels of diff_dst, channels of diff_src)."""
    draw = rng.random()
    if draw < 0.15:
        channels = _channels(rng)
        return channels, channels, channels
    if draw < 0.25:
        groups = int(rng.choice([2, 4, 8, 32]))
        return groups, groups * int(rng.choice([4, 8, 16, 32])), groups * int(rng.choice([4, 8, 16, 32]))
    return 1, _channels(rng), _channels(rng)


def _resize(rng: np.random.Generator) -> str | None:
    rank = int(rng.choice([2, 2, 2, 2, 2, 1, 3]))
    x = _spatial(rng, rank)
    if rng.random() < 0.65:
        scale = int(rng.choice([2, 2, 2, 3, 4, 8]))
        y = [a * scale for a in x]
    else:
        y = [max(1, round(a * rng.uniform(0.4, 2.5))) for a in x]
    if rng.random() < 0.15:
        x, y = y, x
    batch, channels = int(rng.choice([1, 1, 1, 4])), _channels(rng)
    if max(math.prod(x), math.prod(y)) * batch * channels > MOST_ELEMENTS or x == y:
        return None
    rule = str(rng.choice(RULES, p=[0.4, 0.15, 0.25, 0.2]))
    layout = str(rng.choice(["NCX", "NXC"]))
    dst, src = _x([batch, channels, *y]), _x([batch, channels, *x])
    return f"resize_backward,f32,{layout},diff_dst={dst},diff_src={src}{rule}"
