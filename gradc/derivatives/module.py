"""The gradient of a module as a module, before compilation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from dialects.support.entry import entry_function, output_names
from gradc.compiler.exported_program import ExportedProgram
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer, parse, run_passes
from gradc.derivatives.request import GradientRequest
from gradc.derivatives.results import edge_names, with_source_names
from gradc.derivatives.row_requests import VjpRequest
from gradc.derivatives.training import apply_training, training_passes
from gradc.graph.constants import bind_constants
from gradc.graph.rebatching import check_new_size
from passes import pipelines
from passes.autodiff.common.primal import Rule
from passes.autodiff.session import Session
from passes.autodiff.shared_weights import separate_copies
from passes.differentiate import Request
from passes.vectorize.vectorize_pass import VectorizePass

TO_ONNX_PASSES = ("canonicalize-layout", "lower-cann", "lower-onednn")
"""Passes that convert source dialects to ONNX ops or canonical gradients; they cancel Transposes."""

SOURCES = ("cann.", "onednn.")


def differentiate_source(module: ModuleOp, user_request: GradientRequest) -> ModuleOp:
    """Return the gradient of a module, which is modified, as a source module."""
    options, of_source = Options(), edge_names(module)
    module = prepare(module, user_request, options)
    apply_training(module, user_request, options)
    found = differentiate(module, user_request.request(module), options, user_request.rules)
    if isinstance(user_request, VjpRequest) and (rows := user_request.num_cotangents) is not None:
        function = entry_function(module)
        check_new_size(function, "num_cotangents", rows)
        shared = [name for name in output_names(function) if name not in found.gradients.values()]
        rows_pass = VectorizePass(tuple(found.cotangents.values()), rows, tuple(shared))
        run_passes(module, [rows_pass], options, start=module.clone())
    user_request.finish(module, list(found.gradients.values()), of_source)
    return module


def prepare(
    module: ModuleOp,
    user_request: GradientRequest,
    options: Options,
    constants: Mapping[str, Any] | None = None,
    observer: Observer | None = None,
) -> ModuleOp:
    """Apply names, constants and shapes of inputs, and convert the module to ONNX ops."""
    user_request.check_rules(module)
    module = with_source_names(module, user_request.rename or {})
    user_request.check_former_names(module)
    if constants is not None:
        bind_constants(module, constants)
    module = convert_to_onnx(user_request.resize(module), options, observer)
    return user_request.with_named_weights(module)


def convert_to_onnx(module: ModuleOp, options: Options, observer: Observer | None = None) -> ModuleOp:
    """Convert a module to ONNX ops or canonical gradients with inferred types, in place.

    An Identity of a weight becomes a separate weight, unless it is a call of the program of torch's exporter.
    """
    is_onnx = not any(op.name.startswith(SOURCES) for op in module.walk())
    spec = ",".join((pipelines.canonicalize(), *(() if is_onnx else TO_ONNX_PASSES)))
    run_passes(module, parse(spec), options, observer, start=module.clone())
    separate_copies(entry_function(module), ExportedProgram.of_module(module).calls)
    return module


def differentiate(
    module: ModuleOp,
    request: Request,
    options: Options,
    rules: Mapping[str, Rule] | None = None,
    observer: Observer | None = None,
    *,
    records: bool = False,
) -> Session:
    """Replace a module of ONNX ops by its gradient; return the names of new results and inputs."""
    session = Session({} if rules is None else rules, records)
    passes = request.passes(session, strict_ieee=options.strict_ieee)
    run_passes(module, passes, options, observer, start=module.clone())
    return session


def pass_names(user_request: GradientRequest, options: Options) -> list[str]:
    """Return the names of the passes of a gradient and its compilation."""
    request = Request(straight_through=user_request.straight_through)
    passes = request.passes(Session(), strict_ieee=options.strict_ieee)
    first = (*pipelines.CANONICALIZE, *TO_ONNX_PASSES)
    training = (pass_.name for pass_ in training_passes(user_request, options))
    derivative = [*training, *(pass_.name for pass_ in passes), *user_request.row_passes]
    return [*first, *derivative, *(pass_.name for pass_ in parse(options.pipeline))]
