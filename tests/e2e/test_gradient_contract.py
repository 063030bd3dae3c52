"""What `gradc.grad` and `gradc grad` promise of names, inputs, sizes and results."""

from __future__ import annotations

import json
import re
from inspect import signature
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from support.cli import run_gradc

import gradc

HEAD = '<ir_version: 8, opset_import: ["": 17]>'
MODEL = """
g (float[N, 3, H, W] x, int64[K] places) => (float[N, 4] logits, float[K, 4] taken)
<float[4, 3, 3, 3] kernel, float[4] bias>
{
    c = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, kernel, bias)
    r = Relu (c)
    p = GlobalAveragePool (r)
    logits = Flatten (p)
    taken = Gather (logits, places)
}
"""
RNG = np.random.default_rng(0)
KERNEL = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
BIAS = RNG.normal(size=4).astype(np.float32)
X = RNG.normal(size=(2, 3, 6, 5)).astype(np.float32)
SEED = RNG.normal(size=(2, 4)).astype(np.float32)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def model() -> onnx.ModelProto:
    found = onnx.parser.parse_model(f"{HEAD} {MODEL}")
    found.graph.initializer.extend(
        [onnx.numpy_helper.from_array(KERNEL, "kernel"), onnx.numpy_helper.from_array(BIAS, "bias")]
    )
    return found


@pytest.fixture(scope="module")
def by_weights() -> gradc.Compiled:
    return gradc.vjp(model(), of="logits", wrt=["x", "kernel", "bias"])


FED = {"x": X, "places": np.array([0, 1]), "cotangent_logits": SEED}


def test_a_weight_is_an_input_that_has_its_value_by_default(by_weights: gradc.Compiled):
    assert [info.name for info in by_weights.optional_inputs] == ["kernel", "bias"]
    names = [value.name for value in by_weights.model.graph.input]
    assert names == ["x", "places", "kernel", "bias", "cotangent_logits"]
    once = by_weights.run(FED)
    again = by_weights.run(FED | {"kernel": KERNEL, "bias": BIAS})
    other = by_weights.run(FED | {"kernel": -KERNEL})
    changed = model()
    changed.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(-KERNEL, "kernel"))
    want = gradc.vjp(changed, of="logits", wrt=["x", "kernel", "bias"], weights="constant").run(FED)
    for name in ("grad_x", "grad_kernel", "grad_bias"):
        np.testing.assert_array_equal(once[name], again[name])
        np.testing.assert_allclose(other[name], want[name], atol=1e-5)
    reference = by_weights.reference(FED | {"kernel": -KERNEL})
    np.testing.assert_allclose(other["grad_x"], reference["grad_x"], atol=1e-5)
    np.testing.assert_allclose(once["grad_x"], by_weights.reference(FED)["grad_x"], atol=1e-5)


def test_a_weight_is_stored_once(by_weights: gradc.Compiled):
    arrays = [onnx.numpy_helper.to_array(tensor) for tensor in by_weights.model.graph.initializer]
    same = [array for array in arrays if array.size == KERNEL.size]
    assert len(same) == 1
    assert "dense" not in "".join(prop.value for prop in by_weights.model.metadata_props)


def test_plain_onnxruntime_takes_the_weights_or_leaves_them(by_weights: gradc.Compiled):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(by_weights.model.SerializeToString(), options)
    without = session.run(["grad_kernel"], FED)[0]
    np.testing.assert_allclose(without, by_weights.run(FED)["grad_kernel"], rtol=1e-5)
    assert session.run(["grad_kernel"], FED | {"kernel": KERNEL})[0].shape == KERNEL.shape


def test_names_of_what_is_new_are_in_the_metadata():
    found = gradc.vjp(model(), of="logits", wrt="x", name_template="{name}.{what}")
    assert found.gradients == {"x": "x.grad"}
    reported = {prop.key: prop.value for prop in found.model.metadata_props}
    assert json.loads(reported["gradc.gradients"]) == {"x": "x.grad"}
    assert json.loads(reported["gradc.cotangents"]) == {"logits": "logits.cotangent"}


def test_sizes_that_are_said_are_known():
    found = gradc.grad(model(), of="logits", wrt="x", reduce="sum", static_shapes={"x": (2, 3, 6, 5)})
    assert [info.shape for info in found.inputs] == [(2, 3, 6, 5), ("K",)]
    assert [info.shape for info in found.outputs] == [(2, 3, 6, 5)]
    want = gradc.grad(model(), of="logits", wrt="x", reduce="sum").run({"x": X, "places": FED["places"]})
    got = found.run({"x": X, "places": FED["places"]})
    np.testing.assert_allclose(got["grad_x"], want["grad_x"], atol=1e-6)


