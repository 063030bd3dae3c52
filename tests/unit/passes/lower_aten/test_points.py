"""Lowerings of adaptive pools, grid sampling, distances, columns and small matrices against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dialects.aten.remedies import remedy_of  # noqa: E402
from dialects.support.diagnostics import UnsupportedError  # noqa: E402
from tests.support.aten_samples import (  # noqa: E402
    OneOp,
    bind,
    check,
    check_sizes,
    difference,
    dtype_name,
    overload,
    run,
)

F32, F64 = torch.float32, torch.float64
DTYPES = [F32, pytest.param(F64, marks=pytest.mark.sweep)]


def draw(*shape, dtype=F32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


PARTS = [((6, 8, 4), (1, 1, 1)), ((6, 8, 4), (3, 4, 2)), ((5, 7, 4), (3, 2, 3)), ((3, 4, 2), (5, 6, 3))]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("x", "y"), PARTS)
@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.sweep)])
def test_adaptive_pools(n, x, y, dtype):
    parts = list(y[:n])
    for lead in ((2, 3), (3,)):
        data, g = draw(*lead, *x[:n], dtype=dtype), draw(*lead, *parts, dtype=dtype, seed=1)
        check(f"_adaptive_avg_pool{n}d.default", data, parts)
        check(f"_adaptive_avg_pool{n}d_backward.default", g, data)
        _, indices = overload(f"adaptive_max_pool{n}d.default")(data, parts)
        check(f"adaptive_max_pool{n}d.default", data, parts)
        check(f"adaptive_max_pool{n}d_backward.default", g, data, indices)


def test_adaptive_pools_of_dynamic_sizes():
    for parts in ([1, 1], [3, 2]):
        check_sizes("_adaptive_avg_pool2d.default", lambda n, y=parts: (draw(2, 3, n, 5), y), (1, 2, 5))
        check_sizes(
            "_adaptive_avg_pool2d_backward.default",
            lambda n, y=parts: (draw(2, 3, *y), draw(2, 3, n, 5)),
            (1, 2, 5),
        )
    check_sizes("adaptive_max_pool2d.default", lambda n: (draw(2, 3, n, 5), [1, 1]), (1, 2))
    with pytest.raises(UnsupportedError, match="parts that depend on a dim"):
        check_sizes("adaptive_max_pool2d.default", lambda n: (draw(2, 3, n, 5), [3, 2]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_grid_sampling(mode, dtype):
    for padding, corners in ((0, False), (1, True), (2, False)):
        x, grid = draw(2, 3, 5, 6, dtype=dtype), draw(2, 4, 2, 2, dtype=dtype, seed=1) * 0.8
        rest = (mode, padding, corners)
        check("grid_sampler_2d.default", x, grid, *rest, tolerance=1e-4 if dtype == F32 else None)
        g = draw(2, 3, 4, 2, dtype=dtype, seed=2)
        check(
            "grid_sampler_2d_backward.default",
            *(g, x, grid, *rest, [True, True]),
            tolerance=1e-4 if dtype == F32 else None,
        )


def test_grid_sampling_at_other_sizes():
    check_sizes(
        "grid_sampler_2d_backward.default",
        lambda n: (draw(n, 3, 4, 2), draw(n, 3, 5, 6), draw(n, 4, 2, 2) * 0.7, 0, 0, False, [True, True]),
    )


def test_grid_sampling_of_volumes():
    x, grid, g = draw(1, 2, 3, 4, 3), draw(1, 2, 3, 2, 3, seed=1) * 0.7, draw(1, 2, 2, 3, 2)
    check("grid_sampler_3d.default", x, grid, 0, 0, False)
    check("grid_sampler_3d_backward.default", g, x, grid, 0, 0, False, [True, True])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, float("inf"), 3.0, 0.5])
def test_distances(p, dtype):
    def arguments(n, *lead, is_backward=False):
        x, y = draw(*lead, n, 3, dtype=dtype), draw(*lead, 4, 3, dtype=dtype, seed=1)
        if n:  # one distance of 0, and one difference
            x[..., 0, :] = y[..., 1, :]
            x[..., 0, 0] = y[..., 2, 0]
        if not is_backward:
            return (x, y, p, None)
        distances = torch.ops.aten._cdist_forward(x, y, p, None)
        return (draw(*distances.shape, dtype=dtype, seed=2), x, y, p, distances)

    check("_cdist_forward.default", *arguments(3, 2))
    check("_cdist_backward.default", *arguments(3, 2, is_backward=True))
    check("_cdist_backward.default", draw(0, 4, 3), draw(1, 4, 5), draw(0, 3, 5), p, draw(0, 4, 3))
    check_sizes("_cdist_forward.default", arguments)
    check_sizes("_cdist_backward.default", lambda n: arguments(n, is_backward=True))


@pytest.mark.parametrize("rest", [([2, 3], [1, 1], [0, 0], [1, 1]), ([2, 2], [2, 1], [1, 2], [2, 1])])
def test_columns(rest):
    for lead in ((2, 3), (3,)):
        x = draw(*lead, 6, 7)
        columns = torch.ops.aten.im2col(x, *rest)
        check("im2col.default", x, *rest)
        check("col2im.default", draw(*columns.shape), [6, 7], *rest)
        check("col2im.default", draw(*columns.shape, dtype=F64), [6, 7], *rest)
    check_sizes("im2col.default", lambda n: (draw(n, 3, 6, 7), *rest))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("op", ["linalg_inv_ex.default", "_linalg_det.default"])
def test_small_matrices_by_cofactors(op, rows, dtype):
    """Of matrices whose factors, or whose failures, nothing reads."""
    a = draw(2, rows, rows, dtype=dtype) + 3 * torch.eye(rows, dtype=dtype)
    expected, *others = overload(op)(a)
    one = OneOp(op, bind(op, (a,), {}), [(dtype_name(dtype), tuple(expected.shape)), *[None] * len(others)])
    compiled = one.compile()
    assert "ArgMax" not in {node.op_type for node in compiled.model.graph.node}
    assert not difference(run(compiled, [a])[0], expected, 1e-4 if dtype == F32 else None)


def test_remedies_name_what_can_be_written():
    assert "outside of the function" in remedy_of("linalg_eig.default")
    assert not remedy_of("mm.default")
