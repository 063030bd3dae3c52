"""Base of the canonical gradients."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import traits_def
from xdsl.traits import Pure

from dialects.grad.geometry import ConvAxis, axis_letters
from dialects.support.diagnostics import violation
from dialects.support.documented_op import DocumentedOp
from dialects.support.shapes import Dim


class GradOp(DocumentedOp, ABC):
    """A canonical gradient; errors of its checks get the op's location."""

    traits = traits_def(Pure())

    def infer_result_types(self) -> tuple[TensorType, ...]:
        return self.checked(self._infer)

    def _infer(self) -> tuple[TensorType, ...]:
        """Check the op; return the types of the results."""
        raise NotImplementedError


def diff_src_sizes(axes: Sequence[ConvAxis], sizes: Sequence[Dim], residue: Sequence[int]) -> list[Dim]:
    """Return the spatial sizes of the data that windows of these numbers and a residue slide over."""
    found: list[Dim] = []
    for letter, axis, y, rest in zip(axis_letters(len(axes)), axes, sizes, residue, strict=True):
        if rest >= axis.window.stride:
            raise violation(f"residue axis {letter}", given=rest, expected=f"< stride {axis.window.stride}")
        x = axis.diff_src_size(y, rest)
        if isinstance(x, int) and x < 1:
            raise violation(f"diff_src axis {letter}", given=x, expected="a positive size")
        found.append(x)
    return found
