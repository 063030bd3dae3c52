"""The gradients of single ops on onnxruntime, held against numpy in float64."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper
from support.vjp_problems import Problem, module_of, problems

import gradc
from dialects.evaluate import evaluate
from dialects.support.entry import entry_function, input_names
from gradc.runtime.session import newest_released_opset
from passes.differentiate import Request, differentiate

OPS = {
    "AffineGrid": 20,
    "AveragePool": 19,
    "Col2Im": 18,
    "Conv": 18,
    "ConvTranspose": 18,
    "DFT": 20,
    "DeformConv": 19,
    "Det": 18,
    "RoiAlign": 18,
    "STFT": 20,
    "Einsum": 18,
    "GridSample": 18,
    "LpPool": 18,
    "MaxUnpool": 18,
    "TensorScatter": 24,
    "CumProd": 26,
    "MaxPool": 18,
}
"""Op -> the opset of the model that is written."""


def _chosen() -> list[Problem]:
    one_form = [problem for problem in problems() if problem.sizes == "unknown"]
    by_matrix = [problem for problem in one_form if problem.op == "Resize" and "axes" in problem.attributes]
    return [*by_matrix, *(problem for problem in one_form if problem.op in OPS)]


@pytest.mark.sweep
@pytest.mark.parametrize("problem", _chosen(), ids=str)
def test_the_gradient_of_an_op(problem: Problem):
    exact, inputs = module_of(problem)
    module, narrow = module_of(problem, np.float32)
    rng = np.random.default_rng(0)
    cotangents = [rng.normal(size=result.shape) for result in evaluate(exact, inputs)]
    for one in (exact, module):
        names = input_names(entry_function(one))
        wrt = [name for name, array in zip(names, inputs, strict=True) if array.dtype == np.float64]
        differentiate(one, Request(of=["y0"], wrt=wrt, cotangents=True, allow_unused=True))
    want = evaluate(exact, [*inputs, *cotangents])
    compiled = gradc.compile(module, opset=OPS.get(problem.op, 19))
    names = [info.name for info in compiled.inputs]
    given = [*narrow, *(cotangent.astype(np.float32) for cotangent in cotangents)]
    got = compiled.run(dict(zip(names, given, strict=True)))
    for info, exactly in zip(compiled.outputs, want, strict=True):
        found = got[info.name]
        assert found.shape == exactly.shape
        np.testing.assert_allclose(
            found, exactly, rtol=2e-4, atol=1e-4 * (np.abs(exactly).max(initial=0) + 1e-2)
        )


@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_labels_of_32_bits(op: str, dtype: str):
    text = f"g ({dtype}[3, 4] x, int32[3] t) => ({dtype} y) {{ y = {op} <ignore_index = 2> (x, t) }}"
    source = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    found = gradc.grad(source, check=True)
    x, labels = np.zeros((3, 4), {"float": np.float32}.get(dtype, np.float64)), np.array([0, 2, 3], np.int32)
    of_logarithms = np.array([[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    by_softmax = np.array([[0.25], [0], [0.25]]) if op.startswith("Softmax") else 0
    got = found.run({"x": x, "t": labels})["grad_x"]
    np.testing.assert_allclose(got, (by_softmax - of_logarithms) / 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("node", "counted"),
    [("y = Pad (x, at)", "int64[n] at"), ("y = Slice (x, at, at_end, axes)", "int64[n] at, int64[m] at_end")],
    ids=["Pad", "Slice"],
)
def test_a_vector_of_places_of_a_count_that_no_type_tells(node: str, counted: str):
    text = f"g (float[2, A] x, {counted}) => (float[B, C] y) <int64[1] axes = {{1}}> {{ {node} }}"
    found = gradc.vjp(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}'), wrt="x")
    x, pads = np.zeros((2, 3), np.float32), np.array([0, 1, 0, 2])
    given = {"at": pads} if node.startswith("y = Pad") else {"at": pads[1:2], "at_end": pads[3:]}
    made = (2, 6) if "at_end" not in given else (2, 1)
    cotangent = np.arange(np.prod(made), dtype=np.float32).reshape(made)
    got = found.run({"x": x, "cotangent_y": cotangent, **given})["grad_x"]
    wanted = cotangent[:, 1:4] if made[1] == 6 else np.pad(cotangent, [(0, 0), (1, 1)])
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("op", ["Clip (t, low, high)", "Max (t, low)", "Min (t, high)"])
def test_a_result_of_half_type_is_compared_with_the_half_that_it_was_made_of(op: str):
    """The product is computed in f32, and the op, of which there is a kernel for f16, reads its rounding."""
    names = "<float16 w, float16 low, float16 high>"
    text = f"g (float16[9] x) => (float16[9] y) {names} {{ t = Mul (x, w) y = {op} }}"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    numbers = {"w": 0.37, "low": -0.5, "high": 0.5}
    weights = (numpy_helper.from_array(np.array(x, np.float16), name) for name, x in numbers.items())
    model.graph.initializer.extend(weights)
    x = np.linspace(-3.1, 2.9, 9).astype(np.float16)
    got = gradc.grad(model, reduce="sum", check=False).run({"x": x})["grad_x"]
    below, above = 0.37 * x < -0.5, 0.37 * x > 0.5
    stays = {"C": ~below & ~above, "M": ~below if "low" in op else ~above}[op[0]]
    np.testing.assert_allclose(got, 0.37 * stays, rtol=1e-3)


@pytest.mark.parametrize("mode", [0, 1])
def test_the_products_that_attention_shows_are_capped_in_mode_1_only(mode: int):
    attributes = f"scale = 1.0, softcap = 0.5, qk_matmul_output_mode = {mode}"
    text = f"""g (float[1, 1, 2, 3] q, float[1, 1, 4, 3] k) => (float[1, 1, 2, 4] shown)
        {{ y, a, b, shown = Attention <{attributes}> (q, k, k) }}"""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 24]> {text}')
    rng = np.random.default_rng(0)
    q, k = (rng.normal(size=(1, 1, n, 3)).astype(np.float32) for n in (2, 4))
    products = q @ k.swapaxes(2, 3)
    capped = np.tanh(products / 0.5)
    shown = products if mode == 0 else capped * 0.5
    found = gradc.value_and_grad(model, wrt="q", reduce="sum", keep_outputs=["shown"]).run({"q": q, "k": k})
    np.testing.assert_allclose(found["shown"], shown, rtol=1e-5)
    slope = np.ones_like(capped) if mode == 0 else 1 - capped**2
    np.testing.assert_allclose(found["grad_q"], slope @ k, rtol=1e-4, atol=1e-5)


GRIDS = ([1, 1, 1, 3], [2, 1, 1, 1], [0, 1, 2, 1], [2, 1, 3, 4], [1, 1, 1, 2, 3], [2, 1, 3, 2, 1])


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", GRIDS, ids=str)
def test_the_corners_of_an_axis_of_one_place(size: list[int], corners: int, dtype: str):
    """They are at -1, as ONNX's reference implementation has them; onnxruntime's kernel has 1, PyTorch 0."""
    count, rng = len(size) - 2, np.random.default_rng(0)
    dims = ", ".join("abcde"[: count + 2])
    numpy = {"float": np.float32, "double": np.float64}[dtype]
    theta = rng.normal(size=(size[0], count, count + 1)).astype(numpy)
    places = [
        np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1 for n in reversed(size[2:])
    ]
    columns = [*(p.T for p in np.meshgrid(*places, indexing="ij")), np.ones(size[2:])]
    points = np.stack(columns, axis=-1).reshape(-1, count + 1)
    want = np.einsum("nij,pj->npi", theta, points).reshape(size[0], *size[2:], count)
    cotangent = rng.normal(size=want.shape).astype(numpy)
    slope = np.einsum("npi,pj->nij", cotangent.reshape(size[0], len(points), count), points)
    known = f"<int64[{count + 2}] s = {{{', '.join(map(str, size))}}}>"
    for form in (f", int64[{count + 2}] s) => ({dtype}[{dims}] y)", f") => ({dtype}[{dims}] y) {known}"):
        node = f"y = AffineGrid <align_corners = {corners}> (t, s)"
        text = f"g ({dtype}[N, {count}, {count + 1}] t{form} {{ {node} }}"
        model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 20]> {text}')
        feeds = {"t": theta, **({} if "<int64" in form else {"s": np.array(size)})}
        forward, backward = gradc.compile(model), gradc.vjp(model, wrt="t", check=False)
        for found in (forward.run(feeds)["y"], forward.reference(feeds)["y"]):
            np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
        got = backward.run(feeds | {"cotangent_y": cotangent})["grad_t"]
        np.testing.assert_allclose(got, slope, rtol=1e-5, atol=1e-5)
        used = any(node.op_type == "AffineGrid" for node in forward.model.graph.node)
        assert used == (not corners or ("<int64" in form and 1 not in size[2:]))


@pytest.mark.parametrize("size", [1, 2, 4, 5])
@pytest.mark.parametrize("dtype", ["float", "double"])
def test_local_responses_of_any_size(size: int, dtype: str):
    """onnxruntime has those of odd sizes and four axes alone, and none of doubles."""
    node = f"y = LRN <size = {size}, alpha = 0.5, beta = 0.6, bias = 1.5> (x)"
    text = f"g ({dtype}[N, 5, 3] x) => ({dtype}[N, 5, 3] y) {{ {node} }}"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    rng, numpy = np.random.default_rng(0), {"float": np.float32, "double": np.float64}[dtype]
    feeds = {name: rng.normal(size=(2, 5, 3)).astype(numpy) for name in ("x", "cotangent_y")}
    for compiled in (gradc.compile(model), gradc.vjp(model, wrt="x")):
        given = {info.name: feeds[info.name] for info in compiled.inputs}
        want = compiled.reference(given)
        for name, array in compiled.run(given).items():
            np.testing.assert_allclose(array, want[name], rtol=1e-4, atol=1e-5)


BROADCASTS_OVER_NOTHING = 27
"""The opset with which an onnxruntime came that multiplies an empty batch of matrices by one matrix."""


@pytest.mark.parametrize(
    "node",
    [
        *(f"y = Global{kind}Pool (x)" for kind in ("Average", "Lp", "Max")),
        "y = GroupNormalization <num_groups = 2> (x, s, s)",
        "y = DeformConv (x, w, offsets)",
    ],
)
def test_an_empty_batch_of_what_is_grouped(node: str):
    """The reference of the model and of its gradient, which finds no number from what is left of nothing."""
    sizes = "float[N, 4, 3, 3] x, float[N, 2, 3, 3] offsets"
    names = "<float[4] s, float[2, 4, 1, 1] w>"
    text = f"g ({sizes}) => (float[N, A, B, C] y) {names} {{ {node} }}"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    ones = (np.ones(4, np.float32), np.ones((2, 4, 1, 1), np.float32))
    model.graph.initializer.extend(map(numpy_helper.from_array, ones, ("s", "w")))
    found, forward = gradc.vjp(model, wrt="x", check=False), gradc.compile(model)
    shapes = {"x": (0, 4, 3, 3), "offsets": (0, 2, 3, 3)}
    given = {info.name: np.ones(shapes[info.name], np.float32) for info in forward.inputs}
    made = forward.reference(given)
    given["cotangent_y"] = made["y"].astype(np.float32)
    assert found.reference(given)["grad_x"].shape == shapes["x"]
    if "Deform" not in node or newest_released_opset() >= BROADCASTS_OVER_NOTHING:
        assert found.run(given)["grad_x"].shape == shapes["x"]
    assert made["y"].shape[0] == 0


def test_products_of_columns_take_few_ops():
    """As scikit-learn's PolynomialFeatures are written."""
    parts = " ".join(f"c{i} = Gather <axis = 1> (x, i{i}) p{i} = ReduceProd (c{i}, one)" for i in range(3))
    values = "int64[2] i0 = {0, 0}, int64[2] i1 = {0, 3}, int64[3] i2 = {1, 1, 3}, int64[1] one = {1}"
    nodes = f"{parts} y = Concat <axis = 1> (p0, p1, p2)"
    text = f"g (float[N, 4] x) => (float[N, 3] y) <{values}> {{ {nodes} }}"
    found = gradc.vjp(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}'), check=True)
    assert len(found.model.graph.node) <= 18
    x = np.array([[2, 3, 5, 0]], np.float32)
    got = found.run({"x": x, "cotangent_y": np.array([[1, 10, 100]], np.float32)})["grad_x"]
    assert got.tolist() == [[4, 0, 0, 20 + 900]]


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("size", ["5", "N"])
def test_a_size_is_that_of_a_product_in_f32(mode: str, size: str):
    """1.4 in f32 is less than 7 / 5, and the product with 5 is 7 all the same."""
    text = f"""<ir_version: 8, opset_import: ["": 18]> g (float[1, {size}] x, float[M] w) => (float z)
        <float[2] scales = {{1, 1.4}}> {{ y = Resize <mode = "{mode}"> (x, , scales) p = Mul (y, w)
        z = ReduceSum <keepdims = 0> (p) }}"""
    source = onnx.parser.parse_model(text)
    found, primal = gradc.grad(source, wrt="x", check=False), gradc.compile(source)
    given = {"w": np.arange(7, dtype=np.float32)}
    grad = found.run({"x": np.zeros((1, 5), np.float32), **given})["grad_x"]
    for i, row in enumerate(np.eye(5, dtype=np.float32)):
        assert abs(grad[0, i] - primal.run({"x": row[None], **given})["z"]) < 1e-5


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_a_resize_of_the_only_axis(mode: str):
    """onnxruntime resizes it to the nearest only; its gradient it computes."""
    text = f"""<ir_version: 8, opset_import: ["": 18]> g (float[5] x) => (float[7] y)
        <float[1] scales = {{1.4}}> {{ y = Resize <mode = "{mode}"> (x, , scales) }}"""
    found = gradc.vjp(onnx.parser.parse_model(text), check=True)
    got = found.run({"x": np.zeros(5, np.float32), "cotangent_y": np.ones(7, np.float32)})["grad_x"]
    assert abs(got.sum() - 7) < 1e-5


