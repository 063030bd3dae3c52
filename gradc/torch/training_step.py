"""`gradc.torch.train_step`: a training step that is written in PyTorch, as a `gradc.TrainStep`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dialects.support.diagnostics import Diagnostic, UnsupportedError
from gradc.compiler.compiled import Compiled
from gradc.compiler.options import Options
from gradc.derivatives.derivation import store_weights
from gradc.derivatives.request import CONSTANT, REQUIRED
from gradc.importers.torch import refusals
from gradc.importers.torch import torch_internals as internals
from gradc.importers.torch.arguments import Arguments, read_arguments
from gradc.importers.torch.capture import capture
from gradc.importers.torch.captured import CapturedGraph, Output
from gradc.importers.torch.elements import array_of
from gradc.importers.torch.module import NEW
from gradc.importers.torch.state import State, find_state
from gradc.importers.torch.torch_internals import pytree, torch
from gradc.torch.check import Exported, check_export
from gradc.torch.eager import Eager
from gradc.torch.export_function import compile_captured, state_arrays
from gradc.torch.optimizer_states import RATE, initialise, rate_of, states_of, with_rate
from gradc.training.step import STEP, TrainStep
from gradc.util import arguments
from passes.lower_aten.table import KNOWN

LOSS = "loss"


@dataclass(frozen=True)
class _Call:
    """A function with its example arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    dynamic_shapes: Any
    input_names: Sequence[str] | None

    def with_first(self, function: Callable[..., Any], name: str, value: Any) -> _Call:
        """Return the call of a function with one more argument, the first one, of fixed size."""
        shapes, names = self.dynamic_shapes, self.input_names
        if shapes is not None and not isinstance(shapes, Mapping):
            shapes = (None, *shapes)
        names = None if names is None else [name, *names]
        return _Call(function, (value, *self.args), self.kwargs, shapes, names)

    def capture(self) -> CapturedGraph:
        """Capture the function."""
        return capture(
            self.function,
            self.args,
            self.kwargs,
            self.dynamic_shapes,
            self.input_names,
            kept=KNOWN,
        )

    def read(self) -> Arguments:
        """Return the arguments with their names and dims."""
        return read_arguments(self.function, self.args, self.kwargs, self.input_names, self.dynamic_shapes)


def train_step(
    step: Callable[..., Any],
    args: Sequence[Any],
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    input_names: Sequence[str] | None = None,
    opset: int | None = None,
    target: str = "cpu",
    check: bool = True,
) -> TrainStep:
    """Return a training step that a function computes, as ONNX: parameters and states in, new ones out.

    step: a function that updates the modules it closes over by optimizers of `torch.optim` and returns the
    loss, alone or before further results; or a function `step(parameters, states, ..., batch) -> (loss, new
    parameters, new states, ...)`, whose results have the structure of its first arguments.
    args, kwargs: an example batch, and in the second form parameters and states; they are the initial values.
    dynamic_shapes, input_names, opset, target: as in `gradc.torch.export`. check: compare one step.

    The step has an input `lr` if the optimizers can read it from a tensor; with several groups it is the rate
    of the first, and the others keep their ratio to it. Modules and optimizers stay as they are.

    Raises GradcError as `gradc.torch.export` does, and for a step that updates nothing.
    """
    arguments.flag("check", check)
    options = Options(target=target, opset=opset)
    with initialise(find_state(step).optimizers):
        return _train_step(step, args, kwargs or {}, dynamic_shapes, input_names, options, check)


def _train_step(
    step: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    dynamic_shapes: Any,
    input_names: Sequence[str] | None,
    options: Options,
    check: bool,
) -> TrainStep:
    state = find_state(step)
    call = _Call(step, tuple(args), kwargs, dynamic_shapes, input_names)
    graph, call, remarks = _capture(call, state)
    eager = Eager(call.function, call.read())
    carried = {} if graph.updates else _argument_updates(eager)
    outputs = _output_names(graph, carried)
    whole = replace(
        graph,
        outputs=tuple(Output(name, graph.outputs[index].value) for index, name in outputs.items()),
        updates={**graph.updates, **{name: graph.outputs[index].value for index, name in carried.items()}},
    )
    initial = _initial(whole, eager)
    if not initial:
        expected = "a step that changes parameters: in place by an optimizer, or as results"
        raise arguments.invalid("step", "a function that updates nothing", expected)
    values = state_arrays(step)
    compiled = store_weights(compile_captured(whole, values, options, CONSTANT), REQUIRED)
    remarks += compiled.remarks
    if check:
        keys = {str(index): name for index, name in outputs.items()}
        keys |= {str(index): NEW + name for index, name in carried.items()}
        keys |= {name: NEW + name for name in graph.updates}
        remarks += check_export(Exported(compiled, whole, values, eager, keys))
        if eager.adds_to_gradients():
            raise refusals.accumulated_gradients(internals.location_of_function(step))
    facts = _facts(whole, state, initial, eager, compiled)
    return TrainStep({STEP: compiled.model}, initial, facts, tuple(remarks))


