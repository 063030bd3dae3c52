"""Every loss and option: torch's value and gradients in float64, and the numbers of the compiled model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from gradc.losses import (
    L1,
    MSE,
    NLL,
    BCEWithLogits,
    Cosine,
    Distillation,
    Huber,
    KLDiv,
    Loss,
    SmoothL1,
    Triplet,
)
from tests.support.attached_losses import by_numpy, by_onnxruntime

torch: Any = pytest.importorskip("torch", reason="pip install torch")
F: Any = torch.nn.functional
RNG = np.random.default_rng(1)

pytestmark = pytest.mark.filterwarnings("ignore:reduction. 'mean':UserWarning")  # torch's for KLDiv


@dataclass(frozen=True)
class Case:
    """A loss, its values and labels, and torch's function of both, by name."""

    loss: Loss
    values: dict[str, np.ndarray]
    labels: dict[str, np.ndarray]
    torch: Callable[..., Any] = field(repr=False)

    def expected(self) -> list[np.ndarray]:
        of = {name: torch.tensor(x.astype(np.float64), requires_grad=True) for name, x in self.values.items()}
        labels = {
            name: torch.tensor(x.astype(np.float64) if x.dtype.kind == "f" else x)
            for name, x in self.labels.items()
        }
        loss = self.torch(**of, **labels)
        loss.backward()
        return [loss.detach().numpy(), *(x.grad.numpy() for x in of.values())]

    def cast(self, dtype: type) -> Case:
        values, labels = (
            {name: x.astype(dtype) if x.dtype.kind == "f" else x for name, x in part.items()}
            for part in (self.values, self.labels)
        )
        return Case(self.loss, values, labels, self.torch)

    def __str__(self) -> str:
        return f"{self.loss}-{'x'.join(map(str, next(iter(self.values.values())).shape))}"


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape) * 2


def logarithms(*shape: int, axis: int = 1) -> np.ndarray:
    x = draw(*shape)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def distribution(*shape: int) -> np.ndarray:
    found = np.exp(logarithms(*shape))
    found[0, 0] = 0
    return found


def signs(count: int) -> np.ndarray:
    return RNG.choice([-1, 1], count)


def elementwise(loss: Loss, function: Callable[..., Any], *shape: int, **options: Any) -> Case:
    return Case(
        loss, {"x": draw(*shape)}, {"label": draw(*shape)}, lambda x, label: function(x, label, **options)
    )


def binary(loss: BCEWithLogits, *shape: int, reduction: str = "mean", **options: Any) -> Case:
    given = {name: torch.tensor(array, dtype=torch.float64) for name, array in options.items()}
    label = RNG.uniform(size=shape)
    label.flat[:3] = [0, 1, 1]
    function = partial(F.binary_cross_entropy_with_logits, reduction=reduction, **given)
    return Case(loss, {"x": draw(*shape)}, {"label": label}, lambda x, label: function(x, label))


def likelihood(loss: NLL, *shape: int, axis: int = 1, **options: Any) -> Case:
    label = RNG.integers(0, shape[axis], (*shape[:axis], *shape[axis + 1 :]))
    label.flat[0] = options.get("ignore_index", -100)
    if "weight" in options:
        options["weight"] = torch.tensor(options["weight"], dtype=torch.float64)
    values = {"x": logarithms(*shape, axis=axis)}
    return Case(
        loss, values, {"label": label}, lambda x, label: F.nll_loss(x.movedim(axis, 1), label, **options)
    )


def divergence(loss: KLDiv, *shape: int, **options: Any) -> Case:
    label = logarithms(*shape) if options.get("log_target") else distribution(*shape)
    return Case(
        loss, {"x": logarithms(*shape)}, {"label": label}, lambda x, label: F.kl_div(x, label, **options)
    )


def cosine(loss: Cosine, **options: Any) -> Case:
    values, labels = {"a": draw(6, 4), "b": draw(6, 4)}, {"label": signs(6)}
    return Case(loss, values, labels, lambda a, b, label: F.cosine_embedding_loss(a, b, label, **options))


