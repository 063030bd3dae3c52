"""The gradients of ops whose axes or steps are inputs, on onnxruntime: as those of constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import gradc
from gradc.runtime.session import newest_released_opset

Values = Mapping[str, Sequence[int] | int]


def _model(
    node: str, shape: str, rank: int, values: Values, opset: int, lengths: str | None
) -> onnx.ModelProto:
    """With the values as constants, or as inputs: vectors of known or unknown lengths."""
    arrays = {name: np.array(value, np.int64) for name, value in values.items()}
    known = lengths == "known"
    declared = (
        (name, f"[{a.size if known else f'n_{name}'}]" if a.ndim else "") for name, a in arrays.items()
    )
    inputs = "" if lengths is None else "".join(f", int64{size} {name}" for name, size in declared)
    sizes = f"[{', '.join(f'd{i}' for i in range(rank))}]" if rank else ""
    text = f"g (float{shape} x{inputs}) => (float{sizes} y) {{ y = {node} }}"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> {text}')
    if lengths is None:
        model.graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in arrays.items())
    return model


def _by_both(
    node: str, values: Values, *, rank: int = 3, opset: int = 20, shape: str = "[2, n, 4]", batch: int = 2
) -> list[np.ndarray]:
    """The gradient of constants, and of inputs of known and of unknown lengths."""
    rng, results = np.random.default_rng(0), []
    x = rng.normal(size=(batch, 3, 4, 2)[: shape.count(",") + 1]).astype(np.float32)
    cotangent = None
    for lengths in (None, "known", "unknown"):
        model = _model(node, shape, rank, values, opset, lengths)
        given: dict[str, Any] = {"x": x}
        if lengths is not None:
            given |= {name: np.array(value, np.int64) for name, value in values.items()}
        if cotangent is None:
            made = gradc.compile(model).run(given)["y"]
            cotangent = rng.normal(size=made.shape).astype(np.float32)
        found = gradc.vjp(model, wrt="x", check=False)
        results.append(found.run(given | {"cotangent_y": cotangent})["grad_x"])
    assert results[0].shape == x.shape
    return results


CASES: Sequence[tuple[str, Values, Mapping[str, Any]]] = (
    ("Slice (x, s, e, a)", {"s": [1, -3], "e": [9, -1], "a": [1, -1]}, {}),
    ("Slice (x, s, e, a, t)", {"s": [-1, 0], "e": [-9, 4], "a": [-2, 2], "t": [-2, 3]}, {}),
    ("Slice (x, s, e, a)", {"s": [3], "e": [2], "a": [1]}, {}),
    ("Slice (x, s, e)", {"s": [0, 1], "e": [1, 3]}, {}),
    ("Pad (x, p, , a)", {"p": [1, 0, -1, 2], "a": [-1, 1]}, {}),
    *(
        (f"Pad <mode = \"{mode}\"> (x, p, , a)", {"p": [2, -1, 3, 1], "a": [-1, 1]}, {})
        for mode in ("reflect", "edge", "wrap")
    ),
    *((f"Reduce{how} (x, a)", {"a": [-1, 0]}, {}) for how in ("Prod", "Mean", "Max", "L2", "LogSumExp")),
    ("ReduceProd <keepdims = 0> (x, a)", {"a": [1]}, {"rank": 2}),
    ("ReduceProd <keepdims = 0> (x, a)", {"a": [-1, 0]}, {"rank": 1, "shape": "[2, 3, 4]"}),
    ("ReduceSum <keepdims = 0> (x, a)", {"a": [-1, 1]}, {"rank": 1}),
    *(
        (f"ReduceMean <noop_with_empty_axes = {noop}, keepdims = {kept}> (x, a)", {"a": []}, {"rank": rank})
        for noop, kept, rank in ((0, 1, 3), (0, 0, 0), (1, 1, 3), (1, 0, 3))
    ),
    *((f"Reduce{how} (x, a)", {"a": []}, {}) for how in ("Prod", "Max", "L2", "LogSumExp")),
    ("ReduceProd <noop_with_empty_axes = 1> (x, a)", {"a": []}, {}),
    ("Slice (x, s, e, a)", {"s": [], "e": [], "a": []}, {}),
    ("Pad (x, p, , a)", {"p": [], "a": []}, {}),
    ("Unsqueeze (x, a)", {"a": [0, -1]}, {"rank": 5}),
    ("CumSum <reverse = 1> (x, a)", {"a": -2}, {}),
    *(
        (f"CumProd <exclusive = {e}, reverse = {r}> (x, a)", {"a": a}, {"opset": 26})
        for e, r, a in ((0, 0, -1), (1, 0, 0), (0, 1, -2), (1, 1, 2))
    ),
    *(
        (f"DFT <inverse = {i}, onesided = {o}> (x, , a)", {"a": a}, {"rank": 4, "shape": "[2, n, 4, 2]"})
        for i, o, a in ((0, 0, -2), (1, 0, 1), (1, 0, -4))
    ),
)  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize(("node", "values", "options"), CASES, ids=str)
def test_of_axes_that_are_inputs(node: str, values: Values, options: Mapping[str, Any]):
    wanted, *found = _by_both(node, values, **options)
    assert np.abs(wanted).max() > 0 or "Slice (x, s, e, a)" in node
    for one in found:
        np.testing.assert_allclose(one, wanted, rtol=2e-5, atol=1e-5)


REDUCES_NOTHING = 27
"""The opset with which an onnxruntime came whose reductions of an empty tensor have the right shape."""

needs_empty_reductions = pytest.mark.skipif(
    newest_released_opset() < REDUCES_NOTHING,
    reason="an onnxruntime whose reductions of nothing keep the shape",
)

EMPTY = [case for case in CASES if "wrap" not in case[0] and not case[0].startswith("DFT")]
"""Those that onnxruntime computes of an empty batch."""


@pytest.mark.sweep
@needs_empty_reductions
@pytest.mark.parametrize(("node", "values", "options"), EMPTY, ids=str)
def test_of_an_empty_batch(node: str, values: Values, options: Mapping[str, Any]):
    shape = str(options.get("shape", "[2, n, 4]")).replace("[2", "[N")
    for one in _by_both(node, values, **{**options, "shape": shape, "batch": 0}):
        assert one.size == 0


@pytest.mark.sweep
@needs_empty_reductions
@pytest.mark.parametrize("sizes", ["[N, 3, 4]", "[N, M, K]", "[0, 3, 4]"])
@pytest.mark.parametrize("axes", [(1, 2), (0, 1), (1,), (0, 1, 2)])
def test_products_of_an_empty_batch(sizes: str, axes: tuple[int, ...]):
    node, values = "ReduceProd (x, a)", {"a": axes}
    for one in _by_both(node, values, shape=sizes, batch=0):
        assert one.size == 0


def test_products_that_are_differentiated_twice():
    """Of the square of the sum of products, in float64: against differences of the gradient."""
    text = """g (double[n, m, 2] x, int64[k] a) => (double y) {
        p = ReduceProd (x, a)
        q = Mul (p, p)
        y = ReduceSum <keepdims = 0> (q)
    }"""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 20]> {text}')
    first, second = gradc.grad(model, wrt="x", check=False), gradc.hvp(model, wrt="x", check=False)
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(2, 2, 3, 2))
    x[0, 1, 0] = 0
    for axes in ([-2], [0, -1], [2, 1, 0], []):
        given = {"a": np.array(axes, np.int64)}
        ahead, behind = (first.run({"x": x + step * v, **given})["grad_x"] for step in (1e-6, -1e-6))
        found = second.run({"x": x, "tangent_x": v, **given})["hvp_x"]
        np.testing.assert_allclose(found, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-7)
