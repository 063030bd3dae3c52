"""Sessions on onnxruntime, from models built by hand."""

import gc
import sys
import tempfile
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from support.examples import examples

from dialects.support import dtypes
from dialects.support.diagnostics import GradcError, UnsupportedError, UsageError
from gradc.model import exporter, saving, tensors
from gradc.runtime import loading, refusals
from gradc.runtime import session as runtime
from gradc.runtime.session import Session, TensorInfo
from passes import kernel_tables

CUDA = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
NUMBERS = {e.name: e.number for e in dtypes.DTYPES}
PASSED = [name for name in NUMBERS if name not in ("s4", "u4")]
"""What onnxruntime has an Identity for; tests/property/test_op_specs.py has the others."""


def model_of(nodes, inputs, outputs, weights=(), opset=18) -> onnx.ModelProto:
    """inputs and outputs: (name, element type, shape)."""
    x, y = ([helper.make_tensor_value_info(*info) for info in side] for side in (inputs, outputs))
    graph = helper.make_graph(nodes, "g", x, y, list(weights))
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def numpy_dtype(name: str) -> np.dtype:
    found = dtypes.by_name(name)
    assert found is not None
    return found.numpy


YOUNG = (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2)
"""Types that ops take from opset 19 on."""


def identity(number: int, shape, op="Identity") -> onnx.ModelProto:
    node = helper.make_node(op, ["x"], ["y"], name="node0")
    made = model_of([node], [("x", number, shape)], [("y", number, shape)])
    made.opset_import[0].version = 21 if number in YOUNG else made.opset_import[0].version
    return made


def adder() -> Session:
    """y[N, 4] = a[N, 4] + b[N, 4], f32."""
    node = helper.make_node("Add", ["a", "b"], ["y"], name="add0")
    f32 = TensorProto.FLOAT
    sides = [("a", f32, ["N", 4]), ("b", f32, ["N", 4])], [("y", f32, ["N", 4])]
    return Session(model_of([node], *sides))


class TestElementTypes:
    def test_numbers_are_onnxs(self):
        for element in dtypes.ONNX_DTYPES:
            expected = helper.tensor_dtype_to_np_dtype(element.number)
            assert numpy_dtype(element.name) == expected

    def test_every_word_of_the_runtime_is_known(self):
        for element in dtypes.ONNX_DTYPES:
            assert tensors.dtype_of_runtime(f"tensor({element.onnx})") == element.name


