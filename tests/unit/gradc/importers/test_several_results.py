"""Ops of several results, and of any number of operands, from every way in to the model."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.pattern_rewriter import PatternRewriter

import gradc
from dialects.onnx import ops as onnx
from dialects.support.diagnostics import GradcError
from dialects.support.documented_op import DocumentedOp
from dialects.support.shapes import shape_of, tensor_type
from gradc.cli import main
from gradc.importers.mlir.parser import import_mlir
from gradc.importers.onednn.reader import import_json
from gradc.inspection import accuracy, verify_ops
from gradc.verification.samples import random_inputs
from gradc.verification.verify import OutputError
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import replace
from passes.strategies.base import Strategy, StrategyFault, lower_with
from passes.targets.target import Target


def tensor(identifier: int, shape: list[int]) -> dict[str, Any]:
    return {"id": identifier, "dtype": "f32", "shape": shape, "stride": [-(2**63)]}


def record(kind: str, attributes: dict[str, Any], inputs: list[Any], outputs: list[Any]) -> dict[str, Any]:
    attrs = {name: {"type": type_, "value": value} for name, (type_, value) in attributes.items()}
    return {"id": 0, "name": "op", "kind": kind, "attrs": attrs, "inputs": inputs, "outputs": outputs}


def norm(keep_stats: bool, outputs: int) -> dict[str, Any]:
    results = [tensor(3, [2, 5]), tensor(4, [2]), tensor(5, [2]), tensor(6, [2])]
    inputs = [tensor(0, [2, 5]), tensor(1, [5]), tensor(2, [5])]
    attributes = {"keep_stats": ("bool", keep_stats)}
    return {"graph": [record("LayerNorm", attributes, inputs, results[:outputs])]}


def module_of(document: dict[str, Any]) -> ModuleOp:
    return import_json(json.dumps(document), "g.json")


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("kind", ["LayerNorm", "GroupNorm"])
def test_statistics_without_gamma_have_the_declared_dtype(kind: str, dtype: str):
    half = [{**tensor(i, [2, 4]), "dtype": "bf16"} for i in range(2)]
    statistics = [{**tensor(i, [2] if kind == "LayerNorm" else [2, 1]), "dtype": dtype} for i in (2, 3)]
    groups = {"groups": ("s64", 1), "data_format": ("string", "NCX")} if kind == "GroupNorm" else {}
    attributes = {"use_affine": ("bool", False), **groups}
    document = {"graph": [record(kind, attributes, half[:1], [half[1], *statistics])]}
    compiled = gradc.compile(document)
    feeds = random_inputs(compiled.source, 0)
    want = {name: array.dtype for name, array in compiled.reference(feeds).items()}
    assert {name: array.dtype for name, array in compiled.run(feeds).items()} == want
    assert want["t2"] == want["t3"] == (np.float32 if dtype == "f32" else want["t1"])


def test_statistics_have_one_dtype():
    half = [{**tensor(i, [2, 4]), "dtype": "bf16"} for i in range(2)]
    statistics = [{**tensor(2, [2]), "dtype": "f32"}, {**tensor(3, [2]), "dtype": "bf16"}]
    document = {
        "graph": [record("LayerNorm", {"use_affine": ("bool", False)}, half[:1], [half[1], *statistics])]
    }
    with pytest.raises(GradcError, match="dtype of variance: given bf16, expected f32"):
        gradc.compile(document)


@pytest.mark.parametrize(("keep_stats", "outputs"), [(True, 3), (False, 3), (False, 2), (False, 1)])
def test_a_document_lists_the_results_that_it_uses(keep_stats: bool, outputs: int):
    module = module_of(norm(keep_stats, outputs))
    (op,) = (op for op in module.walk() if isinstance(op, DocumentedOp))
    assert len(op.results) == 3
    assert str(import_mlir(str(module), "g.mlir")) == str(module)
    compiled = gradc.compile(module)
    assert [value.name for value in compiled.outputs] == [f"t{i}" for i in range(3, 3 + outputs)]


@pytest.mark.parametrize(
    ("keep_stats", "outputs", "message"),
    [
        (True, 2, "number of outputs: given 2, expected 3; missing variance"),
        (True, 1, "number of outputs: given 1, expected 3; missing mean, variance"),
        (False, 4, "number of outputs: given 4, expected 1 to 3"),
        (False, 0, "number of outputs: given 0, expected 1 to 3"),
    ],
)
def test_a_wrong_number_of_outputs(keep_stats: bool, outputs: int, message: str):
    with pytest.raises(GradcError, match=message):
        module_of(norm(keep_stats, outputs))


def test_a_tensor_that_is_two_results():
    document = norm(True, 3)
    document["graph"][0]["outputs"][2] = copy.deepcopy(document["graph"][0]["outputs"][1])
    with pytest.raises(GradcError, match='tensor 4 is produced twice by op 0 "op"'):
        module_of(document)


def test_a_shape_of_a_result_that_contradicts():
    document = norm(True, 3)
    document["graph"][0]["outputs"][1]["shape"] = [3]
    with pytest.raises(GradcError, match=r"shape of mean: given \[3\], expected \[2\]"):
        module_of(document)


def test_any_number_of_operands():
    inputs, axis = [tensor(i, [2, i]) for i in range(1, 5)], {"axis": ("s64", -1)}
    document = {"graph": [record("Concat", axis, inputs, [tensor(9, [2, 10])])]}
    feeds = {f"t{i}": np.full((2, i), i, np.float32) for i in range(1, 5)}
    (found,) = gradc.compile(module_of(document)).run(feeds).values()
    np.testing.assert_array_equal(found, np.concatenate(list(feeds.values()), 1))
    document["graph"][0]["inputs"] = []
    with pytest.raises(GradcError, match="number of inputs: given 0, expected 1 or more; missing src_0"):
        module_of(document)
    document["graph"][0]["inputs"] = [*inputs[:2], tensor(3, [3, 3])]
    with pytest.raises(GradcError, match=r"shapes differ: given .*src_2 \[3, 3\]"):
        module_of(document)


def test_text_with_too_few_results():
    text = str(module_of(norm(False, 1)))
    wrong = text.replace("%t3, %0, %1 =", "%t3 =").replace(
        "-> (tensor<2x5xf32>, tensor<2xf32>, tensor<2xf32>)", "-> tensor<2x5xf32>"
    )
    assert wrong != text
    with pytest.raises(GradcError, match="number of outputs: given 1, expected 3: dst, mean, variance"):
        import_mlir(wrong, "g.mlir").verify()


def test_python_gives_all_results():
    g = gradc.Graph()
    x = g.input("x", "f32", (2, 5))
    dst, mean, variance = g.layer_norm(x, use_affine=False, name="ln", result_shapes=[None, (2,), None])
    g.output(variance)
    assert (dst.shape, mean.shape, variance.shape) == ((2, 5), (2,), (2,))
    compiled = gradc.compile(g)
    assert [value.name for value in compiled.outputs] == ["ln_variance"]
    assert "LayerNormalization" not in {n.op_type for n in compiled.model.graph.node if len(n.output) == 1}
    with pytest.raises(GradcError, match=r"result_shapes: given \[\(2,\)\], expected a list of 3, of dst"):
        g.layer_norm(x, use_affine=False, result_shapes=[(2,)])
    with pytest.raises(GradcError, match=r"input gamma is missing; a later input is given"):
        g.layer_norm(x, beta=x)


def test_python_asks_for_the_dtype_of_each_result():
    """As a document does, with its checks and its words."""
    g = gradc.Graph()
    x = g.input("x", "bf16", (2, 5))
    for dtype in ("f32", "bf16"):
        dst, mean, variance = g.layer_norm(x, use_affine=False, result_dtypes=[None, dtype, dtype])
        assert (dst.dtype, mean.dtype, variance.dtype) == ("bf16", dtype, dtype)
        g.output(mean)
        dst, stats = g.softmax(x, result_dtypes=[dtype, None], result_shapes=[None, (2, 1)])
        assert (dst.dtype, stats.dtype, stats.shape) == (dtype, "f32", (2, 1))
        g.output(dst)
    assert [value.dtype for value in gradc.compile(g).outputs] == ["f32", "f32", "bf16", "bf16"]
    with pytest.raises(GradcError, match="dtype of variance: given bf16, expected f32"):
        g.layer_norm(x, use_affine=False, result_dtypes=["bf16", "f32", "bf16"])
    with pytest.raises(GradcError, match="dtype of stats: given bf16, expected f32"):
        g.softmax(x, result_dtypes=[None, "bf16"])
    with pytest.raises(GradcError, match=r"dtype of dst: given f16, expected one of bf16, f32"):
        g.softmax(x, result_dtypes=["f16", None])
    with pytest.raises(GradcError, match=r"result_dtypes: given \['f32'\], expected a list of 3, of dst"):
        g.layer_norm(x, use_affine=False, result_dtypes=["f32"])
    with pytest.raises(GradcError, match=r"result_dtypes mean: given half, expected one of"):
        g.layer_norm(x, use_affine=False, result_dtypes=[None, "half", None])
    with pytest.raises(GradcError, match=r"result_dtype f32 and result_dtypes .*, expected one of the two"):
        g.softmax(x, result_dtype="f32", result_dtypes=["f32", None])


def test_python_asks_for_the_dtype_of_a_sum():
    g = gradc.Graph()
    x, y, n = (g.input(name, dtype, (3,)) for name, dtype in (("x", "bf16"), ("y", "f32"), ("n", "s32")))
    assert g.add(x, x, result_dtype="f32").dtype == "f32"
    assert g.multiply(x, y, result_dtype="f16").dtype == "f16"
    assert (g.add(x, y).dtype, g.add(x, x).dtype, g.add(n, n).dtype) == ("f32", "bf16", "s32")
    with pytest.raises(GradcError, match="dtype of dst: given f32, expected s32"):
        g.add(n, n, result_dtype="f32")


@pytest.fixture
def several() -> gradc.Graph:
    g = gradc.Graph()
    x, y = (g.input(name, "f32", ("N", 3, 4)) for name in "xy")
    slope = g.constant(np.array([0.5, 2.0, -1.0], np.float32))
    diff_src, diff_slope = g.prelu_backward(x, slope, y, data_format="NCX", name="pb")
    _, mean, variance = g.layer_norm(g.concat([diff_src, y, x], axis=2), use_affine=False, name="ln")
    for value in (diff_slope, mean, variance):
        g.output(value)
    return g


def test_each_result_has_its_errors(several: gradc.Graph):
    compiled = gradc.compile(several)
    fed = random_inputs(compiled.source, 0)
    found = accuracy.report(compiled, fed, compiled.run(fed))
    roles = [row.name.rpartition(" ")[2] for row in found.ops if "LayerNorm" in row.name]
    assert roles == ["dst", "mean", "variance"]
    assert all(row.errors is not None for row in (*found.outputs, *found.ops))


def test_every_verb_takes_them(several: gradc.Graph, tmp_path: Path):
    path = tmp_path / "several.mlir"
    path.write_text(str(several.module()), encoding="utf-8")
    for verb, *further in (
        ("inspect",), ("explain",), ("verify",), ("run",),
        ("compile", "-o", str(tmp_path / "several.onnx")), ("report", "-o", str(tmp_path / "several.html")),
    ):  # fmt: skip
        found = CliRunner().invoke(main.cli, [verb, str(path), *further])
        assert found.exit_code == 0, (verb, found.output)


def test_a_result_beyond_its_bound_is_told(several: gradc.Graph, monkeypatch: pytest.MonkeyPatch):
    """Whatever the errors of the other results of the op are."""
    compiled = gradc.compile(several)
    fed = random_inputs(compiled.source, 0)
    large = OutputError("a", "f32", (1,), 5.0, 1.0, 9.0)
    wrong = OutputError("b", "f32", (1,), 0.5, 0.1, 0.25)
    assert (large.ok, wrong.ok) == (True, False)
    monkeypatch.setattr(verify_ops, "compare_outputs", lambda *_: [large, wrong])
    rows = verify_ops._with_ops(compiled, list(fed.values()), (None, None, None))[1]
    assert rows
    assert not any(row.ok for row in rows)


@irdl_op_definition
class HalvesOp(DocumentedOp):
    """The two halves of a vector."""

    name = "test.halves"
    PORTS: ClassVar = ("src",)
    RESULTS: ClassVar = ("first", "second")

    src = operand_def(TensorType)
    first = result_def(TensorType)
    second = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        return (tensor_type(f32, (2,)),) * 2


def halves() -> tuple[ModuleOp, HalvesOp]:
    block = Block(arg_types=[tensor_type(f32, (4,))])
    op = HalvesOp.create(operands=block.args, result_types=[tensor_type(f32, (None,))] * 2)
    block.add_ops([op, ReturnOp(op.second, op.first)])
    function = FuncOp("main", ([tensor_type(f32, (4,))], [tensor_type(f32, (2,))] * 2), Region(block))
    return ModuleOp([function]), op


class Halving(Strategy):
    name = "halving"
    ops = (HalvesOp,)
    count = 2

    def refuses(self, op: HalvesOp, target: Target) -> str | None:
        return None

    def emit(self, op: HalvesOp, target: Target, emit: OpBuilder):
        split = onnx.SplitOp(op.src, emit.ints([2, 2]), results=2)
        return list(emit.all(split))[: self.count]


def test_a_strategy_writes_all_results(monkeypatch: pytest.MonkeyPatch):
    module, _ = halves()
    lower_with(Halving(), module, Target())
    (split,) = (op for op in module.walk() if isinstance(op, onnx.SplitOp))
    (last,) = (op for op in module.walk() if isinstance(op, ReturnOp))
    assert list(last.operands) == [split.results[1], split.results[0]]
    monkeypatch.setattr(Halving, "count", 1)
    module, op = halves()
    with pytest.raises(StrategyFault, match=r"halving lowered test.halves to 1 of 2 results"):
        Halving().write(op, Target(), OpBuilder())


def test_each_value_inherits_what_its_result_knew():
    module, op = halves()
    op.first.name_hint = "low"
    emit = OpBuilder()
    low, high = (emit(onnx.IdentityOp(op.src)) for _ in range(2))
    op.results[1]._type = tensor_type(f32, (None,))
    low._type = high._type = tensor_type(f32, (None,))
    op.results[0]._type = tensor_type(f32, (2,))
    replace(op, PatternRewriter(op), emit, [low, high])
    assert (shape_of(low), shape_of(high)) == ((2,), (None,))
    assert low.name_hint == "low"
    assert module.ops
