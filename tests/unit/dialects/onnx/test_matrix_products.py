"""MatMul of a stack of matrices with one matrix, one by one."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from dialects.onnx import numpy
from dialects.onnx.call import Call, Tensor

SHAPES = [
    ((5, 1, 3), (3, 2)),
    ((2, 4, 3), (3, 2)),
    ((2, 5, 4, 3), (3, 2)),
    ((0, 4, 3), (3, 2)),
    ((2, 4, 0), (0, 2)),
    ((2, 4, 3), (3, 0)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_stack_times_one_matrix(left: tuple[int, ...], right: tuple[int, ...], dtype: str, turned: bool):
    a, b = (np.arange(prod(shape)).reshape(shape).astype(dtype) % 7 for shape in (left, right))
    a = np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, -1)), -1, 0) if turned else a
    tensors = tuple(Tensor(array.shape, array) for array in (a, b))
    (found,) = numpy.evaluate(Call("MatMul", tensors, {}, 1), [a, b], [np.dtype(dtype)])
    assert found.dtype == dtype
    rows = [matrix @ b for matrix in a.reshape(prod(left[:-2]), *left[-2:])]
    assert found.tolist() == np.reshape(rows, (*left[:-1], right[1])).tolist()
