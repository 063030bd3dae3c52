"""The opset that an imported model is written in where nobody says one."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from dialects.onnx.base import OnnxOp, opset_range
from dialects.onnx.node import NodeOp
from dialects.support import entry
from dialects.support.diagnostics import GradcError
from gradc.compiler.options import Options
from passes.kernels.target import DEFAULT_OPSET, Target


def with_opset(options: Options, module: ModuleOp) -> Options:
    """The options with an opset, if the module is a model's and they have none: the default one where all ops
    have a form and a kernel in it, else the oldest newer one that has the forms, else the model's own."""
    own = module.attributes.get(entry.OPSET)
    if options.opset is not None or not isinstance(own, IntegerAttr):
        return options
    ops = [op for op in module.walk() if isinstance(op, OnnxOp)]
    needed = max((_first(op) for op in ops), default=DEFAULT_OPSET)
    if needed <= DEFAULT_OPSET and own.value.data <= DEFAULT_OPSET:
        return options
    wanted = max(needed, DEFAULT_OPSET)
    if own.value.data > wanted and (_has_forms_of_an_opset(module) or not _runs(ops, options, wanted)):
        wanted = own.value.data
    return replace(options, opset=min(wanted, _newest()))


def _first(op: OnnxOp) -> int:
    """The oldest opset of an op; what none has, the last pass refuses."""
    try:
        return opset_range(op)[0]
    except GradcError:
        return DEFAULT_OPSET


def _has_forms_of_an_opset(module: ModuleOp) -> bool:
    """Whether there are opaque nodes of the standard domain, whose form is that of the model's opset."""
    return any(isinstance(op, NodeOp) and op.is_standard and op.version is not None for op in module.walk())


def _runs(ops: list[OnnxOp], options: Options, opset: int) -> bool:
    target = Target.of(options.target, opset, options.threads, options.strict_ieee)
    return all(target.lacks_form(op) is None or target.leaves_to_runtime(op) for op in ops)


def _newest() -> int:
    from gradc.runtime.session import newest_opset

    return newest_opset()