def test_what_is_kept_of_an_element_is_the_tensor():
    found = gradc.grad(model(), of="logits[1,2]", wrt="x", keep_outputs="of")
    assert [info.name for info in found.outputs] == ["logits", "grad_x"]
    found = gradc.grad(model(), of="logits[1,2]", wrt="x", keep_outputs=["taken,r"])
    assert [info.name for info in found.outputs] == ["taken", "r", "grad_x"]


def test_a_weight_that_is_a_result_as_well():
    text = "g (float[2] x) => (float[2] y, float[2] w) <float[2] w = {2.0, 3.0}> {y = Mul (x, w)}"
    weight = onnx.parser.parse_model(f"{HEAD} {text}")
    fed = {"x": floats(5, 6), "cotangent_y": floats(1, 2), "cotangent_w": floats(10, 20)}
    both = gradc.vjp(weight, of=["y", "w"], wrt="w", check=False).run(fed)
    np.testing.assert_array_equal(both["grad_w"], [15, 32])
    seed = {"cotangent_w": fed.pop("cotangent_w")}
    alone = gradc.vjp(weight, of="w", wrt="w").run({"x": fed["x"], **seed})
    np.testing.assert_array_equal(alone["grad_w"], [10, 20])
    kept = gradc.vjp(weight, of="y", wrt="w", keep_outputs="all").run({**fed, "w": floats(7, 8)})
    assert [list(array) for array in kept.values()] == [[35, 48], [7, 8], [5, 12]]


@pytest.mark.parametrize("name", ["grad_x", "cotangent_grad_x", "grad_grad_x"])
def test_second_derivatives_of_models_that_have_names_of_gradients(name: str):
    text = f"g (float[2] x, float[2] {name}) => (float[2] y) {{ t = Mul (x, {name}) y = Mul (t, t) }}"
    found = gradc.hvp(onnx.parser.parse_model(f"{HEAD} {text}"), wrt="x", reduce="sum", check=True)
    fed = {"x": floats(1, 2), name: floats(3, 4), "tangent_x": floats(1, 10)}
    np.testing.assert_array_equal(found.run(fed)["hvp_x"], [18, 320])


@pytest.mark.parametrize("name", ["tangent_x", "hvp_x"])
def test_names_of_a_second_derivative_that_are_taken(name: str):
    text = f"g (float[2] x, float[2] {name}) => (float[2] y) {{ t = Mul (x, {name}) y = Mul (t, t) }}"
    with pytest.raises(gradc.UsageError, match=f"given {name}, expected unique new names"):
        gradc.hvp(onnx.parser.parse_model(f"{HEAD} {text}"), wrt="x", reduce="sum")


def test_patterns_and_names_each_once():
    found = gradc.grad(model(), of="logits", wrt=["kernel", "k*", "b*"], reduce="mean")
    assert list(found.gradients) == ["kernel", "bias"]


UNREAD = """
    g (float[2] x) => (float[2] y) <float[2] a_w = {2, 3}, float[3] b_w = {1, 2, 3}> { y = Mul (x, a_w) }
"""


def test_a_weight_that_nothing_reads():
    """Named it is said or gives zeros; patterns are not for it."""
    source = onnx.parser.parse_model(f"{HEAD} {UNREAD}")
    with pytest.raises(gradc.UsageError, match="y does not depend on b_w; allow_unused=True gives zeros"):
        gradc.vjp(source, wrt="b_w")
    with pytest.raises(gradc.UsageError, match="y and x do not depend on b_w"):
        gradc.vjp(source, of=["y", "x"], wrt="b_w")
    found = gradc.vjp(source, wrt="b_w", allow_unused=True)
    fed = {name: np.ones(2, np.float32) for name in ("x", "cotangent_y")}
    np.testing.assert_array_equal(found.run(fed)["grad_b_w"], [0, 0, 0])
    assert list(gradc.vjp(source, wrt="*_w").gradients) == ["a_w"]


