"""The models without gradients of a training step: the loss of given parameters, and the inference model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from dialects.support import entry
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer, run_passes
from gradc.derivatives.results import results_of, set_results_of
from gradc.model.split_model import without_initializers
from passes.builder.rewriting import drop_unread_nodes
from passes.training.batch_norm import BatchNormEvalPass, BatchNormTrainPass
from passes.training.dropout import DropDropoutPass
from passes.training.weights_as_inputs import weights_as_inputs


def inference_form(
    module: ModuleOp,
    parameters: Collection[str],
    options: Options,
    observer: Observer | None,
    *,
    trains: bool,
) -> ModuleOp:
    """Return a module in the form of inference: running statistics, no Dropout, and the
    parameters as inputs; with `trains` the running statistics too. The module is modified."""
    outputs = entry.output_names(entry.entry_function(module))
    states = [BatchNormTrainPass()] if trains else []
    passes = [*states, BatchNormEvalPass(), DropDropoutPass()]
    run_passes(module, passes, options, observer, start=module.clone())
    function = entry.entry_function(module)
    results = results_of(function)
    set_results_of(function, {name: results[name] for name in outputs})
    drop_unread_nodes(function)
    weights_as_inputs(function, parameters)
    return module


def compile_evaluation(module: ModuleOp, options: Options, origin: ModuleOp) -> Compiled:
    """Return the model of the loss and the outputs, whose weights are inputs."""
    compiled = compile_module(module, options, origin=origin)
    return replace(compiled, parts=without_initializers(compiled.parts, compiled.weights))


def compile_inference(module: ModuleOp, options: Options, origin: ModuleOp) -> Compiled:
    """Return the model whose weights are initializers under their names."""
    compiled = compile_module(module, options, origin=origin)
    graph = compiled.parts.proto.graph
    kept = [info for info in graph.input if info.name not in compiled.weights]
    del graph.input[:]
    graph.input.extend(kept)
    return compiled
