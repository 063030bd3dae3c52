"""Checks of gradients of models in half types, whose constants are rounded where they are computed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto

import gradc
from gradc.derivatives import derivation

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph ({dtype}[N,3] x) => ({dtype}[N,3] y) {{ {body} }}"""
DTYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
BODIES = [
    "r = Exp(c) p = Mul(x, r) y = Tanh(p)",
    "r = Reciprocal(c) s = Sin(x) q = Mul(s, s) y = Mul(q, r)",
    "d = Sqrt(c) r = Neg(d) y = Div(x, r)",
]


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("wrt", ["x", "c", "r"])
def test_what_is_made_of_constants_is_rounded(body: str, dtype: str, wrt: str):
    model = onnx.parser.parse_model(MODEL.format(dtype=dtype, body=body))
    constant = np.array([0.3, 0.7, 1.1]).astype(DTYPES[dtype])
    model.graph.initializer.append(onnx.numpy_helper.from_array(constant, "c"))
    found = gradc.vjp(model, wrt=wrt, check=True)
    assert not [remark for remark in found.remarks if "gradient" in remark.message]


NETWORKS = {
    "rows": (
        "{dtype}[3,8] x",
        "{dtype}[3,8] y",
        """l = LayerNormalization (x, g, c) m = MatMul (l, w1) e = Gelu (m) k = MatMul (e, w2)
        r = Add (k, x) y = Softmax (r)""",
        {"g": (8,), "c": (8,), "w1": (8, 4), "w2": (4, 8)},
    ),
    "images": (
        "{dtype}[2,2,5,5] x",
        "{dtype}[2,3] y",
        """c = Conv <pads = [1, 1, 1, 1]> (x, k) n = BatchNormalization (c, s, s, s, v) r = Relu (n)
        p = MaxPool <kernel_shape = [2, 2]> (r) q = GlobalAveragePool (p) f = Flatten (q)
        y = MatMul (f, w)""",
        {"k": (4, 2, 3, 3), "s": (4,), "v": (4,), "w": (4, 3)},
    ),
    "steps": (
        "{dtype}[3,2,4] x",
        "{dtype}[1,2,3] y",
        "a, y = LSTM <hidden_size = 3> (x, wi, wr, b)",
        {"wi": (1, 12, 4), "wr": (1, 12, 3), "b": (1, 24)},
    ),
}


def network(name: str, dtype: str) -> onnx.ModelProto:
    given, result, body, shapes = NETWORKS[name]
    head = '<ir_version: 10, opset_import: ["": 21]>'
    text = f"{head} g ({given}) => ({result}) {{{{ {body} }}}}"
    model = onnx.parser.parse_model(text.format(dtype=dtype))
    rng = np.random.default_rng(0)
    arrays = {name: rng.uniform(0.1, 1, shape).astype(DTYPES[dtype]) for name, shape in shapes.items()}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in arrays.items())
    return model


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_proved(name: str, dtype: str):
    proof = gradc.vjp(network(name, dtype), wrt="x", check=True).proof
    assert proof is not None
    assert proof.status == "proved", str(proof)
    assert proof.runtime


FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)


def is_changed_by(constant: np.ndarray) -> bool:
    return constant.size > 0 and bool(np.asarray(constant, np.float64).any())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["rows", "steps"])
def test_a_constant_that_is_off_is_found(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch):
    """5 % of a weight of the written model are more than its roundings."""
    stored, changed = derivation.store_weights, list[str]()

    def with_fault(compiled: gradc.Compiled, request: Any) -> gradc.Compiled:
        found = stored(compiled, request)
        for tensor in found.parts.proto.graph.initializer:
            array = onnx.numpy_helper.to_array(tensor)
            if tensor.data_type in FLOATS and array.ndim >= 2 and is_changed_by(array):
                other = (array.astype(np.float64) * 1.05).astype(array.dtype)
                tensor.CopyFrom(onnx.numpy_helper.from_array(other, tensor.name))
                changed.append(tensor.name)
                break
        return found

    monkeypatch.setattr(derivation, "store_weights", with_fault)
    with pytest.raises(gradc.CheckError, match="of the compiled model is wrong"):
        gradc.vjp(network(name, dtype), wrt="x", check=True)
    assert changed
