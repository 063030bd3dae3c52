"""The proof of a gradient: what is wrong is found and blamed on its op, what is right is not."""

from __future__ import annotations

import time
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.cli import run_gradc
from support.faults.fault import scaled

import gradc
from dialects.onnx import ops as onnx_ops
from dialects.support.diagnostics import UsageError
from passes.autodiff.table import RULES
from passes.builder.values import Value

HEAD = '<ir_version: 8, opset_import: ["": 17, "com.example": 1]>'
RNG = np.random.default_rng(0)


def model(text: str, **weights: np.ndarray) -> onnx.ModelProto:
    found = onnx.parser.parse_model(f"{HEAD} {text}")
    arrays = {name: array.astype(np.float32) for name, array in weights.items()}
    found.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in arrays.items())
    return found


def network() -> onnx.ModelProto:
    """Sizes that only run time knows, an input of integers, weights, and a kink."""
    text = """
    g (float[N, 3, H, W] x, int64[K] rows) => (float[K, 2] y)
    <float[4, 3, 3, 3] k, float[4, 2] w>
    {
        c = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, k)
        r = Relu (c)
        p = GlobalAveragePool (r)
        f = Flatten (p)
        t = Tanh (f)
        m = MatMul (t, w)
        y = Gather (m, rows)
    }"""
    return model(text, k=RNG.normal(size=(4, 3, 3, 3)), w=RNG.normal(size=(4, 2)))


ASKED = {"wrt": ["x", "k", "w", "r"], "cotangents": True}


def undecided(found: gradc.Compiled) -> list[str]:
    return [str(remark) for remark in found.remarks if "gradient" in str(remark)]


def test_what_is_right_passes():
    assert undecided(gradc.grad(network(), **ASKED, check=True)) == []


def wrong_tanh(f, g, e):
    return [g[0] * (1 - f.y)]


def wrong_relu(f, g, e):
    return [g[0] * 1.01]


@pytest.mark.parametrize(("op", "rule"), [("Tanh", wrong_tanh), ("Relu", wrong_relu)])
def test_a_wrong_rule_is_found_and_blamed(op: str, rule):
    with pytest.raises(gradc.CheckError) as caught:
        gradc.grad(network(), **ASKED, rules={op: rule})
    assert caught.value.exit_code == 1
    assert f"[onnx.{op}" in str(caught.value)
    assert "by differences" in str(caught.value)
    assert "this op is to blame" in str(caught.value)
    gradc.grad(network(), **ASKED, rules={op: rule}, check=False)


@pytest.mark.parametrize(
    ("op", "node"),
    [
        ("LayerNormalization", "y = LayerNormalization (u, s)"),
        ("Resize", 'y = Resize <mode = "linear"> (u, , twice)'),
    ],
    ids=["f32 results", "f32 operands"],
)
def test_an_op_that_onnx_has_no_f64_form_of_is_blamed(op: str, node: str):
    """The Mean of LayerNormalization and the scales of Resize are f32 whatever the data are."""
    text = f"""g (float[4, 6] x) => (float[4, N] y) <float[2] twice = {{1.0, 2.0}}, float[6] s>
        {{ u = Sin (x) {node} }}"""
    right = RULES[op]

    def wrong(f, g, e):
        first, *others = right(f, g, e)
        assert isinstance(first, Value)
        return [first * 1.01, *others][: len(f.operands)]

    with pytest.raises(gradc.CheckError, match=f"onnx.{op} .* this op is to blame"):
        gradc.vjp(model(text, s=np.ones(6)), wrt="x", rules={op: wrong}, check=True)


def test_the_command_line_ends_with_1_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from gradc.cli.main import main
    from passes.autodiff import vjp

    source, output = tmp_path / "m.onnx", tmp_path / "g.onnx"
    onnx.save(network(), source)
    monkeypatch.setattr(vjp, "RULES", {**vjp.RULES, "Tanh": wrong_tanh})
    request = ["grad", str(source), "--reduce", "mean", "-q", "-o", str(output)]
    with pytest.raises(SystemExit) as ended:
        main(request)
    assert ended.value.code == 1
    assert not output.exists()
    with pytest.raises(SystemExit) as ended:
        main([*request, "--no-check"])
    assert ended.value.code in (0, None)
    assert output.exists()


