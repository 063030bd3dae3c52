"""Models that onnxruntime wrote for one machine with ENABLE_ALL, whose channels lie in blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper, parser

import gradc
from dialects.support.diagnostics import GradcError
from gradc.importers.onnx import blocks

OPSETS = '<ir_version: 8, opset_import: ["": 17, "com.microsoft.nchwc": 1]>'
NETWORK = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[N,3,12,12] x) => (float[N,a,b,c] y) {
      first = Conv <pads = [1,1,1,1]> (x, k0, b0)
      relu = Relu (first)
      most = MaxPool <kernel_shape = [2,2], strides = [2,2], pads = [0,1,1,0], ceil_mode = 1> (relu)
      apart = Conv <group = 32, pads = [1,1,1,1]> (most, k1)
      steep = HardSigmoid (apart)
      wide = Conv <dilations = [2,1], pads = [2,0,2,0]> (steep, k2, b2)
      summed = Add (wide, most)
      again = Relu (summed)
      groups = Conv <group = 2> (again, k3)
      mean = AveragePool <kernel_shape = [2,2], pads = [1,0,0,1], count_include_pad = 1> (groups)
      joined = Concat <axis = 1> (mean, mean)
      grown = Resize <mode = "%s", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
        (joined, , scales)
      narrow = Conv (grown, k4)
      bent = Sigmoid (narrow)
      turned = Transpose <perm = [0,2,3,1]> (bent)
      back = Transpose <perm = [0,3,1,2]> (turned)
      last = Conv (back, k5)
      whole = GlobalAveragePool (last)
      y = Mul (last, whole)
    }
"""
KERNELS = {
    "k0": (32, 3, 3, 3), "b0": (32,), "k1": (32, 1, 3, 3), "k2": (32, 32, 3, 1), "b2": (32,),
    "k3": (32, 16, 1, 1), "k4": (20, 64, 1, 1), "k5": (8, 20, 3, 3),
}  # fmt: skip


def network(mode: str) -> onnx.ModelProto:
    model, rng = parser.parse_model(NETWORK % mode), np.random.default_rng(0)
    for name, size in KERNELS.items():
        array = np.asarray(rng.normal(size=size) / np.sqrt(np.prod(size[1:])), np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    scales = np.array([1, 1, 2, 3], np.float32)
    model.graph.initializer.append(numpy_helper.from_array(scales, "scales"))
    return model


@pytest.mark.sweep(parts=2)
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_a_network_that_was_optimised_for_this_machine(mode: str, tmp_path: Path):
    model, options = network(mode), onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    optimised = onnx.load(tmp_path / "optimised.onnx")
    written = {node.op_type for node in optimised.graph.node if node.domain == "com.microsoft.nchwc"}
    if not written:
        pytest.skip("onnxruntime has no blocks for this processor")
    assert {"AveragePool", "Conv", "MaxPool", "ReorderOutput", "Upsample"} <= written
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 12, 12)).astype(np.float32)
    (found,) = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    ).run(None, {"x": x})
    y = np.asarray(found)
    feeds = {"x": x, "cotangent_y": rng.normal(size=y.shape).astype(np.float32)}
    want, got = (
        gradc.value_and_grad(source, wrt="x", of="y", cotangents=True).run(feeds)
        for source in (model, optimised)
    )
    np.testing.assert_allclose(got["y"], y, rtol=1e-4, atol=1e-5)
    scale = np.abs(want["grad_x"]).max()
    np.testing.assert_allclose(got["grad_x"], want["grad_x"], atol=1e-4 * scale)


