"""Problems of the convolution gradients."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from xdsl.ir import Attribute

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.support import limits
from dialects.support.constants import is_const
from dialects.support.shapes import Shape
from gradc.problems.base import Problem, data_of
from gradc.problems.text import Fields, show_ints, unless

WEIGHTS_ARE = ("constant", "input")

Ints = tuple[int, ...]


@dataclass(frozen=True)
class ConvProblem(Problem):
    """Base class of the convolution gradients; a list has one entry per spatial axis."""

    FIELDS: ClassVar = ("weights", "strides", "pads", "dilations", "groups", "weights_are")

    weights: Ints
    strides: Ints
    pads_begin: Ints
    pads_end: Ints
    dilations: Ints
    groups: int
    weights_are: str

    @property
    def spatial_rank(self) -> int:
        return len(self.weights) - 2

    @classmethod
    def _read(cls, fields: Fields) -> dict[str, Any]:
        diff_dst, weights = fields.shape("diff_dst"), fields.ints("weights")
        n = len(weights) - 2
        pads_begin, pads_end = fields.pair("pads", (0,) * n)
        return {
            "diff_dst": diff_dst,
            "weights": weights,
            "strides": fields.ints("strides", (1,) * n),
            "pads_begin": pads_begin,
            "pads_end": pads_end,
            "dilations": fields.ints("dilations", (1,) * n),
            "groups": fields.integer("groups", 1),
            "weights_are": fields.choice("weights_are", WEIGHTS_ARE),
        }

    @classmethod
    def read(cls, fields: Fields, dtype: str, layout: str) -> Self:
        return cls(dtype, layout, **cls._read(fields))

    @classmethod
    def _of(cls, op: Any) -> dict[str, Any]:
        layout = op.layout
        known = is_const(op.weights)
        lists = ("strides", "pads_begin", "pads_end", "dilations")
        return data_of(op.diff_dst, layout) | {
            "weights": op.weights_shape,
            **{name: tuple(op.value(name)) for name in lists},
            "groups": op.groups,
            "weights_are": WEIGHTS_ARE[0] if known else WEIGHTS_ARE[1],
        }

    @classmethod
    def of_op(cls, op: Any) -> Self:
        return cls(**cls._of(op))

    def _fields(self) -> dict[str, str]:
        n = self.spatial_rank
        found = {"weights": show_ints(self.weights)}
        found |= unless(self.strides, (1,) * n, "strides")
        if any((*self.pads_begin, *self.pads_end)):
            found["pads"] = f"{show_ints(self.pads_begin)}:{show_ints(self.pads_end)}"
        found |= unless(self.dilations, (1,) * n, "dilations")
        found |= unless((self.groups,), (1,), "groups")
        if self.weights_are != WEIGHTS_ARE[0]:
            found["weights_are"] = self.weights_are
        return found

    def _attributes(self) -> dict[str, Any]:
        names = ("strides", "pads_begin", "pads_end", "dilations", "groups", "layout")
        return {name: getattr(self, name) for name in names}

    def _inputs(self) -> dict[str, tuple[Attribute, Shape]]:
        return self._data | {"weights": (self._element_type, self.weights)}

    def _random_weights(self, seed: int) -> np.ndarray:
        """Return normal values divided by the square root of the number of summands."""
        limits.check_tensor(self.weights, "input-elements", "elements of the weights")
        array = np.random.default_rng([seed, 1]).standard_normal(self.weights)
        return self._of_dtype(array / max(self._terms_per_result, 1) ** 0.5)

    @property
    @abstractmethod
    def _terms_per_result(self) -> int:
        """Maximum number of products that sum to one element of diff_src."""

    def constants(self, seed: int = 0) -> dict[str, np.ndarray]:
        return {"weights": self._random_weights(seed)} if self.weights_are == WEIGHTS_ARE[0] else {}

    def feeds(self, seed: int = 0) -> dict[str, np.ndarray]:
        found = {"diff_dst": self._random_diff_dst(seed)}
        known = self.weights_are == WEIGHTS_ARE[0]
        return found if known else found | {"weights": self._random_weights(seed)}


@dataclass(frozen=True)
class ConvBackwardDataProblem(ConvProblem):
    """`grad.conv_backward_data`; weights (O, C / groups, K...)."""

    KIND: ClassVar = "conv_backward_data"
    OP: ClassVar = ConvBackwardDataOp
    FIELDS: ClassVar = (*ConvProblem.FIELDS, "residue")

    residue: Ints

    @classmethod
    def _read(cls, fields: Fields) -> dict[str, Any]:
        found = super()._read(fields)
        return found | {"residue": fields.ints("residue", (0,) * (len(found["weights"]) - 2))}

    @classmethod
    def _of(cls, op: Any) -> dict[str, Any]:
        return super()._of(op) | {"residue": tuple(op.residue)}

    def _fields(self) -> dict[str, str]:
        return super()._fields() | unless(self.residue, (0,) * self.spatial_rank, "residue")

    def _attributes(self) -> dict[str, Any]:
        return super()._attributes() | {"residue": self.residue}

    @property
    def _terms_per_result(self) -> int:
        return self.weights[0] // max(self.groups, 1) * prod(self.weights[2:])


@dataclass(frozen=True)
class ConvTransposeBackwardDataProblem(ConvProblem):
    """`grad.conv_transpose_backward_data`; weights (C, O / groups, K...)."""

    KIND: ClassVar = "conv_transpose_backward_data"
    OP: ClassVar = ConvTransposeBackwardDataOp

    @property
    def _terms_per_result(self) -> int:
        return prod(self.weights[1:])