class TestRun:
    @pytest.mark.sweep(entries=r"[a-z]\w+(?=\])")
    @pytest.mark.parametrize("name", PASSED)
    @pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)])
    def test_every_dtype_passes_unchanged(self, name, shape):
        dtype = numpy_dtype(name)
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        # A bf16 Identity has no CPU kernel before opset 14; at 18 every type has one.
        y = Session(identity(NUMBERS[name], shape)).run({"x": x})["y"]
        assert y.dtype == dtype
        assert y.shape == shape
        np.testing.assert_array_equal(y, x)

    def test_the_names_of_dtypes_in_infos(self):
        for name in PASSED:
            model = identity(NUMBERS[name], ["N", 2, None])
            expected = TensorInfo("x", name, ("N", 2, None))
            assert runtime.input_infos(model) == [expected]
            assert Session(model).inputs == (expected,)
            assert runtime.output_infos(model)[0].name == "y"
            assert Session(model).outputs[0].dtype == name

    @examples(20)
    @given(st.integers(0, 2**32 - 1), st.sampled_from(["f32", "f64", "s32", "s64"]))
    def test_matmul_against_numpy(self, seed, name):
        rng = np.random.default_rng(seed)
        m, k, n = rng.integers(1, 6, 3)
        dtype = numpy_dtype(name)
        a, b = rng.integers(-8, 8, (m, k)).astype(dtype), rng.integers(-8, 8, (k, n)).astype(dtype)
        number = NUMBERS[name]
        node = helper.make_node("MatMul", ["a", "b"], ["y"])
        sides = [("a", number, ["M", "K"]), ("b", number, ["K", "N"])], [("y", number, ["M", "N"])]
        y = Session(model_of([node], *sides)).run({"b": b, "a": a})["y"]
        np.testing.assert_array_equal(y, a @ b)

    def test_bf16_in_and_out(self):
        bf16, f32 = TensorProto.BFLOAT16, TensorProto.FLOAT
        nodes = [
            helper.make_node("Cast", ["x"], ["wide"], to=f32),
            helper.make_node("Mul", ["wide", "wide"], ["square"]),
            helper.make_node("Cast", ["square"], ["y"], to=bf16),
        ]
        model = model_of(nodes, [("x", bf16, ["N"])], [("y", bf16, ["N"]), ("square", f32, ["N"])])
        x = np.array([1.5, -3, 0.1], ml_dtypes.bfloat16)
        session = Session(model)
        for given_x in (x, x.view("V2")):
            outputs = session.run({"x": given_x})
            square = x.astype(np.float32) ** 2
            np.testing.assert_array_equal(outputs["square"], square)
            np.testing.assert_array_equal(outputs["y"], square.astype(ml_dtypes.bfloat16))

    def test_input_need_not_be_contiguous_nor_writable(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3).T
        x.flags.writeable = False
        y = Session(identity(1, [3, 2])).run({"x": x})["y"]
        np.testing.assert_array_equal(y, x)

    def test_outputs_outlive_the_session_and_do_not_alias(self):
        weights = numpy_helper.from_array(np.arange(1000, dtype=np.float32), "w")
        node = helper.make_node("Identity", ["w"], ["y"])
        session = Session(model_of([node], [], [("y", 1, [1000])], [weights]))
        first = session.run({})["y"]
        first += 1
        second = session.run({})["y"]
        del session
        gc.collect()
        np.testing.assert_array_equal(second, np.arange(1000))
        np.testing.assert_array_equal(first, np.arange(1, 1001))

    def test_inputs_are_not_aliased_by_outputs(self):
        x = np.zeros(4, np.float32)
        y = Session(identity(1, [4])).run({"x": x})["y"]
        y += 1
        assert not x.any()

    def test_an_input_that_nothing_reads(self):
        node = helper.make_node("Neg", ["x"], ["y"])
        session = Session(model_of([node], [("x", 1, [2]), ("unread", 1, [3])], [("y", 1, [2])]))
        x = np.ones(2, np.float32)
        np.testing.assert_array_equal(session.run({"x": x, "unread": np.ones(3, np.float32)})["y"], -x)
        with pytest.raises(GradcError, match="missing inputs: expected unread"):
            session.run({"x": x})

    def test_nothing_is_printed(self, capfd):
        node = helper.make_node("Reshape", ["x", "shape"], ["y"], name="reshape0")
        sides = [("x", 1, [6]), ("shape", 7, [2])], [("y", 1, [None, None])]
        session = Session(model_of([node], *sides))
        with pytest.raises(GradcError, match=r"onnxruntime cannot run the model: .*reshape0") as error:
            session.run({"x": np.zeros(6, np.float32), "shape": np.array([4, 4])})
        assert "\n" not in str(error.value)
        assert "onnxruntime_src" not in str(error.value)
        assert capfd.readouterr() == ("", "")


