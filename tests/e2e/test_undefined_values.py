"""The gradient check on ops without a value: outside their domain, at some sizes, or because of a bug."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.cli import run_gradc

import gradc
from dialects.evaluate import evaluate
from dialects.onnx import numpy as reference
from dialects.onnx import ops
from dialects.support.diagnostics import GradcError
from gradc.compiler.driver import load
from gradc.verification.proof import Proof

HEAD = '<ir_version: 8, opset_import: ["": 17, "com.example": 1]>'
RAMP = "com.example.Ramp"


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{HEAD} {text}")


def chain() -> onnx.ModelProto:
    return model("g (float[N, 3] x) => (float[N, 3] y) { a = Tanh (x) y = Sin (a) }")


def ramp() -> onnx.ModelProto:
    found = model("g (float[3] x) => (float[3] y) { a = com.example.Ramp (x) y = Tanh (a) }")
    found.graph.value_info.append(onnx.helper.make_tensor_value_info("a", 1, [3]))
    return found


def proof_of_ramp(kernel: Any) -> Proof:
    found = gradc.vjp(ramp(), rules={RAMP: lambda f, g, e: [g[0] * 2]}, kernels={RAMP: kernel})
    assert found.proof is not None
    return found.proof


def rule_for_two_rows(f, g, e):
    return [(g[0] * (1 - f.y * f.y)).apply(ops.ReshapeOp, e.constant(np.array([2, 3])))]


def test_a_rule_that_fails_at_other_sizes_is_wrong():
    """The first sample has two rows; the second one has three."""
    with pytest.raises(gradc.CheckError, match=r'\[onnx.Tanh "a"\] .* for x \[3, 3\]: .* is to blame'):
        gradc.vjp(chain(), rules={"Tanh": rule_for_two_rows})


def test_a_compiled_gradient_that_fails_is_wrong(monkeypatch: pytest.MonkeyPatch):
    from gradc.derivatives import check

    def load_broken(proto: onnx.ModelProto, **options: Any) -> Any:
        proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([7, 7]), "sizes"))
        proto.graph.node.append(onnx.helper.make_node("Reshape", ["grad_x", "sizes"], ["broken"]))
        proto.graph.output.append(onnx.helper.make_tensor_value_info("broken", 1, [7, 7]))
        return load_right(proto, **options)

    load_right = check.load
    monkeypatch.setattr(check, "load", load_broken)
    with pytest.raises(gradc.CheckError, match="compiled model is wrong: it has no value where the gradient"):
        gradc.vjp(chain())


@pytest.mark.parametrize("error", [KeyError, AttributeError, AssertionError])
def test_a_bug_is_no_undecided_op(error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(call: Any) -> Any:
        raise error("of gradc")

    monkeypatch.setitem(reference.KERNELS, "Tanh", fail)
    text = f"internal error in the check of the gradient: {error.__name__}"
    with pytest.raises(gradc.InternalError, match=text):
        gradc.vjp(chain())
    onnx.save(chain(), tmp_path / "m.onnx")
    run = run_gradc("grad", tmp_path / "m.onnx", "--cotangents", "-o", tmp_path / "g.onnx")
    assert run.code == 70
    assert text in run.err
    assert not (tmp_path / "g.onnx").exists()


def test_a_kernel_of_the_user_is_proved():
    found = proof_of_ramp(lambda x: 2 * x)
    assert (found.proved, found.ops, found.whole) == (2, 2, True)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (lambda x: x + None, "kernels['com.example.Ramp'] failed: TypeError"),
        (lambda x: (x, x), "results of kernels['com.example.Ramp']: given 2, expected 1"),
        (lambda x: x[:2], "results of kernels['com.example.Ramp']: given [2], expected [3]"),
        (lambda x: "text", "results of kernels['com.example.Ramp']: given <U4, expected numbers"),
    ],
    ids=["exception", "count", "shape", "type"],
)
def test_a_failing_kernel_of_the_user_is_named(kernel: Any, expected: str):
    found = proof_of_ramp(kernel)
    assert found.status == "not checked"
    assert expected in str(found)


@pytest.mark.parametrize("op", ["Log", "Sqrt", "Reciprocal"])
def test_an_op_behind_zeros_is_proved_at_positive_operands(op: str):
    text = f"""g (float[4] x) => (float[4] y) <float half = {{0.5}}>
        {{ d = Sub (x, x) p = Add (d, half) r = {op} (p) y = Mul (r, x) }}"""
    found = gradc.vjp(model(text)).proof
    assert found is not None
    assert found.status == "proved", str(found)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s = SequenceConstruct (x, x) y = SequenceAt (s, two)", "operands of SequenceAt: list index out of"),
        ("s = SequenceConstruct (x) y = SequenceErase (s, two)", "operands of SequenceErase: pop index out"),
        (
            "s = SequenceConstruct (x, z) y = ConcatFromSequence <axis = 0> (s)",
            "of ConcatFromSequence: all the",
        ),
    ],
)
def test_invalid_operands_of_a_sequence_op_are_no_bug(body: str, expected: str):
    kind = "seq(float[3])" if "Erase" in body else "float[K]"
    text = f"g (float[3] x, float[1, 3] z) => ({kind} y) <int64 two = {{2}}> {{ {body} }}"
    with pytest.raises(GradcError, match=expected):
        evaluate(load(model(text)), [np.ones(3, np.float32), np.ones((1, 3), np.float32)])


def test_a_sequence_of_values_with_tangents_is_proved():
    text = """g (float[2, 3] x, float[4, 3] z) => (float[K, 3] y)
        { a = Sin (x) b = Tanh (z) s = SequenceConstruct (a, b) y = ConcatFromSequence <axis = 0> (s) }"""
    found = gradc.vjp(model(text)).proof
    assert found is not None
    assert found.status == "proved", str(found)


def test_a_rule_that_reads_a_later_masked_value_is_right():
    """Where the cotangent of the Softmax is not 0, its result is that of the Where, which the gradient reads;
    cotangents of the Softmax alone must have the same zeros."""
    text = """g (float[2, 3, 1] x) => (float[2, 3, 1] y) <float zero = {0.0}>
        { s = Selu (x) p = Softmax <axis = -1> (s) m = Greater (s, zero) y = Where (m, s, p) }"""
    found = gradc.vjp(model(text), check=True).proof
    assert found is not None
    assert found.whole


@pytest.mark.parametrize("given", [("--check", "--no-check"), ("--no-check", "--check-seconds", "3")])
def test_options_of_the_check_exclude_each_other(given: tuple[str, ...], tmp_path: Path):
    onnx.save(chain(), tmp_path / "m.onnx")
    run = run_gradc("grad", tmp_path / "m.onnx", "--cotangents", *given, "-o", tmp_path / "g.onnx")
    assert run.code == 2
    assert "expected one of the two" in run.err
    assert not (tmp_path / "g.onnx").exists()


def test_sizes_that_only_numpy_accepts_are_no_fault():
    """The reference broadcasts batch axes of different sizes, which onnxruntime rejects."""
    text = """g (float[A, B, C] x, int64[D, E, 1] i) => (float[K, L, M] y)
        { y = GatherND <batch_dims = 1> (x, i) }"""
    assert gradc.vjp(model(text), wrt="x", check=True).proof is not None
