"""Functions of torch that are captured in a form of gradc's own: results and gradients agree with torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import gradc  # noqa: E402
from gradc.importers.torch.function_forms import FORMS, OneForm  # noqa: E402

F = torch.nn.functional
LABELS = torch.tensor([2, 0, 1, 2])
ROWS = torch.tensor([0, 1, 1, 0])
LAST = torch.tensor(1)
THIRD = torch.tensor(-1, dtype=torch.int32)

Function = Callable[[Any], Any]


def filled(x: Any) -> Any:
    return (x.T @ x).fill_diagonal_(0.5)


def reduced(x: Any) -> Any:
    return torch.full((2, 3), -9.0).index_reduce(0, ROWS, x, "amax")


def reduced_in_place(x: Any) -> Any:
    return torch.ones(2, 3).index_reduce_(0, ROWS, x, "mean", include_self=False)


def changed_by_tensors(x: Any) -> Any:
    number = torch.tensor(0.5) + 1
    y = x.clone().addcdiv_(x, x * x + 1, value=number)
    return y.addcmul_(x, x, value=number).add_(x, alpha=number)


def written(x: Any) -> Any:
    y = x.clone()
    y[:, LAST] = 2.0
    y[LAST] = x[LAST - 1] * 3
    return y


CASES: dict[str, Function] = {
    "weight_norm": lambda x: torch._weight_norm(x, x.norm(dim=1, keepdim=True) + 1, 0),
    "rrelu": lambda x: F.rrelu(x, 0.1, 0.4),
    "multi_margin": lambda x: F.multi_margin_loss(x, LABELS),
    "multi_margin_of_options": lambda x: F.multi_margin_loss(
        x, LABELS, p=2, margin=0.5, weight=torch.tensor([1.0, 2.0, 3.0]), reduction="none"
    ),
    "fill_diagonal": filled,
    "index_reduce": reduced,
    "index_reduce_in_place": reduced_in_place,
    "numbers_in_tensors": changed_by_tensors,
    "item": lambda x: x[:, LAST] + x[..., THIRD] + x[LAST, None, 1:].sum(),
    "item_of_two": lambda x: x[LAST, THIRD] * x[ROWS, LAST],
    "set_item": written,
    "fake_quantize": lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -8, 7),
    "fake_quantize_of_tensors": lambda x: torch.fake_quantize_per_tensor_affine(
        x, torch.tensor(0.1), torch.tensor(2, dtype=torch.int32), 0, 15
    ),
    "fake_quantize_of_channels": lambda x: torch.fake_quantize_per_channel_affine(
        x, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2], dtype=torch.int32), 1, -8, 7
    ),
    **{f"pdist_{p}": lambda x, p=p: F.pdist(x, p) for p in (0, 1, 1.5, 2, 3, float("inf"))},
    "least_squares": lambda x: torch.linalg.lstsq(x, x[:, 0].sin()).solution,
    "combinations": lambda x: x[torch.combinations(torch.arange(4))] ** 2,
    "combinations_with_replacement": lambda x: torch.combinations(x[:, 0], with_replacement=True),
    "masked_select": lambda x: (x @ x.T).masked_select(~torch.eye(4, dtype=torch.bool)),
    "correlation": lambda x: torch.corrcoef(x.T),
    "covariance": lambda x: torch.cov(x, correction=0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_form_is_the_function(name: str):
    function = CASES[name]

    def with_gradient(x: Any) -> Any:
        result = function(x)
        return result, torch.autograd.grad((result * result).sum(), x)[0]

    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()
    expected = with_gradient(x)
    with OneForm():
        found = with_gradient(x)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    exported = gradc.torch.export(with_gradient, (x,), output_names=["result", "gradient"])
    results = exported.run({"x": x.detach().numpy()})
    torch.testing.assert_close(torch.from_numpy(results["gradient"]), expected[1])


def test_other_arguments_are_left_to_torch():
    """Random slopes, a wrapped diagonal, a list of weights: the function of torch itself runs."""
    x = torch.randn(6, 3)
    with OneForm():
        assert F.rrelu(x, training=True).shape == x.shape
        assert torch.equal(torch.zeros(6, 3).fill_diagonal_(1, wrap=True)[4:].diagonal(), torch.ones(2))
        weights = torch.tensor([1, 2, 3])
        torch.testing.assert_close(
            torch.cov(x.T, fweights=weights.repeat(2)), torch.cov(x.T, fweights=weights.repeat(2))
        )


def test_each_form_is_of_a_function_that_torch_has():
    assert all(map(callable, FORMS))
