"""Reader and writer of .safetensors files, with errors that name the file and the tensor.

The `safetensors` package validates what is read. It cannot write to an unnamed file and copies all tensors,
so the writer is here: eight bytes with the length of a JSON header, the header, the tensors.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError, deserialize

from dialects.support import dtypes, limits
from dialects.support.diagnostics import violation
from dialects.support.error_list import Errors
from gradc.files.npz import reason_of
from gradc.files.reading import open_file, read_error
from gradc.files.writing import StrPath, atomic_file

SUFFIX = ".safetensors"

LARGEST_HEADER = 2**24
"""Largest header in bytes: names, shapes and offsets of a hundred thousand tensors."""

CODES = {
    "f64": "F64",
    "s64": "I64",
    "u64": "U64",
    "f32": "F32",
    "s32": "I32",
    "u32": "U32",
    "f16": "F16",
    "bf16": "BF16",
    "s16": "I16",
    "u16": "U16",
    "s8": "I8",
    "u8": "U8",
    "boolean": "BOOL",
    "f8_e4m3": "F8_E4M3",
    "f8_e5m2": "F8_E5M2",
    "f8_e8m0": "F8_E8M0",
}
"""dtype -> its name in the format."""

_DTYPES = {CODES[dtype.name]: dtype.numpy for dtype in dtypes.ONNX_DTYPES if dtype.name in CODES}
_METADATA = "__metadata__"


def is_safetensors(path: StrPath) -> bool:
    """Return whether a path has the suffix of the format."""
    return os.fspath(path).lower().endswith(SUFFIX)


def read_safetensors(path: StrPath) -> dict[str, np.ndarray]:
    """Return the tensors of a file by name; its metadata is ignored.

    Raises GradcError naming the path, and the tensor if one is invalid.
    """
    name = os.fspath(path)
    try:
        with open_file(path, regular=True) as file:
            size = os.fstat(file.fileno()).st_size
            limits.check("npz-bytes", size, f"bytes of {name}")
            _check_header(name, file, size)
            found = deserialize(file.read())
    except OSError as error:
        raise read_error(path, error) from error
    except SafetensorError as error:
        raise violation(f"cannot read {name}: {reason_of(error)}") from error
    errors = Errors()
    for key, tensor in found:
        errors.attempt(_check_dtype, name, key, tensor)
    errors.check()
    return {key: _array(tensor) for key, tensor in found}


def _check_header(path: str, file: BinaryIO, size: int) -> None:
    """Raise GradcError for a header longer than the file or than LARGEST_HEADER."""
    length = int.from_bytes(file.read(8), "little")
    file.seek(0)
    if size < 8 or length > size - 8:
        raise violation(f"cannot read {path}: it is cut short, or not a {SUFFIX} file")
    if length > LARGEST_HEADER:
        what, most = f"cannot read {path}: bytes of its header", f"at most {LARGEST_HEADER:,}"
        raise violation(what, given=f"{length:,}", expected=most)


def _check_dtype(path: str, name: str, tensor: Mapping[str, Any]) -> None:
    if tensor["dtype"] not in _DTYPES:
        what = f'tensor "{name}" of {path}: dtype'
        raise violation(what, given=tensor["dtype"], expected=f"one of {', '.join(_DTYPES)}")


def _array(tensor: Mapping[str, Any]) -> np.ndarray:
    return np.frombuffer(tensor["data"], _DTYPES[tensor["dtype"]]).reshape(tensor["shape"])


def write_safetensors(path: StrPath, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays under their names, atomically and with reproducible bytes."""
    found = list(pieces(arrays))
    with atomic_file(path) as file:
        for piece in found:
            file.write(piece)


def pieces(arrays: Mapping[str, np.ndarray]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file. Raises GradcError for an array that the format cannot hold."""
    given = {name: _in_file_order(array) for name, array in arrays.items()}
    errors = Errors()
    for name, array in given.items():
        errors.attempt(_check_storable, name, array)
    errors.check()
    order = sorted(given, key=lambda name: (-given[name].dtype.itemsize, name))
    header, at = dict[str, Any](), 0
    for name in order:
        array = given[name]
        offsets = [at, at + array.nbytes]
        header[name] = {"dtype": _code_of(array), "shape": list(array.shape), "data_offsets": offsets}
        at += array.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        yield given[name].reshape(-1).view(np.uint8).data


def _code_of(array: np.ndarray) -> str | None:
    known = dtypes.of_numpy(array.dtype)
    return CODES.get(known.name) if known is not None else None


def _in_file_order(given: Any) -> np.ndarray:
    """Return the array in C order and little-endian."""
    array = np.asarray(given, order="C")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _check_storable(name: str, array: np.ndarray) -> None:
    if name == _METADATA or not _is_text(name):
        raise violation("name of a tensor", given=repr(name), expected=f"one that a {SUFFIX} file can have")
    if _code_of(array) is None:
        known = dtypes.of_numpy(array.dtype)
        dtype = known.name if known is not None else array.dtype.name
        what = f'tensor "{name}" of a {SUFFIX} file: dtype'
        raise violation(what, given=dtype, expected=f"one of {', '.join(CODES)}")


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
