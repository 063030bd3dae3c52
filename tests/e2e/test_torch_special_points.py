"""Gradients of torch's functions, as both of its exporters write them, at special points.

The right ones are those of autograd in float64."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc

torch: Any = pytest.importorskip("torch")
from support.torch_functions import CASES  # noqa: E402

GROUP = 12
"""So many functions are exported as one model, each of an input of its own."""

LARGEST = 1e30
"""Gradients beyond this, and their squares, are not numbers of float32."""


class Group(torch.nn.Module):
    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self.names = names

    def forward(self, *points: Any) -> Any:
        return tuple(CASES[name].function(x) for name, x in zip(self.names, points, strict=True))


def points_of(name: str, dtype: Any) -> Any:
    return torch.tensor(CASES[name].points, dtype=torch.float32).to(dtype).requires_grad_()


def exported(names: Sequence[str], exporter: str, path: Path) -> Path:
    points = tuple(points_of(name, torch.float32).detach() for name in names)
    given: dict[str, Any] = {
        "input_names": [f"x_{name}" for name in names],
        "output_names": [f"y_{name}" for name in names],
    }
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "script":
            torch.onnx.export(Group(names), points, str(path), dynamo=False, opset_version=18, **given)
        else:
            pytest.importorskip("onnxscript")
            program = torch.onnx.export(
                Group(names), points, dynamo=True, opset_version=18, verbose=False, **given
            )
            program.save(path)
    return path


def by_autograd(name: str, dtype: Any) -> np.ndarray:
    x = points_of(name, dtype)
    (found,) = torch.autograd.grad(CASES[name].function(x).sum(), x)
    return found.double().numpy()


def wrong_points(name: str, found: np.ndarray) -> list[str]:
    """Where a gradient is not autograd's in float64, as far as that is finite and but for roundings."""
    wanted, rounded = by_autograd(name, torch.float64), by_autograd(name, torch.float32)
    size = np.abs(np.nan_to_num(wanted, posinf=0, neginf=0))
    size = size.max(-1, keepdims=True) if wanted.ndim > 1 else size
    with np.errstate(invalid="ignore"):
        error = np.abs(found - wanted)
        own = np.where(np.isfinite(rounded), 4 * np.abs(rounded - wanted), 0)
        is_wrong = ~(error <= 2e-4 * size + 3e-6 + own) & (np.abs(wanted) < LARGEST)
    wrong = dict.fromkeys(int(place[0]) for place in np.argwhere(is_wrong))
    return [f"{name} at {CASES[name].points[i]}: {found[i]}, not {wanted[i]}" for i in wrong]


def check(names: Sequence[str], exporter: str, path: Path) -> list[str]:
    source = exported(names, exporter, path)
    points = {f"x_{name}": points_of(name, torch.float32).detach().numpy() for name in names}
    of = [f"y_{name}" for name in names]
    found = gradc.grad(source, of=of, wrt=list(points), reduce="sum", check=False).run(points)
    return [line for name in names for line in wrong_points(name, found[f"grad_x_{name}"])]


QUICK = (
    *("logsigmoid", "log_complement", "bce_with_logits", "bernoulli", "softplus_written", "tanh_written"),
    *("log_of_softmax", "softmax_written", "masked_log", "masked_power", "atan2", "norm_of_cubes"),
)


@pytest.mark.parametrize("exporter", ["script", "dynamo"])
def test_some_functions(exporter: str, tmp_path: Path):
    wrong = check(QUICK, exporter, tmp_path / "model.onnx")
    assert not wrong, "\n".join(wrong)


def groups(exporter: str) -> list[list[str]]:
    names = [name for name, case in CASES.items() if exporter in case.exporters and name not in QUICK]
    return [names[i : i + GROUP] for i in range(0, len(names), GROUP)]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("exporter", "names"), [(e, names) for e in ("script", "dynamo") for names in groups(e)], ids=str
)
def test_all_functions(exporter: str, names: list[str], tmp_path: Path):
    wrong = check(names, exporter, tmp_path / "model.onnx")
    assert not wrong, "\n".join(wrong)