def triplet(loss: Triplet, **options: Any) -> Case:
    values = {"a": draw(6, 4), "b": draw(6, 4), "c": draw(6, 4)}
    return Case(loss, values, {}, lambda a, b, c: F.triplet_margin_loss(a, b, c, **options))


def distillation(loss: Distillation, *shape: int, axis: int = 1, **options: Any) -> Case:
    label = RNG.integers(0, shape[axis], (*shape[:axis], *shape[axis + 1 :]))
    label.flat[1] = -100
    t, alpha = loss.temperature, loss.alpha

    def both(x: Any, teacher: Any, label: Any) -> Any:
        x, teacher = x.movedim(axis, -1), teacher.movedim(axis, -1)
        counted = label != -100
        rows = F.kl_div(F.log_softmax(x / t, -1), F.softmax(teacher / t, -1), reduction="none").sum(-1)[
            counted
        ]
        hard = F.cross_entropy(x[counted], label[counted], **options)
        return alpha * t * t * rows.mean() + (1 - alpha) * hard

    return Case(loss, {"x": draw(*shape)}, {"teacher": draw(*shape), "label": label}, both)


def cosine_with_target() -> Case:
    def expected(x: Any, label: Any) -> Any:
        return F.cosine_embedding_loss(x, label, torch.ones(4))

    return Case(Cosine(), {"x": draw(4, 3)}, {"label": draw(4, 3)}, expected)


def triplet_with_labels() -> Case:
    labels = {"positive": draw(4, 3), "negative": draw(4, 3)}
    return Case(Triplet(), {"x": draw(4, 3)}, labels, lambda x, **others: F.triplet_margin_loss(x, **others))


def pure_distillation() -> Case:
    def soft(x: Any, teacher: Any) -> Any:
        return F.kl_div(F.log_softmax(x / 3, 1), F.softmax(teacher / 3, 1), reduction="batchmean") * 9

    return Case(Distillation(temperature=3, alpha=1), {"x": draw(4, 5)}, {"teacher": draw(4, 5)}, soft)