@pytest.mark.parametrize(
    "masked",
    [
        "n = IsNaN (s)",
        "f = CastLike (m, x) r = ReduceMax <keepdims = 1> (f, last) n = Equal (r, zero)",
    ],
    ids=["as PyTorch exports", "as ONNX defines Attention"],
)
@pytest.mark.parametrize("sizes", ["2, 3", "a, b"])
def test_rows_of_attention_in_which_all_is_masked(masked: str, sizes: str):
    """A softmax of nothing but -inf is NaN, and 0 takes its place. Of a mask of other sizes, none of which is
    known, that may have another shape."""
    text = f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[{sizes}] x, bool[{"c, d" if "a" in sizes else sizes}] m, float[3, 2] v) => (float[q, 2] y)
        <float one = {{1}}, float zero = {{0}}, int64[1] last = {{-1}}> {{
        inf = Div (one, zero) low = Neg (inf) a = Where (m, x, low)
        s = Softmax (a) {masked} p = Where (n, zero, s) y = MatMul (p, v) }}"""
    source = onnx.parser.parse_model(text)
    x, v = np.array([[0.3, -1, 2], [1, 2, 3]], np.float32), np.array([[1, 2], [3, 5], [-1, 5]], np.float32)
    mask = np.array([[True, False, True], [False, False, False]])
    given = {"x": x, "m": mask, "v": v, "cotangent_y": np.array([[1, 1], [2, 3]], np.float32)}
    got = gradc.vjp(source, wrt="x", check=True).run(given)["grad_x"]
    first = 1 / (1 + np.exp(1.7))  # of the two that are seen; the sums of their rows of v are 3 and 4
    slope = first * (1 - first) * (3 - 4)
    np.testing.assert_allclose(got, [[slope, 0, -slope], [0, 0, 0]], rtol=1e-5)
    tangent = {"x": x, "m": mask, "v": v, "tangent_x": np.ones_like(x)}
    assert np.isfinite(gradc.hvp(source, wrt="x", reduce="sum").run(tangent)["hvp_x"]).all()


@pytest.mark.parametrize(
    "masked",
    [
        "h = Cast <to = 10> (s) n = IsNaN (h) p = Where (n, zero, h)",
        "r = ReduceMax (a, last) n = Equal (r, low) h = Cast <to = 10> (s) p = Where (n, zero, h)",
        "n = IsNaN (s) k = Not (n) w = CastLike (zero, s) q = Where (k, s, w) p = Cast <to = 10> (q)",
    ],
    ids=["behind a cast", "as ONNX defines Attention", "by what is a number"],
)
def test_rows_of_attention_of_a_half_type_in_which_all_is_masked(masked: str):
    """Its softmax is in f32."""
    source = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        g (float16[2, 3] x, bool[2, 3] m, float16[3, 2] v) => (float16[2, 2] y)
        <float16 one = {{1}}, float16 zero = {{0}}, int64[1] last = {{-1}}> {{
        inf = Div (one, zero) low = Neg (inf) a = Where (m, x, low) c = Cast <to = 1> (a)
        s = Softmax (c) {masked} y = MatMul (p, v) }}""")
    x, v = np.array([[0.3, -1, 2], [1, 2, 3]], np.float16), np.array([[1, 2], [3, 5], [-1, 5]], np.float16)
    mask = np.array([[True, False, True], [False, False, False]])
    given = {"x": x, "m": mask, "v": v, "cotangent_y": np.ones((2, 2), np.float16)}
    got = gradc.vjp(source, wrt="x").run(given)["grad_x"]
    first = 1 / (1 + np.exp(1.7))
    slope = first * (1 - first) * (3 - 4)
    np.testing.assert_allclose(got, [[slope, 0, -slope], [0, 0, 0]], rtol=2e-3)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("masked", ["x, low", "low, x"])
