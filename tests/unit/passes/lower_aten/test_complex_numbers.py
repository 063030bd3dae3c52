"""Lowerings of complex tensors as pairs of real ones against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dialects.aten.attributes import from_attribute, to_attribute  # noqa: E402
from dialects.support.diagnostics import UnsupportedError  # noqa: E402
from gradc.torch import export  # noqa: E402
from tests.support.aten_samples import check, check_sizes  # noqa: E402

C64, C128 = torch.complex64, torch.complex128
dtypes = pytest.mark.parametrize("dtype", [C128, pytest.param(C64, marks=pytest.mark.sweep)], ids=str)


def draw(*shape, dtype=C128, seed=0):
    """Complex numbers of all quadrants; the first is 0."""
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=C128).to(dtype)
    made.view(-1)[:1] = 0
    return made


UNARY = (
    *("abs", "angle", "sgn", "neg", "exp", "sqrt", "square", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("sigmoid", "isnan", "_conj", "conj_physical", "_conj_physical", "view_as_real", "real", "imag"),
)


@dtypes
@pytest.mark.parametrize("op", UNARY)
def test_functions_of_one_tensor(op, dtype):
    check(f"{op}.default", draw(5, 7, dtype=dtype))


@dtypes
@pytest.mark.parametrize("op", ["log", "log2", "log10", "rsqrt", "reciprocal"])
def test_functions_without_a_value_at_0(op, dtype):
    check(f"{op}.default", draw(5, 7, dtype=dtype)[1:])


@dtypes
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "eq", "ne"])
def test_arithmetic_of_complex_and_real_operands(op, dtype):
    x, y = draw(4, 3, dtype=dtype), draw(3, dtype=dtype, seed=1) + 1
    for other in (y, y.real.contiguous(), torch.tensor([1, -2, 3])):
        check(f"{op}.Tensor", x, other)
    check(f"{op}.Tensor", x.real.contiguous(), y)
    for number in (2, -0.5, 1j, 2 - 3j):
        check(f"{op}.Scalar", x, number)


@dtypes
def test_arithmetic_with_factors(dtype):
    x, y, z = (draw(3, 3, dtype=dtype, seed=seed) + 2 for seed in range(3))
    check("add.Tensor", x, y, alpha=2)
    check("sub.Tensor", x, y, alpha=1 - 1j)
    check("rsub.Scalar", x, 1j)
    check("addcmul.default", x, y, z, value=2j)
    check("addcdiv.default", x, y, z, value=-1)
    for op in ("mm.default", "matmul.default"):
        check(op, x, y)
    check("bmm.default", x[None], y[None])
    check("addmm.default", x, y, z, alpha=1j, beta=2)
    check("addmm.default", x, y, z, beta=0)
    check("vdot.default", x[0], y[0])
    check("dot.default", x[0], y[0])
    check("addr.default", x, y[0], z[0], alpha=1j)
    check("addbmm.default", x, y[None], z[None], beta=2)


@dtypes
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -2, 8, 0.5, -1.5, 2 - 1j, 9])
def test_powers(exponent, dtype):
    base = draw(4, 3, dtype=dtype)
    base = base[1:] if complex(exponent).real < 0 else base
    check("pow.Tensor_Scalar", base, exponent, tolerance=1e-3 if dtype == C64 else None)
    if exponent:
        check("pow.Tensor_Tensor", base, torch.full((3,), exponent, dtype=dtype), tolerance=1e-3)
    check("pow.Scalar", 2 + 1j, draw(5, dtype=dtype))


@dtypes
def test_ops_by_parts(dtype):
    x, y = draw(4, 6, dtype=dtype), draw(4, 2, dtype=dtype, seed=1)
    mask = torch.arange(6) % 2 == 0
    check("view.default", x, [3, 8])
    check("cat.default", [x, y, y.real.contiguous()], 1)
    check("slice_scatter.default", x, y, 1, 1, 3)
    check("slice_backward.default", y, [4, 9], 1, 2, 8, 3)
    check("sum.dim_IntList", x, [0])
    check("mean.dim", x, [1], True)
    check("cumsum.default", x, 1)
    check("where.self", mask, x, x.real.contiguous())
    check("where.ScalarOther", mask, x, 2j)
    check("masked_fill.Scalar", x, mask, 1 + 1j)
    check("index.Tensor", x, [torch.tensor([0, 2]), torch.tensor([5, 1])])
    check("index_put.default", x, [torch.tensor([0, 2])], x[:2], True)
    check("constant_pad_nd.default", x, [1, 2], 1j)
    check("full.default", [2, 3], 2 - 1j, dtype=dtype)
    check("_to_copy.default", x, dtype=torch.float32)
    check("_to_copy.default", x, dtype=torch.bool)
    check("_to_copy.default", x.real.contiguous(), dtype=dtype)
    check("linalg_vector_norm.default", x, 2, [1])
    check("complex.default", x.real.contiguous(), x.imag.contiguous())
    check("polar.default", x.abs(), x.angle())
    check("view_as_complex.default", torch.view_as_real(x))


def test_dynamic_sizes():
    check_sizes("mul.Tensor", lambda n: (draw(n, 3), draw(3, seed=1)))
    check_sizes("bmm.default", lambda n: (draw(n, 2, 3), draw(n, 3, 2, seed=1)))
    check_sizes("sum.dim_IntList", lambda n: (draw(n, 3), [0]))


def test_ops_without_a_rule_are_refused_with_a_remedy():
    with pytest.raises(UnsupportedError, match=r"no lowering of complex.*view_as_real"):
        check("acosh.default", draw(3))


def test_complex_arguments_of_the_dialect():
    for number in (1j, 2 - 3j, complex("nan"), complex(0, -float("inf"))):
        assert repr(from_attribute(to_attribute(number))) == repr(number)


def test_all_refused_ops_are_listed():
    def function(z):
        return torch.acosh(z), torch.asin(z), torch.acosh(z).sqrt()

    with pytest.raises(UnsupportedError, match=r"(?s)acosh.*asin"):
        export(function, (draw(3),))


def test_complex_inputs_and_results_have_their_parts_along_a_last_axis():
    z = draw(3, dtype=C64)
    compiled = export(lambda z: z * z.conj() + 1j, (z,), dynamic_shapes=({0: "n"},))
    assert [info.shape for info in (*compiled.inputs, *compiled.outputs)] == [("n", 2), ("n", 2)]
    assert any("complex z and output: real in the model" in remark.message for remark in compiled.remarks)
    found = compiled.run({"z": torch.view_as_real(z).numpy()})["output"]
    assert np.allclose(found, torch.view_as_real(z * z.conj() + 1j), atol=1e-6)


def layer():
    """A module with complex parameters, which writes a part of a spectrum."""

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            generator = torch.Generator().manual_seed(0)
            self.weight = torch.nn.Parameter(torch.randn(2, 3, 4, generator=generator, dtype=C64))

        def forward(self, x):
            spectrum = torch.fft.rfft(x)
            made = torch.zeros(x.shape[0], 3, spectrum.shape[-1], dtype=C64)
            made[:, :, :4] = torch.einsum("bix,iox->box", spectrum[:, :, :4], self.weight)
            return torch.fft.irfft(made, n=x.shape[-1])

    return Layer()


@pytest.mark.parametrize("weights", ["constant", "required"])
def test_a_spectral_layer_with_complex_weights_and_its_gradients(weights):
    module, x = layer(), torch.randn(2, 2, 10, requires_grad=True)

    def function(x):
        return torch.autograd.grad(module(x).square().sum(), (x, module.weight))

    compiled = export(function, (x,), dynamic_shapes=({0: "batch", 2: "points"},), weights=weights)
    assert compiled.outputs[1].shape == (2, 3, 4, 2)


def test_one_part_is_taken_without_the_other():
    compiled = export(lambda x: torch.fft.rfft(x).imag, (torch.randn(3, 8),))
    assert [node.op_type for node in compiled.model.graph.node] == ["MatMul"]


def test_ones_like_a_complex_tensor_are_real():
    check("new_ones.default", draw(5, 4), [5, 1])
    check("ones_like.default", draw(5, 4))
