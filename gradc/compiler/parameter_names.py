"""Names and contents by which parameters differ from buffers and constants of formulas."""

from __future__ import annotations

import re

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx.ops import op_names
from dialects.onnx.values import constant_of
from dialects.support.shapes import shape_of

BUFFERS = frozenset((
    "anchors", "attn_mask", "causal_mask", "cos_cached", "freqs_cis", "inv_freq", "mask", "masked_bias",
    "mean", "num_batches_tracked", "original_inv_freq", "pixel_mean", "pixel_std", "position_ids",
    "relative_coords_table", "relative_position_index", "running_mean", "running_var", "sin_cached", "std",
    "token_type_ids", "tril",
))  # fmt: skip
"""Last parts of names that libraries give to buffers."""

_WORDS = re.compile(r"alpha|beta|bias|gain|gamma|kernel|lambda|scale|shift|slope|tau|temperature|weight")
"""Words in the name of a parameter of one element."""

_OF_TENSORFLOW = re.compile(r".*(/Const(_\d+)?|/[xy]|__\d+)(:0)?|(zero_)?[cC]onst.*")
_OF_TORCH = re.compile(
    r"onnx::.*|.*[/.]?Constant(_\d+)?(_output_\d+)?|/.*_output_\d+|val_\d+|\d+|"
    r"(_to_copy|arange|bitwise_\w+|cat|clone|copy|cos|detach|div|embedding|eq|expand|fill|full|getitem|index|"
    r"lift_fresh_copy|linear|masked_fill|matmul|mm|mul|new_\w+|ones|permute|select|sin|stack|sub|t|to|"
    r"tril|triu|unbind|view|where|zeros|\w+_default)(_like)?(_\d+)?"
)
_OF_OPS = re.compile(rf"({'|'.join(op_names())})(_\d+)?(_output.*|_out\d*)?", re.IGNORECASE)
_OF_DERIVATIVES = re.compile(r".*\.(result|rows|samples|scaled)_const(_\d+)?")
_GENERATED = (_OF_TENSORFLOW, _OF_TORCH, _OF_OPS, _OF_DERIVATIVES)
"""Names that exporters, and gradc's derivatives, give to constants."""

_LAYER = re.compile(r"(linear|addmm|conv\w*|embedding|\w+_norm)(_\d+)?")
"""Names of results of calls that read parameters."""

_SEVERAL = 16
"""Different numbers of a table that no formula gives."""

_ROWS = 4
"""Rows of a table that are compared with sines and cosines."""


def is_generated(name: str) -> bool:
    """Return whether an exporter made a name up."""
    return any(pattern.fullmatch(name) for pattern in _GENERATED)


def is_of_layer(name: str) -> bool:
    """Return whether a constant has the name of a call with parameters, which the exporter computed."""
    return _LAYER.fullmatch(name) is not None


def is_of_buffer(name: str) -> bool:
    return re.split(r"[./]", name)[-1] in BUFFERS


def is_of_parameter(name: str, value: SSAValue) -> bool:
    """Return whether a constant has the name of a parameter. A single element without a path needs one of the
    usual words."""
    if is_generated(name) or is_of_buffer(name):
        return False
    is_single = all(size == 1 for size in shape_of(value))
    return not is_single or "." in name or "/" in name or _WORDS.search(name.lower()) is not None


def is_irregular(value: SSAValue) -> bool:
    """Return whether a table has many numbers that do not grow evenly along its rows, unlike masks, positions
    and slopes: it may be computed from a parameter."""
    array = constant_of(value)
    if array is None or array.ndim < 2 or array.shape[-1] < 3 or len(np.unique(array)) < _SEVERAL:
        return False
    bends = np.diff(array.astype(np.float64), 2, axis=-1)
    return not np.allclose(bends, 0, atol=1e-6 * float(np.abs(array).max()))


def is_sinusoidal(value: SSAValue) -> bool:
    """Return whether each column of a table is a sine or cosine of the row times a frequency."""
    array = constant_of(value)
    if array is None or array.ndim < 2 or array.shape[-2] < _ROWS or not array.size:
        return False
    rows = np.asarray(array.reshape(-1, *array.shape[-2:])[0, :_ROWS], np.float64)
    if not (np.abs(rows) <= 1).all():
        return False
    places = np.arange(_ROWS)[:, None]
    waves = (np.sin(places * np.arcsin(rows[1])), np.cos(places * np.arccos(rows[1])))
    errors = [np.abs(wave - rows).max(axis=0) for wave in waves]
    return bool((np.minimum(*errors) < 1e-3).all() and np.ptp(rows, axis=0).any())
