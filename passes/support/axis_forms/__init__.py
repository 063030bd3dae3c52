"""The ways to write the gradient of a resize along one axis, one idea per file.

A resize is separable, so a form is chosen per axis. Each works on outer x Y x inner, whatever the
layout.
"""

from passes.support.axis_forms.bands import Bands, GatheredBands
from passes.support.axis_forms.base import AxisForm, axes_to_write, axes_with_sizes
from passes.support.axis_forms.blocks import Blocks
from passes.support.axis_forms.convs import Convs
from passes.support.axis_forms.dense import Dense
from passes.support.axis_forms.gathers import Gathers
from passes.support.axis_forms.sums import Sums
from passes.support.axis_forms.tables import Tables

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
