"""Collection of a report: the graph compiled with an observer, explained, run and verified."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import GradcError, UsageError, kind_of
from dialects.support.documented_op import DocumentedOp
from dialects.support.limits import Limits, using
from dialects.support.option_names import offer_parameters
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import AUTO, compile_module, constants_of
from gradc.compiler.options import Options
from gradc.derivatives.request import Names, gradient_if_requested
from gradc.derivatives.source import load_gradient
from gradc.graph.constants import bind_constants
from gradc.inspection.explain import Explanation, explain
from gradc.model import saving
from gradc.reporting.data import NOT_COMPILED, Missing, Model, Settings
from gradc.reporting.gradient_check import gradient_check
from gradc.reporting.pointing import with_source_line
from gradc.reporting.report import Report
from gradc.reporting.request import Request
from gradc.reporting.running import run
from gradc.reporting.watching import Watch
from gradc.terminal.notes import quoting_errors
from gradc.tuning.progress import Progress, no_progress
from gradc.tuning.request import BUDGET, TuningRequest
from gradc.tuning.tuner import Tuner
from gradc.util import arguments
from gradc.util.installed import package_version
from gradc.util.machine import this_machine
from gradc.util.version import __version__

PACKAGES = ("onnx", "onnxruntime", "onnxruntime-gpu", "numpy", "xdsl")
CHECK_FAILED = 1


@quoting_errors()
@offer_parameters
def report(
    source: Any,
    target: str = "cpu",
    opset: int | None = None,
    constants: Any = None,
    strategy: str = AUTO,
    auto_pad_rule: str | None = None,
    strict: bool = False,
    threads: int | None = None,
    tune: bool = False,
    tuning_file: str | os.PathLike[str] | None = None,
    tune_budget: float = BUDGET,
    shapes: Mapping[str, Sequence[int]] | None = None,
    limits: Limits | None = None,
    strict_ieee: bool = False,
    *,
    inputs: arguments.Path | Sequence[arguments.Path] | Mapping[str, np.ndarray] | None = None,
    seed: int = 0,
    ep: Any = None,
    rtol: float | None = None,
    run: bool = True,
    measure_peak: bool = False,
    wrt: Names = None,
    of: Names = None,
    straight_through: bool = False,
) -> Report:
    """Report on a graph: `report(graph).save("report.html")`, or displayed in a notebook.

    The arguments are those of `gradc.compile`; `shapes` also fixes dynamic sizes of the run.

    inputs: name -> array, or one or several paths of .npz or .safetensors files; else random by the seed.
    ep: where it runs, `cpu` or `cuda`. rtol: replaces the bound of every output. run: False runs nothing.
    measure_peak: measure the peak speed of this machine, unless known.
    wrt: with this or `of`, the graph is the gradient that `gradc.vjp` returns for them.
    of: as for `gradc.vjp`.
    straight_through: as for `gradc.vjp`.

    A graph that does not compile has a report as well: `failure` is the reason. Raises GradcError for an
    unreadable source, and UsageError for an invalid argument.
    """
    tuning = TuningRequest(tune, tuning_file, tune_budget, {} if shapes is None else shapes)
    threads = tuning.threads(threads)
    options = Options(target, opset, strategy, auto_pad_rule, strict, threads, limits, strict_ieee)
    gradient = gradient_if_requested(wrt, of, straight_through)
    request = Request(source, options, tuning, constants, inputs, seed, ep, rtol, run, measure_peak, gradient)
    with using(limits):
        return collect(request)


def collect(request: Request, progress: Progress = no_progress) -> Report:
    """Return the report of a request; unavailable parts are `Missing` with the reason."""
    tuner = request.tuning.tuner(request.options.resolve_target(), progress)
    try:
        module = _load(request)
    except UsageError:
        raise
    except GradcError as error:
        if error.diagnostic.position is None and error.graph is None:
            raise
        found = _failure_report(request, error)
        return found if error.graph is None else replace(found, ops=_kinds(error.graph), source=error.graph)
    watch = Watch()
    try:
        compiled = compile_module(module.clone(), request.options, None, watch, tuner)
    except UsageError:
        raise
    except GradcError as error:
        explanation = _explain(request, module, _without_measuring(tuner))
        found = _failure_report(request, error)
        records = tuple(watch.records) or NOT_COMPILED
        return replace(found, ops=_kinds(module), passes=records, explanation=explanation, source=module)
    return _full_report(request, compiled, watch, _explain(request, module, _without_measuring(tuner)))


def _load(request: Request) -> ModuleOp:
    """Return the source with its constants. Unreadable files of inputs raise first."""
    _ = request.arrays
    options = request.options
    module = load_gradient(request.source, request.gradient, options.auto_pad_rule, options.target)
    if request.constants is not None:
        bind_constants(module, constants_of(request.constants))
    return module


def _without_measuring(tuner: Tuner | None) -> Tuner | None:
    """Return the tuner without measuring, as the compilation has used up the budget."""
    return None if tuner is None else replace(tuner, measure=None)


def _explain(request: Request, module: ModuleOp, tuner: Tuner | None) -> Explanation | Missing:
    try:
        return explain(module.clone(), request.options, request.shapes, tuner, request.measure_peak)
    except GradcError as error:
        return Missing.of_error(error)


def _failure_report(request: Request, error: GradcError) -> Report:
    return Report(
        title=request.title,
        repeat=request.commands(),
        settings=_settings(request),
        ops={},
        remarks=(),
        failure=with_source_line(request, error.diagnostic),
        also=tuple(with_source_line(request, diagnostic) for diagnostic in error.others),
        model=NOT_COMPILED,
        passes=NOT_COMPILED,
        explanation=NOT_COMPILED,
        run=NOT_COMPILED,
        exit_code=error.exit_code,
    )


def _full_report(
    request: Request, compiled: Compiled, watch: Watch, explanation: Explanation | Missing
) -> Report:
    done = run(compiled, request, _work(explanation))
    found = Report(
        title=request.title,
        repeat=request.commands(),
        settings=_settings(request),
        ops=_kinds(compiled.source),
        remarks=tuple(with_source_line(request, remark) for remark in compiled.remarks),
        failure=None,
        model=_model(compiled),
        passes=tuple(watch.records),
        explanation=explanation,
        run=done,
        source=compiled.source,
        result=compiled.module,
        compiled=compiled,
        check=gradient_check(request),
    )
    return replace(found, exit_code=CHECK_FAILED) if found.is_wrong else found


def _work(explanation: Explanation | Missing) -> int:
    """Return the flops of the gradients, as far as known."""
    if isinstance(explanation, Missing):
        return 0
    return sum(len(gradient.ops) * (gradient.flops or 0) for gradient in explanation.gradients)


def _settings(request: Request) -> Settings:
    target = request.options.resolve_target()
    found = {name: version for name in PACKAGES if (version := package_version(name))}
    return Settings(
        target.name,
        target.opset,
        target.threads,
        request.options.strategy,
        {"gradc": __version__} | found,
        str(this_machine()),
    )


def _kinds(module: ModuleOp) -> Mapping[str, int]:
    ops = [op for op in module.walk() if isinstance(op, DocumentedOp)]
    return dict(Counter(map(kind_of, ops)).most_common())


def nodes_by_kind(module: ModuleOp) -> Mapping[str, int]:
    """Count the ONNX nodes of a module except constants, the most frequent first."""
    ops = [op for op in module.walk() if isinstance(op, OnnxOp) and not isinstance(op, ConstantOp)]
    return dict(Counter(op.onnx_name() for op in ops).most_common())


def _model(compiled: Compiled) -> Model:
    weights, size = compiled.parts.weight_bytes, saving.model_bytes(compiled.parts)
    return Model(compiled.inputs, compiled.outputs, nodes_by_kind(compiled.module), size, weights)
