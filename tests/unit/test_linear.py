"""The work of a compile grows with the ops, not with their square: steps are counted, not seconds."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import gradc

ROOT = Path(__file__).resolve().parents[2]
OURS = tuple(str(ROOT / room) for room in ("dialects", "passes", "gradc"))
FEW, MANY = 80, 400


def graphs() -> dict[str, Callable[[int, int, int], gradc.Graph]]:
    """What benchmarks/compile_time.py times."""
    path = ROOT / "benchmarks" / "compile_time.py"
    spec = importlib.util.spec_from_file_location("compile_time", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["compile_time"] = module  # its dataclasses look it up
    spec.loader.exec_module(module)
    return module.GRAPHS


def steps(work: Callable[[], Any]) -> int:
    """The lines that run of our own code, and the rounds of comprehensions."""
    count = 0

    def line(frame: FrameType, event: str, argument: Any):
        nonlocal count
        count += event == "line"
        return line

    def call(frame: FrameType, event: str, argument: Any):
        return line if frame.f_code.co_filename.startswith(OURS) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("kind", ["deep", "hub", "tree"])
def test_steps_an_op_do_not_grow_with_the_graph(kind: str):
    build = graphs()[kind]
    gradc.compile(build(FEW, 1, 3))
    few, many = (
        steps(lambda count=count, channels=channels: gradc.compile(build(count, 1, channels))) / count
        for count, channels in ((FEW, 5), (MANY, 7))
    )
    assert many <= few, (
        "what is done once weighs less in a large graph; what grew instead is looked at too often"
    )


def test_steps_of_loops_on_one_line_are_counted():
    source = "def f(n):\n    return [i for i in range(n)]\n"
    scope: dict[str, Any] = {}
    exec(compile(source, str(ROOT / "gradc" / "made.py"), "exec"), scope)
    assert steps(lambda: scope["f"](100)) - steps(lambda: scope["f"](10)) == 90
