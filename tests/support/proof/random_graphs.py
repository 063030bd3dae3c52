"""Random graphs of right gradients, for false alarms of the gradient proof: ops of all families, fan-outs,
broadcasting, and a batch that is dynamic or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from support.draw import SeededDraw
from support.proof.net import Net, ProofModel

Shape = tuple[int, ...]

SMOOTH = (
    "Tanh", "Sigmoid", "Sin", "Cos", "Erf", "Softplus", "Softsign", "Atan", "Neg", "Identity",
)  # fmt: skip
BENT = ("Relu", "LeakyRelu", "Elu", "Abs", "HardSwish", "HardSigmoid", "Selu", "Celu", "ThresholdedRelu")
BINARY = ("Add", "Sub", "Mul", "Max", "Min")
REDUCTIONS = ("ReduceMean", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMin", "ReduceSumSquare")


@dataclass
class _Graph:
    """Values with their shapes at a batch of 2, whose first axis is the batch."""

    net: Net
    draw: SeededDraw
    values: list[tuple[str, Shape]] = field(default_factory=list[tuple[str, Shape]])
    read: set[str] = field(default_factory=set[str])

    def pick(self, *ranks: int) -> tuple[str, Shape]:
        """A value, more often one of the last few; of some ranks, if any are given."""
        fitting = [value for value in self.values if not ranks or len(value[1]) in ranks]
        last = fitting[-4:] if self.draw.integer(0, 2) else fitting
        name, shape = self.draw.choice(last)
        self.read.add(name)
        return name, shape

    def has(self, rank: int) -> bool:
        return any(len(shape) == rank for _, shape in self.values)

    def add(self, name: str, shape: Sequence[int]) -> None:
        self.values.append((name, tuple(shape)))


def _unary(g: _Graph) -> None:
    x, shape = g.pick()
    g.add(g.net.op(g.draw.choice((*SMOOTH, *BENT)), x), shape)


def _positive(g: _Graph) -> None:
    """Sqrt, Log, Pow and Reciprocal of what is larger than a half."""
    x, shape = g.pick()
    base = g.net.op("Add", g.net.op("Mul", x, x), g.net.const(0.5))
    kind = g.draw.choice(("Sqrt", "Log", "Reciprocal", "Pow"))
    more = [g.net.const(1.5)] if kind == "Pow" else []
    g.add(g.net.op(kind, base, *more), shape)


def _binary(g: _Graph) -> None:
    """Of two values in one shape, or one and a weight that is broadcast."""
    x, shape = g.pick()
    alike = [name for name, other in g.values if other == shape]
    if g.draw.integer(0, 1):
        y = g.draw.choice(alike)
    else:
        y = g.net.weight(*(g.draw.choice((1, size)) for size in shape[1:]), by=True, scale=1.0)
    g.read.add(y)
    pair = [x, y] if g.draw.integer(0, 1) else [y, x]
    g.add(g.net.op(g.draw.choice(BINARY), *pair), shape)


def _quotient(g: _Graph) -> None:
    x, shape = g.pick()
    y, _ = g.draw.choice([value for value in g.values if value[1] == shape])
    g.add(g.net.op("Div", x, g.net.op("Add", g.net.op("Exp", g.net.op("Tanh", y)), g.net.const(0.3))), shape)


def _product(g: _Graph) -> None:
    x, shape = g.pick(2, 3)
    size = g.draw.integer(2, 5)
    weight = g.net.const(g.net.rng.normal(size=(shape[-1], size)) * shape[-1] ** -0.5, by=True)
    g.add(g.net.op("MatMul", x, weight), (*shape[:-1], size))


def _scores(g: _Graph) -> None:
    """x x^T through a Softmax, times x."""
    x, shape = g.pick(3)
    turned = g.net.op("Transpose", x, perm=[0, 2, 1])
    weights = g.net.op("Softmax", g.net.op("MatMul", x, turned), axis=g.draw.choice((-1, 1)))
    g.add(g.net.op("MatMul", weights, x), shape)


def _normal(g: _Graph) -> None:
    x, shape = g.pick(2, 3)
    kind = g.draw.choice(("LayerNormalization", "Softmax", "LogSoftmax"))
    if kind == "LayerNormalization":
        g.add(g.net.layer_norm(x, shape[-1], by=True), shape)
    else:
        g.add(g.net.op(kind, x, axis=-1), shape)


def _reduction(g: _Graph) -> None:
    x, shape = g.pick(3, 4)
    axis = g.draw.integer(1, len(shape) - 1)
    kind = g.draw.choice(REDUCTIONS)
    if g.draw.integer(0, 1):
        g.add(g.net.op(kind, x, axes=[axis], keepdims=0), (*shape[:axis], *shape[axis + 1 :]))
        return
    kept = g.net.op(kind, x, axes=[axis], keepdims=1)
    g.add(g.net.op("Sub", x, kept), shape)


def _convolution(g: _Graph) -> None:
    x, shape = g.pick(4)
    channels, stride = g.draw.integer(1, 3), g.draw.integer(1, 2)
    kernel = min(g.draw.integer(1, 3), *shape[2:])
    weight = g.net.weight(channels, shape[1], kernel, kernel, by=True)
    pad = kernel // 2
    sizes = [(size + 2 * pad - kernel) // stride + 1 for size in shape[2:]]
    g.add(g.net.op("Conv", x, weight, strides=[stride] * 2, pads=[pad] * 4), (shape[0], channels, *sizes))


def _pool(g: _Graph) -> None:
    x, shape = g.pick(4)
    if min(shape[2:]) < 2:
        return
    kind = g.draw.choice(("MaxPool", "AveragePool"))
    g.add(g.net.op(kind, x, kernel_shape=[2, 2]), (*shape[:2], *(size - 1 for size in shape[2:])))


def _joined(g: _Graph) -> None:
    x, shape = g.pick()
    y, _ = g.draw.choice([value for value in g.values if value[1] == shape])
    axis = g.draw.integer(1, len(shape) - 1)
    joined = g.net.op("Concat", x, y, axis=axis)
    start = g.draw.integer(0, shape[axis])
    ends = [g.net.ints(number) for number in (start, start + shape[axis], axis)]
    g.read.add(y)
    g.add(g.net.op("Slice", joined, *ends), shape)


def _split(g: _Graph) -> None:
    x, shape = g.pick()
    if shape[-1] < 2:
        return
    first = g.draw.integer(1, shape[-1] - 1)
    sizes = (first, shape[-1] - first)
    parts = g.net.several("Split", x, g.net.ints(*sizes), count=2, axis=len(shape) - 1)
    for part, size in zip(parts, sizes, strict=True):
        g.add(part, (*shape[:-1], size))


def _turned(g: _Graph) -> None:
    x, shape = g.pick(3, 4)
    perm = [0, *(1 + g.net.rng.permutation(len(shape) - 1))]
    g.add(g.net.op("Transpose", x, perm=list(map(int, perm))), [shape[axis] for axis in perm])


def _padded(g: _Graph) -> None:
    x, shape = g.pick(3)
    mode = g.draw.choice(("constant", "edge"))
    g.add(g.net.op("Pad", x, g.net.ints(0, 0, 1, 0, 0, 0), mode=mode), (*shape[:2], shape[2] + 1))


def _gathered(g: _Graph) -> None:
    x, shape = g.pick()
    places = g.net.const(g.net.rng.integers(0, shape[-1], 3))
    g.add(g.net.op("Gather", x, places, axis=len(shape) - 1), (*shape[:-1], 3))


def _flat(g: _Graph) -> None:
    x, shape = g.pick(3, 4)
    size = int(np.prod(shape[2:]))
    g.add(g.net.op("Reshape", x, g.net.ints(0, shape[1], size)), (*shape[:2], size))


def _chosen(g: _Graph) -> None:
    x, shape = g.pick()
    y, _ = g.draw.choice([value for value in g.values if value[1] == shape])
    g.read.add(y)
    condition = g.net.op("Greater", x, g.net.const(0.1))
    g.add(g.net.op("Where", condition, x, y), shape)


def _clipped(g: _Graph) -> None:
    x, shape = g.pick()
    g.add(g.net.op("Clip", x, g.net.const(-0.7), g.net.const(0.9)), shape)


ANY: tuple[Callable[[_Graph], None], ...] = (
    _unary, _unary, _binary, _binary, _positive, _quotient, _joined, _split, _gathered, _chosen, _clipped,
)  # fmt: skip
BY_RANK: Mapping[int, tuple[Callable[[_Graph], None], ...]] = MappingProxyType(
    {
        2: (_product, _normal),
        3: (_scores, _normal, _reduction, _turned, _padded, _flat, _product),
        4: (_convolution, _convolution, _pool, _reduction, _turned, _flat),
    }
)


def random_graph(seed: int) -> ProofModel:
    """The model of a seed: 4 to 24 steps from one or two inputs; results are the values nobody reads."""
    draw = SeededDraw(seed)
    g = _Graph(Net(seed), draw)
    batch = draw.choice(("N", 2))
    rest: Shape = draw.choice(((3, 4), (4,), (2, 5, 4)))
    g.add(g.net.input("x", batch, *rest), (2, *rest))
    if draw.integer(0, 1):
        g.add(g.net.input("y", batch, *rest), (2, *rest))
    for _ in range(draw.integer(4, 24)):
        _step(g, draw.choice([*ANY, *(step for rank in BY_RANK if g.has(rank) for step in BY_RANK[rank])]))
    loose = [name for name, _ in g.values[2:] if name not in g.read] or [g.values[-1][0]]
    return g.net.done(*loose)


def _step(g: _Graph, step: Callable[[_Graph], None]) -> None:
    largest = max(int(np.prod(shape)) for _, shape in g.values)
    if largest < 2000 or step not in (_joined, _padded):
        step(g)
