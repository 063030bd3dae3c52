"""Ops that read one tensor as two of their operands: an input, an initializer, or two equal initializers.

A kernel that writes into an operand is wrong for these, and a lowering that takes operands for two values.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from support.onnx_node_cases import cases, operands_of

import gradc
from dialects.support.diagnostics import GradcError, UnsupportedError
from passes.targets import TARGETS

Feeds = Mapping[str, np.ndarray]

TOLERANCE = 2e-3
"""Of 16-bit floats, more for those of 8 bits; a wrong operand is further off."""

MOST_CASES = 6
"""Cases of an op with initializers, which fold or merge as those of other cases do."""

KINDS = ("input", "initializer", "equal initializers")


def pairs(case: Any) -> Iterator[tuple[int, int]]:
    """The operands of a case of one dtype and shape."""
    arrays = operands_of(case)
    for i, j in itertools.combinations(range(len(arrays)), 2):
        a, b = arrays[i], arrays[j]
        if a is not None and b is not None and a.dtype == b.dtype and a.shape == b.shape:
            yield i, j


OPS = sorted(op for op, found in cases().items() if any(True for case in found for _ in pairs(case)))


def shared(case: Any, i: int, j: int, kind: str) -> tuple[onnx.ModelProto, Feeds]:
    """The model of a case whose operand j is operand i, and its inputs."""
    model = copy.deepcopy(case.model)
    (node,) = model.graph.node
    feeds = {name: a for name, a in zip(node.input, operands_of(case), strict=True) if a is not None}
    one, two = node.input[i], node.input[j]
    if kind == "equal initializers":
        feeds[two] = feeds[one]
    else:
        node.input[j] = one
        feeds.pop(two, None)
    weights = {} if kind == "input" else {name: feeds.pop(name) for name in (one, two) if name in feeds}
    kept = [info for info in model.graph.input if info.name in feeds]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return model, feeds


def assert_same(found: Any, expected: Any, what: str) -> None:
    """Equal up to roundings; what a mask hides is -inf, or the lowest number."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), what
    if expected.dtype.kind in "OSU":
        assert (found == expected).all(), what
        return
    lowest = -float(np.finfo(np.float32).max)
    a, b = (np.maximum(array.astype(np.float64), lowest) for array in (found, expected))
    tolerance = 1e-2 if expected.dtype.name == "bfloat16" else TOLERANCE
    np.testing.assert_allclose(a, b, tolerance, tolerance, err_msg=what)


def runs(case: Any, target: str) -> bool:
    """Whether the case runs as it is, on a target."""
    (node,) = case.model.graph.node
    feeds = {name: a for name, a in zip(node.input, operands_of(case), strict=True) if a is not None}
    try:
        gradc.compile(case.model, target=target).run(feeds, ep="cpu")
    except GradcError:
        return False
    return True


def float_pairs(case: Any) -> Iterator[tuple[int, int]]:
    """The pairs of a case of one node that are f32 inputs, by the operands' names."""
    arrays = operands_of(case)
    for i, j in pairs(case):
        array = arrays[i]
        if array is not None and array.dtype == np.float32 and array.size:
            yield i, j


def gradients(model: onnx.ModelProto, wrt: list[str], feeds: Feeds) -> dict[str, np.ndarray] | None:
    """The gradients by inputs for cotangents of 1; None if the model has none."""
    of = model.graph.output[0].name
    try:
        result = np.asarray(gradc.compile(model).run(feeds, ep="cpu")[of])
        compiled = gradc.vjp(model, wrt=wrt, of=[of], check=False)
        found = compiled.run({**feeds, f"cotangent_{of}": np.ones_like(result)}, ep="cpu")
    except GradcError:
        return None
    return {name: np.asarray(found[f"grad_{name}"]) for name in wrt}


INVALID = frozenset(("Col2Im", "MelWeightMatrix", "Slice", "STFT"))
"""Ops whose cases are not valid with equal operands."""

UNKNOWN = frozenset(("StringConcat", kind) for kind in KINDS if kind != "input")
"""Ops of constants whose values the reference does not know."""


@pytest.mark.sweep(parts=24)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", OPS)
def test_one_tensor_as_two_operands(op: str, kind: str):
    compared = 0
    for case in cases()[op]:
        if kind != "input" and compared >= MOST_CASES:
            break
        for i, j in pairs(case):
            model, feeds = shared(case, i, j, kind)
            what = f"{case.name}, operands {i} and {j}"
            try:
                expected = gradc.compile(model).reference(feeds)
            except GradcError:  # such operands the op cannot have
                continue
            for target in TARGETS:
                try:
                    found = gradc.compile(model, target=target).run(feeds, ep="cpu")
                except UnsupportedError:
                    continue
                except GradcError:
                    assert not runs(case, target), (what, target)
                    continue
                for name, array in expected.items():
                    assert_same(found[name], array, f"{what}, {name} on {target}")
                compared += 1
    assert compared or op in INVALID or (op, kind) in UNKNOWN


GRADIENT_OPS = [op for op in OPS if any(True for case in cases()[op] for _ in float_pairs(case))]


@pytest.mark.sweep(parts=24)
@pytest.mark.parametrize("op", GRADIENT_OPS)
def test_the_gradient_by_a_shared_tensor_is_the_sum_over_its_operands(op: str):
    for case in cases()[op][: 2 * MOST_CASES]:
        (node,) = case.model.graph.node
        for i, j in float_pairs(case):
            model, feeds = shared(case, i, j, "input")
            one, two = node.input[i], node.input[j]
            apart = gradients(case.model, [one, two], {**feeds, two: feeds[one]})
            if apart is None:  # no gradient by one of them
                continue
            together, what = gradients(model, [one], feeds), f"{case.name}, operands {i} and {j}"
            assert together is not None, what
            assert_same(together[one], apart[one] + apart[two], what)
