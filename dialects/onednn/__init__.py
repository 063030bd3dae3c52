"""oneDNN Graph ops as documented, one class per kind."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Dialect, Operation

from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
from dialects.onednn.conv_transpose_backward_data import ConvTransposeBackwardDataOp
from dialects.onednn.interpolate_backward import InterpolateBackwardOp
from dialects.onednn.spec_classes import KINDS as SPEC_KINDS
from dialects.onednn.spec_classes import NAMES, spec_class

CLASSES = (
    ConvolutionBackwardDataOp,
    ConvTransposeBackwardDataOp,
    InterpolateBackwardOp,
)
"""Ops with a handwritten class, not an op spec."""


def op_class(name: str) -> type[Operation] | None:
    """Return the class of an op by its name in IR text, `onednn.relu`, or None."""
    if name in NAMES:
        return spec_class(NAMES[name])
    return next((cls for cls in CLASSES if cls.name == name), None)


class _OneDNNDialect(Dialect):
    """Creates the classes of op specs when all of the dialect's operations are requested."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        yield from CLASSES
        yield from map(spec_class, SPEC_KINDS)


ONEDNN = _OneDNNDialect("onednn", [], [])
