"""The CTC loss and its gradient against PyTorch, at other lengths in time and other batches."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from gradc.torch.export_function import export  # noqa: E402

F = torch.nn.functional


def logits(time=9, batch=4, classes=6, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(time, batch, classes, generator=generator, dtype=dtype).requires_grad_()


TARGETS = torch.tensor([[1, 2, 3], [4, 4, 1], [3, 3, 3], [2, 1, 4]])
JOINED = torch.tensor([1, 2, 3, 4, 4, 1, 5, 5, 2])
STEPS, COUNTS = torch.tensor([9, 8, 7, 9]), torch.tensor([3, 3, 2, 1])


def loss(x, targets, steps, counts, **options):
    found = F.ctc_loss(x.log_softmax(-1), targets, steps, counts, **options)
    return found.detach(), torch.autograd.grad(found.sum(), x)[0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_reductions(reduction, dtype):
    args = (logits(dtype=dtype), TARGETS, STEPS, COUNTS)
    assert len(export(lambda *args: loss(*args, reduction=reduction), args).outputs) == 2


def test_a_dynamic_time_and_batch():
    def whole(x, targets):
        steps = torch.full((x.shape[1],), x.shape[0])
        return loss(x, targets, steps, torch.full((x.shape[1],), 3), reduction="none", zero_infinity=True)

    shapes = ({0: "T", 1: "N"}, {0: "N"})
    compiled = export(whole, (logits().detach().requires_grad_(), TARGETS), dynamic_shapes=shapes)
    x = logits(23, 2)
    found = compiled.run({"x": x.detach().numpy(), "targets": TARGETS[:2].numpy()})
    for got, wanted in zip(found.values(), whole(x, TARGETS[:2]), strict=True):
        assert torch.allclose(torch.from_numpy(got), wanted)


FORMS = {
    "another_blank": lambda x: loss(x, TARGETS, STEPS, COUNTS, blank=5),
    "impossible_targets": lambda x: loss(x, TARGETS, STEPS * 0 + 2, COUNTS, zero_infinity=True),
    "no_labels": lambda x: loss(x, TARGETS, STEPS, COUNTS * 0),
    "lists": lambda x: loss(x, TARGETS, STEPS.tolist(), [3, 3, 2, 1]),
    "joined_targets": lambda x: loss(
        x, torch.tensor([1, 2, 3, 4, 4, 1, 5, 5, 2]), (9, 8, 7, 9), (3, 3, 2, 1)
    ),
    "one_sequence": lambda x: loss(x[:, 0], TARGETS[0], torch.tensor(9), torch.tensor(3)),
    "module": lambda x: torch.nn.CTCLoss()(x.log_softmax(-1), TARGETS, STEPS, COUNTS),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(name):
    assert export(FORMS[name], (logits(),)).outputs


def test_the_gradient_of_logarithms_that_are_not_computed():
    """torch's is that of normalized logarithms."""

    def direct(x):
        return torch.autograd.grad(F.ctc_loss(x, TARGETS, STEPS, COUNTS), x)[0]

    x = logits().log_softmax(-1).detach().requires_grad_()
    assert export(direct, (x,)).outputs
