"""ONNX models as modules of torch, against the same functions in torch."""

from __future__ import annotations

import copy
import pickle  # noqa: TID251 - of what the test itself wrote
from typing import Any

import numpy as np
import onnx
import pytest

import gradc

torch: Any = pytest.importorskip("torch")

HEAD = '<ir_version: 8, opset_import: ["": 18]>'
RNG = np.random.default_rng(0)
WEIGHTS = {"net.w": RNG.normal(size=(4, 3)), "net.b": RNG.normal(size=3), "v": RNG.normal(size=(3, 2))}


def perceptron() -> onnx.ModelProto:
    """tanh(x w + b) v, with a second result of integers."""
    text = """g (float[N, 4] x) => (float[N, 2] y, int64[N] k)
    {
        p = MatMul (x, net_w)
        s = Add (p, net_b)
        h = Tanh (s)
        y = MatMul (h, v)
        k = ArgMax <axis = 1, keepdims = 0> (y)
    }"""
    found = onnx.parser.parse_model(f"{HEAD} {text}")
    for node in found.graph.node:
        node.input[:] = [name.replace("net_", "net.") for name in node.input]
    found.graph.initializer.extend(
        onnx.numpy_helper.from_array(array.astype(np.float32), name) for name, array in WEIGHTS.items()
    )
    return found


def parameters() -> dict[str, Any]:
    return {
        name: torch.tensor(array, dtype=torch.float32, requires_grad=True) for name, array in WEIGHTS.items()
    }


def by_torch(x: Any, p: dict[str, Any]) -> Any:
    return torch.tanh(x @ p["net.w"] + p["net.b"]) @ p["v"]


@pytest.fixture
def x() -> Any:
    return torch.tensor(RNG.normal(size=(5, 4)), dtype=torch.float32, requires_grad=True)


def assert_near(found: Any, wanted: Any) -> None:
    assert torch.allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 5])
def test_values_and_derivatives_up_to_the_second(x, size):
    """Of the loss and of the norm of its gradient, as a penalty has it."""
    module, x = gradc.torch.module(perceptron()), x[:size].detach().requires_grad_()
    results = []
    for y in (module(x)[0], by_torch(x, parameters())):
        (first,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x)
        results.append((y, first, second))
    for found, wanted in zip(*results, strict=True):
        assert_near(found, wanted)


def test_results_of_integers_have_no_gradient(x):
    _, classes = gradc.torch.module(perceptron())(x)
    assert classes.dtype == torch.int64
    assert not classes.requires_grad


def test_weights_are_parameters_under_their_names(x):
    module, own = gradc.torch.module(perceptron(), trainable=True), parameters()
    assert module.state_dict().keys() == WEIGHTS.keys()
    module(x)[0].sum().backward()
    by_torch(x, own).sum().backward()
    for name, parameter in module.named_parameters():
        assert_near(parameter.grad, own[name].grad)


def test_it_trains_with_an_optimizer_that_calls_it_often(x):
    module = gradc.torch.module(perceptron(), trainable=True)
    optimizer = torch.optim.LBFGS(module.parameters())

    def loss() -> Any:
        optimizer.zero_grad()
        found = module(x.detach())[0].square().mean()
        found.backward()
        return found

    before = float(loss().detach())
    optimizer.step(loss)
    assert float(loss().detach()) < 1e-3 * before


def test_copies_and_pickles_do_not_share_parameters(x):
    module = gradc.torch.module(perceptron(), trainable=True)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert_near(other(x)[0], module(x)[0])
        with torch.no_grad():
            other.get_parameter("v").zero_()
        assert not torch.allclose(other(x)[0], module(x)[0])


def test_inner_values_are_results_with_a_gradient(x):
    y, _, h = gradc.torch.module(perceptron(), features=["h"])(x)
    own = parameters()
    inner = torch.tanh(x @ own["net.w"] + own["net.b"])
    assert_near(h, inner)
    (found,) = torch.autograd.grad(h.square().sum() + y.sum(), x)
    (wanted,) = torch.autograd.grad(inner.square().sum() + (inner @ own["v"]).sum(), x)
    assert_near(found, wanted)


def test_torch_func_differentiates_it(x):
    module = gradc.torch.module(perceptron())
    found = torch.func.grad(lambda x: module(x)[0].sum())(x.detach())
    assert_near(found, torch.autograd.grad(by_torch(x, parameters()).sum(), x)[0])


def test_inputs_by_name(x):
    module = gradc.torch.module(perceptron())
    assert_near(module(x=x)[0], module(x)[0])


def test_what_it_refuses(x):
    module = gradc.torch.module(perceptron())
    with pytest.raises(gradc.UnsupportedError, match="vmap cannot batch; give the model a dynamic batch"):
        torch.func.vmap(module)(x.detach()[:, None])
    with pytest.raises(
        gradc.UsageError, match="inputs: given '2 tensors and no names', expected one tensor for each of x"
    ):
        module(x, x)
    with pytest.raises(
        gradc.UsageError, match="features: given 'hh', expected a value of the model; did you mean h"
    ):
        gradc.torch.module(perceptron(), features=["hh"])


@pytest.mark.parametrize("name", ["GuidedBackprop", "Deconvolution", "DeepLift"])
def test_methods_of_captum_that_change_layers_are_refused(name: str):
    """Also within a module of torch; an initialisation by `apply` is none of them."""
    attr: Any = pytest.importorskip("captum.attr")
    module = gradc.torch.module(perceptron())
    first = torch.nn.Sequential(torch.nn.ReLU(), module, _First())
    first.apply(lambda part: part.requires_grad_(False))
    with pytest.raises(gradc.UnsupportedError, match="no submodules for its layers"):
        getattr(attr, name)(first).attribute(torch.randn(2, 4), target=0)


class _First(torch.nn.Module):
    def forward(self, results: Any) -> Any:
        return results[0]
