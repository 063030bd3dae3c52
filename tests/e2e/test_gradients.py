"""Gradients of small networks: held against differences in float64, and run on onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from support.networks import NETWORKS, module_of, values_of
from xdsl.dialects.builtin import f16, f32, f64

import gradc
from dialects.evaluate import evaluate
from dialects.support.diagnostics import UnsupportedError, UsageError
from passes.differentiate import Request, differentiate

STEP = 1e-6
BOUNDS = {"f32": (f32, np.float32, 2e-5), "f16": (f16, np.float16, 2e-2)}


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_the_gradient_of_a_network(name: str, dtype: str):
    network, inputs = NETWORKS[name]
    element, numpy, bound = BOUNDS[dtype]
    exact, module = (module_of(network, inputs, one) for one in (f64, element))
    for one in (exact, module):
        found = differentiate(one, Request(cotangents=True))
        assert found.gradients == {name: f"grad_{name}" for name in inputs}
        assert found.cotangents == {"y": "cotangent_y"}
    compiled = gradc.compile(module)
    for batch in (4, 1):
        values = values_of(inputs, batch)
        (result,) = evaluate(module_of(network, inputs, f64), values)
        cotangent = np.random.default_rng(1).normal(size=result.shape)
        want = evaluate(exact, [*values, cotangent])
        _check_adjoint(network, inputs, values, cotangent, want)
        feeds = zip([*inputs, "cotangent_y"], [*values, cotangent], strict=True)
        got = compiled.run({name: value.astype(numpy) for name, value in feeds})
        for key, wanted in zip(inputs, want, strict=True):
            scale = np.abs(wanted).max()
            assert got[f"grad_{key}"].shape == wanted.shape
            assert np.abs(got[f"grad_{key}"] - wanted).max() <= bound * (scale + 1e-3), key


def _check_adjoint(network, inputs, values, cotangent, gradients) -> None:
    """Along one direction of all inputs."""
    rng, forward = np.random.default_rng(2), module_of(network, inputs, f64)
    directions = [rng.normal(size=value.shape) for value in values]
    moved = [
        evaluate(forward, [v + sign * STEP * d for v, d in zip(values, directions, strict=True)])[0]
        for sign in (1, -1)
    ]
    slopes = cotangent * (moved[0] - moved[1]) / (2 * STEP)
    got = sum((g * d).sum() for g, d in zip(gradients, directions, strict=True))
    assert abs(got - slopes.sum()) <= 1e-6 * np.abs(slopes).sum()


def mlp_module():
    network, inputs = NETWORKS["mlp"]
    return module_of(network, inputs, f64), values_of(inputs, 3)


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_a_result_of_several_elements_is_summed_up(reduce: str):
    module, values = mlp_module()
    plain = module.clone()
    differentiate(module, Request(wrt=["w1"], keep=["y"], reduce=reduce))
    kept, gradient = evaluate(module, values)
    (result,) = evaluate(plain, values)
    np.testing.assert_array_equal(kept, result)
    differentiate(plain, Request(wrt=["w1"], cotangents=True))
    share = 1 if reduce == "sum" else 1 / result.size
    (want,) = evaluate(plain, [*values, np.full(result.shape, share)])
    np.testing.assert_allclose(gradient, want, rtol=1e-12)


@pytest.mark.parametrize(
    ("request_", "error", "text"),
    [
        (Request(), UsageError, "expected one element; reduce takes sum or mean"),
        (Request(wrt=["b11"], reduce="sum"), UsageError, "there is no value b11; did you mean b1"),
        (Request(wrt=["x", "x"], reduce="sum"), UsageError, "no name twice"),
        (Request(of=["x"], wrt=["w1"], reduce="sum"), UsageError, "x does not depend on w1"),
        (
            Request(of=["x"], wrt=["w1", "b1"], reduce="sum"),
            UsageError,
            r"on w1; .*\n.*x does not depend on b1",
        ),
        (Request(reduce="max"), UsageError, "expected sum or mean"),
    ],
)
def test_what_makes_no_sense_is_said(request_: Request, error: type[Exception], text: str):
    module, _ = mlp_module()
    with pytest.raises(error, match=text):
        differentiate(module, request_)


def test_of_and_wrt_may_be_one():
    module, values = mlp_module()
    differentiate(module, Request(of=["x"], wrt=["x", "b1"], cotangents=True, allow_unused=True))
    cotangent = np.arange(12.0).reshape(3, 4)
    identity, unused = evaluate(module, [*values, cotangent])
    np.testing.assert_array_equal(identity, cotangent)
    np.testing.assert_array_equal(unused, np.zeros(8))


def test_a_gradient_that_is_zero_by_rule_is_no_silent_zero():
    module = module_of(lambda x: x.sign() * 2, {"x": (3,)}, f32)
    with pytest.raises(UnsupportedError, match=r"is zero: onnx.Sign \(it is constant between jumps\)"):
        differentiate(module, Request(reduce="sum"))