MISTAKES = {
    "integers": ({"wrt": "places", "of": "taken"}, "the next floats behind it are taken"),
    "both": ({"cotangents": True, "reduce": "sum", "of": "logits"}, "expected one of the two"),
    "two results": ({"cotangents": True}, "results of floats, logits and taken; name what"),
    "near": ({"of": "logit", "reduce": "sum"}, "did you mean logits"),
    "near pattern": ({"of": "logits", "reduce": "sum", "wrt": "kernal.*"}, "there is no value"),
    "near shape": ({"of": "logits", "static_shapes": {"xx": (1,)}}, "static_shapes: given xx"),
    "rank": ({"of": "logits", "static_shapes": {"x": (1,)}}, r"expected \[N, 3, H, W\]"),
    "size": ({"of": "logits", "static_shapes": {"x": (1, "a", 2, 2)}}, "a whole number"),
    "no shape": ({"static_shapes": [1]}, "a mapping from names"),
    "shape": ({"static_shapes": {"x": 3}}, "names of inputs to sizes"),
    "template": ({"of": "logits", "reduce": "sum", "name_template": "{name}"}, "name_template: given"),
    "braces": ({"name_template": "{name}{what"}, "name_template: given"),
    "format": ({"name_template": "{name!r}_{what}"}, "name_template: given"),
    "taken": ({"of": "logits", "reduce": "sum", "wrt": ["grad_x", "x"]}, "there is no value grad_x"),
    "twice": ({"of": "logits", "reduce": "sum", "wrt": ["x", "x"]}, "no name twice"),
    "several elements": ({"of": "logits"}, "reduce takes sum or mean"),
    "an element that is none": ({"of": "logits[1,2,3]"}, r"an element of logits is written logits\[0,0\]"),
    "an element beyond": (
        {"of": "logits[0,999]"},
        r"of logits\[0,999\]: given 999 on axis 1, expected -\d+ to",
    ),
    "several": (
        {"of": "logits", "reduce": "sum", "wrt": ["kernl", "bais"]},
        r"no value kernl; did you mean kernel or taken\?\n.*no value bais; did you mean bias\?",
    ),
    "far": ({"of": "nothing_like_it"}, "gradc inspect --values"),
    "reduce": ({"of": "logits", "reduce": "max"}, "one of sum, mean"),
    "no flag": ({"of": "logits", "reduce": "sum", "weights_as_inputs": 1}, "True or False"),
    "no names": ({"wrt": 3}, "expected names"),
    "an empty list": ({"of": "logits", "reduce": "sum", "wrt": []}, "one name; leave it out for every"),
    "an empty set": ({"of": set(), "reduce": "sum"}, "of: given .*at least one name"),
    "used up": ({"of": (name for name in ()), "reduce": "sum"}, "of: given .*at least one name"),
    "keep": ({"of": "logits", "reduce": "sum", "keep_outputs": "lojits"}, "keep_outputs: there is no"),
    "no constant": ({"of": "logits", "reduce": "sum", "constants": {"y": 1}}, "constant"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_said(mistake: str):
    given, text = MISTAKES[mistake]
    with pytest.raises(gradc.GradcError, match=text):
        gradc.grad(model(), **given)


def test_what_was_compiled_is_no_source_but_has_one():
    found = gradc.vjp(named_twice(), wrt="x")
    with pytest.raises(gradc.UsageError, match=r"source: given Compiled, .*; its \.model is one"):
        gradc.grad(found, reduce="sum")
    assert list(gradc.vjp(found.model, wrt="x").gradients) == ["x"]


def test_floats_of_no_known_rank_are_said_to_be_that():
    source = onnx.parser.parse_model(f"{HEAD} g (float[N] x) => (float[N] y) {{ y = Exp (x) }}")
    source.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(gradc.GradcError, match="expected a tensor of floats of known rank"):
        gradc.grad(source, reduce="sum", wrt="x")


def test_on_the_command_line(tmp_path: Path):
    source, output = tmp_path / "m.onnx", tmp_path / "g.onnx"
    onnx.save(model(), source)
    request = ("--of", "logits", "--wrt", "kernel", "--cotangents", "--static-shape", "x=2,3,6,5")
    done = run_gradc("grad", str(source), *request, "--name-template", "{what}.{name}", "-o", str(output))
    assert done.code == 0, done.err
    found = onnx.load(output).graph
    assert [value.name for value in found.output] == ["grad.kernel"]
    assert [value.name for value in found.input][-2:] == ["kernel", "cotangent.logits"]
    done = run_gradc("grad", str(source), *request, "--no-weights-as-inputs", "-o", str(output))
    assert done.code == 0, done.err
    assert [value.name for value in onnx.load(output).graph.input] == ["x", "places", "cotangent_logits"]
    done = run_gradc("grad", str(source), "--of", "logits", "-o", str(output))
    assert done.code == 2
    assert re.search(r"--of: given logits of shape .*--reduce takes .* such as logits\[0,0\]", done.err)
    done = run_gradc("grad", str(source), "--static-shape", "x=2;3", "-o", str(output))
    assert done.code == 2
    assert "expected NAME=2x4x8x8 or NAME=2,4,8,8" in done.err
    done = run_gradc("grad", str(source), "--static-shape", "x=2x3", "-o", str(output))
    assert "--static-shape of x: given [2, 3], expected [N, 3, H, W]" in done.err


def named_twice() -> onnx.ModelProto:
    """A model whose nodes have names, as those of exporters have: each names the result of its node, too."""
    source = onnx.parser.parse_model(
        f"{HEAD} g (float[N, 3] x) => (float[N, 3] y) {{ s = Exp (x) y = Mul (s, s) }}"
    )
    for node, name in zip(source.graph.node, ("/Exp", "/Mul"), strict=True):
        node.name = name
    return source


def test_a_pattern_stands_for_each_value_once():
    assert list(gradc.vjp(named_twice(), wrt="*").gradients) == ["s", "y", "x"]
    assert list(gradc.vjp(named_twice(), wrt=["/Exp", "*"]).gradients) == ["/Exp", "y", "x"]
    assert list(gradc.vjp(named_twice(), wrt="/E*").gradients) == ["/Exp"]
    with pytest.raises(gradc.UsageError, match=r"given /Exp and s, .* both are names of one value"):
        gradc.vjp(named_twice(), wrt=["/Exp", "s"])


def test_a_value_is_listed_once_with_all_its_names(tmp_path: Path):
    source = tmp_path / "m.onnx"
    onnx.save(named_twice(), source)
    found = json.loads(run_gradc("inspect", str(source), "--values", "--json").out)
    assert [(value["name"], value["also"]) for value in found] == [
        ("x", []),
        ("s", ["/Exp"]),
        ("y", ["/Mul"]),
    ]


STRIDED = """
g (float[N, 3, H, W] x) => (float[N, 4, P, Q] y) <float[4, 3, 3, 3] kernel>
{ y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, kernel) }
"""


def test_a_written_gradient_is_a_source_like_any_other(tmp_path: Path):
    source, gradient = tmp_path / "m.onnx", tmp_path / "g.onnx"
    strided = onnx.parser.parse_model(f"{HEAD} {STRIDED}")
    strided.graph.initializer.append(onnx.numpy_helper.from_array(KERNEL, "kernel"))
    onnx.save(strided, source)
    done = run_gradc(
        "grad", str(source), "--wrt", "x", "--wrt", "kernel", "--cotangents", "-o", str(gradient)
    )
    assert done.code == 0, done.err
    (cotangent,) = [value for value in onnx.load(gradient).graph.input if value.name == "cotangent_y"]
    dims = [dim.dim_param or dim.dim_value for dim in cotangent.type.tensor_type.shape.dim]
    assert dims == ["N", 4, "(H + 1)//2", "(W + 1)//2"]
    for command in (["run", "-o", str(tmp_path / "r.npz")], ["verify"], ["inspect"], ["explain"]):
        done = run_gradc(command[0], str(gradient), *command[1:])
        assert done.code == 0, (command, done.err)
    again = run_gradc(
        "grad", str(gradient), "--of", "grad_x", "--wrt", "kernel", "--reduce", "sum", "-o", str(source)
    )
    assert again.code == 0, again.err
    assert "could not" not in again.err


def test_the_rules_are_listed():
    done = run_gradc("grad", "--list-rules")
    assert done.code == 0, done.err
    rows = dict(line.split(maxsplit=1) for line in done.out.splitlines())
    assert rows["Conv"] == "has a rule"
    assert rows["Round"] == "zero: it is constant between jumps"
    assert rows["MaxRoiPool"].startswith("refused: its regions are rounded")
    assert len(rows) > 190


def test_a_pool_of_onednn_is_named_by_its_result_not_by_its_places():
    g = gradc.Graph()
    x = g.input("x", "f32", [1, 2, 4, 4])
    window = {"kernel": [2, 2], "strides": [2, 2], "pads_begin": [0, 0], "pads_end": [0, 0]}
    g.output(g.gelu(g.max_pool(x, **window, data_format="NCX", name="pool")), "y")
    assert list(gradc.vjp(g, wrt=["pool", "x"]).gradients) == ["pool", "x"]


def test_an_element_of_a_value_of_no_known_rank():
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x, int64[K] s) => (float[M, 2] y) '
    source = onnx.parser.parse_model(text + "{ e = Exp (x) y = Expand (e, s) }")
    source.graph.output[0].type.tensor_type.ClearField("shape")
    with pytest.raises(gradc.UsageError, match=r"of y\[0,1\]: given a value of unknown rank"):
        gradc.grad(source, of="y[0,1]", wrt="x")


@pytest.mark.parametrize("rows", [1, 4])
def test_branches_and_steps_where_sizes_are_said(rows: int):
    """The first branch has a meaning for one row only."""
    body = "b (int64 i, bool c, float[3] v) => (bool d, float[3] w) { d = Identity (c) w = Mul (v, f) }"
    text = f"""<ir_version: 8, opset_import: ["": 18]> g (float[N, 3] x) => (float y)
        <int64[1] ax = {{0}}, int64 one = {{1}}, int64 two = {{2}}, float f = {{3}}, bool yes = {{1}}> {{
        s = Shape (x) n = Gather (s, ax) c = Equal (n, one)
        t = If (c) <then_branch = a () => (float[3] p) {{ p = Squeeze (x, ax) }},
                    else_branch = b () => (float[3] q) {{ q = ReduceSum <keepdims = 0> (x, ax) }}>
        u = Loop (two, yes, t) <body = {body}> y = ReduceSum <keepdims = 0> (u) }}"""
    found = gradc.grad(onnx.parser.parse_model(text), wrt="x", static_shapes={"x": (rows, 3)}, check=True)
    got = found.run({"x": np.zeros((rows, 3), np.float32)})["grad_x"]
    np.testing.assert_array_equal(got, np.full((rows, 3), 9, np.float32))


def test_a_result_that_a_model_gives_twice_is_one():
    """jax2onnx's exports of recurrent cells give their state, which is their result, too."""
    source = onnx.parser.parse_model(f"{HEAD} g (float[N] x) => (float[N] y, float[N] y) {{ y = Sin (x) }}")
    found = gradc.value_and_grad(source, reduce="sum").run({"x": floats(0, 1)})
    np.testing.assert_allclose(found["y"], np.sin([0, 1]), rtol=1e-6)
    np.testing.assert_allclose(found["grad_x"], np.cos([0, 1]), rtol=1e-6)


@pytest.mark.parametrize("alike", [True, False])
def test_a_weight_that_is_a_statistic_as_well_is_told_of(alike: bool):
    """As exporters write a BatchNormalization that was never trained."""
    mean = "bias" if alike else "mean"
    text = f"""<ir_version: 8, opset_import: ["": 17]>
    g (float[n,2] x) => (float[n,2] y) <float[2] bias = {{0, 0}}, float[2] scale = {{1, 2}}> {{
        mean = Neg(bias)
        y = BatchNormalization(x, scale, bias, {mean}, scale)
    }}"""
    remarks = gradc.vjp(onnx.parser.parse_model(text), wrt=["bias", "scale"], check=False).remarks
    reported = [remark.message for remark in remarks if "its gradient sums both" in remark.message]
    assert [message.split(" of ")[0] for message in reported] == ["scale is the scale and the variance"] + (
        ["bias is the bias and the mean"] if alike else []
    )


def test_a_model_of_words_names_what_can_be_differentiated_by():
    source = onnx.parser.parse_model(f"""{HEAD}
        g (int64[N] words) => (float[N, 2] y) <float[3, 2] table = {{0.5, 1.0, 1.5, 2.0, 2.5, 3.0}}>
        {{ rows = Gather (table, words) y = Sin (rows) }}""")
    expected_message = "wrt: the function has no input of floats; the first floats computed .* are rows"
    with pytest.raises(gradc.UsageError, match=expected_message):
        gradc.grad(source, reduce="sum")


def test_editors_and_help_see_the_arguments_of_grad():
    taken = signature(gradc.grad, eval_str=True).parameters
    for function, name, default in (
        (gradc.vjp, "cotangents", True),
        (gradc.value_and_grad, "keep_outputs", "of"),
    ):
        own = signature(function).parameters
        assert list(own) == list(taken)
        assert {key for key in own if own[key] != taken[key]} == {name}
        assert own[name].default == default


def test_an_input_that_is_kept_has_its_name():
    found = gradc.grad(model(), wrt="x", reduce="sum", of="logits", keep_outputs=["x", "logits"])
    assert [info.name for info in found.outputs] == ["x", "logits", "grad_x"]
    feeds = {"x": X, "places": np.array([0], np.int64)}
    fed = {info.name: feeds[info.name] for info in found.inputs}
    np.testing.assert_array_equal(found.run(fed)["x"], X)
