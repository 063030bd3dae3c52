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


def test_unused_inputs_vanish():
    found = gradc.torch.export(lambda x, y, z: y + 1, (torch.ones(2), torch.ones(2), torch.ones(3)))
    assert [info.name for info in found.inputs] == ["y"]
    assert "inputs x and z are unused, so the model has no such inputs" in str(found.remarks[0])
    assert found.run({"x": np.zeros(2), "y": np.zeros(2, np.float32)})["output"].tolist() == [1, 1]


def test_sizes_that_are_compared():
    """Noise keeps the range of the example, beyond which this function is NaN; sizes are within bounds."""

    def function(x: Any) -> Any:
        largest = torch.nn.functional.max_pool1d(torch.atanh(x * 0.999).T[None], 3)
        return torch.autograd.grad(largest.sum() / (len(x) - 1), x)[0]

    x = torch.tensor([[0.0, 0.5, 1.0]] * 4).T.repeat(2, 1).requires_grad_()
    least = torch.export.Dim("N", min=3)
    assert gradc.torch.export(function, (x,), dynamic_shapes=({0: least},)).proof is None


@pytest.mark.parametrize("count", [1, 2, 9])
def test_a_line_of_a_count_that_is_a_size(count: int):
    def function(x: Any) -> Any:
        n = len(x)
        return torch.linspace(0, 1, n), torch.linspace(n, -0.5, 5), torch.linspace(-1, n / 2, n)

    found = gradc.torch.export(function, (torch.ones(6),), dynamic_shapes=({0: "N"},), opset=18)
    x = torch.ones(count)
    for name, wanted in zip(("output_0", "output_1", "output_2"), function(x), strict=True):
        np.testing.assert_allclose(found.run({"x": x.numpy()})[name], wanted, rtol=1e-6, atol=1e-7)


def test_logarithms_and_quotients_of_saturated_sigmoids():
    """onnxruntime's Sigmoid is 0 at -20, where torch's has a logarithm and a slope."""
    F = torch.nn.functional

    def losses(x: Any) -> Any:
        p, ones = torch.sigmoid(x), torch.ones_like(x)
        found = F.binary_cross_entropy(p, ones, reduction="none"), -torch.log(p[:, None] + 1e-12), 1 / p
        return *found, *(torch.autograd.grad(one.sum(), x, retain_graph=True)[0] for one in found)

    exported = gradc.torch.export(losses, (torch.linspace(-1, 1, 4).requires_grad_(),))
    x = torch.tensor([-30.0, -20.0, -10.0, 20.0]).requires_grad_()
    results = exported.run({"x": x.detach().numpy()})
    for index, wanted in enumerate(losses(x)):
        np.testing.assert_allclose(results[f"output_{index}"], wanted.detach(), rtol=1e-5, atol=1e-8)
    plain = gradc.torch.export(lambda x: torch.sigmoid(x) * 2, (torch.ones(4),))
    assert "Sigmoid" in {node.op_type for node in plain.model.graph.node}


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
        return torch.linalg.eigvals(x).abs().sum() + torch.special.bessel_j0(x).sum()

    with pytest.raises(gradc.UnsupportedError) as caught:
        gradc.torch.export(function, (torch.eye(3),))
    assert "linalg_eig" in str(caught.value)
    assert "bessel_j0" in str(caught.value)


def test_wrong_arguments():
    with pytest.raises(gradc.UsageError, match="weights: given 'inputs'"):
        gradc.torch.export(forces, atoms(2), weights="inputs")
    with pytest.raises(gradc.UsageError, match="check: given 1"):
        gradc.torch.export(forces, atoms(2), check=1)
