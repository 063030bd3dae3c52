"""Nodes of a model that a target does not implement, with reasons and remedies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp, StringAttr

from dialects.onnx.base import OnnxOp
from dialects.onnx.node import WHY, NodeOp
from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import name_of, position_of
from dialects.support.option_names import advice
from gradc.compiler.contributed_ops import is_nonstandard
from gradc.compiler.function_bodies import is_inlined
from gradc.terminal.tables import BAD, PLAIN, POOR, Look, table
from passes.legalize_onnx import remedy
from passes.targets import TARGETS
from passes.targets.target import Target


@dataclass(frozen=True)
class UnsupportedNode:
    """A node that the target does not implement; `handled` if gradc applies the `remedy` itself."""

    op: str
    name: str
    position: str
    reason: str
    remedy: str
    handled: bool


def unsupported_nodes(module: ModuleOp, target: Target) -> list[UnsupportedNode]:
    """Return the unsupported nodes in model order. Support for ops of other domains is unknown."""
    return [node for op in module.walk() if isinstance(op, OnnxOp | NodeOp) for node in _find(op, target)]


def _find(op: OnnxOp | NodeOp, target: Target) -> Iterator[UnsupportedNode]:
    name, position = name_of(op), str(position_of(op) or "")
    if isinstance(op, NodeOp):
        if is_nonstandard(op, target):
            yield UnsupportedNode(op.title, name, position, *_not_standard(op), False)
            return
        cause = ", as its operands have unknown types" if op.is_standard else ""
        reason = f"gradc does not know whether {target.name} has it{cause}"
        yield UnsupportedNode(op.title, name, position, reason, "it is kept unchanged", True)
        return
    if isinstance(op, ConstantOp):
        return
    reason = target.lacks_kernel(op) or (None if target.has_form(op) else target.lacks_form(op))
    if reason is None:
        return
    if target.has_form(op) and target.leaves_to_runtime(op):
        return
    title = op.onnx_name()
    if target.lacks_form(op) is None or is_inlined(op, target):
        yield UnsupportedNode(title, name, position, reason, "it is written with other ops or in f32", True)
        return
    yield UnsupportedNode(title, name, position, reason, _instead(op, target), False)


def _not_standard(op: NodeOp) -> tuple[str, str]:
    why = op.attributes.get(WHY)
    reason = f": {why.data}" if isinstance(why, StringAttr) else ""
    return f"it is no op of the standard domain, and is not decomposed{reason}", "write it with other ops"


def _instead(op: OnnxOp, target: Target) -> str:
    """Return the advice to use another opset, else another target, that has the op."""
    others = (name for name in TARGETS if replace(target, name=name).lacks_form(op) is None)
    found = remedy(op, target) or next((advice("target", "has one", name) for name in others), "")
    return found or "write it with other ops"


def lines(found: Sequence[UnsupportedNode], target: Target, look: Look = PLAIN) -> Iterator[str]:
    if not found:
        yield f"target {target.name}, opset {target.opset}: nothing is missing"
        return
    rows = [(each.op, each.name or each.position, each.reason, each.remedy) for each in found]
    styles = {index: POOR if each.handled else BAD for index, each in enumerate(found)}
    yield table((f"not on {target.name}", "node", "why", "instead"), rows, (), look, styles)
