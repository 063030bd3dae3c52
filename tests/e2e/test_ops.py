"""Rules written with `gradc.ops` alone: correct gradients, and one-line errors for mistakes."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import onnx
import pytest

import gradc
from gradc import ops
from tools import ops_stub

HEAD = '<ir_version: 8, opset_import: ["": 17, "com.example": 1]>'
RNG = np.random.default_rng(0)


def model(nodes: str, *, inputs: str = "float[3,4] x", result: str = "float[3,4] y") -> onnx.ModelProto:
    found = onnx.parser.parse_model(f"{HEAD} g ({inputs}) => ({result}) {{ {nodes} }}")
    found.graph.value_info.extend(found.graph.output)
    return found


def softmax_of_rows(x: np.ndarray, w: np.ndarray, scale: float = 1.0) -> np.ndarray:
    scores = np.exp(scale * (x - x.max(1, keepdims=True)))
    return scores / scores.sum(1, keepdims=True) @ w


def softmax_rule(f: ops.Primal, g, e: ops.Builder):
    """The rule of softmax(scale * x) @ w, with a list, a number, indices, arithmetic and an optional size."""
    scale = f.value("scale", 1.0)
    w = f.operand(1)
    assert w is not None
    p = ops.Softmax(scale * f.x, axis=1)
    outer = g[0] @ ops.Transpose(w, perm=[1, 0])
    mean = ops.ReduceSum(outer * p, [1], keepdims=1)
    of_w = ops.Concat([p[:, :2], ops.Slice(p, [2], [4], axes=[1])], axis=1)
    return [scale * p * (outer - mean), ops.MatMul(ops.Transpose(of_w), g[0])]


def test_a_rule_of_another_domain_agrees_with_finite_differences():
    text = "y = com.example.Rows <scale = 2.0> (x, w)"
    source = model(text, inputs="float[3,4] x, float[4,2] w", result="float[3,2] y")
    kernels = {"com.example.Rows": softmax_of_rows}
    found = gradc.vjp(source, rules={"com.example.Rows": softmax_rule}, kernels=kernels)
    assert str(found.proof).startswith("proved: 1 of 1 op and the whole")
    x, w, dy, dx = (RNG.normal(size=s).astype(np.float32) for s in ((3, 4), (4, 2), (3, 2), (3, 4)))
    got = found.run({"x": x, "w": w, "cotangent_y": dy})["grad_x"]
    step = 1e-4
    ends = (softmax_of_rows(x.astype(np.float64) + sign * step * dx, w, 2.0) for sign in (1, -1))
    slope = np.sum((next(ends) - next(ends)) * dy) / (2 * step)
    np.testing.assert_allclose(np.sum(got * dx), slope, rtol=1e-4)


@pytest.mark.parametrize("wrong", [1.01, -1.0])
def test_a_wrong_rule_is_found(wrong):
    def rule(f, g, e):
        return [g[0] * wrong * ops.Exp(f.x)]

    kernels = {"com.example.Ramp": np.exp}
    with pytest.raises(gradc.CheckError, match=r"com\.example\.Ramp"):
        gradc.vjp(model("y = com.example.Ramp (x)"), rules={"com.example.Ramp": rule}, kernels=kernels)


def test_a_kernel_of_an_op_that_gradc_evaluates():
    with pytest.raises(
        gradc.UsageError, match="kernels: given Tanh, expected an op that gradc does not know"
    ):
        gradc.vjp(model("y = Tanh (x)"), kernels={"Tanh": np.sin})


def evaluate(body, x: np.ndarray) -> np.ndarray:
    """Return the value of an expression of x, which a rule returns as gradient."""

    def rule(f, g, e):
        return [body(f.x, e)]

    source = model("y = com.example.Ramp (x)", inputs="float[3,4] x")
    found = gradc.vjp(source, rules={"com.example.Ramp": rule}, check=False)
    return found.run({"x": x, "cotangent_y": np.ones_like(x)})["grad_x"]


EXPRESSIONS = {
    "arithmetic": (lambda x, e: 2 / (x**2 + 1) - x, lambda x: 2 / (x**2 + 1) - x),
    "an int in a row": (lambda x, e: x * x[1], lambda x: x * x[1]),
    "the last column": (lambda x, e: x * x[:, -1:], lambda x: x * x[:, -1:]),
    "a step": (lambda x, e: x * x[::-1, ::-1], lambda x: x * x[::-1, ::-1]),
    "an ellipsis": (lambda x, e: x * x[..., 1, None], lambda x: x * x[..., 1, None]),
    "a new axis": (lambda x, e: ops.Squeeze(x[None], [0]), lambda x: x),
    "negative bounds": (lambda x, e: x + x[-3:-2, 0:-3], lambda x: x + x[-3:-2, 0:-3]),
    "an array": (lambda x, e: ops.Add(x, np.float32([1, 2, 3, 4])), lambda x: x + np.arange(1, 5)),
    "a list": (lambda x, e: ops.Mul(x, [1, 2, 3, 4]), lambda x: x * [1, 2, 3, 4]),
    "a condition": (lambda x, e: ops.Where(x > 0.5, x, 0), lambda x: np.where(x > 0.5, x, 0)),
    "several results": (lambda x, e: ops.TopK(x, [4])[0], lambda x: -np.sort(-x, 1)),
    "a varying number": (
        lambda x, e: ops.Concat(ops.Split(x, [1, 2], axis=0, results=2)[::-1], axis=0),
        lambda x: np.roll(x, -1, 0),
    ),
    "operands by name": (
        lambda x, e: x * ops.ReduceSum(x, axes=[0], keepdims=1),
        lambda x: x * x.sum(0, keepdims=True),
    ),
    "transposes": (lambda x, e: x + x.swap_last_axes().transpose([1, 0]), lambda x: 2 * x),
    "axes of size 1": (lambda x, e: x * x[0].unsqueeze([0, 1]).squeeze([0]), lambda x: x * x[:1]),
    "a concatenation": (lambda x, e: e.concat([x[1:], x[:1]], 0), lambda x: np.roll(x, -1, 0)),
    "a constant": (lambda x, e: x * e.constant(np.arange(4), like=x), lambda x: x * np.arange(4)),
    "a dtype": (
        lambda x, e: ops.Cast(ops.Cast(x, to=np.int64), to=x.dtype),
        np.trunc,
    ),
    "no operand": (
        lambda x, e: x * ops.ConstantOfShape([3, 1], value=np.float32([2]), builder=e),
        lambda x: 2 * x,
    ),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_has_the_value_that_numpy_gives(name):
    x = RNG.normal(size=(3, 4)).astype(np.float32) * 3
    body, expected = EXPRESSIONS[name]
    np.testing.assert_allclose(evaluate(body, x), expected(x), rtol=1e-6)


MISTAKES = {
    "AttributeError: gradc.ops has no function 'MatMull'; did you mean MatMul": lambda f, g, e: [
        ops.MatMull(g[0])
    ],
    "AttributeError: gradc.ops has no function 'If'": lambda f, g, e: [ops.If(g[0])],
    "[onnx.Transpose] Transpose has no attribute prm; did you mean perm?": lambda f, g, e: [
        ops.Transpose(g[0], prm=[1, 0])
    ],
    "[onnx.Transpose] attribute perm: given 1, expected a list of integers": lambda f, g, e: [
        ops.Transpose(g[0], perm=1)
    ],
    "[onnx.Cast] attribute to: given none, expected a dtype": lambda f, g, e: [ops.Cast(g[0])],
    "[onnx.Cast] attribute to: given 'tiny', expected a dtype, such as np.float32": lambda f, g, e: [
        ops.Cast(g[0], to="tiny")
    ],
    "[onnx.Add] operand B: given none, expected a value": lambda f, g, e: [ops.Add(g[0])],
    "[onnx.Add] number of operands: given 3, expected 2 or fewer": lambda f, g, e: [ops.Add(g[0], 1, 2)],
    "[onnx.Add] operand B: given 'a', expected a Value, a number": lambda f, g, e: [ops.Add(g[0], "a")],
    "[onnx.Add] dtype of B: given f64, expected f32": lambda f, g, e: [ops.Add(g[0], np.ones(4))],
    "[onnx.Add] operand B: given 0.5, expected s64": lambda f, g, e: [ops.Add(ops.Shape(g[0]), 0.5)],
    "TypeError: a value of dtype s64 with the number 0.5": lambda f, g, e: [ops.Shape(g[0]) * 0.5],
    "[onnx.MatMul] inner dims of MatMul: given [3, 4] and [3, 4]": lambda f, g, e: [f.x @ g[0]],
    "[onnx.Concat] operand inputs: given a Value, expected a list": lambda f, g, e: [
        ops.Concat(g[0], axis=0)
    ],
    "[onnx.RandomNormal] builder: given none": lambda f, g, e: [ops.RandomNormal(shape=[3, 4])],
    "TypeError: a Value has no truth value": lambda f, g, e: [g[0] if f.x > 0 else 0],
    "TypeError: 'Value' object is not iterable": lambda f, g, e: list(g[0]),
    "IndexError: index 3 of an axis of size 3": lambda f, g, e: [g[0][3]],
    "IndexError: index (0, 0, 0) of a value of rank 2": lambda f, g, e: [g[0][0, 0, 0]],
    "TypeError: an index of type Value; ops.Gather takes values": lambda f, g, e: [g[0][f.x]],
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_a_rule_is_one_line_with_its_place(text):
    with pytest.raises(gradc.UsageError) as caught:
        gradc.grad(
            model("y = com.example.Ramp (x)"), reduce="sum", rules={"com.example.Ramp": MISTAKES[text]}
        )
    message = str(caught.value)
    assert "\n" not in message
    pattern = r"error: the rule of com\.example\.Ramp fails in line \d+ of test_ops\.py: (.*)"
    found = re.fullmatch(pattern, message)
    assert found, message
    assert found[1].startswith(text)


RESULTS = {
    "gradient of operand 0 by the rule of com.example.Ramp: given f64 [3, 4], expected f32 [3, 4]": (
        lambda f, g, e: [ops.Cast(g[0], to=np.float64)]
    ),
    "gradient of operand 0 by the rule of com.example.Ramp: given f32 [4, 3], expected f32 [3, 4]": (
        lambda f, g, e: [ops.Transpose(g[0])]
    ),
    "gradient of operand 0 by the rule of com.example.Ramp: given float, expected a Value or gradc.ZERO": (
        lambda f, g, e: [1.0]
    ),
    "result of the rule of com.example.Ramp: given 2, expected 1, one for each operand": lambda f, g, e: [
        g[0],
        ops.ZERO,
    ],
}


@pytest.mark.parametrize("text", RESULTS)
def test_a_wrong_result_of_a_rule(text):
    with pytest.raises(gradc.UsageError) as caught:
        gradc.grad(model("y = com.example.Ramp (x)"), reduce="sum", rules={"com.example.Ramp": RESULTS[text]})
    assert str(caught.value) == f"error: {text}"


def test_a_rule_may_refuse_a_variant():
    def rule(f, g, e):
        raise ops.refusal("slope", given=f.value("slope"), expected="1")

    with pytest.raises(gradc.UnsupportedError) as caught:
        gradc.grad(
            model("y = com.example.Ramp <slope = 2> (x)"), reduce="sum", rules={"com.example.Ramp": rule}
        )
    assert str(caught.value) == 'error: [com.example.Ramp "y"] no derivative: slope: given 2, expected 1'


def test_import_of_gradc_does_not_load_it():
    script = (
        "import sys, gradc; print('gradc.ops' in sys.modules); gradc.ops.Add; print(callable(gradc.ops.Add))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]


def test_the_stub_is_current(capsys):
    assert ops_stub.main(["--check"]) == 0, capsys.readouterr().out


def test_a_gradient_that_reads_the_size_of_an_own_ops_result():
    """The compiled model declares the type of that result, or its readers would have no types when it is
    read back."""
    text = "r = com.example.Ramp <slope = 2.0> (x) y = ReduceSum <keepdims = 0> (r)"
    source = model(text, inputs="float[N,3] x", result="float y")
    source.graph.value_info.append(onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, ["N", 3]))
    found = gradc.grad(
        source,
        rules={"com.example.Ramp": lambda f, g, e: [ops.Where(ops.Greater(f.x, 0), g[0] * 2, 0)]},
        kernels={"com.example.Ramp": lambda x, slope: np.maximum(x, 0) * slope},
    )
    assert [info.name for info in found.model.graph.value_info] == ["r"]
    assert str(found.proof).startswith("proved: 2 of 2 ops and the whole")
