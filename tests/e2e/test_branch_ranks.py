"""Gradients of models whose Ifs give a value different ranks, as torch's TorchScript exporter writes
`x.squeeze(1)` of an axis of unknown size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import onnx.parser
import pytest

import gradc


def squeezed(name: str, source: str, axis: int) -> str:
    """`name` is `source` without the axis if that has one element, and `source` otherwise."""
    return f"""
    {name}_axis = Constant <value_ints = [{axis}]> ()
    {name}_sizes = Shape ({source})
    {name}_size = Gather <axis = 0> ({name}_sizes, {name}_axis)
    {name}_one = Constant <value_ints = [1]> ()
    {name}_is_one = Equal ({name}_size, {name}_one)
    {name} = If ({name}_is_one) <
        then_branch = then_{name} () => (float[a] t_{name}) {{ t_{name} = Squeeze ({source}, {name}_axis) }},
        else_branch = else_{name} () => (float[a] e_{name}) {{ e_{name} = Identity ({source}) }}
    >"""


def model(body: str, declared: str = "") -> onnx.ModelProto:
    """Of x (N, C, 4); `declared` is what is said of the shape of y, which torch's exporter traces."""
    head = '<ir_version: 8, opset_import: ["": 17]>'
    found = onnx.parser.parse_model(f"{head} g (float[N, C, 4] x) => (float{declared} y) {{ {body} }}")
    pending = [found.graph]
    while pending:
        graph = pending.pop()
        for node in graph.node:
            pending += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
        if graph is not found.graph:
            for output in graph.output:
                output.type.tensor_type.ClearField("shape")
    if not declared:
        found.graph.output[0].type.tensor_type.ClearField("shape")
    return found


SQUEEZE = squeezed("v", "x", 1)

BOTH = {
    "an elementwise op": (f"{SQUEEZE} y = Sin (v)", "[N, 4]"),
    "nothing": (f"s = Sin (x) {squeezed('y', 's', 1)}", "[N, 4]"),
    "a softmax": (f"{SQUEEZE} y = Softmax <axis = -1> (v)", "[N, 4]"),
    "a sum": (f"{SQUEEZE} s = Mul (v, v) y = ReduceSum <keepdims = 0> (s)", ""),
    "no declared shape": (f"{SQUEEZE} y = Sin (v)", ""),
    "its sizes": (
        f"""{SQUEEZE} s = Shape (v) z = Constant <value_ints = [0]> () m = Gather <axis = 0> (s, z)
        last = Constant <value_ints = [-1]> () t = Concat <axis = 0> (m, last) r = Reshape (v, t)
        q = Sin (r) y = ReduceSum <keepdims = 0> (q)""",
        "",
    ),
    "two in one": (f"w = Sin (x) {SQUEEZE} {squeezed('u', 'w', 1)} a = Mul (v, u) y = Tanh (a)", "[N, 4]"),
    "one after the other": (f"{SQUEEZE} s = Cos (v) {squeezed('u', 's', 0)} y = Mul (u, u)", ""),
}  # fmt: skip
"""What both ranks can be given to; of runs with one channel and with three."""

BATCHED = """v_sizes_all = Shape (v) rank = Size (v_sizes_all) two = Constant <value_int = 2> ()
    flat = Equal (rank, two) more = Not (flat) first = Constant <value_ints = [0]> ()
    u = If (more) <
        then_branch = then_u () => (float[a] t_u) { t_u = Unsqueeze (v, first) },
        else_branch = else_u () => (float[a] e_u) { e_u = Identity (v) }
    >
    w = Unsqueeze (u, first) s = Sin (w)"""
"""An If by the rank of what another gives, as torch.nn.LSTMCell asks whether there is a batch."""

ONE = {
    "a Gemm": ("w = Constant <value_floats = [0.25, 0.5, 0.75, 1.0]> () c = Constant <value_ints = [4, 1]> ()"
               f" k = Reshape (w, c) {SQUEEZE} g = Gemm (v, k) y = Sin (g)", "[N, 1]"),
    "a Transpose behind an If by the rank": (
        f"{SQUEEZE} {BATCHED} y = Transpose <perm = [1, 2, 0]> (s)",
        "[N, 4, 1]",
    ),
    "both in an If by a size": (
        f"""{SQUEEZE} x_sizes = Shape (x) third = Constant <value_int = 2> () k = Gather (x_sizes, third)
        any = Cast <to = 9> (k) y = If (any) <
            then_branch = then_y () => (float[a] t_y) {{
                {BATCHED} t_y = Transpose <perm = [1, 2, 0]> (s)
            }},
            else_branch = else_y () => (float[a] e_y) {{ e_y = Identity (v) }}
        >""",
        "",
    ),
    "a Transpose": (f"{SQUEEZE} s = Sin (v) y = Transpose <perm = [1, 0]> (s)", "[4, N]"),
}  # fmt: skip
"""What only the first rank can be given to."""


