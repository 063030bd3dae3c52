"""numpy semantics of reductions, cumulative ops, softmax, normalisations, losses and TopK."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dialects.onnx.call import Call, axes_of, axis_of
from dialects.onnx.infer.reductions import check_labels
from dialects.onnx.operands import optional, scalar, sizes, value
from dialects.support.diagnostics import UnsupportedError, violation

Kernel = Callable[[Call], Sequence[np.ndarray]]

_Axes = tuple[int, ...] | None


def reduction(function: Callable[[np.ndarray, _Axes], np.ndarray], identity: bool = True) -> Kernel:
    """Return a kernel; `function` keeps reduced axes as ones. Without axes but with `noop_with_empty_axes`
    each element is reduced alone, which is the identity if `identity`."""

    def kernel(call: Call) -> list[np.ndarray]:
        data, axes = value(call, 0), sizes(call, 1, ())
        if not axes and call.attribute("noop_with_empty_axes", 0):
            return [data if identity else function(data, ())]
        over = tuple(axes_of(axes, data.ndim)) if axes else tuple(range(data.ndim))
        kept = function(data, over)
        return [kept if call.attribute("keepdims", 1) else kept.reshape(_without(kept.shape, over))]

    return kernel


def _without(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    return [size for i, size in enumerate(shape) if i not in axes]


def add(x: np.ndarray, axes: _Axes) -> np.ndarray:
    """Sum; integers wrap around, in their own type."""
    return np.sum(x, axis=axes, dtype=x.dtype, keepdims=True)


def _extreme(function: Callable[..., np.ndarray], last: float) -> Callable[[np.ndarray, _Axes], np.ndarray]:
    """Return a maximum or minimum function; an empty one gives the identity element."""

    def kernel(x: np.ndarray, axes: _Axes) -> np.ndarray:
        if x.dtype.kind == "b":
            beyond = last > 0
        elif x.dtype.kind == "f":
            beyond = last
        else:
            beyond = np.iinfo(x.dtype).min if last < 0 else np.iinfo(x.dtype).max
        given = {} if x.size else {"initial": beyond}
        return function(x, axis=axes, keepdims=True, **given)

    return kernel


def mean_of(x: np.ndarray, axes: _Axes) -> np.ndarray:
    """Return the mean in float64, NaN without elements, without numpy's warning."""
    total = np.sum(x, axis=axes, dtype=np.float64, keepdims=True)
    return np.asarray(total / np.float64(x.size // total.size if total.size else 1))


def variance_of(x: np.ndarray, axes: _Axes) -> np.ndarray:
    return mean_of(np.square(x - mean_of(x, axes)), axes)


def mean(x: np.ndarray, axes: _Axes) -> np.ndarray:
    """Return the mean; a mean of integers is truncated."""
    found = mean_of(x, axes)
    return np.asarray(np.trunc(found) if x.dtype.kind in "iu" else found)


def log_sum_exp(x: np.ndarray, axes: _Axes) -> np.ndarray:
    x = x.astype(np.float64, copy=False)
    if not x.size:
        return np.log(add(x, axes))
    top = np.max(x, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    terms = np.asarray(x - top)
    return np.log(add(np.exp(terms, out=terms), axes)) + top


def _l2(x: np.ndarray, axes: _Axes) -> np.ndarray:
    return np.sqrt(add(np.square(x.astype(np.float64, copy=False)), axes))


# Along one axis


def index_of(function: Callable[..., np.ndarray]) -> Kernel:
    def kernel(call: Call) -> list[np.ndarray]:
        data = value(call, 0)
        axis = axis_of(call.attribute("axis", 0), data.ndim)
        if call.attribute("select_last_index", 0):
            found = data.shape[axis] - 1 - function(np.flip(data, axis), axis=axis)
        else:
            found = function(data, axis=axis)
        return [np.expand_dims(found, axis) if call.attribute("keepdims", 1) else np.asarray(found)]

    return kernel


def cumulative(function: Callable[..., np.ndarray], start: int) -> Kernel:
    def kernel(call: Call) -> list[np.ndarray]:
        data = value(call, 0)
        axis = axis_of(scalar(call, 1, 0), data.ndim)
        data = np.flip(data, axis) if call.attribute("reverse", 0) else data
        if call.attribute("exclusive", 0) and data.shape[axis]:
            kept = np.delete(data, -1, axis)
            data = np.insert(kept, 0, np.asarray(start, data.dtype), axis)
        found = function(data, axis=axis, dtype=data.dtype)
        return [np.flip(found, axis) if call.attribute("reverse", 0) else found]

    return kernel


def softmax(call: Call) -> list[np.ndarray]:
    shares, axis = _subtract_max(call)
    np.exp(shares, out=shares)
    return [np.divide(shares, np.sum(shares, axis=axis, keepdims=True), out=shares)]


def log_softmax(call: Call) -> list[np.ndarray]:
    found, axis = _subtract_max(call)
    return [np.subtract(found, np.log(np.sum(np.exp(found), axis=axis, keepdims=True)), out=found)]


def _subtract_max(call: Call) -> tuple[np.ndarray, int]:
    """Return a new array of the differences to the maximum along the axis, and the axis."""
    data = value(call, 0)
    axis = axis_of(call.attribute("axis", -1), data.ndim)
    return np.asarray(data - np.max(data, axis=axis, keepdims=True, initial=-np.inf)), axis


def hardmax(call: Call) -> list[np.ndarray]:
    data, axis = value(call, 0), call.attribute("axis", -1)
    result = np.zeros_like(data)
    np.put_along_axis(result, np.expand_dims(np.argmax(data, axis), axis), 1, axis)
    return [result]


def top_k(call: Call) -> list[np.ndarray]:
    """Return the K largest or smallest; equal elements in index order."""
    data, axis = value(call, 0), call.attribute("axis", -1)
    order = data
    if call.attribute("largest", 1):
        order = -data.astype(np.float64) if data.dtype.kind == "f" else ~data
    places = np.argsort(order, axis=axis, kind="stable")
    places = np.take(places, np.arange(scalar(call, 1, 1)), axis=axis)
    return [np.take_along_axis(data, places, axis), places]


# Normalisations


def lp_normalization(call: Call) -> list[np.ndarray]:
    data, axis = value(call, 0), call.attribute("axis", -1)
    size = np.abs(data) if call.attribute("p", 2) == 1 else np.square(data)
    norm = np.sum(size, axis=axis, keepdims=True)
    norm = norm if call.attribute("p", 2) == 1 else np.sqrt(norm)
    return [np.divide(data, norm, out=np.zeros_like(data), where=norm != 0)]


def _standardize(
    data: np.ndarray, axes: tuple[int, ...], epsilon: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (x - mean) / sqrt(variance + epsilon), the mean, and one over the root."""
    middle = mean_of(data, axes)
    found = np.asarray(data - middle)
    scale = 1 / np.sqrt(mean_of(np.square(found), axes) + epsilon)
    return np.multiply(found, scale, out=found), middle, scale


def _affine(new: np.ndarray, factor: np.ndarray, summand: np.ndarray | None) -> np.ndarray:
    """Compute new * factor + summand, in place unless broadcasting enlarges it."""
    shape = np.broadcast_shapes(new.shape, factor.shape, () if summand is None else summand.shape)
    found = np.multiply(new, factor, out=new if shape == new.shape else None)
    return found if summand is None else np.add(found, summand, out=found if shape == found.shape else None)


def layer_normalization(call: Call) -> list[np.ndarray]:
    data = value(call, 0)
    axis = axis_of(call.attribute("axis", -1), data.ndim)
    over = tuple(range(axis, data.ndim))
    found, middle, scale = _standardize(data, over, call.attribute("epsilon", 1e-5))
    return [_affine(found, value(call, 1), optional(call, 2)), middle, scale]


def rms_normalization(call: Call) -> list[np.ndarray]:
    data = value(call, 0)
    axis = axis_of(call.attribute("axis", -1), data.ndim)
    over = tuple(range(axis, data.ndim))
    square = mean_of(np.square(data), over)
    return [data / np.sqrt(square + call.attribute("epsilon", 1e-5)) * value(call, 1)]


def _per_channel(vector: np.ndarray, rank: int) -> np.ndarray:
    return vector.reshape(-1, *[1] * (rank - 2))


def instance_normalization(call: Call) -> list[np.ndarray]:
    data = value(call, 0)
    scale, bias = (_per_channel(value(call, i), data.ndim) for i in (1, 2))
    found, _, _ = _standardize(data, tuple(range(2, data.ndim)), call.attribute("epsilon", 1e-5))
    return [_affine(found, scale, bias)]


def group_normalization(call: Call) -> list[np.ndarray]:
    data, groups = value(call, 0), call.attribute("num_groups")
    scale, bias = (_per_channel(value(call, i), data.ndim) for i in (1, 2))
    grouped = data.reshape(data.shape[0], groups, int(np.prod(data.shape[1:])) // groups)
    found, _, _ = _standardize(grouped, (2,), call.attribute("epsilon", 1e-5))
    return [_affine(found.reshape(data.shape), scale, bias)]


def batch_normalization(call: Call) -> list[np.ndarray]:
    data = value(call, 0)
    scale, bias, middle, variance = (value(call, i) for i in range(1, 5))
    running = [middle, variance]
    if call.attribute("training_mode", 0):
        over = tuple(i for i in range(data.ndim) if i != 1)
        keep = call.attribute("momentum", 0.9)
        middle, variance = (found(data, over).reshape(-1) for found in (mean_of, variance_of))
        pairs = zip(running, (middle, variance), strict=True)
        running = [old * keep + new * (1 - keep) for old, new in pairs]
    scale, bias, middle, variance = (_per_channel(v, data.ndim) for v in (scale, bias, middle, variance))
    factor = scale / np.sqrt(variance + call.attribute("epsilon", 1e-5))
    return [_affine(np.asarray(data - middle), factor, bias), *running][: call.results]


def mean_variance_normalization(call: Call) -> list[np.ndarray]:
    data = value(call, 0)
    axes = tuple(axes_of(call.attribute("axes", [0, 2, 3]), data.ndim))
    centred = data - mean_of(data, axes)
    return [centred / np.sqrt(mean_of(np.square(centred), axes))]


def local_response(call: Call) -> list[np.ndarray]:
    """Normalise by the squares of `size` channels around each, one more after it if size is even."""
    data, size = value(call, 0), call.attribute("size")
    channels = data.shape[1]
    squares = np.zeros_like(data)
    for c in range(channels):
        low, high = max(0, c - (size - 1) // 2), min(channels, c + size // 2 + 1)
        squares[:, c] = np.sum(np.square(data[:, low:high]), axis=1)
    alpha, beta = call.attribute("alpha", 1e-4), call.attribute("beta", 0.75)
    return [data / (call.attribute("bias", 1.0) + alpha / size * squares) ** beta]


def dropout(call: Call) -> list[np.ndarray]:
    """Return the data; only without random draws."""
    data, ratio, training = value(call, 0), optional(call, 1), optional(call, 2)
    draws = training is not None and bool(training.any())
    if draws and (ratio is None or ratio.any()):
        raise UnsupportedError(violation("Dropout in training draws random numbers").diagnostic)
    return [data, np.ones(data.shape, np.bool_)]


# Losses


def negative_log_likelihood(call: Call) -> list[np.ndarray]:
    return [_loss(call, value(call, 0))]


def softmax_cross_entropy(call: Call) -> list[np.ndarray]:
    scores = value(call, 0)
    scores = scores - np.max(scores, axis=1, keepdims=True)
    logarithms = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return [_loss(call, logarithms), logarithms]


def _loss(call: Call, logarithms: np.ndarray) -> np.ndarray:
    check_labels(call)
    labels, weights = value(call, 1).astype(np.int64), optional(call, 2)
    ignored = call.attribute("ignore_index")
    counted = np.ones(labels.shape) if ignored is None else (labels != ignored).astype(np.float64)
    safe = np.where(counted != 0, labels, 0)
    taken = np.take_along_axis(logarithms, np.expand_dims(safe, 1), 1).squeeze(1)
    weighted = counted if weights is None else counted * weights[safe]
    losses = np.where(weighted != 0, -taken * weighted, 0)
    match call.attribute("reduction", "mean"):
        case "none":
            return losses
        case "sum":
            return np.sum(losses)
        case _:
            return np.sum(losses) / np.sum(weighted)


KERNELS: dict[str, Kernel] = {
    "ArgMax": index_of(np.argmax),
    "ArgMin": index_of(np.argmin),
    "BatchNormalization": batch_normalization,
    "CumProd": cumulative(np.cumprod, 1),
    "CumSum": cumulative(np.cumsum, 0),
    "Dropout": dropout,
    "GroupNormalization": group_normalization,
    "Hardmax": hardmax,
    "InstanceNormalization": instance_normalization,
    "LRN": local_response,
    "LayerNormalization": layer_normalization,
    "LogSoftmax": log_softmax,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "RMSNormalization": rms_normalization,
    "ReduceL1": reduction(lambda x, axes: add(np.abs(x), axes), identity=False),
    "ReduceL2": reduction(_l2, identity=False),
    "ReduceLogSum": reduction(lambda x, axes: np.log(add(x.astype(np.float64), axes)), identity=False),
    "ReduceLogSumExp": reduction(log_sum_exp, identity=False),
    "ReduceMax": reduction(_extreme(np.max, -np.inf)),
    "ReduceMean": reduction(mean),
    "ReduceMin": reduction(_extreme(np.min, np.inf)),
    "ReduceProd": reduction(lambda x, axes: np.prod(x, axis=axes, dtype=x.dtype, keepdims=True)),
    "ReduceSum": reduction(add),
    "ReduceSumSquare": reduction(lambda x, axes: add(np.square(x), axes), identity=False),
    "Softmax": softmax,
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
    "TopK": top_k,
}
