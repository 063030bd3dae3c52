"""Sequences of the parts of an axis of which only run time knows how long it is, read in a loop."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n,t,2] x) => (float[n,{kept}2] y) {{
    yes = Constant <value = bool {{1}}> ()
    {split}
    count = SequenceLength(parts)
    zero = Constant <value = int64 {{0}}> ()
    first = SequenceAt(parts, zero)
    y = Loop <body = step (int64 i, bool going, float[n,{kept}2] h) => (still, next) {{
        still = Identity(going)
        one = Constant <value = int64 {{1}}> ()
        back = Sub(zero, i)
        place = Sub(back, one)
        part = SequenceAt(parts, place)
        s = {of}(part)
        next = Mul(h, s)
    }}> (count, yes, first)
}}"""
SPLITS = {
    "each": ("parts = SplitToSequence <axis = 1, keepdims = 0> (x)", "", "Sin"),
    "one": ("k = Constant <value = int64 {1}> () parts = SplitToSequence <axis = -2> (x, k)", "1,", "Sin"),
    "one, single": (
        "k = Constant <value = int64 {1}> () parts = SplitToSequence <axis = 1, keepdims = 0> (x, k)",
        "",
        "Sin",
    ),
    "two": (
        "k = Constant <value = int64 {2}> () all = SplitToSequence <axis = 1> (x, k) parts = Identity(all)",
        "2,",
        "Cos",
    ),
}


@pytest.mark.parametrize("kind", SPLITS)
def test_parts_are_read_by_their_places(kind: str):
    split, kept, of = SPLITS[kind]
    model = onnx.parser.parse_model(MODEL.format(split=split, kept=kept, of=of))
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    x, way = rng.uniform(0.5, 1.5, (3, 4, 2)).astype(np.float32), rng.standard_normal((3, 4, 2))

    def along(step: float) -> np.ndarray:
        return np.asarray(session.run(None, {"x": (x + step * way).astype(np.float32)})[0], np.float64)

    cotangent = rng.standard_normal(along(0.0).shape).astype(np.float32)
    compiled = gradc.vjp(model, wrt="x", check=True)
    assert not [remark for remark in compiled.remarks if "gradient" in remark.message]
    found = compiled.run({"x": x, "cotangent_y": cotangent})["grad_x"]
    slope = np.vdot(along(1e-2) - along(-1e-2), cotangent) / 2e-2
    assert np.vdot(found, way) == pytest.approx(slope, rel=1e-2, abs=1e-3)
    np.testing.assert_allclose(gradc.compile(model).reference({"x": x})["y"], along(0.0), rtol=1e-5)


def test_the_value_comes_with_the_gradient_by_default():
    """The result has no rank before the sequence is unpacked."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        agraph (float[n,t,2] x) => (float[n,1,2] y) {
            parts = SplitToSequence <axis = 1> (x)
            zero = Constant <value = int64 {0}> ()
            first = SequenceAt (parts, zero)
            y = Sin (first)
        }""")
    x = np.random.default_rng(0).standard_normal((3, 5, 2)).astype(np.float32)
    found = gradc.value_and_grad(model, reduce="sum").run({"x": x})
    assert list(found) == ["y", "grad_x"]
    np.testing.assert_allclose(found["y"], np.sin(x[:, :1]), rtol=1e-6)


JOINED = {
    "parts": ("(x)", "<axis = 1>", "float[n,t,2] y", (0, 1, 2)),
    "parts of two": ("(x, two)", "<axis = -2>", "float[n,t,2] y", (0, 1, 2)),
    "elements": ("<keepdims = 0> (x)", "<axis = 1, new_axis = 1>", "float[n,t,2] y", (0, 1, 2)),
    "elements, first": ("<keepdims = 0> (x)", "<axis = 0, new_axis = 1>", "float[t,n,2] y", (1, 0, 2)),
    "elements, last": ("<keepdims = 0> (x)", "<axis = -1, new_axis = 1>", "float[n,2,t] y", (0, 2, 1)),
}


