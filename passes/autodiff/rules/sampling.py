"""The VJP of AffineGrid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dialects.onnx import ops as onnx
from passes.autodiff.common.dynamic_axes import reshape_as
from passes.autodiff.common.gather_adjoint import numpy_of
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.autodiff.common.slice_adjoint import vector
from passes.builder.values import Builder, Value


def affine_grid(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of AffineGrid, theta (x, y, 1): the sum over points of g (x, y, 1)^T."""
    theta, sizes = f.x, f.required(1)
    count = g[0].rank - 2
    unit = e(e.emit.constant(np.eye(count, count + 1, dtype=numpy_of(theta))[None]))
    spatial = sizes.apply(onnx.SliceOp, e.ints([1]), e.ints([count + 2]))
    once = vector(theta, [1, spatial])
    places = unit.apply(onnx.AffineGridOp, once, align_corners=f.value("align_corners", 0))
    rows = places.apply(onnx.FlattenOp, axis=count + 1)
    rows = rows.apply(onnx.PadOp, e.ints([0, 0, 0, 1]), 1.0)
    columns = g[0].transpose([0, count + 1, *range(1, count + 1)])
    product = columns.apply(onnx.FlattenOp, axis=2).apply(onnx.MatMulOp, rows)
    return (reshape_as(product, theta), ZERO)


RULES: Mapping[str, Rule] = MappingProxyType({"AffineGrid": affine_grid})
"""ONNX op -> its rule."""
