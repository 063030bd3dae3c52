"""Lowerings of normalizations, forward and backward, against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dialects.support.diagnostics import UnsupportedError  # noqa: E402
from tests.support.aten_samples import check, check_sizes  # noqa: E402

ATEN = torch.ops.aten
F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
DTYPES = [F32, *(pytest.param(dtype, marks=pytest.mark.sweep) for dtype in (F64, F16, BF16))]


def draw(*shape, dtype=F32, seed=0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) + 0.5).to(dtype)


def layer(shape, dtype=F32, *, is_affine=True):
    """Return the arguments of a layer norm over the last axis and of its gradient."""
    x, n = draw(*shape, dtype=dtype), list(shape[-1:])
    scale, shift = (draw(*n, dtype=dtype, seed=seed) if is_affine else None for seed in (1, 2))
    _, mean, r = ATEN.native_layer_norm(x, n, scale, shift, 1e-5)
    g = draw(*shape, dtype=dtype, seed=3)
    return (x, n, scale, shift, 1e-5), (g, x, n, mean, r, scale, shift, [True, is_affine, is_affine])


def group(shape, dtype=F32):
    """Return the arguments of a group norm and of its gradient."""
    x, (batch, channels, *spatial) = draw(*shape, dtype=dtype), shape
    scale, shift = (draw(channels, dtype=dtype, seed=seed) for seed in (1, 2))
    sizes = (batch, channels, torch.Size(spatial).numel(), 2)
    _, mean, r = ATEN.native_group_norm(x, scale, shift, *sizes, 1e-5)
    g = draw(*shape, dtype=dtype, seed=3)
    return (x, scale, shift, *sizes, 1e-5), (g, x, mean, r, scale, *sizes, [True] * 3)


def batch(shape, dtype=F32):
    """Return data, scale, shift, and running statistics."""
    vectors = [draw(shape[1], dtype=dtype, seed=seed) for seed in range(1, 5)]
    return (draw(*shape, dtype=dtype), *vectors[:3], vectors[3].abs() + 0.1)


def batch_backward(shape, dtype=F32, *, train=True):
    x, scale, shift, mean, variance = batch(shape, dtype)
    saved = ATEN.native_batch_norm(x, scale, shift, mean.clone(), variance.clone(), train, 0.1, 1e-5)[1:]
    g = draw(*shape, dtype=dtype, seed=7)
    return (g, x, scale, mean, variance, *saved, train, 1e-5, [True] * 3)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layer_norms(dtype):
    forward, backward = layer((3, 4, 5), dtype)
    check("native_layer_norm.default", *forward)
    check("native_layer_norm_backward.default", *backward)


@pytest.mark.skipif(not hasattr(ATEN, "_fused_rms_norm_backward"), reason="torch 2.8 composes it")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_root_mean_square_norms(dtype):
    forward, _ = layer((3, 4, 5), dtype)
    check("_fused_rms_norm.default", forward[0], [5], forward[2], 1e-5)


def test_a_layer_norm_without_scale():
    forward, _ = layer((3, 5), is_affine=False)
    check("native_layer_norm.default", *forward)


def test_layer_norms_at_other_sizes():
    check_sizes("native_layer_norm.default", lambda n: layer((n, 3, 5))[0])
    check_sizes("native_layer_norm_backward.default", lambda n: layer((n, 3, 5))[1])
    check_sizes("native_layer_norm.default", lambda n: layer((3, n + 0))[0], (2, 3))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_group_norms(dtype):
    forward, backward = group((2, 4, 5, 3), dtype)
    check("native_group_norm.default", *forward)
    check("native_group_norm_backward.default", *backward, tolerance=0.05 if dtype in (F16, BF16) else None)


def test_group_norms_at_other_sizes():
    check_sizes("native_group_norm.default", lambda n: group((n, 4, 5))[0], (1, 3))
    check_sizes("native_group_norm_backward.default", lambda n: group((2, 4, n))[1], (2, 3))


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
def test_batch_norms(dtype):
    given = batch((3, 4, 5), dtype)
    check("_native_batch_norm_legit_functional.default", *given, True, 0.1, 1e-5)
    check("native_batch_norm_backward.default", *batch_backward((3, 4, 5), dtype))
    check("native_batch_norm_backward.default", *batch_backward((3, 4, 5), dtype, train=False))
    check("_native_batch_norm_legit_no_training.default", *given, 0.1, 1e-5)
    check("_native_batch_norm_legit.no_stats", *given[:3], True, 0.1, 1e-5)


def test_batch_norms_at_other_sizes():
    check_sizes(
        "_native_batch_norm_legit_functional.default", lambda n: (*batch((n, 4, 5)), True, 0.1, 1e-5), (1, 3)
    )
    check_sizes("native_batch_norm_backward.default", lambda n: batch_backward((n, 4, 5)), (1, 3))
    check_sizes(
        "_native_batch_norm_legit_no_training.default", lambda n: (*batch((n, 4, 5)), 0.1, 1e-5), (0, 1, 3)
    )


def test_changes_of_running_statistics_are_never_lost():
    check("native_batch_norm.default", *batch((3, 4, 5))[:3], None, None, True, 0.1, 1e-5)
    with pytest.raises(UnsupportedError, match="running statistics that change"):
        check("native_batch_norm.default", *batch((3, 4, 5)), True, 0.1, 1e-5)