COLUMN = [[1], [2], [3], [0]]
CHANNELS = [[[3.0]], [[1]]]
WEIGHT = [1, 0.5, 2.0, 0, 1]
CASES = [
    elementwise(MSE(), F.mse_loss, 4, 3),
    elementwise(MSE("sum"), F.mse_loss, 4, 3, 2, reduction="sum"),
    elementwise(L1(), F.l1_loss, 4, 3),
    elementwise(L1("sum"), F.l1_loss, 5, reduction="sum"),
    elementwise(Huber(), F.huber_loss, 4, 3),
    elementwise(Huber(delta=0.3), F.huber_loss, 4, 3, delta=0.3),
    elementwise(Huber("sum", 2.5), F.huber_loss, 4, 3, delta=2.5, reduction="sum"),
    elementwise(SmoothL1(), F.smooth_l1_loss, 4, 3),
    elementwise(SmoothL1(beta=0.3), F.smooth_l1_loss, 4, 3, beta=0.3),
    elementwise(SmoothL1("sum", beta=2.5), F.smooth_l1_loss, 4, 3, beta=2.5, reduction="sum"),
    elementwise(SmoothL1(beta=0), F.smooth_l1_loss, 4, 3, beta=0.0),
    binary(BCEWithLogits(), 4, 3),
    binary(BCEWithLogits("sum"), 4, 3, reduction="sum"),
    binary(BCEWithLogits(pos_weight=[1, 2.0, 0.5]), 4, 3, pos_weight=[1, 2.0, 0.5]),
    binary(BCEWithLogits(pos_weight=3), 4, 3, pos_weight=3),
    binary(BCEWithLogits(weight=COLUMN), 4, 3, weight=COLUMN),
    binary(BCEWithLogits(weight=2, pos_weight=CHANNELS), 3, 2, 2, 2, weight=2, pos_weight=CHANNELS),
    likelihood(NLL(), 6, 5),
    likelihood(NLL(weight=WEIGHT), 2, 5, 3, 2, weight=WEIGHT),
    likelihood(NLL(ignore_index=2, reduction="sum"), 6, 5, ignore_index=2, reduction="sum"),
    likelihood(NLL(), 2, 3, 5, axis=2),
    divergence(KLDiv(), 4, 5),
    divergence(KLDiv("batchmean"), 4, 5, reduction="batchmean"),
    divergence(KLDiv("batchmean", log_target=True), 4, 5, 2, reduction="batchmean", log_target=True),
    divergence(KLDiv("sum"), 4, 5, reduction="sum"),
    cosine(Cosine()),
    cosine(Cosine(margin=0.3), margin=0.3),
    cosine(Cosine(-0.5, "sum"), margin=-0.5, reduction="sum"),
    cosine_with_target(),
    triplet(Triplet()),
    triplet(Triplet(margin=0.1, swap=True), margin=0.1, swap=True),
    triplet(Triplet(p=1, reduction="sum"), p=1, reduction="sum"),
    triplet(Triplet(p=3, eps=0.01), p=3, eps=0.01),
    triplet_with_labels(),
    distillation(Distillation(), 6, 5),
    distillation(Distillation(temperature=4, alpha=0.9, label_smoothing=0.1), 6, 5, label_smoothing=0.1),
    distillation(Distillation(), 2, 5, 3, 2),
    distillation(Distillation(), 2, 3, 5, axis=2),
    pure_distillation(),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_and_gradients(case: Case):
    for found, expected in zip(by_numpy(case.loss, case.values, case.labels), case.expected(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.sweep
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_compiled_in_narrow_types(case: Case, dtype: type):
    case = case.cast(dtype)
    loss, *gradients = by_onnxruntime(case.loss, case.values, case.labels)
    value, *expected = case.expected()
    assert loss.dtype == np.float32
    np.testing.assert_allclose(loss, value, rtol=1e-5, atol=1e-6)
    for found, one in zip(gradients, expected, strict=True):
        assert found.dtype == dtype
        scale = np.abs(one).max()
        np.testing.assert_allclose(found, one, rtol=0, atol=scale * (1e-5 if dtype == np.float32 else 1e-3))


@pytest.mark.sweep
@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled_and_checked_with_a_dynamic_batch(case: Case):
    shapes = {name: ("N", *x.shape[1:]) for name, x in case.values.items()}
    found = by_onnxruntime(case.loss, case.values, case.labels, shapes, check=True)
    for one, expected in zip(found, case.expected(), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("loss", [BCEWithLogits(), BCEWithLogits(pos_weight=3)], ids=str)
def test_large_binary_logits(loss: BCEWithLogits):
    x = np.array([1e4, -1e4, 1e4, -1e4, 0, 30], np.float32)
    label = np.array([1, 0, 0, 1, 0.5, 1], np.float32)
    weight = None if loss.pos_weight is None else torch.tensor(loss.pos_weight)
    function = partial(F.binary_cross_entropy_with_logits, pos_weight=weight)
    case = Case(loss, {"x": x}, {"label": label}, lambda x, label: function(x, label))
    for found, expected in zip(by_onnxruntime(loss, case.values, case.labels), case.expected(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("loss", "function"),
    [(L1(), F.l1_loss), (Huber(delta=1.0), F.huber_loss), (SmoothL1(), F.smooth_l1_loss)],
    ids=["l1", "huber", "smooth-l1"],
)
def test_at_the_kinks(loss: Loss, function: Callable[..., Any]):
    x, label = np.array([0.0, 1, -1, 1e4, -1e4]), np.zeros(5)
    case = Case(loss, {"x": x}, {"label": label}, lambda x, label: function(x, label))
    for found, expected in zip(by_numpy(loss, case.values, case.labels), case.expected(), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_equal_vectors_have_a_finite_gradient():
    x = draw(3, 4)
    for loss, values, labels in (
        (Triplet(), {"a": x, "b": x, "c": x}, {}),
        (Cosine(), {"a": x * 0, "b": x * 0}, {"label": np.array([1, -1, 1])}),
    ):
        for found in by_numpy(loss, values, labels):
            assert np.isfinite(found).all()
