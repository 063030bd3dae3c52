"""The update of one parameter: clipping, master weights, the optimizer and the moving average; in chunks for
large parameters, so that temporaries stay in the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute

from dialects.onnx import ops as onnx
from passes.builder.scans import Exprs, scan
from passes.builder.values import Builder, Value
from passes.training.optimizer import EMA, MASTER, Optimizer, compute_dtype


@dataclass(frozen=True)
class ParameterUpdate:
    """The update as a function of tensors of one shape. The scalars `lr` and `factor`, which is of the
    clipping, have the dtype of the update."""

    optimizer: Optimizer
    dtype: Attribute
    """Of the parameter."""
    lr: Value
    step: Value
    factor: Value | None = None
    ema: float | None = None

    def apply(
        self, e: Builder, p: Value, g: Value, states: Mapping[str, Value]
    ) -> tuple[Value, dict[str, Value]]:
        """Return the new parameter and the new states."""
        own = dict(states)
        average, p = own.pop(EMA, None), own.pop(MASTER, p)
        g = g.cast(compute_dtype(self.dtype))
        g = g if self.factor is None else g * self.factor
        new, found = self.optimizer.update(p, g, own, self.lr, self.step, e)
        after = dict(found)
        if MASTER in states:
            after[MASTER] = new
        if average is not None and self.ema is not None:
            after[EMA] = average + (new - average) * (1 - self.ema)
        return new.cast(self.dtype), {slot: after[slot] for slot in states}

    def apply_in_chunks(
        self, chunks: Sequence[int], p: Value, g: Value, states: Mapping[str, Value]
    ) -> tuple[Value, dict[str, Value]]:
        """Return the same for states of the shape `chunks` = [number of chunks, elements of a chunk]."""
        e, shape = p.e, p.e.ints(chunks)
        scanned = [value.apply(onnx.ReshapeOp, shape) for value in (p, g)]

        def body(inner: Builder, _: Exprs, parts: Exprs) -> tuple[Exprs, Exprs]:
            own = dict(zip(states, parts[2:], strict=True))
            new, after = self.apply(inner, parts[0], parts[1], own)
            return [], [new, *after.values()]

        _, (new, *after) = scan(e, [], [*scanned, *states.values()], body)
        return new.apply(onnx.ReshapeOp, e.shape(p)), dict(zip(states, after, strict=True))
