"""Forward and backward pass of torch's networks: gradc's model against torch's autograd and onnx-ad's.

Either the weights are constants and the input is differentiated, or they are inputs and all are.
Normalizations use their running statistics. The reference is torch's autograd in float64.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import gradc.derivatives.gradient as gradients
from gradc.bench.peers.base import NotAvailable
from gradc.bench.races.models import (
    Entry,
    RaceSettings,
    forward_entrant,
    nodes_of,
    on_onnxruntime,
    onnx_ad_entrant,
)
from gradc.bench.races.networks import NETWORKS
from gradc.bench.races.race import Entrant, Race, Results, race, within
from gradc.bench.run import GRADC
from gradc.compiler.compiled import Compiled
from gradc.util.extras import install

BOUND = 2e-4
"""Allowed f32 error in networks of this depth, relative to the largest magnitude of a result."""

CONSTANT, BY_WEIGHTS = "constant weights", "by weights"
KINDS = (CONSTANT, BY_WEIGHTS)
OPSET = 18


def import_torch(threads: int) -> Any:
    """Import torch with a number of threads. Raises NotAvailable."""
    try:
        torch: Any = import_module("torch")
    except ImportError as error:
        raise NotAvailable(f"{error}; {install('peers')}") from None
    torch.set_num_threads(threads)
    return torch


def race_network(name: str, kind: str, torch: Any, settings: RaceSettings) -> Race:
    """Race a network. Raises GradcError if gradc does not compile the gradient."""
    network = NETWORKS[name]
    torch.manual_seed(settings.seed)
    module, x = _perturb(torch, network.make(torch).eval()), torch.randn(network.shape)
    cotangent = torch.randn(module(x).shape)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / f"{name}.onnx")
        _export(torch, module, x, path, keeps_weights=kind == BY_WEIGHTS)
        weights = [parameter for parameter, _ in module.named_parameters()]
        wrt = ["x"] if kind == CONSTANT else weights
        compiled = gradients.value_and_grad(
            path, wrt=wrt, of=["y"], cotangents=True, threads=settings.threads
        )
        feeds = {"x": x.numpy(), "cotangent_y": cotangent.numpy()}
        if kind == BY_WEIGHTS:
            feeds |= {parameter: value.detach().numpy() for parameter, value in module.named_parameters()}
        return _race(name, kind, torch, module, (x, cotangent), (path, compiled, feeds), settings)


def _perturb(torch: Any, module: Any) -> Any:
    """Perturb all tensors, as the exporter merges equal ones."""
    tensors = (*module.parameters(), *(b for b in module.buffers() if b.is_floating_point()))
    with torch.no_grad():
        for tensor in tensors:
            tensor.add_(0.1 * torch.rand(tensor.shape))
    return module


def _race(
    name: str,
    kind: str,
    torch: Any,
    module: Any,
    given: tuple[Any, Any],
    made: tuple[str, Compiled, Mapping[str, Any]],
    settings: RaceSettings,
) -> Race:
    path, compiled, feeds = made
    exact = copy.deepcopy(module).double()
    truth = _step(torch, exact, exact, kind, *(tensor.double() for tensor in given))
    truth.run()
    session = compiled.session(threads=settings.threads)
    entry = Entry([on_onnxruntime(GRADC, session, feeds, nodes_of(compiled.model))], {})
    if settings.wants("torch"):
        entry.add("torch", lambda: _step(torch, module, module, kind, *given))
    if settings.wants("torch.compile"):
        entry.add("torch.compile", lambda: _step(torch, module, _compile(torch, module), kind, *given))
    if settings.wants("onnx-ad") and kind == CONSTANT:
        entry.add("onnx-ad", lambda: onnx_ad_entrant(path, compiled, feeds, settings))
    if settings.wants("forward"):
        entry.add("forward", lambda: forward_entrant(path, feeds, settings))
    return race(name, kind, entry.entrants, entry.notes, within(truth.results(), BOUND), settings.budget)


def _compile(torch: Any, module: Any) -> Any:
    """Compile a module with an empty cache; torch compiles shared container code at most eight times."""
    torch.compiler.reset()
    return torch.compile(module)


def _export(torch: Any, module: Any, x: Any, path: str, keeps_weights: bool) -> None:
    """Export a module; `keeps_weights` keeps their names and prevents folding."""
    kept: dict[str, Any] = {}
    if keeps_weights:
        kept = {"do_constant_folding": False, "training": torch.onnx.TrainingMode.PRESERVE}
    names = {"input_names": ["x"], "output_names": ["y"]}
    torch.onnx.export(module, (x,), path, opset_version=OPSET, dynamo=False, **names, **kept)


def _step(torch: Any, module: Any, call: Callable[[Any], Any], kind: str, x: Any, cotangent: Any) -> Entrant:
    """Return a contestant that runs forward and backward as a training loop does."""
    named = dict(module.named_parameters())
    for parameter in named.values():
        parameter.requires_grad_(kind == BY_WEIGHTS)
    by = {"x": x.detach().clone().requires_grad_()} if kind == CONSTANT else named
    data, held = by.get("x", x), list[Any]()

    def run() -> None:
        held[:] = torch.autograd.grad(call(data), list(by.values()), cotangent)

    def results() -> Results:
        arrays = (gradient.detach().numpy() for gradient in held)
        return dict(zip((f"grad_{name}" for name in by), map(np.array, arrays), strict=True))

    return Entrant("torch" if call is module else "torch.compile", run, results)
