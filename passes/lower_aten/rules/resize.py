"""Resampling of the spatial axes, and its gradient by the VJP rule of Resize."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Form
from dialects.shapes.sizes import floordiv
from passes.autodiff.common.gather_adjoint import scatter_back
from passes.autodiff.common.resize_matrix import RunTimeAxis, run_time_matrix
from passes.builder.tensors import contract
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.derivative import pull_back

LINEAR, CUBIC, NEAREST, NEAREST_EXACT = "linear", "cubic", "nearest", "nearest exact"


@dataclass(frozen=True)
class Resampling:
    """A resampling of the last axes of (N, C, X...) from sizes x to sizes y.

    `scales` are the factors that the call gives, None where the sizes determine them.
    """

    mode: str
    x: Sequence[Form]
    y: Sequence[Form]
    scales: Sequence[float | None]
    align_corners: bool

    def attributes(self) -> dict[str, Any]:
        if self.mode == NEAREST:
            return {
                "mode": "nearest",
                "nearest_mode": "floor",
                "coordinate_transformation_mode": "asymmetric",
            }
        if self.mode == NEAREST_EXACT:
            return {
                "mode": "nearest",
                "nearest_mode": "round_prefer_ceil",
                "coordinate_transformation_mode": "half_pixel",
            }
        coordinates = "align_corners" if self.align_corners else "half_pixel"
        found = {"mode": self.mode, "coordinate_transformation_mode": coordinates}
        return found | ({"cubic_coeff_a": -0.75} if self.mode == CUBIC else {})

    @property
    def by_scales(self) -> bool:
        """True if given factors differ from the quotients of the sizes."""
        if self.align_corners or all(scale is None for scale in self.scales):
            return False
        rows = zip(self.x, self.y, self.scales, strict=True)
        return any(scale is None or not isinstance(x, int) or x * scale != y for x, y, scale in rows)

    def apply(self, f: Call, data: Value) -> Value:
        """Emit the Resize."""
        n, e = len(self.x), data.e
        if not self.by_scales:
            sizes = f.vector(self.y)
            whole = e.concat([e(e.emit.sizes(data.value, [0, 1])), sizes], 0)
            return data.apply(onnx.ResizeOp, None, None, whole, **self.attributes())
        if any(scale is None for scale in self.scales):
            raise f.refusal("scales", given=self.scales, expected="one for each axis, or none")
        factors = [_round_up(scale) for scale in self.scales if scale is not None]
        scales = e.constant(np.array([1, 1, *factors], np.float32))
        assert len(factors) == n
        return data.apply(onnx.ResizeOp, None, scales, None, **self.attributes())

    def indices(self, axis: int) -> np.ndarray | None:
        """Return the source of each element of an axis for nearest modes, as torch computes it; None for
        sizes that depend on dims."""
        x, y, scale = self.x[axis], self.y[axis], self.scales[axis]
        if not isinstance(x, int) or not isinstance(y, int) or not y:
            return None
        step = np.float32(1 / scale) if scale else np.float32(np.float32(x) / np.float32(y))
        places = np.arange(y, dtype=np.float32)
        exact = self.mode == NEAREST_EXACT
        found = np.floor((places + np.float32(0.5)) * step if exact else places * step)
        if not exact and y == 2 * x:
            found = np.floor(places / 2)
        return np.minimum(found.astype(np.int64), x - 1)

    def check(self, f: Call) -> None:
        """Raise UnsupportedError for factors that change no size: torch's kernels disagree on them."""
        for x, y, scale in zip(self.x, self.y, self.scales, strict=True):
            if self.align_corners or self.mode == CUBIC or scale is None or scale == 1:
                continue
            is_same = x == y and x != 1
            is_open = not isinstance(x, int) and self.mode == LINEAR and 1 < scale < 1.5
            if (is_same and self.mode != LINEAR) or is_open:
                hint = "size= in place of scale_factor=, or recompute_scale_factor=True"
                raise f.refusal("a scale that may change no size", given=scale, hint=hint)

    def matrix(self, axis: int) -> np.ndarray | None:
        """Return the weights (Y, X) of an axis, or None for sizes that depend on dims."""
        if self.mode.startswith(NEAREST):
            taken = self.indices(axis)
            x = self.x[axis]
            return None if taken is None or not isinstance(x, int) else np.eye(x)[taken]
        x, y, scale = self.x[axis], self.y[axis], self.scales[axis]
        if not isinstance(x, int) or not isinstance(y, int):
            return None
        if x == y and self.mode == LINEAR:
            return np.eye(x)
        places = np.arange(y)
        if self.align_corners:
            at = places * ((x - 1) / (y - 1) if y > 1 else 0.0)
        else:
            at = (places + 0.5) * (1 / scale if scale else x / y) - 0.5
        if self.mode == LINEAR:
            at = np.maximum(at, 0)
        low = np.floor(at)
        part = at - low
        taps = _cubic(part) if self.mode == CUBIC else {0: 1 - part, 1: part}
        found = np.zeros((y, x))
        for offset, weights in taps.items():
            np.add.at(found, (places, np.clip(low + offset, 0, x - 1).astype(np.int64)), weights)
        return found


