"""Constants that an op cannot read are not folded, or are errors: nothing else is raised for them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import onnx.parser
import pytest
from support.onnx_node_cases import cases, op_of, operands_of, value
from support.wrong_constants import changed

import gradc
from dialects.onnx.numpy import KERNELS
from dialects.support.diagnostics import GradcError

LARGEST = 3000
"""Elements of the operands of a case that is tried."""


def _case(name: str) -> Any:
    """The first small case of an op, None if there is none."""
    for case in cases().get(name, ()):
        if sum(array.size for array in operands_of(case) if array is not None) <= LARGEST:
            return case
    return None


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_folding_ends_well(name: str):
    case = _case(name)
    if case is None:
        pytest.skip("no small case")
    (node,) = case.model.graph.node
    for what, operands in changed(operands_of(case)):
        try:
            op_of(node, [value(array, constant=True) for array in operands]).fold()
        except GradcError:
            continue
        except Exception as error:
            error.add_note(f"{name}, operand {what}")
            raise


NUMBERS = (0, -1, 1, 2, 5, 100, -100, 2**40)
"""Values of integer attributes."""


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_folding_ends_well_after_several_changes(name: str, seed: int):
    """Up to three operands and an integer attribute are changed at once."""
    case, rng = _case(name), np.random.default_rng(seed)
    if case is None:
        pytest.skip("no small case")
    operands, node = list(operands_of(case)), onnx.NodeProto()
    node.CopyFrom(case.model.graph.node[0])
    for _ in range(int(rng.integers(4))):
        choices = [made for _, made in changed(operands)]
        operands = choices[int(rng.integers(len(choices)))] if choices else operands
    numbers = [a for a in node.attribute if a.type == onnx.AttributeProto.INT and a.name != "to"]
    if numbers:
        numbers[int(rng.integers(len(numbers)))].i = NUMBERS[int(rng.integers(len(NUMBERS)))]
    with suppress(GradcError):
        op_of(node, [value(array, constant=True) for array in operands]).fold()


def _model(body: str, result: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 18]>\ng () => ({result} y) {{ {body} }}'
    )


FLOATS = "x = Constant <value = float[1,1,2,2] {1, 2, 3, 4}> ()"
RUNS = {
    "Compress": (
        """x = Constant <value_floats = [1.0, 2.0]> ()
        c = Constant <value = bool[4] {1, 0, 1, 1}> ()
        y = Compress (x, c)""",
        "float[n]",
        np.float32([1]),
    ),
    "MaxUnpool": (
        FLOATS
        + """i = Constant <value = int64[1,1,2,2] {5, 7, 13, 15}> ()
        s = Constant <value_ints = [1, 1, 5, 5]> ()
        y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s)""",
        "float[1,1,a,b]",
        None,
    ),
}


@pytest.mark.parametrize(("body", "result", "expected"), RUNS.values(), ids=RUNS)
def test_what_is_not_folded_runs(body: str, result: str, expected: np.ndarray | None):
    model = _model(body, result)
    found = gradc.compile(model).run({})["y"]
    if expected is not None:
        np.testing.assert_array_equal(found, expected)


REFUSED = {
    "ScatterND": """x = Constant <value_floats = [1.0, 2.0]> ()
        i = Constant <value = int64[1,1] {7}> ()
        u = Constant <value_floats = [5.0]> ()
        y = ScatterND (x, i, u)""",
    # of the decomposition
    "GatherElements": """x = Constant <value = float[2,2] {1, 2, 3, 4}> ()
        t = Constant <value_ints = [0, 9]> ()
        y = NegativeLogLikelihoodLoss (x, t)""",
    "RoiAlign": FLOATS
    + """r = Constant <value = float[1,4] {0, 0, 1, 1}> ()
        b = Constant <value_ints = [3]> ()
        y = RoiAlign <output_height = 1, output_width = 1> (x, r, b)""",
    "STFT": """x = Constant <value = float[1,8,1] {1, 2, 3, 4, 5, 6, 7, 8}> ()
        s = Constant <value_int = 0> ()
        l = Constant <value_int = 4> ()
        y = STFT (x, s, , l)""",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_runtime_computes_is_left_to_it_or_an_error(name: str):
    try:
        text = str(gradc.compile(_model(REFUSED[name], "float")).model)
    except GradcError as error:
        text = str(error)
    assert name in text
