"""Entry point of the capture: a PyTorch function and example arguments to a `CapturedGraph`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dialects.support.diagnostics import GradcError
from gradc.importers.torch import refusals
from gradc.importers.torch import torch_internals as internals
from gradc.importers.torch.arguments import Arguments, read_arguments
from gradc.importers.torch.assemble import assemble
from gradc.importers.torch.caches import find_caches, forget
from gradc.importers.torch.captured import CapturedGraph, Input, Output
from gradc.importers.torch.recurrent import by_steps
from gradc.importers.torch.results import output_leaves
from gradc.importers.torch.second_call import check_second_call
from gradc.importers.torch.shared_memory import check_shared
from gradc.importers.torch.sizes import (
    ATTEMPTS,
    GENERIC,
    LARGE,
    Attempt,
    example_sizes,
    generic_sizes,
    large_sizes,
    small_sizes,
)
from gradc.importers.torch.state import State, find_state
from gradc.importers.torch.trace import replay, trace_arguments
from gradc.importers.torch.unify import check_same_ops, unify

CaptureAt = Callable[[Mapping[str, int]], CapturedGraph]


def capture(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    *,
    kept: frozenset[str],
) -> CapturedGraph:
    """Return the ops that a function or module runs, those of its derivatives included.

    `kept` are the overloads that are not decomposed. Code without a graph of fixed ops is a `GradcError`.
    """

    def read(link: bool) -> Arguments:
        return read_arguments(function, args, kwargs or {}, input_names, dynamic_shapes, link)

    state = find_state(function)
    arguments = read(link=False)
    caches = find_caches()

    def capture_all(arguments: Arguments, attempt: Attempt) -> CapturedGraph:
        def at(sizes: Mapping[str, int]) -> CapturedGraph:
            with forget(caches):
                return _capture_at(sizes, function, arguments, state, output_names, kept)

        return _capture_unified(at, arguments, attempt)

    def capture_checked() -> CapturedGraph:
        graph = _capture_in_attempts(read, arguments, capture_all)
        check_shared(arguments.tensors, set(graph.updates), state.location)
        if state.has_left_tensors:
            with forget(caches):
                check_second_call(function, arguments, state)
        return graph

    with state.preserve():
        return _capture_layers(capture_checked)


def _capture_layers(capture_all: Callable[[], CapturedGraph]) -> CapturedGraph:
    """Return the graph with an op for each recurrent layer or, if that has no derivative, for each step."""
    try:
        return capture_all()
    except refusals.StepsOnly as error:
        with by_steps():
            try:
                return capture_all()
            except GradcError:
                raise error from None


def _capture_in_attempts(
    read: Callable[[bool], Arguments],
    arguments: Arguments,
    capture_all: Callable[[Arguments, Attempt], CapturedGraph],
) -> CapturedGraph:
    """Return the graph of the first ranges of sizes at which the function runs."""
    try:
        return capture_all(arguments, ATTEMPTS[0])
    except refusals.FailureAtSizes:
        retries = [(read(True), ATTEMPTS[0])] if arguments.dynamic.automatic else []
        for retried, attempt in (*retries, *((arguments, attempt) for attempt in ATTEMPTS[1:])):
            with suppress(refusals.CaptureFailure):
                return capture_all(retried, attempt)
        raise


def _capture_unified(capture_at: CaptureAt, arguments: Arguments, attempt: Attempt) -> CapturedGraph:
    """Return the graph of captures at several sizes."""
    examples, bounds = arguments.dims, arguments.dynamic.bounds
    shapes = [leaf.shape for leaf in arguments.tensors]
    if not examples:
        return unify([capture_at({}), capture_at({})], [{}, {}], shapes, {})
    captures = _Captures(capture_at, examples)
    own = example_sizes(examples, bounds)
    if own is not None:
        captures.add(own)
    for number in range(GENERIC if own else GENERIC + 1):
        captures.add(generic_sizes(examples, bounds, number, attempt))
    if not _add_large(captures, examples, bounds, attempt):
        for number in range(GENERIC + 1, 2 * GENERIC + 1):
            captures.add(generic_sizes(examples, bounds, number, attempt))
    if attempt.step == 1:
        with suppress(refusals.FailureAtSizes):
            captures.add(small_sizes(examples, bounds))
    return unify(captures.graphs, captures.traces, shapes, examples)


def _add_large(
    captures: _Captures,
    examples: Mapping[str, int],
    bounds: Mapping[str, tuple[int, int]],
    attempt: Attempt,
) -> bool:
    """Add a capture at large sizes; return whether the function runs at any."""
    for large in LARGE:
        with suppress(refusals.FailureAtSizes):
            captures.add(large_sizes(examples, bounds, large, attempt.step))
            return True
    return False


class _Captures:
    """Captures at several sizes, which must have the same ops."""

    def __init__(self, capture_at: CaptureAt, examples: Mapping[str, int]):
        self.capture_at = capture_at
        self.examples = examples
        self.graphs: list[CapturedGraph] = []
        self.traces: list[Mapping[str, int]] = []

    def add(self, sizes: Mapping[str, int]) -> None:
        if sizes in self.traces:
            return
        try:
            graph = self.capture_at(sizes)
        except refusals.CaptureFailure as error:
            if sizes == self.examples:
                raise
            raise refusals.failure_at_sizes(error, sizes, self.examples) from error
        self.graphs.append(graph)
        self.traces.append(sizes)
        if len(self.graphs) > 1:
            check_same_ops([self.graphs[0], graph], [self.traces[0], sizes])


def _capture_at(
    sizes: Mapping[str, int],
    function: Callable[..., Any],
    arguments: Arguments,
    state: State,
    output_names: Sequence[str] | None,
    kept: frozenset[str],
) -> CapturedGraph:
    """Return the graph at given sizes of the dynamic dims."""
    mode = internals.fake_mode()
    with state.preserve_tensors(), internals.trace_optimizers(state.optimizers):
        fakes, trace, result = trace_arguments(sizes, function, arguments, mode)
        if sizes and trace.failed:
            raise refusals.caught_exception(trace.failed)
        state.has_left_tensors |= state.leaves_tensors()
        state.check_attributes({id(trace.tensors[index]) for index in trace.lifted})
        replaced = {name: trace.find(tensor, state.location) for name, tensor in state.new_buffers().items()}
    state_values = {
        name: trace.find(tensor) for name, tensor in state.tensors.items() if id(tensor) in trace.indices
    }
    leaves = output_leaves(result, output_names, state.location)
    outputs = [trace.find(leaf, state.location) for _, leaf in leaves]
    named = {index: name for name, index in state_values.items()}
    lifted = [index for index in trace.lifted if index not in named]
    inputs = [*range(len(fakes)), *state_values.values(), *lifted]
    table = internals.decompositions(kept)
    new, values, changed = replay(trace, inputs, [*outputs, *replaced.values()], table, mode)
    updates = dict(zip(replaced, values[len(outputs) :], strict=True))
    for position, value in changed.items():
        updates[_name_of_change(position, arguments, state_values, trace.lifted, lifted)] = value
    entries = [Input(leaf.name, i, "argument") for i, leaf in enumerate(arguments.tensors)]
    entries += [Input(name, len(fakes) + i, state.kind(name)) for i, name in enumerate(state_values)]
    first = len(entries)
    constants = {first + i: trace.tensors[index] for i, index in enumerate(lifted)}
    constants |= {index: new.tensors[index] for index in new.lifted}
    return assemble(
        new,
        entries,
        constants,
        [
            Output(name, changed.get(value, value))
            for (name, _), value in zip(leaves, values[: len(outputs)], strict=True)
        ],
        updates,
        {first + i: trace.lifted[index] for i, index in enumerate(lifted)},
    )


def _name_of_change(
    position: int,
    arguments: Arguments,
    state: Mapping[str, int],
    locations: Mapping[int, str],
    lifted: Sequence[int],
) -> str:
    names = [leaf.name for leaf in arguments.tensors] + list(state)
    if position < len(names):
        return names[position]
    raise refusals.change_of_closed_over(locations[lifted[position - len(names)]])
