"""Lowerings of softmax and the likelihood loss, forward and backward, against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tests.support.aten_samples import check, check_sizes  # noqa: E402

DTYPES = [
    torch.float32,
    *(pytest.param(d, marks=pytest.mark.sweep) for d in (torch.float64, torch.float16, torch.bfloat16)),
]


def draw(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_softmax(dtype):
    for shape, axis in (((3, 5, 4), 1), ((3, 4), -1), ((), 0)):
        x, g = draw(*shape, dtype=dtype), draw(*shape, dtype=dtype, seed=1)
        check("_softmax.default", x, axis, False)
        check("_log_softmax.default", x, axis, False)
        check("_softmax_backward_data.default", g, x.softmax(axis), axis, dtype)
        check("_log_softmax_backward_data.default", g, x.log_softmax(axis), axis, dtype, tolerance=0.05)


def test_softmax_at_other_sizes():
    check_sizes("_softmax.default", lambda n: (draw(n, 3), 1, False))
    check_sizes("_softmax.default", lambda n: (draw(3, n), 1, False))
    check_sizes(
        "_log_softmax_backward_data.default",
        lambda n: (draw(n, 3), draw(n, 3, seed=1).log_softmax(1), 1, torch.float32),
    )


def test_a_softmax_of_nothing_but_minus_infinity():
    x = draw(3, 4)
    x[0, 1] = x[1] = -float("inf")
    check("_safe_softmax.default", x, 1, None)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weight", [None, torch.tensor([0.5, 1.5, 2, 1, 3])], ids=["unweighted", "weighted"])
def test_the_likelihood_loss(reduction, weight):
    def arguments(shape, ignored, dtype=torch.float32, *, is_backward=False):
        name = "nll_loss2d" if len(shape) == 4 else "nll_loss"
        x, labels = draw(*shape, dtype=dtype).log_softmax(1), torch.arange(5).repeat(20)
        target = labels[: shape[0] * torch.Size(shape[2:]).numel()].reshape(shape[0], *shape[2:])
        if ignored < 0:
            target = torch.where(target == 2, ignored, target)
        weights = None if weight is None else weight.to(dtype)
        if not is_backward:
            return x, target, weights, reduction, ignored
        y, total = getattr(torch.ops.aten, f"{name}_forward")(x, target, weights, reduction, ignored)
        return draw(*y.shape, dtype=dtype, seed=1), x, target, weights, reduction, ignored, total

    for shape, ignored, dtype in (((3, 5), -100, torch.float64), ((2, 5, 3, 2), 2, torch.float32)):
        name = "nll_loss2d" if len(shape) == 4 else "nll_loss"
        check(f"{name}_forward.default", *arguments(shape, ignored, dtype))
        check(f"{name}_backward.default", *arguments(shape, ignored, dtype, is_backward=True))
    check_sizes("nll_loss_forward.default", lambda n: arguments((n, 5), 2))
    check_sizes("nll_loss_backward.default", lambda n: arguments((n, 5), 2, is_backward=True))


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_the_likelihood_loss_of_one_sample(reduction):
    x, target, weight = draw(5).log_softmax(0), torch.tensor(3), draw(5, seed=1).abs()
    y, total = torch.ops.aten.nll_loss_forward(x, target, weight, reduction, -100)
    check("nll_loss_forward.default", x, target, weight, reduction, -100)
    check("nll_loss_backward.default", draw(*y.shape), x, target, weight, reduction, -100, total)
