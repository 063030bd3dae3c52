"""Masks that follow from sizes select elements; masks of data do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import gradc  # noqa: E402
from dialects.support.diagnostics import GradcError  # noqa: E402
from gradc.importers.torch.known_values import KnownValues  # noqa: E402

Function = Callable[[Any], Any]


def off_diagonal(x: Any) -> Any:
    return (x @ x.T)[~torch.eye(len(x), dtype=torch.bool)].view(len(x), len(x) - 1)


def upper_triangle(x: Any) -> Any:
    first, second = torch.ones(len(x), len(x)).triu(1).nonzero(as_tuple=True)
    return (x[first] - x[second]) ** 4


def pairs_of(x: Any) -> Any:
    first, second = torch.combinations(torch.arange(len(x)), 2).T
    return x[first] * x[second]


def put(x: Any) -> Any:
    found = x @ x.T
    mask = torch.arange(len(x))[:, None] != torch.arange(len(x))
    found[mask] = found[mask] * 2
    return found


def number(x: Any) -> Any:
    return x / (torch.arange(len(x)).max().item() + 1)


def literal(x: Any) -> Any:
    return x[:, torch.tensor([True, False, True])] * x[:, [False, True, True]]


def changed_literal(x: Any) -> Any:
    mask = torch.tensor([True, False, True])
    mask[1] = True
    return x[:, mask]


def changed_mask(x: Any) -> Any:
    mask = torch.ones(len(x), len(x), dtype=torch.bool)
    mask.diagonal().fill_(False)
    return (x @ x.T)[mask]


def mask_of_data(x: Any) -> Any:
    return (x @ x.T)[~torch.eye(len(x), dtype=torch.bool) & (x @ x.T > 0)]


def with_gradient(function: Function) -> Function:
    def both(x: Any) -> Any:
        result = function(x)
        return result, torch.autograd.grad((result * result).sum(), x)[0]

    return both


@pytest.mark.parametrize("function", [off_diagonal, upper_triangle, pairs_of, put, number, literal])
def test_the_number_of_elements_is_an_expression_of_sizes(function: Function):
    both = with_gradient(function)
    generator = torch.Generator().manual_seed(2)
    example = torch.randn(5, 3, generator=generator).requires_grad_()
    exported = gradc.torch.export(both, (example,), dynamic_shapes=({0: "N"},))
    for rows in (8, 2):
        x = torch.randn(rows, 3, generator=generator).requires_grad_()
        found = exported.run({"x": x.detach().numpy()})
        for name, wanted in zip(("output_0", "output_1"), both(x), strict=True):
            torch.testing.assert_close(torch.from_numpy(found[name]), wanted.detach())


@pytest.mark.parametrize("function", [changed_mask, changed_literal, mask_of_data])
def test_other_masks_are_refused(function: Function):
    with pytest.raises(GradcError, match="a boolean mask selects elements"):
        gradc.torch.export(function, (torch.randn(5, 3),), dynamic_shapes=({0: "N"},))


def test_a_change_of_a_view_makes_a_tensor_unknown():
    known, aten = KnownValues(), torch.ops.aten
    ones = torch.ones(3, 3)
    known.note(aten.ones.default, ([3, 3],), {}, ones)
    view = ones.diagonal()
    known.note(aten.diagonal.default, (ones,), {}, view)
    assert known.number(view, torch.count_nonzero) == 3
    known.note(aten.fill_.Scalar, (view, 0), {}, view)
    assert known.number(ones, torch.count_nonzero) is None


def long_chain(x: Any) -> Any:
    mask = torch.eye(len(x), dtype=torch.bool)
    for _ in range(300):
        mask = mask ^ mask.T | mask
    return (x @ x.T)[mask]


def test_chains_of_many_ops_and_readers():
    found = gradc.torch.export(long_chain, (torch.randn(4, 3),), dynamic_shapes=({0: "N"},))
    x = torch.randn(6, 3)
    assert torch.allclose(torch.from_numpy(found.run({"x": x.numpy()})["output"]), long_chain(x), atol=1e-6)


def test_a_mask_of_a_tensor_that_has_changed_since_is_refused():
    def changed(x: Any) -> Any:
        positions = torch.arange(len(x))
        mask = positions > 1
        positions.add_(1)
        return x[mask]

    with pytest.raises(GradcError, match="mask"):
        gradc.torch.export(changed, (torch.randn(4, 3),), dynamic_shapes=({0: "N"},))
