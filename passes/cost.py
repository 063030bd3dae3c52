"""What a strategy costs for an op. The seam where a cost model goes.

For now a rule: an order of preference among the strategies that apply, from measurements of single
ops in f32 on one CPU. Lower is preferred; only the order means anything.
"""

from __future__ import annotations

from xdsl.ir import Operation

from dialects.grad.conv import ConvBackwardDataOp
from dialects.grad.resize import ResizeBackwardOp
from dialects.support.constants import constant_value
from passes.strategies.base import Strategy
from passes.strategies.conv_to_matmul import is_pointwise
from passes.target import Target

ORDER = {
    "conv-to-conv": 10.0,
    "conv-to-conv-transpose": 20.0,
    "conv-to-matmul": 30.0,
    "conv-to-col2im": 40.0,
    "conv-to-conv2d": 50.0,
    "conv-to-phase-convs": 51.0,
    "conv-to-upsampled-conv": 52.0,
    "conv-nxc-to-matmul": 53.0,
    "resize-to-block-matmul": 54.0,
    "resize-to-conv": 55.0,
    "resize-to-reduce-sum": 56.0,
    "resize-to-gather": 57.0,
    "resize-to-pool": 58.0,
    "resize-to-matmul": 10.0,
    "resize-to-banded-matmul": 20.0,
}


def cost(strategy: Strategy, op: Operation, target: Target) -> float:
    """Relative cost of writing `op` with `strategy`."""
    del target
    if isinstance(op, ResizeBackwardOp) and strategy.name == "resize-to-banded-matmul":
        return 5.0 if any(min(s.x, s.y) >= 128 for s in op.samplings) else ORDER[strategy.name]
    if not isinstance(op, ConvBackwardDataOp):
        return ORDER.get(strategy.name, 0.0)
    if strategy.name == "conv-to-matmul" and is_pointwise(op):
        return 0.0
    if strategy.name == "conv-to-conv" and constant_value(op.weights) is None:
        # run-time weights are flipped in every run, and not pre-packed
        return 25.0
    return ORDER[strategy.name]
