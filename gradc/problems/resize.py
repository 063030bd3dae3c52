"""Problems of the resize gradients."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from dialects.grad.resize import ResizeBackwardDynamicOp, ResizeBackwardOp
from dialects.grad.sampling import COORDINATES, INTERPOLATIONS, size_step
from dialects.support import shapes
from dialects.support.shapes import Dim, Shape
from gradc.problems.base import Problem, data_of, reorder, sample_size
from gradc.problems.text import Fields, show_ints, show_shape, unless

ALIGN_CORNERS = "align_corners"
UNKNOWN_INPUT_SIZE = 7
"""Sample size for a run-time input size."""

Ints = tuple[int, ...]


@dataclass(frozen=True)
class _AxesProblem(Problem):
    """Base class of the resize gradients; `axes` ascend in the channels-first shape."""

    FIELDS: ClassVar = ("axes", "interpolation", "coordinates")

    axes: Ints
    interpolation: str
    coordinates: str

    def _fields(self) -> dict[str, str]:
        found = unless(self.axes, tuple(range(2, len(self.diff_dst))), "axes")
        if self.interpolation != INTERPOLATIONS[0]:
            found["interpolation"] = self.interpolation
        if self.coordinates != COORDINATES[0]:
            found["coordinates"] = self.coordinates
        return found

    def _attributes(self) -> dict[str, Any]:
        positions = reorder(tuple(range(len(self.diff_dst))), self.layout, "NCX")
        return {
            "axes": [positions[axis] for axis in self.axes],
            "interpolation": self.interpolation,
            "coordinates": self.coordinates,
        }


@dataclass(frozen=True)
class ResizeBackwardProblem(_AxesProblem):
    """`grad.resize_backward`; one input size and one step per axis."""

    KIND: ClassVar = "resize_backward"
    OP: ClassVar = ResizeBackwardOp
    FIELDS: ClassVar = ("diff_src", *_AxesProblem.FIELDS, "steps")

    input_sizes: Ints
    steps: tuple[Fraction, ...]

    @classmethod
    def read(cls, fields: Fields, dtype: str, layout: str) -> Self:
        diff_dst, diff_src = fields.shape("diff_dst"), fields.shape("diff_src")
        axes = fields.axes("axes", len(diff_dst))
        if len(diff_src) != len(diff_dst) or any(
            x != y for axis, (x, y) in enumerate(zip(diff_src, diff_dst, strict=True)) if axis not in axes
        ):
            expected = f"{show_shape(diff_dst)} with other sizes on axes {show_ints(axes)} only"
            raise fields.error("diff_src", show_shape(diff_src), expected, field="diff_src")
        pairs = [(diff_src[axis], diff_dst[axis]) for axis in axes]
        known = [(x, y) for x, y in pairs if isinstance(x, int) and isinstance(y, int) and x > 0 and y > 0]
        if len(known) != len(pairs):
            hint = f"dynamic sizes are {ResizeBackwardDynamicProblem.KIND}"
            raise fields.error("sizes", expected="known, positive ones on the axes", hint=hint)
        word = fields.choice("coordinates", (*COORDINATES, ALIGN_CORNERS))
        default = tuple(size_step(word, x, y) for x, y in known)
        return cls(
            dtype,
            layout,
            diff_dst,
            axes,
            fields.choice("interpolation", INTERPOLATIONS),
            "corner" if word == ALIGN_CORNERS else word,
            tuple(x for x, _ in known),
            fields.fractions("steps", default),
        )

    @classmethod
    def of_op(cls, op: Any) -> Self:
        found, order = _axes_of(op)
        steps = zip(op.step_numerators, op.step_denominators, strict=True)
        sizes, ratios = op.input_sizes, [Fraction(n, q) for n, q in steps]
        return cls(**found, input_sizes=tuple(sizes[i] for i in order), steps=tuple(ratios[i] for i in order))

    @property
    def coordinate_modes(self) -> tuple[str, ...]:
        """The documented coordinate modes that match these steps, if any."""
        modes = ("half_pixel",) if self.coordinates == "half_pixel" else (ALIGN_CORNERS, "asymmetric")
        sizes = [self.diff_dst[axis] for axis in self.axes]
        pairs = [(x, y) for x, y in zip(self.input_sizes, sizes, strict=True) if isinstance(y, int)]
        return tuple(m for m in modes if self.steps == tuple(size_step(m, x, y) for x, y in pairs))

    def _fields(self) -> dict[str, str]:
        sizes: list[Dim] = list(self.diff_dst)
        for axis, x in zip(self.axes, self.input_sizes, strict=True):
            sizes[axis] = x
        found = {"diff_src": show_shape(sizes)} | super()._fields()
        if not {"half_pixel", "asymmetric"} & set(self.coordinate_modes):
            found["steps"] = "x".join(map(str, self.steps))
        return found

    def _attributes(self) -> dict[str, Any]:
        return super()._attributes() | {
            "input_sizes": self.input_sizes,
            "step_numerators": [step.numerator for step in self.steps],
            "step_denominators": [step.denominator for step in self.steps],
        }

    def _inputs(self) -> dict[str, tuple[Attribute, Shape]]:
        return self._data

    def feeds(self, seed: int = 0) -> dict[str, np.ndarray]:
        return {"diff_dst": self._random_diff_dst(seed)}


@dataclass(frozen=True)
class ResizeBackwardDynamicProblem(_AxesProblem):
    """`grad.resize_backward_dynamic`; input sizes and steps are run-time inputs."""

    KIND: ClassVar = "resize_backward_dynamic"
    OP: ClassVar = ResizeBackwardDynamicOp

    @classmethod
    def read(cls, fields: Fields, dtype: str, layout: str) -> Self:
        diff_dst = fields.shape("diff_dst")
        interpolation = fields.choice("interpolation", INTERPOLATIONS)
        coordinates = fields.choice("coordinates", COORDINATES)
        return cls(dtype, layout, diff_dst, fields.axes("axes", len(diff_dst)), interpolation, coordinates)

    @classmethod
    def of_op(cls, op: Any) -> Self:
        return cls(**_axes_of(op)[0])

    def _inputs(self) -> dict[str, tuple[Attribute, Shape]]:
        vector = (i64, (len(self.axes),))
        return self._data | dict.fromkeys(("input_sizes", "step_numerators", "step_denominators"), vector)

    def feeds(self, seed: int = 0) -> dict[str, np.ndarray]:
        sizes = [sample_size(self.diff_dst[axis], axis) for axis in self.axes]
        found = {"diff_dst": self._random_diff_dst(seed)}
        vectors = {
            "input_sizes": [UNKNOWN_INPUT_SIZE] * len(sizes),
            "step_numerators": [UNKNOWN_INPUT_SIZE] * len(sizes),
            "step_denominators": sizes,
        }
        return found | {name: np.array(values, np.int64) for name, values in vectors.items()}


def _axes_of(op: Any) -> tuple[dict[str, Any], list[int]]:
    """Return the common fields of a resize op, and the order that sorts its axes.

    The op only has positions. Those from the second to the last but one imply NXC; all others are read as
    NCX.
    """
    given = op.axes
    order = sorted(range(len(given)), key=lambda i: given[i])
    positions = [given[i] for i in order]
    rank = len(shapes.shape_of(op.diff_dst))
    last = positions[:1] == [1] and positions[-1] < rank - 1
    layout = "NXC" if last else "NCX"
    channels_first = reorder(tuple(range(rank)), "NCX", layout)
    found = data_of(op.diff_dst, layout) | {"axes": tuple(channels_first[p] for p in positions)}
    return found | {name: op.value(name) for name in ("interpolation", "coordinates")}, order