def _capture(call: _Call, state: State) -> tuple[CapturedGraph, _Call, list[Diagnostic]]:
    """Capture with the rate as an input, or, if an optimizer needs its value, with a constant rate."""
    rate = rate_of(state.optimizers)
    if rate is None:
        return call.capture(), call, []
    with_input = call.with_first(with_rate(call.function, state.optimizers), RATE, rate)
    try:
        return with_input.capture(), with_input, []
    except UnsupportedError:
        graph = call.capture()
    text = f"the step has no input lr, and always the rate {float(rate):g}: the optimizer reads its value"
    return graph, call, [Diagnostic("remark", text)]


def _argument_updates(eager: Eager) -> dict[int, str]:
    """Return position of a result -> name of the argument whose next value it is: results after the first,
    which have the structure, sizes and dtypes of one of the first arguments each, in order. A step that
    changes tensors in place has none."""
    result, (args, _) = eager.call_once()
    if not isinstance(result, tuple | list):
        return {}
    found: dict[int, str] = {}
    names = iter(leaf.name for leaf in eager.arguments.tensors)
    position = len(pytree.tree_leaves(result[0]))
    for new, old in zip(result[1:], args, strict=False):
        if not _is_alike(new, old):
            break
        leaves = pytree.tree_leaves(new)
        found.update((position + index, next(names)) for index in range(len(leaves)))
        position += len(leaves)
    return found


def _is_alike(new: Any, old: Any) -> bool:
    (news, spec), (olds, other) = pytree.tree_flatten(new), pytree.tree_flatten(old)
    if spec != other or not news or not all(isinstance(leaf, torch.Tensor) for leaf in (*news, *olds)):
        return False
    return all(a.shape == b.shape and a.dtype == b.dtype for a, b in zip(news, olds, strict=True))


def _output_names(graph: CapturedGraph, carried: Mapping[int, str]) -> dict[int, str]:
    """Return position of a result that is no new value -> its name; the first is the loss."""
    taken = {one.name for one in graph.inputs}
    named = {i: output.name for i, output in enumerate(graph.outputs) if i not in carried}
    if LOSS not in taken and LOSS not in list(named.values())[1:]:
        named[0] = LOSS
    return named


def _initial(graph: CapturedGraph, eager: Eager) -> dict[str, np.ndarray]:
    given = {leaf.name: leaf.tensor for leaf in eager.arguments.tensors}
    given |= find_state(eager.function).tensors
    return {name: array_of(given[name]) for name in graph.updates}


def _facts(
    graph: CapturedGraph, state: State, initial: Mapping[str, np.ndarray], eager: Eager, compiled: Compiled
) -> dict[str, Any]:
    """Return what train.json has. In the second form all new values are parameters."""
    states = {name: of for name, of in states_of(state).items() if name in initial}
    kinds = {one.name: one.kind for one in graph.inputs}
    statistics = [name for name in initial if kinds[name] == "buffer" and name not in states]
    batch = [leaf.name for leaf in eager.arguments.tensors if leaf.name not in initial]
    inputs = {info.name for info in compiled.inputs}
    return {
        "updates": {name: NEW + name for name in initial},
        "batch": [name for name in batch if name != RATE and name in inputs],
        "labels": [],
        "scalars": {RATE: "float32"} if RATE in batch and RATE in inputs else {},
        "outputs": [output.name for output in graph.outputs],
        "parameters": [name for name in initial if name not in states and name not in statistics],
        "statistics": statistics,
        "states": states,
        "evaluation": {},
        "export": {},
        "in_place": False,
    }
