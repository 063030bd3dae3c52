"""What is kept between the passes: by identity, and never longer than it holds."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, ModuleOp, StringAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from dialects.grad.conv import ConvBackwardDataOp, conv_backward_data
from dialects.grad.geometry import ConvAxis, Window
from dialects.onnx import ops as onnx
from dialects.support import dense, memo
from dialects.support.attributes import INTS
from dialects.support.diagnostics import GradcError
from dialects.support.interfaces import inferred_types, set_type
from dialects.support.memo import Memo, by_identity
from dialects.support.op_cache_key import once_per_state, state_of
from dialects.support.shapes import shape_of, tensor_type
from gradc import Graph

AXIS = ConvAxis(Window(3, 1, 1), 1, 1)


def conv() -> ConvBackwardDataOp:
    block = Block(arg_types=[tensor_type(f32, (1, 2, 8)), tensor_type(f32, (2, 3, 3))])
    op = conv_backward_data(block.args[0], block.args[1], [AXIS], [0], 1, "NCX")
    block.add_ops([op, ReturnOp(op.results[0])])
    return op


class Counted:
    def __init__(self, value: object = 0):
        self.calls = 0
        self.value = value

    def __call__(self, *_args: object) -> object:
        self.calls += 1
        return self.value


class TestMemo:
    def test_identity_counts_not_equality(self):
        kept, compute, one, other = Memo(), Counted(), StringAttr("a"), StringAttr("a")
        for key in ((one,), (one,), (other,), (one, other), (one, other)):
            assert kept.get(key, compute) == 0
        assert compute.calls == 3

    def test_what_is_raised_is_raised_again(self):
        def fail() -> None:
            raise ValueError("no")

        kept, key = Memo(), (StringAttr("a"),)
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                kept.get(key, fail)

    def test_a_key_of_a_dead_object_serves_no_other(self):
        kept = Memo()
        for number in range(1000):  # CPython would give most of these the same place
            assert kept.get((StringAttr(str(number)),), lambda n=number: n) == number

    def test_it_does_not_grow_for_ever(self, monkeypatch):
        monkeypatch.setattr(memo, "MEMO_SIZE", 3)
        compute = Counted()
        function = by_identity(compute.__call__)
        keys = [StringAttr(str(i)) for i in range(4)]
        for key in (*keys[:3], *keys[:3]):
            function(key)
        assert compute.calls == 3
        function(keys[3])
        function(keys[0])
        assert compute.calls == 5


class TestState:
    def test_the_method_is_asked_again_when_an_op_changes(self):
        compute, op = Counted(), conv()
        request = once_per_state(compute.__call__)
        assert request(op) == request(op) == request(op.clone()) == 0
        assert compute.calls == 1
        op.properties["pads_begin"] = INTS.encode([0])
        request(op)
        set_type(op.diff_dst, tensor_type(f32, (1, 2, 9)))
        request(op)
        set_type(op.results[0], tensor_type(f32, (None, 3, None)))
        request(op)
        assert compute.calls == 4

    def test_a_change_for_the_worse_is_found(self):
        op = conv()
        op.verify()
        op.properties["strides"] = INTS.encode([0])
        with pytest.raises(GradcError, match="strides"):
            op.verify()
        op.properties["strides"] = INTS.encode([1])
        op.verify()
        op.attributes["stray"] = StringAttr("")
        with pytest.raises(GradcError, match="unknown attribute stray"):
            op.verify()

    def test_a_terminator_is_asked_for_again(self):
        op = conv()
        block = op.parent
        assert block is not None
        assert block.last_op is not None
        region = Region(block)
        module = ModuleOp([FuncOp("f", (list(block.arg_types), [op.results[0].type]), region)])
        module.verify()
        block.last_op.detach()
        with pytest.raises(Exception, match="not a terminator"):
            module.verify()

    def test_small_constants_count_by_value(self):
        data = Block(arg_types=[tensor_type(f32, (4, 6))]).args[0]
        shapes = [onnx.ConstantOp(np.array(sizes, np.int64)) for sizes in ((2, 12), (3, 8))]
        op = onnx.ReshapeOp(data, shapes[0])
        assert shape_of(inferred_types(op)[0]) == (2, 12)
        op.operands = (data, shapes[1].results[0])
        assert shape_of(inferred_types(op)[0]) == (3, 8)

    def test_a_size_that_another_op_computes_is_looked_for_each_time(self):
        data = Block(arg_types=[tensor_type(f32, (4, 6))]).args[0]
        size = onnx.AddOp(*(onnx.ConstantOp(np.array([i], np.int64)) for i in (11, 13)))
        op = onnx.ReshapeOp(data, size)
        assert state_of(op) is None
        assert shape_of(inferred_types(op)[0]) == (24,)

    def test_weights_are_not_kept_alive(self):
        graph = Graph()
        weights = graph.constant(np.ones((4, 4, 9), np.float32))
        window = {"strides": [1], "pads_begin": [4], "pads_end": [4], "dilations": [1], "data_format": "NCX"}
        y = graph.convolution_backward_data(
            graph.input("y", "f32", (1, 4, 8)), weights, (1, 4, 8), **window, weights_format="OIX"
        )
        graph.output(y, "x")
        module = graph.module()
        (attribute,) = (weakref.ref(op.value) for op in module.walk() if isinstance(op, onnx.ConstantOp))
        del graph, weights, y, module
        gc.collect()
        assert attribute() is None

    def test_a_constant_of_the_wrong_length_never_verifies(self):
        good = dense.from_numpy(np.ones(4, np.float32))
        onnx.ConstantOp(good).verify()
        bad = DenseIntOrFPElementsAttr(good.type, BytesAttr(b"1234567"))  # pyright: ignore
        for _ in range(2):
            with pytest.raises(GradcError, match="7 bytes"):
                onnx.ConstantOp.create(result_types=[good.type], properties={"value": bad}).verify()