def in_blocks(kernel: np.ndarray, block: int, is_of_blocks: bool) -> np.ndarray:
    filters, channels, *window = kernel.shape
    apart = kernel.reshape(filters // block, block, channels, *window)
    if not is_of_blocks:
        return np.moveaxis(apart, 1, -1).reshape(kernel.shape)
    pairs = apart.reshape(filters // block, block, channels // block, block, *window)
    return pairs.transpose(0, 2, 4, 5, 3, 1).reshape(kernel.shape)


@pytest.mark.parametrize("block", [8, 16])
@pytest.mark.parametrize("is_last", [0, 1])
def test_blocks_of_another_machine(block: int, is_last: int):
    """That channels are filled up to 24, or to 32, tells how long a block is."""
    rng, filled = np.random.default_rng(0), -(-20 // block) * block
    kernel = np.zeros((filled, filled, 1, 3), np.float32)
    kernel[:20, :20] = rng.normal(size=(20, 20, 1, 3))
    single = np.zeros((filled, 1, 3, 1), np.float32)
    single[:20] = rng.normal(size=(20, 1, 3, 1))
    dims = "1,5,5,20" if is_last else "1,20,5,5"
    text = f"""{OPSETS} g (float[{dims}] x) => (float[a,b,c,d] y) {{
      in = com.microsoft.nchwc.ReorderInput <channels_last = {is_last}> (x)
      wide = com.microsoft.nchwc.Conv <activation = "Relu"> (in, k)
      deep = com.microsoft.nchwc.Conv <group = {filled}> (wide, s)
      most = com.microsoft.nchwc.GlobalMaxPool (deep)
      whole = com.microsoft.nchwc.GlobalAveragePool (deep)
      sum = Add (most, whole)
      y = com.microsoft.nchwc.ReorderOutput <channels = 20, channels_last = {is_last}> (sum)
    }}"""
    plain = f"""<ir_version: 8, opset_import: ["": 17]> g (float[{dims}] x) => (float[a,b,c,d] y) {{
      in = {"Transpose <perm = [0,3,1,2]>" if is_last else "Identity"} (x)
      wide = Conv (in, k)
      relu = Relu (wide)
      deep = Conv <group = 20> (relu, s)
      most = GlobalMaxPool (deep)
      whole = GlobalAveragePool (deep)
      sum = Add (most, whole)
      y = {"Transpose <perm = [0,2,3,1]>" if is_last else "Identity"} (sum)
    }}"""
    found, want = parser.parse_model(text), parser.parse_model(plain)
    for model, arrays in (
        (found, {"k": in_blocks(kernel, block, True), "s": in_blocks(single, block, False)}),
        (want, {"k": kernel[:20, :20], "s": single[:20]}),
    ):
        model.graph.initializer.extend(
            numpy_helper.from_array(np.ascontiguousarray(a), n) for n, a in arrays.items()
        )
    assert blocks.channels_of_block(found) == block
    x = rng.normal(size=[int(n) for n in dims.split(",")]).astype(np.float32)
    cotangent = np.arange(20, dtype=np.float32).reshape((1, 1, 1, 20) if is_last else (1, 20, 1, 1))
    feeds = {"x": x, "cotangent_y": cotangent}
    sums = [
        gradc.value_and_grad(model, wrt="x", of="y", cotangents=True).run(feeds) for model in (found, want)
    ]
    for name in ("y", "grad_x"):
        np.testing.assert_allclose(sums[0][name], sums[1][name], rtol=1e-4, atol=1e-5)


def test_what_tells_of_long_blocks():
    """Channels in no blocks are fewer than a block has."""
    kernel = helper.make_tensor("k", onnx.TensorProto.FLOAT, [32, 12, 1, 1], np.zeros(384))
    text = f"{OPSETS} g (float[1,12,4,4] x) => (float[a,b,c,d] y) {{ y = com.microsoft.nchwc.Conv (x, k) }}"
    model = parser.parse_model(text)
    model.graph.initializer.append(kernel)
    assert blocks.channels_of_block(model) == 16


def test_where_nothing_tells_how_long_a_block_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blocks, "cpu_features", lambda: None)
    monkeypatch.setattr(blocks.platform, "machine", lambda: "x86_64")
    text = f"{OPSETS} g (float[1,3,4,4] x) => (float[a,b,c,d] y) {{ y = com.microsoft.nchwc.Conv (x, k) }}"
    model = parser.parse_model(text)
    model.graph.initializer.append(helper.make_tensor("k", 1, [32, 3, 1, 1], np.zeros(96)))
    with pytest.raises(GradcError, match=r"channels of a block: given unknown.*ENABLE_EXTENDED"):
        gradc.vjp(model, wrt="x", of="y")
    for features, block in ((("avx2",), 8), (("avx2", "avx512f"), 16)):
        monkeypatch.setattr(blocks, "cpu_features", lambda features=features: features)
        assert blocks.channels_of_block(model) == block
