"""Lowerings of factorizations and of solutions of linear equations against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dialects.support.diagnostics import UnsupportedError  # noqa: E402
from gradc.torch import export  # noqa: E402
from passes.lower_aten.elimination import MOST_UNROLLED  # noqa: E402
from tests.support.aten_samples import check, check_sizes  # noqa: E402

F32, F64 = torch.float32, torch.float64

cases = pytest.mark.parametrize(
    ("rows", "dtype"),
    [pytest.param(n, d, id=f"{n}-{d}") for n in (1, 2, 4, MOST_UNROLLED + 1) for d in (F64, F32)],
)


def draw(*shape, dtype=F64, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64).to(dtype)


def positive(rows, dtype=F64):
    a = draw(2, rows, rows, dtype=dtype)
    return a @ a.mT + torch.eye(rows, dtype=dtype)


def tolerance(dtype):
    return 1e-3 if dtype == F32 else 1e-9


@cases
def test_factors(rows, dtype):
    """Rows are swapped: in the drawn matrices few pivots are on the diagonal."""
    a, bound = draw(2, rows, rows, dtype=dtype), tolerance(dtype)
    check("linalg_lu_factor_ex.default", a, tolerance=bound)
    check("linalg_lu.default", a, tolerance=bound)
    factors, pivots, _ = torch.linalg.lu_factor_ex(a)
    check("lu_unpack.default", factors, pivots, tolerance=bound)
    check("_linalg_det.default", a, tolerance=bound)
    check("_linalg_slogdet.default", a, tolerance=bound)


@cases
def test_solutions(rows, dtype):
    a, b, bound = draw(2, rows, rows, dtype=dtype), draw(2, rows, 3, dtype=dtype, seed=1), tolerance(dtype)
    factors, pivots, _ = torch.linalg.lu_factor_ex(a)
    for left, given in ((True, b), (False, b.mT.contiguous())):
        check("_linalg_solve_ex.default", a, given, left=left, tolerance=bound)
        for adjoint in (True, False):
            check(
                "linalg_lu_solve.default", factors, pivots, given, left=left, adjoint=adjoint, tolerance=bound
            )
    check("_linalg_solve_ex.default", a[0], b[0, :, 0].contiguous(), tolerance=bound)
    check("linalg_inv_ex.default", a, tolerance=bound)


@cases
def test_triangular_solutions(rows, dtype):
    b, bound = draw(2, rows, 3, dtype=dtype, seed=1), tolerance(dtype)
    whole = draw(2, rows, rows, dtype=dtype) + 4 * torch.eye(rows, dtype=dtype)  # one half is not read
    for upper in (True, False):
        for unit in (True, False):
            rest = {"upper": upper, "unitriangular": unit, "tolerance": bound}
            check("linalg_solve_triangular.default", whole, b, **rest)
            check("linalg_solve_triangular.default", whole, b.mT.contiguous(), left=False, **rest)
            check("triangular_solve.default", b, whole, upper, not unit, unit, tolerance=bound)


@cases
def test_cholesky_factors(rows, dtype):
    a, b, bound = positive(rows, dtype), draw(2, rows, 3, dtype=dtype, seed=1), tolerance(dtype)
    for upper in (True, False):
        check("linalg_cholesky_ex.default", a, upper=upper, tolerance=bound)
        factor = torch.linalg.cholesky(a, upper=upper)
        check("cholesky_solve.default", b, factor, upper, tolerance=bound)
        check("cholesky_inverse.default", factor, upper, tolerance=bound)


def test_a_pivot_that_is_zero_is_counted():
    a = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]], dtype=F64)
    check("linalg_lu_factor_ex.default", a)
    check("linalg_lu_factor_ex.default", torch.zeros(3, 3, dtype=F64))


def test_sizes():
    dynamic = ("linalg_lu_factor_ex.default", "linalg_cholesky_ex.default", "linalg_inv_ex.default")
    for op in dynamic:
        check_sizes(op, lambda n: (positive(n),), (0, 1, 3, 10))
    check_sizes("linalg_lu_factor_ex.default", lambda n: (draw(n, 4, 4),))


def test_matrices_that_are_not_square_are_refused():
    with pytest.raises(UnsupportedError, match="not square: given 3 rows, expected 2 rows"):
        check("linalg_lu_factor_ex.default", draw(3, 2))


def gradients(function, *args):
    """Return a function of the gradients of a sum of sines of the results."""

    def call(*args):
        made = function(*args)
        return torch.autograd.grad(made.sin().sum(), args)

    return call, args


SYSTEM = (draw(2, 4, 4).requires_grad_(), draw(2, 4, 3, seed=1).requires_grad_())
SQUARE = SYSTEM[:1]
POSITIVE = (positive(4).requires_grad_(),)

FUNCTIONS = {
    "solve": gradients(torch.linalg.solve, *SYSTEM),
    "solve_of_a_transpose": gradients(lambda a, b: torch.linalg.solve(a.mT, b), *SYSTEM),
    "solve_from_the_right": gradients(lambda a, b: torch.linalg.solve(a, b.mT, left=False), *SYSTEM),
    "solve_of_a_vector": gradients(lambda a, b: torch.linalg.solve(a, b[..., 0]), *SYSTEM),
    "inverse": gradients(torch.linalg.inv, *SQUARE),
    "determinant": gradients(torch.linalg.det, *SQUARE),
    "determinant_of_a_transpose": gradients(lambda a: torch.linalg.det(a.mT), *SQUARE),
    "determinant_of_three_rows": gradients(lambda a: torch.linalg.det(a[:, :3, :3]), *SQUARE),
    "slogdet": gradients(lambda a: torch.linalg.slogdet(a)[1], *SQUARE),
    "slogdet_of_a_transpose": gradients(lambda a: torch.linalg.slogdet(a.mT)[1], *SQUARE),
    "cholesky": gradients(torch.linalg.cholesky, *POSITIVE),
    "gaussian": gradients(
        lambda a: torch.distributions.MultivariateNormal(a[:, 0], covariance_matrix=a).log_prob(a[:, 1]),
        *POSITIVE,
    ),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    """The export compares with the function itself, at a dynamic batch of other sizes."""
    function, args = FUNCTIONS[name]
    assert export(function, args, dynamic_shapes=({0: "batch"},) * len(args)).outputs


def test_the_second_derivative_of_a_solution():
    def function(a, b):
        (first,) = torch.autograd.grad(torch.linalg.solve(a, b).square().sum(), a, create_graph=True)
        return torch.autograd.grad(first.sin().sum(), (a, b))

    assert export(function, SYSTEM).outputs


def test_a_gaussian_process_of_a_dynamic_number_of_points():
    points, scale = draw(6, 2, dtype=F32), torch.tensor(1.3, requires_grad=True)

    def likelihood(x, y, scale):
        distances = (x[:, None] - x[None]).square().sum(-1)
        factor = torch.linalg.cholesky((-distances / scale**2).exp() + 0.1 * torch.eye(len(x)))
        loss = 0.5 * y @ torch.cholesky_solve(y[:, None], factor)[:, 0] + factor.diagonal().log().sum()
        return loss.detach(), torch.autograd.grad(loss, scale)[0]

    shapes = ({0: "n"}, {0: "n"}, None)
    assert export(likelihood, (points, points[:, 0].clone(), scale), dynamic_shapes=shapes).outputs
