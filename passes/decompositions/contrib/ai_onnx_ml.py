"""Decompositions of ai.onnx.ml ops that are formulas. Results are f32, as in onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import f32

from dialects.onnx import ops as onnx
from passes.autodiff.common.primal import Primal, refusal
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Results


def scaler(f: Primal, e: Builder) -> Results:
    """(X - offset) scale"""
    x = f.x.cast(f32)
    offset, scale = f.value("offset"), f.value("scale")
    x = x - _constant(offset, e) if offset else x
    return [x * _constant(scale, e) if scale else x]


def _constant(values: Sequence[float] | np.ndarray, e: Builder, shape: Sequence[int] = (-1,)) -> Value:
    return e(e.emit.constant(np.array(values, np.float32).reshape(shape)))


def array_feature_extractor(f: Primal, e: Builder) -> Results:
    places = f.required(1)
    x = f.x if f.x.rank > 1 else f.x.unsqueeze([0])
    flat = places.apply(onnx.ReshapeOp, e.ints([-1]))
    return [x.apply(onnx.GatherOp, flat, axis=x.rank - 1)]


def normalizer(f: Primal, e: Builder) -> Results:
    """Divide each row by its maximum, sum or length, unless that is 0."""
    x, axes = f.x.cast(f32), e.ints([-1])
    match f.value("norm", "MAX"):
        case "MAX":
            size = x.apply(onnx.ReduceMaxOp, axes, keepdims=1)
        case "L1":
            size = x.apply(onnx.ReduceL1Op, axes, keepdims=1)
        case "L2":
            size = x.apply(onnx.ReduceL2Op, axes, keepdims=1)
        case other:
            raise refusal("norm", given=other, expected="MAX, L1 or L2")
    return [x / size.equals(0).where(e.scalar(1, x), size)]


def imputer(f: Primal, e: Builder) -> Results:
    values = f.value("imputed_value_floats")
    if not values:
        raise refusal("imputed_value_floats", expected="some")
    replaced = f.value("replaced_value_float", 0.0)
    missing = f.x.apply(onnx.IsNaNOp) if np.isnan(replaced) else f.x.equals(replaced)
    return [missing.where(_constant(values, e).cast(f.x.dtype), f.x)]


def _rows(x: Value) -> Value:
    x = x.cast(f32)
    return x if x.rank > 1 else x.unsqueeze([0])


_TRANSFORMS: Mapping[str, Callable[[Value], Value]] = MappingProxyType(
    {
        "NONE": lambda scores: scores,
        "LOGISTIC": lambda scores: scores.sigmoid(),
        "SOFTMAX": lambda scores: scores.apply(onnx.SoftmaxOp, axis=-1),
    }
)


def _post_transform(f: Primal, scores: Value) -> Value:
    name = f.value("post_transform", "NONE")
    if name not in _TRANSFORMS:
        raise refusal("post_transform", given=name, expected=", ".join(_TRANSFORMS))
    return _TRANSFORMS[name](scores)


def _linear(f: Primal, e: Builder, targets: int) -> Value:
    weights, bias = f.value("coefficients"), f.value("intercepts")
    matrix = _constant(weights, e, (targets, -1))
    return _rows(f.x).apply(onnx.GemmOp, matrix, _constant(bias, e) if bias else None, transB=1)


def linear_regressor(f: Primal, e: Builder) -> Results:
    return [_post_transform(f, _linear(f, e, f.value("targets", 1)))]


def linear_classifier(f: Primal, e: Builder) -> Results:
    """Return the scores; only the op computes the label. One row of weights serves two classes."""
    classes = len(f.value("classlabels_ints") or f.value("classlabels_strings") or ())
    targets = len(f.value("intercepts") or ()) or classes
    scores = _linear(f, e, targets)
    if targets > 1 or classes != 2:
        return [None, _post_transform(f, scores)]
    match f.value("post_transform", "NONE"):
        case "NONE":
            pair = (1 - scores, scores)
        case "LOGISTIC":
            pair = ((-scores).sigmoid(), scores.sigmoid())
        case other:
            raise refusal("post_transform for two classes", given=other, expected="NONE or LOGISTIC")
    return [None, e.concat(pair, 1)]


def svm_regressor(f: Primal, e: Builder) -> Results:
    """sum of coefficient[i] kernel(x, support[i]), plus rho"""
    if f.value("one_class", 0):
        raise refusal("one_class", given=1, expected="0")
    count, rho = f.value("n_supports", 0), f.value("rho") or [0.0]
    weights, x = f.value("coefficients"), _rows(f.x)
    if count:
        x = _kernel(f, x, np.reshape(f.value("support_vectors"), (count, -1)), e)
    found = x.apply(onnx.MatMulOp, _constant(weights, e, (-1, 1))) + float(rho[0])
    return [_post_transform(f, found)]


def svm_classifier(f: Primal, e: Builder) -> Results:
    """Return a score for each pair of classes, or class probabilities from Platt's sigmoid of these.
    onnxruntime's solver for the probabilities stops at a total change below 0.005."""
    counts = f.value("vectors_per_class") or ()
    if len(counts) < 2 or f.value("post_transform", "NONE") != "NONE":
        raise refusal("SVMClassifier", expected="vectors of each class without a post_transform")
    supports = np.reshape(f.value("support_vectors"), (sum(counts), -1))
    kernels = _kernel(f, _rows(f.x), supports, e)
    weights = _weights_of_pairs(f.value("coefficients"), counts)
    scores = kernels.apply(onnx.MatMulOp, _constant(weights, e, weights.shape))
    scores = scores + _constant(f.value("rho")[: weights.shape[1]], e)
    slopes, offsets = f.value("prob_a") or (), f.value("prob_b") or ()
    if slopes:
        inner = scores * _constant(slopes, e) + _constant(offsets, e)
        first = (-inner).sigmoid().clip_to(1e-7, 1 - 1e-7)
        return [
            None,
            _couple_probabilities(first, len(counts)) if len(counts) > 2 else _pair(first, 1 - first),
        ]
    return [None, scores if len(counts) > 2 else _pair(-scores, scores)]


