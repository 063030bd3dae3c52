"""Compiled models on OpenVINO's CPU device, where it is installed: `pip install openvino`.

The values are held against the reference, under the same tolerances as onnxruntime's. OpenVINO runs f32
in bf16 by default on CPUs that have it, so f32 is asked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto
from support.compare import assert_agree
from support.examples import EXAMPLES
from support.generate import CANONICAL, KINDS, seeded
from support.pipeline import Expected, lowered
from support.problems import Problem

import gradc
from dialects.evaluate import evaluate
from dialects.support.diagnostics import UnsupportedError
from dialects.support.entry import entry_function, input_names
from gradc.exporter import export
from passes.strategies import STRATEGIES
from passes.target import Target

openvino: Any = pytest.importorskip("openvino")

COUNT = 40 * EXAMPLES
TARGETS = (Target(), Target("portable"))
FILES = Path(__file__).resolve().parents[2] / "examples"


def run(model: ModelProto, feeds: Sequence[Mapping[str, np.ndarray]]) -> list[list[np.ndarray]]:
    """The outputs of one compiled model for each set of feeds."""
    core = openvino.Core()
    read = core.read_model(model.SerializeToString())
    compiled = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    # an input that nothing reads has no port: its frontend leaves it out
    known = {name for port in compiled.inputs for name in port.names}
    found = []
    for arrays in feeds:
        results = compiled({name: array for name, array in arrays.items() if name in known})
        found.append([_as_declared(port, results[port]) for port in compiled.outputs])
    return found


def _as_declared(port: Any, array: np.ndarray) -> np.ndarray:
    """numpy has no bf16, in whose place OpenVINO gives its bits as f16."""
    bits = array.view(ml_dtypes.bfloat16) if port.element_type == openvino.Type.bf16 else array
    return bits.copy()


def check(problem: Problem, target: Target, strategy: str = "auto") -> None:
    module = lowered(problem, target, strategy)
    names = input_names(entry_function(module))
    feeds = [dict(zip(names, problem.feeds(i), strict=True)) for i in range(problem.runs)]
    expected = Expected(problem)
    for i, got in enumerate(run(export(module, opset=target.opset, metadata={}), feeds)):
        expected.check(i, got, f"OpenVINO, {target.name}, {strategy}\n{problem}")


def static_problems(seed: int, count: int, **options: Any) -> list[Problem]:
    """f32 problems of known sizes and without an empty batch."""
    found: list[Problem] = []
    while len(found) < count:
        problem = seeded([seed, len(found)], dynamics=("static",), dtypes=("f32",), **options)
        seed += 1
        if not any(0 in size for value in problem.inputs for size in value.sizes):
            found.append(problem)
    return found


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_random_problems(target: Target):
    for problem in static_problems(3100, COUNT, kinds=(*KINDS, *CANONICAL), most_ops=2):
        check(problem, target)


@pytest.mark.parametrize("name", [s.name for s in STRATEGIES])
def test_every_form(name: str):
    """Also those that the prices would not choose for such small problems; two ops have no static form."""
    for problem in applicable(name):
        check(problem, Target(), name)


def applicable(strategy: str, count: int = 4) -> list[Problem]:
    """Up to `count` problems of one op that a strategy applies to on the CPU."""
    found: list[Problem] = []
    for problem in static_problems(4100, 3 * COUNT, kinds=(*KINDS, *CANONICAL)):
        with contextlib.suppress(UnsupportedError):
            lowered(problem, Target(), strategy)
            found.append(problem)
        if len(found) == count * EXAMPLES:
            break
    return found


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("file", ["conv_backward.mlir", "decoder_backward.json"])
def test_examples(file: str, target: Target):
    compiled = gradc.compile(FILES / file, target=target.name)
    source = gradc.compiler.load(FILES / file)
    draw = np.random.default_rng(7)
    shapes = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in compiled.model.graph.input}
    feeds = {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    want = evaluate(source, list(feeds.values()))
    magnitudes = evaluate(source, [np.abs(array) for array in feeds.values()])
    (got,) = run(compiled.model, [feeds])
    for array, value, magnitude in zip(got, want, magnitudes, strict=True):
        assert_agree(array, value, magnitude, f"OpenVINO, {file}")