def test_a_sum_that_is_wrong_is_no_op_s_fault(monkeypatch: pytest.MonkeyPatch):
    from passes.autodiff.vjp import Walk

    total = Walk._total

    def of_the_last(self, value):
        self.cotangents[value] = self.cotangents[value][-1:]
        return total(self, value)

    monkeypatch.setattr(Walk, "_total", of_the_last)
    text = "g (float[3] x) => (float[6] y) { a = Softmax(x) b = LogSoftmax(x) y = Concat<axis = 0>(a, b) }"
    with pytest.raises(gradc.CheckError, match=r"cotangent of x is wrong.*every op is right alone"):
        gradc.vjp(model(text))


def test_a_compiled_model_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch):
    from gradc.compiler.compiled import Compiled

    run = Compiled.run

    def off(self, inputs):
        return {name: array * np.float32(1.01) for name, array in run(self, inputs).items()}

    monkeypatch.setattr(Compiled, "run", off)
    with pytest.raises(gradc.CheckError, match="grad_x of the compiled model is wrong"):
        gradc.grad(network(), wrt="x", reduce="sum")


@pytest.mark.parametrize(
    "body",
    [
        "y = Log(x)",  # nothing at points that are not positive
        "z = Abs(x) y = Sqrt(z)",
        "a = Sub(x, x) y = Relu(a)",  # a kink at every point, where both sides are 0
        "y = Round(x) ",
    ],
)
def test_what_is_hard_is_right_or_undecided(body: str):
    found = gradc.grad(model(f"g (float[3] x) => (float[3] y) {{ {body} }}"), reduce="sum", allow_unused=True)
    assert undecided(found) == []


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("op", ["HardSwish", "Gelu", "LeakyRelu <alpha = 0.3>", "Selu"])
def test_numbers_of_rules_are_not_rounded_to_a_half_type(op: str, dtype: str):
    """1/6 in bf16 is off by a five-hundredth, and so is the gradient of each layer: a false alarm."""
    values = ["x", *(f"v{i}" for i in range(7)), "y"]
    nodes = "".join(f"{y} = {op} ({x})\n" for x, y in pairwise(values))
    text = f'<ir_version: 10, opset_import: ["": 22]> g ({dtype}[6] x) => ({dtype}[6] y) {{ {nodes} }}'
    found = gradc.grad(onnx.parser.parse_model(text), wrt=["x"], cotangents=True, check=True)
    assert not undecided(found)
    constants = {tensor.name for tensor in found.model.graph.initializer}
    casts = [node for node in found.model.graph.node if node.op_type == "Cast"]
    assert not [node.output[0] for node in casts if node.input[0] in constants]


def test_a_kink_everywhere_is_undecided():
    zeros = model("g (float[3] x) => (float[3] y) <float[3] z> { a = Mul(z, x) y = Relu(z) }", z=np.zeros(3))
    found = undecided(gradc.grad(zeros, wrt="z", reduce="sum"))
    assert len(found) == 1
    assert "not decided: Relu y (3 elements at its kink)" in found[0]


def test_a_kink_of_one_term_among_others_is_undecided():
    """As of a clip to a least number that what it clips has: differences give the mean of both sides."""
    text = """
    g (float[3] x) => (float[3] y) <float[3] z, float least, float[3] k>
    { s = Sin(z) m = Mul(s, k) c = Clip(z, least) a = Add(m, c) y = Mul(a, x) }"""
    arrays = {"z": np.array([0.5, 2, 3]), "least": np.array(0.5), "k": np.array([300, 400, 500])}
    shared, reported = undecided(gradc.grad(model(text, **arrays), wrt="z", reduce="sum"))
    assert "z is read by Sin s and Clip c; its gradient is the sum over them" in shared
    assert "not decided: Add a (Clip c within has 1 element at a kink)" in reported


def test_an_op_that_numpy_has_no_meaning_of_is_named():
    text = "g (float[3] x) => (float[3] y) { a = com.example.Ramp(x) b = Tanh(x) y = Add(a, b) }"
    source = model(text)
    source.graph.value_info.append(onnx.helper.make_tensor_value_info("a", 1, [3]))
    found = gradc.grad(source, reduce="sum", rules={"com.example.Ramp": lambda f, g, e: [g[0] * 2]})
    (reported,) = undecided(found)[:1]
    assert "com.example.Ramp" in reported


