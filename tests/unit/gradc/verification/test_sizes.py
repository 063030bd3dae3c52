"""`gradc verify` of models whose sizes, axes and indices are inputs: they get numbers that the ops take."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import parser
from support.cli import run_gradc

MODELS = {
    "Resize sizes": "float[1,3,H,W] x, int64[4] s|float[A,B,C,D] y|y = Resize(x, , , s)",
    "Resize scales": 'float[1,3,H,W] x, float[4] s|float[A,B,C,D] y|y = Resize<mode = "linear">(x, , s)',
    "Reshape": "float[1,3,H,W] x, int64[3] s|float[A,B,C] y|y = Reshape(x, s)",
    "Reshape of any rank": "float[1,3,H,W] x, int64[K] s|float[A,B] y|y = Reshape(x, s)",
    "Expand": "float[N,1] x, int64[3] s|float[A,B,C] y|y = Expand(x, s)",
    "Slice": "float[N,M] x, int64[2] a, int64[2] b, int64[2] c, int64[2] d|float[P,Q] y|"
    "y = Slice(x, a, b, c, d)",
    "Tile": "float[N,M] x, int64[2] s|float[P,Q] y|y = Tile(x, s)",
    "Range": "int64 a, int64 b, int64 c|int64[P] y|y = Range(a, b, c)",
    "TopK": "float[N,M] x, int64[1] k|float[P,Q] y, int64[P,Q] z|y, z = TopK(x, k)",
    "OneHot": "int64[N] x, int64 d, float[2] v|float[P,Q] y|y = OneHot(x, d, v)",
    "Pad": "float[N,M] x, int64[4] p|float[P,Q] y|y = Pad(x, p)",
    "Gather": "float[N,M] x, int64[3] i|float[3,Q] y|y = Gather(x, i)",
    "LSTM": """float[S,B,4] x, float[1,12,4] w, float[1,12,3] r, int32[B] l|float[P,1,Q,3] y|
        y = LSTM<hidden_size = 3>(x, w, r, , l)""",
    "Split": "float[N,6] x, int64[2] s|float[P,Q] y, float[P,R] z|y, z = Split<axis = 1>(x, s)",
    "axes": "float[N,M] x, int64[2] a|float[P,Q] y|y = ReduceSum(x, a)",
    "Unsqueeze": "float[N,M] x, int64[1] a|float[P,Q,R] y|y = Unsqueeze(x, a)",
    "behind a Cast": "float[1,3,H,W] x, int32[4] s|float[A,B,C,D] y|t = Cast<to = 7>(s) y = Resize(x, , , t)",
    "integer divisor": "int64[N] x, int64[N] d|int64[N] y|y = Div(x, d)",
    "several draws": "float[N,6] x, int64[1] d|float[P,Q] y|m = Constant<value = int64[1] {-1}>() "
    "s = Concat<axis = 0>(d, m) y = Reshape(x, s)",
}


def saved(text: str, path: Path) -> Path:
    inputs, outputs, body = text.split("|")
    onnx.save(
        parser.parse_model(
            f'<ir_version: 9, opset_import: ["" : 18]> g ({inputs}) => ({outputs}) {{ {body} }}'
        ),
        path,
    )
    return path


@pytest.mark.parametrize("name", MODELS)
def test_decided(name: str, tmp_path: Path):
    result = run_gradc("verify", saved(MODELS[name], tmp_path / "m.onnx"), "--json")
    assert result.code == 0, result.err
    rows = json.loads(result.out)
    assert rows
    assert all(row["ok"] and row["worst"] == 0 for row in rows)
    assert not all(row["empty"] for row in rows)


@pytest.mark.parametrize("name", ["Resize sizes", "Reshape", "TopK", "Slice"])
def test_run(name: str, tmp_path: Path):
    assert run_gradc("run", saved(MODELS[name], tmp_path / "m.onnx")).code == 0


UNDECIDED = {
    "s as ": "float[2,3] x, int64[1] s|float[A,B] y|m = Constant<value = int64[1] {1000}>() "
    "t = Add(s, m) y = Expand(x, t)",
    "sizes x=2x12": "float[?,?] x|float[A,B] y|s = Constant<value = int64[2] {-1, 999}>() y = Reshape(x, s)",
}


@pytest.mark.parametrize("words", UNDECIDED)
def test_undecided(words: str, tmp_path: Path):
    """It may be a right model: the exit code is not that of a wrong one."""
    result = run_gradc("verify", saved(UNDECIDED[words], tmp_path / "m.onnx"))
    assert result.code == 3
    for part in (
        words.removesuffix(", ").removesuffix("[1"),
        "runs at none of the drawn inputs",
        "--inputs",
    ):
        assert part in result.err


def test_inputs_that_are_given(tmp_path: Path):
    """They are the user's: the model's refusal is an error in them."""
    import numpy as np

    path = saved(MODELS["Reshape"], tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", x=np.ones((1, 3, 2, 2), np.float32), s=np.array([7, 7, 7]))
    assert run_gradc("verify", path, "--inputs", tmp_path / "in.npz").code == 4


@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
def test_outputs_of_half_bytes(kind: str):
    """onnxruntime packs two numbers into a byte, also where their number is odd."""
    import numpy as np

    import gradc

    number = onnx.TensorProto.DataType.Value(kind)
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 3])
    y = onnx.helper.make_tensor_value_info("y", number, [3, 3])
    node = onnx.helper.make_node("Cast", ["x"], ["y"], to=number)
    graph = onnx.helper.make_graph([node], "g", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)])
    fed = np.arange(9, dtype=np.float32).reshape(3, 3) - (4 if kind == "INT4" else 0)
    found = gradc.compile(model).run({"x": fed})["y"]
    assert np.array_equal(found.astype(np.float32), fed)
