"""Lowerings of elementwise ATen ops against PyTorch, at special numbers and in all dtypes."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from tests.support.aten_samples import check, check_sizes  # noqa: E402

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
SPECIAL = torch.tensor(
    [0.0, -0.0, 1e-6, -1e-6, 0.3, -0.7, 1.0, -1.0, 2.5, -30.0, 80.0, math.inf, -math.inf, math.nan]
)


def draw(*shape, dtype=torch.float32, seed=0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3).to(dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS], ids=str)
def test_arithmetic_has_torchs_dtype(dtype):
    x, y = draw(3, 4, dtype=dtype), draw(4, dtype=dtype, seed=1)
    check("mul.Tensor", x, y)
    check("add.Tensor", x, y, alpha=2)
    check("rsub.Scalar", x, 1)
    check("lt.Tensor", x, y)


FUNCTIONS = """expm1 log1p trunc frac round ceil relu isnan isinf sigmoid tanh exp2 log2 log10 rsqrt
reciprocal neg abs logical_not nan_to_num silu mish elu erf"""


@pytest.mark.parametrize("op", FUNCTIONS.split())
def test_functions_at_special_numbers(op):
    check(f"{op}.default", SPECIAL)


WITHOUT_FLOAT64 = """tan asin acos atan sinh cosh asinh acosh atanh erf erfc erfinv gelu lgamma digamma"""


@pytest.mark.parametrize("op", WITHOUT_FLOAT64.split())
def test_functions_without_a_float64_kernel(op):
    unit = torch.linspace(-1, 1, 41, dtype=torch.float64)
    check(f"{op}.default", unit, tolerance=1e-13)
    check(f"{op}.default", torch.tensor([-0.0, 1.7, -2.6, 25.0, math.inf, math.nan], dtype=torch.float64))


@pytest.mark.parametrize("op", ["sign", "sgn", "gelu", "signbit"])
def test_functions_at_numbers(op):
    check(f"{op}.default", SPECIAL[SPECIAL.isfinite()])


@pytest.mark.parametrize("op", ["expm1", "log1p"])
def test_small_results_are_exact(op):
    x = torch.logspace(-30, -1, 20)
    compiled = check(f"{op}.default", torch.cat([x, -x]))
    ((_, found),) = compiled.run({compiled.inputs[0].name: x.numpy().repeat(2)}).items()
    expected = getattr(torch, op)(x.double()).numpy().repeat(2)
    assert abs(found / expected - 1).max() < 1e-6


@pytest.mark.parametrize(
    "op", ["remainder", "fmod", "floor_divide", "div", "atan2", "maximum", "minimum", "fmax"]
)
def test_pairs_of_special_numbers(op):
    numbers = torch.tensor([-3.5, -1.0, -0.1, 0.1, 1.0, 2.0, 7.25])
    x, y = numbers[:, None].expand(7, 7).contiguous(), numbers[None].expand(7, 7).contiguous()
    which = "default" if op in ("floor_divide", "atan2", "maximum", "minimum", "fmax") else "Tensor"
    check(f"{op}.{which}", x, y)


@pytest.mark.parametrize("mode", [None, "trunc", "floor"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.int8], ids=str)
def test_rounded_quotients(mode, dtype):
    x, y = torch.arange(-9, 10).to(dtype), torch.tensor([-4, -3, 3, 5])[:, None].to(dtype)
    check("div.Tensor_mode", x, y, rounding_mode=mode)


def test_a_floor_that_the_rounded_quotient_misses():
    check("floor_divide.default", torch.tensor([1.0, -1.0]), torch.tensor([0.1, 0.1]))


@pytest.mark.parametrize("exponent", [0, 0.5, 1, 2, 3, -0.5, -1, -2, 2.5])
def test_constant_exponents(exponent):
    check("pow.Tensor_Scalar", SPECIAL.abs(), exponent)
    check("pow.Tensor_Scalar", torch.arange(4), 2)


def test_comparisons_of_two_dtypes():
    check("lt.Scalar", torch.arange(5), 1.5)
    check("eq.Scalar", torch.tensor([True, False]), 1)
    check("ge.Tensor", torch.tensor([True, False]), torch.tensor([True, True]))
    check("gt.Tensor", torch.arange(5, dtype=torch.uint8), torch.tensor([-1, 2, 3, 4, 5], dtype=torch.int8))


def test_limits():
    check("logit.default", torch.linspace(0, 1, 11), 0.6)
    check("logit.default", torch.linspace(0, 1, 11), 0.2)
    check("clamp.default", SPECIAL, -1, 2)
    check("clamp.default", SPECIAL, None, 2)
    check("clamp.default", torch.arange(5), 1.5, None)
    check("clamp.default", torch.arange(5.0), 3, 1)
    check("clamp.Tensor", draw(3, 4), None, draw(4))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_activations_in_all_float_dtypes(dtype):
    x, g = draw(4, 6, dtype=dtype), draw(4, 6, dtype=dtype, seed=1)
    check("softplus.default", x, 2, 3)
    check("softplus_backward.default", g, x, 1, 20)
    check("silu_backward.default", g, x)
    check("elu_backward.default", g, 1.2, 1.1, 0.9, False, x)
    check("_prelu_kernel_backward.default", g, x, g[0])
    check("log_sigmoid_forward.default", x)


def test_sizes_that_were_not_traced():
    check_sizes("add.Tensor", lambda n: (draw(n, 3), draw(3)))
    check_sizes("mul.Scalar", lambda n: (draw(2, n), n))
    check_sizes("glu.default", lambda n: (draw(2 * n, 3), 0))
