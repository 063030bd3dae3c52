"""LSTM, GRU and RNN over a dynamic time axis, and their gradients, against PyTorch at other lengths."""

from __future__ import annotations

import functools

import pytest

torch = pytest.importorskip("torch")

from dialects.support.diagnostics import GradcError  # noqa: E402
from gradc.torch.export_function import export  # noqa: E402

nn = torch.nn


LAYERS = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "rnn_tanh": nn.RNN,
    "rnn_relu": functools.partial(nn.RNN, nonlinearity="relu"),
}

OPTIONS = {
    "one_layer": {},
    "two_layers": {"num_layers": 2},
    "bidirectional": {"bidirectional": True},
    "two_bidirectional_layers": {"num_layers": 2, "bidirectional": True, "dropout": 0.5},
    "batch_first": {"batch_first": True},
    "no_bias": {"bias": False, "bidirectional": True},
}

TIME, BATCH = 5, 3
LENGTHS = [(1, 2), (2, 1), (TIME, BATCH), (4, 0), (23, 4)]


def layer_of(kind, dtype=torch.float64, **options):
    torch.manual_seed(0)
    return LAYERS[kind](2, 4, **options).to(dtype).eval()


def sample(*shape, dtype=torch.float64, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_()


def states_of(layer, batch, dtype=torch.float64):
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    return [sample(count, batch, 4, dtype=dtype, seed=2 + i) for i in range(2 if layer.mode == "LSTM" else 1)]


def of_results(found, last):
    last = last if isinstance(last, tuple) else (last,)
    return found.square().sum() + sum((state * (3 + i)).sin().sum() for i, state in enumerate(last))


class Gradients(nn.Module):
    """The results of a layer, and its gradients by the input, the first states and the weights."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, *states):
        given = (x,) if not states else (x, states[0] if len(states) == 1 else states)
        found, last = self.layer(*given)
        wanted = [x, *states, *self.layer.parameters()]
        gradients = torch.autograd.grad(of_results(found, last), wanted)
        return found, last, *gradients


def compare(compiled, function, args):
    feeds = {info.name: one.detach().numpy() for info, one in zip(compiled.inputs, args, strict=True)}
    found = compiled.run(feeds).values()
    expected = torch.utils._pytree.tree_leaves(function(*args))
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if args[0].dtype is torch.float32 else {}
    for got, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(got), wanted.detach(), **tolerance)


def check_at_other_lengths(kind, options, dtype):
    layer = layer_of(kind, dtype, **options)
    is_first = layer.batch_first
    axes = {0: "N", 1: "T"} if is_first else {0: "T", 1: "N"}

    def args(time, batch):
        shape = (batch, time, 2) if is_first else (time, batch, 2)
        return sample(*shape, dtype=dtype), *states_of(layer, batch, dtype)

    example = args(TIME, BATCH)
    function = Gradients(layer)
    compiled = export(function, example, dynamic_shapes=(axes, *[{1: "N"}] * (len(example) - 1)))
    for time, batch in LENGTHS:
        compare(compiled, function, args(time, batch))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", LAYERS)
def test_gradients_at_other_lengths(kind, options):
    check_at_other_lengths(kind, options, torch.float64)


@pytest.mark.parametrize("kind", LAYERS)
def test_gradients_of_float32(kind):
    """onnxruntime has kernels of float32 only."""
    check_at_other_lengths(kind, OPTIONS["two_bidirectional_layers"], torch.float32)


@pytest.mark.parametrize("kind", LAYERS)
def test_without_states(kind):
    function = Gradients(layer_of(kind, bidirectional=True))
    compiled = export(function, (sample(TIME, BATCH, 2),), dynamic_shapes=({0: "T"},))
    for time in (1, 2, 17):
        compare(compiled, function, (sample(time, BATCH, 2),))


@pytest.mark.parametrize("kind", LAYERS)
def test_one_sequence_without_a_batch(kind):
    layer = layer_of(kind, num_layers=2)

    def function(x):
        found, last = layer(x)
        return found.detach(), torch.autograd.grad(of_results(found, last), x)[0]

    compiled = export(function, (sample(TIME, 2),), dynamic_shapes=({0: "T"},))
    for time in (1, 2, 17):
        compare(compiled, function, (sample(time, 2),))


@pytest.mark.parametrize("kind", LAYERS)
def test_weights_as_inputs(kind):
    function = Gradients(layer_of(kind, num_layers=2))
    x = sample(TIME, BATCH, 2)
    compiled = export(function, (x,), dynamic_shapes=({0: "T"},), weights="required")
    others = {name: sample(*one.shape, seed=9) for name, one in function.named_parameters()}
    x = sample(8, BATCH, 2)
    found = compiled.run({"x": x.detach().numpy()} | {k: v.detach().numpy() for k, v in others.items()})
    with torch.no_grad():
        for name, one in function.named_parameters():
            one.copy_(others[name])
    for got, wanted in zip(found.values(), torch.utils._pytree.tree_leaves(function(x)), strict=True):
        torch.testing.assert_close(torch.from_numpy(got), wanted.detach())


def second(layer):
    def function(x):
        (slope,) = torch.autograd.grad(layer(x)[0].sin().sum(), x, create_graph=True)
        return torch.autograd.grad(slope.sin().sum(), x)[0]

    return function


def jacobian(layer):
    return lambda x: torch.func.jacrev(lambda x: layer(x)[0].sum((0, 1)))(x.detach())


def forward_mode(layer):
    return lambda x: torch.func.jvp(lambda x: layer(x)[0], (x.detach(),), (x.detach().cos(),))[1]


def forward(layer):
    return lambda x: layer(x)[0]


def projected():
    return nn.LSTM(2, 4, proj_size=3).double()


ONLY_BY_STEPS = {
    "second derivatives": lambda: second(layer_of("gru")),
    "torch.func.vmap": lambda: jacobian(layer_of("gru")),
    "forward-mode derivatives": lambda: forward_mode(layer_of("gru")),
    "proj_size of an LSTM": lambda: forward(projected()),
}


@pytest.mark.parametrize("what", ONLY_BY_STEPS)
def test_what_needs_a_fixed_number_of_steps(what):
    function, x = ONLY_BY_STEPS[what](), sample(TIME, BATCH, 2)
    compare(export(function, (x,)), function, (x,))
    with pytest.raises(GradcError, match=f"test_recurrent.py:.*{what}.*fixed number of steps") as caught:
        export(function, (x,), dynamic_shapes=({0: "T"},))
    assert "fix the dim of time" in str(caught.value)


def test_dropout_in_training_mode():
    layer = layer_of("lstm", num_layers=2, dropout=0.5).train()
    with pytest.raises(GradcError, match="draws random numbers"):
        export(forward(layer), (sample(TIME, BATCH, 2),), dynamic_shapes=({0: "T"},))


def test_functional_transforms():
    """torch.func.grad of functional_call, by the weights as arguments."""
    layer = layer_of("lstm", num_layers=2)
    weights = {name: one.detach() for name, one in layer.named_parameters()}

    def function(x, weights):
        def loss(weights, x):
            return torch.func.functional_call(layer, weights, (x,))[0].sin().sum()

        return torch.func.grad(loss, argnums=(0, 1))(weights, x)

    args = (sample(TIME, BATCH, 2).detach(), weights)
    compiled = export(function, args, dynamic_shapes=({0: "T", 1: "N"}, None))
    x = sample(9, 2, 2).detach()
    given = torch.utils._pytree.tree_leaves((x, weights))
    feeds = {info.name: one.numpy() for info, one in zip(compiled.inputs, given, strict=True)}
    wanted = torch.utils._pytree.tree_leaves(function(x, weights))
    for got, one in zip(compiled.run(feeds).values(), wanted, strict=True):
        torch.testing.assert_close(torch.from_numpy(got), one)


def by_grad(loss, x):
    return torch.autograd.grad(loss, x)[0]


def by_backward(loss, x):
    x.retain_grad()
    loss.backward()
    return x.grad


@pytest.mark.parametrize("differentiate", [by_grad, by_backward])
def test_layer_that_is_checkpointed(differentiate):
    """The backward pass runs the layer again, as one op, too."""
    layer = layer_of("gru")

    def function(x):
        x = x * 1.0
        found = torch.utils.checkpoint.checkpoint(lambda x: layer(x)[0], x, use_reentrant=False)
        return differentiate(found.sin().sum(), x)

    compiled = export(function, (sample(TIME, BATCH, 2),), dynamic_shapes=({0: "T"},))
    compare(compiled, function, (sample(11, BATCH, 2),))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision(dtype):
    layer = layer_of("gru", dtype)

    def function(x):
        return torch.autograd.grad(layer(x)[0].sin().sum(), x)[0]

    assert export(function, (sample(TIME, BATCH, 2, dtype=dtype),), dynamic_shapes=({0: "T"},)).outputs


def test_cells_over_a_fixed_number_of_steps():
    torch.manual_seed(0)
    lstm, gru = nn.LSTMCell(2, 4).double(), nn.GRUCell(2, 4).double()

    def function(x):
        hidden = cell = other = x.new_zeros(x.shape[1], 4)
        for step in range(TIME):
            hidden, cell = lstm(x[step], (hidden, cell))
            other = gru(x[step], other)
        return torch.autograd.grad(hidden.sin().sum() + other.cos().sum(), x)[0]

    compiled = export(function, (sample(TIME, BATCH, 2),), dynamic_shapes=({1: "N"},))
    compare(compiled, function, (sample(TIME, 7, 2),))
