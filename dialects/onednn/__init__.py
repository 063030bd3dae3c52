"""oneDNN Graph ops exactly as documented: what the user wrote, one class per kind."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Dialect, Operation

from dialects.onednn.conv_transpose import ConvTransposeBackwardDataOp
from dialects.onednn.convolution import ConvolutionBackwardDataOp
from dialects.onednn.interpolate import InterpolateBackwardOp
from dialects.onednn.row_classes import KINDS as ROW_KINDS
from dialects.onednn.row_classes import NAMES, row_class

CLASSES = (
    ConvolutionBackwardDataOp,
    ConvTransposeBackwardDataOp,
    InterpolateBackwardOp,
)
"""The ops that are no rows of a table."""


def op_class(name: str) -> type[Operation] | None:
    """The class of an op by its name in IR text, `onednn.relu`; None for a name that no op has."""
    if name in NAMES:
        return row_class(NAMES[name])
    return next((cls for cls in CLASSES if cls.name == name), None)


class _OneDNNDialect(Dialect):
    """Makes the classes of the ops that are rows when all of them are asked for."""

    @property
    def operations(self) -> Iterator[type[Operation]]:
        yield from CLASSES
        yield from map(row_class, ROW_KINDS)


ONEDNN = _OneDNNDialect("onednn", [], [])