class TestBound:
    def test_every_call_is_a_run(self):
        node = helper.make_node("Neg", ["x"], ["y"])
        session = Session(model_of([node], [("x", 1, ["N"])], [("y", 1, ["N"])]), threads=2)
        x = np.arange(5, dtype=np.float32)
        bound = session.bound({"x": x})
        before = bound.results()["y"]
        np.testing.assert_array_equal(before, -x)
        x += 3  # the session reads the array itself
        np.testing.assert_array_equal(bound.results()["y"], before)
        bound()
        np.testing.assert_array_equal(bound.results()["y"], -x)
        np.testing.assert_array_equal(before, -x + 3)

    @pytest.mark.sweep
    @pytest.mark.parametrize("name", PASSED)
    @pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)])
    def test_every_dtype(self, name, shape):
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(numpy_dtype(name))
        bound = Session(identity(NUMBERS[name], shape)).bound({"x": x})
        bound()
        np.testing.assert_array_equal(bound.results()["y"], x)

    def test_two_of_one_session(self):
        session = adder()
        a, b = np.ones((2, 4), np.float32), np.ones((3, 4), np.float32)
        first, second = session.bound({"a": a, "b": a}), session.bound({"a": b, "b": 2 * b})
        first()
        assert first.results()["y"].shape == (2, 4)
        np.testing.assert_array_equal(second.results()["y"], 3 * b)

    def test_refusals(self):
        with pytest.raises(GradcError, match="missing inputs: expected b"):
            adder().bound({"a": np.ones((2, 4), np.float32)})
        node = helper.make_node("Reshape", ["x", "shape"], ["y"])
        session = Session(model_of([node], [("x", 1, [6]), ("shape", 7, [1])], [("y", 1, [None])]))
        with pytest.raises(GradcError, match="onnxruntime cannot run the model"):
            session.bound({"x": np.ones(6, np.float32), "shape": np.array([5])})


class TestInputs:
    """Messages name the input, what was given and what was expected."""

    @pytest.mark.parametrize(
        ("inputs", "message"),
        [
            (
                {"a": np.zeros((2, 4), np.float32), "B": np.zeros((2, 4), np.float32)},
                "error: unknown input: given B, expected a, b; did you mean b?",
            ),
            ({"a": np.zeros((2, 4), np.float32)}, "error: missing inputs: expected b: f32 [N, 4]"),
            ({}, "error: missing inputs: expected a: f32 [N, 4]; b: f32 [N, 4]"),
            (
                {"a": np.zeros((2, 4)), "b": np.zeros((2, 4), np.float32)},
                'error: [input "a"] dtype: given f64, expected f32; numpy\'s float32',
            ),
            (
                {"a": np.zeros((2, 4), np.complex64), "b": np.zeros((2, 4), np.float32)},
                'error: [input "a"] dtype: given c64, expected f32; numpy\'s float32',
            ),
            (
                {"a": np.zeros((2, 4), np.float32), "b": np.zeros(4, np.float32)},
                'error: [input "b"] rank of shape [4]: given 1, expected 2',
            ),
            (
                {"a": np.zeros((2, 5), np.float32), "b": np.zeros((2, 4), np.float32)},
                'error: [input "a"] shape: given [2, 5], expected [N, 4]',
            ),
            (
                {"a": np.zeros((2, 4), np.float32), "b": np.zeros((3, 4), np.float32)},
                'error: [input "b"] dim N at axis 0: given 3, expected 2 as at axis 0 of "a"',
            ),
        ],
    )
    def test_misfit(self, inputs, message):
        with pytest.raises(GradcError) as error:
            adder().run(inputs)
        assert str(error.value) == message
        assert error.value.exit_code == 4


