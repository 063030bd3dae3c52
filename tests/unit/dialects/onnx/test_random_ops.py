"""Ops that are no functions of their operands: two equal ones stay two in every pass, at any depth."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pytest
from support.pipeline import passes_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

import dialects
from dialects.onnx import traits
from dialects.support.constants import is_const
from gradc.model import exporter
from passes import pipelines
from passes.targets.target import Target

TARGET = Target("cpu", 21, threads=1)

X = "tensor<2x3xf32>"
DRAWS = {
    "Bernoulli": "onnx.Bernoulli %c {seed = 1.0 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
    "Multinomial": f"onnx.Multinomial %c {{sample_size = 3, dtype = i64}} : ({X}) -> tensor<2x3xi64>",
    "RandomNormal": "onnx.RandomNormal {shape = [2, 3], seed = 1.0 : f32} : () -> tensor<2x3xf32>",
    "RandomNormalLike": "onnx.RandomNormalLike %c {seed = 1.0 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
    "RandomUniform": "onnx.RandomUniform {shape = [2, 3], seed = 1.0 : f32} : () -> tensor<2x3xf32>",
    "RandomUniformLike": f"onnx.RandomUniformLike %c {{seed = 1.0 : f32}} : ({X}) -> {X}",
    "Dropout": """onnx.Dropout %c, %half, %true {seed = 1}
        : (tensor<2x3xf32>, tensor<f32>, tensor<i1>) -> (tensor<2x3xf32>, tensor<2x3xi1>)""",
    "Node": 'onnx.Node "d" "Draw" %c : (tensor<2x3xf32>) -> tensor<2x3xf32>',
}  # fmt: skip

DEPTHS = (0, 1, 2)


def text(name: str, depth: int) -> str:
    """A function that yields what two equal ops make, that many regions deep; a third one is unread."""
    element = "i64" if name == "Multinomial" else "f32"
    made = f"tensor<2x3x{element}>"
    assign = "{}, %{}mask" if name == "Dropout" else "{}"
    draws = "\n".join(f"%{assign.format(x, x)} = {DRAWS[name]}" for x in "abu")
    draws = f"{draws}\n%s = onnx.Sub %a, %b : ({made}, {made}) -> {made}"
    result, other = "%s", f"%z = onnx.Constant dense<0> : {made}"
    other = other if element == "i64" else other.replace("<0>", "<0.0>")
    for level in range(depth):
        draws = f"""%r{level} = onnx.If %p then_branch {{
          {draws}
          onnx.Yield {result} : {made}
        }} else_branch {{
          {other}
          onnx.Yield %z : {made}
        }} : (tensor<i1>) -> {made}"""
        result = f"%r{level}"
    return f"""
        func.func @f(%p: tensor<i1>) -> {made} {{
          %c = onnx.Constant dense<0.5> : tensor<2x3xf32>
          %half = onnx.Constant dense<0.5> : tensor<f32>
          %true = onnx.Constant dense<true> : tensor<i1>
          {draws}
          func.return {result} : {made}
        }}"""


def drawing(module: ModuleOp, name: str) -> Sequence[Operation]:
    return [op for op in module.walk() if op.name == f"onnx.{name}"]


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_no_pass_merges_or_folds(name: str, depth: int) -> None:
    module = Parser(dialects.context(), textwrap.dedent(text(name, depth))).parse_module()
    module.verify()
    *passes, _ = passes_of(pipelines.lower(TARGET))  # the last one asks for kernels
    for each in passes:
        each.apply(dialects.context(), module)
        module.verify()
        assert len(drawing(module, name)) in (2, 3), each.name
    first, second = drawing(module, name)
    assert not any(map(is_const, (*first.results, *second.results)))
    nodes = [*exporter.export(module, opset=21, metadata={}).graph.node]
    for _ in range(depth):
        nodes = [inner for node in nodes for a in node.attribute if a.HasField("g") for inner in a.g.node]
    assert sum(node.op_type == (name if name != "Node" else "Draw") for node in nodes) == 2


def test_all_that_draw_are_tested() -> None:
    assert set(DRAWS) - {"Node"} == traits.RANDOM | traits.RANDOM_IN_TRAINING