@pytest.mark.parametrize("sizes", ["2, 3", "a, b"])
def test_elements_that_are_masked_before_a_softmax_and_behind_it(op: str, masked: str, sizes: str):
    """By `masked_fill`, of which PyTorch has 0, not NaN, in a row in which all is masked."""
    taken = masked.replace("x", "s").replace("low", "zero")
    source = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[{sizes}] x, bool[{sizes}] m) => (float[{sizes}] y) <float one = {{1}}, float zero = {{0}}> {{
        inf = Div (one, zero) low = Neg (inf) a = Where (m, {masked}) s = {op} (a)
        y = Where (m, {taken}) }}""")
    x, cotangent = np.array([[0.3, -1, 2], [1, 2, 3]], np.float32), np.array([[3, 1, 2]] * 2, np.float32)
    mask = np.array([[True, False, True], [False, False, False]])
    given = {"x": x, "m": mask if masked[0] == "x" else ~mask, "cotangent_y": cotangent}
    got = gradc.vjp(source, wrt="x", check=True).run(given)["grad_x"]
    first = 1 / (1 + np.exp(1.7))
    slope = first * (1 - first) * (3 - 2) if op == "Softmax" else 3 - 5 * first
    np.testing.assert_allclose(got, [[slope, 0, -slope], [0, 0, 0]], rtol=1e-5)
    tangent = {"x": x, "m": given["m"], "tangent_x": np.ones_like(x)}
    assert np.isfinite(gradc.hvp(source, wrt="x", reduce="sum").run(tangent)["hvp_x"]).all()


@pytest.mark.parametrize(
    ("o", "body"),
    [
        ("2, 3", "n = IsNaN (s) k = Sin (s) y = Where (n, s, k)"),  # as PyTorch exports torch.special.entr
        ("4, 2, 3", "n = IsNaN (s) y = Where (n, o, s)"),
        ("4, 2, 1", "m = Greater (o, o) y = Where (m, o, s)"),
    ],
)
def test_what_is_no_replacement_of_a_softmax(o: str, body: str):
    text = f"""<ir_version: 8, opset_import: ["": 18]> g (float[2, 3] x, float[{o}] o) => (float y)
        {{ s = Softmax (x) {body} }}"""
    source = onnx.parser.parse_model(text)
    source.graph.output[0].type.tensor_type.ClearField("shape")
    remarks = gradc.vjp(source, wrt="x", check=True).remarks
    assert not [remark for remark in remarks if "gradient" in remark.message]


def test_as_many_starts_as_there_are_no_rows_of_an_update():
    """3 sequences, of which 2 rows each are written: their places are no sum of two lists of sizes."""
    head = '<ir_version: 11, opset_import: ["": 24]>'
    text = f"{head} g (float[3, 4, 1] x, float[3, 2, 1] u, int64[3] s) => (float[3, 4, 1] y)"
    source = onnx.parser.parse_model(f"{text} {{ y = TensorScatter (x, u, s) }}")
    cotangent = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    given = {"x": 0 * cotangent, "u": np.zeros((3, 2, 1), np.float32), "s": np.array([2, 0, 1])}
    got = gradc.vjp(source, wrt=["x", "u"], check=True).run({**given, "cotangent_y": cotangent})
    assert got["grad_u"].reshape(3, 2).tolist() == [[2, 3], [4, 5], [9, 10]]
    assert got["grad_x"].reshape(3, 4).tolist() == [[0, 1, 0, 0], [0, 0, 6, 7], [8, 0, 0, 11]]


def test_weights_of_a_half_type_too_large_to_be_folded():
    """A 1x1 convolution as a product: its weights are a constant, cast to f32, in another shape."""
    inputs = "float16[1, 1024, 2, 2] x, float16[512, 1024, 1, 1] w"
    text = f"g ({inputs}) => (float16[1, 512, 2, 2] y) {{ y = Conv (x, w) }}"
    source = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    source.graph.input.pop()
    weights = np.zeros((512, 1024, 1, 1), np.float16)
    weights[3, 5] = 2
    source.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    found = gradc.vjp(source, wrt="x", check=False)
    cotangent = np.ones((1, 512, 2, 2), np.float16)
    got = found.run({"x": np.zeros((1, 1024, 2, 2), np.float16), "cotangent_y": cotangent})["grad_x"]
    assert got.sum() == got[0, 5].sum() == 8


@pytest.mark.parametrize("size", ["5", "n"])
@pytest.mark.parametrize("word", ["SAME_UPPER", "SAME_LOWER"])
def test_a_stride_beyond_the_kernel_of_a_transposed_convolution(word: str, size: str):
    """onnxruntime gives s (X - 1) + Ke elements, as onnx infers it, rather than s X."""
    attributes = f'auto_pad = "{word}", strides = [3]'
    source = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[1,2,{size}] x, float[2,2,1] w) => (float[1,2,q] y, int64[3] sizes)
        {{ y = ConvTranspose <{attributes}> (x, w) sizes = Shape(y) }}""")
    rng = np.random.default_rng(0)
    x, w, g = (rng.normal(size=shape).astype(np.float32) for shape in ((1, 2, 5), (2, 2, 1), (1, 2, 13)))
    y, sizes = ort.InferenceSession(source.SerializeToString()).run(None, {"x": x, "w": w})
    compiled = gradc.vjp(source, wrt=["x", "w"], of=["y"], keep_outputs=["sizes"])
    found = compiled.run({"x": x, "w": w, "cotangent_y": g})
    np.testing.assert_array_equal(found["sizes"], sizes)
    for name, v in (("x", x), ("w", w)):  # linear in each
        np.testing.assert_allclose((found[f"grad_{name}"] * v).sum(), (g * np.asarray(y)).sum(), rtol=1e-4)


