"""Models from strangers: external data stays in the model's folder."""

import os

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from support.cli import run_gradc

import gradc
from dialects.support.diagnostics import GradcError
from gradc.model.external_data import resolve_model_path

WEIGHTS = np.arange(300, dtype=np.float32)
WHERE = {"location": "w.data", "offset": "0", "length": "1200"}


def pointer(where: dict[str, str]) -> TensorProto:
    tensor = TensorProto(name="w", data_type=1, dims=[300], data_location=TensorProto.EXTERNAL)
    for key, value in where.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def model_of(where: dict[str, str]) -> onnx.ModelProto:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    x, y = (helper.make_tensor_value_info(name, 1, [300]) for name in "xy")
    graph = helper.make_graph([node], "g", [x], [y], [pointer(where)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model's folder with a data file and links, beside a file that is nobody's business."""
    (tmp_path / "secret").write_bytes(WEIGHTS.tobytes())
    found = tmp_path / "models"
    (found / "sub").mkdir(parents=True)
    for name in ("w.data", "sub/w.data"):
        (found / name).write_bytes(WEIGHTS.tobytes())
    (found / "inner").symlink_to("w.data")
    (found / "outer").symlink_to("../secret")
    (found / "way").symlink_to("..")
    (found / "loop").symlink_to("loop")
    os.mkfifo(found / "pipe")
    monkeypatch.setattr(onnxruntime, "InferenceSession", None)
    return found


def saved(folder, where) -> str:
    path = folder / "m.onnx"
    path.write_bytes(model_of(where).SerializeToString())
    return str(path)


ELSEWHERE = "expected a file in the model's folder"
REFUSED = [
    ({"location": "../secret"}, f"location: given '../secret', {ELSEWHERE}"),
    ({"location": "sub/../../secret"}, ELSEWHERE),
    ({"location": "sub/../w.data"}, ELSEWHERE),
    ({"location": "..\\secret"}, ELSEWHERE),
    ({"location": "/etc/passwd"}, ELSEWHERE),
    ({"location": "C:\\secret"}, ELSEWHERE),
    ({"location": "\\\\server\\secret"}, ELSEWHERE),
    ({"location": "w.data\0x"}, ELSEWHERE),
    ({"location": ""}, ELSEWHERE),
    ({"location": "outer"}, ELSEWHERE),
    ({"location": "way/secret"}, ELSEWHERE),
    ({"location": "loop"}, "cannot read external data 'loop': "),
    ({"location": "no.data"}, "cannot read external data 'no.data': No such file or directory"),
    ({"location": "*/_ORT_MEM_ADDR_/*"}, "cannot read external data"),
    ({"location": "sub"}, "external data 'sub' is no regular file"),
    ({"location": "pipe"}, "external data 'pipe' is no regular file"),
    ({"offset": "1"}, "given offset 1, length 1200, expected an end within the 1200 bytes of the file"),
    ({"length": "1201"}, "expected an end within the 1200 bytes of the file"),
    ({"offset": "1201", "length": "0"}, "expected an end within the 1200 bytes of the file"),
    ({"offset": "-1"}, "external data offset: given '-1', expected a number, 0 or more"),
    ({"length": "-1200"}, "external data length: given '-1200'"),
    ({"offset": "9223372036854775807", "length": "9223372036854775807"}, "expected an end within"),
    ({"offset": "1" * 5000}, "expected a number, 0 or more"),
    ({"offset": "0x0"}, "expected a number, 0 or more"),
    ({"offset": "\u0663"}, "expected a number, 0 or more"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_refused_before_a_runtime_opens_it(change, message, folder):
    path = saved(folder, WHERE | change)
    result = run_gradc("run", path)
    assert (result.code, result.out) == (4, "")
    assert result.line.startswith(f'error: cannot load {path}: tensor "w": ')
    assert message in result.line


@pytest.mark.parametrize(
    "change", [{}, {"location": "sub/w.data"}, {"location": "inner"}, {"location": "./w.data"}]
)
def test_accepted(change, folder):
    assert resolve_model_path(saved(folder, WHERE | change)) == folder / "m.onnx"


def test_no_offset_and_no_length(folder):
    assert resolve_model_path(saved(folder, {"location": "w.data"})) == folder / "m.onnx"


def test_a_key_that_is_given_twice(folder):
    model = model_of(WHERE)
    model.graph.initializer[0].external_data.add(key="location", value="../secret")
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(GradcError, match="location is given twice"):
        resolve_model_path(folder / "m.onnx")


def _in_attribute(model, tensor):
    model.graph.node.append(helper.make_node("Constant", [], ["c"], value=tensor))


def _in_attribute_list(model, tensor):
    model.graph.node.append(helper.make_node("Foreign", [], ["c"], values=[tensor]))


def _in_subgraph(model, tensor):
    inner = helper.make_graph([], "inner", [], [], [tensor])
    model.graph.node.append(helper.make_node("If", ["x"], ["c"], then_branch=inner, else_branch=inner))


def _in_sparse(model, tensor):
    model.graph.sparse_initializer.add().values.CopyFrom(tensor)


def _in_function(model, tensor):
    model.functions.add(name="f").node.append(helper.make_node("Constant", [], ["c"], value=tensor))


def _in_training(model, tensor):
    model.training_info.add().initialization.initializer.append(tensor)


def _without_the_flag(model, tensor):
    tensor.data_location = TensorProto.DEFAULT
    model.graph.initializer.append(tensor)


@pytest.mark.parametrize(
    "place",
    [
        _in_attribute,
        _in_attribute_list,
        _in_subgraph,
        _in_sparse,
        _in_function,
        _in_training,
        _without_the_flag,
    ],
)
def test_tensors_in_every_part_of_a_model(place, folder):
    model = model_of(WHERE)
    hostile = pointer(WHERE | {"location": "../secret"})
    hostile.name = "hidden"
    place(model, hostile)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(GradcError, match=r'tensor "hidden": external data location: given .\.\./secret'):
        resolve_model_path(folder / "m.onnx")


def test_a_link_to_a_model_has_the_folder_of_the_model_or_its_own(folder, tmp_path):
    saved(folder, WHERE)
    link, beside = tmp_path / "link.onnx", tmp_path / "w.data"
    link.symlink_to("models/m.onnx")
    assert resolve_model_path(link) == folder / "m.onnx"
    beside.write_bytes(WEIGHTS.tobytes())
    assert resolve_model_path(link) == folder / "m.onnx"
    (folder / "w.data").unlink()
    assert resolve_model_path(link) == link
    beside.unlink()
    with pytest.raises(GradcError, match="No such file"):
        resolve_model_path(link)


def test_a_cache_of_links(tmp_path):
    """As Hugging Face lays it out: the model and its data are links into a folder of blobs."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main" / "onnx"
    for made in (blobs, snapshot, tmp_path / "other"):
        made.mkdir(parents=True)
    (blobs / "3f2a").write_bytes(model_of(WHERE).SerializeToString())
    (blobs / "9b1c").write_bytes(WEIGHTS.tobytes())
    model, data = snapshot / "model.onnx", snapshot / "w.data"
    model.symlink_to("../../../blobs/3f2a")
    data.symlink_to("../../../blobs/9b1c")
    assert resolve_model_path(model) == model
    found = gradc.compile(model).run({"x": WEIGHTS})
    np.testing.assert_array_equal(found["y"], 2 * WEIGHTS)
    assert run_gradc("run", model).code == 0
    (blobs / "9b1c").rename(tmp_path / "other" / "9b1c")
    data.unlink()
    data.symlink_to("../../../other/9b1c")
    with pytest.raises(GradcError, match=r"external data location: given .*a link to .*other/9b1c"):
        resolve_model_path(model)


@pytest.mark.parametrize("content", [b"hello", b"\x18\0\0\0ORTM", b"\xff" * 100])
def test_no_model(content, tmp_path, monkeypatch):
    monkeypatch.setattr(onnxruntime, "InferenceSession", None)
    (tmp_path / "a.onnx").write_bytes(content)
    with pytest.raises(GradcError, match=r"cannot load .*a\.onnx: it is not an ONNX model$"):
        resolve_model_path(tmp_path / "a.onnx")


def test_larger_than_a_model_can_be(tmp_path):
    with open(tmp_path / "a.onnx", "wb") as file:
        file.truncate(2**31)
    with pytest.raises(GradcError, match="larger than the 2 GiB"):
        resolve_model_path(tmp_path / "a.onnx")