@pytest.mark.parametrize(("op", "name"), [("Softsign", "c"), ("Sigmoid", "b"), ("Mul", "a"), ("Mul", "y")])
def test_one_of_several_ops_with_one_step_is_blamed(op: str, name: str):
    """The walk differentiates all ops of this function of one value together."""
    source = model(
        "g (float[6] x) => (float[6] y) { a = Mul(x, x) b = Sigmoid(a) c = Softsign(b) y = Mul(c, x) }"
    )
    fault = scaled(op, name, 1.01, "")
    blamed = rf'^error: \[onnx\.{op} "{name}"\] its derivative .* is wrong: .*; this op is to blame$'
    with fault.injected(), pytest.raises(gradc.CheckError, match=blamed):
        gradc.grad(source, reduce="sum")


def test_a_limit_of_time():
    """Within a thousandth of a second nothing is proved, and the file is written all the same."""
    (reported,) = undecided(gradc.grad(network(), **ASKED, check_seconds=1e-3))
    assert "the whole takes more than the time or memory of the check" in reported
    with pytest.raises(UsageError, match="check=True and check_seconds=3: expected one of the two"):
        gradc.grad(network(), **ASKED, check=True, check_seconds=3)


def test_the_load_of_the_machine_takes_no_time_from_the_check(monkeypatch: pytest.MonkeyPatch):
    """A thousand seconds pass between any two looks at the wall clock."""
    ticks = count(step=1000)
    for clock in ("perf_counter", "monotonic", "time"):
        monkeypatch.setattr(time, clock, lambda: next(ticks))
    assert gradc.grad(network(), **ASKED).proof.status == "proved"


def test_single_ops_are_proved_where_the_whole_takes_too_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gradc.verification.prove.estimate_seconds", lambda plan: 1e9)
    found = gradc.grad(network(), **ASKED)
    assert found.proof is not None
    assert str(found.proof).startswith("proved: 7 of 7 ops, worst")
    assert found.proof.status == "partly proved"
    with pytest.raises(gradc.CheckError, match=r"\[onnx.Tanh .* this op is to blame"):
        gradc.grad(network(), **ASKED, rules={"Tanh": wrong_tanh})


@pytest.mark.parametrize(
    "last", ["t = Tanh (a) y = ReduceSum <keepdims = 0> (t)", "s = ReduceSum <keepdims = 0> (a) y = Tanh (s)"]
)
def test_a_constant_that_a_rule_shares_with_the_gradient_of_the_result_stays(
    monkeypatch: pytest.MonkeyPatch, last: str
):
    """Both are 1, so they are one op: the rule of Tanh reads it in 1 - y y."""
    monkeypatch.setattr("gradc.verification.prove.estimate_seconds", lambda plan: 1e9)
    source = model(f"g (float[N, 3] x) => (float y) {{ a = Mul (x, x) {last} }}")
    assert str(gradc.grad(source).proof).startswith("proved: 3 of 3 ops, worst")


def test_what_a_rule_gives_is_held_against_its_operand():
    with pytest.raises(gradc.UsageError, match="gradient of operand 0 by the rule of Tanh"):
        gradc.grad(network(), wrt="x", reduce="sum", rules={"Tanh": lambda f, g, e: [g[0].cast("f64")]})
    with pytest.raises(gradc.UsageError, match=r"given NoneType, expected a Value or gradc\.ZERO"):
        gradc.grad(network(), wrt="x", reduce="sum", rules={"Tanh": lambda f, g, e: [None]})
    for given, expected_message in (
        ([], "given 0, expected 1"),
        (None, "given NoneType, expected a list of 1"),
    ):
        with pytest.raises(
            gradc.UsageError, match=f"result of the rule of Tanh: {expected_message}, one for each"
        ):
            gradc.grad(network(), wrt="x", reduce="sum", rules={"Tanh": lambda f, g, e, given=given: given})
    with pytest.raises(gradc.UsageError, match="rules: given"):
        gradc.grad(network(), wrt="x", reduce="sum", rules={"Tanh": 3})


