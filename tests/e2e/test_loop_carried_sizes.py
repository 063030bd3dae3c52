"""Gradients of loops that carry values whose sizes change from step to step, and that read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

import gradc

torch: Any = pytest.importorskip("torch")

READ = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[b,t,2] x, float[2,2] w, int64 n) => (float y) {
    yes = Constant <value = bool {1}> ()
    all = Loop <body = step (int64 i, bool going, float[p,q,2] h) => (still, more) {
        still = Identity(going)
        BODY
    }> (n, yes, x)
    squares = Mul(all, all)
    y = ReduceSum <keepdims = 0> (squares)
}"""
GROWING = """
    mean = ReduceMean <axes = [1], keepdims = 1> (h) product = MatMul(mean, w) last = Tanh(product)"""
CHANGES = {
    "grows": GROWING + "more = Concat <axis = 1> (h, last)",
    "doubles": "product = MatMul(h, w) last = Tanh(product) more = Concat <axis = 1> (h, last)",
    "shrinks": """
        one = Constant <value_ints = [1]> () zero = Constant <value_ints = [0]> ()
        minus = Constant <value_ints = [-1]> () far = Constant <value_ints = [9223372036854775807]> ()
        first = Slice(h, zero, minus, one) last = Slice(h, one, far, one) product = MatMul(first, w)
        more = Mul(product, last)""",
    "grows by a slice": """
        one = Constant <value_ints = [1]> () axis = Constant <value_ints = [1]> ()
        begin = Reshape(i, one) end = Add(begin, one) row = Slice(x, begin, end, axis) asked = MatMul(row, w)
        turned = Transpose <perm = [0, 2, 1]> (h) alike = MatMul(asked, turned)
        weights = Softmax <axis = -1> (alike) read = MatMul(weights, h) last = Tanh(read)
        more = Concat <axis = 1> (h, last)""",
    "grows, maybe": GROWING
    + """
        two = Constant <value = int64 {2}> () odd = Mod(i, two) is = Cast <to = 9> (odd)
        more = If (is) <
            then_branch = longer () => (float[e,f,2] c) { c = Concat <axis = 1> (h, last) },
            else_branch = turned () => (float[k,l,2] d) { d = Sin(h) }>""",
}


def _by_torch(kind: str, x: Any, w: Any, steps: int) -> Any:
    rows = x
    for i in range(steps):
        last = torch.tanh((x if kind == "doubles" else x.mean(1, keepdim=True)) @ w)
        if kind == "shrinks":
            x = (x[:, :-1] @ w) * x[:, 1:]
        elif kind == "grows by a slice":
            weights = torch.softmax(rows[:, i : i + 1] @ w @ x.transpose(1, 2), -1)
            x = torch.cat([x, torch.tanh(weights @ x)], 1)
        elif kind == "grows, maybe" and i % 2 == 0:
            x = x.sin()
        else:
            x = torch.cat([x, last], 1)
    return x.square().sum()


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("kind", CHANGES)
def test_what_changes_its_size_and_is_read_in_the_loop(kind: str, target: str):
    model = onnx.parser.parse_model(READ.replace("BODY", CHANGES[kind]))
    compiled = gradc.grad(model, wrt=["x", "w"], target=target, check=True)
    rng = np.random.default_rng(0)
    for steps, length in ((0, 1), (1, 5), (3, 6)):
        x, w = rng.normal(size=(3, length, 2)), rng.normal(size=(2, 2))
        operands = [torch.tensor(array, requires_grad=True) for array in (x, w)]
        wanted = torch.autograd.grad(_by_torch(kind, *operands, steps), operands, materialize_grads=True)
        fed = {"x": x.astype(np.float32), "w": w.astype(np.float32), "n": np.array(steps)}
        found = compiled.run(fed)
        for name, want in zip("xw", wanted, strict=True):
            np.testing.assert_allclose(found[f"grad_{name}"], want.numpy(), rtol=1e-4, atol=1e-4)


BROADCAST = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[b,2] x, float[1,2] first, int64 n) => (float y) {
    yes = Constant <value = bool {1}> ()
    all = Loop <body = step (int64 i, bool going, float[p,2] h) => (still, more) {
        still = Identity(going)
        product = Mul(h, x)
        more = Tanh(product)
    }> (n, yes, first)
    y = ReduceSum <keepdims = 0> (all)
}"""


@pytest.mark.parametrize("batch", [1, 3])
def test_an_initial_state_for_the_whole_batch(batch: int):
    compiled = gradc.grad(onnx.parser.parse_model(BROADCAST), wrt=["x", "first"])
    rng = np.random.default_rng(5)
    x, first = (torch.tensor(rng.standard_normal((rows, 2)), requires_grad=True) for rows in (batch, 1))
    h = first
    for _ in range(3):
        h = torch.tanh(h * x)
    h.sum().backward()
    feed = {
        name: value.detach().numpy().astype(np.float32) for name, value in {"x": x, "first": first}.items()
    }
    found = compiled.run({**feed, "n": np.array(3)})
    for name, value in {"x": x, "first": first}.items():
        np.testing.assert_allclose(found[f"grad_{name}"], value.grad, rtol=1e-4, atol=1e-6)
