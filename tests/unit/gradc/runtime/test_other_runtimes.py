"""Compiled models on OpenVINO and tract, and the errors of runtimes that are missing or refuse a model."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.cli import run_gradc
from support.runtimes.runner import require

import gradc
from dialects.support.diagnostics import GradcError, UnsupportedError, UsageError
from gradc.runtime import RUNTIMES, other_runtimes
from gradc.runtime.other_runtimes import SESSIONS, OpenvinoSession, TractSession, session_of_file

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "conv_backward.mlir"

PORTABLE = ("--target", "portable")


def squares(dims: list[int | str]) -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in "xy")
    graph = helper.make_graph([helper.make_node("Mul", ["x", "x"], ["y"])], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.fixture(params=SESSIONS)
def runtime(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    require(None if find_spec(name) else f"{name} is not installed: pip install -e '.[{name}]'")
    return name


class TestInstalled:
    def test_a_compiled_graph(self, runtime: str):
        compiled = gradc.compile(EXAMPLE, target="portable")
        rng = np.random.default_rng(0)
        feeds = {i.name: rng.standard_normal(i.shape).astype(np.float32) for i in compiled.inputs}
        got, want = compiled.run(feeds, runtime=runtime), compiled.run(feeds)
        assert list(got) == list(want)
        np.testing.assert_allclose(got["diff_src"], want["diff_src"], rtol=1e-4, atol=1e-5)
        assert compiled.session_on(runtime) is compiled.session_on(runtime)

    def test_a_dynamic_size_is_checked(self, runtime: str):
        compiled = gradc.compile(squares(["N", 3]))
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(compiled.run({"x": x}, runtime=runtime)["y"], x * x)
        with pytest.raises(GradcError, match="x"):
            compiled.run({"x": x[:, :2]}, runtime=runtime)

    def test_a_file(self, runtime: str, tmp_path: Path):
        onnx.save(squares([2, 3]), tmp_path / "squares.onnx")
        session = session_of_file(tmp_path / "squares.onnx", None, 1, runtime)
        x = np.ones((2, 3), np.float32)
        np.testing.assert_array_equal(session.run({"x": x})["y"], x)
        with pytest.raises(GradcError, match="given y, expected x"):
            session.run({"y": x})

    def test_the_commands(self, runtime: str, tmp_path: Path):
        assert (
            run_gradc("run", EXAMPLE, *PORTABLE, "--runtime", runtime, "-o", tmp_path / "out.npz").code == 0
        )
        verified = run_gradc("verify", EXAMPLE, *PORTABLE, "--runtime", runtime)
        assert verified.code == 0
        assert " ok" in verified.out
        onnx.save(squares([2, 3]), tmp_path / "squares.onnx")
        assert run_gradc("verify", tmp_path / "squares.onnx", "--runtime", runtime).code == 0

    def test_a_wrong_result_fails(self, runtime: str, monkeypatch: pytest.MonkeyPatch):
        session: Any = SESSIONS[runtime]
        right = session._run
        monkeypatch.setattr(session, "_run", lambda self, inputs: [a + 1 for a in right(self, inputs)])
        assert run_gradc("verify", EXAMPLE, *PORTABLE, "--runtime", runtime).code == 1


class TestErrors:
    @pytest.mark.parametrize("name", SESSIONS)
    def test_a_missing_runtime_names_its_package(self, name: str, monkeypatch: pytest.MonkeyPatch):
        def missing(module: str) -> ModuleType:
            raise ModuleNotFoundError(f"No module named '{module}'")

        monkeypatch.setattr(other_runtimes, "import_module", missing)
        with pytest.raises(UnsupportedError, match=rf"cannot be imported .*; pip install .*{name}"):
            gradc.compile(EXAMPLE).run({}, runtime=name)

    def test_an_unknown_runtime(self):
        with pytest.raises(UsageError, match="abacus"):
            gradc.compile(squares([2])).run({"x": np.ones(2, np.float32)}, runtime="abacus")

    def test_an_execution_provider_is_onnxruntime_s(self):
        with pytest.raises(UsageError, match=r"ep.* is onnxruntime's, and .*runtime.* is openvino"):
            gradc.compile(squares([2])).run({"x": np.ones(2, np.float32)}, ep="cpu", runtime="openvino")

    def test_inner_values_need_onnxruntime(self, tmp_path: Path):
        onnx.save(squares([2, 3]), tmp_path / "squares.onnx")
        refused = run_gradc("verify", tmp_path / "squares.onnx", "--within", "--runtime", "tract")
        assert refused.code == 2
        assert "--within needs onnxruntime" in refused.err

    @pytest.mark.parametrize("session", [OpenvinoSession, TractSession])
    def test_a_refusal_is_one_line(self, session: Any, monkeypatch: pytest.MonkeyPatch):
        def refuse(self: Any, *_: Any) -> None:
            raise RuntimeError("no op\nCol2Im\n\nStack backtrace: 0 at x.rs")

        monkeypatch.setattr(other_runtimes, "import_module", ModuleType)
        monkeypatch.setattr(session, "_load", refuse)
        with pytest.raises(UnsupportedError) as raised:
            session(squares([2]))
        assert str(raised.value).startswith(f"error: {session.title} cannot load the model: no op Col2Im; ")

    def test_onnxruntime_is_the_default(self):
        assert ("onnxruntime", *SESSIONS) == RUNTIMES
