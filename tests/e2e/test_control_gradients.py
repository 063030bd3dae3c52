"""Gradients through sequences and control flow: by numpy in float64, twice, and on onnxruntime in f32."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.adjoint import is_adjoint
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
import gradc
from dialects.evaluate import evaluate
from dialects.support.diagnostics import UnsupportedError
from dialects.support.entry import entry_function, output_names
from passes.differentiate import Request, differentiate

DATA = Path(__file__).parents[1] / "data" / "control"

Given = tuple[int, ...] | np.ndarray
"""The shape of random floats, or the value of what is no float."""


YES, NO = np.array(True), np.array(False)

CALLS: dict[str, Sequence[tuple[Given, ...]]] = {
    "if": [(YES, YES, (2, 3), (3,)), (YES, NO, (1, 3), (3,)), (NO, NO, (2, 3), (3,))],
    "if_with_a_convolution": [(YES, (2, 2, 5, 5), (3, 2, 3, 3)), (NO, (1, 2, 5, 5), (3, 2, 3, 3))],
    "loop": [
        (np.array(3), (2, 3), (3,), ()),
        (np.array(1), (1, 3), (3,), ()),
        (np.array(0), (2, 3), (3,), ()),
    ],
    "loop_of_no_shapes": [(np.array(3), (2, 3), (4, 3, 3))],
    "loop_until": [((2, 3),)],
    "loop_of_a_count": [((3,), (4, 3))],
    "map_over_a_sequence": [((2, 3), (2, 3))],
    "scan": [((3,), (3, 4), (3,))],
    "scan_axes": [((2,), (2,), (2, 4, 3), (4, 2), (3, 3)), ((2,), (2,), (2, 1, 3), (1, 2), (3, 3))],
    "scan_in_scan": [((2,), (3, 4))],
    "sequence": [((2, 5), (2, 5)), ((0, 5), (0, 5))],
}
"""The functions of tests/data/control, and what each is called with."""


def module_of(name: str, dtype: str = "f64") -> ModuleOp:
    text = (DATA / f"{name}.mlir").read_text(encoding="utf-8")
    module = Parser(dialects.context(), text.replace("f64", dtype)).parse_module()
    module.verify()
    return module


def inputs_of(call: tuple[Given, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=given) if isinstance(given, tuple) else given for given in call]


@pytest.mark.parametrize("name", CALLS)
def test_a_gradient_and_that_of_it(name: str):
    for call in CALLS[name]:
        rng, inputs = np.random.default_rng(1), inputs_of(call)
        gradient, cotangents = is_adjoint(module_of(name), inputs, rng, strict=False)
        if any(array.size for array in inputs if array.dtype == np.float64):
            is_adjoint(gradient, [*inputs, *cotangents], rng, strict=False)


@pytest.mark.parametrize("name", CALLS)
def test_a_gradient_on_onnxruntime(name: str):
    exact, module = module_of(name), module_of(name, "f32")
    request = Request(of=output_names(entry_function(exact)), cotangents=True)
    for one in (exact, module):
        found = differentiate(one, request)
    compiled = gradc.compile(module)
    for call in CALLS[name]:
        rng, inputs = np.random.default_rng(1), inputs_of(call)
        results = evaluate(module_of(name), inputs)
        given = [*inputs, *(rng.normal(size=result.shape) for result in results)]
        names = [info.name for info in compiled.inputs]
        got = compiled.run(dict(zip(names, map(_narrow, given), strict=True)))
        for key, want in zip(found.gradients.values(), evaluate(exact, given), strict=True):
            assert got[key].shape == want.shape, key
            np.testing.assert_allclose(got[key], want, rtol=1e-4, atol=1e-5, err_msg=key)


def _narrow(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype == np.float64 else array


def test_every_function_is_called():
    assert sorted(CALLS) == sorted(path.stem for path in DATA.glob("*.mlir"))


def branching(then_branch: str, else_branch: str = "onnx.Yield %x : T") -> ModuleOp:
    """A function of a condition and a matrix %x, of type T."""
    text = f"""
        func.func @main(%c: tensor<i1>, %x: T) -> T {{
          %y = onnx.If %c then_branch {{ {then_branch} }} else_branch {{ {else_branch} }} : (tensor<i1>) -> T
          func.return %y : T
        }}"""
    return Parser(dialects.context(), text.replace("T", "tensor<3x3xf32>")).parse_module()


DIAGONAL = '%a = onnx.Einsum %x {equation = "ij->ii"} : (T) -> T onnx.Yield %a : T'
DRAWN = "%r = onnx.RandomNormalLike %x : (T) -> T %a = onnx.Mul %x, %r : (T, T) -> T onnx.Yield %a : T"
ROUND = "%a = onnx.Round %x : (T) -> T onnx.Yield %a : T"


@pytest.mark.parametrize(
    ("branches", "message"),
    [
        ((DIAGONAL,), r"\[onnx.Einsum.*no label twice"),
        ((DRAWN,), r"\[onnx.If.*onnx.RandomNormalLike within: the gradient executes it once"),
        ((ROUND, ROUND), r"is zero: onnx\.If"),
    ],
)
def test_what_is_refused_in_branches(branches: tuple[str, ...], message: str):
    with pytest.raises(UnsupportedError, match=message):
        differentiate(branching(*branches), Request(cotangents=True))


def looping(body: str) -> ModuleOp:
    """A function of a trip count %n and a vector %x, of which a body makes %b; it is carried as %a."""
    text = f"""
        func.func @main(%n: tensor<i64>, %x: tensor<2xf32>) -> T {{
          %y = onnx.Loop %n, _, %x body {{
          ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: T):
            {body}
            onnx.Yield %on, %b : tensor<i1>, T
          }} : (tensor<i64>, tensor<2xf32>) -> T
          func.return %y : T
        }}"""
    return Parser(dialects.context(), text.replace("T", "tensor<?xf32>")).parse_module()


SLICED = """
        %axes = onnx.Constant dense<0> : tensor<1xi64>
        %u = onnx.Unsqueeze %i, %axes : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
        %one = onnx.Constant dense<1> : tensor<1xi64>
        %t = onnx.Add %u, %one : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
        %e = onnx.Slice %a, %axes, %t : (T, tensor<1xi64>, tensor<1xi64>) -> T
        %b = onnx.Mul %e, %e : (T, T) -> T"""
COMPRESSED = """
        %zero = onnx.Constant dense<0.0> : tensor<f32>
        %is = onnx.Greater %a, %zero : (T, tensor<f32>) -> tensor<?xi1>
        %e = onnx.Compress %a, %is {axis = 0} : (T, tensor<?xi1>) -> T
        %b = onnx.Mul %e, %e : (T, T) -> T"""


def test_a_slice_of_a_state_may_have_any_size():
    module = looping(SLICED)
    differentiate(module, Request(cotangents=True))
    x = np.array([0.5, 2], np.float32)
    found = gradc.compile(module).run({"n": np.array(2), "x": x, "cotangent_y": np.ones(1, np.float32)})
    np.testing.assert_allclose(found["grad_x"], [4 * 0.5**3, 0])


def test_a_shape_that_changes_as_only_run_time_knows_is_no_silent_error():
    module = looping(COMPRESSED)
    differentiate(module, Request(cotangents=True))
    model = gradc.compile(module)
    x = np.array([-1, 1], np.float32)
    with pytest.raises(gradc.GradcError):
        model.run({"n": np.array(2), "x": x, "cotangent_y": np.ones(1, np.float32)})


def test_a_check_of_a_written_gradient_of_a_loop_draws_no_lengths_that_contradict_it(tmp_path: Path):
    """The cotangent of what each step gives, and the number of steps: onnxruntime ends with an error."""
    text = """<ir_version: 8, opset_import: ["": 17]>
        g (float[4] x, float[4] w, int64 m) => (float[4] y, float[K, 4] ys) <bool t = {1}>
        {
            y, ys = Loop (m, t, x) <
                body = b (int64 i, bool c, float[4] a) => (bool co, float[4] ao, float[4] sc)
                { am = Mul (a, w)  ao = Tanh (am)  sc = Exp (ao)  co = Identity (c) }
            >
        }"""
    first = gradc.vjp(onnx.parser.parse_model(text), wrt="x", of=["y", "ys"], check=False)
    first.save(tmp_path / "first.onnx")
    second = gradc.vjp(tmp_path / "first.onnx", wrt="w", of="grad_x", check=True)
    given = {"x": np.ones(4), "w": np.full(4, 0.5), "cotangent_y": np.ones(4), "cotangent_grad_x": np.ones(4)}
    fed = {name: array.astype(np.float32) for name, array in given.items()}
    fed |= {"m": np.array(1), "cotangent_ys": np.zeros((1, 4), np.float32)}
    found = second.run(fed)[second.gradients["w"]]
    t = np.tanh(0.5)
    np.testing.assert_allclose(found, np.full(4, (1 - t**2) * (1 - t)), rtol=1e-5)  # of w (1 - tanh(w x)^2)


def test_a_resize_within_a_loop_whose_scales_are_empty():
    """As TensorFlow's exporter writes crop_and_resize: the empty operand is one of the outer graph."""
    body = """b (int64 i, bool c) => (bool d, float[1, 1, 2, 2] e) { d = Identity (c)
        r = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric"> (x, none, none, z)
        f = Cast <to = 1> (i) e = Mul (r, f) }"""
    text = f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[1, 1, 4, 4] x, int64 n) => (float[K, 1, 1, 2, 2] y)
        <bool yes = {{1}}, float[0] none = {{}}, int64[4] z = {{1, 1, 2, 2}}> {{
        y = Loop (n, yes) <body = {body}> }}"""
    found = gradc.vjp(onnx.parser.parse_model(text), wrt="x", check=False)
    given = {"x": np.zeros((1, 1, 4, 4), np.float32), "n": np.array(3)}
    cotangent = np.ones((3, 1, 1, 2, 2), np.float32)
    got = found.run({**given, "cotangent_y": cotangent})["grad_x"]
    assert got[0, 0].tolist() == [[3, 0, 3, 0], [0] * 4, [3, 0, 3, 0], [0] * 4]
