# pyright: standard
# (numpy in comprehensions and lambdas, whose elements its stubs do not know)
"""numpy semantics of ops that select or scatter elements, or generate tensors from sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from dialects.onnx.call import Call, axes_of, axis_of
from dialects.onnx.operands import optional, scalar, sizes, value, values
from dialects.reference_cost.account import PYTHON, charge
from dialects.support.diagnostics import UnsupportedError, violation

Kernel = Callable[[Call], Sequence[np.ndarray]]


def inside(indices: np.ndarray, size: int) -> np.ndarray:
    """Return non-negative indices; raises GradcError for one out of bounds."""
    if indices.size and (indices.min() < -size or indices.max() >= size):
        raise violation("indices", expected=f"[{-size}, {size - 1}]")
    return np.where(indices < 0, indices + size, indices) if indices.size else indices


def compress(call: Call) -> list[np.ndarray]:
    data, condition, axis = value(call, 0), value(call, 1), call.attribute("axis")
    return [np.compress(condition, data, axis=axis)]


def gather_nd(call: Call) -> list[np.ndarray]:
    data, indices, batch = value(call, 0), value(call, 1), call.attribute("batch_dims", 0)
    depth = indices.shape[-1]
    places = [inside(indices[..., i], data.shape[batch + i]) for i in range(depth)]
    grid = np.indices(indices.shape[:batch])
    more = indices.ndim - 1 - batch
    grid = [axis.reshape(*axis.shape, *(1,) * more) for axis in grid]
    return [data[(*grid, *places)]]


def scatter_elements(call: Call) -> list[np.ndarray]:
    """Apply updates in order, so that the last one at an index wins without a reduction."""
    result, indices, updates = value(call, 0).copy(), value(call, 1), value(call, 2)
    merge = merging(call)
    axis = axis_of(call.attribute("axis", 0), result.ndim)
    indices = inside(indices, result.shape[axis])
    for place in np.ndindex(indices.shape):
        at = (*place[:axis], int(indices[place]), *place[axis + 1 :])
        result[at] = merge(result[at], updates[place])
    return [result]


def scatter_nd(call: Call) -> list[np.ndarray]:
    """Apply updates in order, slice by slice."""
    result, indices, updates = value(call, 0).copy(), value(call, 1), value(call, 2)
    merge = merging(call)
    for place in np.ndindex(indices.shape[:-1]):
        at = tuple(int(i) for i in indices[place])
        result[at] = merge(result[at], updates[place])
    return [result]


def merging(call: Call) -> Callable[..., np.ndarray]:
    merge = _REDUCTIONS.get(call.attribute("reduction", "none"))
    if merge is None:
        raise UnsupportedError(violation("reduction", given=call.attribute("reduction")).diagnostic)
    return merge


_REDUCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "none": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def tensor_scatter(call: Call) -> list[np.ndarray]:
    result, update = value(call, 0).copy(), value(call, 1)
    axis = axis_of(call.attribute("axis", -2), result.ndim)
    starts = sizes(call, 2, [0] * result.shape[0])
    size, circular = result.shape[axis], call.attribute("mode", "linear") == "circular"
    for batch, start in enumerate(starts):
        for i in range(update.shape[axis]):
            at = (start + i) % size if circular else start + i
            if at >= size:
                raise violation("write_indices", given=start, expected=f"room for {update.shape[axis]}")
            target = np.moveaxis(result[batch], axis - 1, 0)
            target[at] = np.moveaxis(update[batch], axis - 1, 0)[i]
    return [result]


def one_hot(call: Call) -> list[np.ndarray]:
    """Negative indices count from the end; those out of range give no hot element."""
    indices, (off, on) = value(call, 0), value(call, 2)
    depth = int(value(call, 1).reshape(-1)[0])
    axis = axis_of(call.attribute("axis", -1), indices.ndim + 1)
    places = np.expand_dims(np.trunc(indices).astype(np.int64), axis)
    counted = np.where((places >= -depth) & (places < 0), places + depth, places)
    shape = [1] * (indices.ndim + 1)
    shape[axis] = depth
    return [np.where(counted == np.arange(depth).reshape(shape), on, off)]


def non_zero(call: Call) -> list[np.ndarray]:
    data = value(call, 0)
    return [np.array(np.nonzero(np.atleast_1d(data)), np.int64)]


def unique(call: Call) -> list[np.ndarray]:
    data, axis = value(call, 0), call.attribute("axis")
    found, first, inverse, counts = np.unique(data, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not call.attribute("sorted", 1):
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        found = np.take(found, order, axis=0 if axis is None else axis)
        first, counts, inverse = first[order], counts[order], rank[inverse]
    return [found, first, inverse, counts]


def trilu(call: Call) -> list[np.ndarray]:
    function = np.triu if call.attribute("upper", 1) else np.tril
    return [function(value(call, 0), scalar(call, 1, 0))]


def eye_like(call: Call) -> list[np.ndarray]:
    return [np.eye(*call.operand(0).shape, k=call.attribute("k", 0), dtype=np.int64)]  # pyright: ignore


def space_to_depth(call: Call) -> list[np.ndarray]:
    data, block = value(call, 0), call.attribute("blocksize")
    batch, channels, height, width = data.shape
    split = data.reshape(batch, channels, height // block, block, width // block, block)
    if call.attribute("mode", "DCR") == "DCR":
        moved = split.transpose(0, 3, 5, 1, 2, 4)
    else:
        moved = split.transpose(0, 1, 3, 5, 2, 4)
    return [moved.reshape(batch, channels * block * block, height // block, width // block)]


def center_crop_pad(call: Call) -> list[np.ndarray]:
    data = value(call, 0)
    axes = axes_of(call.attribute("axes", range(data.ndim)), data.ndim)
    for axis, wanted in zip(axes, sizes(call, 1, ()), strict=True):
        given = data.shape[axis]
        if wanted < given:
            start = (given - wanted) // 2
            data = data[(slice(None),) * axis + (slice(start, start + wanted),)]
            continue
        before = (wanted - given) // 2
        widths = [(0, 0)] * data.ndim
        widths[axis] = (before, wanted - given - before)
        data = np.pad(data, widths)
    return [data]


def reverse_sequence(call: Call) -> list[np.ndarray]:
    data, lengths = value(call, 0).copy(), sizes(call, 1, ())
    batch, time = call.attribute("batch_axis", 1), call.attribute("time_axis", 0)
    view = np.moveaxis(data, (batch, time), (0, 1))
    for i, length in enumerate(lengths):
        view[i, :length] = view[i, :length][::-1].copy()
    return [data]


def size(call: Call) -> list[np.ndarray]:
    return [np.array(value(call, 0).size, np.int64)]


def window(coefficients: Sequence[float]) -> Kernel:
    """Return a kernel for a sum of cosines, w[n] = sum over k of c[k] cos(2 pi k n / N)."""

    def kernel(call: Call) -> list[np.ndarray]:
        length = scalar(call, 0, 0)
        whole = length if call.attribute("periodic", 1) else length - 1
        n = np.arange(length, dtype=np.float64)
        terms = (c * np.cos(2 * np.pi * k * n / whole) for k, c in enumerate(coefficients))
        return [np.sum([*terms], axis=0) if length else n]

    return kernel


def mel_weights(call: Call) -> list[np.ndarray]:
    bins, length, rate = (int(value(call, i).reshape(())) for i in range(3))
    low, high = (float(value(call, i).reshape(())) for i in (3, 4))
    edges = np.arange(bins + 2, dtype=np.float64)
    low_mel, high_mel = (2595 * np.log10(1 + edge / 700) for edge in (low, high))
    mels = edges * ((high_mel - low_mel) / (bins + 2)) + low_mel
    hertz = 700 * (np.power(10, mels / 2595) - 1)
    places = ((length + 1) * hertz // rate).astype(np.int64)
    result = np.zeros((length // 2 + 1, bins))
    for i in range(bins):
        lower, center, upper = places[i : i + 3]
        if lower == center:
            result[center, i] = 1
        for j in range(lower, center + 1 if lower != center else lower):
            result[j, i] = (j - lower) / (center - lower)
        for j in range(center, upper):
            result[j, i] = (upper - j) / (upper - center)
    return [result]


def string_split(call: Call) -> list[np.ndarray]:
    """Split at the delimiter, by default at runs of whitespace; pad with empty strings."""
    data, most = value(call, 0), call.attribute("maxsplit", -1)
    delimiter = call.attribute("delimiter") or None
    parts = [str(text).split(delimiter, most) if text else [] for text in data.reshape(-1)]
    longest = max(map(len, parts), default=0)
    padded = [[*part, *[""] * (longest - len(part))] for part in parts]
    counts = np.array([len(part) for part in parts], np.int64)
    return [np.array(padded, object).reshape(*data.shape, longest), counts.reshape(data.shape)]


def string_normalizer(call: Call) -> list[np.ndarray]:
    data = value(call, 0)
    sensitive, stop = call.attribute("is_case_sensitive", 0), call.attribute("stopwords", [])
    change = {"LOWER": str.lower, "UPPER": str.upper}.get(call.attribute("case_change_action", "NONE"), str)
    words = [str(text) for text in data.reshape(-1)]
    if stop:
        known = set(stop) if sensitive else {word.lower() for word in stop}
        words = [word for word in words if (word if sensitive else word.lower()) not in known] or [""]
    shape = (*data.shape[:-1], len(words)) if stop else data.shape
    return [np.array([change(word) for word in words], object).reshape(shape)]


def affine_grid(call: Call) -> list[np.ndarray]:
    """Return theta times the coordinates of the result's elements, in [-1, 1] per axis; x comes first."""
    theta, (_, _, *spatial) = value(call, 0), sizes(call, 1, ())
    places = [_places(n, bool(call.attribute("align_corners", 0))) for n in spatial]
    grid = np.stack([*np.meshgrid(*places, indexing="ij")[::-1], np.ones(spatial)], axis=-1)
    return [np.einsum("nij,...j->n...i", theta, grid)]


