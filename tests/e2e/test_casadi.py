"""`family="casadi"` against CasADi's own functions, and against the derivatives without a family."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime
import pytest

import gradc
from gradc.compiler.compiled import Compiled
from tests.support.cli import run_gradc
from tests.support.onnx_models import model_of

SHAPES = """m (float[2,3] x, float[3,4] w, float[2] u, float[2,2,2] z)
=> (float[2,4] y, float[4] s, float e) <int64[1] four = {4}> {
    h = MatMul(x, w)
    y = Tanh(h)
    squares = Mul(z, z)
    m = MatMul(squares, u)
    r = Reshape(m, four)
    s = Sin(r)
    uu = Mul(u, u)
    e = ReduceSum<keepdims = 0>(uu)
}"""
POLICY = (
    "m (float[1,3] x) => (float[1,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { h = MatMul(x, w) y = Tanh(h) }"
)
ENERGY = """m (float[1,3] x) => (float[1] e) <int64[1] one = {1}> {
    s = Sin(x)
    p = Mul(s, x)
    q = ReduceSum(p)
    square = Mul(q, q)
    e = Reshape(square, one)
}"""
KINDS: dict[str, Callable[..., Compiled]] = {"fwd": gradc.jvp, "adj": gradc.vjp, "jac": gradc.jacobian}


def values(compiled: Compiled) -> dict[str, Any]:
    return {one.name: one.shape for one in (*compiled.inputs, *compiled.outputs)}


def test_names_and_shapes():
    forward, reverse, matrix = (
        values(make(model_of(SHAPES), family="casadi", check=True)) for make in KINDS.values()
    )
    assert forward["fwd_x"] == (2, "3*nfwd")
    assert forward["fwd_u"] == (2, "nfwd")
    assert forward["fwd_z"] == (8, "nfwd")
    assert forward["fwd_e"] == (1, "nfwd")
    assert reverse["adj_y"] == (2, "4*nadj")
    assert reverse["adj_w"] == (3, "4*nadj")
    assert [matrix[f"jac_{of}_{wrt}"] for of in "yse" for wrt in "xwuz"] == [
        (of, wrt) for of in (8, 4, 1) for wrt in (6, 12, 2, 8)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_proved(kind: str):
    for text in (SHAPES, POLICY):
        found = KINDS[kind](model_of(text), family="casadi", check=True)
        assert found.proof is not None
        assert found.proof.status == "proved", str(found.proof)


def test_matrices_have_the_order_of_columns():
    model, rng = model_of(SHAPES), np.random.default_rng(1)
    fed = {name: rng.normal(size=shape).astype("f") for name, shape in values(gradc.compile(model)).items()}
    fed = {name: fed[name] for name in "xwuz"}
    blocks = gradc.jacobian(model, of=["y", "s", "e"], check=False).run(fed)
    found = gradc.jacobian(model, family="casadi", check=False).run(fed)
    columns = blocks["jacobian_y_x"].transpose(1, 0, 3, 2).reshape(8, 6)
    np.testing.assert_allclose(found["jac_y_x"], columns, rtol=1e-6)
    np.testing.assert_allclose(found["jac_s_z"], blocks["jacobian_s_z"].reshape(4, 8), rtol=1e-6)
    seeds = {f"fwd_{name}": rng.normal(size=shape).astype("f") for name, shape in
             {"x": (2, 9), "w": (3, 12), "u": (2, 3), "z": (8, 3)}.items()}  # fmt: skip
    products = gradc.jvp(model, family="casadi", check=False).run({**fed, **seeds})
    rows = gradc.jvp(model, of=["y", "s", "e"], check=False)
    for k in range(3):
        part = {
            f"tangent_{n}": seeds[f"fwd_{n}"][:, k * c : (k + 1) * c] for n, c in {"x": 3, "w": 4}.items()
        }
        part |= {"tangent_u": seeds["fwd_u"][:, k], "tangent_z": seeds["fwd_z"][:, k].reshape(2, 2, 2)}
        one = rows.run({**fed, **part})
        np.testing.assert_allclose(
            products["fwd_y"][:, 4 * k : 4 * k + 4], one["jvp_y"], rtol=1e-5, atol=1e-6
        )
        np.testing.assert_allclose(products["fwd_s"][:, k], one["jvp_s"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(products["fwd_e"][0, k], one["jvp_e"], rtol=1e-5)


def test_command(tmp_path: Path):
    onnx.save(model_of(POLICY), tmp_path / "f.onnx")
    for command, name, more in (("jvp", "fwd", []), ("grad", "adj", []), ("jacobian", "jac", ["--wrt", "x"])):
        found = run_gradc(
            command, tmp_path / "f.onnx", "--family", "casadi", *more, "-o", tmp_path / "d.onnx"
        )
        assert found.code == 0, found.err
        graph = onnx.load(tmp_path / "d.onnx").graph
        assert {one.name.partition("_")[0] for one in graph.output} == {name}


DYNAMIC = "m (float[N,3] x) => (float[N,3] y) { y = Tanh(x) }"
REFUSED: dict[str, tuple[str, Any, str]] = {
    "dynamic": (DYNAMIC, {}, "given [xy] of unknown size, expected static shapes"),
    "part": (SHAPES, {"of": "y", "wrt": "x"}, "without s, e, expected all outputs"),
    "inner": (POLICY, {"of": ["y", "h"]}, "given h, expected inputs and outputs"),
    "weight": (POLICY, {"wrt": "w"}, "given w, expected inputs and outputs"),
    "template": (POLICY, {"name_template": "{what}_{name}_"}, "expected one of the two"),
    "samples": (POLICY, {"per_sample": True}, "expected one of the two"),
    "family": (POLICY, {"family": "jax"}, "family"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str):
    text, options, message = REFUSED[name]
    with pytest.raises(gradc.UsageError, match=message):
        gradc.vjp(model_of(text), **cast("Any", {"family": "casadi", "check": False, **options}))
    sized = gradc.vjp(model_of(DYNAMIC), family="casadi", static_shapes={"x": (1, 3)}, check=False)
    assert values(sized)["adj_x"] == (1, "3*nadj")


SCRIPT = """
import json, sys
import casadi as ca
import numpy as np
f = ca.GraphBuilder("f.onnx").create("f")
rng, n = np.random.default_rng(0), 3
args = [rng.normal(size=f.size_in(i)) for i in range(f.n_in())]
y = [np.array(one) for one in f.call([ca.DM(one) for one in args])]
x = [ca.MX.sym("v", *one.shape) for one in args]
whole = ca.jacobian(ca.vertcat(*map(ca.vec, f.call(x))), ca.vertcat(*map(ca.vec, x)))
found = {"jac": np.array(ca.Function("j", x, [whole])(*args)).tolist(), "args": [a.tolist() for a in args]}
for name, derivative, like in (("fwd", f.forward(n), args), ("adj", f.reverse(n), y)):
    seeds = [rng.normal(size=(one.shape[0], one.shape[1] * n)) for one in like]
    results = derivative.call([ca.DM(one) for one in (*args, *y, *seeds)])
    found[name] = [[np.array(one).tolist() for one in part] for part in (seeds, results)]