@pytest.mark.parametrize("kind", JOINED)
def test_parts_are_put_together_again(kind: str):
    split, concat, result, order = JOINED[kind]
    split = f"SplitToSequence <axis = 1{', ' + split[1:] if split[0] == '<' else '> ' + split}"
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        agraph (float[n,t,2] x) => ({result}) {{
            two = Constant <value = int64 {{2}}> ()
            parts = {split}
            all = ConcatFromSequence {concat} (parts)
            y = Sin (all)
        }}""")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).standard_normal((3, 5, 2)).astype(np.float32)
    found = gradc.value_and_grad(model, reduce="sum").run({"x": x})
    np.testing.assert_allclose(found["y"], np.asarray(session.run(None, {"x": x})[0]), rtol=1e-6)
    np.testing.assert_allclose(found["y"], np.sin(x).transpose(order), rtol=1e-6)
    np.testing.assert_allclose(found["grad_x"], np.cos(x), rtol=1e-5)


LISTED = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n,t] x) => (float y) {{
    last = Constant <value_ints = [1]> ()
    all = Shape (x)
    size = Gather (all, last)
    {split}
    zero = Constant <value = int64 {{0}}> ()
    end = Constant <value_ints = [-1]> ()
    first = SequenceAt (parts, zero)
    rest = SequenceAt (parts, end)
    joined = ConcatFromSequence <axis = 1> (parts)
    a = ReduceSum <keepdims = 0> (first)
    b = ReduceSumSquare <keepdims = 0> (rest)
    c = Sin (joined)
    d = ReduceSum <keepdims = 0> (c)
    count = SequenceLength (parts)
    k = CastLike (count, a)
    ab = Add (a, b)
    abd = Add (ab, d)
    y = Mul (abd, k)
}}"""
TWO = "two = Constant <value_ints = [2]> () left = Sub (size, two) sizes = Concat <axis = 0> (two, left) "
HALF = "two = Constant <value_ints = [2]> () step = Div (size, two) none = Constant <value_ints = [0]> () "


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        (TWO + "parts = SplitToSequence <axis = -1> (x, sizes)", [2, 3]),
        (
            TWO + "few = Cast <to = 6> (sizes) parts = SplitToSequence <axis = 1, keepdims = 0> (x, few)",
            [2, 3],
        ),
        (HALF + "one = Squeeze (step, none) parts = SplitToSequence <axis = 1> (x, one)", [2, 2, 1]),
    ],
    ids=["a vector", "s32, keepdims = 0", "a number"],
)
def test_run_time_sizes_of_parts(split: str, sizes: list[int]):
    """PyTorch writes them of `torch.split` and `tensor_split` by sizes that follow from a run-time axis."""
    model = onnx.parser.parse_model(LISTED.format(split=split))
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    compiled = gradc.value_and_grad(model, check=True)
    assert not [remark for remark in compiled.remarks if "gradient" in remark.message]
    found = compiled.run({"x": x})
    np.testing.assert_allclose(found["y"], np.asarray(session.run(None, {"x": x})[0]), rtol=1e-5)
    expected = np.cos(x)
    expected[:, : sizes[0]] += 1
    expected[:, 5 - sizes[-1] :] += 2 * x[:, 5 - sizes[-1] :]
    np.testing.assert_allclose(found["grad_x"], len(sizes) * expected, rtol=1e-5)


PLACED = {
    "elements": ("parts = SplitToSequence <axis = 0, keepdims = 0> (x)", np.s_[1]),
    "parts": (
        "two = Constant <value = int64 {2}> () parts = SplitToSequence <axis = 0> (x, two)",
        np.s_[2:4],
    ),
    "a list": ("w = Neg (x) v = Neg (w) parts = SequenceConstruct (w, v)", np.s_[:]),
}


@pytest.mark.parametrize("kind", PLACED)
def test_a_position_may_be_a_vector_of_one_number(kind: str):
    """As PyTorch's TorchScript exporter writes it: the element has no axis more for that."""
    split, taken = PLACED[kind]
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        agraph (float[n,t] x, int64[1] place) => (y) {{
            {split}
            part = SequenceAt (parts, place)
            y = Sin (part)
        }}""")
    x = np.random.default_rng(0).standard_normal((5, 2)).astype(np.float32)
    place = np.array([1])
    found = gradc.value_and_grad(model, wrt="x", reduce="sum").run({"x": x, "place": place})
    expected = np.zeros_like(x)
    expected[taken] = np.cos(x[taken])
    np.testing.assert_allclose(found["y"], np.sin(x[taken]), rtol=1e-6)
    np.testing.assert_allclose(found["grad_x"], expected, rtol=1e-6)
