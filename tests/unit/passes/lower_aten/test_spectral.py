"""Eigenvalues, singular values, QR factorizations, pseudo-inverses and exponentials against PyTorch."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from gradc.torch.export_function import export
from gradc.verification.gradient_spec import CheckError
from tests.support.aten_samples import check, check_sizes

F32, F64 = torch.float32, torch.float64
dtypes = pytest.mark.parametrize("dtype", [F64, F32], ids=str)


def draw(*shape, dtype=F64, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64).to(dtype)


def tolerance(dtype):
    return 3e-5 if dtype == F32 else 1e-12


SYMMETRIC = {
    "zeros": torch.zeros(3, 3),
    "identity": torch.eye(4),
    "ones": torch.ones(5, 5),
    "off_the_diagonal": torch.tensor([[0.0, 1.0], [1.0, 0.0]]),
    "equal_eigenvalues": torch.diag(torch.tensor([3.0, -1.0, 2.0, 2.0])) + 0.5,
    "one_row": torch.tensor([[-2.0]]),
    "no_row": torch.zeros(2, 0, 0),
    "no_matrix": torch.zeros(0, 3, 3),
    **{f"drawn_{n}": draw(2, n, n) for n in (2, 3, 6, 9, 20)},
}


@dtypes
@pytest.mark.parametrize("name", SYMMETRIC)
def test_eigenvalues(name, dtype):
    a = SYMMETRIC[name].to(dtype)
    for triangle in "LU":
        check("_linalg_eigh.default", a, triangle, tolerance=tolerance(dtype))


@dtypes
@pytest.mark.parametrize("scale", [1e-25, 1e15])
def test_eigenvalues_of_far_magnitudes(scale, dtype):
    a = draw(4, 4)
    values = torch.linalg.eigvalsh(scale * a)
    given = (scale * a).to(dtype)
    compiled = export(torch.linalg.eigvalsh, (given,))
    found = torch.from_numpy(compiled.run({"input_0": given.numpy()})["output"])
    assert (found - values).abs().max() <= tolerance(dtype) * values.abs().max()


MATRICES = {
    "zeros": torch.zeros(4, 3),
    "rank_one": torch.ones(4, 3),
    "a_column_of_zeros": draw(5, 3) * torch.tensor([1.0, 0.0, 1.0]),
    "two_equal_columns": torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    "no_row": torch.zeros(0, 3),
    "no_column": torch.zeros(3, 0),
    **{f"drawn_{r}_{n}": draw(2, r, n) for r, n in ((1, 1), (3, 3), (5, 3), (3, 5), (1, 3), (12, 9))},
}


@dtypes
@pytest.mark.parametrize("name", MATRICES)
def test_factors_of_matrices(name, dtype):
    a, bound = MATRICES[name].to(dtype), tolerance(dtype)
    for full in (False, True):
        check("_linalg_svd.default", a, full, tolerance=bound)
        check("_linalg_svd.default", a, full, False, tolerance=bound)
    for mode in ("reduced", "complete", "r") if name != "rank_one" else ():  # whose Q is not determined
        check("linalg_qr.default", a, mode, tolerance=bound)
    check("linalg_pinv.atol_rtol_tensor", a, tolerance=10 * bound)
    check("linalg_pinv.atol_rtol_tensor", a, atol=torch.tensor(0.5, dtype=F64), tolerance=10 * bound)


@dtypes
@pytest.mark.parametrize(("rows", "scale"), [(1, 1.0), (3, 0.1), (3, 3.0), (9, 1.0), (0, 1.0)])
def test_exponentials(rows, scale, dtype):
    """The matrices of a batch differ in how often they are squared."""
    a = draw(2, rows, rows) * scale * torch.tensor([1.0, 1e-3])[:, None, None]
    check("linalg_matrix_exp.default", a.to(dtype), tolerance=tolerance(dtype))


def test_dynamic_sizes():
    sizes = (0, 1, 2, 5, 10)
    check_sizes("_linalg_eigh.default", lambda n: (draw(n, n), "L", False), sizes)
    check_sizes("linalg_qr.default", lambda n: (draw(n, n),), sizes)
    check_sizes("linalg_matrix_exp.default", lambda n: (draw(n, n) / 4,), sizes)
    check_sizes("_linalg_svd.default", lambda n: (draw(n + 2, 3), False, False), (1, 2, 9))
    check_sizes("linalg_pinv.atol_rtol_tensor", lambda n: (draw(n + 2, 3),), (1, 2, 9))


def gradients(function):
    def call(a):
        made = function(a)
        return made, torch.autograd.grad(made.sin().sum(), a)

    return call


def symmetric(a):
    return a[:, :3] @ a[:, :3].mT + torch.diag(torch.tensor([1.0, 2.0, 4.0], dtype=a.dtype))


def root(a):
    values, vectors = torch.linalg.eigh(symmetric(a))
    return vectors * values.sqrt().unsqueeze(-2) @ vectors.mT


def rotation(a):
    u, _, v = torch.linalg.svd(a[:, :3, :3] + 2 * torch.eye(3, dtype=a.dtype))
    return u @ v


FUNCTIONS = {
    "eigenvalues": lambda a: torch.linalg.eigvalsh(symmetric(a)),
    "root": root,
    "rotation": rotation,
    "singular_values": torch.linalg.svdvals,
    "nuclear_norm": lambda a: torch.linalg.matrix_norm(a, "nuc"),
    "spectral_norm": lambda a: torch.linalg.matrix_norm(a, 2),
    "condition": torch.linalg.cond,
    "qr": lambda a: torch.cat([one.flatten(1) for one in torch.linalg.qr(a)], 1),
    "pseudo_inverse": torch.linalg.pinv,
    "least_squares": lambda a: torch.linalg.lstsq(a, a[..., :1].sin() + 1).solution,
    "shortest_solution": lambda a: torch.linalg.lstsq(a.mT, a.mT[..., :1].sin() + 1).solution,
    "exponential": lambda a: torch.linalg.matrix_exp(a[:, :3] - a[:, :3].mT),
    "rank": lambda a: a.sum((1, 2)) * torch.linalg.matrix_rank(a),
}


@pytest.mark.sweep
@dtypes
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name, dtype):
    """The export compares with the function itself, at a dynamic batch of other sizes."""
    columns = 3
    a = draw(2, 5, columns, dtype=dtype).requires_grad_()
    assert export(gradients(FUNCTIONS[name]), (a,), dynamic_shapes=({0: "batch"},)).outputs


def test_all_results_of_least_squares():
    a, b = draw(5, 3), draw(5, seed=1)
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        compiled = export(lambda a, b, d=driver: tuple(torch.linalg.lstsq(a, b[:, None], driver=d)), (a, b))
        assert len(compiled.outputs) == 4


def test_second_derivatives():
    def curvature(a):
        (first,) = torch.autograd.grad(torch.linalg.eigvalsh(symmetric(a)).log().sum(), a, create_graph=True)
        return torch.autograd.grad(first.square().sum(), a)

    assert export(curvature, (draw(2, 3, 3).requires_grad_(),)).outputs


SIGNED = {
    "eigenvectors": lambda a: torch.linalg.eigh(symmetric(a))[1],
    "left_vectors": lambda a: torch.linalg.svd(a)[0],
    "right_vectors": lambda a: torch.linalg.svd(a, full_matrices=False)[2],
    "one_vector": lambda a: torch.linalg.eigh(symmetric(a))[1][:, :, -1] + 1,
}


@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_function_of_signs_is_an_error_of_the_check(name, seed):
    """Also where those of the example agree by chance."""
    with pytest.raises(CheckError, match="known up to their signs"):
        export(SIGNED[name], (draw(1, 3, 3, seed=seed),))


def test_vectors_of_a_chosen_sign():
    def chosen(a):
        vectors = torch.linalg.eigh(symmetric(a))[1]
        return vectors * vectors.sum(1, keepdim=True).sign()

    assert export(chosen, (draw(4, 3, 3),)).outputs
