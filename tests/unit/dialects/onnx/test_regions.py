"""If, Loop, Scan and SequenceMap: meaning, passes, and the exported model on onnxruntime."""

from __future__ import annotations

import textwrap
from io import StringIO

import numpy as np
import onnx
import pytest
from support.pipeline import apply
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

import dialects
from dialects.evaluate import evaluate
from dialects.support.diagnostics import GradcError
from dialects.support.entry import entry_function, input_names
from gradc.model import exporter
from gradc.runtime.session import Session
from passes import pipelines
from passes.targets.target import Target

TARGET = Target("cpu", 18, threads=1)


def parse(text: str) -> ModuleOp:
    module = Parser(dialects.context(), textwrap.dedent(text)).parse_module()
    module.verify()
    return module


def text_of(module: ModuleOp, generic: bool = False) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def names_of(graph: onnx.GraphProto) -> list[str]:
    """All names that are given in a graph and in those within it."""
    found = [v.name for v in (*graph.input, *graph.initializer)]
    for node in graph.node:
        found += filter(None, node.output)
        for attribute in node.attribute:
            found += names_of(attribute.g) if attribute.HasField("g") else []
    return found


IF = """
    func.func @main(%c: tensor<i1>, %x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
      %one = onnx.Constant dense<1.0> : tensor<f32>
      %s = onnx.Abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %y, %z = onnx.If %c then_branch {
        %0 = onnx.Add %s, %one : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
        onnx.Yield %0, %0 : tensor<2x3xf32>, tensor<2x3xf32>
      } else_branch {
        %two = onnx.Constant dense<2.0> : tensor<2x3xf32>
        onnx.Yield %s, %two : tensor<2x3xf32>, tensor<2x3xf32>
      } : (tensor<i1>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
      func.return %y, %z : tensor<2x3xf32>, tensor<2x3xf32>
    }
"""

LOOP = """
    func.func @main(%n: tensor<i64>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32>) {
      %go = onnx.Constant dense<true> : tensor<i1>
      %last, %all = onnx.Loop %n, %go, %x body {
      ^bb0(%i: tensor<i64>, %going: tensor<i1>, %a: tensor<3xf32>):
        %f = onnx.Cast %i {to = f32} : (tensor<i64>) -> tensor<f32>
        %b = onnx.Add %a, %f : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
        %d = onnx.Mul %b, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        %large = onnx.Constant dense<1000.0> : tensor<f32>
        %m = onnx.ReduceMax %d {keepdims = 0} : (tensor<3xf32>) -> tensor<f32>
        %on = onnx.Less %m, %large : (tensor<f32>, tensor<f32>) -> tensor<i1>
        onnx.Yield %on, %b, %d : tensor<i1>, tensor<3xf32>, tensor<3xf32>
      } : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32>)
      func.return %last, %all : tensor<3xf32>, tensor<?x3xf32>
    }
"""

NESTED = """
    func.func @main(%n: tensor<i64>, %x: tensor<2xf32>) -> tensor<2xf32> {
      %go = onnx.Constant dense<true> : tensor<i1>
      %y = onnx.Loop %n, %go, %x body {
      ^bb0(%i: tensor<i64>, %going: tensor<i1>, %a: tensor<2xf32>):
        %two = onnx.Constant dense<2> : tensor<i64>
        %r = onnx.Mod %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
        %odd = onnx.Cast %r {to = i1} : (tensor<i64>) -> tensor<i1>
        %b = onnx.If %odd then_branch {
          %p = onnx.Loop %two, %odd, %a body {
          ^bb0(%j: tensor<i64>, %g: tensor<i1>, %q: tensor<2xf32>):
            %s = onnx.Add %q, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
            onnx.Yield %odd, %s : tensor<i1>, tensor<2xf32>
          } : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
          onnx.Yield %p : tensor<2xf32>
        } else_branch {
          %m = onnx.Neg %a : (tensor<2xf32>) -> tensor<2xf32>
          onnx.Yield %m : tensor<2xf32>
        } : (tensor<i1>) -> tensor<2xf32>
        onnx.Yield %going, %b : tensor<i1>, tensor<2xf32>
      } : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }
"""