class TestLoading:
    def test_from_a_path_with_external_data(self, tmp_path):
        w = numpy_helper.from_array(np.arange(800, dtype=np.float32).reshape(400, 2), "w")
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
        model = model_of([node], [("x", 1, ["N", 400])], [("y", 1, ["N", 2])], [w])
        saving.save_model(model, tmp_path / "m.onnx", limit=100)
        x = np.ones((3, 400), np.float32)
        y = Session(tmp_path / "m.onnx").run({"x": x})["y"]
        np.testing.assert_array_equal(y, x @ np.arange(800, dtype=np.float32).reshape(400, 2))

    @pytest.mark.sweep
    @pytest.mark.parametrize("dtype", NUMBERS)
    @pytest.mark.parametrize("limit", [(saving, "PROTO_LIMIT"), (loading, "MESSAGE_BYTES")])
    def test_weights_beyond_the_limit_stay_in_memory(self, limit, dtype, monkeypatch, tmp_path):
        """A message would be a copy of them, and what is read from it another."""
        values = (np.arange(9600) % 3 % 2).reshape(4800, 2)
        w = numpy_helper.from_array(values.astype(numpy_dtype(dtype)), "w")
        nodes = [helper.make_node("Cast", ["w"], ["v"], to=1), helper.make_node("MatMul", ["x", "v"], ["y"])]
        model = model_of(nodes, [("x", 1, ["N", 4800])], [("y", 1, ["N", 2])], [w], opset=21)
        model.ir_version = 10
        monkeypatch.setattr(*limit, 100)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        session = Session(model)
        assert list(session._weights) == ([] if dtype in ("s4", "u4") else ["w"])  # those go in the message
        del model, w
        gc.collect()
        y = session.run({"x": np.ones((1, 4800), np.float32)})["y"]
        np.testing.assert_array_equal(y, [values.sum(0)])
        assert list(tmp_path.iterdir()) == []

    def test_missing_file(self, tmp_path):
        with pytest.raises(GradcError, match=r"cannot read .*no\.onnx: No such file or directory"):
            Session(tmp_path / "no.onnx")

    def test_file_that_is_no_model(self, tmp_path, capfd):
        (tmp_path / "a.onnx").write_bytes(b"hello")
        with pytest.raises(GradcError, match=r"cannot load .*a\.onnx: it is not an ONNX model$") as error:
            Session(tmp_path / "a.onnx")
        assert "\n" not in str(error.value)
        assert capfd.readouterr() == ("", "")

    def test_missing_external_data(self, tmp_path):
        w = numpy_helper.from_array(np.ones((400, 2), np.float32), "w")
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
        model = model_of([node], [("x", 1, ["N", 400])], [("y", 1, ["N", 2])], [w])
        saving.save_model(model, tmp_path / "m.onnx", limit=100)
        (data,) = tmp_path.glob("*.data")
        data.unlink()
        with pytest.raises(GradcError, match=r'cannot load .*m\.onnx: tensor "w": .*: No such file'):
            Session(tmp_path / "m.onnx")

    def test_missing_kernel_is_unsupported(self):
        model = identity(TensorProto.BFLOAT16, [2], op="Sqrt")
        with pytest.raises(UnsupportedError, match=r"onnxruntime cannot load the model: .*Sqrt"):
            Session(model)

    @pytest.mark.parametrize(("version", "old"), [("1.31.9", True), ("1.32.0", False), ("1.100.1", False)])
    def test_an_old_runtime_may_refuse_a_model(self, version, old):
        model = model_of([helper.make_node("Neg", ["nobody"], ["y"])], [], [("y", 1, [2])])
        with pytest.raises(Exception, match="nobody") as error, refusals.report_old_runtime(version):
            Session(model)
        assert isinstance(error.value, UnsupportedError) == old

    def test_an_invalid_model_of_ours_is_not_the_users_mistake(self):
        model = model_of([helper.make_node("Neg", ["nobody"], ["y"])], [], [("y", 1, [2])])
        with pytest.raises(Exception, match="nobody") as error:
            Session(model)
        assert not isinstance(error.value, GradcError)


