"""Reader and writer of .npz files, with errors that name the file and the array."""

from __future__ import annotations

import lzma
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np

from dialects.support import limits
from dialects.support.diagnostics import violation
from dialects.support.error_list import Errors
from gradc.files.reading import open_file, read_error
from gradc.files.writing import StrPath, atomic_file, is_special, write_atomically

LONGEST = 300
"""Longest quote of another library's message, in characters; numpy's may hold a whole header."""


def read_npz(path: StrPath) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file by name, in the byte order of the machine; pickles are not loaded.

    bfloat16 comes back as numpy's `V2`, see `gradc.graph.tensors.as_dtype`. Raises GradcError naming the
    path, and the array if one is invalid.
    """
    name = os.fspath(path)
    try:
        with open_file(path, regular=True) as file:
            _check_magic(name, file)
            _check_sizes(name, file)
            with np.load(file, allow_pickle=False) as archive:
                return {key: _member(name, archive, key) for key in archive.files}
    except OSError as error:
        raise read_error(path, error) from error
    except UNREADABLE as error:
        raise violation(f"cannot read {name}: {reason_of(error)}") from error


UNREADABLE = (
    ArithmeticError,
    EOFError,
    LookupError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Exceptions of zipfile and numpy for an invalid archive, besides OSError."""


def reason_of(error: Exception) -> str:
    """Return the text of an error, cut after LONGEST characters."""
    text = str(error) or type(error).__name__
    if "allow_pickle" in text:
        return "it holds Python objects, expected numbers or strings"
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def _check_magic(path: str, file: BinaryIO) -> None:
    """Raise for a file that is no archive; numpy's error would speak of pickles."""
    if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise violation(f"cannot read {path}: it is not an .npz file", hint="see numpy.savez")
    file.seek(0)


def _check_sizes(path: str, file: BinaryIO) -> None:
    """Check the archive's unpacked size against the limit, and its arrays' shapes against their bytes."""
    with zipfile.ZipFile(file) as archive:
        limits.check("npz-bytes", sum(info.file_size for info in archive.infolist()), f"bytes in {path}")
        for info in archive.infolist():
            _check_claim(path, archive, info)
    file.seek(0)


def _check_claim(path: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    """Raise if an array's shape needs more bytes than the file has; a member that is no array fails later."""
    try:
        with archive.open(info) as member:
            version = np.lib.format.read_magic(member)
            first = version == (1, 0)
            read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(member)
    except UNREADABLE:
        return
    claimed = math.prod(shape) * dtype.itemsize
    if claimed > info.file_size:
        array = info.filename.removesuffix(".npy")
        what = f'array "{array}" of {path}: a shape {list(shape)} of {claimed:,} bytes'
        raise violation(what, given=f"{info.file_size:,} bytes in the file")


def _member(path: str, archive: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    try:
        array = archive[key]
    except UNREADABLE as error:
        raise violation(f'cannot read array "{key}" of {path}: {reason_of(error)}') from error
    if not isinstance(array, np.ndarray):
        raise violation(f'cannot read "{key}" of {path}: it is not an array')
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def write_npz(path: StrPath, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays under any names, atomically and with reproducible bytes.

    bfloat16 is stored as numpy's `V2`. numpy.savez would reject an array named `file`.
    """
    if is_special(path):  # devices cannot seek
        archive = BytesIO()
        write_archive(archive, arrays)
        write_atomically(path, archive.getvalue())
        return
    with atomic_file(path) as file:
        write_archive(file, arrays)


def write_archive(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the bytes of `write_npz`. Raises GradcError before writing if a value is no array."""
    errors = Errors()
    for name, array in arrays.items():
        errors.attempt(_check_is_array, name, array)
    errors.check()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _storable(np.asanyarray(array)), allow_pickle=False)


def _check_is_array(name: str, value: Any) -> None:
    if not isinstance(value, np.ndarray | np.generic | int | float):
        given = {"list": "a sequence", "NoneType": "nothing"}.get(type(value).__name__, type(value).__name__)
        raise violation(f"{name} in an .npz file", given=given, expected="a tensor")


def _storable(array: np.ndarray) -> np.ndarray:
    """Convert object arrays (onnxruntime's strings) to fixed-width text; numpy would pickle them."""
    return array.astype(np.str_) if array.dtype.hasobject else array