def _places(count: int, corners: bool) -> np.ndarray:
    if corners:
        return np.linspace(-1, 1, count)
    return (2 * np.arange(count) + 1) / count - 1


def einsum(call: Call) -> list[np.ndarray]:
    """Evaluate the equation; two operands as a matrix product if possible."""
    return [np.einsum(call.attribute("equation"), *values(call), optimize=len(call.operands) == 2)]


def det(call: Call) -> list[np.ndarray]:
    return [np.asarray(np.linalg.det(value(call, 0)))]


def non_max_suppression(call: Call) -> list[np.ndarray]:
    """Return (batch, class, box): per class the boxes that score highest and overlap no kept one."""
    boxes, scores = value(call, 0), value(call, 1)
    most, overlap = scalar(call, 2, 0), _real(call, 3, 0.0)
    least = _real(call, 4, -np.inf)
    corners = boxes if not call.attribute("center_point_box", 0) else _corners(boxes)
    found = []
    for batch, kind in itertools.product(*map(range, scores.shape[:2])):
        kept: list[int] = []
        for box in np.argsort(-scores[batch, kind], kind="stable"):
            if len(kept) >= most or scores[batch, kind, box] <= least:
                break
            charge(reads=2**5 * PYTHON * (1 + len(kept)))
            if all(_overlap(corners[batch, box], corners[batch, other]) <= overlap for other in kept):
                kept.append(int(box))
        found += [(batch, kind, box) for box in kept]
    return [np.array(found, np.int64).reshape(-1, 3)]