def test_cotangents_that_are_not_what_an_input_is():
    """The derivative of a norm along its own direction is zero, up to roundings of which nothing follows."""
    domain = "ai.onnx.ml"
    node = onnx.helper.make_node("Normalizer", ["x"], ["y"], domain=domain, norm="L2")
    x, y = (onnx.helper.make_tensor_value_info(name, 1, ["N", 4]) for name in "xy")
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid(domain, 3)]
    graph = onnx.helper.make_graph([node], "g", [x], [y])
    source = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    assert gradc.vjp(source, check=True).remarks == ()


def test_cotangents_of_a_gradient_that_are_not_what_its_operand_is():
    """x * grad_x of a function that no factor of x changes is nothing but roundings, and an epsilon."""
    text = '<ir_version: 10, opset_import: ["": 23]> g (float[3, 4] x, float[3, 4] w) => (float[3, 4] y)'
    source = onnx.parser.parse_model(f"{text} {{ y = RMSNormalization <axis = 0> (x, w) }}")
    assert undecided(gradc.hvp(source, reduce="sum", check=True)) == []


@pytest.mark.parametrize("made", [gradc.grad, gradc.hvp])
@pytest.mark.parametrize(("kind", "seed"), [("float", 1), ("double", 1), ("double", 6)])
@pytest.mark.parametrize("nodes", ["y = Softmax (a)", "e = Sigmoid (a) s = ReduceSum (e) y = Div (e, s)"])
def test_a_sum_of_probabilities_has_a_gradient_of_nothing_but_roundings(
    nodes: str, kind: str, seed: int, made
):
    weights = np.random.default_rng(seed).standard_normal(15) * 3
    values = f"{kind}[3, 5] w = {{{', '.join(map(str, weights))}}}"
    body = f"g ({kind}[N, 3] x) => ({kind}[N, 5] y) <{values}> {{ a = MatMul (x, w) {nodes} }}"
    found = made(model(body), reduce="sum", check=True)
    x = np.ones((2, 3), {"float": np.float32, "double": np.float64}[kind])
    (got,) = found.run({info.name: x for info in found.inputs}).values()
    assert np.abs(got).max() < 1e-4


def test_a_number_that_the_model_rounds_is_rounded_where_it_is_moved():
    head, nodes = (
        "g (float16[3] x) => (float16[3] y) <float c = {0.35}>",
        "r = Sqrt (c) h = Cast <to = 10> (r)",
    )
    body = f"{head} {{ {nodes} y = Mul (x, h) }}"
    assert undecided(gradc.grad(model(body), reduce="sum", check=True)) == []


CALLED = """<ir_version: 8, opset_import: ["": 17, "own": 1, "com.example": 1]>
g (float[3] x) => (float[3] y) { y = own.F (x) }
<domain: "own", opset_import: ["": 17, "com.example": 1]>
F (a) => (b) { q = Mul (a, a) b = com.example.Ramp (q) }"""


def test_rules_of_ops_within_functions():
    """The type of what the op gives is that which the model declares of its result."""
    rules = {"com.example.Ramp": lambda f, g, e: [g[0] * 2]}
    found = gradc.grad(onnx.parser.parse_model(CALLED), reduce="sum", rules=rules)
    got = found.run({"x": np.array([1, 2, 3], np.float32)})["grad_x"]
    np.testing.assert_array_equal(got, [4, 8, 12])


def test_rules_of_functions_are_refused():
    with pytest.raises(gradc.GradcError, match=r"rules of own\.F: given a function of the model"):
        gradc.grad(onnx.parser.parse_model(CALLED), rules={"own.F": lambda f, g, e: [g[0]]})


@pytest.mark.parametrize(
    ("inputs", "node"),
    [
        ("float[N, C, L] x, int64[M, K] t", "NegativeLogLikelihoodLoss (x, t)"),
        ("float[2, N, K] x", "STFT (x, two, , four)"),
    ],
)
def test_operands_of_other_shapes_than_an_op_takes_tell_nothing(inputs: str, node: str):
    """Such shapes are drawn where sizes have names of their own."""
    values, total = "<int64 two = {2}, int64 four = {4}>", "z = ReduceSum <keepdims = 0> (y)"
    gradc.grad(model(f"g ({inputs}) => (float z) {values} {{ y = {node} {total} }}"), wrt="x", check=True)


