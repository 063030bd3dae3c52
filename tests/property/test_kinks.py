"""Where a derivative jumps: what the rules give at zeros, ties and bounds, also twice differentiated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx.parser
import pytest
from support.vjp_problems import P, Problem, module_of

import gradc
from dialects.evaluate import evaluate
from passes.autodiff.conventions import KINKS, STATIC_REQUIREMENTS, UNSUPPORTED_VARIANTS
from passes.autodiff.table import REGION_RULES, RULES
from passes.decompositions.registry import Reason, table_of
from passes.differentiate import Request, differentiate

NUMBER = np.float64

_PLACES, _ROWS = np.array([-3, 0, 1, 0]), np.array([[-3], [0], [2], [0]])
_WHOLE, _FACTORS = np.array([2.0, 1, 5]), np.array([0.0, 3, 2, 1])
SCATTERED = (
    (P("ScatterElements", (3,), _PLACES, _FACTORS, reduction="mul"), (0, 2, 1), (0, 2, 1)),
    (P("ScatterElements", _WHOLE, _PLACES, (4,), reduction="mul"), (0, 3, 0, 4), (24, 0, 1, 0)),
    (P("ScatterND", (3,), _ROWS, _FACTORS, reduction="mul"), (0, 2, 1), (0, 1, 2)),
    (P("ScatterND", _WHOLE, _ROWS, (4,), reduction="mul"), (0, 3, 0, 4), (24, 0, 5, 0)),
)

CASES: list[tuple[Problem, Sequence[float], Sequence[float]]] = [
    (P("Relu", (3,)), (-1, 0, 1), (0, 0, 1)),
    (P("Abs", (3,)), (-1, 0, 1), (-1, 0, 1)),
    (P("LeakyRelu", (3,), alpha=0.5), (-1, 0, 1), (0.5, 0.5, 1)),
    (P("Clip", (4,), np.array(-1.0), np.array(1.0)), (-1, 1, -2, 2), (1, 1, 0, 0)),
    (P("HardSigmoid", (2,), alpha=0.5, beta=0.5), (-1, 1), (0, 0)),
    (P("HardSwish", (2,)), (-3, 3), (0, 1)),
    (P("Max", (2,), np.array([1.0, 1.0])), (1, 2), (0.5, 1)),
    (P("Min", (2,), np.array([1.0, 1.0])), (1, 2), (0.5, 0)),
    (P("ReduceMax", (4,)), (2, 1, 2, 0), (0.5, 0, 0.5, 0)),
    (P("ReduceMin", (4,)), (0, 1, 0, 0), (1 / 3, 0, 1 / 3, 1 / 3)),
    (P("ReduceL1", (3,)), (-1, 0, 2), (-1, 0, 1)),
    (P("ReduceL2", (2,)), (0, 0), (0, 0)),
    (P("LpNormalization", (2,)), (0, 0), (0, 0)),
    (P("ReduceProd", (3,)), (0, 2, 3), (6, 0, 0)),
    (P("ReduceProd", (3,)), (0, 0, 3), (0, 0, 0)),
    (P("Pow", (2,), np.array(0.0)), (0, 2), (0, 0)),
    (P("Pow", (2,), np.array(2.0)), (0, 2), (0, 4)),
    (P("ReduceLogSumExp", (2,)), (-np.inf, -np.inf), (0, 0)),
    (P("TopK", (3,), np.array([1])), (2, 1, 2), (1, 0, 0)),
    (P("Softplus", (2,)), (0, 1000), (0.5, 1)),
    (P("Clip", (3,), np.array(1.0), np.array(-1.0)), (-2, 0, 2), (0, 0, 0)),
    (P("CumProd", (3,), np.array(0)), (0, 2, 3), (9, 0, 0)),
    (P("Elu", (3,), alpha=0.5), (-1000, 0, 1), (0, 0.5, 1)),
    (P("GlobalLpPool", (1, 1, 2)), (0, 0), (0, 0)),
    (P("GlobalMaxPool", (1, 1, 3)), (2, 2, 1), (1, 0, 0)),
    (P("LpNormalization", (2,), p=1), (0, 0), (0, 0)),
    (P("LpPool", (1, 1, 2), kernel_shape=[2]), (0, 0), (0, 0)),
    (P("MaxPool", (1, 1, 3), kernel_shape=[3]), (2, 2, 1), (1, 0, 0)),
    (P("Mod", (2,), np.array(2.0), fmod=1), (2, 3), (1, 1)),
    (P("PRelu", (3,), np.array([0.3])), (-1, 0, 1), (0.3, 0.3, 1)),
    (P("Pow", (2,), np.array(0.5)), (0, 4), (np.inf, 0.25)),
    *SCATTERED,
    (P("Selu", (3,), alpha=0.5, gamma=2.0), (-1000, 0, 1), (0, 1, 2)),
    (P("Shrink", (3,), lambd=0.5), (-0.5, 0.5, 1), (0, 0, 1)),
    (P("Sqrt", (2,)), (0, 4), (np.inf, 0.25)),
    (P("ThresholdedRelu", (3,), alpha=0.5), (0, 0.5, 1), (0, 0, 1)),
]


@pytest.mark.sweep
@pytest.mark.parametrize("strict", [False, True], ids=["masks", "strict"])
@pytest.mark.parametrize(("problem", "x", "want"), CASES, ids=str)
def test_at_a_kink(problem: Problem, x: Sequence[float], want: Sequence[float], strict: bool):
    module, (operand, *_) = module_of(problem)
    differentiate(module, Request(reduce="sum"), strict_ieee=strict)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = evaluate(module, [np.array(x, NUMBER).reshape(operand.shape)])[0]
    np.testing.assert_allclose(found.ravel(), want)


def test_what_the_page_says_of_kinks_is_held():
    assert set(KINKS) <= {problem.op for problem, _, _ in CASES}


def test_the_page_speaks_of_ops_that_have_a_derivative():
    known = {*RULES, *table_of(Reason.GRADIENT), *REGION_RULES}
    assert {*KINKS, *STATIC_REQUIREMENTS, *UNSUPPORTED_VARIANTS} <= known


SECOND: list[tuple[Problem, Sequence[float], Sequence[float]]] = [
    (P("ReduceProd", (3,)), (0, 2, 3), (5, 3, 2)),
    (P("ReduceSumSquare", (2,)), (0, 1), (2, 2)),
    (SCATTERED[1][0], (0, 3, 5, 4), (14, 8, 0, 6)),
    (SCATTERED[3][0], (0, 3, 5, 4), (14, 8, 0, 6)),
    (P("ReduceL2", (2,)), (0, 0), (1, 1)),
    (P("Softplus", (2,)), (0, -1000), (0.25, 0)),
    (P("Relu", (2,)), (0, 1), (0, 0)),
    (P("Elu", (2,)), (0, 1), (0, 0)),
    (P("Elu", (2,), alpha=0.5), (0, 1), (0, 0)),
    (P("Selu", (2,)), (0, 1), (0, 0)),
    (P("Celu", (2,), alpha=2.0), (0, 1), (0, 0)),
]


@pytest.mark.parametrize(("problem", "x", "want"), SECOND, ids=str)
def test_the_sum_of_the_gradient_differentiated_at_a_kink(problem: Problem, x, want):
    module, _ = module_of(problem)
    differentiate(module, Request(reduce="sum"))
    again = Request(of=["grad_x0"], wrt=["x0"], reduce="sum", allow_unused=True)
    differentiate(module, again)
    np.testing.assert_allclose(evaluate(module, [np.array(x, NUMBER)])[0], want)


def test_the_second_derivative_of_a_product_of_unknown_length_at_a_zero(tmp_path):
    """x y z at x = 0 along x: the gradient (y z, 0, 0) changes by (0, z, y)."""
    path = tmp_path / "product.mlir"
    path.write_text("""
        func.func @main(%x: tensor<?x?xf64>) -> tensor<?x1xf64> {
          %a = onnx.Constant dense<1> : tensor<1xi64>
          %y = onnx.ReduceProd %x, %a {keepdims = 1} : (tensor<?x?xf64>, tensor<1xi64>) -> tensor<?x1xf64>
          func.return %y : tensor<?x1xf64>
        }""")
    product = gradc.hvp(path, wrt="x", reduce="sum")
    fed = {"x": np.array([[0.0, 2, 3]]), "tangent_x": np.array([[1.0, 0, 0]])}
    np.testing.assert_array_equal(product.run(fed)["hvp_x"], [[0, 3, 2]])


@pytest.mark.parametrize("strict", [False, True], ids=["masks", "strict"])
def test_the_second_derivative_by_a_slope_at_zero_is_symmetric(strict: bool):
    text = """<ir_version: 8, opset_import: ["": 18]>
    agraph (float[3] x, float[3] slope) => (float[3] y) { y = PRelu (x, slope) }"""
    product = gradc.hvp(onnx.parser.parse_model(text), reduce="sum", check=False, strict_ieee=strict)
    fed = {"x": np.array([-1, 0, 1], np.float32), "slope": np.full(3, 0.25, np.float32)}
    ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
    by_slope = product.run({**fed, "tangent_x": zeros, "tangent_slope": ones})["hvp_x"]
    by_x = product.run({**fed, "tangent_x": ones, "tangent_slope": zeros})["hvp_slope"]
    np.testing.assert_array_equal(by_slope, [1, 1, 0])
    np.testing.assert_array_equal(by_x, by_slope)


@pytest.mark.parametrize(
    "body",
    [
        "y = Mul (a, a)",
        "two = Constant <value_float: float = 2.0> () y = Pow (a, two)",
        "c = Constant <value_float: float = 1.0> () s = Mul (a, c) y = Mul (s, a)",
        "c = Constant <value: tensor = float[2, 1] {1.0, 1.0}> () s = Mul (c, a) y = Mul (a, s)",
    ],
)
def test_the_square_of_an_absolute_value_has_a_second_derivative_at_zero(body: str):
    """As exporters write Huber's loss."""
    text = f"""<ir_version: 8, opset_import: ["": 18]>
    agraph (float[2,3] x) => (float[2,3] y) {{ a = Abs (x) {body} }}"""
    product = gradc.hvp(onnx.parser.parse_model(text), reduce="sum", check=False)
    fed = {"x": np.array([[0, -1, 2]] * 2, np.float32), "tangent_x": np.ones((2, 3), np.float32)}
    np.testing.assert_array_equal(product.run(fed)["hvp_x"], np.full((2, 3), 2))


