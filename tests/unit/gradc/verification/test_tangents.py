"""Directional derivatives of single ops: formulas, kinks, jumps, masks, non-finite values, large arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from support.single_ops import runner
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.ir import Block, Operation

from dialects.onnx.ops import op_class
from dialects.onnx.types import SequenceType
from dialects.support.dtypes import of_numpy
from dialects.support.shapes import tensor_type
from gradc.verification.tangents import Run, Tangent, jvp

A = np.array
INF = np.inf


def made(name: str, operands: Sequence[Any], **attributes: Any) -> tuple[Operation, Run]:
    block = Block(arg_types=[_type(x) for x in operands])
    cls = op_class(name)
    ports = cls.SIGNATURE.operands
    variadic = len(ports) == 1 and ports[0].option not in ("", "optional")
    op = cls(list(block.args), **attributes) if variadic else cls(*block.args, **attributes)
    return op, runner(ModuleOp([]), op)


def _type(value: Any) -> Any:
    if isinstance(value, list):
        return SequenceType(tensor_type(f64, [None] * value[0].ndim))
    dtype = of_numpy(value.dtype)
    assert dtype is not None
    return tensor_type(dtype.mlir, value.shape)


def pushed(name: str, operands: Sequence[Any], tangents: Sequence[Any], **attributes: Any) -> list[Any]:
    op, run = made(name, operands, **attributes)
    return jvp(op, operands, tangents, run)


def along(name: str, x: Any, t: Any, *others: Any, **attributes: Any) -> Tangent:
    """The tangent of the first result where the first operand moves."""
    return pushed(name, [x, *others], [t, *[None] * len(others)], **attributes)[0]


def opened(tangent: Tangent) -> list[bool]:
    unknown = np.zeros(tangent.found.shape, bool) if tangent.open is None else tangent.open
    return unknown.reshape(-1).tolist()


def sides(tangent: Tangent, index: int) -> tuple[float, float]:
    assert tangent.low is not None
    assert tangent.high is not None
    return float(tangent.low.reshape(-1)[index]), float(tangent.high.reshape(-1)[index])


L = np.longdouble
SMOOTH: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "Acosh": (lambda x: 1 / np.sqrt(x * x - 1), (1.01, 50)),
    "Asin": (lambda x: 1 / np.sqrt(1 - x * x), (-0.99, 0.99)),
    "Asinh": (lambda x: 1 / np.sqrt(1 + x * x), (-50, 50)),
    "Atan": (lambda x: 1 / (1 + x * x), (-50, 50)),
    "Cos": (lambda x: -np.sin(x), (-50, 50)),
    "Exp": (np.exp, (-30, 30)),
    "Erf": (lambda x: L(2) / np.sqrt(L(np.pi)) * np.exp(-x * x), (-5, 5)),
    "Log": (lambda x: 1 / x, (1e-9, 1e9)),
    "Reciprocal": (lambda x: -1 / (x * x), (1e-6, 1e6)),
    "Sigmoid": (lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2, (-40, 40)),
    "Softplus": (lambda x: 1 / (1 + np.exp(-x)), (-40, 40)),
    "Softsign": (lambda x: 1 / (1 + np.abs(x)) ** 2, (-50, 50)),
    "Sqrt": (lambda x: 1 / (2 * np.sqrt(x)), (1e-12, 1e9)),
    "Tanh": (lambda x: 1 / np.cosh(x) ** 2, (-20, 20)),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("size", [1.0, 1e-9, 1e12])
def test_formulas_in_long_double(name: str, size: float):
    formula, (low, high) = SMOOTH[name]
    rng = np.random.default_rng(1)
    even, scale = rng.uniform(low, high, 100), 10.0 ** rng.uniform(-12, 0, 100)
    x = np.concatenate([even, np.clip(high * scale, low, high), np.clip(low * scale, low, high)])
    t = rng.normal(size=x.shape) * size
    tangent, exact = along(name, x, t), formula(x.astype(L)) * t
    error = np.abs(tangent.found - exact)
    assert tangent.open is None
    assert (error <= 2 * tangent.noise + 1e-13 * np.abs(exact)).all()
    assert error.max() <= 2e-7 * np.abs(exact).max()
    assert np.abs(error).sum() <= 1e-7 * np.abs(exact).sum()


@pytest.mark.parametrize(
    ("name", "x", "left", "right", "attributes"),
    [
        ("Relu", 0.0, 0.0, 1.0, {}),
        ("Abs", 0.0, -1.0, 1.0, {}),
        ("LeakyRelu", 0.0, 0.25, 1.0, {"alpha": 0.25}),
        ("Elu", 0.0, 0.5, 1.0, {"alpha": 0.5}),
        ("HardSigmoid", 2.0, 0.25, 0.0, {"alpha": 0.25, "beta": 0.5}),
        ("HardSwish", 3.0, 1.5, 1.0, {}),
        ("Sqrt", 0.0, -INF, INF, {}),
        ("Sign", 0.0, -INF, INF, {}),
        ("Floor", 1.0, -INF, INF, {}),
        ("Round", 0.5, -INF, INF, {}),
        ("ThresholdedRelu", 1.0, -INF, INF, {}),
        ("Log", 0.0, -INF, INF, {}),
    ],
)
def test_a_kink_or_jump_is_open_where_it_is_moved(name, x, left, right, attributes):
    for t in (2.0, -3.0, 0.0):
        tangent = along(name, A([x, x + 0.1]), A([t, 0.0]), **attributes)
        assert opened(tangent) == [t != 0, False]
        if t:
            assert sides(tangent, 0) == pytest.approx(sorted([left * t, right * t]), abs=1e-5)
        assert tangent.found[1] == 0


def test_near_a_kink_the_piece_counts():
    x = A([1e-300, -1e-300, 1e-9, -1e-9, 6 + 1e-9, 6 - 1e-9])
    zero, six = A(0.0), A(6.0)
    assert along("Relu", x, np.ones(6)).found == pytest.approx([1, 0, 1, 0, 1, 1])
    tangent = along("Clip", x, np.ones(6), zero, six)
    assert tangent.open is None
    assert tangent.found == pytest.approx([1, 0, 1, 0, 0, 1], abs=1e-4)


def test_ties_that_move_alike_are_no_kinks():
    x, t = A([[[1.0, 1, 2, 2, 3]]]), A([[[1.0, 1, 1, 2, 5]]])
    tangent = along("MaxPool", x, t, kernel_shape=[2])
    assert opened(tangent) == [False, False, True, False]
    assert tangent.found.reshape(-1)[[0, 1, 3]] == pytest.approx([1, 1, 5])
    assert sides(tangent, 2) == pytest.approx((1, 2))
    (both,) = pushed("Max", [A([1.0, 2]), A([1.0, 2])], [A([3.0, 3]), A([3.0, 4])])
    assert opened(both) == [False, True]
    assert both.found[0] == pytest.approx(3)
    (rows,) = pushed("ReduceMax", [A([[5.0, 5, 5], [1, 2, 3]]), A([1])], [A([[2.0, 3, 4], [1, 1, 7]]), None])
    assert opened(rows) == [True, False]
    assert sides(rows, 0) == pytest.approx((2, 4))


T3 = A([1.0, -1, 0.5])


@pytest.mark.parametrize(
    "row", [(1.0, 2, 3), (-1e9, 2, 1), (-1e9, 1 - 1e9, -1e9), (-3.4e38,) * 3, (-INF, 1, 2)]
)
def test_a_softmax_beside_masks(row):
    for scale in (1.0, 1e-6, 1e6):
        x = A(row).astype(L)
        p = np.exp(x - x.max())
        p /= p.sum()
        t = T3 * scale
        tangent = along("Softmax", A([row]), t[None])
        assert tangent.open is None
        assert tangent.found[0] == pytest.approx(
            (p * (t - (p * t).sum())).astype(float), rel=1e-7, abs=1e-9 * scale
        )
        logarithm = along("LogSoftmax", A([row]), t[None])
        assert opened(logarithm) == [each == -INF for each in row]
        want = (t - (p * t).sum()).astype(float)
        for found, exact, known in zip(logarithm.found[0], want, np.isfinite(row), strict=True):
            assert not known or found == pytest.approx(exact, rel=1e-7)


def test_a_softmax_of_nothing_is_open_and_a_saturated_one_is_not_wrong():
    tangent = along("Softmax", A([[-INF] * 3, [1.0, 2, 3]]), np.tile(T3, (2, 1)))
    assert opened(tangent) == [True] * 3 + [False] * 3
    saturated = along("Softmax", A([[100.0, 0, -100]]), T3[None])
    exact = A([1.5, -2, -0.5]) * np.exp(A([-100.0, -100, -200]))
    assert saturated.open is None
    assert (np.abs(saturated.found[0] - exact) <= saturated.noise[0] + 1e-50).all()


def test_an_attention_beside_masks():
    rng = np.random.default_rng(0)
    q, k, v, *t = rng.normal(size=(6, 1, 1, 3, 4))
    mask = np.zeros((3, 3))
    mask[0, 1:] = -1e9
    plain = pushed("Attention", [q, k, v, np.zeros((3, 3))], [*t, None])[0]
    masked = pushed("Attention", [q, k, v, mask], [*t, None])[0]
    assert masked.open is None
    assert masked.found[0, 0, 1:] == pytest.approx(plain.found[0, 0, 1:])
    assert masked.found[0, 0, 0] == pytest.approx(t[2][0, 0, 0])
    mask[1] = -3.4e38  # the scores of this row are lost: it is uniform, which by the formula it is not
    hidden = pushed("Attention", [q, k, v, mask], [*t, None])[0]
    assert opened(hidden) == [False] * 4 + [True] * 4 + [False] * 4


def test_digits_that_an_operand_has_not_are_open():
    """All of a row at -1e30: no step moves it, but its norm depends on it."""
    x = A([[-1e30, 1e30], [1.0, 2.0], [3.0, 4.0]])
    tangent = along("LpNormalization", x, np.ones((3, 2)))
    assert opened(tangent) == [True, True, False, False, False, False]
    small = A([[1.0, 1e-15], [1.0, -1.0], [1.0, 1.0]])  # a step that is lost, and does not count
    assert along("LpNormalization", x[[1, 2, 1]], small).open is None


def test_what_is_not_finite_is_open_unless_it_does_not_move():
    exponential = along("Exp", A([-INF, 0, 1000.0, np.nan]), np.ones(4))
    assert opened(exponential) == [False, False, True, True]
    assert exponential.found.tolist() == pytest.approx([0, 1, 0, 0])
    still, moved = A([0.0, 1, 1]), A([1.0, 1, 1])
    x, y = A([INF, 2, 3]), A([2.0, 0, 1e-20])
    assert opened(pushed("Mul", [x, y], [still, still])[0]) == [False] * 3
    assert opened(pushed("Mul", [x, y], [moved, moved])[0]) == [True, False, False]
    (branches,) = pushed("Where", [A([True, False]), A([1.0, 1]), A(-INF)], [None, A([3.0, 4]), None])
    assert branches.found.tolist() == [3, 0]
    assert branches.open is None


def test_linear_ops_are_exact_beside_large_numbers():
    (total,) = pushed("Add", [A([-1e30, 3e38]), A([1.0])], [A([1e-9, 1.0]), A([0.5])])
    assert total.found.tolist() == [0.5 + 1e-9, 1.5]
    assert total.noise == 0
    (affine,) = pushed(
        "Gemm", [A([[1e30]]), A([[2.0]]), A([5.0])], [A([[1.0]]), None, None], alpha=3.0, beta=7.0
    )
    assert affine.found.tolist() == [[6.0]]
    (bias,) = pushed("Gemm", [A([[1e30]]), A([[2.0]]), A([5.0])], [None, None, A([1.0])], alpha=3.0, beta=7.0)
    assert bias.found.tolist() == [[7.0]]


def test_sequences():
    parts, moved = [A([1.0, 2]), A([3.0])], [A([4.0, 5]), None]
    (joined,) = pushed("ConcatFromSequence", [parts], [moved], axis=0)
    assert joined.found.tolist() == [4, 5, 0]
    (inserted,) = pushed("SequenceInsert", [parts, A([7.0])], [None, A([9.0])])
    assert [each.found.tolist() for each in inserted] == [[0, 0], [0], [9]]
    (made_of,) = pushed("SequenceConstruct", parts, moved)
    assert [each.found.tolist() for each in made_of] == [[4, 5], [0]]
    (one,) = pushed("SequenceAt", [parts, A(0)], [moved, None])
    assert one.found.tolist() == [4, 5]
    (rest,) = pushed("SequenceErase", [parts, A(0)], [moved, None])
    assert [each.found.tolist() for each in rest] == [[0]]
    (split,) = pushed("SplitToSequence", [A([1.0, 2, 3]), A([1, 2])], [A([4.0, 5, 6]), None])
    assert [each.found.tolist() for each in split] == [[4], [5, 6]]
    assert pushed("SequenceLength", [parts], [moved]) == [None]
    for name in ("Optional", "Identity"):
        (same,) = pushed(name, [parts[0]], [moved[0]])
        assert same.found.tolist() == [4, 5]


def test_sizes_and_results_without_floats():
    (depth,) = pushed("OneHot", [A([0, 1]), A(2.0), A([0.0, 1])], [None, A(1.0), A([1.0, 2])])
    assert opened(depth) == [True] * 4
    (line,) = pushed("Range", [A(0.0), A(3.0), A(1.0)], [A(2.0), None, A(1.0)])
    assert line.found.tolist() == [2, 3, 4]
    largest, places = pushed("TopK", [A([1.0, 2, 3]), A([2])], [A([1.0, 2, 4]), None])
    assert largest.found == pytest.approx([4, 2])
    assert places is None
    assert pushed("ArgMax", [A([1.0, 2, 3])], [A([1.0, 2, 3])]) == [None]


def test_an_op_linear_in_one_operand_and_curved_in_another():
    x, w, t = np.random.default_rng(0).normal(size=(3, 2, 5))
    (tangent,) = pushed("PRelu", [x, w], [t, t])
    assert tangent.found == pytest.approx(np.where(x > 0, t, w * t + x * t))
    (quotient,) = pushed("Div", [x, w], [t, 2 * t])
    assert quotient.found == pytest.approx(t / w - 2 * x * t / w**2)


@pytest.mark.parametrize("name", ["Relu", "Tanh", "Max", "Softmax"])
def test_large_arrays_take_few_runs(name):
    rng = np.random.default_rng(0)
    x, y, t = rng.normal(size=(3, 400, 1000))
    operands = [x, y] if name == "Max" else [x]
    op, run = made(name, operands)
    elements = 0

    def counting(given: Sequence[Any]) -> Sequence[Any]:
        nonlocal elements
        results = run(given)
        elements += results[0].size
        return results

    tangents = [t] * len(operands)
    with np.errstate(all="raise", under="ignore"):
        (tangent,) = jvp(op, operands, tangents, counting, run(operands))
    assert tangent.open is None
    assert elements <= {"Relu": 2.1, "Max": 2.1, "Tanh": 4.1, "Softmax": 7}[name] * x.size
    if name == "Max":
        assert np.abs(tangent.found - t).max() < 1e-8
