"""Small documents whose run would take much: below each limit and beyond, within bounds of memory and time.

What a limit refuses is refused before anything is built for it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bounded import Ended, gradc_within
from support.large import convolution, interpolation, type_of

from dialects.support.limits import Limits

GIGABYTE = 2**30
MEMORY = 3 * GIGABYTE
"""Address space: a process of gradc and onnxruntime maps one of these before it does anything."""

VERBS: dict[str, tuple[str, ...]] = {
    "compile": ("-o", "out.onnx"),
    "inspect": (),
    "explain": (),
    "verify": (),
    "report": ("-o", "page.html"),
    "run": ("-o", "out.npz"),
    "grad": ("-o", "grad.onnx", "--cotangents"),
}


def ended(verb: str, path: Path, *more: object, seconds: int = 20) -> Ended:
    """Within MEMORY of address space and so many seconds of CPU time."""
    options = [path.parent / option if "." in option else option for option in VERBS[verb]]
    return gradc_within(verb, path, *options, *more, memory=MEMORY, cpu_seconds=seconds)


def function(text: str, operands: list[str], result: str, constants: str = "") -> str:
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(operands))
    return f"""func.func @main({arguments}) -> {result} {{
  {constants}
  %r = {text} -> {result}
  return %r : {result}
}}
"""


def pointwise(count: int) -> str:
    kind = type_of([count])
    return function(f"onnx.Abs %a0 : ({kind})", [kind], kind)


def windowed(pads: int) -> str:
    """Three numbers and three taps, with much padding, of which few windows read anything."""
    kind, attributes = type_of([1, 1, 3]), f"pads = [{pads}, {pads}], strides = [{pads}]"
    return function(f"onnx.Conv %a0, %a1 {{{attributes}}} : ({kind}, {kind})", [kind, kind], kind)


def summed(count: int) -> str:
    """Sums over all combinations of four vectors' elements."""
    kind = type_of([count])
    call = 'onnx.Einsum %a0, %a1, %a2, %a3 {equation = "i,j,k,l->"}'
    return function(f"{call} : ({', '.join([kind] * 4)})", [kind] * 4, "tensor<f32>")


def looped(count: int) -> str:
    constants = f"""%m = onnx.Constant dense<{count}> : tensor<i64>
  %on = onnx.Constant dense<true> : tensor<i1>"""
    body = """body {
  ^bb0(%i: tensor<i64>, %g: tensor<i1>, %s: tensor<1xf32>):
    %n = onnx.Neg %s : (tensor<1xf32>) -> tensor<1xf32>
    onnx.Yield %g, %n : tensor<i1>, tensor<1xf32>
  } : (tensor<i64>, tensor<i1>, tensor<1xf32>)"""
    return function(f"onnx.Loop %m, %on, %a0 {body}", ["tensor<1xf32>"], "tensor<1xf32>", constants)


def cut(pad: int) -> str:
    """As much is padded as is cut off again."""
    kind = type_of([4])
    constants = f"%p = onnx.Constant dense<[{pad}, -{pad}]> : tensor<2xi64>"
    return function(f"onnx.Pad %a0, %p : ({kind}, tensor<2xi64>)", [kind], kind, constants)


def resized(x: list[int], y: list[int], attributes: str = 'mode = "linear"') -> str:
    kinds = type_of(x), type_of(y)
    constants = f"%s = onnx.Constant dense<{y}> : tensor<{len(y)}xi64>"
    call = f"onnx.Resize %a0, _, _, %s {{{attributes}}} : ({kinds[0]}, tensor<{len(y)}xi64>)"
    return function(call, [kinds[0]], kinds[1], constants)


BELOW = {
    "values": pointwise(30 * 10**6),
    "pads": windowed(30 * 10**6),
    "taps": convolution((1, 16, 512, 512), (16, 16, 3, 3)),
    "labels": summed(150),
    "loop": looped(10**4),
    "cut": cut(3 * 10**7),
    "axis": resized([1, 1, 2**22], [1, 1, 2**22 - 1]),
    "gradient": interpolation((1, 1, 2**22), (1, 1, 2**23)),
}

BEYOND = {
    "values": (pointwise(60 * 10**6), "reference-bytes"),
    "pads": (windowed(3 * 10**9), "reference-bytes"),
    "labels": (summed(10**4), "reference-reads"),
    "loop": (looped(10**9), "reference-reads"),
    "cut": (cut(3 * 10**9), "reference-bytes"),
    "widened": (resized([1, 1, 2**24], [1, 1, 3], 'mode = "linear", antialias = 1'), "reference-bytes"),
    "taps": (convolution((1, 1, 2**22), (1, 1, 2**12)), "reference-reads"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("text", BELOW.values(), ids=BELOW)
def test_below_a_limit_a_graph_is_verified(text: str, tmp_path: Path):
    path = tmp_path / "graph.mlir"
    path.write_text(text)
    found = ended("verify", path)
    assert found.code in (0, 1), found.err  # of such axes onnxruntime may be off
    assert "worst error" in found.out


@pytest.mark.sweep(parts=7)
@pytest.mark.parametrize(("text", "limit"), BEYOND.values(), ids=BEYOND)
def test_beyond_a_limit_nothing_is_run(text: str, limit: str, tmp_path: Path):
    path = tmp_path / "graph.mlir"
    path.write_text(text)
    found = ended("verify", path, seconds=10)
    assert found.code == 3, found.err
    assert f"the limit {limit}; --limit {limit}=" in found.err.splitlines()[0]


@pytest.mark.heavy
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "grad"])
@pytest.mark.parametrize("positions", [Limits().axis_positions, 10**8], ids=["at the limit", "beyond"])
def test_every_verb_of_a_long_axis(verb: str, positions: int, tmp_path: Path):
    path = tmp_path / "graph.mlir"
    path.write_text(interpolation((1, 1, positions // 2 - 1), (1, 1, positions)))
    found = ended(verb, path, seconds=60)
    assert found.code in (0, 3), found.err
    assert found.code == 0 or "the limit" in found.err


@pytest.mark.sweep(parts=7)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_of_a_fold_that_takes_much(verb: str, tmp_path: Path):
    """The constant is a line of text, and its product with itself, padded and cut, is none."""
    kind = type_of([10**4])
    path = tmp_path / "graph.mlir"
    path.write_text(f"""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %k = onnx.Constant dense<0.5> : {kind}
  %s = onnx.Einsum %k, %k, %k, %k {{equation = "i,j,k,l->"}}
    : ({kind}, {kind}, {kind}, {kind}) -> tensor<f32>
  %f = onnx.Constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %p = onnx.Constant dense<[3000000000, -3000000000]> : tensor<2xi64>
  %q = onnx.Pad %f, %p : (tensor<4xf32>, tensor<2xi64>) -> tensor<4xf32>
  %a = onnx.Mul %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = onnx.Add %a, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}}
""")
    if verb == "run":
        pytest.skip("onnxruntime runs what it is given, for as long as that takes")
    found = ended(verb, path, seconds=20)
    assert found.code == 0 or "the limit" in found.err, found.err


@pytest.mark.sweep(parts=2)
@pytest.mark.parametrize("mode", ["cubic", "linear"])
def test_the_gradient_of_a_long_axis(mode: str, tmp_path: Path):
    """A matrix of it is beyond the limit of constants."""
    path = tmp_path / "graph.mlir"
    path.write_text(resized([1, 1, 20_000], [1, 1, 19_999], f'mode = "{mode}", antialias = 1'))
    found = ended("grad", path, seconds=20)
    assert found.code == 3, found.err
    assert "the limit constant-elements" in found.err
