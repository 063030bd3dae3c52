"""Reference values of a part of a problem's result: some channels of one item, by the numpy reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dialects.evaluate import evaluate
from gradc.problems import ConvBackwardDataProblem, ConvTransposeBackwardDataProblem, Problem
from gradc.verification.verify import RTOL, OutputError, compare

CHANNELS = 4
"""Number of channels of the result that are computed: the reference is slow."""

PEER_SLACK = 8
"""Error bound of peers over gradc's: they round coordinates to f32, and some sums to half types."""


@dataclass(frozen=True, eq=False)
class Truth:
    """`want` is the part `index` of the channels-first result."""

    problem: Problem
    index: tuple[Any, ...]
    want: np.ndarray

    def error(self, name: str, result: np.ndarray, *, peer: bool) -> OutputError:
        """Return the error of a result."""
        rtol = RTOL[self.problem.dtype] * (PEER_SLACK if peer else 1)
        first = _channels_first(result, self.problem)
        sizes = zip(first.shape, self.problem.diff_src, strict=False)
        if first.ndim != len(self.problem.diff_src) or any(isinstance(d, int) and d != n for n, d in sizes):
            return OutputError(name, self.problem.dtype, result.shape, np.inf, np.inf, rtol)
        return compare(name, first[self.index], self.want, rtol)

    def agreement(self, name: str, result: np.ndarray, other: np.ndarray) -> OutputError:
        """Return the difference of two results, in all channels."""
        return compare(name, result, other, RTOL[self.problem.dtype] * (PEER_SLACK + 1))


def truth(problem: Problem, seed: int) -> Truth:
    """Return the reference values of a nonempty problem with random inputs."""
    feeds = problem.feeds(seed) | problem.constants(seed)
    diff_dst = _channels_first(feeds["diff_dst"], problem)
    index: tuple[Any, ...] = (slice(-1, None), _spread(diff_dst.shape[1], CHANNELS))
    small: dict[str, Any] = {"layout": "NCX"}
    if isinstance(problem, ConvBackwardDataProblem | ConvTransposeBackwardDataProblem):
        channels, dst_channels, weights, groups = _slice_conv(problem, feeds["weights"])
        index, diff_dst = (slice(-1, None), channels), diff_dst[-1:, dst_channels]
        feeds["weights"] = weights
        small |= {"weights": weights.shape, "groups": groups, "weights_are": "input"}
    elif min(getattr(problem, "axes", ()), default=2) < 2:
        index = (...,)
    else:
        diff_dst = diff_dst[index]
    part = replace(problem, diff_dst=diff_dst.shape, **small)
    (want,) = evaluate(part.module(), list((feeds | {"diff_dst": diff_dst}).values()))
    return Truth(problem, index, want)


def _channels_first(array: np.ndarray, problem: Problem) -> np.ndarray:
    return array if problem.layout == "NCX" or array.ndim < 3 else np.moveaxis(array, -1, 1)


def _slice_conv(
    problem: ConvBackwardDataProblem | ConvTransposeBackwardDataProblem, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return some channels of diff_src in some groups, the channels of diff_dst and the weights that they
    depend on, and the number of groups."""
    g = problem.groups
    transposed = isinstance(problem, ConvTransposeBackwardDataProblem)
    src = weights.shape[0] // g if transposed else weights.shape[1]
    dst = weights.shape[1] if transposed else weights.shape[0] // g
    groups = _spread(g, max(1, CHANNELS // src))
    inner = _spread(src, CHANNELS)
    channels = (groups[:, None] * src + inner).ravel()
    dst_channels = (groups[:, None] * dst + np.arange(dst)).ravel()
    part = weights[channels] if transposed else weights[dst_channels][:, inner]
    return channels, dst_channels, np.ascontiguousarray(part), len(groups)


def _spread(count: int, wanted: int) -> np.ndarray:
    """Return up to `wanted` indices below `count`, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, wanted)).round().astype(int))