def _cubic(t: np.ndarray) -> dict[int, np.ndarray]:
    """Return the weights of Keys' kernel with a = -0.75 by offset from the floor."""
    a = -0.75

    def near(s: np.ndarray) -> np.ndarray:
        return ((a + 2) * s - (a + 3)) * s * s + 1

    def far(s: np.ndarray) -> np.ndarray:
        return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a

    return {-1: far(t + 1), 0: near(t), 1: near(1 - t), 2: far(2 - t)}


def _round_up(scale: float) -> np.float32:
    """Return the least f32 that is no smaller: its product with a size has the floor of the exact one."""
    near = np.float32(scale)
    return near if float(near) >= scale else np.nextafter(near, np.float32(np.inf))


def _by_matrices(problem: Resampling, data: Value, *, back: bool = False) -> Value | None:
    """Resample by a constant matrix for each axis, or by its transpose; None if one is not constant."""
    matrices = [problem.matrix(axis) for axis in range(len(problem.x))]
    for axis, matrix in enumerate(matrices):
        if matrix is None:
            return None
        e = data.e
        weights = e.constant(matrix if back else matrix.T, data)
        data = e(contract(e.emit, data.value, 2 + axis, weights.value, literal_zeros=True))
    return data


def _by_run_time_matrices(f: Call, problem: Resampling, data: Value) -> Value:
    """Resample by matrices that are computed from the sizes."""
    e = f.e
    for axis, (x, y, scale) in enumerate(zip(problem.x, problem.y, problem.scales, strict=True)):
        if x == y:
            continue
        sizes = [size if isinstance(size, int) else f.vector([size]) for size in (x, y)]
        factor = scale or f.number(y, f64) / f.number(x, f64).at_least(1)
        matrix = run_time_matrix(problem.attributes(), RunTimeAxis(sizes[0], sizes[1], factor, None), e)
        weights = matrix.cast(data.dtype).transpose([1, 0])
        data = e(contract(e.emit, data.value, 2 + axis, weights.value, literal_zeros=True))
    return data


def _places(f: Call, problem: Resampling, axis: int) -> Value:
    """Return the source of each element of an axis, computed as torch does, in f32."""
    known = problem.indices(axis)
    if known is not None:
        return f.e.constant(known)
    x, y, scale = problem.x[axis], problem.y[axis], problem.scales[axis]
    step = f.e.number(1 / scale, f32) if scale else f.number(x, f32) / f.number(y, f32)
    zero, one = (f.e.number(value, i64) for value in (0, 1))
    numbers = zero.apply(onnx.RangeOp, f.number(y, i64), one).cast(f32)
    at = (numbers + 0.5 if problem.mode == NEAREST_EXACT else numbers) * step
    return at.apply(onnx.FloorOp).as_int64().at_most(f.number(x, i64) - 1)


def _by_indices(f: Call, problem: Resampling, data: Value) -> Value:
    """Take the nearest elements, axis by axis."""
    for axis, (x, y) in enumerate(zip(problem.x, problem.y, strict=True)):
        if x != y:
            taken = _places(f, problem, axis)
            data = data.apply(onnx.GatherOp, taken, axis=2 + axis)
    return data


