"""Lowerings of resampling, padding and embedding, forward and backward, against PyTorch."""

from __future__ import annotations

from functools import partial

import pytest

torch = pytest.importorskip("torch")

from dialects.support.diagnostics import UnsupportedError  # noqa: E402
from tests.support.aten_samples import check, check_sizes, overload  # noqa: E402

F32, F64 = torch.float32, torch.float64
DTYPES = [F32, pytest.param(F64, marks=pytest.mark.sweep)]


def draw(*shape, dtype=F32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


AXES = {
    "upsample_nearest1d": 1,
    "upsample_nearest2d": 2,
    "upsample_nearest3d": 3,
    "_upsample_nearest_exact2d": 2,
    "upsample_linear1d": 1,
    "upsample_bilinear2d": 2,
    "upsample_trilinear3d": 3,
    "upsample_bicubic2d": 2,
}


def corners(name):
    """Return the choices of `align_corners` as lists of arguments."""
    return [[]] if "nearest" in name else [[False], [True]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", AXES)
def test_resampling(name, dtype):
    n = AXES[name]
    for x, y, scales in (((3, 10, 2), (10, 3, 4), []), ((10, 4, 3), (17, 6, 5), [1.7] * n)):
        x, y = list(x[:n]), list(y[:n])
        for choice in corners(name):
            data, g = draw(2, 1, *x, dtype=dtype), draw(2, 1, *y, dtype=dtype)
            check(f"{name}.default", data, y, *choice, *scales)
            check(f"{name}_backward.default", g, y, [2, 1, *x], *choice, *scales)


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("name", AXES)
def test_resampling_of_dynamic_sizes(name, dtype):
    n = AXES[name]

    def forward(k, choice, *, to_twice):
        y = [2 * k if to_twice else 7, *[5, 2][: n - 1]]
        return draw(2, 1, k, *[3, 4][: n - 1], dtype=dtype), y, *choice

    def backward(k, choice, *, to_twice):
        x, y, *_ = forward(k, choice, to_twice=to_twice)
        return draw(2, 1, *y, dtype=dtype, seed=1), y, list(x.shape), *choice

    def backward_of_batch(k, choice):
        y = [7, 5, 2][:n]
        return draw(k, 1, *y, dtype=dtype), y, [k, 1, *[4, 3, 4][:n]], *choice

    for choice in corners(name):
        for to_twice in (True, False):
            check_sizes(f"{name}.default", partial(forward, choice=choice, to_twice=to_twice), (1, 4))
            check_sizes(
                f"{name}_backward.default", partial(backward, choice=choice, to_twice=to_twice), (1, 4)
            )
        check_sizes(f"{name}_backward.default", partial(backward_of_batch, choice=choice))


def test_a_factor_that_changes_no_size_is_refused():
    with pytest.raises(UnsupportedError, match="a scale that may change no size"):
        check("upsample_nearest1d.default", draw(1, 1, 5), [5], 1.1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["reflection_pad", "replication_pad"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_padding(name, n, dtype):
    for pad in ([1, 2, 2, 0, 1, 1][: 2 * n], [-1, 1] * n):
        x = draw(2, 3, *[5, 6, 4][:n], dtype=dtype)
        y = overload(f"{name}{n}d.default")(x, pad)
        check(f"{name}{n}d.default", x, pad)
        check(f"{name}{n}d_backward.default", draw(*y.shape, dtype=dtype), x, pad)


@pytest.mark.parametrize("name", ["reflection_pad1d", "replication_pad1d"])
def test_padding_of_dynamic_sizes(name):
    for shape in (lambda k: (k, 2, 5), lambda k: (2, 3, k)):
        sizes = (1, 4) if shape(0)[0] == 0 else (3, 4)
        check_sizes(f"{name}.default", lambda k, shape=shape: (draw(*shape(k)), [1, 2]), sizes)
        wider = lambda k, shape=shape: (*shape(k)[:2], shape(k)[2] + 3)  # noqa: E731
        check_sizes(
            f"{name}_backward.default",
            lambda k, shape=shape, wider=wider: (draw(*wider(k)), draw(*shape(k)), [1, 2]),
            sizes,
        )


@pytest.mark.parametrize("by_frequency", [False, True])
def test_embeddings(by_frequency):
    indices = torch.tensor([[1, 2, 2], [0, 6, 1]])
    check("embedding.default", draw(7, 4), indices, -1, by_frequency, False)
    for padding in (-1, 2):
        check("embedding_dense_backward.default", draw(2, 3, 4), indices, 7, padding, by_frequency)
    check_sizes(
        "embedding_dense_backward.default",
        lambda k: (draw(k, 3, 4), torch.arange(3).repeat(k, 1), 7, 1, by_frequency),
    )
