"""Gradients of loops that make a tensor or a sequence longer in each step."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import ModelProto

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n,2] x, int64 steps) => (y) {{
    yes = Constant <value = bool {{1}}> ()
    {initial}
    scale, parts = Loop <body = step (int64 i, bool going, float[n,2] h, {type} ys) => (still, next, more) {{
        still = Identity(going)
        next = Mul(h, x)
        made = Sin(next)
        {grows}
    }}> (steps, yes, x, start)
    {joined}
}}"""

TENSOR = {
    "type": "float[n,m,k]",
    "initial": "zero = Constant <value_ints = [{axis}]> () start = Unsqueeze(x, zero)",
}
GROWS = """at = Constant <value_ints = [{axis}]> ()
        one = Unsqueeze(made, at)
        more = Concat <axis = {axis}> (ys, one)"""

SEQUENCE = {"type": "seq(float[n,2])", "grows": "more = SequenceInsert(ys, made)"}
JOIN = "y = ConcatFromSequence <axis = {axis}, new_axis = {new}> (parts)"


def _model(kind: str, axis: int) -> ModelProto:
    if kind == "tensor":
        text = {name: part.format(axis=axis) for name, part in {**TENSOR, "grows": GROWS}.items()}
        return _parsed(MODEL.format(**text, joined="y = Identity(parts)"))
    joined = JOIN.format(axis=axis, new=int("stack" in kind))
    initial = "start = SequenceConstruct(x, x)" if "some" in kind else "start = SequenceEmpty <dtype = 1> ()"
    return _parsed(MODEL.format(**SEQUENCE, initial=initial, joined=joined))


def _parsed(text: str) -> ModelProto:
    model = onnx.parser.parse_model(text.replace("=> (y)", "=> (float y)"))
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def _expected(kind: str, axis: int, x: np.ndarray, steps: int) -> tuple[list[np.ndarray], int, bool]:
    """Of the parts by x, elementwise; the axis along which they are put together, and whether it is new."""
    powers = [np.cos(x ** (k + 2)) * (k + 2) * x ** (k + 1) for k in range(steps)]
    first = {
        "tensor": [np.ones_like(x)],
        "some stack": 2 * [np.ones_like(x)],
        "some concat": 2 * [np.ones_like(x)],
    }
    return [*first.get(kind, []), *powers], axis, "concat" not in kind


@pytest.mark.sweep
@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kind", ["tensor", "stack", "concat", "some stack", "some concat"])
def test_what_each_step_adds_is_differentiated(kind: str, axis: int, steps: int):
    if steps == 0 and kind in ("stack", "concat"):
        pytest.skip("nothing to join, which onnxruntime refuses in the primal, too")
    if kind == "tensor" and axis < 0:
        axis = 2
    x = np.array([[0.3, -0.8], [1.1, 0.5], [-0.2, 0.9]], np.float32)
    parts, along, anew = _expected(kind, axis, x.astype(np.float64), steps)
    join = np.stack if anew else np.concatenate
    derivative = join(parts, along)
    cotangent = np.random.default_rng(steps).standard_normal(derivative.shape).astype(np.float32)
    compiled = gradc.vjp(_model(kind, axis), wrt=["x"], of=["y"], check=False)
    session = ort.InferenceSession(compiled.model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {"x": x, "steps": np.array(steps), "cotangent_y": cotangent}
    (found,) = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
    pieces = np.split(cotangent * derivative, len(parts), along)
    expected = sum(piece.reshape(x.shape) for piece in pieces)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)


def test_twice_of_what_is_read_in_the_loop():
    grows = GROWS.format(axis=0) + " size = Size(ys) unused = Identity(size)"
    text = {name: part.format(axis=0) for name, part in TENSOR.items()}
    text["grows"] = grows.replace(
        "one = Unsqueeze(made, at)", "all = ReduceSum(ys) one0 = Unsqueeze(made, at) one = Mul(one0, all)"
    )
    model = _parsed(MODEL.format(**text, joined="y = Identity(parts)"))
    rng = np.random.default_rng(0)
    x, way = (rng.uniform(0.2, 0.8, (2, 2)).astype(np.float32) for _ in range(2))

    def slopes(step: float) -> np.ndarray:
        moved, steps = x + np.float32(step) * way, np.array(3)
        ones = np.ones((4, 2, 2), np.float32)
        found = gradient.run({"x": moved, "steps": steps, "cotangent_y": ones})
        return np.asarray(found["grad_x"], np.float64)

    gradient = gradc.vjp(model, wrt=["x"], of=["y"], check=False)
    second = gradc.hvp(model, wrt=["x"], of=["y"], reduce="sum", check=False)
    got = second.run({"x": x, "steps": np.array(3), "tangent_x": way})["hvp_x"]
    want = (slopes(2e-3) - slopes(-2e-3)) / 4e-3
    np.testing.assert_allclose(got, want, rtol=1e-2, atol=1e-2 * np.abs(want).max())


