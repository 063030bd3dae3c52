"""The opset that an imported model is written in where nobody says one."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from dialects.onnx.base import OnnxOp, opset_range
from dialects.onnx.node import NodeOp
from dialects.onnx.opsets import OLDEST
from dialects.support import entry
from dialects.support.diagnostics import GradcError
from gradc.compiler.options import Options
from gradc.model.exported_domains import is_of_opset
from passes.kernels.target import DEFAULT_OPSET


def with_opset(options: Options, module: ModuleOp) -> Options:
    """The options with an opset, if the module is a model's and they have none: the model's own, or the
    default one if that is newer, or the oldest that has all ops if that is newer still.

    The model's own, too, where a node of unknown types is in a form that the default one has no more.
    Not the default one for what is newer: kernels and rules change between opsets, also where forms do not.
    """
    own = module.attributes.get(entry.OPSET)
    if options.opset is not None or not isinstance(own, IntegerAttr):
        return options
    needed = max((_first(op) for op in module.walk() if isinstance(op, OnnxOp)), default=OLDEST)
    wanted = max(DEFAULT_OPSET, own.value.data, needed)
    nodes = [op for op in module.walk() if isinstance(op, NodeOp) and op.is_standard]
    if not all(is_of_opset(node, wanted) for node in nodes):
        wanted = max(OLDEST, own.value.data, needed)
    return options if wanted == DEFAULT_OPSET else replace(options, opset=min(wanted, _newest()))


def _first(op: OnnxOp) -> int:
    """The oldest opset of an op; what none has, the last pass refuses."""
    try:
        return opset_range(op)[0]
    except GradcError:
        return DEFAULT_OPSET


def _newest() -> int:
    from gradc.runtime.session import newest_opset

    return newest_opset()