json.dump(found, sys.stdout)
"""
HESSIAN = """
import json, sys
import casadi as ca
f = ca.GraphBuilder("f.onnx").create("f")
x, point = ca.MX.sym("x", 1, 3), ca.DM([[0.3, -0.7, 1.2]])
own = ca.sumsqr(ca.sum2(ca.sin(x) * x))
both = [ca.Function("h", [x], [ca.hessian(one, x)[0]])(point).full().tolist() for one in (f(x), own)]
quiet = {"ipopt.print_level": 0, "print_time": 0}
solver = ca.nlpsol("s", "ipopt", {"x": ca.vec(x), "f": f(x)}, quiet)
solver(x0=[0.3, -0.7, 1.2])
json.dump([*both, solver.stats()["success"]], open("found.json", "w"))
"""


def run_casadi(script: str, folder: Path) -> str:
    """Run a script with CasADi in a process of its own, which loads the runtime that is installed."""
    if find_spec("casadi") is None:
        pytest.skip("casadi is not installed")
    (library,) = (Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*")
    environment = {"CASADI_ONNXRUNTIME_LIB": str(library), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def columns(array: Any, like: np.ndarray) -> np.ndarray:
    """Matrices side by side, each as a column of its elements in the order of columns."""
    width = like.shape[1]
    parts = np.split(np.array(array), np.shape(array)[1] // width, axis=1)
    return np.stack([part.reshape(-1, order="F") for part in parts], axis=1)


@pytest.mark.parametrize("kinds", [("fwd",), ("adj",), ("jac",), ("fwd", "adj", "jac")])
@pytest.mark.parametrize("text", [SHAPES, POLICY])
def test_casadi_reads_the_files(text: str, kinds: tuple[str, ...], tmp_path: Path):
    """CasADi makes all of its derivatives from one of the files."""
    model = model_of(text)
    onnx.save(model, tmp_path / "f.onnx")
    for kind in kinds:
        KINDS[kind](model, family="casadi", check=False).save(tmp_path / f"{kind}_f.onnx")
    found = json.loads(run_casadi(SCRIPT, tmp_path))
    args = [np.array(one) for one in found["args"]]
    own = gradc.compile(model)
    shapes = [cast("tuple[int, ...]", one.shape) for one in own.inputs]
    fed = {
        one.name: np.reshape(array.astype("f"), shape)
        for one, array, shape in zip(own.inputs, args, shapes, strict=True)
    }
    y = [array if array.ndim == 2 else array.reshape(-1, 1) for array in own.run(fed).values()]
    want = gradc.jacobian(model, family="casadi", check=False).run(fed)
    names = [[one.name for one in part] for part in (own.outputs, own.inputs)]
    matrix = np.block([[want[f"jac_{of}_{wrt}"] for wrt in names[1]] for of in names[0]])
    np.testing.assert_allclose(found["jac"], matrix, rtol=1e-4, atol=1e-5)
    for kind, product, given, made in (("fwd", matrix, args, y), ("adj", matrix.T, y, args)):
        seeds, results = (
            np.concatenate([columns(one, like) for one, like in zip(part, likes, strict=True)])
            for part, likes in zip(found[kind], (given, made), strict=True)
        )
        np.testing.assert_allclose(results, product @ seeds, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["fwd", "jac"])
def test_casadi_has_the_hessian(kind: str, tmp_path: Path):
    """The derivative of the gradient gives an optimizer second derivatives."""
    model = model_of(ENERGY)
    gradient = gradc.vjp(model, family="casadi", num_cotangents=1)
    onnx.save(model, tmp_path / "f.onnx")
    gradient.save(tmp_path / "adj_f.onnx")
    KINDS[kind](gradient.model, family="casadi").save(tmp_path / f"{kind}_adj_f.onnx")
    run_casadi(HESSIAN, tmp_path)
    found, want, is_solved = json.loads((tmp_path / "found.json").read_text())
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)
    assert is_solved
