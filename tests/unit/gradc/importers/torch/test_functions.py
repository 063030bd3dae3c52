"""Captures of functions that take derivatives, evaluated by torch's ops and compared with the functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from support.autograd_functions import CASES, Case  # noqa: E402
from support.captured_graphs import capture, evaluate  # noqa: E402

from gradc.importers.torch.arguments import read_arguments  # noqa: E402
from gradc.importers.torch.capture import output_leaves  # noqa: E402
from gradc.importers.torch.state import find_state  # noqa: E402
from gradc.torch.samples import at_sizes  # noqa: E402

SIZES = ({0: 7, 1: 6, 2: 10}, {0: 1, 1: 2, 2: 3})
"""Sizes of the first, second ... dim of a function, none of which is traced."""


def sizes_of(dims: Mapping[str, int], turn: int, least: int) -> dict[str, int]:
    if "H" in dims:
        return {dim: 4 * (turn + 3) + 4 * i if dim in "HW" else turn + 1 for i, dim in enumerate(dims)}
    return {dim: max(SIZES[turn][i], least) for i, dim in enumerate(dims)}


@pytest.mark.sweep
@pytest.mark.parametrize("given", CASES, ids=lambda given: given.name)
def test_a_function_is_what_its_capture_computes(given: Case):
    state = find_state(given.function).tensors
    before = {name: tensor.detach().clone() for name, tensor in state.items()}
    graph = capture(given.function, given.args, dynamic_shapes=given.dynamic_shapes)
    assert all(torch.equal(tensor, before[name]) for name, tensor in state.items())
    arguments = read_arguments(given.function, given.args, {}, None, given.dynamic_shapes)
    compare(given, graph, [leaf.tensor for leaf in arguments.tensors])
    for turn in range(2) if graph.dims else ():
        sample = at_sizes(arguments, sizes_of(graph.dims, turn, given.least), turn)
        compare(given, graph, sample.tensors)


def compare(given: Case, graph: Any, tensors: Any) -> None:
    arguments = read_arguments(given.function, given.args, {}, None)
    state = find_state(given.function)
    before = {name: tensor.detach().clone() for name, tensor in state.tensors.items()}
    args, _ = arguments.build([tensor.clone() for tensor in tensors])
    expected = [leaf.detach() for _, leaf in output_leaves(given.function(*args), None)]
    outputs, updates = evaluate(graph, [tensor.detach() for tensor in tensors], before)
    assert len(outputs) == len(expected) == len(graph.outputs)
    for found, wanted in zip(outputs, expected, strict=True):
        torch.testing.assert_close(found, wanted, atol=2e-5, rtol=2e-4)
    for name, tensor in state.tensors.items():
        torch.testing.assert_close(updates.get(name, before[name]), tensor.detach(), atol=1e-5, rtol=1e-4)
    with torch.no_grad():
        for name, tensor in state.tensors.items():
            tensor.copy_(before[name])
