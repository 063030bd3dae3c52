"""Lowerings of index tensors, scatters, padded views, new tensors and order against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dialects.support.diagnostics import UnsupportedError  # noqa: E402
from tests.support.aten_samples import check, check_sizes  # noqa: E402

WHOLE = 2**63 - 1


def draw(*shape, dtype=torch.float32, seed=0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3).to(dtype)


def places(*numbers):
    return torch.tensor(numbers)


def test_parts_written_into_zeros():
    check_sizes("slice_backward.default", lambda n: (draw(n, 2), [2 * n + 1, 2], 0, 1, WHOLE, 2))
    check_sizes("slice_backward.default", lambda n: (draw(n, 2), [n + 3, 2], 0, 3, WHOLE, 1))
    check_sizes("select_backward.default", lambda n: (draw(2), [n, 2], 0, -1), (1, 3))
    check_sizes("diagonal_backward.default", lambda n: (draw(n), [n, n], 0, 0, 1))
    check_sizes("unfold_backward.default", lambda n: (draw(n, 3, 2), [n + 1, 3], 0, 2, 1), (1, 3))
    check("slice_backward.default", draw(2, 3), [2, 8], 1, 0, 7, 3)
    check("diagonal_backward.default", draw(3, 2), [4, 3, 2], -1, 0, 2)


def test_parts_written_into_a_tensor():
    check_sizes("slice_scatter.default", lambda n: (draw(n + 2, 3), draw(n, 3, seed=1), 0, 1, n + 1))
    check_sizes("select_scatter.default", lambda n: (draw(n, 3), draw(3, seed=1), 0, 0), (1, 3))
    check("slice_scatter.default", draw(2, 8), draw(2, 3, seed=1), 1, -7, 7, 2)
    check("diagonal_scatter.default", draw(3, 4), draw(3, seed=1), 1)


def test_views_of_parts():
    check_sizes("diagonal.default", lambda n: (draw(n, n + 2), 1))
    check_sizes("unfold.default", lambda n: (draw(2 * n, 3), 0, 2, 2), (1, 3))
    check_sizes("constant_pad_nd.default", lambda n: (draw(n, 3), [1, -1, 2, 0], 1.5))
    check_sizes("tril.default", lambda n: (draw(n, 3), -1))


def test_index_tensors():
    columns = places(1, 2)
    check_sizes("index.Tensor", lambda n: (draw(n, 4, 5), [None, places(0, -1), columns[:, None]]))
    check("index.Tensor", draw(3, 4, 5), [places(0, 1), None, columns])
    check_sizes(
        "index_put.default", lambda n: (draw(4, n, 5), [places(0, -1), None, columns], draw(2, n), True)
    )
    check("index_put.default", draw(3, 4), [None, places(1, 1)], torch.tensor(2.0), True)
    check("index_put.default", draw(3, 4), [draw(3, 4) > 0], torch.tensor(2.0))


def test_an_index_by_a_mask_is_refused():
    with pytest.raises(UnsupportedError, match=r"mask.*torch\.where"):
        check("index.Tensor", draw(3), [draw(3) > 0])
    with pytest.raises(UnsupportedError, match=r"mask.*torch\.where"):
        check("index_put.default", draw(2), [draw(2) < 9], draw(2))


def test_rows_and_elements():
    check_sizes("index_add.default", lambda n: (draw(4, n), 1, torch.arange(n), draw(4, n)))
    check("index_add.default", draw(4, 2), 0, places(1, 1, 3), draw(3, 2), alpha=2)
    check_sizes("gather.default", lambda n: (draw(4, n), 0, torch.zeros(2, n, dtype=torch.long)))
    check_sizes(
        "scatter_add.default", lambda n: (draw(4, n), 0, torch.zeros(2, n, dtype=torch.long), draw(3, n))
    )
    check("gather.default", draw(4, 3), 0, places(1, 2)[:, None])


@pytest.mark.parametrize("reduction", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_reductions_of_scattered_elements(reduction, include_self, dtype):
    index = torch.tensor([[0, 0, 1], [0, 2, 1]])
    x, source = draw(3, 3, dtype=dtype), draw(2, 3, dtype=dtype, seed=1)
    check("scatter_reduce.two", x, 0, index, source, reduction, include_self=include_self)


def test_new_tensors_of_dynamic_sizes():
    check_sizes("arange.start_step", lambda n: (1, 2 * n + 1, 2))
    check_sizes("eye.default", lambda n: (n,))
    check_sizes("full.default", lambda n: ([n, 3], 2.5))
    check("arange.start_step", 0.5, 2.0, 0.3)
    check("linspace.default", 0, 1, 7)
    check("linspace.default", 3, -8, 5, dtype=torch.int64)


def test_order():
    check_sizes("sort.default", lambda n: (draw(n, 3), 0))
    check("sort.stable", places(2, 1, 2, 1), stable=True, descending=True)
    check("topk.default", draw(3, 5), 2, -1, False)
    check("bucketize.Tensor", places(0, 1, 2, 5), places(1, 2, 4), right=True)


@pytest.mark.parametrize("op", ["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"])
def test_running_reductions(op):
    check(f"{op}.default", draw(3, 4, 2), 1)
    check_sizes(f"{op}.default", lambda n: (draw(n, 3), 0), (1, 3))


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 2.5, float("inf")])
def test_distances_of_rows(p):
    x, y = draw(2, 4, 3), draw(2, 5, 3, seed=1)
    y[:, 0] = x[:, 1]
    check("_cdist_forward.default", x, y, p, None)
    distance = torch.ops.aten._cdist_forward(x, y, p, None)
    check("_cdist_backward.default", draw(2, 4, 5), x, y, p, distance)
