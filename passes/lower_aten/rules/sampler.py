"""Sampling at the points of a grid, and its gradients by the decomposition of GridSample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from xdsl.dialects.builtin import f64

from dialects.onnx import ops as onnx
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder, Value
from passes.decompositions.sampling.taps import grid_sample
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.derivative import pull_back

_MODES = ("linear", "nearest", "cubic")
_PADDING = ("zeros", "border", "reflection")


def grid_sampler(f: Call, e: Builder) -> Value:
    if f.dtype != f64:
        return f.input.apply(onnx.GridSampleOp, f.grid, **_attributes(f))
    (found,) = grid_sample(Primal(e, [f.input, f.grid], _attributes(f)), e)  # f64 has no kernel
    return found


def _attributes(f: Call) -> dict[str, Any]:
    return {
        "mode": _MODES[f.interpolation_mode],
        "padding_mode": _PADDING[f.padding_mode],
        "align_corners": int(f.align_corners),
    }


def grid_sampler_backward(f: Call, e: Builder) -> Sequence[Value | None]:
    wanted = [index for index in (0, 1) if f.output_mask[index] and f.is_read(index)]
    found: list[Value | None] = [None, None]
    if wanted:
        samples = f.input.apply(onnx.GridSampleOp, f.grid, **_attributes(f))
        gradients = pull_back(samples, f.grad_output, wanted)
        for index, gradient in zip(wanted, gradients, strict=True):
            found[index] = gradient
    return found


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "grid_sampler_2d.default": grid_sampler,
        "grid_sampler_2d_backward.default": grid_sampler_backward,
        "grid_sampler_3d.default": grid_sampler,
        "grid_sampler_3d_backward.default": grid_sampler_backward,
    }
)
