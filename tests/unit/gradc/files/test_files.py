"""Files: whole or not at all, external data, .npz with bfloat16."""

import errno
import hashlib
import os
import stat
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc
from dialects.support.diagnostics import GradcError
from gradc.files import atomic, npz, writing
from gradc.graph import tensors
from gradc.model import saving
from gradc.runtime.session import Session


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def data_of(folder):
    """The one file of external data in a folder."""
    (found,) = folder.glob("*.data")
    return found


def fail_with(code):
    def failing(*_args):
        raise OSError(code, os.strerror(code))

    return failing


def matmul_model(rows: int, fill: float) -> onnx.ModelProto:
    """y = x @ w with w [rows, 4] full of `fill`, and a small constant b [4] added."""
    w = numpy_helper.from_array(np.full((rows, 4), fill, np.float32), "w")
    b = numpy_helper.from_array(np.arange(4, dtype=np.float32), "b")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", "mb", "y")]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, rows])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])
    graph = helper.make_graph(nodes, "g", [x], [y], [w, b])
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def run(path, rows: int) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": np.ones((2, rows), np.float32)})[0])


class TestWriteWhole:
    def test_writes_and_leaves_nothing_else(self, tmp_path):
        writing.write_atomically(tmp_path / "a", b"one")
        writing.write_atomically(tmp_path / "a", b"two")
        assert (tmp_path / "a").read_bytes() == b"two"
        assert names(tmp_path) == ["a"]

    @pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
    def test_new_file_has_the_umasks_permissions(self, tmp_path, umask, mode):
        before = os.umask(umask)
        try:
            writing.write_atomically(tmp_path / "a", b"")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode

    def test_existing_file_keeps_its_permissions(self, tmp_path):
        (tmp_path / "a").write_bytes(b"old")
        (tmp_path / "a").chmod(0o640)
        writing.write_atomically(tmp_path / "a", b"new")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640

    def test_a_link_stays_a_link(self, tmp_path):
        (tmp_path / "link").symlink_to("real")
        (tmp_path / "real").write_bytes(b"old")
        writing.write_atomically(tmp_path / "link", b"new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_bytes() == b"new"

    def test_a_device_is_written_to_and_not_replaced(self):
        writing.write_atomically("/dev/null", b"x")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    @pytest.mark.parametrize("function", ["fsync", "replace"])
    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
    def test_failure_keeps_the_old_file(self, tmp_path, monkeypatch, function, code):
        path = tmp_path / "a"
        path.write_bytes(b"old")
        monkeypatch.setattr(os, function, fail_with(code))
        with pytest.raises(GradcError) as error:
            writing.write_atomically(path, b"new")
        assert str(error.value) == f"error: cannot write {path}: {os.strerror(code)}"
        assert path.read_bytes() == b"old"
        assert names(tmp_path) == ["a"]

    def test_interrupt_leaves_nothing(self, tmp_path):
        def interrupted():
            with writing.atomic_file(tmp_path / "a") as file:
                file.write(b"half")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert names(tmp_path) == []

    def test_missing_folder(self, tmp_path):
        with pytest.raises(GradcError, match=r"cannot write .*/no/a: there is no folder .*/no$"):
            writing.write_atomically(tmp_path / "no" / "a", b"")
        assert names(tmp_path) == []

    def test_path_is_a_folder(self, tmp_path):
        with pytest.raises(GradcError, match="it is a folder"):
            writing.write_atomically(tmp_path, b"")

    def test_long_name(self, tmp_path):
        with pytest.raises(GradcError, match="File name too long"):
            writing.write_atomically(tmp_path / ("a" * 300), b"")
        assert names(tmp_path) == []


class TestSaveModel:
    def test_one_file_below_the_limit(self, tmp_path):
        model = matmul_model(300, 2.0)
        saving.save_model(model, tmp_path / "m.onnx")
        assert names(tmp_path) == ["m.onnx"]
        assert onnx.load(tmp_path / "m.onnx") == model

    def test_external_data_above_the_limit(self, tmp_path):
        model = matmul_model(300, 2.0)
        before = model.SerializeToString()
        saving.save_model(model, tmp_path / "m.onnx", limit=1000)
        assert model.SerializeToString() == before
        digest = hashlib.sha256(data_of(tmp_path).read_bytes()).hexdigest()[:16]
        assert names(tmp_path) == ["m.onnx", f"m.onnx.{digest}.data"]
        assert (tmp_path / "m.onnx").stat().st_size < 1000
        np.testing.assert_array_equal(run(tmp_path / "m.onnx", 300), [[600, 601, 602, 603]] * 2)
        onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
        assert onnx.load(tmp_path / "m.onnx").graph.initializer[0].raw_data == (
            model.graph.initializer[0].raw_data
        )

    def test_external_data_moves_with_its_model(self, tmp_path, monkeypatch):
        (tmp_path / "a").mkdir()
        monkeypatch.chdir(tmp_path)
        saving.save_model(matmul_model(300, 1.0), "a/m.onnx", limit=0)
        (tmp_path / "a").rename(tmp_path / "b")
        np.testing.assert_array_equal(run(tmp_path / "b" / "m.onnx", 300)[0], [300, 301, 302, 303])

    def test_every_external_tensor_is_aligned(self, tmp_path):
        model = matmul_model(300, 1.0)
        model.graph.initializer.append(numpy_helper.from_array(np.full(600, 7, np.int16), "z"))
        saving.save_model(model, tmp_path / "m.onnx", limit=0)
        slim = onnx.load(tmp_path / "m.onnx", load_external_data=False)
        offsets = [int(e.value) for t in slim.graph.initializer for e in t.external_data if e.key == "offset"]
        assert offsets == [0, 8192]
        assert data_of(tmp_path).read_bytes()[8192:] == np.full(600, 7, np.int16).tobytes()

    def test_former_data_goes_with_the_former_model(self, tmp_path):
        path = tmp_path / "m.onnx"
        others = ["m.onnx.data", "m.onnx.0123456789abcdeF.data", "n.onnx.0123456789abcdef.data"]
        for name in others:
            (tmp_path / name).write_bytes(b"")
        saving.save_model(matmul_model(300, 1.0), path, limit=0)
        first = set(names(tmp_path))
        saving.save_model(matmul_model(300, 2.0), path, limit=0)
        assert len(first) == 5
        assert len(first & set(names(tmp_path))) == 4
        saving.save_model(matmul_model(300, 1.0), path, limit=0)
        assert set(names(tmp_path)) == first
        saving.save_model(matmul_model(300, 1.0), path)
        assert names(tmp_path) == sorted(["m.onnx", *others])

    def test_data_that_another_process_is_about_to_use_stays(self, tmp_path):
        path = tmp_path / "m.onnx"
        with atomic.draft(tmp_path) as theirs:
            theirs.publish(tmp_path / "m.onnx.0123456789abcdef.data")
            saving.save_model(matmul_model(300, 1.0), path, limit=0)
            assert len(names(tmp_path)) == 3
        saving.save_model(matmul_model(300, 1.0), path, limit=0)
        assert len(names(tmp_path)) == 2

    def test_a_link_to_a_model(self, tmp_path):
        for folder in "ab":
            (tmp_path / folder).mkdir()
        (tmp_path / "a" / "link.onnx").symlink_to("../b/m.onnx")
        saving.save_model(matmul_model(300, 1.0), tmp_path / "a" / "link.onnx", limit=0)
        assert names(tmp_path / "a") == ["link.onnx"]
        assert len(names(tmp_path / "b")) == 2
        assert Session(tmp_path / "a" / "link.onnx").run({"x": np.ones((2, 300), "f")})["y"][0, 0] == 300

    @pytest.mark.parametrize("existing", [False, True])
    @pytest.mark.parametrize("failing_call", [1, 2])
    def test_both_files_or_none(self, tmp_path, monkeypatch, existing, failing_call):
        path = tmp_path / "m.onnx"
        if existing:
            saving.save_model(matmul_model(300, 1.0), path, limit=0)
        before = names(tmp_path)
        real, calls = atomic.Draft.publish, []

        def publish(self, target):
            calls.append(target)
            if len(calls) == failing_call:
                raise OSError(errno.EIO, "Input/output error")
            real(self, target)

        monkeypatch.setattr(atomic.Draft, "publish", publish)
        with pytest.raises(GradcError, match=r"cannot write .*m\.onnx: Input/output error"):
            saving.save_model(matmul_model(300, 2.0), path, limit=0)
        assert names(tmp_path) == before
        if existing:
            assert run(path, 300)[0, 0] == 300

    def test_two_files_need_a_folder(self):
        with pytest.raises(GradcError, match="cannot write /dev/null: external data needs"):
            saving.save_model(matmul_model(300, 1.0), "/dev/null", limit=0)

    def test_missing_folder(self, tmp_path):
        for limit in (0, 10**9):
            with pytest.raises(GradcError, match="there is no folder"):
                saving.save_model(matmul_model(300, 1.0), tmp_path / "no" / "m.onnx", limit=limit)
        assert names(tmp_path) == []


class TestNpz:
    def test_round_trip_of_every_dtype_and_awkward_names(self, tmp_path):
        arrays = {
            "file": np.arange(6, dtype=np.float32).reshape(2, 3),
            "encoder/x:0": np.array([1, 0, 1], bool),
            "scalar": np.array(3, np.int64),
            "empty": np.zeros((0, 4), np.float16),
            "bf": np.array([[1.5, -2], [0, 3]], ml_dtypes.bfloat16),
            "transposed": np.arange(6.0).reshape(2, 3).T,
        }
        npz.write_npz(tmp_path / "a.npz", arrays)
        back = npz.read_npz(tmp_path / "a.npz")
        assert list(back) == list(arrays)
        back["bf"] = tensors.as_dtype(back["bf"], "bf16")
        for name, array in arrays.items():
            assert back[name].dtype == array.dtype
            np.testing.assert_array_equal(back[name], array)

    def test_as_dtype_leaves_other_arrays_alone(self):
        array = np.zeros(2, np.float32)
        assert tensors.as_dtype(array, "bf16") is array
        void = np.zeros(2, "V2")
        assert tensors.as_dtype(void, "f16") is void

    def test_numpy_reads_it_and_bytes_repeat(self, tmp_path):
        for name in "ab":
            npz.write_npz(tmp_path / name, {"x": np.arange(3)})
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        np.testing.assert_array_equal(np.load(tmp_path / "a")["x"], [0, 1, 2])

    def test_reads_what_numpy_wrote(self, tmp_path):
        np.savez_compressed(tmp_path / "a.npz", x=np.arange(3), b=np.ones(2, ml_dtypes.bfloat16))
        back = npz.read_npz(tmp_path / "a.npz")
        np.testing.assert_array_equal(back["x"], [0, 1, 2])
        np.testing.assert_array_equal(tensors.as_dtype(back["b"], "bf16").astype(float), [1, 1])

    def test_another_byte_order(self, tmp_path):
        arrays = {name: np.arange(3).astype(name) for name in (">f4", ">i8", ">U2")}
        np.savez(tmp_path / "a.npz", **arrays)
        for name, array in npz.read_npz(tmp_path / "a.npz").items():
            assert array.dtype.isnative
            np.testing.assert_array_equal(array, arrays[name])

    def test_missing_file(self, tmp_path):
        with pytest.raises(GradcError, match=r"cannot read .*a\.npz: No such file or directory"):
            npz.read_npz(tmp_path / "a.npz")

    def test_folder(self, tmp_path):
        with pytest.raises(GradcError, match="Is a directory"):
            npz.read_npz(tmp_path)

    @pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 truncated"])
    def test_not_an_archive(self, tmp_path, content):
        (tmp_path / "a.npz").write_bytes(content)
        with pytest.raises(GradcError, match=r"cannot read .*a\.npz: ") as error:
            npz.read_npz(tmp_path / "a.npz")
        assert "pickle" not in str(error.value)

    def test_an_npy_file_is_no_npz(self, tmp_path):
        np.save(tmp_path / "a.npy", np.arange(3))
        with pytest.raises(GradcError, match=r"not an \.npz file"):
            npz.read_npz(tmp_path / "a.npy")

    @pytest.mark.parametrize(
        "header",
        [
            b"(" * 40,
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}",
            b"{'descr': '<f4', 'fortran_order': True, 'shape': (2.0, 1)}",
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (True, 2**70)}",
            b"1" * 5000,
        ],
        ids=lambda header: header[:50].decode(),
    )
    def test_a_member_with_a_wrong_header(self, tmp_path, header):
        data = b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header + bytes(8)
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("w.npy", data)
        with pytest.raises(GradcError, match=r'cannot read array "w" of .*a\.npz: ') as caught:
            npz.read_npz(tmp_path / "a.npz")
        assert len(str(caught.value)) < 1000

    @pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_any_byte_may_be_wrong(self, tmp_path, method):
        """Whatever a broken archive makes zipfile raise, or the arrays that are left."""
        with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
            np.savez(tmp_path / "whole.npz", w=np.arange(6.0))
            with zipfile.ZipFile(tmp_path / "whole.npz") as whole:
                archive.writestr("w.npy", whole.read("w.npy"))
        data = (tmp_path / "a.npz").read_bytes()
        refused = 0
        for at in range(4, len(data)):
            (tmp_path / "b.npz").write_bytes(data[:at] + bytes([data[at] ^ 0x51]) + data[at + 1 :])
            try:
                npz.read_npz(tmp_path / "b.npz")
            except GradcError:
                refused += 1
        assert refused > len(data) // 2

    def test_pickled_objects_are_refused(self, tmp_path):
        np.savez(tmp_path / "a.npz", good=np.arange(2), bad=np.array([{}], object))
        with pytest.raises(GradcError, match=r'array "bad" of .*a\.npz: it holds Python objects'):
            npz.read_npz(tmp_path / "a.npz")

    def test_member_that_is_no_array(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("readme.txt", "hello")
        with pytest.raises(GradcError, match=r'"readme.txt" of .*: it is not an array'):
            npz.read_npz(tmp_path / "a.npz")

    def test_damaged_member(self, tmp_path):
        np.savez_compressed(tmp_path / "a.npz", x=np.arange(1000))
        data = bytearray((tmp_path / "a.npz").read_bytes())
        data[len(data) // 2] ^= 0xFF
        (tmp_path / "a.npz").write_bytes(bytes(data))
        with pytest.raises(GradcError, match=r"cannot read .*a\.npz"):
            npz.read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("form", ["json", "mlir", "onnx"])
def test_a_source_that_is_empty_or_a_link_to_nothing(tmp_path, form: str):
    empty, link = tmp_path / f"empty.{form}", tmp_path / f"link.{form}"
    empty.touch()
    link.symlink_to(tmp_path / "nothing")
    with pytest.raises(GradcError, match=f"empty.{form}.*: the file is empty$"):
        gradc.compile(empty)
    with pytest.raises(GradcError, match=f"cannot read .*link.{form}: No such file or directory$"):
        gradc.compile(link)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "m.pt",
            b"PK\x03\x04\0",
            "m.pt:1:1: error: the file is not text: expected a graph as JSON or MLIR text",
        ),
        ("m.pth", b"PK\x03\x04\0", "torch.onnx.export writes a model of torch as ONNX"),
        ("m.tflite", b"\x1c\0\0\0TFL3", "tf2onnx writes a model of TensorFlow as ONNX"),
        ("m.bin", b"\x08\x08\0", "the name of an ONNX model ends with .onnx"),
        (
            "m.textproto",
            b"ir_version: 8\n",
            "m.textproto:1:1: error: the file is an ONNX model in a text",
        ),
        ("m.onnxtxt", b"<\n   ir_version: 8\n>", "onnx.load reads it, and onnx.save writes it as an .onnx"),
        ("m.json", b'{\n  "ir_version": "8", "graph": {}}', "the file is an ONNX model in a text format"),
    ],
)
def test_models_of_others_are_told_with_what_makes_sources_of_them(
    name: str, data: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(data)
    with pytest.raises(GradcError) as caught:
        gradc.compile(name)
    assert message in str(caught.value)