def _pair(first: Value, second: Value) -> Value:
    return first.e.concat([first, second], 1)


def _weights_of_pairs(coefficients: Sequence[float], counts: Sequence[int]) -> np.ndarray:
    """Return a weight for each support and pair of classes from the one-against-one coefficients."""
    rows = np.reshape(coefficients, (len(counts) - 1, sum(counts)))
    ends = np.cumsum(counts)
    of = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    found = np.zeros((sum(counts), len(counts) * (len(counts) - 1) // 2))
    for column, (i, j) in enumerate(combinations(range(len(counts)), 2)):
        found[of[i], column] = rows[j - 1, of[i]]
        found[of[j], column] = rows[i, of[j]]
    return found


def _couple_probabilities(first: Value, classes: int) -> Value:
    """Return class probabilities from pairwise ones, by Wu, Lin and Weng's second method: the p with sum 1
    and least p Q p. Q p is one number for all classes, so p is a multiple of the solution of (Q + 1) p = 1,
    whose matrix is positive definite."""
    e, n = first.e, classes
    chosen, rest = np.zeros((n * (n - 1) // 2, n, n)), np.zeros((n, n))
    for pair, (i, j) in enumerate(combinations(range(n), 2)):
        chosen[pair, i, j], chosen[pair, j, i], rest[j, i] = 1, -1, 1
    flat = first.apply(onnx.MatMulOp, _constant(chosen, e, (len(chosen), n * n))) + _constant(rest.ravel(), e)
    r = flat.apply(onnx.ReshapeOp, e.ints([-1, n, n]))
    sums = r.square().apply(onnx.ReduceSumOp, e.ints([1]), keepdims=1)
    q = sums * _constant(np.eye(n), e, (n, n)) - r * r.transpose([0, 2, 1])
    return _solve_for_ones(q + 1, n)


def _solve_for_ones(matrix: Value, n: int) -> Value:
    """Solve for a right-hand side of ones by elimination without pivoting; scale solutions to sum 1."""
    e = matrix.e
    ones = e.fill_like(1, _part(matrix, 0, 1, axis=2))
    table = e.concat([matrix, ones], 2)
    for i in range(n):
        row, column = _part(table, i, i + 1, axis=1), _part(table, i, i + 1, axis=2)
        row = row / _part(row, i, i + 1, axis=2)
        table = table - (column - _constant(np.eye(n)[i], e, (n, 1))) * row
    found = _part(table, n, n + 1, axis=2).squeeze([2])
    return found / found.apply(onnx.ReduceSumOp, e.ints([1]), keepdims=1)


def _part(x: Value, start: int, end: int, axis: int) -> Value:
    return x.apply(onnx.SliceOp, x.e.ints([start]), x.e.ints([end]), x.e.ints([axis]))


def _kernel(f: Primal, x: Value, supports: np.ndarray, e: Builder) -> Value:
    """Return the kernel of each row with each support."""
    gamma, offset, degree = [*(f.value("kernel_params") or ()), 0.0, 0.0, 0.0][:3]
    matrix = _constant(supports.T.ravel(), e, supports.T.shape)
    match f.value("kernel_type", "LINEAR"):
        case "LINEAR":
            return x.apply(onnx.MatMulOp, matrix)
        case "POLY":
            return (x.apply(onnx.MatMulOp, matrix) * gamma + offset).apply(onnx.PowOp, degree)
        case "SIGMOID":
            return (x.apply(onnx.MatMulOp, matrix) * gamma + offset).tanh()
        case "RBF":
            return (_distances(x, supports, e) * -gamma).exp()
        case other:
            raise refusal("kernel_type", given=other, expected="LINEAR, POLY, RBF or SIGMOID")


def _distances(x: Value, supports: np.ndarray, e: Builder) -> Value:
    """Return squared distances by a product, relative to the mean of the supports against cancellation."""
    middle = supports.mean(0)
    x, supports = x - _constant(middle, e), supports - middle
    squares = x.apply(onnx.ReduceSumSquareOp, e.ints([1]), keepdims=1)
    product = x.apply(onnx.MatMulOp, _constant((-2 * supports.T).ravel(), e, supports.T.shape))
    return squares + product + _constant(np.square(supports).sum(1).tolist(), e)