FAR = "s = Constant<value_ints = [20]>() e = Constant<value_ints = [1000]>() a = Constant<value_ints = [1]>()"


@pytest.mark.parametrize(
    "node",
    [
        'z = Constant<value_ints = [2, 1, 3]>() y = Resize<mode = "linear">(c, , , z)',
        "y = ReduceMax<keepdims = 0, axes = [1]>(c)",
        "y = MaxPool<kernel_shape = [3]>(c)",
        "y = Exp(c)",
    ],
)
def test_sizes_at_which_a_crop_is_empty_are_drawn_anew(node: str):
    """What lies from 20 on has nothing of the 12 that are drawn first: a Resize from it divided by 0."""
    text = f"g (float[2, N, 3] x) => (float[a, b, d] y) {{ {FAR} c = Slice(x, s, e, a) {node} }}"
    text = text.replace("[a, b, d]", "[a, d]") if "ReduceMax" in node else text
    assert undecided(gradc.vjp(model(text), wrt="x", check=True)) == []


def test_signals_are_drawn_as_long_as_their_windows():
    """A window of 256, as spectra have, is longer than the sizes that are drawn first."""
    text = """g (float[N, T] x) => (float[N, C, S] y) <float[2, 1, 256] w> {
        one = Constant<value_ints = [1]>() u = Unsqueeze(x, one) c = Conv<strides = [128]>(u, w) y = Tanh(c)
    }"""
    window = np.random.default_rng(0).standard_normal((2, 1, 256)) / 16
    assert undecided(gradc.vjp(model(text, w=window), wrt="x", check=True)) == []


@pytest.mark.parametrize(
    ("node", "expected_message"),
    [
        (
            'z = Constant<value_ints = [2, 1, 3]>() y = Resize<mode = "linear">(c, , , z)',
            "has no value for operands",
        ),
        ("p = Constant<value_ints = [0, -900, 0, 0, 0, 0]>() y = Pad(x, p)", "expected no negative size"),
        ("y = Neg(c)", "the results have no numbers at the sizes of a sample"),
    ],
)
def test_sizes_that_no_sample_has_are_told_in_words(node: str, expected_message: str):
    crop = f"{FAR.replace('[20]', '[900]')} c = Slice(x, s, e, a)"
    text = f"g (float[2, N, 3] x) => (float[a, b, d] y) {{ {crop} {node} }}"
    found = undecided(gradc.vjp(model(text), wrt="x", check=True))
    assert found
    for reported in found:
        assert "Fraction" not in reported
    assert expected_message in found[0]


def same(f, g, e):
    return [g[0]]


@pytest.mark.parametrize(
    ("title", "expected_message"),
    [
        ("com.exmaple.Ramp", r"given com\.exmaple\.Ramp, .*; did you mean com\.example\.Ramp\?"),
        ("com.example.Rmap", r"did you mean com\.example\.Ramp\?"),
        ("Ramp", r"did you mean com\.example\.Ramp\?"),
        ("ai.onnx.Mul", r"did you mean Mul\?"),
        ("Signmoid", r"did you mean Sigmoid"),
        ("microsoft.Gelu", r"did you mean Gelu or com\.microsoft\.Gelu\?"),
        ("If", "If takes no rule; it follows from the rules of the ops in its"),
    ],
)
@pytest.mark.parametrize("made", [gradc.grad, gradc.hvp])
def test_a_rule_of_what_is_no_op_is_an_error(made, title: str, expected_message: str):
    """It was left out, so that an op kept the rule of the table, or was refused."""
    rules = {"com.example.Ramp": lambda f, g, e: [g[0] * 2], title: same}
    with pytest.raises(UsageError, match=f"rules.*{expected_message}"):
        made(onnx.parser.parse_model(CALLED), reduce="sum", rules=rules)


def test_all_rules_of_what_is_no_op_are_told_at_once():
    with pytest.raises(UsageError) as caught:
        gradc.grad(network(), **ASKED, rules={"Foo": same, "Bar": same})
    assert "Foo" in str(caught.value)
    assert len(caught.value.others) == 1


