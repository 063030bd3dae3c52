"""What a pass changed: lines are aligned by what they say, and what differs is marked."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.graph.printing import elided_text
from gradc.reporting.changes import VALUE, Line, changes, fold, text_changes

DECODER = Path(__file__).resolve().parents[4] / "examples" / "decoder_backward.json"

BEFORE = """
builtin.module {
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %0 = onnx.Add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = onnx.Neg %0 : (tensor<4xf32>) -> tensor<4xf32>
    %2 = onnx.Mul %1, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    func.return %2 : tensor<4xf32>
  }
}
"""


def marks(before: str | None, after: str) -> str:
    return "".join(
        {"same": "=", "added": "+", "removed": "-"}[line.mark] for line in text_changes(before, after)
    )


def changed(line: Line) -> list[str]:
    return [part.text for part in line.parts if part.changed]


def test_nothing_before():
    lines = text_changes(None, BEFORE)
    assert [line.text for line in lines] == BEFORE.strip().splitlines()
    assert {line.mark for line in lines} == {"same"}


def test_nothing_changed():
    assert marks(BEFORE, BEFORE) == "=" * 8


def test_new_names_of_values_are_no_change():
    after = BEFORE.replace("%2", "%7").replace("%1", "%dx_3").replace("%x", "%input")
    lines = text_changes(BEFORE, after)
    assert {line.mark for line in lines} == {"same"}
    assert [line.text for line in lines] == after.strip().splitlines()


def test_a_line_that_comes_in_between():
    after = (
        BEFORE.replace("%2", "%3")
        .replace("%1, %y", "%2, %y")
        .replace(
            "    %3 = onnx.Mul",
            "    %2 = onnx.Abs %1 : (tensor<4xf32>) -> tensor<4xf32>\n    %3 = onnx.Mul",
        )
    )
    lines = text_changes(BEFORE, after)
    assert [line.text.split()[2] for line in lines if line.mark == "added"] == ["onnx.Abs", "onnx.Mul"]
    assert [line.text.split()[2] for line in lines if line.mark == "removed"] == ["onnx.Mul"]


def test_another_operand_is_a_change_and_the_only_word_marked():
    after = BEFORE.replace("onnx.Mul %1, %y", "onnx.Mul %1, %x")
    assert marks(BEFORE, after) == "====-+==="
    removed, added = (line for line in text_changes(BEFORE, after) if line.mark != "same")
    assert (changed(removed), changed(added)) == (["%y"], ["%x"])


def test_operands_that_are_exchanged():
    after = BEFORE.replace("onnx.Mul %1, %y", "onnx.Mul %y, %1")
    assert marks(BEFORE, after).count("+") == 1


def test_a_line_whose_operand_was_replaced_stays():
    """The line that makes the operand tells the change."""
    after = BEFORE.replace("%1 = onnx.Neg %0", "%1_1 = onnx.Abs %0").replace("%1,", "%1_1,")
    assert marks(BEFORE, after) == "===-+===="


def test_only_the_words_that_differ_are_marked():
    before = BEFORE.replace("onnx.Neg %0 :", 'onnx.Cast %0 {to = f16, gradc.strategy = "a"} :')
    after = BEFORE.replace("onnx.Neg %0 :", 'onnx.Cast %0 {to = bf16, gradc.strategy = "a"} :')
    removed, added = (line for line in text_changes(before, after) if line.mark != "same")
    assert (changed(removed), changed(added)) == (["f16"], ["bf16"])


def test_words_that_are_new_names_are_not_marked():
    after = (
        BEFORE.replace("%2", "%d")
        .replace("%1", "%c")
        .replace("%0", "%b")
        .replace("onnx.Mul %c, %y", "onnx.Mul %c, %x")
    )
    removed, added = (line for line in text_changes(BEFORE, after) if line.mark != "same")
    assert (changed(removed), changed(added)) == (["%y"], ["%x"])
    assert added.text.split()[0] == "%d"


def test_lines_with_little_in_common_are_not_compared():
    after = BEFORE.replace(
        "onnx.Neg %0 : (tensor<4xf32>) -> tensor<4xf32>", 'onnx.Clip %0 {a = "b", c = [1, 2, 3]} : () -> ()'
    )
    assert [changed(line) for line in text_changes(BEFORE, after) if line.mark != "same"] == [[], []]


def test_the_pipeline_of_a_decoder():
    """The lines of each stage are all there, the removed ones are those of the stage before."""
    texts: list[str] = []
    compile_module(load(DECODER), Options(), observer=lambda stage: texts.append(elided_text(stage.module)))
    for before, after in pairwise(texts):
        check(before, after)
    selected = next(i for i, text in enumerate(texts) if "conv-to-conv" in text)
    lines = text_changes(texts[selected - 1], texts[selected])
    assert [line.text.split()[2] for line in lines if line.mark == "removed"] == [
        "grad.conv_backward_data",
        "grad.conv_transpose_backward_data",
        "grad.conv_backward_data",
        "grad.conv_backward_data",
        "grad.resize_backward",
    ]
    assert sum(line.mark == "same" for line in lines) == 5


def test_modules():
    module = load(DECODER)
    after = compile_module(module.clone(), Options()).module
    lines = changes(module, after)
    assert [line.text for line in lines if line.mark != "removed"] == elided_text(after).strip().splitlines()
    assert {line.mark for line in changes(None, module)} == {"same"}


def check(before: str, after: str) -> None:
    lines = text_changes(before, after)
    assert [line.text for line in lines if line.mark != "removed"] == after.strip().splitlines()
    left = [VALUE.sub("%", line.text) for line in lines if line.mark != "added"]
    assert left == [VALUE.sub("%", line) for line in before.strip().splitlines()]


LINES = st.lists(
    st.builds(
        "%{} = onnx.{} %{}, %{} : t".format,
        st.integers(0, 5),
        st.sampled_from(["Add", "Mul", "Neg"]),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    max_size=12,
)


@examples(200)
@given(LINES, LINES)
def test_no_line_is_lost(before: list[str], after: list[str]):
    check("\n".join(before), "\n".join(after))


@examples(50)
@given(LINES, LINES, st.integers(0, 3))
def test_folding_keeps_every_line(before: list[str], after: list[str], context: int):
    lines = text_changes("\n".join(before), "\n".join(after))
    stretches = fold(lines, context)
    assert tuple(line for stretch in stretches for line in stretch.lines) == lines
    assert all({line.mark for line in stretch.lines} == {"same"} for stretch in stretches if stretch.folded)
    assert all(one.folded != other.folded for one, other in pairwise(stretches))


def test_what_is_far_from_a_change_is_folded():
    before = [f"%{i} = onnx.Op{i} %x" for i in range(20)]
    after = [*before[:10], "%new = onnx.New %x", *before[10:]]
    stretches = fold(text_changes("\n".join(before), "\n".join(after)), context=2)
    assert [(len(stretch.lines), stretch.folded) for stretch in stretches] == [
        (8, True),
        (5, False),
        (8, True),
    ]


def test_a_few_lines_are_not_worth_folding():
    before = [f"%{i} = onnx.Op{i} %x" for i in range(6)]
    after = ["%new = onnx.New %x", *before]
    stretches = fold(text_changes("\n".join(before), "\n".join(after)), context=3)
    assert [stretch.folded for stretch in stretches] == [False]


@pytest.mark.parametrize("kinds", [1, 40, 20_000])
def test_twenty_thousand_lines(kinds: int):
    """The worst for a comparison line by line: few different lines, in another order."""
    draw = random.Random(1)
    before = [f"%{i} = onnx.Op{draw.randrange(kinds)} %x" for i in range(20_000)]
    after = draw.sample(before, len(before))
    check("\n".join(before), "\n".join(after))
