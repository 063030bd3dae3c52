"""Volumes enlarged by whole factors, as convolutions: random problems seldom are that on all axes."""

from __future__ import annotations

import numpy as np
import pytest
from support.pipeline import apply

from dialects.evaluate import evaluate
from dialects.support.entry import entry_function, input_names
from dialects.support.shapes import shape_of
from gradc.model.exporter import export
from gradc.problems import parse_problem
from gradc.problems.base import Problem
from gradc.runtime.session import Session, newest_opset
from passes import pipelines
from passes.targets.target import Target

pytest.importorskip("onnxruntime")

SIZES = {
    "factors": "diff_dst=?x3x4x6x8,diff_src=?x3x2x2x2",
    "one-position": "diff_dst=2x2x4x3x2,diff_src=2x2x1x1x1",
    "no-depth": "diff_dst=?x2x3x6x4,diff_src=?x2x3x2x2",
    "no-height": "diff_dst=2x16x8x3x6,diff_src=2x16x4x3x2",
    "only-depth": "diff_dst=?x4x9x2x5,diff_src=?x4x3x2x5",
}
"""Channels first, as a problem has them for either layout."""

RULES = ("", "coordinates=corner", "interpolation=nearest_half_up", "interpolation=nearest_floor")


@pytest.mark.sweep
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("layout", ["NCX", "NXC"])
@pytest.mark.parametrize("sizes", SIZES)
def test_volumes(sizes: str, layout: str, rule: str):
    problem = parse_problem(",".join(filter(None, ["resize_backward", "f32", layout, SIZES[sizes], rule])))
    (want,), feeds = _reference(problem)
    for opset in (13, Target().opset, newest_opset()):
        target = Target("cpu", opset)
        module = apply(problem.module(), pipelines.from_grad(target, "resize-to-conv"))
        session = Session(export(module, opset=opset, metadata={}), threads=1)
        (got,) = session.run(dict(zip(input_names(entry_function(module)), feeds, strict=True))).values()
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def _reference(problem: Problem) -> tuple[tuple[np.ndarray, ...], list[np.ndarray]]:
    module = problem.module()
    (data,) = entry_function(module).body.block.args
    shape = [size if isinstance(size, int) else 2 for size in shape_of(data)]
    feeds = [np.random.default_rng(0).standard_normal(shape).astype(np.float32)]
    return evaluate(module, feeds), feeds
