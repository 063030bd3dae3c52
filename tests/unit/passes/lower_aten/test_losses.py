"""Lowerings of elementwise losses, forward and backward, against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tests.support.aten_samples import check, check_sizes, overload  # noqa: E402

F32, F64 = torch.float32, torch.float64

LOSSES = {
    "mse_loss": lambda r: (r,),
    "smooth_l1_loss": lambda r: (r, 0.7),
    "huber_loss": lambda r: (r, 0.7),
    "soft_margin_loss": lambda r: (r,),
    "binary_cross_entropy": lambda r: (None, r),
}


def draw(*shape, dtype=F32, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)).to(dtype) * 0.9 + 0.05


@pytest.mark.parametrize("dtype", [F32, pytest.param(F64, marks=pytest.mark.sweep)], ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, dtype):
    for reduction in (0, 1, 2):
        rest = LOSSES[name](reduction)
        x, y = draw(3, 4, dtype=dtype), draw(3, 4, dtype=dtype, seed=1)
        result = overload(f"{name}.default")(x, y, *rest)
        check(f"{name}.default", x, y, *rest)
        check(f"{name}_backward.default", draw(*result.shape, dtype=dtype, seed=2), x, y, *rest)


def test_means_at_other_sizes():
    check_sizes("mse_loss.default", lambda n: (draw(n, 4), draw(n, 4, seed=1), 1))
    check_sizes("mse_loss_backward.default", lambda n: (draw(), draw(n, 4), draw(n, 4, seed=1), 1))


def test_a_smooth_loss_with_a_beta_of_zero():
    check("smooth_l1_loss.default", draw(3), draw(3, seed=1), 1, 0.0)


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_cross_entropy_of_logits(reduction):
    x, y = torch.logit(draw(3, 4)), draw(3, 4, seed=1)
    check("binary_cross_entropy_with_logits.default", x, y, None, None, reduction)
    check("binary_cross_entropy_with_logits.default", x, y, draw(4), draw(4, seed=2), reduction)


def test_certain_predictions():
    check("binary_cross_entropy.default", torch.tensor([0.0, 1, 0, 1]), torch.tensor([0.0, 1, 1, 0]), None, 0)
