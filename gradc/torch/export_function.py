"""`gradc.torch.export`: a PyTorch function or module, its derivatives included, as a plain ONNX model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.support import dense, entry
from dialects.support.diagnostics import Diagnostic, several
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import parse, run_passes
from gradc.derivatives.derivation import store_weights
from gradc.derivatives.request import CONSTANT, WEIGHTS
from gradc.graph.constants import bind_constants
from gradc.importers.torch.arguments import read_arguments
from gradc.importers.torch.capture import capture
from gradc.importers.torch.captured import CapturedGraph
from gradc.importers.torch.elements import COMPLEX, array_of
from gradc.importers.torch.module import module_of
from gradc.importers.torch.state import find_state
from gradc.torch.check import Exported, check_export
from gradc.torch.eager import Eager
from gradc.util import arguments
from passes.lower_aten.table import KNOWN

ADDS_TO_GRADIENTS = (
    "the function adds to gradients that an earlier call left; the model starts without, as after zero_grad()"
)


def export(
    f: Callable[..., Any],
    args: Sequence[Any],
    path: str | os.PathLike[str] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    weights: str = CONSTANT,
    opset: int | None = None,
    target: str = "cpu",
    check: bool = True,
) -> Compiled:
    """Export what a function or `nn.Module` computes, and the derivatives that it takes, as ONNX.

    f: calls of `torch.autograd.grad`, `.backward()` and `torch.func` are part of the model.
    args, kwargs: example arguments, which may be trees; each tensor in them is an input.
    path: the model is also saved here.
    dynamic_shapes: as in `torch.onnx.export`: for each argument, a dict from axis to a name, or None.
    input_names, output_names: names of all tensors of the arguments and of the result, in torch's order.
    weights: how parameters and buffers are stored: `constant`, `default` (an input with an initializer) or
    `required` (an input). Buffers that the function changes are inputs in any case; their new values are
    results `new_<buffer>`.
    opset: 13 and newer, default 18. target: as in `gradc.compile`.
    check: compare the model with the function at the example and at other sizes before it is written.

    Raises GradcError for a function whose graph depends on values, UnsupportedError for ops without a
    lowering, CheckError if the model differs from the function.
    """
    arguments.one_of("weights", weights, WEIGHTS)
    arguments.flag("check", check)
    options = Options(target=target, opset=opset)
    graph = capture(f, args, kwargs, dynamic_shapes, input_names, output_names, kept=KNOWN)
    state = state_arrays(f)
    compiled = compile_captured(graph, state, options, weights)
    if check:
        eager = Eager(f, read_arguments(f, args, kwargs or {}, input_names, dynamic_shapes))
        remarks = check_export(Exported(compiled, graph, state, eager))
        if eager.adds_to_gradients():
            remarks.append(Diagnostic("remark", ADDS_TO_GRADIENTS))
        compiled = replace(compiled, remarks=(*compiled.remarks, *remarks))
    compiled = replace(compiled, remarks=(*compiled.remarks, *remarks_on_ties(f)))
    if path is not None:
        compiled.save(path)
    return compiled


def remarks_on_ties(f: Callable[..., Any]) -> list[Diagnostic]:
    """Return a remark for each further name of a parameter; the model has one weight for them."""
    state = find_state(f)
    names = {id(tensor): name for name, tensor in state.tensors.items()}
    found: list[Diagnostic] = []
    for prefix, one in state.modules.items():
        for name, tensor in one.named_parameters(prefix, remove_duplicate=False):
            own = names.get(id(tensor), name)
            if own != name:
                found.append(Diagnostic("remark", f"{name} is {own}: one tensor, so one weight of this name"))
    return found


def state_arrays(f: Callable[..., Any]) -> dict[str, np.ndarray]:
    """Return the parameters and buffers of a module by name; none for other functions."""
    return {name: array_of(tensor) for name, tensor in find_state(f).tensors.items()}


def compile_captured(
    graph: CapturedGraph, state: Mapping[str, np.ndarray], options: Options, weights: str
) -> Compiled:
    """Compile a captured graph without its unused inputs; `state` has the values of its parameters and
    buffers."""
    options = replace(options, drop_unused_inputs=True)
    module = module_of(graph)
    values = {given.name: state[given.name] for given in graph.inputs if given.kind != "argument"}
    constants = {n: a for n, a in values.items() if weights == CONSTANT and n not in graph.updates}
    bind_constants(module, constants)
    _set_defaults(module, {n: a for n, a in values.items() if n not in constants})
    run_passes(module, parse("lower-aten"), options, start=module.clone())
    compiled = compile_module(module, options)
    remarks = (
        *compiled.remarks,
        *_dropped_remarks(compiled.dropped_inputs),
        *_complex_remarks(graph, compiled),
    )
    return store_weights(replace(compiled, remarks=remarks), weights)


def _dropped_remarks(names: Sequence[str]) -> list[Diagnostic]:
    """Return a remark that names the inputs that the model does not have."""
    if not names:
        return []
    what, verb = ("input", "is") if len(names) == 1 else ("inputs", "are")
    text = f"{what} {several(names)} {verb} unused, so the model has no such {what}"
    return [Diagnostic("remark", text)]


def _complex_remarks(graph: CapturedGraph, compiled: Compiled) -> list[Diagnostic]:
    """Return a remark that names the complex inputs and results of the function."""
    edges = [(one.name, one.value) for one in (*graph.inputs, *graph.outputs)]
    listed = {info.name for info in (*compiled.inputs, *compiled.optional_inputs, *compiled.outputs)}
    names = [name for name, value in edges if graph.values[value].dtype in COMPLEX and name in listed]
    text = f"complex {several(names)}: real in the model, with the real and imaginary parts along a last axis"
    return [Diagnostic("remark", text)] if names else []


def _set_defaults(module: ModuleOp, values: Mapping[str, np.ndarray]) -> None:
    entry.set_defaults(
        entry.entry_function(module), {name: dense.from_numpy(array) for name, array in values.items()}
    )
