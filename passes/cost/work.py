"""Unavoidable work of a strategy, from the sizes of the op alone: a lower bound on its price.

The steps listed here are priced like those of a candidate, which has them and may have more. So they exclude
all that a rewrite of `rewrites` may remove: Transposes next to a Conv or a product, Pads before a Conv, ops
on constants, and duplicates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation, SSAValue

from dialects.support import shapes
from passes.cost import rates, roofline
from passes.cost.features import features
from passes.cost.graph import Graph, Step, Tensor, tensor
from passes.cost.vector import LEAST
from passes.onnxruntime.optimizer_model import REORDER_INPUT, REORDER_OUTPUT, blocked_kind
from passes.targets.target import Target

Sizes = tuple[int, ...]


@dataclass
class Work:
    """Steps on tensors with elements of `itemsize` bytes. `known`: the weights are constant."""

    itemsize: int
    known: bool = False
    steps: list[Step] = field(default_factory=list)

    @classmethod
    def of(cls, op: Operation, known: bool = False) -> Work:
        return cls(tensor(op.operands[0]).itemsize, known)

    def run(
        self, kind: str, result: Sequence[int], *operands: Sequence[int] | Tensor, **attributes: Any
    ) -> Sizes:
        """Add a step; return the sizes of its result."""
        read = tuple(t if isinstance(t, Tensor) else self._tensor(t) for t in operands)
        self.steps.append(Step(kind, read, (self._tensor(result),), attributes))
        return tuple(result)

    def _tensor(self, sizes: Sequence[int], constant: bool = False) -> Tensor:
        return Tensor(tuple(sizes), self.itemsize, constant)

    def weights(self, sizes: Sequence[int]) -> Tensor:
        """Return a tensor computed from the weights alone."""
        return self._tensor(sizes, self.known)

    def constant(self, sizes: Sequence[int]) -> Tensor:
        return self._tensor(sizes, True)

    def convolve(
        self, data: Sequence[int], weights: Sequence[int], result: Sequence[int], **attributes: Any
    ) -> Sizes:
        """Add a Conv whose weights are computed from the op's."""
        return self.run("Conv", result, data, self.weights(weights), **attributes)

    def multiply(self, left: Sequence[int] | Tensor, right: Sequence[int] | Tensor) -> Sizes:
        a, b = (t.shape if isinstance(t, Tensor) else tuple(t) for t in (left, right))
        outer = a[:-2] if len(a) > len(b) else b[:-2]
        return self.run("MatMul", (*outer, *a[-2:-1], b[-1]), left, right)

    def pad(self, data: Sequence[int], axis: int, begin: Sequence[int], end: Sequence[int]) -> Sizes:
        """Add zero padding of the axes from `axis` on; negative pads crop."""
        if not any((*begin, *end)):
            return tuple(data)
        sizes = list(data)
        for i, (before, behind) in enumerate(zip(begin, end, strict=True)):
            sizes[axis + i] += before + behind
        return self.run("Pad", sizes, data)

    def reshape(self, data: Sizes, result: Sizes) -> Sizes:
        """Add a view. Not for a graph result: that is a copy."""
        return result if data == result else self.run("Reshape", result, data)

    def reorder(self, *results: Sizes, data: Sizes | None = None) -> None:
        """Add reorders of Conv results that are read unblocked, and of Conv data."""
        if data is not None:
            self.run(REORDER_INPUT, data, data)
        for sizes in results:
            self.run(REORDER_OUTPUT, sizes, sizes)

    def cut(self, data: Sequence[int], result: Sequence[int], step: int = 1) -> Sizes:
        """Add a Slice with a step."""
        bounds = () if step == 1 else ((1,), (1,), (1,), (1,))
        return self.run("Slice", result, data, *bounds)

    def gather(self, data: Sequence[int], axis: int, places: Sequence[int]) -> Sizes:
        """Add a Gather; one of a single position may become a Split and is not counted."""
        result = (*data[:axis], *places, *data[axis + 1 :])
        return self.run("Gather", result, data, axis=axis) if math.prod(places) > 1 else result

    def join(self, part: Sequence[int], count: int, axis: int) -> Sizes:
        """Add a Concat of `count` parts of equal sizes."""
        if count < 2:
            return tuple(part)
        result = (*part[:axis], count * part[axis], *part[axis + 1 :])
        return self.run("Concat", result, *[part] * count, axis=axis)

    def contract(self, data: Sizes, axis: int, results: int) -> None:
        """Add `tensors.contract` with a constant matrix, to `results` positions of an axis."""
        outer, size, behind = data[:axis], data[axis], data[axis + 1 :]
        if not behind:
            self.multiply(data, self.constant((size, results)))
        else:
            self.multiply(self.constant((results, size)), (*outer, size, math.prod(behind)))

    def split(self, data: Sizes, axis: int, widths: Sequence[int]) -> None:
        parts = tuple(self._tensor((*data[:axis], width, *data[axis + 1 :])) for width in widths)
        self.steps.append(Step("Split", (self._tensor(data),), parts, {"axis": axis}))

    def price(self, target: Target) -> float:
        """Return the price of just these steps, to which no rewrite applies."""
        steps = Graph(self.steps, {}, [])
        if target.spec.provider not in rates.MEASURED:
            return max(LEAST, roofline.seconds(steps))
        return max(LEAST, rates.seconds(features(steps), target.spec.provider, target.threads))

    def least_price(self, target: Target) -> float:
        """Return a lower bound on the price of any candidate that has these steps."""
        if target.spec.provider not in rates.MEASURED:
            steps = [step for step in self.steps if step.kind not in (REORDER_INPUT, REORDER_OUTPUT)]
            return roofline.seconds(Graph(steps, {}, []))
        blocked = [step.as_kind(blocked_kind(step) or step.kind) for step in self.steps]
        return rates.least_seconds(features(Graph(blocked, {}, [])), target.spec.provider, target.threads)


def static_sizes(*given: SSAValue) -> list[Sizes] | None:
    """Return the sizes of values; None if any is unknown or 0."""
    found = [shapes.static_shape(value) for value in given]
    known = [sizes for sizes in found if sizes is not None]
    return known if len(known) == len(found) and all(map(math.prod, known)) else None
