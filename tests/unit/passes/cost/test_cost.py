"""Prices: of what they are made, what they leave alone, and whether they order clear cases right."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from support.examples import examples
from support.problem_texts import texts
from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.support.shapes import tensor_type
from gradc.problems import OPS, parse_problem
from passes.builder.op_builder import OpBuilder
from passes.cost import features_of, price_ops, price_written, rates
from passes.cost.graph import Graph
from passes.cost.vector import ALONE
from passes.onnxruntime import optimizer_model
from passes.onnxruntime.optimizer_model import apply_rewrites
from passes.strategies import strategies_of
from passes.strategies.choice import candidates, worst_case
from passes.targets.target import Target

ONE = Target("cpu", threads=1)


def canonical(text: str) -> tuple[Operation, object]:
    """The op of a problem, and the module that it is in."""
    module = parse_problem(text).module()
    (op,) = (op for op in module.walk() if type(op) in OPS)
    return op, module


def prices(text: str, target: Target = ONE) -> dict[str, float]:
    op, _module = canonical(text)
    return {c.strategy.name: c.cost for c in candidates(op, target) if c.cost is not None}


def kinds(build, *shapes: tuple[int, ...]) -> list[str]:
    """The steps of what `build(emit, args)` makes, as the runtime runs it."""
    emit, result = written(build, *shapes)
    return [step.kind for step in apply_rewrites(Graph.of(emit.ops, [result])).steps]


def written(build, *shapes: tuple[int, ...]) -> tuple[OpBuilder, SSAValue]:
    block = Block(arg_types=[tensor_type(f32, shape) for shape in shapes])
    emit = OpBuilder()
    return emit, build(emit, block.args)


def price(build, *shapes: tuple[int, ...]) -> float:
    emit, result = written(build, *shapes)
    return price_ops(emit.ops, ONE, [result])


def weights(emit: OpBuilder, *shape: int) -> SSAValue:
    return emit.constant(np.ones(shape, np.float32))


class TestOrder:
    """Published measurements (docs/cost_model.md) in which one form is 1.5 times as fast as another."""

    CONV = "conv_backward_data,f32,NCX,"
    CASES = (
        (CONV + "diff_dst=1x64x56x56,weights=64x64x3x3,pads=1x1:1x1", "conv-to-conv", "conv-nxc-to-matmul"),
        (CONV + "diff_dst=1x512x7x7,weights=512x512x3x3,pads=1x1:1x1", "conv-to-conv", "conv-to-matmul"),
        (
            CONV + "diff_dst=1x256x14x14,weights=256x256x3x3,pads=2x2:2x2,dilations=2x2",
            "conv-to-conv",
            "conv-to-matmul",
        ),
        (
            CONV + "diff_dst=1x96x112x112,weights=96x1x3x3,pads=1x1:1x1,groups=96",
            "conv-to-conv",
            "conv-to-conv-transpose",
        ),
        (
            CONV + "diff_dst=1x512x28x28,weights=512x256x1x1,strides=2x2,residue=1x1",
            "conv-to-conv-transpose",
            "conv-to-upsampled-conv",
        ),
        (
            CONV + "diff_dst=1x64x112x112,weights=64x3x7x7,strides=2x2,pads=3x3:3x3,residue=1x1",
            "conv-to-conv-transpose",
            "conv-to-phase-convs",
        ),
        (
            "resize_backward,f32,NCX,diff_dst=1x64x73x131,diff_src=1x64x100x100",
            "resize-to-matmul",
            "resize-to-gather",
        ),
        (
            "resize_backward,f32,NCX,diff_dst=1x19x512x512,diff_src=1x19x128x128",
            "resize-to-banded-matmul",
            "resize-to-matmul",
        ),
        (
            "resize_backward,f32,NCX,diff_dst=1x3x224x224,diff_src=1x3x512x512",
            "resize-to-banded-matmul",
            "resize-to-matmul",
        ),
        (
            "resize_backward,f32,NCX,diff_dst=1x64x112x112,diff_src=1x64x56x56,"
            "interpolation=nearest_floor,coordinates=corner",
            "resize-to-pool",
            "resize-to-gather",
        ),
    )

    @pytest.mark.parametrize(("text", "quick", "slow"), CASES)
    def test_the_quicker_form_is_the_cheaper_one(self, text, quick, slow):
        found = prices(text)
        assert found[quick] < found[slow]


class TestEveryCandidate:
    @examples(60)
    @given(texts(unknown=True, dtypes=("f32", "f64")))
    def test_has_a_finite_price_and_nothing_changes(self, text):
        op, module = canonical(text)
        before = str(module)
        uses = [sum(1 for _ in operand.uses) for operand in op.operands]
        for strategy in strategies_of(op):
            if strategy.refusal(op, ONE) is None:
                assert all(0 < p < math.inf for p in price_written(strategy.write, op, ONE))
        assert str(module) == before
        assert [sum(1 for _ in operand.uses) for operand in op.operands] == uses

    @examples(60)
    @given(texts(unknown=False, dtypes=("f32",), most=20))
    def test_is_counted_in_what_has_a_rate(self, text):
        op, _module = canonical(text)
        known = rates.rates_of("cpu")
        for strategy in strategies_of(op):
            if strategy.refusal(op, ONE) is not None:
                continue
            emit = OpBuilder()
            found = features_of(emit.ops, strategy.write(op, ONE, emit))
            for count in known:
                # what is small is never far away, and not every kind was measured far away
                assert {n.removeprefix(ALONE) for n in found if not n.endswith(".far")} <= set(known[count])

    @pytest.mark.parametrize(
        "text",
        [
            "conv_backward_data,f32,NCX,diff_dst=?x64x?x?,weights=64x64x3x3,pads=1x1:1x1",
            "conv_transpose_backward_data,f32,NXC,diff_dst=?x64x?x?,weights=32x64x3x3",
            "resize_backward,f32,NCX,diff_dst=?x16x64x64,diff_src=?x16x32x32",
            "resize_backward_dynamic,f32,NCX,diff_dst=1x64x?x?",
        ],
    )
    def test_unknown_sizes_give_a_choice(self, text):
        found = prices(text)
        assert found
        assert all(0 < p < math.inf for p in found.values())

    @pytest.mark.parametrize("target", [ONE, Target("cpu", threads=7), Target("cuda")])
    @pytest.mark.parametrize("layout", ["NCX", "NXC"])
    def test_a_larger_batch_never_costs_less(self, target, layout):
        text = f"conv_backward_data,f32,{layout},diff_dst={{}}x64x28x28,weights=64x64x3x3,pads=1x1:1x1"
        small, large = (prices(text.format(batch), target) for batch in (1, 4))
        assert small.keys() == large.keys()
        assert all(small[name] < large[name] for name in small)


class TestThreads:
    def test_more_threads_never_take_longer(self):
        features = {"Gemm.flops": 1e9, "node": 3.0, "Gemm.sums": 1e6}
        times = [rates.seconds(features, "cpu", n) for n in (2, 3, 4, 16, 64)]
        assert times == sorted(times, reverse=True)
        assert times[-1] > 0

    def test_measured_numbers_of_threads_are_taken_as_they_are(self):
        assert rates.seconds({"node": 2.0}, "cpu", 2) == 2 * rates.rates_of("cpu")[2]["node"]

    def test_the_time_that_is_not_shared_is_a_bound(self, monkeypatch):
        monkeypatch.setattr(rates, "rates_of", lambda target: {1: {"x": 3.0}, 2: {"x": 2.0}})
        # t(n) = 1 + 2 / n
        assert rates.seconds({"x": 1.0}, "any", 4) == pytest.approx(1.5)

    @pytest.mark.parametrize(
        ("channels", "height", "shrinks"), [(64, 1, False), (80, 1, True), (64, 2, True)]
    )
    def test_a_single_piece_of_work_is_not_shared(self, channels, height, shrinks):
        """A blocked Conv of one row and up to four blocks of channels is one piece."""

        def build(emit, args):
            return emit(onnx.ConvOp(args[0], weights(emit, channels, 16, 1, 3), pads=[0, 1, 0, 1]))

        emit, result = written(build, (1, 16, height, 9000))
        found = features_of(emit.ops, [result])
        work = {name: count for name, count in found.items() if "ConvBlocked" in name}
        times = [rates.seconds(work, "cpu", threads) for threads in (1, 2, 8)]
        assert (times[0] > times[1] > times[2]) if shrinks else (times[0] == times[1] == times[2])

    @pytest.mark.parametrize(("batch", "channels", "shrinks"), [(1, 16, False), (1, 32, True), (2, 16, True)])
    def test_a_single_block_is_reordered_by_one_thread(self, batch, channels, shrinks):
        def build(emit, args):
            return emit(onnx.ConvOp(args[0], weights(emit, channels, 1, 2, 2), group=channels))

        emit, result = written(build, (batch, channels, 300, 300))
        found = features_of(emit.ops, [result])
        work = {name: count for name, count in found.items() if "ReorderInput" in name}
        times = [rates.seconds(work, "cpu", threads) for threads in (1, 2, 8)]
        assert (times[0] > times[1] > times[2]) if shrinks else (times[0] == times[1] == times[2])


class TestWorstCase:
    def test_at_one_size_it_is_the_price(self):
        assert worst_case([(2.0,), (3.0,)], [(2.0,)]) == [2.0, 3.0]

    def test_the_least_worst_ratio_wins(self):
        # the first is best at two of three sizes, and ten times as slow at the third
        known = [(1.0, 1.0, 10.0), (1.5, 1.5, 1.0)]
        first, second = worst_case(known, known)
        assert second < first

    def test_no_candidate(self):
        assert worst_case([], []) == []


class TestWhatRuns:
    def test_what_is_made_of_constants_is_free(self):
        def build(emit, args):
            flipped = emit(onnx.TransposeOp(weights(emit, 64, 32), perm=[1, 0]))
            return emit(onnx.MatMulOp(flipped, args[0]))

        assert kinds(build, (64, 100)) == ["MatMul"]

    def test_what_no_result_needs_is_free(self):
        def build(emit, args):
            emit(onnx.MulOp(args[0], args[0]))
            return emit(onnx.AddOp(args[0], args[0]))

        assert kinds(build, (64, 100)) == ["Add"]

    def test_equal_ops_run_once(self):
        def build(emit, args):
            first, second = (emit(onnx.TransposeOp(args[0], perm=[1, 0])) for _ in range(2))
            return emit(onnx.AddOp(first, second))

        assert kinds(build, (64, 100)) == ["Transpose", "Add"]

    def test_a_view_costs_only_where_it_leaves_the_graph(self):
        def inside(emit, args):
            flat = emit(onnx.ReshapeOp(args[0], emit.ints([-1])))
            return emit(onnx.AddOp(flat, flat))

        def at_the_end(emit, args):
            return emit(onnx.ReshapeOp(emit(onnx.AddOp(args[0], args[0])), emit.ints([-1])))

        shape = (512, 1024)
        assert price(inside, shape) < 0.9 * price(at_the_end, shape)

    def test_a_convolution_of_many_channels_is_blocked(self):
        def conv(channels):
            return lambda emit, args: emit(onnx.ConvOp(args[0], weights(emit, 64, channels, 3, 3)))

        assert kinds(conv(64), (1, 64, 9, 9)) == ["ReorderInput", "ConvBlocked", "ReorderOutput"]
        assert kinds(conv(3), (1, 3, 9, 9)) == ["ConvDirect", "ReorderOutput"]
        assert kinds(conv(18), (1, 18, 9, 9)) == ["Conv"]

    def test_run_time_weights_are_not_blocked(self):
        assert kinds(lambda emit, args: emit(onnx.ConvOp(*args)), (1, 64, 9, 9), (64, 64, 3, 3)) == ["Conv"]

    def test_blocked_neighbours_share_their_layout(self):
        def build(emit, args):
            first, second = (
                emit(onnx.ConvOp(args[0], weights(emit, 64, 64, k, k), pads=[k // 2] * 4)) for k in (3, 5)
            )
            return emit(onnx.ConcatOp([first, second], axis=1))

        found = kinds(build, (1, 64, 9, 9))
        assert found == ["ReorderInput", "ConvBlocked", "ConvBlocked", "Concat", "ReorderOutput"]

    def test_transposes_become_part_of_reordering(self):
        def build(emit, args):
            first = emit(onnx.TransposeOp(args[0], perm=[0, 3, 1, 2]))
            value = emit(onnx.ConvOp(first, weights(emit, 64, 64, 3, 3)))
            return emit(onnx.TransposeOp(value, perm=[0, 2, 3, 1]))

        assert kinds(build, (1, 9, 9, 64)) == ["ReorderInputLast", "ConvBlocked", "ReorderOutputLast"]

    def test_a_transpose_between_two_readers_stays(self):
        def build(emit, args):
            first = emit(onnx.TransposeOp(args[0], perm=[0, 3, 1, 2]))
            value = emit(onnx.ConvOp(first, weights(emit, 64, 64, 1, 1)))
            return emit(onnx.AddOp(value, first))

        assert kinds(build, (1, 9, 9, 64))[0] == "Transpose"

    def test_transposes_of_transposes_cancel(self):
        def build(emit, args):
            there = emit(onnx.TransposeOp(args[0], perm=[0, 3, 1, 2]))
            back = emit(onnx.TransposeOp(there, perm=[0, 2, 3, 1]))
            return emit(onnx.AddOp(back, back))

        assert kinds(build, (1, 9, 9, 64)) == ["Add"]

    def test_a_transposed_matrix_is_part_of_its_product(self):
        def build(emit, args):
            return emit(onnx.MatMulOp(emit(onnx.TransposeOp(args[0], perm=[1, 0])), args[1]))

        assert kinds(build, (64, 100), (64, 30)) == ["MatMul"]

    def test_several_convolutions_share_a_transpose_through_a_pool(self):
        def build(emit, args, pooled):
            first = emit(onnx.TransposeOp(args[0], perm=[0, 3, 1, 2]))
            first = emit(onnx.AveragePoolOp(first, kernel_shape=[1, 1])) if pooled else first
            two = (emit(onnx.ConvOp(first, weights(emit, 64, 64, k, k), pads=[k // 2] * 4)) for k in (3, 5))
            return emit(onnx.TransposeOp(emit(onnx.AddOp(*two)), perm=[0, 2, 3, 1]))

        shared, plain = (kinds(partial(build, pooled=pooled), (1, 9, 9, 64)) for pooled in (True, False))
        assert shared[:2] == ["ReorderInputLast", "AveragePoolBlocked"]
        assert plain[:2] == ["Transpose", "ReorderInput"]
        assert shared[2:] == plain[2:] == ["ConvBlocked", "ConvBlocked", "Add", "ReorderOutputLast"]

    @pytest.mark.parametrize("places", [[0, 1, 2], [2, 0, 1], [[0], [1], [2]]])
    def test_gathers_of_all_positions_are_a_split(self, places):
        def build(emit, args, places):
            parts = [emit(onnx.GatherOp(args[0], emit.constant(np.array(p)), axis=1)) for p in places]
            return emit(onnx.AddOp(parts[0], emit(onnx.AddOp(*parts[-2:]))))

        assert kinds(partial(build, places=places), (4, 3, 5)) == ["Split", "Add", "Add"]
        assert kinds(partial(build, places=places), (4, 4, 5)).count("Gather") == 3

    def test_gathers_of_one_tensor_are_looked_at_once(self, monkeypatch):
        def build(emit, args):
            parts = [emit(onnx.GatherOp(args[0], emit.constant(np.array(p)), axis=1)) for p in range(30)]
            return emit(onnx.SumOp(parts))

        request: list[int] = []
        original = optimizer_model._take_all
        monkeypatch.setattr(
            optimizer_model, "_take_all", lambda each: request.append(len(each)) or original(each)
        )
        assert kinds(build, (4, 40, 5)).count("Gather") == 30
        assert request == [30]

    def test_a_pad_in_front_of_a_convolution_is_part_of_it(self):
        def build(emit, args):
            padded = emit(onnx.PadOp(args[0], emit.ints([0, 0, 1, 1, 0, 0, 1, 1])))
            return emit(onnx.ConvOp(padded, weights(emit, 64, 64, 3, 3)))

        assert kinds(build, (1, 64, 9, 9)) == ["ReorderInput", "ConvBlocked", "ReorderOutput"]


class TestPrices:
    def test_short_runs_cost_more_than_long_ones(self):
        """Interleaving two tensors element by element, against one behind the other."""
        shape = (256, 1024, 1)

        def joined(axis):
            return price(lambda emit, args: emit(onnx.ConcatOp(list(args), axis=axis)), shape, shape)

        assert joined(2) > 1.5 * joined(0)

    def test_a_run_time_factor_is_packed_in_every_run(self):
        run_time = price(lambda emit, args: emit(onnx.MatMulOp(*args)), (4, 512), (512, 512))
        constant = price(lambda emit, args: emit(onnx.MatMulOp(args[0], weights(emit, 512, 512))), (4, 512))
        assert constant < run_time

    def test_a_target_without_measurements_counts_nodes_and_flops(self):
        """A product whose time is its flops: 2 n^3 at 1e13 a second."""
        emit, result = written(lambda emit, args: emit(onnx.MatMulOp(*args)), (4096, 4096), (4096, 4096))
        assert price_ops(emit.ops, Target("cuda"), [result]) == pytest.approx(5e-6 + 2 * 4096**3 / 1e13)
