"""Shape rules of reductions, cumulative ops, softmax, normalisations and TopK."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dialects.onnx.call import Call, axis_of
from dialects.onnx.dims import vector
from dialects.support.diagnostics import violation
from dialects.support.shapes import Dim, Shape, same_dim, show

Rule = Callable[[Call], list[Shape | None]]


def along_axis(default: int) -> Rule:
    """Return a rule that keeps the operand's shape and checks `axis`."""

    def rule(call: Call) -> list[Shape | None]:
        data = call.operand(0)
        axis_of(call.attribute("axis", default), data.rank)
        return [data.shape]

    return rule


def index_reduction(call: Call) -> list[Shape | None]:
    data = call.operand(0)
    axis = axis_of(call.attribute("axis", 0), data.rank)
    kept = (1,) if call.attribute("keepdims", 1) else ()
    return [(*data.shape[:axis], *kept, *data.shape[axis + 1 :])]


def top_k(call: Call) -> list[Shape | None]:
    data, count = call.operand(0), vector(call.operand(1), "K of TopK")
    axis, size = axis_of(call.attribute("axis", -1), data.rank), count[0] if count else None
    of = data.shape[axis]
    if isinstance(size, int) and isinstance(of, int) and not 0 <= size <= of:
        raise violation("K of TopK", given=size, expected=f"at most {of}")
    shape = (*data.shape[:axis], size, *data.shape[axis + 1 :])
    return [shape, shape]


def layer_normalization(call: Call) -> list[Shape | None]:
    data = call.operand(0)
    axis = axis_of(call.attribute("axis", -1), data.rank)
    statistics = (*data.shape[:axis], *(1,) * (data.rank - axis))
    return [data.shape, statistics, statistics]


def batch_normalization(call: Call) -> list[Shape | None]:
    data = call.operand(0)
    channels: Dim = data.shape[1] if data.rank > 1 else 1
    for i, name in enumerate(("scale", "B", "mean", "variance"), start=1):
        given = call.operand(i).shape
        if len(given) != 1 or not same_dim(given[0], channels):
            raise violation(f"{name} of BatchNormalization", given=show(given), expected=show((channels,)))
    return [data.shape, call.operand(3).shape, call.operand(4).shape]


def channelwise(*operands: int) -> Rule:
    """Return a rule for data (N, C, ...) whose other operands are vectors of C elements."""

    def rule(call: Call) -> list[Shape | None]:
        data = call.operand(0)
        if data.rank < 2:
            raise violation(f"input of {call.name}", given=show(data.shape), expected="rank 2 or more")
        for i in operands:
            given = call.operand(i).shape
            if len(given) != 1 or not same_dim(given[0], data.shape[1]):
                raise violation(f"input {i} of {call.name}", given=show(given), expected="one a channel")
        return [data.shape]

    return rule


def dropout(call: Call) -> list[Shape | None]:
    return [call.operand(0).shape] * 2


def check_labels(call: Call) -> None:
    """Raise unless the labels of a loss have the shape of its scores without the classes."""
    scores, labels = (call.operand(i).shape for i in (0, 1))
    expected = (*scores[:1], *scores[2:])
    if len(labels) != len(expected) or not all(map(same_dim, labels, expected)):
        raise violation(f"labels of {call.name}", given=show(labels), expected=show(expected))


def _loss(call: Call) -> Shape:
    check_labels(call)
    return call.operand(1).shape if call.attribute("reduction", "mean") == "none" else ()


def negative_log_likelihood(call: Call) -> list[Shape | None]:
    return [_loss(call)]


def softmax_cross_entropy(call: Call) -> list[Shape | None]:
    return [_loss(call), call.operand(0).shape]


def dynamic_quantize(call: Call) -> list[Shape | None]:
    return [call.operand(0).shape, (), ()]


RULES: Mapping[str, Mapping[str, Rule]] = {
    "INDEX_REDUCTIONS": {
        "ArgMax": index_reduction,
        "ArgMin": index_reduction,
    },
    "ALONG_AN_AXIS": {
        "Hardmax": along_axis(-1),
        "LogSoftmax": along_axis(-1),
        "LpNormalization": along_axis(-1),
        "Softmax": along_axis(-1),
    },
    "NORMALIZATIONS": {
        "BatchNormalization": batch_normalization,
        "GroupNormalization": channelwise(1, 2),
        "InstanceNormalization": channelwise(1, 2),
        "LRN": channelwise(),
        "LayerNormalization": layer_normalization,
        "RMSNormalization": along_axis(-1),
    },
    "QUANTIZATION": {
        "DynamicQuantizeLinear": dynamic_quantize,
    },
    "LOSSES": {
        "NegativeLogLikelihoodLoss": negative_log_likelihood,
        "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
    },
    "SELECTIONS": {
        "TopK": top_k,
    },
    "RANDOM_IN_TRAINING": {
        "Dropout": dropout,
    },
}
"""Kind in `traits` -> op -> its shape rule."""
