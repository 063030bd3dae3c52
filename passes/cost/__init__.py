"""Run time of ONNX ops in seconds: a linear model of countable features with measured rates.

    graph      the ops of a candidate that run, as plain data
    rewrites   the runtime's graph optimizations
    features*  features that determine the time of each kind of node
    rates      seconds per unit of each feature, as data; `python -m tools.calibrate` measures them
    roofline   targets without measurements
    sizes      dynamic sizes: the same ops at several sizes

docs/cost_model.md reports the accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.support.constants import constant_attribute
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.cost import rates, roofline
from passes.cost.features import features
from passes.cost.graph import SMALL, Graph
from passes.cost.sizes import Sizes, at_sizes, has_unknown, shared_sizes
from passes.cost.vector import LEAST, Features
from passes.onnxruntime.optimizer_model import apply_rewrites
from passes.targets.target import Target

__all__ = ["Write", "exceeds", "features_of", "price_ops", "price_written", "problem_key"]

Write = Callable[[Operation, Target, OpBuilder], Sequence[SSAValue]]
"""Function that lowers an op to ONNX: `Strategy.write`."""


ROUNDING = 1e-9
"""Relative rounding error of a price: sums of the same numbers differ with their order."""


def exceeds(bound: float, price: float) -> bool:
    """Return whether a lower bound exceeds a price by more than rounding."""
    return bound > price * (1 + ROUNDING)


def price_ops(ops: Sequence[Operation], target: Target, results: Sequence[SSAValue] | None = None) -> float:
    """Return the seconds of one run of ONNX ops whose `results` (default: the last op's) leave the graph.

    Ops on constants alone are free, as are dead ops. An unknown size counts as graph.UNKNOWN. The ops are not
    modified.
    """
    wanted = list(ops[-1].results) if results is None and ops else list(results or ())
    if target.spec.provider not in rates.MEASURED:
        return max(LEAST, roofline.seconds(Graph.of(ops, wanted)))
    return max(LEAST, rates.seconds(features_of(ops, wanted), target.spec.provider, target.threads))


def features_of(ops: Sequence[Operation], results: Sequence[SSAValue]) -> Features:
    """Count the features of ops with the given graph results, as onnxruntime's CPU provider runs them."""
    return features(apply_rewrites(Graph.of(ops, results)))


def price_written(write: Write, op: Operation, target: Target) -> tuple[float, ...]:
    """Return the seconds of an op's lowering: one number, or one for each of `sizes.SIZES` if a size is
    unknown. The op and its module are not modified."""
    emit = OpBuilder()
    results = write(op, target, emit)
    try:
        if not has_unknown(op):
            return (price_ops(emit.ops, target, results),)
        return tuple(_at_each_size(op, emit.ops, results, target))
    finally:
        for emitted in reversed(emit.ops):
            emitted.drop_all_references()


def _at_each_size(op: Operation, ops: Sequence[Operation], results: Sequence[SSAValue], target: Target):
    prices: dict[Sizes, float] = {}
    for sizes in shared_sizes(op):
        if sizes not in prices:
            with at_sizes(op, ops, results, sizes) as copies:
                made, values = copies or (ops, results)
                prices[sizes] = price_ops(made, target, values)
        yield prices[sizes]


def problem_key(op: Operation, target: Target) -> object:
    """Return a key of the price: kind, types, attributes, and the values of small constants."""
    operands = tuple(map(_operand_key, op.operands))
    properties = tuple(sorted(op.properties.items()))
    return op.name, operands, op.result_types, properties, target


def _operand_key(value: SSAValue) -> tuple[Attribute, Attribute | None]:
    known = constant_attribute(value)
    if known is None:
        return value.type, None
    size = 1
    for dim in shape_of(value):
        size *= dim if isinstance(dim, int) else SMALL + 1
    return value.type, known if size <= SMALL else StringAttr("constant")
