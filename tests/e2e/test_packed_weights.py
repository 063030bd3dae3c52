"""Products with packed weights: gradients by ops that unpack them, against onnxruntime's own kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

import gradc
from dialects.support.diagnostics import UnsupportedError

F32, F16 = np.float32, np.float16
FLOATS = {F32: TensorProto.FLOAT, F16: TensorProto.FLOAT16}


def model_of(op: str, width: int, others: list[Any], **attributes: Any) -> onnx.ModelProto:
    """Of x, whose batch is of a size that only run time knows; None for an operand that is left out."""
    while others[-1] is None:
        others = others[:-1]
    names = [f"w{i}" if other is not None else "" for i, other in enumerate(others)]
    node = helper.make_node(op, ["x", *names], ["y"], domain="com.microsoft", K=width, **attributes)
    dtype = FLOATS[others[1].dtype.type]
    weights = [numpy_helper.from_array(x, n) for n, x in zip(names, others, strict=True) if n]
    x, y = (
        helper.make_tensor_value_info(name, dtype, dims)
        for name, dims in (("x", ["B", 3, width]), ("y", None))
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(
        helper.make_graph([node], "g", [x], [y], weights), opset_imports=opsets, ir_version=8
    )


def check(model: onnx.ModelProto, width: int, dtype: Any, tolerance: float) -> gradc.Compiled:
    """The value is that of the kernel, and the gradient that of its linear part, for several batches."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True, check=True)
    assert not {node.domain for node in found.model.graph.node} - {""}
    rng = np.random.default_rng(1)
    rows = np.eye(width + 1, width, dtype=dtype).repeat(3, 0).reshape(width + 1, 3, width)
    columns = np.asarray(session.run(["y"], {"x": rows})[0], np.float64)[:, 0]
    matrix = (columns[:-1] - columns[-1]).T
    for batch in (2, 1, 0):
        x = rng.normal(size=(batch, 3, width)).astype(dtype)
        y = np.asarray(session.run(["y"], {"x": x})[0])
        cotangent = rng.normal(size=y.shape).astype(dtype)
        got = found.run({"x": x, "cotangent_y": cotangent})
        scale = np.abs(matrix).sum()
        np.testing.assert_allclose(got["y"], y, atol=tolerance * scale, rtol=0)
        np.testing.assert_allclose(got["grad_x"], cotangent @ matrix, atol=tolerance * scale, rtol=0)
        assert (got["y"].dtype, got["grad_x"].dtype) == (dtype, dtype)
    return found


FORMS = [(bits, zeros) for bits in (2, 4, 8) for zeros in (None, "codes", "floats")][:-1]
"""onnxruntime's CPU kernel takes no zero points of floats beside codes of 8 bits."""


