"""The loss of connectionist temporal classification (Graves et al., 2006), and its gradient.

Each is a Loop over time of the logarithms of probabilities of the states: the labels with blanks between,
before and after them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Block, Region

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.shapes.forms import Form
from dialects.support.shapes import tensor_type
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.indices import iota
from passes.lower_aten.precision import in_float32
from passes.lower_aten.shapes import expand_to, sizes


@dataclass(frozen=True)
class _States:
    """The states of each sequence of a batch of N: (N, W), W = 2 S + 1 for at most S labels."""

    labels: Value
    numbers: Value
    """(W)"""
    last: Value
    """Number of the last state, 2 L for L labels: (N, 1)."""
    may_skip: Value
    """Whether the blank before a state may be left out: bools (N, W)."""
    lengths: Value
    """Steps in time of each sequence: (N, 1)."""
    emissions: Value
    """Logarithms of the probabilities of the states' labels: (T, N, W)."""


def _shift(x: Value, count: int, fill: float) -> Value:
    """Move the elements of the last axis by a number of positions, to larger ones if it is positive."""
    before, after = max(count, 0), max(-count, 0)
    zeros = [0] * (x.rank - 1)
    padded = x.apply(onnx.PadOp, x.e.ints([*zeros, before, *zeros, after]), x.e.scalar(fill, x))
    found = padded[..., :-before] if before else padded[..., after:]
    return found.assume_shape(x.shape)


def _padded_targets(f: Call, lengths: Value) -> tuple[Value, Form]:
    """Return the labels (N, S), blanks behind the last one, and S."""
    targets, most = f.targets.as_int64(), sizes(f.targets)[-1]
    if most == 0:
        raise f.refusal("targets without labels")
    index = iota(f, most)
    if targets.rank == 1:
        start = lengths.apply(onnx.CumSumOp, f.e.number(0, i64)) - lengths
        targets = targets.apply(onnx.GatherOp, (start + index).at_most(f.vector([most]) - 1))
    return (index < lengths).where(targets, f.blank), most


def _states_of(f: Call) -> _States:
    time, count = sizes(f.log_probs)[:2]
    column = f.e.ints([-1, 1])
    lengths = f.target_lengths.as_int64().apply(onnx.ReshapeOp, column)
    labels, most = _padded_targets(f, lengths)
    width = most * 2 + 1
    pairs = f.e.concat([f.full(f.blank, (count, most, 1), i64), labels.unsqueeze([2])], 2)
    joined = pairs.apply(onnx.ReshapeOp, f.vector([count, most * 2]), allowzero=1)
    states = f.e.concat([joined, f.full(f.blank, (count, 1), i64)], 1).assume_shape([count, width])
    numbers = iota(f, width)
    may_skip = (numbers > 1) & states.equals(_shift(states, 2, 0)).apply(onnx.NotOp)
    wanted = expand_to(f, states.unsqueeze([0]), (time, count, width))
    emissions = f.log_probs.apply(onnx.GatherElementsOp, wanted, axis=2)
    steps = f.input_lengths.as_int64().apply(onnx.ReshapeOp, column)
    return _States(states, numbers, lengths * 2, may_skip, steps, emissions)


def _log_sum(terms: Sequence[Value]) -> Value:
    """Return the logarithm of the sum of exponentials; -inf of nothing but -inf."""
    most = terms[0]
    for term in terms[1:]:
        most = most.at_least(term)
    safe = most.equals(-math.inf).where(most.e.scalar(0, most), most)
    total = (terms[0] - safe).exp()
    for term in terms[1:]:
        total = total + (term - safe).exp()
    return safe + total.log()


