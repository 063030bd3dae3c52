"""`--target portable` writes forms that all of its runtimes compute alike, and refuses what has none."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from support.runtimes.onnxruntime_cpu import OnnxruntimeCpu
from support.runtimes.op_forms import FORMS, OpForm

import gradc
from dialects.onnx.base import OnnxOp
from dialects.support.diagnostics import UnsupportedError
from gradc.importers.onnx import import_onnx
from gradc.verification.verify import reference
from passes.targets.spec import spec_of


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
        np.testing.assert_allclose(array, value, rtol=1e-5, atol=1e-6 * np.abs(value).max(initial=1))


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


class TestRefused:
    def test_a_resize_of_unknown_sizes(self):
        assert "unknown sizes is avoided on portable" in refused("Resize", [4, 1], mode="linear", antialias=1)

    def test_a_pool_of_unknown_sizes(self):
        given = {"kernel_shape": [3], "ceil_mode": 1, "count_include_pad": 1}
        assert "ceil_mode and count_include_pad" in refused("AveragePool", [3], **given)

    def test_the_samples_of_a_region(self):
        assert "OpenVINO takes other samples" in refused("RoiAlign", [4, 2, 1])