def test_a_rule_of_an_op_that_the_model_has_not():
    gradc.grad(network(), **ASKED, check=False, rules={"Sinh": same, "com.microsoft.FusedMatMul": same})


WITHIN = """c = Constant <value = bool {1}> ()
    y = If (c) <then_branch = b () => (float[3] p) { p = Round (t) },
                else_branch = d () => (float[3] q) { q = Neg (t) }>"""


@pytest.mark.parametrize("body", ["y = Round (t)", WITHIN], ids=["alone", "within"])
def test_a_rule_of_an_op_that_is_zero_without_it(body: str):
    """A user's own straight-through estimate, which no difference confirms."""
    text = f"g (float[3] x) => (float[3] y) {{ t = Mul (x, x) {body} }}"
    found = gradc.grad(model(text), reduce="sum", rules={"Round": same}, check=False)
    assert not found.remarks
    x = np.array([0.2, -1.4, 3], np.float32)
    np.testing.assert_array_equal(found.run({"x": x})["grad_x"], 2 * x)


def test_on_the_command_line(tmp_path: Path):
    source, output = tmp_path / "m.onnx", tmp_path / "g.onnx"
    onnx.save(network(), source)
    done = run_gradc("grad", str(source), "--wrt", "x", "--reduce", "sum", "--check", "-o", str(output))
    assert done.code == 0, done.err
    assert "not" not in done.err


def test_a_place_that_is_written_twice_is_undecided():
    text = "g (float[3] x, int64[2] i, float[2] u) => (float[3] y) { y = ScatterElements(x, i, u) }"
    found = undecided(gradc.grad(model(text), reduce="sum"))
    assert len(found) == 1
    assert "its indices write one element twice" in found[0]
    text = "g (float[1, 1, 1, 3] x, int64[1, 1, 1, 3] i) => (float[1, 1, 1, 6] y)"
    text = f"{text} {{ y = MaxUnpool <kernel_shape = [1, 2], strides = [1, 2]> (x, i) }}"
    assert len(undecided(gradc.grad(model(text), reduce="sum"))) == 1


def test_what_can_be_named_is_listed(tmp_path: Path):
    source = tmp_path / "m.onnx"
    onnx.save(network(), source)
    done = run_gradc("inspect", str(source), "--values")
    assert done.code == 0, done.err
    rows = [line.split()[:2] for line in done.out.splitlines()[1:]]
    assert rows[:2] == [["x", "input"], ["rows", "input"]]
    assert ["k", "weight"] in rows
    assert ["r", "value"] in rows
    assert ["y", "output"] in rows
    done = run_gradc("inspect", str(source), "--values", "--json")
    assert '"floats": false' in done.out


def cube() -> onnx.ModelProto:
    return model("g (float[N, 3] x, float[N, 3] u) => (float[N, 3] y) { s = Mul (x, x)  y = Mul (s, x) }")


def by_way_of_sinh(f, g, e):
    """Right, as Asinh(Sinh(x)) is x."""
    around = [operand.apply(onnx_ops.SinhOp).apply(onnx_ops.AsinhOp) for operand in f.operands]
    return [g[0] * around[1], g[0] * around[0]]


class TestSecondDerivatives:
    def test_what_is_right_passes(self):
        found = gradc.hvp(cube(), wrt="x", reduce="sum", check=True)
        assert undecided(found) == []
        x, v = (RNG.normal(size=(2, 3)).astype(np.float32) for _ in range(2))
        got = found.run({"x": x, "u": x, "tangent_x": v})["hvp_x"]
        np.testing.assert_allclose(got, 6 * x * v, rtol=1e-5)

    def test_a_wrong_first_derivative(self):
        with pytest.raises(gradc.CheckError, match=r"onnx.Mul.* this op is to blame"):
            gradc.hvp(cube(), wrt="x", reduce="sum", check=True, rules={"Mul": lambda f, g, e: [g[0], g[0]]})

    def test_a_first_derivative_that_is_right_with_a_wrong_one_of_its_own(self):
        rules = {"Mul": by_way_of_sinh, "Sinh": lambda f, g, e: [g[0]]}
        with pytest.raises(gradc.CheckError, match=r"onnx.Sinh.* this op is to blame"):
            gradc.hvp(cube(), wrt="x", reduce="sum", check=True, rules=rules)

    def test_what_does_not_depend(self):
        with pytest.raises(UsageError, match=r"y does not depend on u; allow_unused=True gives zeros"):
            gradc.hvp(cube(), reduce="sum", check=False)
        found = gradc.hvp(cube(), reduce="sum", allow_unused=True)
        ones = np.ones((1, 3), np.float32)
        got = found.run({"x": ones, "u": ones, "tangent_x": ones, "tangent_u": ones})
        np.testing.assert_array_equal(got["hvp_u"], 0 * ones)


