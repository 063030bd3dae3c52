"""Passes of a gradient can be printed, stopped at and run one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.cli import run_gradc, run_opt
from xdsl.passes import PassPipeline

from gradc.compiler.options import Options
from passes import pipelines
from passes.registry import all_passes


@pytest.fixture
def model(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    weights = [("layer/w:0", (3, 4)), ("b", (4,))]
    nodes = [
        helper.make_node("MatMul", ["x", "layer/w:0"], ["a"]),
        helper.make_node("Add", ["a", "b"], ["c"], name="sum"),
        helper.make_node("Softplus", ["c"], ["y"]),
    ]
    edges = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", ["N", 3]), ("y", ["N", 4]))
    ]
    stored = [numpy_helper.from_array(rng.normal(size=s).astype(np.float32), n) for n, s in weights]
    graph = helper.make_graph(nodes, "g", edges[:1], edges[1:], stored)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


WRT = ("--wrt", "layer/w:0", "--wrt", "c", "--wrt", "x")


def test_every_pass_is_printed(model: Path):
    result = run_gradc(
        "grad", model, *WRT, "--reduce", "sum", "--print-ir-after-all", "-o", model.parent / "g.onnx"
    )
    shown = [line.split()[4] for line in result.err.splitlines() if line.startswith("// -----")]
    spec = pipelines.differentiate(straight_through=False, strict_ieee=False)
    expected = [*pipelines.CANONICALIZE, *_names(spec), *_names(Options(threads=1).pipeline)]
    assert shown == expected


@pytest.mark.parametrize("start", ["infer-types", "pin-values", "scan-outputs", "vjp", "unpin-values"])
def test_a_pipeline_goes_on_from_the_text_of_any_pass(model: Path, start: str):
    stage, end = model.parent / "stage.mlir", model.parent / "end.mlir"
    options = (*WRT, "--reduce", "sum", "--weights", "default")
    assert run_gradc("grad", model, *options, "--stop-after", start, "-o", stage).code == 0
    assert run_gradc("grad", model, *options, "--stop-after", "unpin-values", "-o", end).code == 0
    own = {
        "pin-values": 'pin-values{wrt="layer/w:0",c,x}',
        "normalize-branches": 'normalize-branches{kept="layer/w:0",c,x}',
        "vjp": 'vjp{reduce="sum" weights-as-inputs=true}',
    }
    names = pipelines.differentiate(straight_through=False, strict_ieee=False).split(",")
    if start != "infer-types":
        names = names[names.index(start) + 1 :]
    result = run_opt("-p", ",".join(own.get(name, name) for name in names) or "name-sizes", stage)
    assert result.out.split() == end.read_text().split()


def test_the_named_pipeline_writes_the_same_gradient(model: Path):
    stage, end = model.parent / "stage.mlir", model.parent / "end.mlir"
    run_gradc("grad", model, "--wrt", "x", "--cotangents", "--stop-after", "resolve-auto-pad", "-o", stage)
    run_gradc("grad", model, "--wrt", "x", "--cotangents", "--stop-after", "unpin-values", "-o", end)
    result = run_opt("-p", "differentiate{wrt=x cotangents=true}", stage)
    assert result.out.split() == end.read_text().split()


def test_an_unknown_pass(model: Path):
    result = run_gradc("grad", model, "--stop-after", "vpj")
    assert result.code == 2
    assert "did you mean vjp?" in result.err


def test_a_model_needs_a_file(model: Path):
    assert "Missing option '-o'" in run_gradc("grad", model).err
    assert "apply to models" in run_gradc("grad", model, "--stop-after", "vjp", "--json").err


def _names(pipeline: str) -> list[str]:
    return [pass_.name for pass_ in PassPipeline.parse_spec(all_passes(), pipeline).passes]
