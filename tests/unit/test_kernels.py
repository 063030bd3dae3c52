"""The kernel tables: cpu.json against the installed runtime, and how a row is matched."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from dialects.onnx.ops import OPS
from dialects.support.dtypes import DTYPES
from gradc.kernel_registry import as_text, cpu_kernels
from passes import kernels
from passes.kernels import TARGETS, Kernels, kernel_table
from passes.target import Target

WORDS = {dtype.name for dtype in DTYPES}
NAMES = {op.onnx_name() for op in OPS}


def cpu_text() -> str:
    return (files("passes.kernels") / "cpu.json").read_text(encoding="utf-8")


def test_cpu_table_is_that_of_the_runtime():
    source = json.loads(cpu_text())["source"]
    found = re.match(r"onnxruntime (\S+), CPUExecutionProvider", source)
    assert found, source
    if onnxruntime.__version__ != found[1]:
        pytest.skip(f"the table is of onnxruntime {found[1]}, installed is {onnxruntime.__version__}")
    assert json.loads(cpu_text())["kernels"] == json.loads(json.dumps(cpu_kernels()))
    assert cpu_text().rstrip() == as_text().rstrip()


@pytest.mark.parametrize("target", TARGETS)
def test_rows(target: str):
    """Known ops, known dtypes, and ranges that are some."""
    for name, rows in kernel_table(target).items():
        assert name in NAMES
        for since, until, types in rows:
            assert until is None or since <= until
            assert {word for words in types.values() for word in words.split()} <= WORDS


def table_of(monkeypatch: pytest.MonkeyPatch, *rows) -> Kernels:
    monkeypatch.setattr(kernels, "kernel_table", lambda target: {"Op": list(rows)})
    return Kernels("cpu", 18)


@pytest.mark.parametrize(("schema", "found"), [(12, False), (13, True), (14, False), (18, False)])
def test_an_open_ended_kernel_serves_one_schema_version(
    monkeypatch: pytest.MonkeyPatch, schema: int, found: bool
):
    """ONNX revised the op later: the runtime does not find the old kernel for the new version."""
    table = table_of(monkeypatch, (13, None, {"T": "f32"}))
    assert table.has("Op", schema, {"T": "f32"}) is found


@pytest.mark.parametrize(("schema", "found"), [(12, False), (13, True), (15, True), (17, True), (18, False)])
def test_a_closed_range_serves_all_versions_in_it(monkeypatch: pytest.MonkeyPatch, schema: int, found: bool):
    table = table_of(monkeypatch, (13, 17, {"T": "f32"}))
    assert table.has("Op", schema, {"T": "f32"}) is found


def test_types(monkeypatch: pytest.MonkeyPatch):
    table = table_of(monkeypatch, (13, None, {"T": "f32 s64", "T1": "boolean"}))
    assert table.has("Op", 13, {"T": "f32", "T1": "boolean"})
    assert table.has("Op", 13, {"T": "s64"})
    # a variable that the kernel does not constrain
    assert table.has("Op", 13, {"T": "s64", "U": "f16"})
    assert not table.has("Op", 13, {"T": "f64", "T1": "boolean"})
    assert not table.has("Op", 13, {"T": "f32", "T1": "f32"})
    # no substring of a list of words is a word
    assert not table.has("Op", 13, {"T": "f3"})


def test_no_two_rows_are_mixed(monkeypatch: pytest.MonkeyPatch):
    """All variables must be admitted by one kernel."""
    rows = ((13, None, {"T": "f32", "U": "s32"}), (13, None, {"T": "f64", "U": "s64"}))
    table = table_of(monkeypatch, *rows)
    assert table.has("Op", 13, {"T": "f64", "U": "s64"})
    assert not table.has("Op", 13, {"T": "f32", "U": "s64"})


def test_an_unknown_op(monkeypatch: pytest.MonkeyPatch):
    assert not table_of(monkeypatch, (13, None, {})).has("Other", 13, {})


# Against the runtime itself


def runs(name: str, dtype: int, opset: int) -> bool:
    shape = [3, 3, 3]
    inputs = [helper.make_tensor_value_info(i, dtype, shape) for i in "ab"]
    graph = helper.make_graph(
        [helper.make_node(name, ["a", "b"], ["c"])],
        "g",
        inputs,
        [helper.make_tensor_value_info("c", dtype, ["n", "m", "k"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # the optimizer would put Casts where a kernel is missing
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return False
    return True


DTYPE_PROTOS = {
    "f32": TensorProto.FLOAT,
    "f64": TensorProto.DOUBLE,
    "s64": TensorProto.INT64,
    "s32": TensorProto.INT32,
}


@pytest.mark.parametrize("opset", [13, 17, 18, 21])
@pytest.mark.parametrize("dtype", DTYPE_PROTOS)
@pytest.mark.parametrize("name", ["Conv", "ConvTranspose", "MatMul", "Add", "Mul"])
def test_the_table_says_what_runs(name: str, dtype: str, opset: int):
    op = next(op for op in OPS if op.onnx_name() == name)
    refused = Target("cpu", opset).lacks(op, dtype)
    if refused and dtype not in op.VERSIONS[0].types["T"].split():
        return
    assert runs(name, DTYPE_PROTOS[dtype], opset) == (refused is None), refused


def test_reasons():
    conv = next(op for op in OPS if op.onnx_name() == "Conv")
    col2im = next(op for op in OPS if op.onnx_name() == "Col2Im")
    assert Target("cpu", 18).lacks(conv, "f32") is None
    assert Target("cpu", 18).lacks(conv, "f64") == "Conv has no f64 kernel on cpu at opset 18"
    assert Target("cuda", 18).lacks(conv, "f64") is None
    assert Target("cpu", 17).lacks(col2im, "f32") == "Col2Im needs opset 18, the target is 17"
    assert Target("cuda", 18).lacks(col2im, "f32") == "Col2Im has no f32 kernel on cuda at opset 18"
    # a dtype that the schema has not
    assert Target("cpu", 18).lacks(conv, "s32") == "Conv has no s32 kernel on cpu at opset 18"
