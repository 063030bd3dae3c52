"""gradc.losses.CrossEntropy: torch's value and gradient for all options, types and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradc.losses import CrossEntropy
from tests.support.attached_losses import by_numpy, by_onnxruntime

RNG = np.random.default_rng(0)
WEIGHT = (1.0, 2.0, 0.5, 0.0, 3.0)
CLASSES = len(WEIGHT)
SHAPES = {"rows": ((6, CLASSES), 1), "dense": ((2, CLASSES, 3, 2), 1), "tokens": ((2, 4, CLASSES), 2)}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"ignore_index": None},
    {"ignore_index": 1},
    {"reduction": "sum"},
    {"weight": WEIGHT},
    {"weight": WEIGHT, "ignore_index": None, "reduction": "sum"},
    {"label_smoothing": 0.1},
    {"label_smoothing": 0.3, "weight": WEIGHT},
    {"label_smoothing": 1.0, "weight": WEIGHT, "reduction": "sum"},
)


def expected(x: np.ndarray, label: np.ndarray, axis: int, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Value and gradient by torch in float64."""
    torch = pytest.importorskip("torch", reason="pip install torch")
    logits = torch.tensor(x.astype(np.float64), requires_grad=True)
    options = {"ignore_index": -100, **options}
    if options["ignore_index"] is None:
        options["ignore_index"] = -100
    if options.get("weight") is not None:
        options["weight"] = torch.tensor(options["weight"], dtype=torch.float64)
    target = torch.tensor(label.astype(np.float64) if label.dtype.kind == "f" else label)
    target = target.movedim(axis, 1) if label.dtype.kind == "f" else target
    loss = torch.nn.functional.cross_entropy(logits.movedim(axis, 1), target, **options)
    loss.backward()
    return loss.detach().numpy(), logits.grad.numpy()


def problem(shape: tuple[int, ...], axis: int, *, ignored: bool = True) -> tuple[np.ndarray, np.ndarray]:
    label = RNG.integers(0, CLASSES, (*shape[:axis], *shape[axis + 1 :]))
    label.flat[1] = -100 if ignored else 1
    return RNG.normal(size=shape) * 3, label


@pytest.mark.sweep(parts=4)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("form", SHAPES)
def test_options_and_shapes(form: str, options: dict[str, Any]):
    shape, axis = SHAPES[form]
    x, label = problem(shape, axis, ignored=options.get("ignore_index", -100) == -100)
    found = by_numpy(CrossEntropy(**options), {"x": x}, {"label": label})
    for one, other in zip(found, expected(x, label, axis, **options), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.sweep(parts=4)
@pytest.mark.parametrize(
    "options",
    [{}, {"weight": WEIGHT}, {"label_smoothing": 0.2, "weight": WEIGHT}, {"reduction": "sum"}],
    ids=str,
)
@pytest.mark.parametrize("form", SHAPES)
def test_soft_labels(form: str, options: dict[str, Any]):
    shape, axis = SHAPES[form]
    x, _ = problem(shape, axis)
    label = RNG.dirichlet(np.ones(CLASSES), (*shape[:axis], *shape[axis + 1 :]))
    label = np.moveaxis(label, -1, axis)
    found = by_numpy(CrossEntropy(soft_labels=True, **options), {"x": x}, {"label": label})
    for one, other in zip(found, expected(x, label, axis, **options), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.sweep(parts=2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1, "weight": WEIGHT}], ids=str)
def test_large_logits_and_ties(options: dict[str, Any], dtype: type):
    x = np.array([[1e4, -1e4, 0, 0, 1e4], [5, 5, 5, 5, 5], [-1e4, 1e4, 3, 2, 1]], dtype)
    label = np.array([1, 3, 1])
    loss, gradient = by_onnxruntime(CrossEntropy(**options), {"x": x}, {"label": label})
    value, slope = expected(x, label, 1, **options)
    np.testing.assert_allclose(loss, value, rtol=1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("options", [{}, {"weight": WEIGHT}, {"label_smoothing": 0.1}], ids=str)
def test_a_batch_without_counted_labels_is_nan_and_moves_nothing(options: dict[str, Any]):
    x = RNG.normal(size=(3, CLASSES))
    loss, gradient = by_onnxruntime(CrossEntropy(**options), {"x": x}, {"label": np.full(3, -100)})
    assert np.isnan(loss)
    assert np.isnan(expected(x, np.full(3, -100), 1, **options)[0])
    np.testing.assert_array_equal(gradient, np.zeros_like(x))


def test_a_sum_without_counted_labels_is_zero():
    x = RNG.normal(size=(3, CLASSES))
    loss, gradient = by_numpy(CrossEntropy(reduction="sum"), {"x": x}, {"label": np.full(3, -100)})
    assert loss == 0
    assert not gradient.any()


def test_half_logits_are_computed_in_float32():
    x, label = problem((64, CLASSES), 1)
    half = x.astype(np.float16)
    loss, gradient = by_onnxruntime(CrossEntropy(), {"x": half}, {"label": label})
    value, slope = expected(half, label, 1)
    assert (loss.dtype, gradient.dtype) == (np.float32, np.float16)
    np.testing.assert_allclose(loss, value, rtol=1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-3, atol=1e-7)


@pytest.mark.sweep(parts=2)
@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("rows", ("N", CLASSES)),
        ("rows", ("N", "C")),
        ("dense", ("N", CLASSES, "H", "W")),
        ("tokens", ("N", "T", CLASSES)),
    ],
)
def test_dynamic_sizes(form: str, names: tuple[str | int, ...]):
    shape, axis = SHAPES[form]
    x, label = problem(shape, axis)
    options = {"label_smoothing": 0.1}
    found = by_onnxruntime(CrossEntropy(**options), {"x": x}, {"label": label}, {"x": names})
    for one, other in zip(found, expected(x, label, axis, **options), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_an_axis_of_the_caller():
    x, label = problem((2, CLASSES, 4), 1)
    found = by_numpy(CrossEntropy(axis=1), {"x": x}, {"label": label})
    np.testing.assert_allclose(found[0], expected(x, label, 1)[0], rtol=1e-12)


@pytest.mark.parametrize("label", [-1, CLASSES])
@pytest.mark.parametrize("options", [{}, {"weight": WEIGHT}], ids=str)
def test_labels_out_of_range_are_an_error_of_the_run(label: int, options: dict[str, Any]):
    x = RNG.normal(size=(3, CLASSES))
    with pytest.raises(Exception, match=r"out of data bounds|Out of range value"):
        by_onnxruntime(CrossEntropy(**options), {"x": x}, {"label": np.array([0, label, 1])})


@pytest.mark.parametrize(
    "options", [{}, {"weight": WEIGHT, "label_smoothing": 0.1}, {"soft_labels": True}], ids=str
)
def test_the_gradient_is_checked(options: dict[str, Any]):
    x, label = problem((4, CLASSES), 1)
    if options.get("soft_labels"):
        label = RNG.dirichlet(np.ones(CLASSES), 4)
    loss, _ = by_onnxruntime(
        CrossEntropy(**options), {"x": x}, {"label": label}, {"x": ("N", CLASSES)}, check=True
    )
    assert np.isfinite(loss)
