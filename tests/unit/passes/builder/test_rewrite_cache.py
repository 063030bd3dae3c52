"""What was written for one op serves the next one only where writing anew would give the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.generate import seeded
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, SSAValue

import gradc
from dialects.onnx import ops as onnx
from dialects.support.memo import Memo
from dialects.support.shapes import tensor_type
from passes.builder import rewrite_cache
from passes.builder.op_builder import OpBuilder
from passes.builder.rewrite_cache import write_from_template


@pytest.fixture
def nothing_known(monkeypatch: pytest.MonkeyPatch):
    """Forgets all templates when called."""

    def forget() -> None:
        monkeypatch.setattr("passes.strategies.base._written", rewrite_cache.templates())
        monkeypatch.setattr("passes.lower_onednn.patterns._KNOWN", rewrite_cache.templates())

    forget()
    return forget


def bytes_of(source: ModuleOp | Path, **options) -> bytes:
    return gradc.compile(source, threads=2, **options).model.SerializeToString(deterministic=True)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(12))
def test_the_model_does_not_depend_on_what_was_compiled_before(seed: int, nothing_known):
    problems = [seeded([6, seed, index], most_ops=3) for index in range(4)]
    anew = []
    for problem in problems:
        nothing_known()
        anew.append(bytes_of(problem.module()))
    for _ in range(2):
        assert [bytes_of(problem.module()) for problem in problems] == anew


BOTH = """func.func @main(%x: tensor<?x5x4x6xf32>, %y: tensor<?x6x4x5xf32>) -> (DATA, DATA) {
  %w = arith.constant dense<0.5> : tensor<6x3x1x1xf32>
  %plain = onnx.Neg %x : (tensor<?x5x4x6xf32>) -> tensor<?x5x4x6xf32>
  %transposed = onnx.Transpose %y {perm = [0, 3, 2, 1]} : (tensor<?x6x4x5xf32>) -> tensor<?x5x4x6xf32>
  %dx = CONV %FIRST, %w TYPE
  %dy = CONV %SECOND, %w TYPE
  func.return %dx, %dy : DATA, DATA
}"""

CONV = "onednn.convolution_backward_data"

TYPE = """{strides = [1, 1], dilations = [1, 1], pads_begin = [0, 0], pads_end = [0, 0], data_format = "NXC",
    weights_format = "OIX", dst_shape = [-9223372036854775808, 5, 4, 3]}
    : (tensor<?x5x4x6xf32>, tensor<6x3x1x1xf32>) -> tensor<?x5x4x3xf32>"""


@pytest.mark.parametrize("order", [("plain", "transposed"), ("transposed", "plain")], ids=str)
def test_one_of_two_stands_behind_a_transpose(order: tuple[str, str], tmp_path: Path, nothing_known):
    """Of an unknown batch, a product needs a Min only there: see `multiply_right`."""
    words = {"CONV": CONV, "TYPE": TYPE, "DATA": "tensor<?x5x4x3xf32>", "FIRST": order[0], "SECOND": order[1]}
    text = BOTH
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    path = tmp_path / "both.mlir"
    path.write_text(text, encoding="utf-8")
    model = gradc.compile(path, threads=2, strategy="conv-nxc-to-matmul").model
    assert [node.op_type for node in model.graph.node].count("Min") == 1


class TestWriteAlike:
    def setup_method(self):
        self.known, self.writes = Memo(), 0
        self.block = Block(arg_types=[tensor_type(f32, (4,))] * 3)

    def written(self, left: int, right: int, size: int = 1, further: object = None) -> OpBuilder:
        """What is written for the sum of two arguments: `size` numbers, and the product."""
        op = onnx.AddOp(self.block.args[left], self.block.args[right])
        self.block.add_op(op)
        emit = OpBuilder()

        def write(emit: OpBuilder) -> list[SSAValue]:
            self.writes += 1
            emit.constant(np.zeros(size, np.float32))
            return [op.operands[0], emit(onnx.MulOp(*op.operands))]

        first, second = write_from_template(op, self.known, emit, write, further)
        assert first is op.operands[0]
        assert second is emit.ops[-1].results[0]
        assert list(emit.ops[-1].operands) == list(op.operands)
        return emit

    def test_another_op_gets_a_copy_on_its_own_operands(self):
        first, second = self.written(0, 1), self.written(2, 0)
        assert self.writes == 1
        assert not set(first.ops) & set(second.ops)

    def test_an_op_that_reads_a_value_twice_is_no_template(self):
        self.written(0, 0)
        self.written(0, 1)
        self.written(1, 1)
        assert self.writes == 3

    def test_what_else_is_looked_at(self):
        for further in (True, False, True):
            self.written(0, 1, further=further)
        assert self.writes == 2

    def test_large_constants_are_not_kept(self):
        for _ in range(2):
            self.written(0, 1, size=rewrite_cache.MOST_BYTES // 4 + 1)
        assert self.writes == 3  # the first one also to see how large they are
