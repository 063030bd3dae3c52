"""Functions that take derivatives, exported whole; each is compared with itself before it is returned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import gradc

torch: Any = pytest.importorskip("torch")

from support.autograd_functions import CASES, Case  # noqa: E402

from passes.lower_aten import table  # noqa: E402

DOMAINS = {""}


def forces(positions: Any, charges: Any) -> tuple[Any, Any]:
    """The energy of charges, and the forces on them."""
    distances = (positions[:, None] - positions[None] + 1e-3).square().sum(-1).sqrt()
    energy = (charges[:, None] * charges[None] * torch.exp(-distances)).sum()
    return energy, -torch.autograd.grad(energy, positions)[0]


def atoms(count: int) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(count)
    positions = torch.randn(count, 3, generator=generator, requires_grad=True)
    return positions, torch.randn(count, generator=generator)


@pytest.mark.sweep
@pytest.mark.parametrize("given", CASES, ids=lambda given: given.name)
def test_a_function_that_takes_derivatives(given: Case):
    found = gradc.torch.export(given.function, given.args, dynamic_shapes=given.dynamic_shapes)
    assert {node.domain for node in found.model.graph.node} <= DOMAINS
    onnx.checker.check_model(found.model)


def test_any_number_of_atoms_and_names(tmp_path: Path):
    shapes = ({0: "atoms"}, {0: "atoms"})
    names = {"input_names": ["r", "q"], "output_names": ["energy", "forces"]}
    path = tmp_path / "forces.onnx"
    found = gradc.torch.export(forces, atoms(4), path, dynamic_shapes=shapes, **names)
    assert [info.dims for info in found.inputs] == [("atoms", 3), ("atoms",)]
    assert path.exists()
    for count in (1, 2, 9):
        given = atoms(count)
        results = found.run({"r": given[0].detach().numpy(), "q": given[1].numpy()})
        for name, wanted in zip(("energy", "forces"), forces(*given), strict=True):
            np.testing.assert_allclose(results[name], wanted.detach(), rtol=1e-4, atol=1e-5)


class Scaled(torch.nn.Module):
    """Counts its calls in a buffer, and has a parameter that one result needs."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("calls", torch.tensor(0.0))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x * self.weight + self.calls


@pytest.mark.parametrize("weights", ["constant", "default", "required"])
def test_how_weights_and_buffers_are_stored(weights: str):
    x = np.ones(3, np.float32)
    found = gradc.torch.export(Scaled(), (torch.ones(3),), weights=weights)
    assert {info.name for info in found.outputs} == {"output", "new_calls"}
    assert ("weight" in found.required_weights) == (weights == "required")
    assert ("weight" in {info.name for info in found.optional_inputs}) == (weights == "default")
    results = found.run({"x": x, **found.required_weights})
    assert results["output"].tolist() == [2, 3, 4]
    assert results["new_calls"] == 1


def test_tied_parameters_are_one_weight():
    """The remark has the second name."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    net[1].weight = net[0].weight
    found = gradc.torch.export(net, (torch.ones(2, 3),), weights="required")
    assert set(found.required_weights) == {"0.weight", "0.bias", "1.bias"}
    assert "1.weight is 0.weight: one tensor, so one weight" in str(found.remarks[-1])


def test_a_wrong_lowering_is_found_and_named(monkeypatch: pytest.MonkeyPatch):
    """At a size that was not traced, too: here the rule is right for the example alone."""
    right = table.RULES["exp.default"]

    def wrong(f: Any, e: Any) -> Any:
        return right(f, e) * 1.01

    monkeypatch.setattr("passes.lower_aten.lower_aten.RULES", {**table.RULES, "exp.default": wrong})
    with pytest.raises(gradc.CheckError, match=r"test_export.py:\d+:1: error: \[aten.exp.default\] result"):
        gradc.torch.export(forces, atoms(4), output_names=["energy", "forces"])
    assert gradc.torch.export(forces, atoms(4), check=False).proof is None


def test_ops_without_a_lowering_are_named_at_once():
    def function(x: Any) -> Any:
        return torch.linalg.eigvalsh(x).sum() + torch.special.bessel_j0(x).sum()

    with pytest.raises(gradc.UnsupportedError) as caught:
        gradc.torch.export(function, (torch.eye(3),))
    assert "eigh" in str(caught.value)
    assert "bessel_j0" in str(caught.value)


def test_wrong_arguments():
    with pytest.raises(gradc.UsageError, match="weights: given 'inputs'"):
        gradc.torch.export(forces, atoms(2), weights="inputs")
    with pytest.raises(gradc.UsageError, match="check: given 1"):
        gradc.torch.export(forces, atoms(2), check=1)
