"""What the rules of pointwise ops give where numbers are far apart."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from dialects.evaluate import evaluate
from dialects.support.entry import update_function_type
from dialects.support.shapes import tensor_type
from passes.autodiff.common.primal import Primal
from passes.autodiff.rules import pointwise
from passes.builder.values import Builder, Value


@pytest.mark.parametrize("below", [1e-3, 3.0, 1e4, 1e8, -1e8])
@pytest.mark.parametrize("strict", [False, True], ids=["masks", "strict"])
@pytest.mark.parametrize("name", ["Elu", "LeakyRelu", "PRelu"])
def test_a_steep_side_does_not_hide_the_other(name: str, strict: bool, below: float):
    """In f32, 1e8 + (1 - 1e8) is 0: the derivative of positive numbers is 1 nevertheless."""
    x, g = np.array([2.0, 0.5, 1.0], np.float32), np.array([1.0, -3.0, 0.25], np.float32)
    block, e = Block(arg_types=[tensor_type(f32, (3,))] * 2), Builder(strict_ieee=strict)
    operand, cotangent = map(e, block.args)
    slope = e.scalar(below, operand)
    forward = Primal(e, [operand, slope][: 2 if name == "PRelu" else 1], {"alpha": below}, [None])
    gradient, *_ = pointwise.RULES[name](forward, [cotangent], e)
    assert isinstance(gradient, Value)
    block.add_ops([*e.emit.ops, ReturnOp(gradient.value)])
    function = FuncOp("main", ([], []), Region(block))
    update_function_type(function)
    (found,) = evaluate(ModuleOp([function]), [x, g])
    np.testing.assert_allclose(found, g, rtol=5e-7)
