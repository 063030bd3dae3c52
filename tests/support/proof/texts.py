"""Small transformers and recurrent networks for tests of the gradient proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from onnx import TensorProto, helper
from support.proof.net import Net, ProofModel


def heads(n: Net, x: str, length: int, size: int, by: bool = False) -> str:
    """(N, length, size) as two heads."""
    rows = n.op("Reshape", n.dense(x, (size, size), by), n.ints(0, length, 2, size // 2))
    return n.op("Transpose", rows, perm=[0, 2, 1, 3])


def attended(n: Net, x: str, length: int, size: int, mask: str = "", by: bool = False) -> str:
    """Multi-head attention as exporters write it; `mask` is added to the scores."""
    q, k, v = (heads(n, x, length, size, by) for _ in range(3))
    scores = n.op("MatMul", q, n.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = n.op("Div", scores, n.const((size // 2) ** 0.5))
    scores = n.op("Add", scores, mask) if mask else scores
    mixed = n.op("MatMul", n.op("Softmax", scores, axis=-1), v)
    rows = n.op("Reshape", n.op("Transpose", mixed, perm=[0, 2, 1, 3]), n.ints(0, length, size))
    return n.dense(rows, (size, size))


def gelu(n: Net, x: str) -> str:
    """By Erf, as exporters write it."""
    inner = n.op("Add", n.op("Erf", n.op("Div", x, n.const(2**0.5))), n.const(1.0))
    return n.op("Mul", n.op("Mul", x, inner), n.const(0.5))


def encoder() -> ProofModel:
    """Pre-norm transformer block of an embedding, with GELU; dynamic batch."""
    n = Net(11)
    x = n.op("Gather", n.weight(11, 8, by=True, scale=1.0), n.input("tokens", "N", 5, high=11), axis=0)
    x = n.op("Add", x, n.weight(5, 8, scale=0.5, by=True))
    x = n.op("Add", x, attended(n, n.layer_norm(x, 8, by=True), 5, 8, by=True))
    y = n.dense(gelu(n, n.dense(n.layer_norm(x, 8), (8, 16), by=True)), (16, 8))
    return n.done(n.layer_norm(n.op("Add", x, y), 8))


def masked() -> ProofModel:
    """Attention where a padding mask adds -1e9, and LayerNormalization written out."""
    n = Net(12)
    x = n.input("x", 2, 4, 8)
    hidden = np.array([[0, 0, 1, 1], [0, 0, 0, 1]], np.float32).reshape(2, 1, 1, 4) * -1e9
    x = n.op("Add", x, attended(n, x, 4, 8, n.const(hidden), by=True))
    centred = n.op("Sub", x, n.op("ReduceMean", x, axes=[-1]))
    variance = n.op("ReduceMean", n.op("Pow", centred, n.const(2.0)), axes=[-1])
    deviation = n.op("Sqrt", n.op("Add", variance, n.const(1e-5)))
    normal = n.op("Div", centred, deviation)
    return n.done(n.op("Add", n.op("Mul", normal, n.positive(8, by=True)), n.weight(8, by=True)))


def causal() -> ProofModel:
    """A language model: a causal mask of -inf by Where, SiLU gates, RMS norms and a loss of the labels."""
    n = Net(13)
    table, tokens = n.weight(9, 8, by=True, scale=1.0), n.input("tokens", 2, 5, high=9)
    x = n.op("Gather", table, tokens, axis=0)

    def rms(x: str) -> str:
        mean = n.op("ReduceMean", n.op("Pow", x, n.const(2.0)), axes=[-1])
        root = n.op("Sqrt", n.op("Add", mean, n.const(1e-5)))
        return n.op("Mul", n.op("Mul", x, n.op("Reciprocal", root)), n.positive(8, by=True))

    mask = n.const(np.triu(np.full((5, 5), -np.inf, np.float32), 1))
    x = n.op("Add", x, attended(n, rms(x), 5, 8, mask, by=True))
    y = rms(x)
    gate = n.dense(y, (8, 12))
    gate = n.op("Mul", gate, n.op("Sigmoid", gate))
    x = n.op("Add", x, n.dense(n.op("Mul", gate, n.dense(y, (8, 12), by=True)), (12, 8)))
    logits = n.op("MatMul", rms(x), n.op("Transpose", table, perm=[1, 0]))
    logits = n.op("Reshape", logits, n.ints(10, 9))
    labels = n.const(np.array([1, 5, 3, 8, 0, 2, 7, 7, 4, 6], np.int64))
    return n.done(n.op("SoftmaxCrossEntropyLoss", logits, labels, reduction="mean"), logits)


def einsums() -> ProofModel:
    """Attention by Einsum, with scores that go through a tanh."""
    n = Net(14)
    x = n.input("x", 2, 4, 6)
    q, k, v = (n.op("Einsum", x, n.weight(6, 2, 3, by=True), equation="nld,dhs->nhls") for _ in range(3))
    scores = n.op("Tanh", n.op("Einsum", q, k, equation="nhis,nhjs->nhij"))
    mixed = n.op("Einsum", n.op("Softmax", scores, axis=-1), v, equation="nhij,nhjs->nihs")
    return n.done(n.op("Einsum", mixed, n.weight(2, 3, 6, by=True), equation="nihs,hsd->nid"))


def attention_op() -> ProofModel:
    """The Attention op of opset 23 with two heads, and Gelu by tanh."""
    n = Net(15, opset=23)
    x = n.input("x", 1, 4, 8)
    q, k, v = (n.dense(x, (8, 8), by=True) for _ in range(3))
    y = n.op("Attention", q, k, v, q_num_heads=2, kv_num_heads=2, is_causal=1)
    return n.done(n.op("RMSNormalization", n.op("Gelu", y, approximate="tanh"), n.positive(8, by=True)))


def lstm() -> ProofModel:
    """A bidirectional LSTM, then one with its last state."""
    n = Net(16)
    x = n.input("x", 4, 2, 3)
    given = [n.weight(2, 16, 3, by=True), n.weight(2, 16, 4, by=True), n.weight(2, 32, by=True)]
    y = n.op("LSTM", x, *given, hidden_size=4, direction="bidirectional")
    y = n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 1, 3]), n.ints(4, 2, 8))
    given = [n.weight(1, 12, 8, by=True), n.weight(1, 12, 3, by=True), n.weight(1, 24), ""]
    first = [n.input("h", 1, 2, 3), n.input("c", 1, 2, 3), n.weight(1, 9, by=True)]
    y, last, cell = n.several("LSTM", y, *given, *first, hidden_size=3, count=3)
    return n.done(y, last, cell)


def gru() -> ProofModel:
    """GRU with the reset gate behind the product, then before it with a dense head."""
    n = Net(17)
    x = n.input("x", 4, 2, 3)
    given = [n.weight(1, 12, 3, by=True), n.weight(1, 12, 4, by=True), n.weight(1, 24, by=True)]
    y = n.op("GRU", x, *given, "", n.input("h", 1, 2, 4), hidden_size=4, linear_before_reset=1)
    y = n.op("Squeeze", y, n.ints(1))
    y = n.several("GRU", y, n.weight(1, 9, 4, by=True), n.weight(1, 9, 3, by=True), hidden_size=3, count=2)
    return n.done(n.dense(n.op("Squeeze", y[1], n.ints(0)), (3, 2)))


def rnn() -> ProofModel:
    n = Net(18)
    x = n.op("Sin", n.input("x", 4, 2, 3))
    given = [n.weight(1, 4, 3, by=True), n.weight(1, 4, 4, by=True), n.weight(1, 8, by=True)]
    return n.done(n.op("RNN", x, *given, hidden_size=4))


def scan() -> ProofModel:
    """A recurrent cell by Scan, whose weights are read from around."""
    n = Net(19)
    x, state = n.input("x", 4, 2, 3), n.input("h", 2, 3)
    w, u = n.weight(3, 3, by=True), n.weight(3, 3, by=True)
    nodes = [
        helper.make_node("MatMul", ["before", u], ["through"]),
        helper.make_node("MatMul", ["slice", w], ["from_x"]),
        helper.make_node("Add", ["through", "from_x"], ["inner"]),
        helper.make_node("Tanh", ["inner"], ["after"]),
        helper.make_node("Mul", ["after", "after"], ["made"]),
    ]
    edges = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])
        for name in ("before", "slice", "after", "made")
    }
    taken, given = [edges["before"], edges["slice"]], [edges["after"], edges["made"]]
    body = helper.make_graph(nodes, "step", taken, given)
    last, made = n.several("Scan", state, x, count=2, num_scan_inputs=1, body=body)
    return n.done(n.op("Exp", last), n.dense(made, (3, 2)))


def loop() -> ProofModel:
    """A fixed-point iteration of as many steps as an input says, whose weights are read from around."""
    n = Net(20)
    n.feeds["steps"] = np.array(3)
    n.inputs.append(helper.make_tensor_value_info("steps", TensorProto.INT64, []))
    x, w = n.input("x", 2, 4), n.weight(4, 4, by=True)
    nodes = [
        helper.make_node("MatMul", ["state", w], ["inner"]),
        helper.make_node("Sigmoid", ["inner"], ["gate"]),
        helper.make_node("Add", ["gate", x], ["next"]),
        helper.make_node("Identity", ["going"], ["on"]),
    ]
    taken = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("going", TensorProto.BOOL, []),
        helper.make_tensor_value_info("state", TensorProto.FLOAT, [2, 4]),
    ]
    given = [
        helper.make_tensor_value_info("on", TensorProto.BOOL, []),
        helper.make_tensor_value_info("next", TensorProto.FLOAT, [2, 4]),
    ]
    body = helper.make_graph(nodes, "step", taken, given)
    true = n.const(np.array(True))
    last = n.op("Loop", "steps", true, n.op("Sin", x), body=body)
    return n.done(n.op("Mul", last, last))


TEXTS: Mapping[str, Callable[[], ProofModel]] = MappingProxyType(
    {
        "attention_op": attention_op,
        "causal": causal,
        "einsums": einsums,
        "encoder": encoder,
        "gru": gru,
        "loop": loop,
        "lstm": lstm,
        "masked": masked,
        "rnn": rnn,
        "scan": scan,
    }
)