@pytest.mark.parametrize("channels", [4, 6])
def test_a_scale_of_groups_of_as_many_channels_as_run_time_knows(channels: int):
    """GroupNormalization of opset 18: the same as that of opset 21 with a scale of each channel."""
    text = "g (float[2,c,3] x, float[{0}] s, float[{0}] b) => (float[2,c,3] y)"
    node = "{ y = GroupNormalization <num_groups = 2> (x, s, b) }"
    old, new = (
        onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {v}]> {text.format(size)} {node}')
        for v, size in ((18, "2"), (21, "c"))
    )
    rng = np.random.default_rng(0)
    x, g, s, b = (rng.normal(size=n).astype(np.float32) for n in 2 * [(2, channels, 3)] + [2, 2])
    fed = {"x": x, "s": s, "b": b, "cotangent_y": g}
    each = {name: np.repeat(fed[name], channels // 2) for name in "sb"}
    found, wanted = gradc.vjp(old).run(fed), gradc.vjp(new).run({**fed, **each})
    np.testing.assert_allclose(found["grad_x"], wanted["grad_x"], rtol=1e-4, atol=1e-5)
    for name in ("grad_s", "grad_b"):
        total = wanted[name].reshape(2, -1).sum(1)
        np.testing.assert_allclose(found[name], total, rtol=1e-4, atol=1e-5)


def test_an_identity_of_a_half_type():
    """Its attribute says so, too: computed in f32 it says f32."""
    source = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
        g (float16[n,n] x) => (float16 y)
        { e = EyeLike <dtype = 10, k = 1> (x) p = Mul(e, x) y = ReduceSum <keepdims = 0> (p) }""")
    found = gradc.grad(source, check=False).run({"x": np.ones((3, 3), np.float16)})
    np.testing.assert_array_equal(found["grad_x"], np.eye(3, k=1))


@pytest.mark.parametrize("opset", [13, 18, 20])
@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("corners", [0, 1])
def test_affine_grid_of_a_model_at_older_opsets(corners: int, target: str, opset: int):
    """ONNX's function has a Split along an axis that its operand lacks, in a branch that is not taken."""
    text = f"""g (float[1, 2, 3] theta, float[1, 4, 5, 2] w) => (float y) <int64[4] size = {{1, 3, 4, 5}}> {{
        grid = AffineGrid <align_corners = {corners}> (theta, size)
        p = Mul (grid, w)
        y = ReduceSum <keepdims = 0> (p) }}"""
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 20]> {text}')
    rng = np.random.default_rng(0)
    theta, w = (rng.normal(size=shape).astype(np.float32) for shape in ((1, 2, 3), (1, 4, 5, 2)))
    lines = [np.linspace(-1, 1, n) if corners else (np.arange(n) * 2 + 1) / n - 1 for n in (4, 5)]
    places = np.stack([*np.meshgrid(lines[1], lines[0]), np.ones((4, 5))], -1)
    found = gradc.grad(model, wrt="theta", target=target, opset=opset).run({"theta": theta, "w": w})
    np.testing.assert_allclose(
        found["grad_theta"], np.einsum("nyxi,yxj->nij", w, places), rtol=1e-4, atol=1e-5
    )
