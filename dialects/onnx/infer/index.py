"""Shape rules of ops that select or scatter elements, or generate tensors from sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dialects.onnx.call import Call, Tensor, axes_of, axis_of
from dialects.onnx.dims import add, broadcast, floordiv, multiply, product, subtract, vector
from dialects.support.diagnostics import violation
from dialects.support.op_cache_key import MOST_SIZES
from dialects.support.shapes import Dim, Shape, merge, same_dim, show

Rule = Callable[[Call], list[Shape | None]]


def first(call: Call) -> list[Shape | None]:
    return [call.operand(0).shape]


def size(call: Call) -> list[Shape | None]:
    return [()]


def few(tensor: Tensor) -> np.ndarray | None:
    """Return the value of a small constant operand; inference does not read larger ones."""
    value = tensor.value
    return value if value is not None and value.size <= MOST_SIZES else None


def non_zero(call: Call) -> list[Shape | None]:
    data, known = call.operand(0), few(call.operand(0))
    return [(max(data.rank, 1), None if known is None else int(np.count_nonzero(known)))]


def unique(call: Call) -> list[Shape | None]:
    data, axis = call.operand(0), call.attribute("axis")
    whole = product(data.shape)
    at = None if axis is None else axis_of(axis, data.rank)
    known = few(data)
    count: Dim = None if known is None else np.unique(known, axis=at).shape[at or 0]
    if at is None:
        return [(count,), (count,), (whole,), (count,)]
    kept = (*data.shape[:at], count, *data.shape[at + 1 :])
    return [kept, (count,), (data.shape[at],), (count,)]


def compress(call: Call) -> list[Shape | None]:
    axis, known = call.attribute("axis"), few(call.operand(1))
    count: Dim = None if known is None else int(np.count_nonzero(known))
    if axis is None:
        return [(count,)]
    data = call.operand(0)
    axis = axis_of(axis, data.rank)
    return [(*data.shape[:axis], count, *data.shape[axis + 1 :])]


def gather_nd(call: Call) -> list[Shape | None]:
    data, indices, batch = call.operand(0), call.operand(1), call.attribute("batch_dims", 0)
    depth = indices.shape[-1] if indices.rank else None
    if not isinstance(depth, int):
        return [call.unknown("the last dim of the indices", indices)]
    if not 1 <= depth <= data.rank - batch:
        raise violation("last dim of the indices", given=depth, expected=f"1 to {data.rank - batch}")
    return [indices.shape[:-1] + data.shape[batch + depth :]]


def scatter_elements(call: Call) -> list[Shape | None]:
    data, indices, updates = (call.operand(i) for i in range(3))
    axis_of(call.attribute("axis", 0), data.rank)
    if indices.rank != data.rank:
        raise violation("rank of the indices", given=indices.rank, expected=data.rank)
    fits = indices.rank == updates.rank and all(map(same_dim, indices.shape, updates.shape))
    if not fits:
        raise violation("updates", given=show(updates.shape), expected=show(indices.shape))
    return [data.shape]


def one_hot(call: Call) -> list[Shape | None]:
    indices, depth = call.operand(0), call.operand(1)
    axis = axis_of(call.attribute("axis", -1), indices.rank + 1)
    given = None if depth.value is None else depth.value.reshape(-1)[0]
    if given is not None and not np.isfinite(given):
        raise violation("depth of OneHot", given=given, expected="a number of 0 or more")
    count = None if given is None else int(given)
    if count is None and depth.dims:
        count = depth.dims[0]
    return [(*indices.shape[:axis], count, *indices.shape[axis:])]


def square(call: Call) -> list[Shape | None]:
    """Return the shape of a matrix or a batch of matrices."""
    data = call.operand(0)
    if data.rank < 2:
        raise violation(f"input of {call.name}", given=show(data.shape), expected="rank 2 or more")
    return [data.shape]


def eye_like(call: Call) -> list[Shape | None]:
    data = call.operand(0)
    if data.rank != 2:
        raise violation("input of EyeLike", given=show(data.shape), expected="rank 2")
    return [data.shape]


def flatten(call: Call) -> list[Shape | None]:
    data, axis = call.operand(0), call.attribute("axis", 1)
    if not -data.rank <= axis <= data.rank:
        raise violation("axis", given=axis, expected=f"[{-data.rank}, {data.rank}]")
    axis = axis + data.rank if axis < 0 else axis
    return [(product(data.shape[:axis]), product(data.shape[axis:]))]


def space_to_depth(call: Call) -> list[Shape | None]:
    data, block = call.operand(0), call.attribute("blocksize")
    if data.rank != 4:
        raise violation("input of SpaceToDepth", given=show(data.shape), expected="rank 4")
    batch, channels, *sizes = data.shape
    for dim in sizes:
        if isinstance(dim, int) and dim % block:
            raise violation("sizes of SpaceToDepth", given=dim, expected=f"a multiple of {block}")
    parts = [floordiv(dim, block) for dim in sizes]
    return [(batch, multiply(channels, block * block), *parts)]


def center_crop_pad(call: Call) -> list[Shape | None]:
    data, sizes = call.operand(0), vector(call.operand(1), "the shape of CenterCropPad")
    axes = axes_of(call.attribute("axes", range(data.rank)), data.rank)
    sizes = (None,) * len(axes) if sizes is None else sizes
    if len(sizes) != len(axes):
        raise violation("shape of CenterCropPad", given=f"{len(sizes)} values", expected=len(axes))
    result = list(data.shape)
    for axis, dim in zip(axes, sizes, strict=True):
        result[axis] = dim
    return [tuple(result)]


def random(call: Call) -> list[Shape | None]:
    return [tuple(call.attribute("shape"))]


def multinomial(call: Call) -> list[Shape | None]:
    return [(call.operand(0).shape[0], call.attribute("sample_size", 1))]


def number(tensor: Tensor) -> int | None:
    """Return the value of a scalar or one-element vector, if it is known."""
    if tensor.value is not None and tensor.value.size == 1:
        return int(tensor.value.reshape(()))
    dim = tensor.dims[0] if tensor.dims is not None and len(tensor.dims) == 1 else None
    return dim if isinstance(dim, int) else None


def scalar_size(tensor: Tensor) -> Dim:
    return tensor.dims[0] if tensor.dims else number(tensor)


def window(call: Call) -> list[Shape | None]:
    return [(scalar_size(call.operand(0)),)]


def mel_weights(call: Call) -> list[Shape | None]:
    bins, length = number(call.operand(0)), number(call.operand(1))
    return [(None if length is None else length // 2 + 1, bins)]


def dft(call: Call) -> list[Shape | None]:
    data, length, axis = call.operand(0), call.optional(1), call.optional(2)
    where = -2 if axis is None else number(axis)
    one_sided, inverse = call.attribute("onesided", 0), call.attribute("inverse", 0)
    # only the inverse of a half spectrum is real, with a last size of 1
    last = 1 if one_sided and inverse else 2
    if where is None:
        return [(*(None,) * (data.rank - 1), last)]
    at = axis_of(where, data.rank)
    size: Dim = data.shape[at] if length is None else scalar_size(length)
    if one_sided and not inverse:
        size = add(floordiv(size, 2), 1)
    if one_sided and inverse and length is None:
        size = None
    result = list(data.shape)
    result[at], result[-1] = size, last
    return [tuple(result)]


def stft(call: Call) -> list[Shape | None]:
    signal, step = call.operand(0), number(call.operand(1))
    window, given = call.optional(2), call.optional(3)
    length = number(given) if given is not None else (window.shape[0] if window is not None else None)
    bins = add(floordiv(length, 2), 1) if call.attribute("onesided", 1) else length
    frames = add(floordiv(subtract(signal.shape[1], length), step), 1)
    return [(signal.shape[0], frames, bins, 2)]


def string_split(call: Call) -> list[Shape | None]:
    data = call.operand(0).shape
    return [(*data, None), data]


def string_concat(call: Call) -> list[Shape | None]:
    return [broadcast([call.operand(0).shape, call.operand(1).shape])]


def tf_idf(call: Call) -> list[Shape | None]:
    indexes = call.attribute("ngram_indexes")
    return [(*call.operand(0).shape[:-1], max(indexes) + 1)]


def non_max_suppression(call: Call) -> list[Shape | None]:
    return [(None, 3)]


def same_shapes(call: Call) -> list[Shape | None]:
    """Check that both operands have one shape; return it."""
    a, b = call.operand(0).shape, call.operand(1).shape
    if len(a) != len(b) or not all(map(same_dim, a, b)):
        raise violation(f"shapes of {call.name}", given=f"{show(a)} and {show(b)}", expected="equal ones")
    return [merge(a, b)]


def tensor_scatter(call: Call) -> list[Shape | None]:
    data, update = call.operand(0), call.operand(1)
    if data.rank != update.rank:
        raise violation("rank of the update", given=update.rank, expected=data.rank)
    return [data.shape]


def image(call: Call) -> list[Shape | None]:
    channels = 1 if call.attribute("pixel_format", "RGB") == "Grayscale" else 3
    return [(None, None, channels)]


def string_normalizer(call: Call) -> list[Shape | None]:
    data = call.operand(0)
    return [(*data.shape[:-1], None)] if call.attribute("stopwords") else [data.shape]


def cumulative(call: Call) -> list[Shape | None]:
    axis = call.operand(1)
    data = call.operand(0)
    if axis.value is not None and axis.value.size == 1:
        axis_of(int(np.asarray(axis.value).reshape(())), data.rank)
    return [data.shape]


RULES: Mapping[str, Mapping[str, Rule]] = {
    "STRINGWISE": {
        "RegexFullMatch": first,
        "StringConcat": string_concat,
    },
    "SCANS": {
        "CumProd": cumulative,
        "CumSum": cumulative,
    },
    "VIEWS": {
        "Flatten": flatten,
    },
    "MOVES": {
        "CenterCropPad": center_crop_pad,
        "Compress": compress,
        "GatherND": gather_nd,
        "ReverseSequence": square,
        "SpaceToDepth": space_to_depth,
        "Trilu": square,
    },
    "SCATTERS": {
        "ScatterElements": scatter_elements,
        "TensorScatter": tensor_scatter,
    },
    "CREATIONS": {
        "EyeLike": eye_like,
    },
    "SIZES": {
        "Size": size,
    },
    "ATTENTION": {
        "SwiGLU": same_shapes,
    },
    "SPECTRA": {
        "BlackmanWindow": window,
        "DFT": dft,
        "HammingWindow": window,
        "HannWindow": window,
        "MelWeightMatrix": mel_weights,
        "STFT": stft,
    },
    "SELECTIONS": {
        "NonMaxSuppression": non_max_suppression,
        "NonZero": non_zero,
        "Unique": unique,
    },
    "WORDS": {
        "StringNormalizer": string_normalizer,
        "StringSplit": string_split,
        "TfIdfVectorizer": tf_idf,
    },
    "RANDOM": {
        "Bernoulli": first,
        "Multinomial": multinomial,
        "RandomNormal": random,
        "RandomNormalLike": first,
        "RandomUniform": random,
        "RandomUniformLike": first,
    },
    "OF_NO_KIND": {
        # reads a file format
        "ImageDecoder": image,
        # makes a tensor of an operand's values, at indices that are data
        "OneHot": one_hot,
    },
}
"""Kind in `traits` -> op -> its shape rule."""