@pytest.mark.parametrize("kind", ["optional(float[3])", "optional(float[N])", "seq(float[3])"])
def test_what_is_in_a_container_has_the_shape_that_is_declared(kind: str):
    """It was a matrix, by which x would have been repeated: right gradients were called wrong."""
    taken = "OptionalGetElement(o)" if kind.startswith("optional") else "SequenceAt(o, i)"
    size = "3" if "3" in kind else "N"
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        g ({kind} o, float[{size}] x, int64 i) => (float[{size}] y) {{ v = {taken} y = Mul(v, x) }}""")
    found = gradc.vjp(model, wrt="x", check=True)
    assert not [remark for remark in found.remarks if "gradient" in remark.message]


def test_values_of_no_known_rank_are_in_float64_too():
    """As torch writes a squeeze: the branches have other ranks, of which the sizes choose one."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[n,3,h] x) => (float[n,3,h] y) {
        one = Constant <value_ints = [1]> ()
        e = Exp(x) sizes = Shape(e) channels = Gather(sizes, one) single = Equal(channels, one)
        chosen = If (single) <
            then_branch = squeezed () => (float[n,h] a) { a = Squeeze(e, one) },
            else_branch = whole () => (float[n,3,h] b) { b = Identity(e) }>
        again = Reshape(chosen, sizes) y = Mul(again, x) }""")
    assert not gradc.vjp(model, check=True).remarks


def test_a_log_of_a_sum_of_one_number_is_executed():
    scalar = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
        g (float x) => (float y) <int64[0] axes = {}> { y = ReduceLogSumExp <keepdims = 0> (x, axes) }""")
    feeds = {"x": np.array(0.5, np.float32)}
    assert gradc.compile(scalar).reference(feeds)["y"] == np.float32(0.5)
    assert gradc.grad(scalar, check=True).run(feeds)["grad_x"] == 1


ADDED_MASK = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[8,2,3] x, int64[8,1,3] mask) => (float[8,2,3] y)
    <float one = {1}, float lowest = {-3.4028235e38}> {
      seen = Cast <to = 1> (mask)
      hidden = Sub (one, seen)
      bias = Mul (hidden, lowest)
      scores = Add (x, bias)
      p = Softmax (scores)
      y = Tanh (p)
    }