def _found(model: ModelProto, wrt: list[str], x: np.ndarray, steps: int) -> dict[str, np.ndarray]:
    return gradc.vjp(model, wrt=wrt, of=["y"], check=False).run(
        {"x": x, "steps": np.array(steps), "cotangent_y": np.ones((steps, *x.shape), np.float32)}
    )


def test_by_what_a_loop_that_grows_gives_beside():
    """The last state, which the result is scaled by."""
    joined = "all = ConcatFromSequence <axis = 0, new_axis = 1> (parts) y = Mul(all, scale)"
    initial = "start = SequenceEmpty()"
    model = _parsed(MODEL.format(**SEQUENCE, initial=initial, joined=joined))
    x = np.array([[0.3, -0.8], [1.1, 0.5]], np.float32)
    found = _found(model, ["scale", "all", "x"], x, 3)
    made = np.stack([np.sin(x ** (k + 2)) for k in range(3)])
    np.testing.assert_allclose(found["grad_scale"], made.sum(0), rtol=1e-5)
    np.testing.assert_allclose(found["grad_all"], np.broadcast_to(x**4, (3, 2, 2)), rtol=1e-5)
    slopes = np.stack([np.cos(x ** (k + 2)) * (k + 2) * x ** (k + 1) for k in range(3)])
    np.testing.assert_allclose(
        found["grad_x"], slopes.sum(0) * x**4 + made.sum(0) * 4 * x**3, rtol=1e-4, atol=1e-6
    )


def test_each_join_of_a_sequence_is_a_value_of_its_own():
    join = "ConcatFromSequence <axis = 0, new_axis = 1> (parts)"
    joined = f"one = {join} other = {join} twice = Add(other, other) y = Mul(one, twice)"
    model = _parsed(MODEL.format(**SEQUENCE, initial="start = SequenceEmpty()", joined=joined))
    x = np.array([[0.3, -0.8]], np.float32)
    made = np.stack([np.sin(x ** (k + 2)) for k in range(2)])
    np.testing.assert_allclose(_found(model, ["one"], x, 2)["grad_one"], 2 * made, rtol=1e-5)


@pytest.mark.parametrize("wrt", ["m", "w", "a"])
def test_by_a_value_beside_positions_that_have_to_be_computed(wrt: str):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[4,2] x) => (float[2] y) {
        two = Constant <value_int = 2> () zero = Constant <value_int = 0> ()
        sizes = Shape(x) rows = Gather(sizes, zero) place = Sub(rows, two)
        m = Mul(x, x) w = Sin(m) s = SplitToSequence <keepdims = 0> (w)
        a = SequenceAt(s, place) y = Cos(a) }""")
    x = np.random.default_rng(0).standard_normal((4, 2)).astype(np.float32)
    found = gradc.vjp(model, wrt=wrt, check=False).run({"x": x, "cotangent_y": np.ones(2, np.float32)})
    a = -np.sin(np.sin(x[2] ** 2))
    wanted = np.zeros((4, 2), np.float32)
    wanted[2] = a if wrt == "w" else a * np.cos(x[2] ** 2)
    np.testing.assert_allclose(found[f"grad_{wrt}"], a if wrt == "a" else wanted, rtol=1e-4, atol=1e-6)


BRANCHES = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n,2] x, int64 steps) => (float[m,n,2] y) {
    yes = Constant <value = bool {1}> ()
    one = Constant <value = int64 {1}> ()
    start = SequenceEmpty <dtype = 1> ()
    last, parts = Loop <body = step (int64 i, bool going, float[n,2] h, seq(float[n,2]) ys)
        => (still, next, more) {
        still = Identity(going)
        next = Mul(h, x)
        early = Less(i, one)
        more = If (early) <
            then_branch = low () => (seq(float[n,2]) a) { s = Sin(next) a = SequenceInsert(ys, s) },
            else_branch = high () => (seq(float[n,2]) b) { b = SequenceInsert(ys, next) }>
    }> (steps, yes, x, start)
    y = ConcatFromSequence <axis = 0, new_axis = 1> (parts)
}"""


@pytest.mark.parametrize("steps", [1, 3])
def test_what_both_branches_of_an_if_append(steps: int):
    x = np.array([[0.3, -0.8], [1.1, 0.5]], np.float32)
    parts = [(k + 2) * x ** (k + 1) * (np.cos(x**2) if k == 0 else 1) for k in range(steps)]
    cotangent = np.random.default_rng(0).standard_normal((steps, 2, 2)).astype(np.float32)
    compiled = gradc.vjp(onnx.parser.parse_model(BRANCHES), wrt="x", check=True)
    found = compiled.run({"x": x, "steps": np.array(steps), "cotangent_y": cotangent})["grad_x"]
    np.testing.assert_allclose(found, (np.stack(parts) * cotangent).sum(0), rtol=1e-5)


