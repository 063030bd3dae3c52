"""PyTorch functions that take derivatives: the exported model against eager torch.

The reference is the function itself in float64.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradc.bench.races.models import Entry, RaceSettings, nodes_of, on_onnxruntime
from gradc.bench.races.race import Entrant, Race, Results, race, within
from gradc.bench.races.torch_functions import FUNCTIONS as SMALL
from gradc.bench.races.torch_functions import Differentiating
from gradc.bench.races.torch_networks import FUNCTIONS as LARGE
from gradc.bench.run import GRADC
from gradc.importers.torch import torch_internals as internals
from gradc.torch.export_function import export

BOUND = 2e-4
"""Allowed error of a result, relative to its largest magnitude."""

FUNCTION, NETWORK = "small function", "network"
KINDS: Mapping[str, Mapping[str, Differentiating]] = {FUNCTION: SMALL, NETWORK: LARGE}


def race_export(name: str, kind: str, torch: Any, settings: RaceSettings) -> Race:
    """Race an exported function. Raises GradcError if gradc does not export it."""
    torch.manual_seed(settings.seed)
    module, arguments = KINDS[kind][name].make(torch)
    compiled = export(module, arguments, check=False)
    names = [info.name for info in compiled.outputs]
    leaves = [leaf for leaf in internals.pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
    feeds = {info.name: leaf.detach().numpy() for info, leaf in zip(compiled.inputs, leaves, strict=True)}
    truth = in_float64(torch, module, arguments, names)
    session = compiled.session(threads=settings.threads)
    entry = Entry([on_onnxruntime(GRADC, session, feeds, nodes_of(compiled.model))], {})
    if settings.wants("torch"):
        entry.add("torch", lambda: torch_entrant(torch, module, arguments, names))
    clock = time.process_time if settings.threads == 1 else time.perf_counter
    return race(name, kind, entry.entrants, entry.notes, within(truth, BOUND), settings.budget, clock=clock)


def torch_entrant(torch: Any, function: Any, arguments: Any, names: list[str]) -> Entrant:
    """Return a contestant that calls the function as its user does."""
    held: list[Any] = []

    def run() -> None:
        held[:] = internals.pytree.tree_leaves(function(*arguments))

    def results() -> Results:
        return {name: np.array(leaf.detach().numpy()) for name, leaf in zip(names, held, strict=True)}

    return Entrant("torch", run, results)


def in_float64(torch: Any, module: Any, arguments: Any, names: list[str]) -> Results:
    """Return the results of a module in float64, by name; the module stays as it is."""

    def wide(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
            return leaf
        return leaf.detach().double().requires_grad_(leaf.requires_grad)

    module.double()
    try:
        entrant = torch_entrant(torch, module, internals.pytree.tree_map(wide, arguments), names)
        entrant.run()
        return entrant.results()
    finally:
        module.float()
