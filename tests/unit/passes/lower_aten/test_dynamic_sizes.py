"""Lowerings of ATen ops at sizes that were not traced, 0 and 1 among them, against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tests.support.aten_samples import check_sizes  # noqa: E402

WHOLE = 2**63 - 1


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3


CASES = [
    ("logsumexp.default", lambda n: (draw(n, 3), [0]), (0, 1, 3)),
    ("prod.dim_int", lambda n: (draw(n, 3), 0), (0, 1, 3)),
    ("amax.default", lambda n: (draw(n, 3), [1]), (0, 1, 3)),
    ("addmm.default", lambda n: (draw(4), draw(n, 3), draw(3, 4)), (0, 1, 3)),
    ("addmm.default", lambda n: (draw(4), draw(2, n), draw(n, 4)), (0, 1, 3)),
    ("bmm.default", lambda n: (draw(n, 2, n), draw(n, n, 4)), (0, 1, 3)),
    ("cat.default", lambda n: ([draw(n, 2), draw(2 * n, 2)], 0), (0, 1, 3)),
    ("stack.default", lambda n: ([draw(n, 2), draw(n, 2)], 1), (0, 1, 3)),
    ("pixel_unshuffle.default", lambda n: (draw(1, 2, 2 * n, 4), 2), (1, 3)),
    ("one_hot.default", lambda n: (torch.zeros(n, dtype=torch.long), 4), (0, 1, 3)),
    (
        "std.correction",
        lambda n: (
            draw(n, 2, n),
            None,
        ),
        (2, 3),
    ),
    ("linalg_vector_norm.default", lambda n: (draw(n, 3), 2, [1]), (0, 1, 3)),
    ("linalg_vector_norm.default", lambda n: (draw(n, 3), float("inf"), [1]), (0, 1, 3)),
    ("topk.default", lambda n: (draw(n, 5), 2, 1), (0, 1, 3)),
    ("topk.default", lambda n: (draw(3, n), n, 1), (0, 1, 3)),
    ("index_select.default", lambda n: (draw(4, 3), 0, torch.zeros(n, dtype=torch.long)), (0, 1, 3)),
    (
        "index_put.default",
        lambda n: (draw(4, 3), [torch.zeros(n, dtype=torch.long)], draw(n, 3), True),
        (0, 1, 3),
    ),
    (
        "index_put.default",
        lambda n: (draw(n, 3), [torch.zeros(n, dtype=torch.bool)], torch.tensor(1.0), False),
        (0, 1, 3),
    ),
    (
        "scatter_reduce.two",
        lambda n: (
            draw(n, 3),
            0,
            torch.zeros(n, 3, dtype=torch.long),
            draw(n, 3),
            "mean",
        ),
        (0, 1, 3),
    ),
    ("masked_fill.Scalar", lambda n: (draw(n, 3), draw(n, 1) > 0, 1.0), (0, 1, 3)),
    ("unbind.int", lambda n: (draw(n, 3), 1), (0, 1, 3)),
    ("split_with_sizes.default", lambda n: (draw(n + 2, 3), [2, n], 0), (0, 1, 3)),
    ("flip.default", lambda n: (draw(n, 3), [0]), (0, 1, 3)),
    ("roll.default", lambda n: (draw(n, 3), [1], [0]), (0, 1, 3)),
    ("roll.default", lambda n: (draw(n, 3), [n], [1]), (1, 2)),
    ("triu.default", lambda n: (draw(n, n), 1), (0, 1, 3)),
    ("diag_embed.default", lambda n: (draw(n, 3),), (0, 1, 3)),
    ("diag_embed.default", lambda n: (draw(2, n),), (0, 1, 3)),
    ("diag_embed.default", lambda n: (draw(2, n), 1), (0, 1, 3)),
    ("diagonal_scatter.default", lambda n: (draw(n, n), draw(n)), (0, 1, 3)),
    ("slice_backward.default", lambda n: (draw(n - 1, 3), [n, 3], 0, 0, -1, 1), (1, 3)),
    ("slice_backward.default", lambda n: (draw(2, 3), [n, 3], 0, -2, WHOLE, 1), (2, 3)),
    ("slice_scatter.default", lambda n: (draw(n, 3), draw(2, 3), 0, -2, WHOLE, 1), (2, 3)),
    ("slice_scatter.default", lambda n: (draw(2 * n, 3), draw(n, 3), 0, 1, WHOLE, 2), (1, 3)),
    ("constant_pad_nd.default", lambda n: (draw(n, 3), [n, n - 1]), (1, 3)),
    ("constant_pad_nd.default", lambda n: (draw(n, 3), [0, 0, 0, 3 - n]), (1, 3)),
    ("div.Scalar", lambda n: (draw(n, 3), n), (1, 3)),
    ("mul.Scalar", lambda n: (torch.arange(n), n), (0, 1, 3)),
    ("pow.Tensor_Scalar", lambda n: (draw(n), n), (1, 3)),
    ("clamp.default", lambda n: (torch.arange(n), 0, n - 1), (1, 3)),
    ("lt.Scalar", lambda n: (torch.arange(5), n), (0, 1, 3)),
    ("view.default", lambda n: (draw(n, n), [n * n]), (0, 1, 3)),
    ("view.default", lambda n: (draw(n * n), [n, n]), (0, 1, 3)),
    ("expand.default", lambda n: (draw(1, n), [n, n]), (0, 1, 3)),
    ("repeat.default", lambda n: (draw(3), [n, 1]), (0, 1, 3)),
    ("arange.start_step", lambda n: (n - 1, -1, -1), (0, 1, 3)),
    ("arange.start_step", lambda n: (0.0, float(3), 1.0), (0, 1, 3)),
    ("scalar_tensor.default", lambda n: (n,), (0, 1, 3)),
    ("full.default", lambda n: ([], n), (0, 1, 3)),
    ("cumsum.default", lambda n: (draw(2, n), 1), (0, 1, 3)),
    ("var_mean.correction", lambda n: (draw(n, 3), [0]), (1, 2)),
    ("argmin.default", lambda n: (draw(2, n + 1), 1, True), (0, 1, 3)),
    ("any.dim", lambda n: (draw(2, n) > 9, 1), (0, 1, 3)),
    ("all.dim", lambda n: (draw(2, n) < 9, 1), (0, 1, 3)),
    ("max.dim", lambda n: (draw(n, 2), 1), (0, 1, 3)),
    ("unfold.default", lambda n: (draw(n, 5), 1, 3, 1), (0, 1, 3)),
    ("as_strided.default", lambda n: (draw(n, 6), [n, 2, 3], [6, 3, 1]), (0, 1, 3)),
]
"""Ops, their arguments at N = n, and the sizes at which they are compared."""


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("op", "make", "sizes"), CASES, ids=[f"{case[0].split('.')[0]}-{i}" for i, case in enumerate(CASES)]
)
def test_sizes_that_were_not_traced(op, make, sizes):
    check_sizes(op, make, sizes)