def _real(call: Call, index: int, default: float) -> float:
    given = optional(call, index)
    return default if given is None else float(given.reshape(()))


def _corners(boxes: np.ndarray) -> np.ndarray:
    """Convert (x centre, y centre, width, height) to (y1, x1, y2, x2)."""
    x, y, width, height = np.moveaxis(boxes, -1, 0)
    return np.stack([y - height / 2, x - width / 2, y + height / 2, x + width / 2], -1)


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Return the intersection over union."""
    low_a, high_a = np.minimum(a[:2], a[2:]), np.maximum(a[:2], a[2:])
    low_b, high_b = np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])
    common = np.prod(np.maximum(np.minimum(high_a, high_b) - np.maximum(low_a, low_b), 0))
    union = np.prod(high_a - low_a) + np.prod(high_b - low_b) - common
    return float(common / union) if union > 0 else 0.0


KERNELS: dict[str, Kernel] = {
    "AffineGrid": affine_grid,
    "BlackmanWindow": window((0.42, -0.5, 0.08)),
    "CenterCropPad": center_crop_pad,
    "Compress": compress,
    "Det": det,
    "Einsum": einsum,
    "EyeLike": eye_like,
    "GatherND": gather_nd,
    "HammingWindow": window((25 / 46, -21 / 46)),
    "HannWindow": window((0.5, -0.5)),
    "MelWeightMatrix": mel_weights,
    "NonMaxSuppression": non_max_suppression,
    "NonZero": non_zero,
    "OneHot": one_hot,
    "ReverseSequence": reverse_sequence,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Size": size,
    "SpaceToDepth": space_to_depth,
    "StringNormalizer": string_normalizer,
    "StringSplit": string_split,
    "TensorScatter": tensor_scatter,
    "Trilu": trilu,
    "Unique": unique,
}