def differences(compiled: gradc.Compiled, x: np.ndarray) -> np.ndarray:
    """The gradient of the sum of y, by central differences of numpy's values in float32."""
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 2.0**-6
        high, low = (compiled.reference({"x": x + way * step})["y"].astype(float).sum() for way in (1, -1))
        found[place] = (high - low) * 2**5
    return found


def check(source: onnx.ModelProto, shapes: Sequence[tuple[int, ...]]) -> None:
    primal, gradient = gradc.compile(source), gradc.grad(source, wrt="x", reduce="sum", check=False)
    for shape in shapes:
        x = np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
        np.testing.assert_allclose(gradient.run({"x": x})["grad_x"], differences(primal, x), atol=2e-3)


@pytest.mark.parametrize(("body", "declared"), BOTH.values(), ids=BOTH.keys())
def test_each_branch_has_its_own_gradient(body: str, declared: str):
    check(model(body, declared), [(2, 1, 4), (2, 3, 4), (1, 1, 4), (1, 3, 4)])


@pytest.mark.parametrize(("body", "declared"), ONE.values(), ids=ONE.keys())
def test_a_branch_that_the_model_cannot_take(body: str, declared: str):
    check(model(body, declared), [(2, 1, 4), (1, 1, 4)])


@pytest.mark.parametrize("body", [f"{SQUEEZE} y = Sin (v)", f"s = Sin (x) {squeezed('y', 's', 1)}"])
def test_cotangents_and_second_derivatives(body: str):
    source, x = model(body, "[N, 4]"), np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 1, 4)
    weight = np.arange(8, dtype=np.float32).reshape(2, 4)
    first = gradc.vjp(source, wrt="x").run({"x": x, "cotangent_y": weight})
    np.testing.assert_allclose(first["grad_x"][:, 0], weight * np.cos(x[:, 0]), atol=1e-5)
    second = gradc.hvp(source, wrt="x", reduce="sum").run({"x": x, "tangent_x": x})
    np.testing.assert_allclose(second["hvp_x"], -np.sin(x) * x, atol=1e-5)


def test_a_value_behind_it_can_be_kept_and_asked_for():
    source = model(f"{SQUEEZE} s = Sin (v) m = ReduceMean <axes = [-1], keepdims = 0> (s) y = Mul (m, m)")
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)
    found = gradc.grad(source, wrt="x", of="m", reduce="sum", keep_outputs="s").run({"x": x})
    np.testing.assert_allclose(found["s"], np.sin(x), atol=1e-6)
    np.testing.assert_allclose(found["grad_x"], np.cos(x) / 4, atol=1e-6)


def test_what_has_no_rank_is_no_one_element():
    with pytest.raises(
        gradc.UsageError, match="of: given y of no known rank, expected one element; reduce takes"
    ):
        gradc.grad(model(f"{SQUEEZE} y = Sin (v)"), wrt="x")


def scattered(name: str, source: str) -> str:
    """`name` is the maximum of x and of `source` at its places, by numbers of rank 1 if theirs is 0, as
    torch's TorchScript exporter writes `scatter_reduce`."""
    flat = ", ".join(f"float[a{i}] t{i}_{name}" for i in range(2))
    kept = ", ".join(f"float[b{i}] e{i}_{name}" for i in range(2))
    return f"""
    {name}_sizes = Shape ({source}) {name}_rank = Size ({name}_sizes)
    {name}_zero = Constant <value_int = 0> () {name}_is_number = Equal ({name}_rank, {name}_zero)
    {name}_to, {name}_from, {name}_at = If ({name}_is_number) <
        then_branch = then_{name} () => ({flat}, int64[a2] t2_{name}) {{
            {name}_all = Constant <value_ints = [-1]> () t0_{name} = Reshape ({source}, {name}_all)
            t1_{name} = Reshape (x, {name}_all) t2_{name} = Reshape (places, {name}_all)
        }},
        else_branch = else_{name} () => ({kept}, int64[b2] e2_{name}) {{
            e0_{name} = Identity ({source}) e1_{name} = Identity (x) e2_{name} = Identity (places)
        }}
    >
    {name} = ScatterElements <axis = 0, reduction = "max"> ({name}_to, {name}_at, {name}_from)"""


