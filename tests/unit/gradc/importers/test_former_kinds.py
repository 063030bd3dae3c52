"""Kinds that dumps of older versions of oneDNN call otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from support.documents import document, op, tensor

import gradc

pytest.importorskip("onnxruntime")


def test_the_gradient_of_a_bias_as_3_0_0_calls_it():
    records = [tensor(0, [2, 3, 4])], [tensor(1, [3])]
    compiled = gradc.compile(document(op(0, "BiasAddBackprop", {"data_format": "NCX"}, *records)))
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(compiled.run({"t0": x})["t1"], x.sum((0, 2)))


def test_what_is_wrong_with_it_is_told_by_its_name_of_today():
    wrong = document(op(0, "BiasAddBackprop", {"axis": 1}, [tensor(0, [2, 3])], [tensor(1, [3])]))
    with pytest.raises(gradc.GradcError, match=r"\[BiasAddBackward .*unknown attribute axis"):
        gradc.compile(wrong)
