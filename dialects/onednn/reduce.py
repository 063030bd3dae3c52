# pyright: standard
# (numpy meanings in lambdas, which get their types from no annotation)
"""Op specs of the reductions."""

from __future__ import annotations

import numpy as np

from dialects.onednn.op_spec import OpSpec

REDUCTIONS = (
    OpSpec("ReduceL1", "sum of abs(src[j])", lambda x, axis: np.abs(x).sum(axis)),
    OpSpec("ReduceL2", "sqrt(sum of src[j]^2)", lambda x, axis: np.sqrt(np.square(x).sum(axis))),
    OpSpec("ReduceMax", "the largest src[j]", lambda x, axis: x.max(axis, initial=-np.inf)),
    OpSpec("ReduceMean", "the mean of src[j]", lambda x, axis: x.mean(axis)),
    OpSpec("ReduceMin", "the smallest src[j]", lambda x, axis: x.min(axis, initial=np.inf)),
    OpSpec("ReduceProd", "the product of src[j]", lambda x, axis: x.prod(axis)),
    OpSpec("ReduceSum", "sum of src[j]", lambda x, axis: x.sum(axis)),
)
"""Reductions over the elements of one output position; without axes, each element alone.

The function takes an array with all reduced axes merged into `axis`. An empty maximum is -inf, an empty
minimum inf, as in ONNX.
"""
