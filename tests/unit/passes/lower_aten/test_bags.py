"""Lowerings of bags of embeddings against PyTorch, forward and backward."""

from __future__ import annotations

from itertools import product

import pytest

torch = pytest.importorskip("torch")

from gradc.torch import export  # noqa: E402
from tests.support.aten_samples import check, check_sizes  # noqa: E402

ATEN = torch.ops.aten
SUM, MEAN, MAX = range(3)
INDICES = torch.tensor([1, 2, 4, 5, 1, 3, 0])
OFFSETS = torch.tensor([0, 3, 3, 5])
"""Of bags of 3, 0, 2 and 2 indices."""

BY_FREQUENCY = (False, True) if torch.__version__ >= "2.14" else (False,)
"""Not with torch 2.8 and 2.13, which divide by the counts of other indices."""

CASES = list(product((SUM, MEAN, MAX), (-1, 1), (False, True)))


def draw(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(("mode", "padding", "has_end"), CASES)
def test_bags(mode, padding, has_end, dtype):
    table = draw(7, 2, dtype=dtype)
    offsets = torch.cat([OFFSETS, torch.tensor([7])]) if has_end else OFFSETS
    arguments = (table, INDICES, offsets, False, mode, False, None, has_end, padding)
    check("_embedding_bag.default", *arguments)
    made, *rest = ATEN._embedding_bag(*arguments)
    g = draw(*made.shape, dtype=dtype, seed=1)
    for by_frequency in (False,) if mode == MAX else BY_FREQUENCY:
        mode_and_rest = (by_frequency, mode, False, None, padding)
        check("_embedding_bag_backward.default", g, INDICES, offsets, *rest, 7, *mode_and_rest)


@pytest.mark.parametrize("padding", [-1, 1])
def test_weights_of_samples(padding):
    table, weights = draw(7, 2), draw(7, seed=1)
    arguments = (table, INDICES, OFFSETS, False, SUM, False, weights, False, padding)
    check("_embedding_bag.default", *arguments)
    made, *rest = ATEN._embedding_bag(*arguments)
    g = draw(*made.shape, seed=2)
    check(
        "_embedding_bag_backward.default", g, INDICES, OFFSETS, *rest, 7, False, SUM, False, weights, padding
    )
    name = "_embedding_bag_per_sample_weights_backward.default"
    check(name, g, table, INDICES, OFFSETS, rest[0], SUM, padding)


@pytest.mark.parametrize("mode", [SUM, MEAN, MAX])
def test_bags_of_dynamic_sizes(mode):
    def arguments(n):
        offsets = torch.arange(n) * 2
        return draw(5, 2, dtype=torch.float64), torch.arange(2 * n) % 5, offsets, False, mode

    check_sizes("_embedding_bag.default", arguments, (1, 2, 5))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_a_function_with_bags(mode):
    def function(table, indices):
        made = torch.nn.functional.embedding_bag(indices, table, mode=mode)
        return made.detach(), torch.autograd.grad(made.sin().sum(), table)[0]

    indices = torch.randint(0, 5, (3, 4), generator=torch.Generator().manual_seed(0))
    table = draw(5, 2).requires_grad_()
    assert export(function, (table, indices), dynamic_shapes=(None, {0: "rows"})).outputs
