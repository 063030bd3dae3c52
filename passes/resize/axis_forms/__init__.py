"""Lowerings of a resize gradient along one axis, one per file.

A resize is separable, so a form is chosen per axis. Each works on outer x Y x inner, in any layout.
"""

from passes.resize.axis_forms.bands import Bands, GatheredBands
from passes.resize.axis_forms.base import AxisForm, axes_to_write, axes_with_sizes
from passes.resize.axis_forms.blocks import Blocks
from passes.resize.axis_forms.convs import Convs
from passes.resize.axis_forms.dense import Dense
from passes.resize.axis_forms.gathers import Gathers
from passes.resize.axis_forms.sums import Sums
from passes.resize.axis_forms.tables import Tables

__all__ = [
    "AxisForm",
    "Bands",
    "Blocks",
    "Convs",
    "Dense",
    "GatheredBands",
    "Gathers",
    "Sums",
    "Tables",
    "axes_to_write",
    "axes_with_sizes",
]