def _over_time(
    f: Call,
    states: _States,
    start: Value,
    came_from: Callable[[Value, Value], Sequence[Value]],
    backward: bool,
) -> tuple[Value, Value]:
    """Return the last logarithms (N, W), and those of all steps (T, N, W) in the order of the Loop.

    `came_from(given, may skip)` returns those of the states before each one.
    """
    kind = start.value.type
    block = Block(arg_types=[tensor_type(i64, ()), tensor_type(i1, ()), kind])
    e = Builder(strict_ieee=f.e.strict_ieee)
    number, going, given = map(e, block.args)
    count = f.vector([sizes(f.log_probs)[0]]).squeeze([0])
    step = e(count.value) - 1 - number if backward else number
    emission = e(states.emissions.value).apply(onnx.GatherOp, step, axis=0)
    found = _log_sum(came_from(given, e(states.may_skip.value))) + emission
    new = (step < e(states.lengths.value)).where(found, given).assume_shape(given.shape)
    outputs = [going.apply(onnx.IdentityOp), new, new.apply(onnx.IdentityOp)]
    block.add_ops([*e.emit.ops, YieldOp(*(value.value for value in outputs))])
    types = [kind, tensor_type(start.dtype, sizes(states.emissions))]
    made = onnx.LoopOp(count.value, None, [start.value], body=Region(block), result_types=types)
    last, steps = (f.e(value) for value in f.e.emit.all(made))
    return last, steps


def _only(f: Call, is_one: Value, states: _States) -> Value:
    """Return the logarithms of 1 for chosen states and of 0 for all others."""
    like = f.log_probs
    chosen = is_one.where(f.e.scalar(0, like), f.e.scalar(-math.inf, like))
    return expand_to(f, chosen, sizes(states.labels))


def loss(f: Call, e: Builder) -> Sequence[Value | None]:
    """The negative log-likelihoods (N), and the logarithms of the forward probabilities (N, T, W)."""
    states = _states_of(f)

    def came_from(given: Value, may_skip: Value) -> Sequence[Value]:
        skipped = may_skip.where(_shift(given, 2, -math.inf), -math.inf)
        return [given, _shift(given, 1, -math.inf), skipped]

    first = _only(f, states.numbers.equals(0).unsqueeze([0]), states)
    last, steps = _over_time(f, states, first, came_from, backward=False)
    is_end = states.numbers.equals(states.last)
    is_before = states.numbers.equals(states.last - 1)
    ends = [
        is_chosen.where(last, -math.inf).apply(onnx.ReduceMaxOp, e.ints([1]), keepdims=0)
        for is_chosen in (is_end, is_before)
    ]
    return [-_log_sum(ends), steps.transpose([1, 0, 2])]


def loss_backward(f: Call, e: Builder) -> Value:
    """The gradient with respect to normalized logarithms, as torch has it: the probabilities minus those that
    the labels give (equation 16 of the paper)."""
    states = _states_of(f)

    def came_from(given: Value, may_skip: Value) -> Sequence[Value]:
        allowed = may_skip.where(given, -math.inf)
        return [given, _shift(given, -1, -math.inf), _shift(allowed, -2, -math.inf)]

    first = _only(f, states.numbers.equals(states.last), states)
    _, reversed_steps = _over_time(f, states, first, came_from, backward=True)
    both = f.log_alpha.transpose([1, 0, 2]) + reversed_steps[::-1]
    loss = f.neg_log_likelihood.unsqueeze([0, 2])
    is_possible = both > -math.inf
    exponent = is_possible.where(both + loss - states.emissions, -math.inf)
    classes = sizes(f.log_probs)[2]
    is_label = states.labels.unsqueeze([2]).equals(iota(f, classes)).cast(f.dtype)
    shares = exponent.exp().transpose([1, 0, 2]) @ is_label
    found = (f.log_probs.exp() - shares.transpose([1, 0, 2])) * f.grad.unsqueeze([0, 2])
    time = iota(f, sizes(f.log_probs)[0]).unsqueeze([1, 2])
    is_counted = time < states.lengths.unsqueeze([0])
    if f.zero_infinity:
        is_counted = is_counted & loss.equals(math.inf).apply(onnx.NotOp)
    return is_counted.where(found, 0)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "_ctc_loss.Tensor": in_float32(loss),
        "_ctc_loss_backward.Tensor": in_float32(loss_backward),
    }
)
