"""The work of a compile grows with the ops, not with their square: steps are counted, not seconds."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation, SSAValue
from xdsl.ir.core import OpOperands
from xdsl.pattern_rewriter import PatternRewriter

import gradc
from dialects.onnx.ops import ConcatOp, ConstantOp
from dialects.support.dense import from_numpy
from passes.builder.operands import WIDE as WIDE_FROM
from passes.builder.operands import replace_uses
from passes.builder.pattern_driver import Walker

ROOT = Path(__file__).resolve().parents[4]
OURS = tuple(str(ROOT / layer) for layer in ("dialects", "passes", "gradc"))
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


@pytest.mark.sweep(parts=3)
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


# Wide ops


def _of_each(count: int, dtype: str = "f32") -> tuple[str, list[str]]:
    """Lines of MLIR text, and the values: each of an op of its own, behind one that does nothing."""
    type_ = f"tensor<4x{dtype}>"
    lines = []
    for i in range(count):
        lines.append(f"%m{i} = onnx.Elu %x {{alpha = {(i + 1) / 1024} : f32}} : ({type_}) -> {type_}")
        lines.append(f"%z{i} = onnx.Identity %m{i} : ({type_}) -> {type_}")
    return "\n".join(lines), [f"%z{i}" for i in range(count)]


def many_results(count: int) -> str:
    lines, values = _of_each(count)
    types = ", ".join(["tensor<4xf32>"] * count)
    text = f"func.func @main(%x: tensor<4xf32>) -> ({types}) {{\n{lines}\n"
    return f"{text}return {', '.join(values)} : {types}\n}}\n"


def _read_by_one(op: str, count: int, result: str, attributes: str = "", dtype: str = "f32") -> str:
    lines, values = _of_each(count, dtype)
    types = ", ".join([f"tensor<4x{dtype}>"] * count)
    text = f"func.func @main(%x: tensor<4x{dtype}>) -> {result} {{\n{lines}\n"
    text += f"%y = onnx.{op} {', '.join(values)}{attributes} : ({types}) -> {result}\n"
    return f"{text}return %y : {result}\n}}\n"


WIDE: dict[str, Callable[[int], str]] = {
    "results": many_results,
    "Concat": lambda n: _read_by_one("Concat", n, f"tensor<{4 * n}xf32>", " {axis = 0}"),
    "Sum": lambda n: _read_by_one("Sum", n, "tensor<4xf32>"),
    "Max of halves": lambda n: _read_by_one("Max", n, "tensor<4xbf16>", dtype="bf16"),
}


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Operands of wide ops that are copied for an edit, and those of wide ops that a walk offers."""
    count = Counter[str]()
    set_item, offer = OpOperands.__setitem__, Walker._offer

    def counted_set(operands: OpOperands, index: int, value: SSAValue) -> None:
        count["copied"] += len(operands) if len(operands) >= FEW else 0
        set_item(operands, index, value)

    def counted_offer(walker: Walker, op: Operation, rewriter: PatternRewriter) -> None:
        count["offered"] += len(op.operands) if len(op.operands) >= FEW else 0
        offer(walker, op, rewriter)

    monkeypatch.setattr(OpOperands, "__setitem__", counted_set)
    monkeypatch.setattr(Walker, "_offer", counted_offer)
    return count


@pytest.mark.sweep(parts=4)
@pytest.mark.parametrize("kind", WIDE)
def test_operands_of_a_wide_op_are_looked_at_a_few_times_each(
    kind: str, looked_at: Counter[str], tmp_path: Path
):
    file = tmp_path / "wide.mlir"
    file.write_text(WIDE[kind](MANY), encoding="utf-8")
    gradc.compile(file)
    assert looked_at["copied"] == 0
    assert looked_at["offered"] <= 12 * MANY


def test_operands_in_a_list_are_what_the_op_has():
    args = [ConstantOp(from_numpy(np.float32([i]))).output for i in range(WIDE_FROM + 1)]
    op = ConcatOp(args[:-1], axis=0)
    replace_uses(args[0], args[-1])
    assert list(op.operands) == [args[-1], *args[1:-1]]
    assert op.operands[:2] == (args[-1], args[1])
    assert op.operands[-1] is args[-2]
    assert hash(op.operands) == hash(tuple(op.operands))
    assert [use.index for use in args[-1].uses] == [0]
    assert args[0].first_use is None
    op.operands = args[:-1]
    assert [use.index for use in args[0].uses] == [0]
    assert args[-1].first_use is None
    replace_uses(args[0], args[-1])
    assert op.operands == op.clone().operands