"""


def test_a_mask_that_leaves_a_softmax_nothing_to_see():
    """What is added to -3e38 is lost, also in float64: differences are 0 there, and the gradient is not. Most
    language models that are exported with their masks add them."""
    source = onnx.parser.parse_model(ADDED_MASK)
    found = gradc.value_and_grad(source, wrt="x", cotangents=True, check=True)
    assert all("nothing to see" in str(one) for one in found.remarks)


def test_a_wrong_gradient_behind_a_mask_is_found():
    """Where masks are drawn that leave something to see."""
    source = onnx.parser.parse_model(ADDED_MASK.replace("[8,", "[1,"))
    rules = {"Tanh": lambda f, g, e: [g[0] * 2.0]}
    with pytest.raises(gradc.CheckError, match="is wrong"):
        gradc.value_and_grad(source, wrt="x", cotangents=True, check=True, rules=rules)


MASKED = """
    g (float[N, 3] x, bool[N] mask) => (float[N, 3] y)
    <float[1] least = {LEAST}, float[1] zero = {0}>
    {
        t = Transpose <perm = [1, 0]> (x)
        s = MatMul (x, t)
        m = Where (mask, zero, least)
        a = Add (s, m)
        p = Softmax (a)
        y = MatMul (p, x)
    }"""


@pytest.mark.parametrize("least", ["-3.4028235e38", "-1e9"])
@pytest.mark.parametrize("given", [{}, {"mask": np.zeros(4, bool)}])
def test_rows_that_are_masked_wholly_are_no_fault(least: str, given: dict[str, np.ndarray]):
    """A sum with the mask keeps nothing of a score, so by differences a masked row has no slope."""
    sizes = {"x": (4, 3)} if given else None
    masked = model(MASKED.replace("LEAST", least))
    found = gradc.vjp(masked, wrt="x", check=True, constants=given or None, static_shapes=sizes)
    assert undecided(found) == []


def wrong_softmax(f, g, e):
    return [f.y * g[0]]


@pytest.mark.parametrize("least", ["-3.4028235e38", "-1e9"])
def test_a_wrong_rule_is_found_beside_masks(least: str):
    masked = model(MASKED.replace("LEAST", least))
    with pytest.raises(gradc.CheckError, match="Softmax"):
        gradc.vjp(masked, wrt="x", rules={"Softmax": wrong_softmax}, check=True)


def test_small_activations_of_a_bounded_network():
    """A shift of ReLU6's bounds into the bias of a convolution lost activations below 1e-7 in f32."""
    layers = "".join(
        f"c{i} = Conv<pads = [1, 1, 1, 1]>({x}, k{i}, b)\nr{i} = Clip(c{i}, low, high)\n"
        for i, x in enumerate(["x", "r0", "r1"])
    )
    text = f"""g (float[1, 16, 8, 8] x) => (float[1, 16, 8, 8] r2)
        <float low = {{0.0}}, float high = {{6.0}}> {{ {layers} }}"""
    rng = np.random.default_rng(0)
    kernels = {f"k{i}": rng.normal(size=(16, 16, 3, 3)) * 1e-3 for i in range(3)}
    found = gradc.vjp(model(text, **kernels, b=np.zeros(16)), wrt="x", check=True)
    assert undecided(found) == []


def inverse(f, g, e):
    turned = f.y.apply(onnx_ops.TransposeOp, perm=[1, 0])
    return [-turned.apply(onnx_ops.MatMulOp, g[0]).apply(onnx_ops.MatMulOp, turned)]


def inverse_too_large(f, g, e):
    return [inverse(f, g, e)[0] * 1.05]


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_rule_of_an_op_that_only_the_runtime_computes(precision: str, monkeypatch: pytest.MonkeyPatch):
    from gradc.compiler import runtime_kernels

    if precision == "f32":
        monkeypatch.setattr(runtime_kernels, "PRECISIONS", (True,))
    head = HEAD.replace("com.example", "com.microsoft")
    text = "g (float[3, 3] x) => (float[3, 3] y) { a = com.microsoft.Inverse(x) y = Tanh(a) }"
    source = onnx.parser.parse_model(f"{head} {text}")
    source.graph.value_info.append(onnx.helper.make_tensor_value_info("a", 1, [3, 3]))
    found = gradc.vjp(source, rules={"com.microsoft.Inverse": inverse})
    assert found.proof is not None
    assert found.proof.status == "proved"
    with pytest.raises(gradc.CheckError, match=r"com\.microsoft\.Inverse .* this op is to blame"):
        gradc.vjp(source, rules={"com.microsoft.Inverse": inverse_too_large})


@pytest.mark.parametrize("target", ["cpu", "portable", "cuda"])
def test_every_target_is_proved(target: str):
    """As written for the target, also where it does not run."""
    found = gradc.vjp(network(), wrt="x", target=target)
    assert found.proof is not None
    assert found.proof.status == "proved"
    assert found.proof.runtime or target == "cuda"


def test_many_ops_in_a_row():
    """Each op of the runtime is off by some units in the last place, and all in one direction."""
    values = ["v0", *(f"v{i}" for i in range(1, 1501)), "y"]
    kinds = ("Sin", "Tanh", "Neg")
    nodes = "".join(f"{b} = {kinds[i % 3]}({a})\n" for i, (a, b) in enumerate(pairwise(values)))
    found = gradc.vjp(model(f"g (float[4] v0) => (float[4] y) {{ {nodes} }}"), check_seconds=300)
    assert undecided(found) == []