BAGS = """<ir_version: 8, opset_import: ["": 18]>
agraph (float[n,2] x, int64[m] starts) => (float[bags,2] y) {
    minus = Constant <value_ints = [-1]> ()
    first = Constant <value_ints = [0]> ()
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    yes = Constant <value = bool {1}> ()
    size = Shape <end: int = 1> (x)
    places = Concat <axis = 0> (starts, size)
    bags = Size(starts)
    empty = SequenceEmpty()
    last, rows = Loop <body = step (int64 i, bool going, place, made) => (still, next, more) {
        k = Reshape(place, minus)
        k1 = Add(k, one)
        k2 = Add(k, two)
        start = Slice(places, k, k1)
        end = Slice(places, k1, k2)
        none = Equal(start, end)
        row = If(none) <
            then_branch = nothing () => (zeros) { zeros = Constant <value = float[1,2] {0, 0}> () },
            else_branch = some () => (total) {
                part = Slice(x, start, end)
                total = ReduceSum(part, first)
            }
        >
        more = SequenceInsert(made, row)
        next = Add(place, one)
        still = Less(next, bags)
    }> ("", yes, zero, empty)
    y = ConcatFromSequence <axis = 0> (rows)
}"""


def test_bags_of_rows_whose_bounds_a_condition_compares():
    """As torch writes EmbeddingBag: only what the If reads tells that the bounds are one number each, so that
    the rows are cut along their first axis only."""
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    cotangent = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    product = gradc.vjp(onnx.parser.parse_model(BAGS), wrt="x", check=False)
    found = product.run({"x": x, "starts": np.array([0, 2, 2]), "cotangent_y": cotangent})["grad_x"]
    np.testing.assert_array_equal(found, cotangent[[0, 0, 2, 2, 2]])


SUMS = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[v,3] w, int64[ends] offsets) => (float y)
<int64[1] one = {{1}}, int64 first = {{0}}, int64[1] whole = {{-1}}, int64[1] axis = {{0}}> {{
    yes = Constant <value = bool {{1}}> ()
    sizes = Shape(offsets)
    last = Sub(sizes, one)
    bags = Squeeze(last)
    start = SequenceEmpty <dtype = 1> ()
    at, sums = Loop <body = step (int64 i, bool going, int64 k, seq(float[a,b]) ys) => (still, next, more) {{
        still = Identity(going)
        next = Add(k, one)
        here = Reshape(i, whole)
        there = Add(here, one)
        begin = Slice(offsets, here, there)
        behind = Add(there, one)
        end = Slice(offsets, there, behind)
        rows = Slice(w, begin, end)
        bag = ReduceSum(rows, axis)
        more = SequenceInsert(ys, bag)
    }}> (bags, yes, first, start)
    y = ConcatFromSequence <axis = {axis}, new_axis = {new}> (sums)
}}"""


@pytest.mark.parametrize("new", [0, 1])
def test_sizes_that_joining_tells_to_be_alike(new: int) -> None:
    """As torch writes EmbeddingBag: how many axes a Slice by run-time bounds is of, no type tells."""
    text = SUMS.format(axis=0, new=new)
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    gradient = gradc.vjp(model, wrt="w", check=False)
    w = np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3)
    weights = np.arange(9, dtype=np.float32).reshape((3, 1, 3) if new else (3, 3))
    offsets = np.array([0, 2, 3, 5])
    found = gradient.run({"w": w, "offsets": offsets, "cotangent_y": weights})["grad_w"]
    np.testing.assert_array_equal(found, weights.reshape(3, 3)[[0, 0, 1, 2, 2]])


@pytest.mark.parametrize(
    "made",
    [
        "one = Constant <value = int64 {1}> () parts = SplitToSequence <keepdims = 0> (x, one)",
        "two = Constant <value = int64 {2}> () pairs = SplitToSequence (x, two) parts = Identity(pairs)",
        "s = Sin(x) c = Cos(x) parts = SequenceConstruct(x, s, c)",
    ],
)
def test_elements_of_known_number_at_a_place_that_run_time_knows(made: str):
    """Each step of a loop reads another one."""
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        agraph (float[6,2] x) => (float y) {{
            {made}
            yes = Constant <value = bool {{1}}> () zero = Constant <value = float {{0}}> ()
            length = SequenceLength(parts)
            y = Loop (length, yes, zero) <
            body = step (int64 i, bool going, float h) => (bool still, float next) {{
                still = Identity(going)
                part = SequenceAt(parts, i)
                square = ReduceSumSquare <keepdims = 0> (part)
                f = Cast <to = 1> (i)
                weighted = Mul(square, f)
                next = Add(h, weighted)
            }}>
        }}""")
    x = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    weights = {"one": np.arange(6)[:, None] * 2 * x, "two": np.repeat([0, 1, 2], 2)[:, None] * 2 * x}
    wanted = weights.get(made[:3], np.sin(2 * x) - 2 * np.sin(2 * x))
    np.testing.assert_allclose(gradc.grad(model).run({"x": x})["grad_x"], wanted, rtol=1e-4, atol=1e-5)
