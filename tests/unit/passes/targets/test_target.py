"""What a compilation is for, and how its threads reach the passes and the model."""

import os

import numpy as np
import pytest

import gradc
from dialects.support.diagnostics import UsageError
from gradc.compiler.options import Options
from gradc.runtime.session import Session
from passes import pipelines
from passes.select_strategy import SelectStrategyPass
from passes.targets.target import DEFAULT_OPSET, MOST_THREADS, Target, usable_threads


def test_the_threads_are_by_default_the_cores_of_this_process(monkeypatch: pytest.MonkeyPatch):
    assert 1 <= usable_threads() <= (os.cpu_count() or 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 8}, raising=False)
    assert Target().threads == usable_threads() == 3
    assert Options().resolve_target().threads == 3
    assert SelectStrategyPass().env.threads == 3


def test_where_no_affinity_is_known_the_machine_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert usable_threads() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_threads() == 1


def test_of():
    assert Target.of("cuda") == Target("cuda", DEFAULT_OPSET, usable_threads())
    assert Target.of("cpu", 20, 3) == Target("cpu", 20, 3)


@pytest.mark.parametrize("threads", [0, -1])
def test_no_threads(threads: int):
    with pytest.raises(UsageError, match=f"threads: given {threads}, expected 1 or more"):
        SelectStrategyPass(threads=threads)


@pytest.mark.parametrize("threads", [MOST_THREADS + 1, 2**64])
def test_more_threads_than_a_runtime_could_be_given(threads: int):
    for make in (lambda: Target(threads=threads), lambda: Session("x.onnx", threads=threads)):
        with pytest.raises(UsageError, match=f"threads: given {threads}, expected {MOST_THREADS} or fewer"):
            make()


def test_the_pipeline_names_the_threads():
    """So that the metadata of a model say what it is for, whatever machine compiled it."""
    assert "threads=5" in Options(threads=5).pipeline
    assert pipelines.lower(Target(threads=5)) == Options(threads=5).pipeline


def test_the_parts_make_the_whole():
    target = Target("cuda", 20, 4)
    parts = (pipelines.to_grad(target, "conv-to-conv"), pipelines.from_grad(target, "conv-to-conv"))
    assert ",".join(parts) == pipelines.lower(target, "conv-to-conv")
    assert "select-strategy" not in parts[0]
    assert parts[1].startswith("select-strategy{")


def test_a_given_number_of_threads_is_always_printed():
    assert "threads" not in str(SelectStrategyPass())
    assert f"threads={usable_threads()}" in str(SelectStrategyPass(threads=usable_threads()))


@pytest.mark.parametrize(("dtype", "opset"), [("f8_e4m3", 18), ("s4", 20)])
def test_a_dtype_that_the_opset_lacks_is_named(dtype: str, opset: int):
    g = gradc.Graph()
    scales = g.constant(np.ones(1, np.float32))
    x = g.input("x", dtype, [4])
    g.output(g.dynamic_dequantize(x, scales) if dtype == "s4" else g.dequantize(x, scales=[1.0]), "y")
    with pytest.raises(gradc.GradcError, match=f"ONNX has {dtype} from opset {opset + 1} on"):
        gradc.compile(g, opset=opset)
    gradc.compile(g, opset=opset + 1)
