"""PyTorch in float64 as an oracle, where it is installed: `pip install torch`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import forward
from support.compare import TOLERANCES
from support.examples import EXAMPLES
from support.generate import seeded
from support.pipeline import Expected, lowered
from support.problems import Node, Problem
from support.tiers import some

from dialects.evaluate import evaluate
from dialects.support import dtypes
from passes.targets.target import Target

torch: Any = pytest.importorskip("torch")

COUNT = 80 * EXAMPLES


def _tensor(array: np.ndarray) -> Any:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64))


def _gradient(output: Any, x: Any, dy: np.ndarray) -> np.ndarray:
    (gradient,) = torch.autograd.grad(output, x, _tensor(dy))
    return gradient.numpy()


def convolution(op: forward.Convolution, dy: np.ndarray, w: np.ndarray, shape: tuple[int, ...]):
    """aten's convolution backward: the source is padded first, and the output cut to size."""
    n = len(op.dst)
    weights = _tensor(forward.to_first(w, op.weights, "OIX"))
    x = torch.zeros(_channels_first(shape, op.data), dtype=torch.float64, requires_grad=True)
    kernel = weights.shape[2:]
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, op.dilations, strict=True)]
    pads = []
    for i in range(n):
        reach = op.strides[i] * (op.dst[i] - 1) + extents[i]
        pads.append((op.pads[i], max(0, reach - op.pads[i] - x.shape[2 + i])))
    padded = torch.nn.functional.pad(x, [p for pair in reversed(pads) for p in pair])
    convolve = (torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d)[n - 1]
    output = convolve(padded, weights, None, list(op.strides), 0, list(op.dilations), op.groups)
    output = output[(..., *(slice(0, y) for y in op.dst))]
    return forward.from_first(_gradient(output, x, forward.to_first(dy, op.data, "NCX")), op.data)


def conv_transpose(op: forward.ConvTranspose, dy: np.ndarray, w: np.ndarray, shape: tuple[int, ...]):
    """The full transposed convolution, of which dst is the window that the pads leave."""
    n = len(op.dst)
    weights = forward.to_first(w, op.weights, "IOX")
    if op.documented:
        weights = np.concatenate(np.split(weights, op.groups, axis=1), axis=0)
    x = torch.zeros(_channels_first(shape, op.data), dtype=torch.float64, requires_grad=True)
    names = (
        torch.nn.functional.conv_transpose1d,
        torch.nn.functional.conv_transpose2d,
        torch.nn.functional.conv_transpose3d,
    )
    strides, dilations = list(op.strides), list(op.dilations)
    full = names[n - 1](x, _tensor(weights), None, strides, 0, 0, op.groups, dilations)
    missing = [max(0, op.pads[i] + op.dst[i] - full.shape[2 + i]) for i in range(n)]
    full = torch.nn.functional.pad(full, [p for m in reversed(missing) for p in (0, m)])
    output = full[(..., *(slice(p, p + y) for p, y in zip(op.pads, op.dst, strict=True)))]
    return forward.from_first(_gradient(output, x, forward.to_first(dy, op.data, "NCX")), op.data)


def _channels_first(shape: tuple[int, ...], data: str) -> tuple[int, ...]:
    return shape if data == "NCX" else (shape[0], shape[-1], *shape[1:-1])


LINEAR = ("upsample_linear1d_backward", "upsample_bilinear2d_backward", "upsample_trilinear3d_backward")


def resize(op: forward.Resize, dy: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """aten's upsample backward; None where aten has no such rule.

    aten copies an axis whose sizes are equal, whatever scale is given.
    """
    axes = list(op.axes.values())
    if any(a.scale > 0 and a.x == a.y and a.coordinate != "align_corners" for a in axes):
        return None
    rule = (axes[0].interpolation, axes[0].coordinate)
    n, data = len(axes), "NCX" if 2 in op.axes and len(shape) - 1 in op.axes else "NXC"
    sizes = ([a.y for a in axes], list(_channels_first(shape, data)))
    scales = [a.scale if a.scale > 0 else None for a in axes]
    given = _tensor(forward.to_first(dy, data, "NCX"))
    if rule in (("linear", "half_pixel"), ("linear", "align_corners")):
        function = getattr(torch.ops.aten, LINEAR[n - 1])
        result = function(given, *sizes, rule[1] == "align_corners", *scales)
    elif rule in (("half_up", "half_pixel"), ("floor", "asymmetric")):
        exact = "_exact" if rule[0] == "half_up" else ""
        prefix = "_" if exact else ""
        function = getattr(torch.ops.aten, f"{prefix}upsample_nearest{exact}{n}d_backward")
        result = function(given, *sizes, *scales)
    else:
        return None
    return forward.from_first(result.numpy(), data)


def _has_scale(op: Any) -> bool:
    return isinstance(op, forward.Resize) and any(axis.scale > 0 for axis in op.axes.values())


def truth(problem: Problem, node: Node, run: int) -> np.ndarray | None:
    arrays = {v.name: a for v, a in zip(problem.inputs, problem.feeds(run), strict=True)}
    arrays |= {name: array for name, (_, array) in problem.constants.items()}
    dy = arrays[node.operands[node.diff_dst].name].astype(np.float64)
    shape = node.result.sizes[run]
    match node.forward[run]:
        case forward.Resize() as op:
            return resize(op, dy, shape)
        case forward.Convolution() as op:
            return convolution(op, dy, arrays[node.operands[1].name], shape)
        case forward.ConvTranspose() as op:
            return conv_transpose(op, dy, arrays[node.operands[1].name], shape)
    raise AssertionError(node.forward[run])


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("kind", ["convolution", "conv_transpose", "interpolate", "resize_v2", "upsample"])
def test_reference_agrees_with_torch(kind: str):
    held, seeds = 0, some(range(COUNT))
    for seed in seeds:
        problem = seeded([7, seed], kinds=(kind,), dtypes=("f64", "f32"))
        for run in range(problem.runs):
            if 0 in problem.nodes[0].result.sizes[run]:
                continue
            want = truth(problem, problem.nodes[0], run)
            if want is None:
                continue
            (got,) = evaluate(problem.module(), problem.feeds(run))
            assert got.shape == want.shape
            dtype = dtypes.of_numpy(got.dtype)
            assert dtype is not None
            rounding = 2.0 ** -TOLERANCES[dtype.name].bits
            # aten computes coordinates from a given scale in float32, from sizes in double
            coordinate = 2e-6 if _has_scale(problem.nodes[0].forward[run]) else 1e-12
            allowed = 2 * rounding * np.abs(want) + coordinate * np.abs(want).max()
            assert np.all(np.abs(got.astype(np.float64) - want) <= allowed), problem
            held += 1
    assert held > len(seeds) // 4


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("kind", ["convolution", "conv_transpose", "interpolate", "upsample"])
def test_compiled_model_agrees_with_torch(kind: str):
    pytest.importorskip("onnxruntime")
    for seed in some(range(COUNT // 4)):
        problem = seeded([8, seed], kinds=(kind,), dtypes=("f32",))
        expected = Expected(problem)
        for run in range(problem.runs):
            want = truth(problem, problem.nodes[0], run)
            if want is not None and want.size and not _has_scale(problem.nodes[0].forward[run]):
                expected.results[run] = (want.astype(np.float32),)
        expected.check_runtime(lowered(problem, Target()), Target())
