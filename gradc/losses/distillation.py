"""The loss of a student network that learns from a teacher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType

from dialects.onnx import ops as onnx
from gradc.losses.base import reduce_all, type_of, wide
from gradc.losses.classification import CrossEntropy, divide_by_count
from gradc.ops import Builder, Value


@dataclass(frozen=True, kw_only=True)
class Distillation(CrossEntropy):
    """Divergence from a teacher's logits, mixed with cross entropy (Hinton, Vinyals, Dean 2015).

        alpha T^2 KL(softmax(teacher / T) || softmax(logits / T)) + (1 - alpha) CrossEntropy(logits, label)

    with T = temperature. KL is the sum over the classes for each row, and its mean (or sum) over rows leaves
    out those whose label is ignore_index. torch has its two parts: F.kl_div(F.log_softmax(logits / T, 1),
    F.softmax(teacher / T, 1), reduction="batchmean") and F.cross_entropy(logits, label). The other options
    are those of CrossEntropy; for alpha = 1 there is no label, and they are refused.

    logits and label: as for CrossEntropy. teacher: floats of the type and shape of the logits.
    """

    temperature: float = 2.0
    alpha: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_number("temperature", 0, open_low=True)
        self.check_number("alpha", 0, 1, open_low=True)
        idle = [name for name in ("weight", "label_smoothing", "soft_labels") if getattr(self, name)]
        if self.alpha == 1 and idle:
            raise self.error(idle[0], repr(getattr(self, idle[0])), "none with alpha=1, which reads no label")

    def labels(self, of: Sequence[TensorType]) -> Mapping[str, TensorType]:
        found = super().labels(of)
        return {"teacher": of[0], **(found if self.alpha < 1 else {})}

    def write(self, of: Sequence[Value], labels: Mapping[str, Value], e: Builder) -> Value:
        axis = self.class_axis([type_of(of[0])])
        student, teacher = (
            (wide(x) / self.temperature).apply(onnx.LogSoftmaxOp, axis=axis)
            for x in (of[0], labels["teacher"])
        )
        rows = (teacher.exp() * (teacher - student)).apply(onnx.ReduceSumOp, e.ints([axis]), keepdims=0)
        counted = None
        if self.alpha < 1 and not self.soft_labels and self.ignore_index is not None:
            counted = labels["label"].equals(self.ignore_index).apply(onnx.NotOp)
        soft = self._reduce_rows(rows, counted) * (self.alpha * self.temperature**2)
        return soft + super().write(of, labels, e) * (1 - self.alpha) if self.alpha < 1 else soft

    def _reduce_rows(self, rows: Value, counted: Value | None) -> Value:
        if counted is None:
            return reduce_all(rows, self.reduction)
        total = reduce_all(counted.where(rows, 0), "sum")
        if self.reduction == "sum":
            return total
        return divide_by_count(total, reduce_all(counted.cast(rows.dtype), "sum"))