def test_a_condition_on_a_rank_is_known_before_a_value_within_is_differentiated():
    start = "places = Constant <value = int64[3, 4] {0, 2, 1, 0, 1, 0, 2, 2, 2, 1, 0, 1}> ()"
    body = f"{start} s = Sin (x) {scattered('u', 's')} {scattered('v', 'u')} r = Relu (v) y = Sin (r)"
    source = model(body, "[N, 4]")
    source.graph.input[0].type.tensor_type.shape.dim.pop(1)
    gradient = gradc.vjp(source, wrt="r", check=True)
    x = np.random.default_rng(1).uniform(-1, 1, (3, 4)).astype(np.float32)
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    largest = np.sin(x)
    places = np.array([[0, 2, 1, 0], [1, 0, 2, 2], [2, 1, 0, 1]])
    largest[places, range(4)] = np.maximum(largest[places, range(4)], x)
    wanted = weight * np.cos(np.maximum(largest, 0))
    np.testing.assert_allclose(gradient.run({"x": x, "cotangent_y": weight})["grad_r"], wanted, atol=1e-5)


STACKED = """<ir_version: 8, opset_import: ["": 18]>
agraph (float[{sizes}] a, float[{sizes}] b) => (y) {{
    parts = SequenceConstruct(a, b)
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    first = SequenceAt(parts, zero)
    sizes = Shape(first)
    rank = Size(sizes)
    flat = Equal(rank, one)
    joined = If(flat) <
        then_branch = along_0 () => (x) {{ x = ConcatFromSequence <axis = 0> (parts) }},
        else_branch = along_1 () => (z) {{ z = ConcatFromSequence <axis = 1> (parts) }}
    >
    y = Mul(joined, joined)
}}"""


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 2)], ids=str)
def test_a_branch_that_joins_along_an_axis_that_there_is_not(shape: tuple[int, ...]):
    """As torch's TorchScript exporter writes hstack."""
    text = STACKED.format(sizes=",".join(map(str, shape))).replace("=> (y)", "=> (float y)")
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    axis = 0 if len(shape) == 1 else 1
    cotangent = rng.standard_normal(np.concatenate([a, b], axis).shape).astype(np.float32)
    found = gradc.vjp(model, wrt=["a", "b"]).run({"a": a, "b": b, "cotangent_y": cotangent})
    for name, value, part in zip("ab", (a, b), np.split(cotangent, 2, axis), strict=True):
        np.testing.assert_allclose(found[f"grad_{name}"], 2 * value * part, rtol=1e-5)


def test_a_weight_behind_a_slice_is_read_beside_two_ranks():
    cut = "w = Constant <value_floats = [1.0, 2.0, 3.0, 4.0, 5.0]> () zero = Constant <value_ints = [0]> ()"
    cut += " four = Constant <value_ints = [4]> () c = Slice (w, zero, four)"
    source = model(f"{cut} {SQUEEZE} y = Mul (v, c)", "[N, 4]")
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 1, 4)
    weight = np.arange(8, dtype=np.float32).reshape(2, 4)
    found = gradc.vjp(source, wrt="w", check=True).run({"x": x, "cotangent_y": weight})["grad_w"]
    np.testing.assert_allclose(found, [*(x[:, 0] * weight).sum(0), 0], atol=1e-6)


def test_a_branch_within_that_refuses_a_rank_leaves_the_other():
    """Of two axes a run takes the other branch of the second If, as it takes both of one axis."""
    source = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[n, 3] x, bool flat, bool scattered) => (float[] y)
        <int64[1] zero = {0}, int64[3, 1] places = {0, 1, 2}, float[3] none = {0, 0, 0}> {
            s = If (flat) <
                then_branch = row () => (float[a] r) { r = Squeeze(x, zero) },
                else_branch = rows () => (float[b, c] m) { m = Identity(x) }>
            t = Sin(s)
            y = If (scattered) <
                then_branch = put () => (float[] p) {
                    u = ScatterND(none, places, t) v = Mul(u, u) p = ReduceSum <keepdims = 0> (v) },
                else_branch = summed () => (float[] q) { q = ReduceSum <keepdims = 0> (t) }>
        }""")
    compiled = gradc.grad(source, wrt=["x"])
    rng = np.random.default_rng(2)
    for flat, scattered, rows in ((True, True, 1), (True, False, 1), (False, False, 2), (False, False, 1)):
        x = rng.standard_normal((rows, 3)).astype(np.float32)
        expected = np.cos(x) * (2 * np.sin(x) if scattered else 1)
        found = compiled.run({"x": x, "flat": np.array(flat), "scattered": np.array(scattered)})
        np.testing.assert_allclose(found["grad_x"], expected, rtol=1e-5, atol=1e-6)
