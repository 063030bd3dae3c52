# pyright: standard
# (numpy meanings in lambdas, which get their types from no annotation)
"""The reductions, one row each."""

from __future__ import annotations

import numpy as np

from dialects.onednn.row import Row

REDUCTIONS = (
    Row("ReduceL1", "sum of abs(src[j])", lambda x, axis: np.abs(x).sum(axis)),
    Row("ReduceL2", "sqrt(sum of src[j]^2)", lambda x, axis: np.sqrt(np.square(x).sum(axis))),
    Row("ReduceMax", "the largest src[j]", lambda x, axis: x.max(axis, initial=-np.inf)),
    Row("ReduceMean", "the mean of src[j]", lambda x, axis: x.mean(axis)),
    Row("ReduceMin", "the smallest src[j]", lambda x, axis: x.min(axis, initial=np.inf)),
    Row("ReduceProd", "the product of src[j]", lambda x, axis: x.prod(axis)),
    Row("ReduceSum", "sum of src[j]", lambda x, axis: x.sum(axis)),
)
"""Of the elements that share a position of the result; without axes, an element is by itself.

A meaning takes the array with the reduced axes joined to one, which it is given. The largest of nothing is
-inf, the smallest inf, as ONNX has it.
"""
