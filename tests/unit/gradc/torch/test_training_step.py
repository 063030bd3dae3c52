"""Training steps written in torch, against the same steps run by torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc

torch: Any = pytest.importorskip("torch")

STEPS = 10


def network() -> Any:
    """Without a bias before the normalization: its gradient is nothing but roundings."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8, bias=False), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 3)
    )


def batch(size: int, seed: int = 0) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(size, 4, generator=generator), torch.randint(3, (size,), generator=generator)


def step_of(net: Any, optimizer: Any) -> Callable[[Any, Any], Any]:
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=0.01),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "RAdam": lambda p: torch.optim.RAdam(p, lr=0.01),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05, lr_decay=0.1),
    "foreach": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
    "fused": lambda p: torch.optim.AdamW(p, lr=0.01, fused=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_many_steps_agree_with_torch(name: str, tmp_path: Path):
    """The rate halves midway; batches have another size than the example."""
    net = network()
    optimizer = OPTIMIZERS[name](net.parameters())
    states = len(optimizer.state)  # Adagrad has its states before the first step
    step = step_of(net, optimizer)
    found = gradc.torch.train_step(step, batch(5), dynamic_shapes=({0: "N"}, {0: "N"}))
    assert len(optimizer.state) == states
    assert found.facts["scalars"] == {"lr": "float32"}, found.remarks
    found.save(tmp_path / "run")
    trainer = gradc.Trainer(tmp_path / "run")
    for number in range(STEPS):
        if number == STEPS // 2:
            optimizer.param_groups[0]["lr"] /= 2
        rate = {"lr": optimizer.param_groups[0]["lr"]}
        x, y = batch(7, number)
        loss = trainer.step({"x": x.numpy(), "y": y.numpy()}, **rate)
        assert loss == pytest.approx(float(step(x, y).detach()), rel=1e-4)
    for key, parameter in net.named_parameters():
        np.testing.assert_allclose(trainer.parameters()[key], parameter.detach(), rtol=1e-3, atol=1e-4)


EXACT = 2.0**-7
"""A rate that float32 represents, as inputs `lr` are float32."""

DOUBLES: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=EXACT, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=EXACT, amsgrad=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=EXACT),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=EXACT),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=EXACT),
    "RAdam": lambda p: torch.optim.RAdam(p, lr=EXACT),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=EXACT),
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=EXACT),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=EXACT),
}


@pytest.mark.parametrize("name", DOUBLES)
def test_steps_in_float64(name: str, tmp_path: Path):
    """Counters are float32 in the file, and powers of the decay rates by them are float64."""
    net = network().double()
    step = step_of(net, DOUBLES[name](net.parameters()))
    x, y = batch(6)
    gradc.torch.train_step(step, (x.double(), y)).save(tmp_path / "run")
    trainer = gradc.Trainer(tmp_path / "run")
    for number in range(2 * STEPS):
        x, y = batch(6, number)
        loss = trainer.step({"x": x.double().numpy(), "y": y.numpy()}, lr=EXACT)
        assert loss == pytest.approx(float(step(x.double(), y).detach()), rel=1e-6)  # losses are float32
    for key, parameter in net.named_parameters():
        np.testing.assert_allclose(trainer.parameters()[key], parameter.detach(), rtol=1e-6, atol=1e-7)


def scaled(net: Any, optimizer: Any, scaler: Any) -> Callable[[Any, Any], Any]:
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step


def test_helpers_that_keep_state_in_python_are_refused():
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    average = torch.optim.swa_utils.AveragedModel(net)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    plain = step_of(net, optimizer)

    def averaged(x: Any, y: Any) -> Any:
        loss = plain(x, y)
        average.update_parameters(net)
        return loss

    def watched(x: Any, y: Any) -> Any:
        loss = plain(x, y)
        plateau.step(loss)
        return loss

    steps = {
        "keeps its scale in a Python object": scaled(net, optimizer, torch.amp.GradScaler("cpu")),
        "reads its counter as a Python number": averaged,
        "reads the value of the loss": watched,
    }
    for message, step in steps.items():
        with pytest.raises(gradc.UnsupportedError, match=rf"test_training_step\.py:\d+:1: .*{message}"):
            gradc.torch.train_step(step, batch(5))


def test_roles_of_inputs():
    net = network()
    step = gradc.torch.train_step(
        step_of(net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)), batch(5)
    )
    facts = step.facts
    assert facts["batch"] == ["x", "y"]
    assert facts["outputs"] == ["loss"]
    assert facts["parameters"] == [name for name, _ in net.named_parameters()]
    assert facts["statistics"] == ["1.running_mean", "1.running_var", "1.num_batches_tracked"]
    assert facts["states"]["0.weight.momentum_buffer"] == {"of": "0.weight", "slot": "momentum_buffer"}
    assert step.updates["0.weight"] == "new_0.weight"


