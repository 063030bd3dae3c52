"""The kernel tables: cpu.json against the installed runtime, and how a row is matched."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f16, f32

from dialects.onnx import ops
from dialects.onnx.ops import OPS
from dialects.support.dtypes import ONNX_DTYPES
from gradc.runtime.session import newest_opset
from passes import kernel_tables
from passes.kernel_tables import (
    OLD_VARIABLE_NAMES,
    PROVIDERS,
    Kernels,
    cpu_sources,
    kernel_table,
    rename_variables,
    serves,
)
from passes.targets.target import Target
from tools import kernel_registry
from tools.kernel_registry import Row, as_text, cpu_kernels, extend

WORDS = {dtype.name for dtype in ONNX_DTYPES}
NAMES = {op.onnx_name() for op in OPS}


def cpu_text() -> str:
    return (files("passes.kernel_tables") / "cpu.json").read_text(encoding="utf-8")


def serving(rows: Sequence[Row], revision: int) -> list[dict[str, set[str]]]:
    """The dtypes of each type variable, of every kernel that serves a schema version."""
    return [
        {variable: set(words.split()) for variable, words in types.items()}
        for since, until, types in rows
        if serves(since, until, revision)
    ]


def admits(kernel: dict[str, set[str]], wanted: dict[str, set[str]]) -> bool:
    return all(words <= kernel.get(variable, words) for variable, words in wanted.items())


def test_the_runtime_has_every_kernel_of_the_table():
    """Whatever runtime is installed, for every opset that it has released."""
    own = cpu_kernels()
    for op in OPS:
        for revision in (r for r in op.REVISIONS if r <= newest_opset()):
            found = serving(own.get(op.onnx_name(), []), revision)
            for wanted in serving(kernel_table("cpu").get(op.onnx_name(), []), revision):
                assert any(admits(kernel, wanted) for kernel in found), (op.onnx_name(), revision, wanted)


def test_the_table_has_every_kernel_of_the_runtimes_that_it_names():
    before = 0
    for newest, source in sorted(cpu_sources().items()):
        if source.startswith(f"onnxruntime {onnxruntime.__version__},"):
            revisions = [(op, r) for op in OPS for r in op.REVISIONS if before < r <= newest]
            for op, revision in revisions:
                of_table = serving(kernel_table("cpu").get(op.onnx_name(), []), revision)
                assert of_table == serving(cpu_kernels().get(op.onnx_name(), []), revision)
        before = newest


@pytest.mark.parametrize("released", [None, 99])
def test_the_table_is_as_it_was_printed(monkeypatch: pytest.MonkeyPatch, released: int | None):
    """Also with a runtime of the future, which may have opsets that the dialect does not know."""
    if released:
        monkeypatch.setattr(kernel_registry, "newest_released_opset", lambda: released)
    assert cpu_text().rstrip() == as_text().rstrip()


def test_a_newer_runtime_adds_kernels_of_new_schemas_only():
    unreleased = (28, None, {"T": "f16"})
    known = {"Cast": [(25, None, {"T1": "f32"})], "Mod": [(13, None, {"T": "s64"}), unreleased]}
    added = {
        "Cast": [(25, 27, {"T1": "f32 bf16"}), (28, None, {"T1": "f32 bf16"})],
        "Mod": [(13, None, {"T": "s64 f32"})],
        "DepthToSpace": [(13, 30, {"T": "f32"})],
    }
    assert extend(known, 26, added) == {
        "Cast": [(25, None, {"T1": "f32"}), (28, None, {"T1": "f32 bf16"})],
        "DepthToSpace": [(27, 30, {"T": "f32"})],
        "Mod": [(13, None, {"T": "s64"})],
    }


@pytest.mark.parametrize("provider", PROVIDERS)
def test_rows(provider: str):
    """Known ops, known dtypes, and ranges that are some."""
    for name, rows in kernel_table(provider).items():
        assert name in NAMES
        for since, until, types in rows:
            assert until is None or since <= until
            assert {word for words in types.values() for word in words.split()} <= WORDS


def table_of(monkeypatch: pytest.MonkeyPatch, *rows) -> Kernels:
    monkeypatch.setattr(kernel_tables, "kernel_table", lambda target: {"Op": list(rows)})
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
    except NoKernel:
        return False
    return True


DTYPE_PROTOS = {
    "f32": TensorProto.FLOAT,
    "f64": TensorProto.DOUBLE,
    "s64": TensorProto.INT64,
    "s32": TensorProto.INT32,
}


@pytest.mark.sweep
@pytest.mark.parametrize("opset", [13, 17, 18, 21])
@pytest.mark.parametrize("dtype", DTYPE_PROTOS)
@pytest.mark.parametrize("name", ["Conv", "ConvTranspose", "MatMul", "Add", "Mul"])
def test_the_table_says_what_runs(name: str, dtype: str, opset: int):
    op = next(op for op in OPS if op.onnx_name() == name)
    refused = Target("cpu", opset).lacks(op, dtype)
    if refused and dtype not in op.VERSIONS[0].types["T"].split():
        return
    assert runs(name, DTYPE_PROTOS[dtype], opset) == (refused is None), refused


ALL_PROTOS = {element.name: element.number for element in ONNX_DTYPES}


def fails_at_run_time(name: str, attribute: str, word: str, dtype: str) -> bool:
    """Of a model that loads, since for its types there is a kernel."""
    proto, opset = ALL_PROTOS[dtype], 18
    ones = np.ones(4, np.int64).astype(helper.tensor_dtype_to_np_dtype(proto))
    ones = np.array(["1"] * 4, object) if dtype == "string" else ones
    places = np.zeros((2, 1) if name.endswith("ND") else 2, np.int64)
    given = {"data": ones, "places": places, "updates": ones[:2]}
    graph = helper.make_graph(
        [helper.make_node(name, list(given), ["y"], **{attribute: word})],
        "g",
        [],
        [helper.make_tensor_value_info("y", proto, [4])],
        [
            numpy_helper.from_array(a, n)
            for n, a in (("data", ones), ("places", places), ("updates", ones[:2]))
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    try:
        session.run_with_ort_values(None, {})
    except Exception:
        return True
    return False


@pytest.mark.parametrize("word", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("name", ["ScatterND", "ScatterElements"])
def test_a_registered_kernel_may_fail_with_a_word(name: str, word: str):
    registered = [d for d in ALL_PROTOS if Kernels("cpu", 18).has(name, 18, {"T": d})]
    assert {"f32", "f16", "u16", "string"} <= set(registered)
    for dtype in registered:
        failing = Kernels("cpu", 18).failing_word(name, {"reduction": word}, {"T": dtype})
        assert failing == (f"reduction {word}" if fails_at_run_time(name, "reduction", word, dtype) else None)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", ["GRU", "LSTM"])
def test_a_registered_kernel_may_fail_for_a_type(name: str, dtype: str):
    rows = {"GRU": 3, "LSTM": 4}[name]
    sizes = {"x": (1, 1, 1), "w": (1, rows, 1), "r": (1, rows, 1)}
    numpy = {"f32": np.float32, "f64": np.float64}[dtype]
    tensors = [numpy_helper.from_array(np.ones(size, numpy), i) for i, size in sizes.items()]
    node = helper.make_node(name, list(sizes), ["y"], hidden_size=1)
    graph = helper.make_graph(
        [node], "g", [], [helper.make_tensor_value_info("y", ALL_PROTOS[dtype], None)], tensors
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    has = Kernels("cpu", 22).has(name, 22, {"T": dtype})
    assert has == (dtype == "f32")
    if has:
        session.run(None, {})
        return
    with pytest.raises(Exception, match="does not support double"):
        session.run(None, {})


def test_a_word_is_a_reason():
    def scatter(dtype, **attributes):
        data, updates = (test.TestOp(result_types=[TensorType(dtype, [n])]).results[0] for n in (4, 1))
        return ops.ScatterNDOp(data, ops.ConstantOp(np.array([[1]])), updates, **attributes)

    for target in ("cpu", "portable"):
        assert Target(target, 18).kernels.failing_word("ScatterND", {"reduction": "add"}, {"T": "f16"})
    assert Target("cpu", 18).lacks_kernel(scatter(f16)) is None
    assert Target("cpu", 18).lacks_kernel(scatter(f32, reduction="add")) is None
    reason = Target("cpu", 18).lacks_kernel(scatter(f16, reduction="add"))
    assert reason == "ScatterND with reduction add fails for f16, s64 on cpu"


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


@pytest.mark.parametrize("name", OLD_VARIABLE_NAMES)
def test_type_variables_that_have_been_renamed(name: str):
    """Those of each revision, as onnx has them, are ours of the same operand or result."""
    signature = next(op.SIGNATURE for op in OPS if op.onnx_name() == name)
    for revision in signature.revisions:
        schema = onnx.defs.get_schema(name, max_inclusive_version=revision)
        pairs = zip(signature.operands, schema.inputs, strict=False)
        for ours, theirs in ((o, t) for o, t in pairs if not t.type_str.startswith("tensor")):
            found = rename_variables(name, revision, {theirs.type_str: "f32"})
            assert found[ours.variable] == "f32", (revision, ours.name)
