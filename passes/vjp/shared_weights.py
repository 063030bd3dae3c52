"""What is said of a weight that exporters let stand for another one, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import Diagnostic, name_of, position_of, sentence

_HINT = "exporters store equal tensors once, such as those of a layer that was never trained"


def shared_statistics(wrt: Mapping[str, SSAValue], ops: Iterable[Operation]) -> list[Diagnostic]:
    """A remark on each weight that is a scale or a bias of a BatchNormalization and a mean or a variance of
    it as well: its gradient is by both, of which a training step means one."""
    names = {value: name for name, value in wrt.items()}
    found: dict[str, Diagnostic] = {}
    for op in ops:
        if not isinstance(op, onnx.BatchNormalizationOp):
            continue
        statistics = {op.input_mean: "the mean", op.input_var: "the variance"}
        for value, role in ((op.scale, "the scale"), (op.B, "the bias")):
            if value in names and value in statistics:
                node = f"BatchNormalization {name_of(op)}".strip()
                what = f"{names[value]} is {role} and {statistics[value]} of {node}; its gradient is by both"
                told = Diagnostic("remark", sentence(what, hint=_HINT), position=position_of(op))
                found.setdefault(names[value], told)
    return list(found.values())
