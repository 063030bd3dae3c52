"""Gradients through sequences of which only run time knows how long they are, or where they are read."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import ModelProto

import gradc

MODEL = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n,3] x, int64 k, int64[m] lengths) => (float[{made}] y) {{
    yes = Constant <value = bool {{1}}> ()
    one = Constant <value = int64 {{1}}> ()
    zero = Constant <value = int64 {{0}}> ()
    s = Sin(x)
    {body}
}}"""

PARTS = "parts = SplitToSequence <axis = 0> (s, lengths)"
CASES = {
    "read at k": (f"{PARTS} p = SequenceAt(parts, k) y = Mul(p, p)", "a,3"),
    "read twice": (f"{PARTS} p = SequenceAt(parts, k) q = ReduceSum(x) t = SequenceAt(parts, zero) "
                   "r = ReduceSum(t) u = Mul(q, r) y = Mul(p, u)", "a,3"),
    "without k": (f"{PARTS} rest = SequenceErase(parts, k) c = ConcatFromSequence <axis = 0> (rest) "
                  "y = Mul(c, c)", "a,3"),
    "without the last": (f"{PARTS} rest = SequenceErase(parts) c = ConcatFromSequence <axis = 0> (rest) "
                         "y = Mul(c, c)", "a,3"),
    "with one more at k": (f"{PARTS} more = SequenceInsert(parts, x, k) "
                           "c = ConcatFromSequence <axis = 0> (more) y = Mul(c, c)", "a,3"),
    "with one more": (f"{PARTS} more = SequenceInsert(parts, x) c = ConcatFromSequence <axis = 0> (more) "
                      "y = Mul(c, c)", "a,3"),
    "of two": ("t = Exp(x) u = Concat <axis = 0> (x, x) two = SequenceConstruct(t, u) "
               "p = SequenceAt(two, k) y = Mul(p, p)", "a,3"),
    "stacked": ("t = Exp(x) two = SequenceConstruct(t, s) gone = SequenceErase(two, k) "
                "c = ConcatFromSequence <axis = 1, new_axis = 1> (gone) y = Mul(c, c)", "n,a,3"),
    "repeated": (
        f"""{PARTS} none = SequenceEmpty() count = SequenceLength(parts)
        all = Loop (count, yes, none)
              <body = step (int64 i, bool going, seq(float[a,3]) made) => (still, more) {{
            still = Identity(going)
            p = SequenceAt(parts, i)
            q = Mul(p, p)
            r = Concat <axis = 0> (q, p, p)
            more = SequenceInsert(made, r)
        }}>
        y = ConcatFromSequence <axis = 0> (all)""",
        "a,3",
    ),
    "in a loop of one state": (
        f"""{PARTS} count = SequenceLength(parts) w = ReduceSum(x)
        y = Loop (count, yes, w) <body = step (int64 i, bool going, float[1,1] h) => (still, next) {{
            still = Identity(going)
            p = SequenceAt(parts, i)
            q = Mul(p, p)
            r = ReduceSum(q)
            next = Mul(h, r)
        }}>""",
        "1,1",
    ),
    "in a branch": (
        f"""{PARTS} first = Equal(k, zero)
        p = If (first) <then_branch = yes_ () => (a) {{ a = SequenceAt(parts, k) }},
                        else_branch = no_ () => (b) {{ c = SequenceAt(parts, zero) b = Mul(c, c) }}>
        y = ReduceSum(p)""",
        "1,1",
    ),
}  # fmt: skip


def _model(kind: str) -> ModelProto:
    body, made = CASES[kind]
    return onnx.parser.parse_model(MODEL.format(body=body, made=made))


@pytest.mark.sweep(parts=22)
@pytest.mark.parametrize("lengths", [(2, 1, 3), (1, 5), (6,)], ids=str)
@pytest.mark.parametrize("k", [0, -1])
@pytest.mark.parametrize("kind", CASES)
def test_against_differences_of_onnxruntime(kind: str, k: int, lengths: tuple[int, ...]):
    if len(lengths) == 1 and kind.startswith("without"):
        return  # nothing is left
    model = _model(kind)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    x, way = rng.uniform(0.5, 1.0, (6, 3)).astype(np.float32), rng.standard_normal((6, 3)).astype(np.float32)
    at = {"k": np.array(k), "lengths": np.array(lengths)}

    def along(step: float) -> np.ndarray:
        return np.asarray(session.run(None, {"x": x + np.float32(step) * way, **at})[0], np.float64)

    def fed(compiled: gradc.Compiled, feeds: dict[str, np.ndarray]) -> np.ndarray:
        (found,) = compiled.run({info.name: feeds[info.name] for info in compiled.inputs}).values()
        assert found.shape == x.shape
        return np.vdot(found, way)

    cotangent = rng.standard_normal(along(0.0).shape).astype(np.float32)
    pulled = gradc.vjp(model, wrt="x")
    slope = np.vdot(along(3e-3) - along(-3e-3), cotangent) / 6e-3
    feeds = {"x": x, "cotangent_y": cotangent, **at}
    assert fed(pulled, feeds) == pytest.approx(slope, rel=1e-2, abs=1e-2)
    ones = np.ones_like(cotangent)
    ahead, back = (
        fed(pulled, {**feeds, "x": x + np.float32(step) * way, "cotangent_y": ones}) for step in (3e-3, -3e-3)
    )
    if kind == "repeated":
        with pytest.raises(gradc.UnsupportedError, match="elements of a sequence that is carried"):
            gradc.hvp(model, wrt="x", reduce="sum")
        return
    second = fed(gradc.hvp(model, wrt="x", reduce="sum"), {"x": x, "tangent_x": way, **at})
    assert second == pytest.approx((ahead - back) / 6e-3, rel=1e-2, abs=2e-2)
