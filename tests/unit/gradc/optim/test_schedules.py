"""Learning rates in the graph, against the numpy reference and torch's schedulers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from dialects.evaluate import evaluate
from dialects.support.diagnostics import UsageError
from dialects.support.shapes import tensor_type
from gradc.optim import Constant, Cosine, Linear, Schedule, StepDecay
from gradc.training.reference import learning_rate
from passes.builder.values import Builder

SCHEDULES: list[Schedule] = [
    Constant(0.3),
    Constant(0.3, warmup=5),
    Cosine(0.3, total=20),
    Cosine(0.3, warmup=5, total=20, final=0.01),
    Linear(0.3, total=20),
    Linear(0.3, warmup=5, total=20, final=0.1),
    StepDecay(0.3, every=4),
    StepDecay(0.3, warmup=5, every=3, gamma=0.5),
]


def in_graph(schedule: Schedule, step: int) -> float:
    block, e = Block(arg_types=[tensor_type(i64, ())]), Builder()
    rate = schedule.rate(e(block.args[0]), e)
    block.add_ops([*e.emit.ops, ReturnOp(rate.value)])
    module = ModuleOp([FuncOp("main", ([block.args[0].type], [rate.value.type]), Region(block))])
    (found,) = evaluate(module, [np.array(step)])
    assert (found.dtype, found.shape) == (np.float32, ())
    return float(found)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_graph_and_reference(schedule: Schedule):
    for step in (1, 2, 4, 5, 6, 7, 9, 10, 19, 20, 21, 1000, 2**24 - 1):
        expected = learning_rate(schedule, step)
        assert in_graph(schedule, step) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def schedulers(schedule: Schedule, optimizer: Any) -> Any:
    """Return torch's scheduler."""
    lr = pytest.importorskip("torch").optim.lr_scheduler
    warmup = schedule.warmup
    match schedule:
        case Cosine():
            main = lr.CosineAnnealingLR(optimizer, schedule.total - warmup, eta_min=schedule.final)
        case Linear():
            share = schedule.final / schedule.base
            main = lr.LinearLR(optimizer, 1.0, share, total_iters=schedule.total - warmup)
        case StepDecay():
            main = lr.StepLR(optimizer, schedule.every, schedule.gamma)
        case _:
            main = lr.ConstantLR(optimizer, 1.0)
    if not warmup:
        return main
    start = lr.LinearLR(optimizer, 1 / warmup, total_iters=warmup - 1)
    return lr.SequentialLR(optimizer, [start, main], milestones=[warmup])


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_torch(schedule: Schedule):
    torch = pytest.importorskip("torch")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=schedule.base)
    scheduler = schedulers(schedule, optimizer)
    for step in range(1, 21):
        assert learning_rate(schedule, step) == pytest.approx(scheduler.get_last_lr()[0], rel=1e-9, abs=1e-12)
        optimizer.step()
        scheduler.step()


def test_wrong_numbers():
    with pytest.raises(UsageError, match="Cosine: total: given 5, expected more than the warmup of 5 steps"):
        Cosine(0.1, warmup=5, total=5)
    with pytest.raises(
        UsageError, match="StepDecay: every: given none, expected a number of steps, as every="
    ):
        StepDecay(0.1)
    with pytest.raises(UsageError, match="Cosine: total: given none"):
        Cosine(0.1)
    with pytest.raises(UsageError, match="Linear: total: given -1, expected an integer of at least 1"):
        Linear(0.1, total=-1)
    with pytest.raises(UsageError, match="Constant: base: given -1, expected a number of at least 0"):
        Constant(-1)
