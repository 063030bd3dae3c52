"""The gradient of a module as a module, before compilation."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from dialects.support.entry import entry_function
from gradc.compiler.gradient_request import GradientRequest
from gradc.compiler.results import edge_names, with_source_names
from passes import pipelines
from passes.autodiff.shared_weights import separate_copies
from passes.differentiate import differentiate
from passes.registry import all_passes

TO_ONNX_PASSES = ("canonicalize-layout", "lower-cann", "lower-onednn")
"""Passes that convert source dialects to ONNX ops or canonical gradients; they cancel Transposes."""

SOURCES = ("cann.", "onednn.")


def differentiate_source(module: ModuleOp, user_request: GradientRequest) -> ModuleOp:
    """Return the gradient of a module, which is modified, as a source module."""
    user_request.check_rules(module)
    of_source = edge_names(module)
    module = with_source_names(module, user_request.rename or {})
    module = convert_to_onnx(user_request.resized(module))
    found = differentiate(module, user_request.request(module), rules=user_request.rules)
    user_request.finish(module, found, of_source)
    return module


def convert_to_onnx(module: ModuleOp) -> ModuleOp:
    """Convert a module to ONNX ops or canonical gradients with inferred types, in place.

    An Identity of a weight becomes a separate weight.
    """
    foreign = any(op.name.startswith(SOURCES) for op in module.walk())
    spec = ",".join((pipelines.canonicalize(), *(TO_ONNX_PASSES if foreign else ())))
    for pass_ in PassPipeline.parse_spec(all_passes(), spec).passes:
        pass_.apply(Context(), module)
    separate_copies(entry_function(module))
    return module