@pytest.mark.parametrize("strict", [False, True], ids=["masks", "strict"])
@pytest.mark.parametrize("bounded", ["Max (l, c)", "Max (c, l)", "Clip (l, c)"])
def test_a_bounded_logarithm_at_zero(bounded: str, strict: bool):
    """As torch.export writes BCELoss: also twice differentiated, at once and of the written file."""
    text = f"""<ir_version: 8, opset_import: ["": 18]>
    agraph (float[3] x) => (float[3] y) {{
        c = Constant <value_float: float = -100.0> ()
        l = Log (x)
        y = {bounded}
    }}"""
    model = onnx.parser.parse_model(text)
    x, ones = np.array([0, 0.5, 2], np.float32), np.ones(3, np.float32)
    first = gradc.grad(model, reduce="sum", check=False, strict_ieee=strict)
    np.testing.assert_array_equal(first.run({"x": x})["grad_x"], [0, 2, 0.5])
    product = gradc.hvp(model, reduce="sum", check=False, strict_ieee=strict)
    np.testing.assert_array_equal(product.run({"x": x, "tangent_x": ones})["hvp_x"], [0, -4, -0.25])
    again = gradc.vjp(first.model, wrt="x", of="grad_x", check=False, strict_ieee=strict)
    fed = {"x": x, "cotangent_grad_x": ones}
    np.testing.assert_array_equal(again.run(fed)["grad_x"], [0, -4, -0.25])


def test_a_logarithm_that_is_read_otherwise_is_as_ieee_says():
    text = """<ir_version: 8, opset_import: ["": 18]>
    agraph (float[2] x) => (float[2] y) {
        c = Constant <value_float: float = -100.0> ()
        l = Log (x)
        m = Max (l, c)
        y = Add (l, m)
    }"""
    gradient = gradc.grad(onnx.parser.parse_model(text), reduce="sum", check=False)
    np.testing.assert_array_equal(gradient.run({"x": np.array([0, 2], np.float32)})["grad_x"], [np.inf, 1])