@pytest.mark.sweep
@pytest.mark.parametrize(("bits", "zeros"), FORMS)
@pytest.mark.parametrize(("width", "block"), [(32, 16), (37, 16), (96, 32), (50, 32)])
@pytest.mark.parametrize("dtype", [F32, F16])
def test_a_product_with_weights_of_few_bits(bits: int, width: int, block: int, zeros: str | None, dtype: Any):
    rng, rows, blocks = np.random.default_rng(bits), 5, -(-width // block)
    codes = rng.integers(0, 256, (rows, blocks, block * bits // 8), dtype=np.uint8)
    scales = (rng.random((rows, blocks)) * 0.1 + 0.02).astype(dtype)
    points = {
        "codes": rng.integers(0, 256, (rows, -(-blocks * bits // 8)), dtype=np.uint8),
        "floats": (rng.random((rows, blocks)) * 2**bits).astype(dtype),
    }
    bias = rng.normal(size=rows).astype(dtype) if width % 2 else None
    others = [codes, scales, points.get(zeros or ""), None, bias]
    model = model_of("MatMulNBits", width, others, N=rows, bits=bits, block_size=block)
    check(model, width, dtype, 1e-6 if dtype == F32 else 1e-3)


@pytest.mark.parametrize("zeros", [False, True])
def test_weights_whose_columns_are_in_another_order(zeros: bool):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (5, 3, 8), dtype=np.uint8)
    scales = (rng.random((5, 3)) * 0.1 + 0.02).astype(F32)
    points = (rng.random((5, 3)) * 16).astype(F32) if zeros else None
    others = [codes, scales, points, rng.integers(0, 3, 37).astype(np.int32)]
    check(model_of("MatMulNBits", 37, others, N=5, bits=4, block_size=16), 37, F32, 1e-6)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("rows", "width"), [(4, 32), (5, 30), (3, 7)])
def test_a_product_with_weights_of_bitsandbytes(kind: int, rows: int, width: int):
    rng, count = np.random.default_rng(kind), rows * width
    codes = rng.integers(0, 256, -(-count // 2), dtype=np.uint8)
    largest = rng.random(-(-count // 16)).astype(F32)
    model = model_of("MatMulBnb4", width, [codes, largest], N=rows, block_size=16, quant_type=kind)
    check(model, width, F32, 1e-6)


def test_the_file_holds_weights_as_they_were_packed():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (256, 16, 16), dtype=np.uint8)
    scales = rng.random((256, 16)).astype(F32)
    model = model_of("MatMulNBits", 512, [codes, scales], N=256, bits=4, block_size=32)
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True)
    assert len(found.model.SerializeToString()) < 1.1 * len(model.SerializeToString())


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_rows_of_a_table_of_codes(bits: int, zeros: bool):
    """Nothing flows to the codes; to the scales it does."""
    rng, blocks = np.random.default_rng(bits), 3
    table = rng.integers(0, 256, (7, 48 * bits // 8), dtype=np.uint8)
    scales = (rng.random((7, blocks)) * 0.1 + 0.02).astype(F32)
    points = rng.integers(0, 256, (7, -(-blocks * bits // 8)), dtype=np.uint8)
    names = ["table", "ids", "scales", *(["points"] if zeros else [])]
    own: dict[str, Any] = {"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}
    node = helper.make_node("GatherBlockQuantized", names, ["y"], domain="com.microsoft", **own)
    arrays = {"table": table, "scales": scales, **({"points": points} if zeros else {})}
    weights = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["B", 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", 2, 48])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(
        helper.make_graph([node], "g", [ids], [y], weights), opset_imports=opsets, ir_version=8
    )
    found = gradc.value_and_grad(model, wrt="scales", of="y", cotangents=True, check=True)
    assert not found.remarks
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for batch in (3, 1):
        feeds = {"ids": rng.integers(0, 7, (batch, 2))}
        want = np.asarray(session.run(["y"], feeds)[0])
        got = found.run({**feeds, "cotangent_y": np.ones_like(want)})
        np.testing.assert_allclose(got["y"], want, rtol=1e-5)


def test_the_gradient_by_scales():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (5, 2, 8), dtype=np.uint8)
    model = model_of("MatMulNBits", 32, [codes, rng.random((5, 2)).astype(F32)], N=5, bits=4, block_size=16)
    numbers = np.stack([codes & 15, codes >> 4], -1).reshape(5, 2, 16) - 8.0
    x, cotangent = rng.normal(size=(2, 3, 32)).astype(F32), rng.normal(size=(2, 3, 5)).astype(F32)
    got = gradc.vjp(model, wrt="w1", of="y").run({"x": x, "cotangent_y": cotangent})["grad_w1"]
    weights = np.einsum("bmn,bmk->nk", cotangent, x).reshape(5, 2, 16)
    np.testing.assert_allclose(got, (weights * numbers).sum(2), rtol=1e-4)


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (
            "MatMulNBits <K = 16, N = 2, bits = 4, block_size = 16> (x, b, s, z, g)",
            "onnxruntime's CPU kernel",
        ),
        (
            "MatMulNBits <K = 16, N = 2, bits = 8, block_size = 16> (x, b, s, , g)",
            "bits with g_idx: given 8",
        ),
        (
            "MatMulNBits <K = 16, N = 2, bits = 3, block_size = 16> (x, b, s)",
            "bits: given 3, expected 2, 4 or 8",
        ),
    ],
)
def test_a_form_that_is_refused_says_why(node: str, why: str):
    opsets = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>'
    inputs = "float[2,16] x, uint8[2,1,8] b, uint8[2,1,16] c, float[2,1] s, uint8[2,1] z, int32[16] g"
    source = f"{opsets} g ({inputs}) => (float[2,2] y) {{ y = com.microsoft.{node} }}"
    with pytest.raises(UnsupportedError, match=why):
        gradc.vjp(parser.parse_model(source), wrt="x")