class TestProviders:
    def test_default_is_cpu(self):
        assert adder().providers == ("CPUExecutionProvider",)

    def test_placement_names_every_node(self):
        nodes = [
            helper.make_node("Neg", ["x"], ["a"], name="neg0"),
            helper.make_node("Softmax", ["a"], ["b"]),
            helper.make_node("Softmax", ["b"], ["y"]),
        ]
        session = Session(model_of(nodes, [("x", 1, [2, 3])], [("y", 1, [2, 3])]))
        assert session.placement() == dict.fromkeys(["neg0", "Softmax", "Softmax_1"], "CPUExecutionProvider")

    def test_unknown_provider(self):
        with pytest.raises(UsageError, match="ep: given 'tpu', expected one of cpu, cuda"):
            Session(identity(1, [1]), ep="tpu")  # pyright: ignore[reportArgumentType]

    @pytest.mark.parametrize("threads", [0, -1])
    def test_threads(self, threads):
        with pytest.raises(UsageError, match=f"threads: given {threads}, expected a whole number, 1 or more"):
            Session(identity(1, [1]), threads=threads)
        assert Session(identity(1, [1]), threads=1).run({"x": np.ones(1, np.float32)})["y"] == 1

    @pytest.mark.skipif(CUDA, reason="CUDA is available")
    def test_cuda_that_is_not_installed(self):
        with pytest.raises(UnsupportedError, match=r'pip install "onnxruntime-gpu\[cuda,cudnn\]') as error:
            Session(identity(1, [1]), ep="cuda")
        assert error.value.exit_code == 3

    def test_cuda_that_does_not_start(self, monkeypatch, capsys):
        """onnxruntime lists CUDA, prints where libraries are missing, and falls back to the CPU."""
        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider"])
        monkeypatch.setattr(onnxruntime, "preload_dlls", lambda: print("noise"), raising=False)
        fallback = SimpleNamespace(get_providers=lambda: ["CPUExecutionProvider"])
        monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *_, **__: fallback)
        with pytest.raises(UnsupportedError, match="CUDAExecutionProvider did not start"):
            Session(identity(1, [1]), ep="cuda")
        assert capsys.readouterr().out == ""

    @pytest.mark.skipif(not CUDA, reason="needs CUDA")
    @pytest.mark.parametrize("name", ["f32", "f16", "bf16", "s64"])
    def test_cuda(self, name):
        x = np.arange(8).reshape(2, 4).astype(numpy_dtype(name))
        node = helper.make_node("Add", ["x", "x"], ["y"], name="add0")
        number = NUMBERS[name]
        model = model_of([node], [("x", number, ["N", 4])], [("y", number, ["N", 4])])
        session = Session(model, ep="cuda")
        np.testing.assert_array_equal(session.run({"x": x})["y"], x + x)
        assert session.placement() == {"add0": "CUDAExecutionProvider"}

    def test_without_onnxruntime(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        with pytest.raises(UnsupportedError, match=r'pip install "onnxruntime>='):
            Session(identity(1, [1]))


class TestOpsets:
    def test_newest_is_the_last_that_loads(self):
        """A session of the newest opset loads and runs; one of the next does not, or is not onnx's."""
        newest = runtime.newest_released_opset()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        onnxruntime.InferenceSession(exporter.identity_model(newest), options)
        assert 18 <= newest <= onnx.defs.onnx_opset_version()
        if newest < onnx.defs.onnx_opset_version():
            with pytest.raises(Exception, match=r"opset|IR version"):
                onnxruntime.InferenceSession(exporter.identity_model(newest + 1), options)

    def test_range(self):
        newest = runtime.newest_opset()
        for opset in (13, runtime.DEFAULT_OPSET, newest):
            runtime.check_opset(opset)
        for opset in (12, newest + 1, 0, -1):
            expected = f"error: opset: given {opset}, expected 13 to {newest} "
            with pytest.raises(UsageError) as error:
                runtime.check_opset(opset)
            assert str(error.value).startswith(expected)

    def test_no_opset_is_written_whose_kernels_are_unknown(self, monkeypatch):
        """A runtime that was released after gradc may have revised any op."""
        monkeypatch.setattr(runtime, "newest_released_opset", lambda: 99)
        assert runtime.newest_opset() == kernel_tables.newest_opset()

    def test_without_onnxruntime_onnx_decides(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        assert runtime.newest_released_opset.__wrapped__() == onnx.defs.onnx_opset_version()

    def test_nothing_is_printed(self, capfd):
        runtime.newest_released_opset.__wrapped__()
        assert capfd.readouterr() == ("", "")
