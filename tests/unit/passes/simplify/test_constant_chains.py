"""Chains of ops on constants are folded at once, to what they would be one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from support.generate import seeded
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from dialects.onnx import ops as onnx
from dialects.support.diagnostics import Position, location
from dialects.support.shapes import tensor_type
from gradc.compiler.driver import compile as compiled
from gradc.graph.printing import module_text
from passes import simplify as package
from passes.builder.op_builder import OpBuilder
from passes.simplify import folding, simplify
from passes.simplify.folding import fold_chains


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch):
    """The shapes of the constants that are made."""
    shapes: list[tuple[int, ...]] = []

    def constant(array: np.ndarray) -> onnx.ConstantOp:
        shapes.append(array.shape)
        return onnx.ConstantOp(array)

    monkeypatch.setattr(folding, "ConstantOp", constant)
    return shapes


def block_of(emit: OpBuilder, results, arguments: Block) -> Block:
    arguments.add_ops([*emit.ops, ReturnOp(*results)])
    ModuleOp([FuncOp("main", (list(arguments.arg_types), [r.type for r in results]), Region(arguments))])
    return arguments


def test_only_the_ends_of_a_chain_become_constants(made):
    block, emit = Block(arg_types=[tensor_type(f32, (4, 2))]), OpBuilder()
    weights = emit(onnx.ConstantOp(np.arange(8, dtype=np.float32).reshape(2, 4)))
    turned = emit(onnx.TransposeOp(weights, perm=[1, 0]))
    doubled = emit(onnx.AddOp(turned, turned))
    tripled = emit(onnx.AddOp(doubled, turned))
    one, other = emit(onnx.MulOp(block.args[0], tripled)), emit(onnx.MulOp(block.args[0], turned))
    for op in emit.ops:
        op.location = location("weights", Position("a.mlir", 1, 2))
    tripled.name_hint = "tripled"
    block_of(emit, [one, other], block)
    fold_chains(block)
    block.verify()
    assert made == [(4, 2), (4, 2)]
    left, right = (value.owner for value in (one.op.operands[1], other.op.operands[1]))
    assert isinstance(left, onnx.ConstantOp)
    assert isinstance(right, onnx.ConstantOp)
    assert left.location == right.location == one.op.location
    assert left.output.name_hint == "tripled"
    assert not any(isinstance(op, onnx.TransposeOp | onnx.AddOp) for op in block.ops)


def test_what_reads_an_input_stays(made):
    block, emit = Block(arg_types=[tensor_type(f32, (2,))]), OpBuilder()
    one = emit(onnx.ConstantOp(np.ones(2, np.float32)))
    total = emit(onnx.AddOp(block.args[0], one))
    twice = emit(onnx.AddOp(total, one))
    block_of(emit, [twice], block)
    before = len(list(block.ops))
    fold_chains(block)
    assert len(list(block.ops)) == before
    assert made == []


def test_what_would_be_too_large_stays(made):
    block, emit = Block(), OpBuilder()
    one = emit(onnx.ConstantOp(np.ones((1, 1), np.float32)))
    sizes = emit(onnx.ConstantOp(np.array([2**12, 2**12], np.int64)))
    wide = emit(onnx.ExpandOp(one, sizes))
    block_of(emit, [wide], block)
    fold_chains(block)
    assert made == []


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(8))
def test_the_model_is_that_of_folding_one_after_the_other(seed: int, monkeypatch: pytest.MonkeyPatch):
    module = seeded([31, seed], most_ops=4).module()
    at_once = compiled(module, threads=1).model.SerializeToString(deterministic=True)
    monkeypatch.setattr(package, "fold_chains", lambda block: None)
    assert compiled(module, threads=1).model.SerializeToString(deterministic=True) == at_once


def test_the_text_is_that_of_folding_one_after_the_other(monkeypatch: pytest.MonkeyPatch):
    texts = []
    for _ in range(2):
        block, emit = Block(arg_types=[tensor_type(f32, (4, 2))]), OpBuilder()
        weights = emit(onnx.ConstantOp(np.arange(8, dtype=np.float32).reshape(2, 4)))
        turned = emit(onnx.TransposeOp(weights, perm=[1, 0]))
        value = emit(onnx.MulOp(block.args[0], emit(onnx.AddOp(turned, turned))))
        module = block_of(emit, [value], block).parent_op().parent_op()  # pyright: ignore
        assert isinstance(module, ModuleOp)
        simplify(module)
        texts.append(module_text(module))
        monkeypatch.setattr(package, "fold_chains", lambda block: None)
    assert texts[0] == texts[1]
