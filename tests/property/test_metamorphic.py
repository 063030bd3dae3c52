"""One problem, written otherwise: the numbers do not change.

Where what is lowered is the same, they are the same to the bit; otherwise both are within the bound of
the reference's.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.documents import UNKNOWN, Doc, op, tensor
from support.examples import examples
from support.generate import KINDS, problems
from support.pipeline import Expected
from support.problems import Problem
from support.written import Written, runs
from xdsl.ir import Operation, SSAValue

from dialects.onednn.base import OneDNNConvOp
from dialects.onnx.ops import TransposeOp
from dialects.support.diagnostics import GradcError
from dialects.support.dtypes import by_name
from dialects.support.entry import entry_function, input_names, return_op
from dialects.support.shapes import shape_of
from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from gradc.graph.run_time_sizes import DynamicSizes

pytest.importorskip("onnxruntime")


def all_runs_fit(problem: Problem) -> bool:
    """Whether the sizes of every run are some that the graph can have: a run with others is refused."""
    module = problem.module()
    sizes, names = DynamicSizes(module), input_names(entry_function(module))
    try:
        for run in range(problem.runs):
            sizes.check(dict(zip(names, problem.feeds(run), strict=True)))
    except GradcError:
        return False
    return True


def fitting(**options: Any) -> st.SearchStrategy[Problem]:
    return problems(**options).filter(all_runs_fit)


SEEDS = st.integers(0, 2**32 - 1)
CONVOLUTIONS = ("convolution", "conv_transpose")
ASCEND = ("ResizeBilinearV2Grad", "UpsampleBilinear2dBackward")
NAMES = ("x", "y", "t0", "w", "Conv", "x_1", "x_1_1", "dy", "shape", "_", "a.b", "z9")
TO_LAST = {n: (0, *range(2, n), 1) for n in (3, 4, 5)}
TO_FIRST = {n: (0, n - 1, *range(1, n - 1)) for n in (3, 4, 5)}


def assert_same_bits(ways: list[list[list[np.ndarray]]]) -> None:
    first, *others = ways
    for other in others:
        for run, arrays in enumerate(other):
            for got, want in zip(arrays, first[run], strict=True):
                np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))


# How the graph is written down


@examples(20)
@given(fitting(most_ops=4), SEEDS)
def test_ops_in_another_order_with_other_ids(problem: Problem, seed: int):
    random, written = Random(seed), Written.of(problem)
    other = written.copy()
    random.shuffle(other.ops)
    numbers = random.sample(range(1000), len(other.ops))
    for record, number in zip(other.ops, numbers, strict=True):
        record["id"] = number
    assert_same_bits(runs(problem, written, other))


@examples(20)
@given(fitting(most_ops=4), SEEDS)
def test_other_names_of_tensors_and_ops(problem: Problem, seed: int):
    random, written = Random(seed), Written.of(problem)
    other = written.copy()
    every = sorted({r["id"] for record in other.ops for r in (*record["inputs"], *record["outputs"])})
    other.rename(dict(zip(every, random.sample(range(2**40), len(every)), strict=True)))
    for record in other.ops:
        record["name"] = random.choice(["é", "x", "a/b:0", "op", ""])
    assert_same_bits(runs(problem, written, other))


@examples(20)
@given(fitting(most_ops=3), SEEDS)
def test_other_names_of_values(problem: Problem, seed: int):
    """In a module: the names of values are the names of inputs and outputs."""
    names = Random(seed).sample(NAMES, len(NAMES))
    module, expected = problem.module(), Expected(problem)
    values = [v for o in entry_function(module).body.block.ops for v in (*o.results, *o.operands)]
    for value, name in zip(dict.fromkeys(values), names * 3, strict=False):
        value.name_hint = name
    compiled = compile_module(module, Options(threads=1))
    inputs, outputs = ([info.name for info in infos] for infos in (compiled.inputs, compiled.outputs))
    for run in range(problem.runs):
        found = compiled.run(dict(zip(inputs, problem.feeds(run), strict=True)))
        expected.check(run, [found[name] for name in outputs], "renamed")


# Layouts


def with_other_layout(problem: Problem, written: Written) -> tuple[Written, tuple[int, ...]]:
    """A problem of one op with its data in the other layout, and the order that brings its result back."""
    other, (node,) = written.copy(), problem.nodes
    (record,) = other.ops
    name = "format" if record["kind"] in ASCEND else "data_format"
    first, last = ("NCHW", "NHWC") if name == "format" else ("NCX", "NXC")
    default = first if name == "format" else last
    is_last = other.value(record, name, default).upper() == last
    other.write(record, name, first if is_last else last)
    rank = len(node.result.declared)
    order, back = (TO_FIRST[rank], TO_LAST[rank]) if is_last else (TO_LAST[rank], TO_FIRST[rank])
    tensors = [*record["inputs"], *record["outputs"]]
    weights = [node.weights] if node.weights is not None else []
    for port, each in enumerate(tensors):
        if len(each["shape"]) == rank and port not in weights:
            other.move(each["id"], order)
    for attribute in ("dst_shape", "inputSize"):
        sizes = other.value(record, attribute)
        if sizes:
            other.write(record, attribute, [sizes[axis] for axis in order])
    if record["kind"] == "ConvolutionBackwardData" and len(record["inputs"]) == 3:
        size = f"t{record['inputs'][2]['id']}"
        for arrays in (other.constants, *other.feeds):
            if size in arrays:
                arrays[size] = arrays[size][list(order)]
    return other, back


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("kind", KINDS)
def test_data_in_the_other_layout(kind: str):
    @examples(12)
    @given(fitting(kinds=(kind,)))
    def check(problem: Problem):
        written = Written.of(problem)
        other, back = with_other_layout(problem, written)
        runs(problem, written)
        expected = Expected(problem)
        for run in range(problem.runs):
            (got,) = other.run(run)
            expected.check(run, [np.ascontiguousarray(got.transpose(back))], "the other layout")

    check()


@examples(20)
@given(fitting(kinds=CONVOLUTIONS, most_ops=3))
def test_weights_in_the_other_format(problem: Problem):
    written = Written.of(problem)
    other = written.copy()
    formats = {"ConvolutionBackwardData": ("OIX", "XIO"), "ConvTransposeBackwardData": ("IOX", "XOI")}
    for record in other.ops:
        first, last = formats[record["kind"]]
        is_last = other.value(record, "weights_format", last).upper() == last
        other.write(record, "weights_format", first if is_last else last)
        weights = record["inputs"][1]
        rank = len(weights["shape"])
        order = (rank - 1, rank - 2, *range(rank - 2)) if is_last else (*range(2, rank), 1, 0)
        other.move(weights["id"], order)
    runs(problem, written, other)


# Two ways to say an attribute


def layout_of(written: Written, record: Doc) -> str:
    return written.value(record, "data_format", "NXC").upper()


def spatial_of(written: Written, record: Doc, shape: Sequence[int]) -> Sequence[int]:
    return shape[2:] if layout_of(written, record) == "NCX" else shape[1:-1]


@examples(40)
@given(fitting(kinds=("interpolate",), dynamics=("static", "batch"), most_ops=2))
def test_sizes_written_as_scales(problem: Problem):
    written = Written.of(problem)
    other, message = written.copy(), 0
    for record, node in zip(other.ops, problem.nodes, strict=True):
        sizes = other.value(record, "sizes")
        xs, ys = (spatial_of(other, record, node.operands[port].sizes[0]) for port in (0, 1))
        scales = [y / x for x, y in zip(xs, ys, strict=True)]
        exact = all(float(np.float32(s)) == s and s * x == y for s, x, y in zip(scales, xs, ys, strict=True))
        if sizes and exact and len(record["inputs"]) == 2:
            del record["attrs"]["sizes"]
            other.write(record, "scales", scales)
            message += 1
    assume(message)
    assert_same_bits(runs(problem, written, other))


@examples(40)
@given(fitting(kinds=CONVOLUTIONS, dynamics=("static", "batch"), most_ops=2))
def test_auto_pad_written_as_pads(problem: Problem):
    written = Written.of(problem)
    other, message = written.copy(), 0
    ops = [op for op in problem.module().walk() if isinstance(op, OneDNNConvOp)]
    for record, resolved in zip(other.ops, ops, strict=True):
        pads = resolved.problem().pads
        if resolved.value("auto_pad") == "none" or None in pads:
            continue
        other.write(record, "auto_pad", "none")
        other.write(record, "pads_begin", [begin for begin, _ in pads])
        other.write(record, "pads_end", [end for _, end in pads])
        record["attrs"].pop("output_padding", None)
        message += 1
    assume(message)
    assert_same_bits(runs(problem, written, other))


# Ops that do nothing


def in_front(written: Written, record: Doc, port: int) -> tuple[int, list[int], str]:
    """A new tensor that an op reads in place of one of its inputs: its id, shape and dtype."""
    held = record["inputs"][port]
    fresh = 1 + max(r["id"] for o in written.ops for r in (*o["inputs"], *o["outputs"]))
    record["inputs"][port] = tensor(fresh, held["shape"], held["dtype"])
    return fresh, held["shape"], held["dtype"]


@examples(20)
@given(fitting(kinds=("convolution", "conv_transpose", "interpolate"), most_ops=3), SEEDS)
def test_a_resize_to_the_same_size(problem: Problem, seed: int):
    written = Written.of(problem)
    other = written.copy()
    place = Random(seed).randrange(len(other.ops))
    record, node = other.ops[place], problem.nodes[place]
    old = record["inputs"][node.diff_dst]
    layout, spatial = layout_of(other, record), spatial_of(other, record, old["shape"])
    assume(all(size > 0 for size in spatial))
    fresh, shape, dtype = in_front(other, record, node.diff_dst)
    attributes = {"mode": "linear", "sizes": spatial, "data_format": layout}
    ports = [tensor(old["id"], shape, dtype), tensor(old["id"], shape, dtype)]
    other.ops.append(op(900, "InterpolateBackward", attributes, ports, [tensor(fresh, shape, dtype)]))
    runs(problem, written, other)


@examples(20)
@given(fitting(kinds=("convolution", "conv_transpose", "interpolate"), most_ops=3), SEEDS)
def test_a_convolution_with_the_identity(problem: Problem, seed: int):
    """Of kernel 1, its weights the unit matrix."""
    written = Written.of(problem)
    other = written.copy()
    place = Random(seed).randrange(len(other.ops))
    record, node = other.ops[place], problem.nodes[place]
    old = record["inputs"][node.diff_dst]
    layout = layout_of(other, record)
    assume(all(size > 0 for size in spatial_of(other, record, old["shape"])))
    channels, n = old["shape"][1 if layout == "NCX" else -1], len(old["shape"]) - 2
    fresh, shape, dtype = in_front(other, record, node.diff_dst)
    zeros, ones = [0] * n, [1] * n
    attributes = {"strides": ones, "dilations": ones, "pads_begin": zeros, "pads_end": zeros}
    attributes |= {"data_format": layout, "weights_format": "OIX", "dst_shape": shape}
    weights = tensor(fresh + 1, [channels, channels, *ones], dtype)
    ports = [tensor(old["id"], shape, dtype), weights]
    made = op(900, "ConvolutionBackwardData", attributes, ports, [tensor(fresh, shape, dtype)])
    other.ops.append(made)
    known = by_name(dtype)
    assert known is not None
    unit = np.eye(channels).reshape(weights["shape"])
    other.constants[f"t{fresh + 1}"] = unit.astype(known.numpy)
    runs(problem, written, other)


@examples(20)
@given(fitting(most_ops=3), SEEDS)
def test_a_transpose_and_its_inverse(problem: Problem, seed: int):
    random, module, expected = Random(seed), problem.module(), Expected(problem)
    block = entry_function(module).body.block
    values: list[SSAValue] = [*block.args, *(result for op in block.ops for result in op.results)]
    value = random.choice([value for value in values if len(shape_of(value)) > 2])
    rank = len(shape_of(value))
    order = random.sample(range(rank), rank)
    there = TransposeOp(value, perm=order)
    back = TransposeOp(there.results[0], perm=[order.index(axis) for axis in range(rank)])
    first = block.first_op
    assert first is not None
    if isinstance(value.owner, Operation):
        block.insert_ops_after([there, back], value.owner)
    else:
        block.insert_ops_before([there, back], first)
    value.replace_uses_with_if(back.results[0], lambda use: use.operation is not there)
    module.verify()
    names = [v.name for v in problem.inputs]
    compiled = compile_module(module, Options(threads=1))
    assert len(return_op(entry_function(module)).arguments) == len(problem.outputs)
    for run in range(problem.runs):
        found = compiled.run(dict(zip(names, problem.feeds(run), strict=True)))
        expected.check(run, [found[info.name] for info in compiled.outputs], "transposed and back")


# The batch


def carries_batch(problem: Problem) -> set[str]:
    """The inputs and outputs, by the names of documents, whose first axis is the batch."""
    written = Written.of(problem)
    pairs = list(zip(written.ops, problem.nodes, strict=True))
    weights = {record["inputs"][node.weights]["id"] for record, node in pairs if node.weights}
    every = [r for record in written.ops for r in (*record["inputs"], *record["outputs"])]
    return {f"t{r['id']}" for r in every if len(r["shape"]) > 2 and r["id"] not in weights}


@examples(20)
@given(fitting(most_ops=3), SEEDS)
def test_the_batch_in_another_order(problem: Problem, seed: int):
    written, moving = Written.of(problem), carries_batch(problem)
    expected = Expected(problem)
    for run, feed in enumerate(written.feeds):
        batch = next(len(array) for name, array in feed.items() if name in moving)
        order = Random(seed).sample(range(batch), batch)
        moved = {name: array[order] if name in moving else array for name, array in feed.items()}
        found = written.compiled.run(moved)
        back = np.argsort(order)
        expected.check(run, [found[name][back] for name in written.outputs], "the batch reordered")


@examples(20)
@given(fitting(dynamics=("batch",), most_ops=3))
def test_half_the_batch_at_a_time(problem: Problem):
    """Each half alone, put together again."""
    assume(not any(value.name.startswith("dst_shape") for value in problem.inputs))
    written, moving = Written.of(problem), carries_batch(problem)
    every = [tensor for record in written.ops for tensor in record["inputs"]]
    free = {f"t{tensor['id']}" for tensor in every if tensor["shape"][:1] == [UNKNOWN]}
    assume(all(name in free for feed in written.feeds for name in feed if name in moving))
    expected = Expected(problem)
    for run, feed in enumerate(written.feeds):
        batch = next(len(array) for name, array in feed.items() if name in moving)
        parts = []
        for rows in (slice(0, batch // 2), slice(batch // 2, None)):
            part = {name: array[rows] if name in moving else array for name, array in feed.items()}
            found = written.compiled.run(part)
            parts.append([found[name] for name in written.outputs])
        expected.check(run, [np.concatenate(pair) for pair in zip(*parts, strict=True)], "in halves")
