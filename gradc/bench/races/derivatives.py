"""Products, Jacobians, Hessians and derivatives per sample: gradc's model against torch.func.

The reference is torch.func in float64.
"""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import gradc.derivatives.forward as products
import gradc.derivatives.gradient as gradients
import gradc.derivatives.hessian as hessians
import gradc.derivatives.jacobian as jacobians
from gradc.bench.races.derivative_networks import MODELS, SMALL
from gradc.bench.races.models import Entry, RaceSettings, nodes_of, on_onnxruntime
from gradc.bench.races.race import Entrant, Race, Results, race, within
from gradc.bench.run import GRADC
from gradc.compiler.compiled import Compiled

BOUND = 2e-4
"""Allowed error of a result, relative to its largest magnitude."""

ROWS, SAMPLES = 8, 16
"""Numbers of cotangents, and of samples."""

OPSET = 18

Function = Callable[..., Any]


@dataclass(frozen=True)
class Kind:
    """A derivative of a model `f` by its input.

    make: gradc's, of the path of the ONNX model. torch: that of torch.func, from the module torch and `f`.
    vector: the vector that both take, from the shapes of `y` and `x`; None if they take none. samples: the
    number of samples. only: the models; all by default.
    """

    make: Callable[[Any], Compiled]
    torch: Callable[[Any, Function], Function]
    vector: Callable[[tuple[int, ...], tuple[int, ...]], tuple[int, ...]] | None = None
    samples: int = 1
    only: Sequence[str] = tuple(MODELS)


def _jacobian(torch: Any, f: Function) -> Function:
    """Return the Jacobian in the mode of the smaller side, as gradc chooses it."""

    def call(x: Any) -> Any:
        is_wide = prod(f(x).shape) <= prod(x.shape)
        return (torch.func.jacrev if is_wide else torch.func.jacfwd)(f)(x)

    return call


def _rows(torch: Any, f: Function) -> Function:
    return lambda x, u: torch.func.vmap(torch.func.vjp(f, x)[1])(u)[0]


def _each(torch: Any, f: Function) -> Function:
    """Return the Jacobian of each sample, without the axes of the batch."""

    def one(x: Any) -> Any:
        return f(x[None])[0]

    return lambda x: torch.func.vmap(torch.func.jacrev(one))(x)


KINDS: Mapping[str, Kind] = {
    "product": Kind(
        lambda model: products.jvp(model, wrt="x", check=False),
        lambda torch, f: lambda x, v: torch.func.jvp(f, (x,), (v,))[1],
        lambda y, x: x,
    ),
    "rows": Kind(
        lambda model: gradients.vjp(model, wrt="x", num_cotangents=ROWS, check=False),
        _rows,
        lambda y, x: (ROWS, *y),
    ),
    "Jacobian": Kind(
        lambda model: jacobians.jacobian(model, wrt="x", check=False),
        _jacobian,
        only=(*SMALL, "resnet", "mobile"),
    ),
    "Hessian": Kind(
        lambda model: hessians.hessian(model, wrt="x", check=False),
        lambda torch, f: torch.func.hessian(f),
        only=("policy", "cell", "quadrotor", "energy"),
    ),
    "Jacobians per sample": Kind(
        lambda model: jacobians.jacobian(model, wrt="x", per_sample=True, check=False),
        _each,
        samples=SAMPLES,
        only=("policy", "cell", "quadrotor", "image", "transformer"),
    ),
}


def race_derivative(name: str, kind: str, torch: Any, settings: RaceSettings) -> Race:
    """Race a derivative. Raises GradcError if gradc does not compile it."""
    torch.manual_seed(settings.seed)
    network, what = MODELS[name], KINDS[kind]
    module = network.make(torch).eval().requires_grad_(False)
    x = torch.randn(what.samples, *network.shape[1:])
    with tempfile.TemporaryDirectory() as folder:
        compiled = what.make(_export(torch, module, x, folder))
    given, feeds = [x], {"x": x.numpy()}
    if what.vector is not None:
        given.append(torch.randn(what.vector(tuple(module(x).shape), tuple(x.shape))))
        (extra,) = (one.name for one in compiled.inputs if one.name != "x")
        feeds[extra] = given[1].numpy()
    (result,) = (one.name for one in compiled.outputs)
    exact = what.torch(torch, copy.deepcopy(module).double())
    truth = {result: exact(*(one.double() for one in given)).numpy()}
    session = compiled.session(threads=settings.threads)
    entry = Entry([on_onnxruntime(GRADC, session, feeds, nodes_of(compiled.model))], {})
    if settings.wants("torch"):
        entry.add("torch", lambda: _entrant(what.torch(torch, module), given, result))
    clock = time.process_time if settings.threads == 1 else time.perf_counter
    return race(name, kind, entry.entrants, entry.notes, within(truth, BOUND), settings.budget, clock=clock)


def _export(torch: Any, module: Any, x: Any, folder: str) -> str:
    """Export a module; return the path of the model."""
    path, names = str(Path(folder) / "model.onnx"), {"input_names": ["x"], "output_names": ["y"]}
    torch.onnx.export(module, (x,), path, opset_version=OPSET, dynamo=False, **names)
    return path


def _entrant(function: Function, given: Sequence[Any], result: str) -> Entrant:
    held: list[Any] = []

    def run() -> None:
        held[:] = [function(*given)]

    def results() -> Results:
        return {result: np.array(held[0].detach().numpy())}

    return Entrant("torch", run, results)
