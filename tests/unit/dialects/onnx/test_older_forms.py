"""Constant axes of reductions, which are an attribute before opset 18."""

from __future__ import annotations

import textwrap
from itertools import pairwise

import numpy as np
import pytest
from support.pipeline import apply
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
from dialects.evaluate import evaluate
from dialects.onnx.ops import op_names
from dialects.onnx.opsets import ATTRIBUTES_BEFORE, OLDEST
from dialects.onnx.schema import versions
from dialects.support.diagnostics import UnsupportedError
from gradc.model import exporter
from gradc.runtime.session import Session
from passes import pipelines
from passes.targets.target import Target


def module(name: str) -> ModuleOp:
    text = f"""
        func.func @f(%x: tensor<2x3x4xf32>) -> tensor<3xf32> {{
          %axes = onnx.Constant dense<[-1, 0]> : tensor<2xi64>
          %y = onnx.{name} %x, %axes {{keepdims = 0, noop_with_empty_axes = 1}}
            : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<3xf32>
          func.return %y : tensor<3xf32>
        }}"""
    found = Parser(dialects.context(), textwrap.dedent(text)).parse_module()
    found.verify()
    return found


@pytest.mark.parametrize("opset", [13, 17, 18])
@pytest.mark.parametrize("name", ATTRIBUTES_BEFORE)
def test_it_runs(name: str, opset: int) -> None:
    lowered = apply(module(name), pipelines.lower(Target("cpu", opset, threads=1)))
    model = exporter.export(lowered, opset=opset, metadata={})
    (node,) = model.graph.node
    assert len(node.input) == (1 if opset < 18 else 2)
    assert len(model.graph.initializer) == len(node.input) - 1
    x = 1 + np.random.default_rng(0).random((2, 3, 4)).astype(np.float32)
    (expected,) = evaluate(module(name), [x])
    np.testing.assert_allclose(Session(model).run({"x": x})["y"], expected, rtol=1e-5)


def test_axes_that_are_not_constant_need_the_newer_form() -> None:
    text = """
        func.func @f(%x: tensor<2x3xf32>, %axes: tensor<1xi64>) -> tensor<?xf32> {
          %y = onnx.ReduceMax %x, %axes {keepdims = 0} : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>
          func.return %y : tensor<?xf32>
        }"""
    given = Parser(dialects.context(), textwrap.dedent(text)).parse_module()
    with pytest.raises(UnsupportedError, match="expected opset 18 or newer"):
        exporter.export(given, opset=17, metadata={})


def test_the_table_is_what_the_schemas_say() -> None:
    found = {}
    for name in op_names():
        for before, after in pairwise(versions(name)):
            moved = set(before.attributes) & {port.name for port in after.inputs}
            found |= {(name, port): after.since_version for port in moved if after.since_version > OLDEST}
    assert found == {(name, port): since for name, (port, since) in ATTRIBUTES_BEFORE.items()}
