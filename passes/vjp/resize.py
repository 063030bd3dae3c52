"""The derivative of Resize, by the canonical gradient of a resize, or by a matrix for each axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from dialects.geometry import bounds
from dialects.grad.sampling import AxisSampling, ResizeRule, scale_step
from dialects.onnx import ops as onnx
from dialects.onnx.call import Call, Tensor, axes_of
from dialects.onnx.kernels_spatial import resize_matrix
from dialects.onnx.values import constant_of
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import Dim, static
from passes.emit.expressions import Expr, Operators
from passes.emit.shape_math import ShapeMath
from passes.emit.tensors import contract
from passes.resize.backward import ResizeAxis, emit_resize_backward
from passes.resize.sampling_matrix import RuntimeSampling, emit_matrix
from passes.vjp.forward import ZERO, Forward, Gradient, Rule, refusal

_NEAREST = {
    "floor": "nearest_floor",
    "round_prefer_ceil": "nearest_half_up",
    "round_prefer_floor": "nearest_half_down",
}


def resize(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    """Axis by axis: the canonical op where it has this way to sample, else a product with a matrix."""
    _check(f)
    axes = axes_of(f.value("axes", range(f.x.rank)), f.x.rank)
    scales = _scales(f, g[0], axes)
    canonical: list[ResizeAxis] = []
    value = g[0]
    for axis, scale in zip(axes, scales, strict=True):
        x, y = f.x.shape[axis], g[0].shape[axis]
        if scale == 1 or (scale is None and x is not None and x == y):
            continue
        rule = _rule(f, y, scale)
        if rule is None:
            value = _by_matrix(f, value, axis, x, y, scale)
            continue
        given = scale is not None and rule.coordinate_mode != "align_corners"
        canonical.append(ResizeAxis(axis, x, scale_step(scale) if given and scale is not None else None))
    if canonical:
        rule = _rule(f, g[0].shape[canonical[0].axis], scales[axes.index(canonical[0].axis)])
        assert rule is not None
        value = e(emit_resize_backward(e.emit, value.value, canonical, rule, f.x.value))
    return (value, ZERO, ZERO, ZERO)


def _check(f: Forward) -> None:
    if f.value("antialias", 0):
        raise refusal("antialias", given=1, expected=0)
    mode = f.value("coordinate_transformation_mode", "half_pixel")
    if mode == "tf_crop_and_resize":
        raise refusal("coordinate_transformation_mode", given=mode, expected="another one")


def _scales(f: Forward, g: Expr, axes: Sequence[int]) -> list[float | None]:
    """The factor of each axis, None where the sizes of both sides say it."""
    given = f.operand(2)
    if given is not None and given.shape != (0,):
        known = constant_of(given.value)
        if known is None:
            raise refusal("scales", given="run-time values", expected="a constant, or sizes")
        return [float(scale) for scale in known]
    policy = f.value("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return [None] * len(axes)
    sizes, wanted = static(f.x.shape), f.operand(3)
    numbers = None if wanted is None else constant_of(wanted.value)
    if sizes is None or numbers is None:
        raise refusal("keep_aspect_ratio_policy", given=policy, expected="stretch, or known sizes")
    ratios = [int(number) / sizes[axis] for number, axis in zip(numbers, axes, strict=True)]
    return [min(ratios) if policy == "not_larger" else max(ratios)] * len(axes)


def _rule(f: Forward, y: Dim, scale: float | None) -> ResizeRule | None:
    """The way to sample an axis, if the canonical op has it."""
    mode, coordinates = f.value("mode", "nearest"), f.value("coordinate_transformation_mode", "half_pixel")
    nearest = _NEAREST.get(f.value("nearest_mode", "round_prefer_floor"))
    interpolation = nearest if mode == "nearest" else mode if mode == "linear" else None
    if coordinates == "pytorch_half_pixel" and _is_more_than_one(y, scale):
        coordinates = "half_pixel"
    if interpolation is None or coordinates not in ("align_corners", "asymmetric", "half_pixel"):
        return None
    return ResizeRule(interpolation, coordinates)


def _is_more_than_one(y: Dim, scale: float | None) -> bool:
    """Whether a size of the result is not 1, for which PyTorch's way differs from half_pixel."""
    by_scale = scale is not None and scale >= 2
    return by_scale or (y is not None and bounds.is_at_least(y, 2))


def _by_matrix(f: Forward, g: Expr, axis: int, x: Dim, y: Dim, scale: float | None) -> Expr:
    if not isinstance(x, int) or not isinstance(y, int):
        said = ", ".join(f"{key} = {value}" for key, value in f.attributes.items())
        raise refusal("sizes", given=f"unknown ones with {said}", expected="known sizes for these")
    ratio = Fraction(y, max(x, 1)) if scale is None else Fraction(scale)
    call = Call("Resize", (Tensor((x,)),), f.attributes)
    return _contracted(g, axis, resize_matrix(call, x, y, ratio))


def _contracted(g: Expr, axis: int, matrix: np.ndarray) -> Expr:
    """An axis times a matrix (from, to)."""
    dtype = of_mlir(g.dtype)
    assert dtype is not None
    constant = g.e.emit.constant(matrix.astype(dtype.numpy))
    return g.e(contract(g.e.emit, g.value, axis, constant, literal_zeros=True))


def resize_backward(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    """The resize itself, as a product with a matrix for each axis."""
    value, lists = g[0], ("axes", "input_sizes", "step_numerators", "step_denominators")
    for axis, x, numerator, denominator in zip(*(f.value(name) for name in lists), strict=True):
        y = f.x.shape[axis]
        assert isinstance(y, int)
        step = Fraction(numerator, denominator)
        sampling = AxisSampling(x, y, step, f.value("interpolation"), f.value("coordinates"))
        value = _contracted(value, axis, sampling.matrix().T)
    return (value,)


def resize_backward_dynamic(f: Forward, g: Sequence[Expr], e: Operators) -> Sequence[Gradient]:
    """As `resize_backward`, with matrices that are made at run time."""
    math, value = ShapeMath(e.emit), g[0]
    sizes, numerators, denominators = (operand.value for operand in f.operands[1:] if operand is not None)
    for i, axis in enumerate(f.value("axes")):
        sampling = RuntimeSampling(
            math.take(sizes, [i]),
            math.sizes(f.x.value, [axis]),
            (math.take(numerators, [i]), math.take(denominators, [i])),
            f.value("interpolation"),
            f.value("coordinates"),
        )
        matrix = e(emit_matrix(math, sampling, value.dtype)).apply(onnx.TransposeOp, perm=[1, 0])
        value = e(contract(e.emit, value.value, axis, matrix.value, literal_zeros=True))
    return (value, ZERO, ZERO, ZERO)


RULES: Mapping[str, Rule] = MappingProxyType({"Resize": resize})
"""ONNX op -> its rule."""

GRADIENT_RULES: Mapping[str, Rule] = MappingProxyType(
    {"grad.resize_backward": resize_backward, "grad.resize_backward_dynamic": resize_backward_dynamic}
)
"""Canonical gradient -> its rule."""
