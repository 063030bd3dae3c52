"""Lowerings of ATen ops against PyTorch, at hand-picked arguments."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tests.support.aten_samples import check, check_sizes  # noqa: E402

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int64]


def draw(*shape, dtype=torch.float32, seed=0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arithmetic_has_torchs_dtype(dtype):
    x, y = draw(3, 4, dtype=dtype), draw(4, dtype=dtype, seed=1)
    check("mul.Tensor", x, y)
    check("add.Tensor", x, y, alpha=2)


def test_a_sum_at_sizes_that_were_not_traced():
    check_sizes("sum.dim_IntList", lambda n: (draw(n, 3), [0]))
    check_sizes("view.default", lambda n: (draw(n, 3), [3 * n]))