def test_groups_keep_their_ratio():
    net = network()
    groups = [{"params": net[0].parameters(), "lr": 0.1}, {"params": net[3].parameters(), "lr": 0.02}]
    found = gradc.torch.train_step(step_of(net, torch.optim.SGD(groups)), batch(5))
    assert found.initial.keys() >= {"0.weight", "3.weight"}
    again = network()
    for group, part in zip(groups, (again[0], again[3]), strict=True):
        group.update(params=part.parameters(), lr=group["lr"] * 3)
    x, y = batch(5)
    step_of(again, torch.optim.SGD(groups))(x, y)
    import onnxruntime

    feeds = {**found.initial, "x": x.numpy(), "y": y.numpy(), "lr": np.array(0.3, np.float32)}
    session = onnxruntime.InferenceSession(
        found.model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    results = dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds), strict=True))
    for name, parameter in again.named_parameters():
        if not name.startswith("1."):
            np.testing.assert_allclose(results[f"new_{name}"], parameter.detach(), rtol=1e-4, atol=1e-6)


def test_a_step_that_returns_its_new_values(tmp_path: Path):
    """As in functional code: parameters and momenta are trees, and are returned in the same form."""

    def step(parameters: Any, momenta: Any, x: Any, y: Any) -> Any:
        def loss_of(p: Any) -> Any:
            return torch.nn.functional.cross_entropy(torch.tanh(x @ p["w"]) @ p["v"], y)

        loss, gradients = loss_of(parameters), torch.func.grad(loss_of)(parameters)
        momenta = {name: 0.9 * m + gradients[name] for name, m in momenta.items()}
        return loss, {name: p - 0.1 * momenta[name] for name, p in parameters.items()}, momenta

    generator = torch.Generator().manual_seed(0)
    parameters = {"w": torch.randn(4, 8, generator=generator), "v": torch.randn(8, 3, generator=generator)}
    momenta = {name: torch.zeros_like(p) for name, p in parameters.items()}
    found = gradc.torch.train_step(step, (parameters, momenta, *batch(5)))
    assert set(found.updates) == {"parameters_w", "parameters_v", "momenta_w", "momenta_v"}
    assert found.facts["outputs"] == ["loss"]
    found.save(tmp_path / "run")
    trainer = gradc.Trainer(tmp_path / "run")
    for number in range(STEPS):
        x, y = batch(5, number)
        loss, parameters, momenta = step(parameters, momenta, x, y)
        assert trainer.step({"x": x.numpy(), "y": y.numpy()}) == pytest.approx(float(loss), rel=1e-4)


def test_further_results_of_the_shape_of_an_argument():
    """A second scalar, beside the loss, is no new rate, and a tensor like the batch no new batch."""
    net = network()
    inner = step_of(net, torch.optim.SGD(net.parameters(), lr=0.1))

    def step(x: Any, y: Any) -> Any:
        loss = inner(x, y)
        return loss, loss * 2, x + 1

    found = gradc.torch.train_step(step, batch(5))
    assert found.facts["scalars"] == {"lr": "float32"}
    assert set(found.updates) == set(net.state_dict())
    assert len(found.facts["outputs"]) == 3


def test_a_change_of_a_list_of_tensors_is_not_dropped():
    net = network()

    def step(x: Any, y: Any) -> Any:
        loss = torch.nn.functional.cross_entropy(net(x), y)
        gradients = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            torch._foreach_add_(list(net.parameters()), gradients, alpha=-0.1)
        return loss

    with pytest.raises(gradc.UnsupportedError, match=r"_foreach_add_ changes tensors of a list in place"):
        gradc.torch.train_step(step, batch(5))


def test_what_it_refuses():
    net = network()
    with pytest.raises(gradc.UsageError, match="step: given 'a function that updates nothing'"):
        gradc.torch.train_step(lambda x, y: net.eval()(x).sum() + y.sum(), batch(5))
    optimizer = torch.optim.LBFGS(net.parameters())
    with pytest.raises(gradc.UnsupportedError, match="states of LBFGS before its first step are unknown"):
        gradc.torch.train_step(step_of(net, optimizer), batch(5))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    inner = step_of(net, optimizer)

    def scheduled(x: Any, y: Any) -> Any:
        loss = inner(x, y)
        scheduler.step()
        return loss

    with pytest.raises(gradc.UnsupportedError, match="changes lr of an optimizer, as a scheduler does"):
        gradc.torch.train_step(scheduled, batch(5))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, dampening=0.1)
    with pytest.raises(gradc.UnsupportedError, match="first step of SGD with dampening differs"):
        gradc.torch.train_step(step_of(net, optimizer), batch(5))