SCAN = """
    func.func @main(%s: tensor<2xf32>, %x: tensor<2x5xf32>, %w: tensor<5xf32>)
        -> (tensor<2xf32>, tensor<2x5xf32>) {
      %e, %all = onnx.Scan %s, %x, %w {num_scan_inputs = 2, scan_input_axes = [1, 0],
          scan_input_directions = [1, 0], scan_output_axes = [1], scan_output_directions = [1]} body {
      ^bb0(%a: tensor<2xf32>, %c: tensor<2xf32>, %f: tensor<f32>):
        %p = onnx.Mul %c, %f : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
        %b = onnx.Add %a, %p : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        onnx.Yield %b, %b : tensor<2xf32>, tensor<2xf32>
      } : (tensor<2xf32>, tensor<2x5xf32>, tensor<5xf32>) -> (tensor<2xf32>, tensor<2x5xf32>)
      func.return %e, %all : tensor<2xf32>, tensor<2x5xf32>
    }
"""

MAP = """
    func.func @main(%x: tensor<6x2xf32>, %t: tensor<2xf32>) -> tensor<6x2xf32> {
      %q = onnx.SplitToSequence %x {axis = 0} : (tensor<6x2xf32>) -> !onnx.seq<tensor<1x2xf32>>
      %m = onnx.SequenceMap %q, %t body {
      ^bb0(%a: tensor<1x2xf32>, %b: tensor<2xf32>):
        %c = onnx.Mul %a, %b : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
        onnx.Yield %c : tensor<1x2xf32>
      } : (!onnx.seq<tensor<1x2xf32>>, tensor<2xf32>) -> !onnx.seq<tensor<1x2xf32>>
      %y = onnx.ConcatFromSequence %m {axis = 0} : (!onnx.seq<tensor<1x2xf32>>) -> tensor<6x2xf32>
      func.return %y : tensor<6x2xf32>
    }
"""

GRADIENTS = """
    func.func @main(%c: tensor<i1>, %d: tensor<1x5x5x4xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x3x7x7xf32> {
      %g = onednn.convolution_backward_data %d, %w {strides = [1, 1], pads_begin = [0, 0],
          pads_end = [0, 0], dilations = [1, 1], data_format = "NXC", weights_format = "OIX"}
        : (tensor<1x5x5x4xf32>, tensor<4x3x3x3xf32>) -> tensor<1x7x7x3xf32>
      %t = onnx.Transpose %g {perm = [0, 3, 1, 2]} : (tensor<1x7x7x3xf32>) -> tensor<1x3x7x7xf32>
      %h = onnx.Abs %g : (tensor<1x7x7x3xf32>) -> tensor<1x7x7x3xf32>
      %y = onnx.If %c then_branch {
        %a = onnx.Relu %t : (tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
        onnx.Yield %a : tensor<1x3x7x7xf32>
      } else_branch {
        %b = onnx.Transpose %h {perm = [0, 3, 1, 2]} : (tensor<1x7x7x3xf32>) -> tensor<1x3x7x7xf32>
        onnx.Yield %b : tensor<1x3x7x7xf32>
      } : (tensor<i1>) -> tensor<1x3x7x7xf32>
      func.return %y : tensor<1x3x7x7xf32>
    }
"""

INSIDE = """
    func.func @main(%c: tensor<i1>, %d: tensor<1x4x5x5xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x3x7x7xf32> {
      %y = onnx.If %c then_branch {
        %g = onednn.convolution_backward_data %d, %w {strides = [1, 1], pads_begin = [0, 0],
            pads_end = [0, 0], dilations = [1, 1], data_format = "NCX", weights_format = "OIX"}
          : (tensor<1x4x5x5xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x7x7xf32>
        onnx.Yield %g : tensor<1x3x7x7xf32>
      } else_branch {
        %z = onnx.Constant dense<0.0> : tensor<1x3x7x7xf32>
        onnx.Yield %z : tensor<1x3x7x7xf32>
      } : (tensor<i1>) -> tensor<1x3x7x7xf32>
      func.return %y : tensor<1x3x7x7xf32>
    }
"""


