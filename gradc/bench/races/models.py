"""Races of a model file: the compiled model against the original and onnxslim's, or its gradient."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

import gradc.derivatives.gradient as gradients
from gradc.bench.peers.base import NotSupported
from gradc.bench.races import ON_REQUEST
from gradc.bench.races.race import Entrant, Race, Results, race, within
from gradc.bench.run import GRADC
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.inspection.verify_models import against
from gradc.model.external_data import open_model
from gradc.runtime.session import Session
from gradc.util.extras import install
from gradc.verification.samples import random_inputs

GRADIENT_BOUND = 1e-3
"""Allowed difference of other gradients from gradc's proved one, relative to the largest magnitude."""


@dataclass(frozen=True)
class RaceSettings:
    """Settings of a race; without `wrt` or `of` the model itself is compiled, else its gradient."""

    threads: int
    budget: float
    seed: int
    peers: Sequence[str] | None = None
    wrt: Sequence[str] = ()
    of: Sequence[str] = ()
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def wants(self, peer: str) -> bool:
        return peer not in ON_REQUEST if self.peers is None else peer in self.peers


@dataclass(eq=False)
class Entry:
    """The contestants, and the reasons why others are missing."""

    entrants: list[Entrant]
    notes: dict[str, str]

    def add(self, name: str, make: Callable[[], Entrant]) -> None:
        """Add a contestant after a first run; a peer's failure becomes a note."""
        try:
            entrant = make()
            entrant.run()
        except Exception as error:
            why = str(error) if isinstance(error, NotSupported) else f"failed: {error}"
            self.notes[name] = " ".join(why.split())[:200]
            return
        self.entrants.append(entrant)


def nodes_of(model: Any) -> int:
    return sum(node.op_type != "Constant" for node in model.graph.node)


def on_onnxruntime(name: str, session: Session, feeds: Mapping[str, Any], nodes: int, **more: Any) -> Entrant:
    """Create a contestant on onnxruntime, with bound inputs and outputs if all are numeric tensors."""
    if all(info.is_tensor and info.dtype != "string" for info in (*session.inputs, *session.outputs)):
        bound = session.bound(feeds)
        return Entrant(name, bound, bound.results, nodes, **more)
    return Entrant(name, lambda: session.run(feeds), lambda: session.run(feeds), nodes, **more)


def race_model(path: str, settings: RaceSettings) -> Race:
    """Race a model. Raises GradcError if gradc does not compile or onnxruntime does not run it."""
    if settings.wrt or settings.of:
        return _race_gradient(path, settings)
    original = Session(path, threads=settings.threads)
    compiled = compile_module(load(path), Options(threads=settings.threads))
    feeds = random_inputs(compiled.source, settings.seed, settings.shapes)
    expected = original.run(feeds)

    def judge(found: Results) -> tuple[float, float]:
        rows = against(expected, compiled, found)
        worst = max(rows, key=lambda row: row.worst - row.rtol, default=None)
        return (0.0, 0.0) if worst is None else (worst.worst, worst.rtol)

    entry = Entry([_ours(compiled, feeds, settings)], {})
    if settings.wants("original"):
        entry.add("original", lambda: on_onnxruntime("original", original, feeds, _node_count(path)))
    if settings.wants("onnxslim"):
        entry.add("onnxslim", lambda: _onnxslim_entrant(path, feeds, settings))
    return race(os.path.basename(path), "model", entry.entrants, entry.notes, judge, settings.budget)


def _ours(compiled: Compiled, feeds: Mapping[str, Any], settings: RaceSettings) -> Entrant:
    return on_onnxruntime(GRADC, compiled.session(threads=settings.threads), feeds, nodes_of(compiled.model))


def _node_count(path: str) -> int:
    with open_model(path) as (model, _):
        return nodes_of(model)


def _onnxslim_entrant(path: str, feeds: Mapping[str, Any], settings: RaceSettings) -> Entrant:
    try:
        onnxslim: Any = import_module("onnxslim")
    except ImportError as error:
        raise NotSupported(f"{error}; {install('peers')}") from None
    model = onnxslim.slim(path)
    return on_onnxruntime("onnxslim", Session(model, threads=settings.threads), feeds, nodes_of(model))


def _race_gradient(path: str, settings: RaceSettings) -> Race:
    """Race the gradient with a cotangent; gradc proves its gradient before timing."""
    compiled = gradients.vjp(path, wrt=settings.wrt or None, of=settings.of or None, threads=settings.threads)
    session = compiled.session(threads=settings.threads)
    feeds = random_inputs(compiled.source, settings.seed, settings.shapes)
    entry = Entry([_ours(compiled, feeds, settings)], {})
    if settings.wants("forward"):
        entry.add("forward", lambda: forward_entrant(path, feeds, settings))
    if settings.wants("onnx-ad"):
        entry.add("onnx-ad", lambda: onnx_ad_entrant(path, compiled, feeds, settings))
    judge = within(session.run(feeds), GRADIENT_BOUND)
    return race(os.path.basename(path), "gradient", entry.entrants, entry.notes, judge, settings.budget)


def forward_entrant(path: str, feeds: Mapping[str, Any], settings: RaceSettings) -> Entrant:
    session = Session(path, threads=settings.threads)
    given = {info.name: feeds[info.name] for info in session.inputs if info.name in feeds}
    return on_onnxruntime("forward", session, given, _node_count(path), yardstick=True)


def onnx_ad_entrant(
    path: str, compiled: Compiled, feeds: Mapping[str, Any], settings: RaceSettings
) -> Entrant:
    """Run onnx-ad's whole model, including primal results; its adjoints have a trailing axis of seeds."""
    try:
        onnx_ad: Any = import_module("onnx_ad")
    except ImportError as error:
        raise NotSupported(f"{error}; {install('peers')}") from None
    onnx: Any = import_module("onnx")
    model = onnx_ad.reverse(onnx.load(path), inputs=list(compiled.gradients), layout="onnx")
    session = Session(model, threads=settings.threads)
    seeds = {f"adj_{of}": feeds[name][..., None] for of, name in compiled.cotangents.items()}
    known = {**feeds, **seeds}
    given = {info.name: np.ascontiguousarray(known[info.name]) for info in session.inputs}
    bound = session.bound(given)

    def results() -> Results:
        found = bound.results()
        return {name: found[f"adj_{wrt}"][..., 0] for wrt, name in compiled.gradients.items()}

    return Entrant("onnx-ad", bound, results, nodes_of(model))
