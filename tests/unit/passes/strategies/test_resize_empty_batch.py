"""Strategies that write a Resize take a batch of any size, known at run time: 0 and 1, too."""

from __future__ import annotations

import numpy as np
import pytest

import gradc
from dialects.evaluate import evaluate
from gradc.problems import parse_problem
from passes.strategies import by_name
from passes.targets.target import Target

PROBLEMS = {
    "conv-to-upsampled-conv": (
        "conv_backward_data,f32,NCX,diff_dst={}x8x5x4,weights=8x1x3x3,groups=8,strides=2x2,pads=1x1:1x1",
        "conv_backward_data,f32,NCX,diff_dst={}x8x5,weights=8x4x3,strides=2,pads=1:1,residue=1",
        "conv_backward_data,f32,NCX,diff_dst={}x4x3x2x3,weights=4x2x3x2x2,strides=2x1x2",
    ),
    "resize-to-upsample": (
        "resize_backward,f32,NCX,diff_dst={0}x4x3x4,diff_src={0}x4x6x8,interpolation=nearest_half_up",
        "resize_backward,f32,NCX,diff_dst={0}x4x3,diff_src={0}x4x9,interpolation=nearest_half_up",
    ),
    "max-pool-to-tiles": (
        "max_pool_backward,f32,NCX,diff_dst={0}x3x3x2,src={0}x3x6x5,kernel=2x2,strides=2x2",
        "max_pool_backward,f32,NXC,diff_dst={0}x3x4,src={0}x3x8,kernel=2,strides=2",
        "max_pool_backward,f32,NCX,diff_dst={0}x2x2x2x2,src={0}x2x4x2x6,kernel=2x1x3,strides=2x1x3",
    ),
}
CASES = [(name, text) for name, texts in PROBLEMS.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_the_values_are_those_of_the_reference(name: str, text: str):
    compiled = gradc.compile(parse_problem(text.format("?")).module(), strategy=name, target="cpu")
    for batch in (1, 3):
        known = parse_problem(text.format(batch))
        fed = known.feeds()
        (want,) = evaluate(known.module(), list(fed.values()))
        (got,) = compiled.run(fed).values()
        np.testing.assert_allclose(got, want, atol=1e-5)
        for size, value in fed.items():
            fed[size] = value[:0] if size != "weights" else value
        (nothing,) = compiled.run(fed).values()
        assert nothing.shape == (0, *want.shape[1:])


@pytest.mark.parametrize(("name", "text"), CASES)
def test_other_runtimes_may_refuse_them(name: str, text: str):
    (op,) = (op for op in parse_problem(text.format("?")).module().walk() if op.name.startswith("grad."))
    reason = by_name()[name].refusal(op, Target("portable"))
    assert reason is not None
    assert "empty batch" in reason