def f(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


CASES = {
    "if": (IF, [[np.array(c), draw(2, 3)] for c in (True, False)]),
    "loop": (LOOP, [[np.array(n), f(1, 2, 3)] for n in (0, 1, 4, 99)]),
    "nested": (NESTED, [[np.array(n), f(1, -2)] for n in (0, 1, 5)]),
    "scan": (SCAN, [[f(1, 2), draw(2, 5), draw(5)]]),
    "map": (MAP, [[draw(6, 2), f(2, 3)]]),
    "gradients": (GRADIENTS, [[np.array(c), draw(1, 5, 5, 4), draw(4, 3, 3, 3)] for c in (True, False)]),
    "inside": (INSIDE, [[np.array(c), draw(1, 4, 5, 5), draw(4, 3, 3, 3)] for c in (True, False)]),
}


def check(module: ModuleOp, source: ModuleOp, runs: list[list[np.ndarray]]) -> None:
    """The module means what the source does, in numpy and on onnxruntime."""
    model = exporter.export(module, opset=TARGET.opset, metadata={})
    names = names_of(model.graph)
    assert len(set(names)) == len(names)
    session = Session(model, threads=1)
    for feeds in runs:
        expected = evaluate(source, feeds)
        found = session.run(dict(zip(input_names(entry_function(module)), feeds, strict=True))).values()
        for ours, theirs, again in zip(expected, found, evaluate(module, feeds), strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(ours, again, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    module = parse(CASES[name][0])
    for generic in (False, True):
        assert parse(text_of(module, generic)).is_structurally_equivalent(module)


@pytest.mark.parametrize("name", sorted(set(CASES) - {"gradients", "inside"}))
def test_as_it_is(name: str) -> None:
    text, runs = CASES[name]
    check(parse(text), parse(text), runs)


@pytest.mark.parametrize("name", CASES)
def test_through_all_passes(name: str) -> None:
    text, runs = CASES[name]
    module = apply(parse(text), pipelines.lower(TARGET))
    check(module, parse(text), runs)


HALF = """
    func.func @main(%c: tensor<i1>, %x: tensor<2xbf16>) -> tensor<2xbf16> {
      %y = onnx.If %c then_branch {
        %a = onnx.Exp %x : (tensor<2xbf16>) -> tensor<2xbf16>
        onnx.Yield %a : tensor<2xbf16>
      } else_branch {
        %b = onnx.Sin %x : (tensor<2xbf16>) -> tensor<2xbf16>
        onnx.Yield %b : tensor<2xbf16>
      } : (tensor<i1>) -> tensor<2xbf16>
      %z = onnx.Exp %x : (tensor<2xbf16>) -> tensor<2xbf16>
      %s = onnx.Add %y, %z : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
      func.return %s : tensor<2xbf16>
    }
"""


def test_a_value_that_is_widened_for_a_region_serves_all() -> None:
    """The first reader stands in a region, the second around it."""
    module = apply(parse(HALF), pipelines.lower(TARGET))
    x = np.array([0.5, -1.0]).astype(dialects.support.dtypes.by_name("bf16").numpy)  # pyright: ignore
    for condition in (True, False):
        ours = evaluate(parse(HALF), [np.array(condition), x])
        found = Session(exporter.export(module, opset=18, metadata={})).run(
            {"c": np.array(condition), "x": x}
        )
        for a, b in zip(ours, found.values(), strict=True):
            np.testing.assert_allclose(a.astype(np.float32), b.astype(np.float32), rtol=2.0**-6)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("%0, %0 : tensor<2x3xf32>, tensor<2x3xf32>", "%0 : tensor<2x3xf32>", "outputs of then_branch"),
        (
            "%s, %two : tensor<2x3xf32>, tensor<2x3xf32>",
            "%s, %c : tensor<2x3xf32>, tensor<i1>",
            "type of output 1 of else_branch",
        ),
    ],
)
def test_graphs_that_do_not_fit(before: str, after: str, message: str) -> None:
    with pytest.raises(GradcError, match=message):
        parse(IF.replace(before, after))


def test_the_inputs_of_a_step() -> None:
    with pytest.raises(GradcError, match="inputs of body: given 2, expected 3"):
        parse(
            SCAN.replace(", %f: tensor<f32>", "").replace(
                "%c, %f : (tensor<2xf32>, tensor<f32>)", "%c, %c : (tensor<2xf32>, tensor<2xf32>)"
            )
        )