def _back_by_indices(f: Call, problem: Resampling, g: Value) -> Value:
    for axis, (x, y) in enumerate(zip(problem.x, problem.y, strict=True)):
        if x != y:
            size = x if isinstance(x, int) else f.vector([x])
            g = scatter_back(g, _places(f, problem, axis), 2 + axis, size)
    return g


def _is_as_onnx(problem: Resampling) -> bool:
    """Return whether Resize takes the elements that torch takes, for sure for whole factors only."""
    return not problem.by_scales and all(map(_is_whole, problem.x, problem.y))


def _is_whole(x: Form, y: Form) -> bool:
    """Return whether one size is a multiple of the other."""
    if x == 0 or y == 0:
        return False
    up, down = floordiv(y, x), floordiv(x, y)
    return (isinstance(up, int) and up * x == y) or (isinstance(down, int) and down * y == x)


def upsample(mode: str, n: int, *, vec: bool = False) -> Rule:
    """Return the rule of a resampling of n axes."""

    def rule(f: Call, e: Builder) -> Value:
        data = f.input if vec else f.self
        problem = Resampling(mode, _sizes(data.shape[2:]), f.shape[2:], _scales(f, n, vec=vec), _aligns(f))
        problem.check(f)
        if mode.startswith(NEAREST) and not _is_as_onnx(problem):
            return _by_indices(f, problem, data)
        if data.dtype == f64 or (mode == LINEAR and problem.by_scales):
            found = _by_matrices(problem, data)
            return _by_run_time_matrices(f, problem, data) if found is None else found
        return problem.apply(f, data)

    return rule


def upsample_backward(mode: str, n: int) -> Rule:
    def rule(f: Call, e: Builder) -> Value:
        g = f.grad_output
        x, y = f.input_size[2:], f.output_size
        problem = Resampling(mode, x, y, _scales(f, n), _aligns(f))
        problem.check(f)
        if mode.startswith(NEAREST) and not _is_as_onnx(problem):
            return _back_by_indices(f, problem, g)
        known = all(isinstance(size, int) for size in (*x, *y))
        if known and (mode == CUBIC or problem.by_scales):
            found = _by_matrices(problem, g, back=True)
            assert found is not None
            return found
        data = f.full(0, f.input_size, g.dtype).assume_shape(f.input_size)
        (found,) = pull_back(problem.apply(f, data).assume_shape(g.shape), g)
        return found

    return rule


def _sizes(shape: Sequence[Any]) -> list[Form]:
    return [size for size in shape if size is not None]


def _aligns(f: Call) -> bool:
    return bool(f.has("align_corners") and f.align_corners)


def _scales(f: Call, n: int, *, vec: bool = False) -> list[float | None]:
    if vec:
        return list(f.scale_factors) if f.has("scale_factors") else [None] * n
    names = ["scales"] if n == 1 else ["scales_d", "scales_h", "scales_w"][-n:]
    found: list[Any] = [getattr(f, name) for name in names]
    for scale in found:
        if scale is not None and not isinstance(scale, int | float):
            hint = "size= in place of scale_factor="
            raise f.refusal("a scale that depends on a dim", given=scale, hint=hint)
    return [scale if scale is not None and scale > 0 else None for scale in found]


_NAMES: Mapping[str, tuple[str, int]] = {
    "upsample_nearest1d": (NEAREST, 1),
    "upsample_nearest2d": (NEAREST, 2),
    "upsample_nearest3d": (NEAREST, 3),
    "_upsample_nearest_exact1d": (NEAREST_EXACT, 1),
    "_upsample_nearest_exact2d": (NEAREST_EXACT, 2),
    "_upsample_nearest_exact3d": (NEAREST_EXACT, 3),
    "upsample_linear1d": (LINEAR, 1),
    "upsample_bilinear2d": (LINEAR, 2),
    "upsample_trilinear3d": (LINEAR, 3),
    "upsample_bicubic2d": (CUBIC, 2),
}


def _rules(made: Callable[[str, int], Rule], suffix: str) -> dict[str, Rule]:
    return {f"{name}{suffix}": made(*kind) for name, kind in _NAMES.items()}


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **_rules(upsample, ".default"),
        **_rules(lambda mode, n: upsample(mode, n, vec=True), ".vec"),
        **_rules(upsample_backward, "_backward.default"),
    }
)
