"""Files of .safetensors: every dtype there and back, and errors of one line for files of strangers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import deserialize

from dialects.support import dtypes
from dialects.support.diagnostics import GradcError
from dialects.support.limits import LimitError, Limits, using
from gradc.files import safetensors
from gradc.files.arrays import read_files
from gradc.files.npz import write_npz
from gradc.files.safetensors import read_safetensors, write_safetensors

NUMPY = {name: dtypes.by_name(name).numpy for name in safetensors.CODES}  # pyright: ignore


def test_every_dtype_and_shape(tmp_path: Path):
    given = {"big/endian": np.arange(3, dtype=">f4")}
    for name, dtype in NUMPY.items():
        given[f"a/b.{name}"] = np.arange(1, 7).reshape(2, 3).astype(dtype).T
        given[f"scalar.{name}"] = np.array(1).astype(dtype)
        given[f"empty.{name}"] = np.zeros((0, 3), dtype)
    path = tmp_path / "w.safetensors"
    write_safetensors(path, given)
    found = read_safetensors(path)
    assert sorted(found) == sorted(given)
    for name, array in given.items():
        assert (found[name].shape, found[name].dtype) == (array.shape, array.dtype.newbyteorder("="))
        assert found[name].tobytes() == array.astype(found[name].dtype).tobytes()
    first = path.read_bytes()
    write_safetensors(path, dict(reversed(given.items())))
    assert path.read_bytes() == first
    assert len(deserialize(first)) == len(given)


@pytest.mark.parametrize(
    ("name", "array", "match"),
    [
        ("s", np.array(["a"]), r'tensor "s" of a \.safetensors file: dtype: given str'),
        ("i4", np.zeros(2, NUMPY["u8"]).astype(dtypes.by_name("s4").numpy), "given s4, expected one of"),  # pyright: ignore
        ("__metadata__", np.zeros(2), "name of a tensor: given '__metadata__'"),
        ("\ud800", np.zeros(2), "name of a tensor"),
    ],
)
def test_what_the_format_cannot_hold(tmp_path: Path, name: str, array: np.ndarray, match: str):
    with pytest.raises(GradcError, match=match):
        write_safetensors(tmp_path / "w.safetensors", {name: array, "right": np.zeros(2)})
    assert not list(tmp_path.iterdir())


def file_of(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def tensor(dtype: str = "F32", shape: object = (2,), offsets: object = (0, 8)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        file_of({}, length=2**63),
        file_of({"w": tensor()}, bytes(7)),
        file_of({"w": tensor()}, bytes(9)),
        file_of({"w": tensor(shape=(3,))}, bytes(8)),
        file_of({"w": tensor(shape=(2**62, 2**62))}, bytes(8)),
        file_of({"w": tensor(), "v": tensor()}, bytes(8)),
        file_of({"w": tensor(offsets=(8, 0))}, bytes(8)),
        file_of({"w": tensor("F33")}, bytes(8)),
        file_of({"w": tensor("F4", (16,))}, bytes(8)),
        file_of(b"[" * 100_000),
        file_of(b"\xff" * 100),
        file_of(b'{"w":1}'),
        file_of(b"{}" + b" " * (safetensors.LARGEST_HEADER + 1)),
    ],
    ids=range(15),
)
def test_a_file_that_is_no_good(tmp_path: Path, content: bytes):
    path = tmp_path / "w.safetensors"
    path.write_bytes(content)
    with pytest.raises(GradcError, match=r"w\.safetensors") as caught:
        read_safetensors(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 350 + len(str(path))


def test_limits_and_missing_files(tmp_path: Path):
    path = tmp_path / "w.safetensors"
    with pytest.raises(GradcError, match="No such file"):
        read_safetensors(path)
    write_safetensors(path, {"w": np.zeros(1000)})
    with using(Limits(npz_bytes=1000)), pytest.raises(LimitError, match="npz_bytes"):
        read_safetensors(path)


def test_several_files(tmp_path: Path):
    files = [tmp_path / "a.npz", tmp_path / "b.SafeTensors"]
    write_npz(files[0], {"x": np.arange(2)})
    write_safetensors(files[1], {"w": np.arange(3)})
    assert list(read_files(files)) == ["x", "w"]
    with pytest.raises(GradcError, match=r'array "w" is in .*b\.SafeTensors and in .*b\.SafeTensors'):
        read_files([*files, files[1]])
