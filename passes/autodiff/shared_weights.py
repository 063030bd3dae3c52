"""Weights that exporters share between roles: copies, and remarks on gradients that are sums."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.support.diagnostics import Diagnostic, name_of, position_of, sentence, several
from dialects.support.names import name_of_value
from dialects.support.option_names import advice
from passes.autodiff.activity.active_values import is_float, operands_and_captures
from passes.autodiff.weight_parts import are_disjoint, parts_of

COPY_OF = "gradc.copy_of"
"""Attribute of a weight that was an Identity of another one: the other's name."""

_HINT = "exporters store equal tensors once, such as those of a layer that was never trained"


def shared_statistics(wrt: Mapping[str, SSAValue], ops: Iterable[Operation]) -> list[Diagnostic]:
    """Return a remark on each weight that is both scale or bias and mean or variance of a BatchNormalization:
    its gradient sums both, of which a training step needs one."""
    names = {value: name for name, value in wrt.items()}
    found: dict[str, Diagnostic] = {}
    for op in ops:
        if not isinstance(op, onnx.BatchNormalizationOp):
            continue
        statistics = {op.input_mean: "the mean", op.input_var: "the variance"}
        for value, role in ((op.scale, "the scale"), (op.B, "the bias")):
            if value in names and value in statistics:
                node = f"BatchNormalization {name_of(op)}".strip()
                what = f"{names[value]} is {role} and {statistics[value]} of {node}; its gradient sums both"
                remark = Diagnostic("remark", sentence(what, hint=_HINT), position=position_of(op))
                found.setdefault(names[value], remark)
    return list(found.values())


def separate_copies(function: FuncOp, calls: Collection[str] = ()) -> None:
    """Turn each Identity of a weight into a separate weight (TorchScript shares equal parameters).

    calls: names of the nodes that stand for calls of an exported program. Their Identities, such as that of
    `detach`, are the same weight.
    """
    for op in list(function.body.block.ops):
        weight = op.operands[0].owner if isinstance(op, onnx.IdentityOp) else None
        if not isinstance(weight, onnx.ConstantOp) or not is_float(op.results[0]) or name_of(op) in calls:
            continue
        own = weight.clone()
        own.location, own.output.name_hint = op.location, op.results[0].name_hint
        own.attributes[COPY_OF] = StringAttr(name_of_value(weight.output))
        Rewriter.replace_op(op, own)


def pop_copies(function: FuncOp) -> dict[str, list[str]]:
    """Return, by weight, the names of copies made by `separate_copies`, and remove the marks."""
    copies: dict[str, list[str]] = {}
    for op in function.body.block.ops:
        if not isinstance(op, onnx.ConstantOp):
            continue
        weight = op.attributes.pop(COPY_OF, None)
        if isinstance(weight, StringAttr):
            copies.setdefault(weight.data, []).append(name_of_value(op.output))
    return copies


def copy_remarks(wrt: Collection[str], copies: Mapping[str, Sequence[str]]) -> list[Diagnostic]:
    """Return a remark on each weight that is differentiated while its copies are not."""
    left = {name: [copy for copy in copies.get(name, ()) if copy not in wrt] for name in wrt}
    return [
        Diagnostic(
            "remark",
            sentence(
                f"the gradient of {name} leaves out {several(names)}, an Identity of it in the file",
                hint=f"{_HINT}; for one weight with two readers, add the gradients of all names",
            ),
        )
        for name, names in left.items()
        if names
    ]


def several_readers(
    wrt: Mapping[str, SSAValue],
    weights: Collection[SSAValue],
    of: Collection[SSAValue],
    ops: Sequence[Operation],
) -> list[Diagnostic]:
    """Return a remark on each of `weights` that several nodes read on the way to `of`.

    Quantization ops do not count: both ops of a pair read the scale. Nor do ops that take disjoint parts, as
    those of the gates of a cell.
    """
    found: list[Diagnostic] = []
    needed = _ancestors(of, ops)
    for name, value in wrt.items():
        readers = _readers(value) if value in weights else []
        kinds = {op: op.name.removeprefix("onnx.") for op in readers}
        nodes = {
            f"{kind} {name_of(op)}": None
            for op, kind in kinds.items()
            if name_of(op) and kind not in traits.QUANTIZATION and _outermost(op, ops[0]) in needed
        }
        if len(nodes) > 1 and not _read_disjoint_parts(kinds, value):
            what = f"{name} is read by {several(list(nodes))}; its gradient is the sum over them"
            remedy = advice("untie", "gives each of them a weight", True)
            hint = "; ".join(filter(None, (_HINT, remedy)))
            found.append(Diagnostic("remark", sentence(what, hint=hint)))
    return found


def _read_disjoint_parts(ops: Iterable[Operation], weight: SSAValue) -> bool:
    parts = [part for op in ops for part in parts_of(op, weight)]
    return all(are_disjoint(one, other) for one, other in combinations(parts, 2))


def _readers(value: SSAValue) -> list[Operation]:
    """Return the ops that read a value, directly or through views."""
    found: list[Operation] = []
    waiting = [value]
    while waiting:
        value = waiting.pop()
        for op in dict.fromkeys(use.operation for use in value.uses):
            is_view = isinstance(op, onnx.TransposeOp) or op.name.removeprefix("onnx.") in traits.VIEWS
            if is_view and op.operands[0] is value:
                waiting.append(op.results[0])
            else:
                found.append(op)
    return found


def _ancestors(of: Collection[SSAValue], ops: Sequence[Operation]) -> set[Operation]:
    """Return the ops that `of` depends on."""
    values, found = set(of), set[Operation]()
    for op in reversed(ops):
        if not values.isdisjoint(op.results):
            found.add(op)
            values.update(operands_and_captures(op))
    return found


def _outermost(op: Operation, sibling: Operation) -> Operation:
    """Return the ancestor of `op` in the block of `sibling`."""
    while op.parent is not sibling.parent and (outer := op.parent_op()) is not None:
        op = outer
    return op
