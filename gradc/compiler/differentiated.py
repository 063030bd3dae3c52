"""The gradient of a module as a module: what is asked for, before anything is compiled."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from dialects.support.entry import entry_function
from gradc.compiler.gradient_request import GradientRequest
from gradc.compiler.results import edge_names, with_source_names
from passes import pipelines
from passes.differentiate import differentiate
from passes.registry import all_passes
from passes.vjp.shared_weights import separate_copies

IN_ONNX = ("canonicalize-layout", "convert-cann-to-grad", "convert-onednn-to-grad")
"""What makes ops of other dialects ONNX's or canonical gradients. It cancels Transposes, too, of which a user
of ONNX may ask for the one between."""

SOURCES = ("cann.", "onednn.")


def differentiated(module: ModuleOp, asked: GradientRequest) -> ModuleOp:
    """The gradient of a module that is ours to change, as a source of its own."""
    asked.check_rules(module)
    of_source = edge_names(module)
    module = with_source_names(module, asked.rename or {})
    module = in_onnx(asked.resized(module))
    asked.finish(module, differentiate(module, asked.request(module), rules=asked.rules), of_source)
    return module


def in_onnx(module: ModuleOp) -> ModuleOp:
    """The module in ONNX's ops or canonical gradients, in place, with all that types can know.

    An Identity of a weight becomes a weight of its own."""
    foreign = any(op.name.startswith(SOURCES) for op in module.walk())
    spec = ",".join((pipelines.canonicalize(), *(IN_ONNX if foreign else ())))
    for pass_ in PassPipeline.parse_spec(all_passes(), spec).passes:
        pass_.apply(Context(), module)
    separate_copies(entry_function(module))
    return module
