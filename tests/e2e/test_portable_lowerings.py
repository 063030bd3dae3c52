"""`--target portable` writes forms that all of its runtimes compute alike, and refuses what has none."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.runtimes.onnxruntime_cpu import OnnxruntimeCpu
from support.runtimes.op_forms import FORMS, OpForm
from support.runtimes.openvino_cpu import OpenvinoCpu

import gradc
from dialects.onnx.base import OnnxOp
from dialects.support.diagnostics import UnsupportedError
from gradc.importers.onnx import import_onnx
from gradc.verification.verify import reference
from passes.targets.spec import spec_of


def added(form: OpForm) -> float:
    """Return the largest sum of magnitudes that an element of a transform adds; 1 for other ops."""
    if form.node.op_type != "DFT":
        return 1
    return np.abs(form.feeds["x"]).sum(axis=int(form.constants["a"])).max()


@pytest.mark.sweep
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_no_such_form_is_left(form: OpForm):
    source = import_onnx(form.model)
    written = gradc.compile(form.model, target="portable").model
    portable = spec_of("portable")
    left = [op for op in import_onnx(written).walk() if isinstance(op, OnnxOp) and portable.form_quirk(op)]
    assert not left
    if form.opset > 26:  # onnxruntime has not released it
        return
    (got,) = OnnxruntimeCpu().run(written, [form.feeds])
    for array, value in zip(got, reference(source, list(form.feeds.values())), strict=True):
        assert array.dtype == value.dtype
        np.testing.assert_allclose(array, value, rtol=1e-5, atol=1e-6 * added(form))


def refused(op: str, ranks: list[int], opset: int = 18, **attributes: object) -> str:
    """The message for a model of one op whose sizes are all unknown."""
    names = [f"x{i}" for i in range(len(ranks))]
    inputs = [
        helper.make_tensor_value_info(name, 1, [f"{name}_{i}" for i in range(rank)])
        if rank > 1
        else helper.make_tensor_value_info(name, 7, ["n"] if op == "RoiAlign" else [4])
        for name, rank in zip(names, ranks, strict=True)
    ]
    if op == "Resize":
        names = [names[0], "", "", names[1]]
    node = helper.make_node(op, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    with pytest.raises(UnsupportedError) as raised:
        gradc.compile(onnx.shape_inference.infer_shapes(model), target="portable")
    gradc.compile(onnx.shape_inference.infer_shapes(model))
    return str(raised.value)


def dynamic(op: str, weights: np.ndarray | None = None, **attributes: object) -> onnx.ModelProto:
    """A model of one op on a batch of 2 images of unknown size."""
    names = ["x"] if weights is None else ["x", "w"]
    node = helper.make_node(op, names, ["y"], **attributes)
    inputs = [helper.make_tensor_value_info("x", 1, [2, 2, "H", "W"])]
    constants = [] if weights is None else [numpy_helper.from_array(weights, "w")]
    graph = helper.make_graph(
        [node], "g", inputs, [helper.make_tensor_value_info("y", 1, [2, "C", "Y", "Z"])], constants
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


RNG = np.random.default_rng(0)
IMAGE = RNG.standard_normal((2, 2, 5, 4)).astype(np.float32)


def compare(model: onnx.ModelProto, target: str) -> None:
    """With the runtime's kernel of the original, which has no other for unknown sizes."""
    wanted = OnnxruntimeCpu().run(model, [{"x": IMAGE}])[0][0]
    written = gradc.compile(model, target=target).model
    assert not any(
        a.name in ("output_shape", "ceil_mode") and (a.i or a.ints)
        for n in written.graph.node
        for a in n.attribute
    )
    found = [OnnxruntimeCpu().run(written, [{"x": IMAGE}])]
    if find_spec("openvino"):
        found.append(OpenvinoCpu().run(written, [{"x": IMAGE}]))
    for ((got,),) in found:
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


OUTPUTS = [
    (kernel, stride, added, beyond)
    for kernel, stride, added in ((3, 2, 0), (3, 2, 1), (2, 3, 0), (4, 3, 2), (3, 1, 0))
    for beyond in (-3, -2, -1, 0, 1)
    if beyond < 0 or added <= beyond < stride
]
"""Kernel, stride, output_padding, and the elements of the result beyond the last window; onnxruntime takes
none that a stride more of data could give."""


class TestUnknownSizes:
    @pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
    @pytest.mark.parametrize(("kernel", "stride", "added", "beyond"), OUTPUTS)
    def test_an_output_shape(self, kernel: int, stride: int, added: int, beyond: int, auto_pad: str):
        sizes = [stride * (size - 1) + kernel + beyond for size in IMAGE.shape[2:]]
        weights = RNG.standard_normal((2, 3, kernel, kernel)).astype(np.float32)
        steps = {"strides": [stride] * 2, "output_padding": [added] * 2, "output_shape": sizes}
        compare(dynamic("ConvTranspose", weights, auto_pad=auto_pad, **steps), "portable")

    @pytest.mark.parametrize("target", ["portable", "openvino"])
    @pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 0, 0, 1]])
    def test_a_norm_of_windows_beyond_the_data(self, pads: list[int], target: str):
        window = {"kernel_shape": [3, 3], "strides": [2, 2]}
        compare(dynamic("LpPool", pads=pads, ceil_mode=1, **window), target)


class TestRefused:
    def test_a_norm_of_windows_in_the_pads(self):
        given = {"kernel_shape": [2], "strides": [3], "ceil_mode": 1}
        assert "windows in the pads" in refused("LpPool", [3], **given)

    def test_a_resize_of_unknown_sizes(self):
        assert "unknown sizes is avoided on portable" in refused("Resize", [4, 1], mode="linear", antialias=1)

    def test_a_pool_of_unknown_sizes(self):
        given = {"kernel_shape": [3], "ceil_mode": 1, "count_include_pad": 1}
        assert "ceil_mode and count_include_pad" in refused("AveragePool", [3], **given)

    def test_the_samples_of_a_region(self):
        assert "OpenVINO takes other samples" in refused("RoiAlign", [4, 2, 1])
