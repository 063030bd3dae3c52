"""stop_gradient of `gradc.grad` and the command, against `detach` of PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from support.cli import run_gradc, run_opt

import gradc
from passes import pipelines

MODEL = """<ir_version: 8, opset_import: ["": 18]>
m (double[N, 3] x) => (double y) <double[3, 4] w = {WEIGHTS}> {
    enc_h = Tanh(x)
    enc_z = MatMul(enc_h, w)
    p = Softmax(enc_z)
    l = Log(p)
    e = Exp(enc_z)
    q = Mul(p, e)
    s = Add(l, q)
    y = ReduceSumSquare<keepdims = 0>(s)
}"""
WEIGHTS = np.random.default_rng(3).normal(size=(3, 4))
X = np.random.default_rng(4).normal(size=(2, 3))
ALONG = np.random.default_rng(5).normal(size=(2, 3))
STOPS = (["p"], ["e"], ["p", "q"], ["l"], ["enc_h"], ["enc_*", "q"], ["x"], ["w"], ["e", "l"])


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    listed = ", ".join(f"{number:.17g}" for number in WEIGHTS.reshape(-1))
    return onnx.parser.parse_model(MODEL.replace("WEIGHTS", listed))


@pytest.fixture
def path(model: onnx.ModelProto, tmp_path: Path) -> Path:
    onnx.save(model, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def detached(names: list[str]):
    """Return x, w and y in torch; names that end in * are prefixes."""
    torch = pytest.importorskip("torch")
    x, w = (torch.tensor(array, requires_grad=True) for array in (X, WEIGHTS))

    def keep(name: str, value):
        stops = any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in names)
        return value.detach() if stops else value

    own = keep("w", w)
    z = keep("enc_z", keep("enc_h", torch.tanh(keep("x", x))) @ own)
    p, e = keep("p", torch.softmax(z, 1)), keep("e", torch.exp(z))
    log, q = keep("l", torch.log(p)), keep("q", p * e)
    return x, w, ((log + q) ** 2).sum()


@pytest.mark.parametrize("names", STOPS, ids=" ".join)
def test_value_and_gradients_are_those_of_torch(model: onnx.ModelProto, names: list[str]):
    x, w, y = detached(names)
    torch = pytest.importorskip("torch")
    wanted = (
        torch.autograd.grad(y, (x, w), allow_unused=True, create_graph=True) if y.requires_grad else (0, 0)
    )
    found = gradc.value_and_grad(model, wrt=["x", "w"], stop_gradient=names, allow_unused=True, check=True)
    assert found.proof.status == "proved"
    given = {"x": X}
    got = found.run(given)
    np.testing.assert_allclose(got["y"], y.detach().numpy(), rtol=1e-10)
    for name, want in zip(("grad_x", "grad_w"), wanted, strict=True):
        expected = 0 if want is None or isinstance(want, int) else want.detach().numpy()
        np.testing.assert_allclose(
            got[name], np.broadcast_to(expected, got[name].shape), rtol=1e-9, atol=1e-11
        )


@pytest.mark.parametrize("names", STOPS, ids=" ".join)
def test_second_derivatives_are_those_of_torch(model: onnx.ModelProto, names: list[str]):
    torch = pytest.importorskip("torch")
    x, _, y = detached(names)
    (first,) = torch.autograd.grad(y, x, create_graph=True, allow_unused=True) if y.requires_grad else (None,)
    moves = first is not None and first.requires_grad
    (twice,) = (
        torch.autograd.grad((first * torch.tensor(ALONG)).sum(), x, allow_unused=True) if moves else (None,)
    )
    found = gradc.hvp(model, wrt="x", stop_gradient=names, allow_unused=True, check=True)
    got = found.run({"x": X, "tangent_x": ALONG})["hvp_x"]
    np.testing.assert_allclose(got, 0 if twice is None else twice.numpy(), rtol=1e-8, atol=1e-10)


def test_the_command(path: Path):
    out = path.parent / "g.onnx"
    result = run_gradc(
        "grad", path, "--wrt", "x", "--stop-gradient", "p", "--stop-gradient", "enc_h*", "-o", out
    )
    assert result.code == 3
    assert "the gradient of y by x is zero: stop_gradient enc_h" in result.line
    assert "--allow-unused gives zeros" in result.line
    assert run_gradc("grad", path, "--wrt", "x", "--stop-gradient", "p", "-o", out).code == 0
    assert {node.op_type for node in onnx.load(out).graph.node}.isdisjoint({"stop_gradient", "Identity"})


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("enc_g", "--stop-gradient: there is no value enc_g; did you mean enc_z or enc_h?"),
        ("dec_*", "--stop-gradient: no value matches dec_*"),
        (":weight", "did you mean :weights?"),
    ],
)
def test_a_word_that_names_nothing(path: Path, word: str, message: str):
    result = run_gradc("grad", path, "--wrt", "x", "--stop-gradient", word, "-o", path.parent / "g.onnx")
    assert result.code == 2
    assert message in result.line


def test_a_stop_without_effect_is_a_remark(model: onnx.ModelProto):
    (remark,) = gradc.grad(model, wrt="x", of="p", reduce="sum", stop_gradient="e").remarks
    assert "stop_gradient e is without effect" in str(remark)


def test_a_pattern_of_wrt_leaves_stopped_values_out(model: onnx.ModelProto):
    found = gradc.grad(model, wrt=["x", "w*"], stop_gradient=":weights")
    assert list(found.gradients) == ["x"]
    assert "is zero" in str(found.remarks[0])


@pytest.mark.parametrize("start", ["stop-gradient", "pin-values", "stable-forms", "vjp"])
def test_a_pipeline_goes_on_from_the_text_of_any_pass(path: Path, start: str):
    stage, end = path.parent / "stage.mlir", path.parent / "end.mlir"
    options = ("--wrt", "x", "--reduce", "sum", "--stop-gradient", "p")
    assert run_gradc("grad", path, *options, "--stop-after", start, "-o", stage).code == 0
    assert run_gradc("grad", path, *options, "--stop-after", "unpin-values", "-o", end).code == 0
    assert "grad.stop_gradient" in end.read_text()
    names = pipelines.differentiate(straight_through=False, strict_ieee=False).split(",")
    own = {"pin-values": "pin-values{wrt=x}", "vjp": "vjp{reduce=sum}"}
    rest = [own.get(name, name) for name in names[names.index(start) + 1 :]]
    assert run_opt("-p", ",".join(rest), stage).out.split() == end.read_text().split()


LOOP = """<ir_version: 8, opset_import: ["": 18]>
m (double[3] x) => (double y) <int64 n = {3}> {
    h = Exp(x)
    f = Loop(n, , x) <body = b (int64 i, bool c, double[3] a) => (bool d, double[3] z) {
        d = Identity(c)
        p = Mul(a, h)
        z = Tanh(p)
    }>
    y = ReduceSum<keepdims = 0>(f)
}"""


def test_a_value_that_a_loop_reads():
    torch = pytest.importorskip("torch")
    x = torch.tensor(X[0], requires_grad=True)
    carried, h = x, torch.exp(x).detach()
    for _ in range(3):
        carried = torch.tanh(carried * h)
    (wanted,) = torch.autograd.grad(carried.sum(), x)
    found = gradc.grad(onnx.parser.parse_model(LOOP), stop_gradient="h", check=True)
    assert found.proof.status == "proved"
    np.testing.assert_allclose(found.run({"x": X[0]})["grad_x"], wanted.numpy(), rtol=1e-9)
