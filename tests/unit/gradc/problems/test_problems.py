"""Problem strings: one spelling, the op that it stands for, and what is wrong with any other text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.generate import CANONICAL, KINDS, seeded
from support.outputs import verify_outputs
from support.pipeline import apply
from support.problem_texts import texts
from support.tiers import some
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block
from xdsl.irdl import operand_def, result_def

import gradc
from dialects.evaluate import evaluate
from dialects.grad.tunable import TunableOp
from dialects.support.attributes import INT, required
from dialects.support.diagnostics import GradcError, Position
from dialects.support.documented_op import build, documented_op
from dialects.support.entry import entry_function, input_names
from dialects.support.shapes import element_type_of, shape_of, tensor_type
from gradc.problems import OPS, Problem, ResizeBackwardProblem, parse_problem, problem_of
from gradc.problems.derived import DerivedProblem, problem_class
from gradc.problems.documents import document_of
from gradc.problems.flops import flops
from gradc.problems.resize import ALIGN_CORNERS
from gradc.problems.text import Fields
from passes import pipelines
from passes.targets.target import Target

SPELLED = (
    "conv_backward_data,f32,NXC,diff_dst=1x64x28x28,weights=64x32x3x3,strides=2x2,pads=1x1:0x2,residue=1x0",
    "conv_backward_data,bf16,NCX,diff_dst=?x8x?x7,weights=8x1x3x3,dilations=2x1,groups=8,weights_are=input",
    "conv_transpose_backward_data,f16,NCX,diff_dst=2x4x9,weights=3x4x2",
    "resize_backward,f64,NXC,diff_dst=?x3x8x6,diff_src=?x3x4x6,axes=2,interpolation=nearest_floor",
    "resize_backward,f32,NCX,diff_dst=1x3x8,diff_src=1x3x5,coordinates=corner,steps=3/4",
    "resize_backward_dynamic,f32,NXC,diff_dst=1x3x?x8",
    "conv_backward_weights,f32,NXC,diff_dst=2x8x?x5,src=2x4x?x5,kernel=3x3,pads_begin=1x1,pads_end=1x1",
    "avg_pool_backward,f32,NXC,diff_dst=2x8x?x5,kernel=3x3,strides=2x2,pads_begin=1x1,residue=1x0",
    "conv_backward_weights,f16,NCX,diff_dst=?x8x4,src=?x4x9,kernel=2,strides=2,groups=2",
)


def canonical_op(module):
    (op,) = (op for op in module.walk() if type(op) in OPS)
    return op


@given(texts())
@examples(150)
def test_round_trip_of_text_and_op(text: str):
    problem = parse_problem(text)
    assert parse_problem(str(problem)) == problem
    assert str(parse_problem(str(problem))) == str(problem)
    given_fields, kept = (set(t.split(",")) for t in (text, str(problem)))
    assert {f for f in kept if not f.startswith(("coordinates", "steps"))} <= given_fields
    again = problem_of(canonical_op(problem.module()))
    # positions of axes do not tell the layout where only some of the axes are resized
    all_axes = tuple(range(2, len(problem.diff_dst)))
    assert again == problem or getattr(problem, "axes", all_axes) != all_axes
    assert again.module().is_structurally_equivalent(problem.module())


@pytest.mark.parametrize("text", SPELLED)
def test_the_spelling_is_the_shortest(text: str):
    assert str(parse_problem(text)) == text


@pytest.mark.parametrize("text", SPELLED)
def test_samples_fit_and_compile(text: str):
    problem = parse_problem(text)
    compiled = gradc.compile(problem.module())
    fed = problem.feeds()
    assert all(row.ok for row in verify_outputs(compiled.source, compiled.inputs, fed, compiled.run(fed)))
    assert problem_of(canonical_op(problem.module())) == problem


def test_arithmetic_of_a_derived_problem():
    """2 multiplications and additions for each weight at each of the 4 x 5 positions of 2 images."""
    text = "conv_backward_weights,f32,NCX,diff_dst=2x8x4x5,src=2x4x4x5,kernel=3x3,pads_begin=1x1,pads_end=1x1"
    assert flops(parse_problem(text)) == 2 * (2 * 4 * 5) * (8 * 4 * 3 * 3)


@documented_op
class RepeatBackwardOp(TunableOp):
    """Gradient of n copies beside each other on the last axis: an op without a layout."""

    name = "grad.repeat_backward"

    diff_dst = operand_def(TensorType)
    times = required(INT)
    diff_src = result_def(TensorType)

    def infer_result_types(self) -> tuple[TensorType, ...]:
        *outer, size = shape_of(self.diff_dst)
        last = size // self.times if isinstance(size, int) else None
        return (tensor_type(element_type_of(self.diff_dst), (*outer, last)),)

    def sample_shapes(self) -> tuple[tuple[int, ...], ...]:
        return (tuple(dim if isinstance(dim, int) else 4 * self.times for dim in shape_of(self.diff_dst)),)

    def flops(self) -> int | None:
        return None


def test_an_op_without_a_layout_needs_no_class_of_its_own():
    kind = problem_class(RepeatBackwardOp)
    text = "repeat_backward,f32,NCX,diff_dst=2x5x?,times=3"
    fields = Fields(text)
    problem = kind.read(fields, "f32", "NCX")
    assert str(problem) == text
    assert problem.diff_src == (2, 5, None)
    assert problem.feeds()["diff_dst"].shape == (2, 5, 12)
    block = Block(arg_types=[tensor_type(f32, (2, 5, 12))])
    assert str(kind.of_op(build(RepeatBackwardOp, block.args, {"times": 3}))) == text.replace("?", "12")
    with pytest.raises(GradcError, match=r"layout: given NXC, expected NCX: grad.repeat_backward has no"):
        kind.read(fields, "f32", "NXC")


def test_align_corners_is_short_for_its_steps():
    text = "resize_backward,f32,NCX,diff_dst=1x3x8x1,diff_src=1x3x4x6,coordinates="
    problem = parse_problem(text + ALIGN_CORNERS)
    assert str(problem) == text + "corner,steps=3/7x0"
    assert isinstance(problem, ResizeBackwardProblem)
    assert problem.coordinate_modes == (ALIGN_CORNERS,)


def problems_of_generators(seeds: Iterable[int]) -> Iterator[Problem]:
    for seed in seeds:
        module = seeded([3, seed], kinds=(*KINDS, *CANONICAL), dtypes=("f32", "f64")).module()
        apply(module, pipelines.lower(Target()).partition(",select-strategy")[0])
        for op in module.walk():
            if type(op) in OPS:
                problem = problem_of(op)
                assert canonical_op(problem.module()).properties.keys() == op.properties.keys()
                assert problem.diff_src == parse_problem(str(problem)).diff_src
                yield problem


@pytest.mark.sweep
def test_every_canonical_op_has_a_problem():
    """Whatever the importers and passes make of the random source graphs."""
    seen: Counter[str] = Counter()
    seeds = some(range(250), 4)
    for problem in problems_of_generators(seeds):
        assert parse_problem(str(problem)) == problem
        assert problem_of(canonical_op(problem.module())) == problem
        seen[problem.KIND] += 1
        seen["unknown"] += None in problem.diff_dst
        seen["run-time weights"] += "weights_are=input" in str(problem)
        seen["constant weights"] += "weights=" in str(problem) and "weights_are" not in str(problem)
        seen[problem.layout] += 1
    least = len(seeds) // 25
    assert all(seen[kind.KIND] >= least for kind in OPS.values() if not issubclass(kind, DerivedProblem)), (
        seen
    )
    assert min(seen.values()) >= least, seen


@given(texts(most=6, dtypes=("f32", "f16", "bf16")))
@examples(60)
def test_the_module_compiles_to_the_right_numbers(text: str):
    problem = parse_problem(text)
    compiled = gradc.compile(problem.module())
    fed = problem.feeds()
    assert all(row.ok for row in verify_outputs(compiled.source, compiled.inputs, fed, compiled.run(fed)))
    for name, array in fed.items():
        info = next(info for info in compiled.inputs if info.name == name)
        assert array.ndim == len(info.shape)


@given(texts(most=6, dtypes=("f32", "bf16", "f16"), unknown=False))
@examples(60)
def test_the_document_means_the_same(text: str):
    problem = parse_problem(text)
    document = document_of(problem)
    if document is None:
        assert isinstance(problem, ResizeBackwardProblem)
        return
    module = gradc.compiler.driver.load(document)  # pyright: ignore[reportAttributeAccessIssue]
    fed = problem.feeds(seed=5) | problem.constants(seed=5)
    arrays = {"t0": fed["diff_dst"], "t1": fed.get("weights")}
    if isinstance(problem, ResizeBackwardProblem):
        (src,) = (a for a in entry_function(module).args if a.name_hint == "t1")
        arrays["t1"] = np.zeros(shape_of(src), fed["diff_dst"].dtype)  # pyright: ignore
    got = evaluate(module, [arrays[name] for name in input_names(entry_function(module))])
    want = evaluate(problem.module(seed=5), list(problem.feeds(seed=5).values()))
    np.testing.assert_array_equal(got[0].astype(np.float64), want[0].astype(np.float64))


def test_seeds():
    problem = parse_problem(SPELLED[0])
    first, again, other = (problem.feeds(seed)["diff_dst"] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    weights = problem.constants(seed=1)["weights"]
    assert not np.array_equal(weights, problem.constants()["weights"])
    (constant,) = (op for op in problem.module(seed=1).walk() if op.name == "onnx.Constant")
    assert np.array_equal(evaluate_constant(constant), weights)


def evaluate_constant(op) -> np.ndarray:
    from dialects.support.constants import constant_value

    value = constant_value(op.results[0])
    assert value is not None
    return value


CONV = "conv_backward_data,f32,NCX,diff_dst=1x4x9x9,weights=4x2x3x3"
RESIZE = "resize_backward,f32,NCX,diff_dst=1x4x9x9,diff_src=1x4x3x3"
BAD = (
    ("", "kind: given nothing, expected one of conv_backward_data", ""),
    ("conv_backward,f32", "did you mean conv_backward_data", ""),
    ("conv_backward_data", "dtype is missing", ""),
    ("conv_backward_data,f33,NCX", "dtype: given f33, expected one of f32", "f33"),
    ("conv_backward_data,f32,NCHW", "layout: given NCHW, expected one of NCX, NXC", "NCHW"),
    ("conv_backward_data,f32,NCX,x,diff_dst=1x1x1", "field: given x, expected name=value", "x,diff"),
    (f"{CONV},stride=2x2", "unknown field stride: expected one of", "stride="),
    (f"{CONV},stride=2x2", "did you mean strides", "stride="),
    (f"{CONV},groups=1,groups=2", "groups is given twice", "groups=2"),
    (f"{CONV},groups", "field: given groups, expected name=value", "groups"),
    (f"{CONV},groups=two", "groups: given two, expected a number", "groups"),
    (f"{CONV},groups=3", "groups: given 3, expected a divisor of 4", ""),
    (f"{CONV},pads=1x1", "pads: given 1x1, expected begin:end", "pads"),
    (f"{CONV},strides=1", "strides: given [1], expected 2 values", ""),
    (f"{CONV},strides=0x1", "strides", ""),
    (f"{CONV},residue=1x0", "residue", ""),
    (f"{CONV},weights_are=const", "did you mean constant?", "weights_are"),
    ("conv_backward_data,f32,NCX,diff_dst=1x4x9x9", "field weights is missing: expected weights=", ""),
    ("conv_backward_data,f32,NCX,diff_dst=1x3x9x9,weights=4x2x3x3", "channels of diff_dst", ""),
    ("conv_backward_data,f32,NCX,diff_dst=1x4,weights=4x2", "ranks", ""),
    ("conv_backward_data,f32,NXC,diff_dst=1,weights=4", "ranks", ""),
    (f"{RESIZE},axes=3x2", "axes: given 3x2, expected ascending axes below 4", "axes"),
    (
        f"{RESIZE},axes=2",
        "diff_src: given 1x4x3x3, expected 1x4x9x9 with other sizes on axes 2",
        "diff_src",
    ),
    (f"{RESIZE},coordinates=half_pixels", "did you mean half_pixel?", "coordinates"),
    (f"{RESIZE},steps=1/0x1", "steps: given 1/0, expected a fraction such as 1/2", "steps"),
    (f"{RESIZE},steps=1/2", "steps: given 1, expected 2 values", "steps"),
    ("resize_backward,f32,NCX,diff_dst=1x4x?x9,diff_src=1x4x3x3", "resize_backward_dynamic", ""),
    ("resize_backward,f32,NCX,diff_dst=1x4x9x9,diff_src=1x4x3", "diff_src", "diff_src"),
)


@pytest.mark.parametrize(("text", "message", "culprit"), BAD, ids=range(len(BAD)))
def test_errors_are_one_located_line(text: str, message: str, culprit: str):
    with pytest.raises(GradcError) as caught:
        parse_problem(text)
    assert str(caught.value).startswith(f'error: [problem "{text}"] ')
    assert message in str(caught.value)
    with pytest.raises(GradcError) as caught:
        parse_problem(text, Position("cases.txt", 7, 11))
    where = f"cases.txt:7:{11 + text.index(culprit)}: error: "
    assert str(caught.value).startswith(where), str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="conv_backward_data,f32NCX=1x?:/ ", max_size=60))
@examples(300)
def test_no_text_is_a_crash(text: str):
    with pytest.raises(GradcError):
        parse_problem(text)


@given(texts(), st.data())
@examples(150)
def test_a_changed_text_is_a_problem_or_an_error(text: str, data):
    place = data.draw(st.integers(0, len(text) - 1))
    changed = (
        text[:place] + data.draw(st.sampled_from(["", "x", "0", "?", ",", "=", "9"])) + text[place + 1 :]
    )
    try:
        problem = parse_problem(changed)
    except GradcError:
        return
    assert parse_problem(str(problem)) == problem
