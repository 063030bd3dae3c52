"""Means of no elements are NaN in the numpy kernels, as on onnxruntime, and numpy says nothing of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from dialects.onnx import numpy
from dialects.onnx.call import Call, Tensor

F64, EMPTY = np.dtype(np.float64), np.zeros((2, 3, 0))
CASES: dict[str, tuple[list[np.ndarray], dict[str, Any]]] = {
    "ReduceMean": ([EMPTY], {}),
    "GlobalAveragePool": ([EMPTY], {}),
    "LayerNormalization": ([EMPTY, np.zeros(0)], {}),
    "RMSNormalization": ([EMPTY, np.zeros(0)], {}),
    "InstanceNormalization": ([EMPTY, np.ones(3), np.ones(3)], {}),
    "GroupNormalization": ([EMPTY, np.ones(3), np.ones(3)], {"num_groups": 3}),
    "MeanVarianceNormalization": ([EMPTY], {"axes": [2]}),
    "BatchNormalization": ([EMPTY, *([np.ones(3)] * 4)], {"training_mode": 1}),
}

RESULTS = {"LayerNormalization": 3, "BatchNormalization": 3}


@pytest.mark.parametrize("name", CASES)
def test_no_warning(name: str):
    operands, attributes = CASES[name]
    tensors = tuple(Tensor(array.shape, array) for array in operands)
    count = RESULTS.get(name, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = numpy.evaluate(Call(name, tensors, attributes, count), operands, [F64] * count)
    if name in ("ReduceMean", "GlobalAveragePool"):
        assert found[0].size == 1 + 5 * (name == "GlobalAveragePool")
        assert np.isnan(found[0]).all()
