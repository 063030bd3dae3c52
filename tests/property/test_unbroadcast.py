"""The sum of a gradient over the axes along which its operand was broadcast, whatever is known of sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from dialects.evaluate import evaluate
from dialects.onnx import ops as onnx
from dialects.support.entry import set_names, update_function_type
from dialects.support.shapes import Shape, tensor_type
from gradc.model.exporter import export
from gradc.runtime.session import Session
from passes.autodiff.common.unbroadcast import unbroadcast
from passes.builder.rewriting import functions
from passes.builder.values import Builder


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], Shape, Shape]:
    """Shapes of a gradient and of an operand that broadcasts to it, and what is known of either."""
    shape = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=4)))
    behind = shape[draw(st.integers(0, len(shape))) :]
    operand = tuple(1 if draw(st.booleans()) else size for size in behind)
    names = [draw(st.sampled_from(["known", "named", "unknown"])) for _ in shape]
    known = [_known(size, how, axis) for axis, (size, how) in enumerate(zip(shape, names, strict=True))]
    rows = enumerate(zip(behind_ones(operand, shape), shape, names, strict=True))
    own = [
        _known(one, how, axis) if one == size or how != "named" else one for axis, (one, size, how) in rows
    ]
    return shape, operand, tuple(known), tuple(own[len(shape) - len(operand) :])


def behind_ones(operand: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (len(shape) - len(operand)) + operand


def _known(size: int, how: str, axis: int) -> int | str | None:
    return {"known": size, "named": f"S{axis}", "unknown": None}[how]


def module_of(gradient: Shape, operand: Shape) -> ModuleOp:
    block = Block(arg_types=[tensor_type(f32, gradient), tensor_type(f32, operand)])
    e = Builder()
    first, second = map(e, block.args)
    result, other = unbroadcast(first, second, e), second.apply(onnx.NegOp)
    block.add_ops([*e.emit.ops, ReturnOp(result.value, other.value)])
    function = FuncOp("main", ([], []), Region(block))
    update_function_type(function)
    set_names(function, ["g", "x"], ["y", "negative"])
    return ModuleOp([function])


@examples(60)
@given(cases())
def test_the_shape_of_the_operand_and_the_sum_of_what_it_is_repeated_for(case):
    shape, operand, known, of_operand = case
    module = module_of(known, of_operand)
    rng = np.random.default_rng(0)
    feeds = [rng.integers(-4, 5, size).astype(np.float32) for size in (shape, operand)]
    ones = behind_ones(operand, shape)
    repeated = tuple(axis for axis, own in enumerate(ones) if own == 1)
    want = feeds[0].sum(repeated, keepdims=True).reshape(operand)
    np.testing.assert_array_equal(evaluate(module, feeds)[0], want)
    got = Session(export(module, opset=18, metadata={}), threads=1).run(
        dict(zip(("g", "x"), feeds, strict=True))
    )
    np.testing.assert_array_equal(got["y"], want)


@pytest.mark.parametrize(
    ("gradient", "operand", "kinds"),
    [
        ((2, "N"), (2, "N"), set()),
        ((2, "N"), (1, "N"), {"ReduceSum"}),
        ((2, "N"), ("N",), {"ReduceSum"}),
        ((2, "N"), (1,), {"ReduceSum", "Squeeze"}),
        ((2, None), (2, None), {"ReduceSum", "Shape", "Equal", "NonZero", "Squeeze"}),
    ],
)
def test_nothing_is_computed_that_is_known(gradient: Shape, operand: Shape, kinds: set[str]):
    module = module_of(gradient, operand)
    (function,) = functions(module)
    ops = [op for op in function.walk() if hasattr(op, "onnx_name")]
    assert {op.onnx_name() for op in ops} - {"Constant", "Neg"} == kinds  # pyright: ignore[reportAttributeAccessIssue]
