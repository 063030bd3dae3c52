"""Lowerings of views, joins and reductions against PyTorch, also at sizes that were not traced."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dialects.support.diagnostics import UnsupportedError  # noqa: E402
from tests.support.aten_samples import check, check_sizes  # noqa: E402


def draw(*shape, dtype=torch.float32, seed=0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3).to(dtype)


def test_reshapes_of_dynamic_sizes():
    check_sizes("view.default", lambda n: (draw(n, 4, 3), [4 * n, 3]))
    check_sizes("view.default", lambda n: (draw(n, 4, 3), [n, 12]))
    check_sizes("view.default", lambda n: (draw(n, 4 * n), [n, 2, 2, n]))
    check_sizes("view.default", lambda n: (draw(n, 0), [0, n, 3]))
    check_sizes("expand.default", lambda n: (draw(1, 3), [n, 3]))
    check_sizes("squeeze.default", lambda n: (draw(1, n, 1),), (0, 3))
    check_sizes("repeat.default", lambda n: (draw(n, 2), [2, n, 3]))


def test_slices_of_dynamic_sizes():
    check_sizes("slice.Tensor", lambda n: (draw(n + 3, 2), 0, 1, n + 1, 1), (1, 3))
    check_sizes("slice.Tensor", lambda n: (draw(2, n), -1, -2, None, 1), (2, 3))
    check_sizes("select.int", lambda n: (draw(n, 2), 0, -1), (1, 3))
    check_sizes("roll.default", lambda n: (draw(n, 2), [2], [0]))
    check_sizes("roll.default", lambda n: (draw(n, 2), [3]))
    check_sizes("split.Tensor", lambda n: (draw(2 * n, 2), n), (1, 3))
    check_sizes("pixel_shuffle.default", lambda n: (draw(n, 4, 2, 3), 2))


def test_views_at_special_sizes():
    check("cat.default", [draw(0), draw(2, 3), draw(0, 3)], 0)
    check("cat.default", [draw(2, dtype=torch.int64), draw(2)], 0)
    check("transpose.int", torch.tensor(2.0), 0, -1)
    check("flip.default", draw(2, 3, 4), [0, -1])
    check("roll.default", draw(5, 3), [7, -1], [0, 1])
    check("stack.default", [draw(2), draw(2)], -1)
    check("unbind.int", draw(2, 3), 1)
    check("pixel_unshuffle.default", draw(2, 1, 4, 6), 2)
    check("copy.default", draw(2, 3), draw(3, dtype=torch.float64))
    check("_to_copy.default", torch.tensor([0.0, 0.5, float("nan")]), dtype=torch.bool)


def test_strides_other_than_those_of_a_reshape_are_refused():
    check("as_strided.default", draw(6), [2, 3], [3, 1])
    with pytest.raises(UnsupportedError, match="overlapping"):
        check("as_strided.default", draw(6), [3, 3], [1, 1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool], ids=str)
def test_reductions_in_dtypes(dtype):
    x = draw(3, 4, dtype=dtype)
    check("sum.dim_IntList", x, [0])
    check("amax.default", x, [1], True)
    check("any.dim", x, 1)
    check("all.default", x)
    check("max.dim", x, 0)


def test_reductions_of_nothing():
    check("sum.default", draw(0, 3))
    check("prod.default", draw(0, 3))
    check("mean.dim", draw(0, 3), [0])
    check("any.dim", draw(0, 3), 0)
    check("all.dim", draw(0, 3), 0)
    check("linalg_vector_norm.default", draw(0, 3), 2, [0])
    check("logsumexp.default", torch.full((2, 2), -float("inf")), [0])


def test_reductions_of_dynamic_sizes():
    check_sizes("mean.dim", lambda n: (draw(n, 3), [0]))
    check_sizes("var.correction", lambda n: (draw(n, 3), [0]), (1, 3))
    check_sizes("var_mean.correction", lambda n: (draw(n, 3), [0]), (2, 3))
    check_sizes("argmax.default", lambda n: (draw(n, 3),), (1, 3))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 2.5, float("inf"), -float("inf")])
def test_norms(order):
    check("linalg_vector_norm.default", draw(3, 4), order, [0], True)
    check("linalg_vector_norm.default", draw(3, 4), order)


def test_products_with_sums():
    check("addmm.default", draw(4), draw(3, 5), draw(5, 4), beta=0.5, alpha=2)
    check("addmm.default", draw(4), draw(3, 0), draw(0, 4))
    check("addmm.default", draw(4).double(), draw(3, 2).double(), draw(2, 4).double(), beta=0.2, alpha=0.6)
    check("mm.default", draw(3, 0), draw(0, 4))
    check("baddbmm.default", draw(2, 3, 4), draw(2, 3, 5), draw(2, 5, 4), beta=0)
    check("addmv.default", draw(3), draw(3, 5), draw(5))
    check("dot.default", draw(4), draw(4, seed=1))
    check("mm.default", draw(3, 2, dtype=torch.int64), draw(2, 4, dtype=torch.int64))
    check_sizes("mm.default", lambda n: (draw(3, n), draw(n, 2)))
