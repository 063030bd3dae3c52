"""Files, written whole or not at all, and read with errors that name the file."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import lzma
import math
import os
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from dialects.support import limits
from dialects.support.diagnostics import violation
from gradc.files.atomic import draft, sweep
from gradc.files.reading import opened, unreadable

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto, TensorProto

LONGEST = 300
"""Characters of another library's message that a diagnostic quotes: numpy's may hold a whole header."""

StrPath = str | os.PathLike[str]

PROTO_LIMIT = 2**31 - 2**26
"""Bytes of weights up to which a model is one file. A protobuf message ends at 2 GiB; the slack is
for everything that is not a weight."""

KEPT_BYTES = 1024
"""Initializers up to this size stay in the model file: shape inference reads them."""

PAGE = 4096
"""Alignment of external tensors, in bytes: what a runtime needs to map them into memory."""


def write_whole(path: StrPath, data: bytes) -> None:
    """Write a file atomically; raises GradcError naming the path, and then leaves nothing behind."""
    with whole_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def whole_file(path: StrPath) -> Iterator[BinaryIO]:
    """A file to write that appears under `path`, complete, when the block ends without an error.

    A link stays a link. What is no regular file (/dev/stdout) is written to directly. Raises
    GradcError naming the path.
    """
    with _refusals_of(path) as target:
        if _is_special(path):
            with _opened_special(path) as file:
                yield file
            return
        with draft(target.parent) as found:
            yield found.file
            found.publish(target)


@contextlib.contextmanager
def _refusals_of(path: StrPath) -> Iterator[Path]:
    """Where a file for `path` goes; what the system refuses on the way there is a GradcError."""
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise violation(f"cannot write {os.fspath(path)}: it is a folder")
        if not target.parent.is_dir():
            raise violation(f"cannot write {os.fspath(path)}: there is no folder {target.parent}")
        yield target
    except OSError as error:
        raise violation(f"cannot write {os.fspath(path)}: {error.strerror or error}") from error


def _is_special(path: StrPath) -> bool:
    """Asked of the path itself: the name that /dev/stdout resolves to is no file when it is a pipe."""
    return os.path.exists(path) and not os.path.isfile(path)


def _opened_special(path: StrPath) -> BinaryIO:
    """Raises GradcError for a pipe that nobody reads: opening it would wait for one, perhaps for ever."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        raise violation(f"cannot write {os.fspath(path)}: nobody reads from it") from None
    os.set_blocking(number, True)
    return open(number, "wb")


def weight_bytes(model: ModelProto) -> int:
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


def model_bytes(model: ModelProto) -> int:
    """What a model takes on disk; one message cannot hold more than 2 GB of weights, nor count them."""
    weights = weight_bytes(model)
    return model.ByteSize() if weights <= PROTO_LIMIT else weights


def save_model(model: ModelProto, path: StrPath, limit: int = PROTO_LIMIT) -> None:
    """Write a model; above `limit` bytes of weights these go to `<path>.<digest>.data` beside it.

    The data file is called after its content, so that no model ever stands beside data of another
    one: the new data comes first, then the model takes the place of the former one, then the former
    data goes. A process that dies between two of these steps leaves a data file that nothing reads,
    and the next write to `path` removes it. Raises GradcError naming the path; then the former files
    are as they were.
    """
    small = weight_bytes(model) <= limit
    if not small and _is_special(path):
        raise violation(f"cannot write {os.fspath(path)}: weights beyond 2 GB need a second file beside it")
    with _refusals_of(path) as target:
        kept = "" if small else _save_pair(model, target)
        if small:
            write_whole(path, model.SerializeToString(deterministic=True))
        sweep(target.parent, _data_names(target), kept)


def _data_names(model: Path) -> re.Pattern[str]:
    return re.compile(re.escape(model.name) + r"\.[0-9a-f]{16}\.data")


def _save_pair(model: ModelProto, target: Path) -> str:
    """Write a model and its data; the data file's name."""
    with draft(target.parent) as data, draft(target.parent) as file:
        slim, location = _externalised(model, data.file, target.name)
        file.file.write(slim.SerializeToString(deterministic=True))
        data_path = target.with_name(location)
        existed = data_path.exists()
        data.publish(data_path)
        try:
            file.publish(target)
        except BaseException:
            if not existed:
                data_path.unlink(missing_ok=True)
            raise
    return location


def _externalised(model: ModelProto, data: BinaryIO, name: str) -> tuple[ModelProto, str]:
    """A model whose larger initializers point into `data`, which is written here, and the name that
    `data` must get beside the model called `name`."""
    slim, large = parted(model)
    digest, size, ends = hashlib.sha256(), 0, []
    for _, tensor in large:
        for part in (b"\0" * (-size % PAGE), tensor.raw_data):
            data.write(part)
            digest.update(part)
            size += len(part)
        ends.append(size)
    location = f"{name}.{digest.hexdigest()[:16]}.data"
    for (pointer, tensor), end in zip(large, ends, strict=True):
        length = len(tensor.raw_data)
        point(pointer, location, end - length, length)
    return slim, location


def parted(model: ModelProto) -> tuple[ModelProto, list[tuple[TensorProto, TensorProto]]]:
    """A copy of a model whose larger initializers have no content, and these, each beside its original."""
    slim, large = without_weights(model), []
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) <= KEPT_BYTES:
            slim.graph.initializer.append(tensor)
            continue
        empty = slim.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        large.append((empty, tensor))
    return slim, large


def point(tensor: TensorProto, location: str, offset: int, length: int) -> None:
    """Say where the content of a tensor is, in bytes."""
    tensor.data_location = tensor.EXTERNAL
    for key, value in {"location": location, "offset": offset, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))


def without_weights(model: ModelProto) -> ModelProto:
    """A copy without initializers. They must not be copied first and then dropped: protobuf copies
    some messages by serialising them, which ends at 2 GiB."""
    copy = type(model)()
    _copy_fields(model, copy, left_out="graph")
    _copy_fields(model.graph, copy.graph, left_out="initializer")
    return copy


def _copy_fields(source: Any, target: Any, left_out: str) -> None:
    for field, value in source.ListFields():
        if field.name == left_out:
            continue
        if hasattr(value, "extend"):
            getattr(target, field.name).extend(value)
        elif hasattr(value, "CopyFrom"):
            getattr(target, field.name).CopyFrom(value)
        else:
            setattr(target, field.name, value)


def read_npz(path: StrPath) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name; nothing pickled is loaded.

    bfloat16 comes back as numpy's `V2`, see `gradc.graph.tensors.as_dtype`. Raises GradcError naming the
    path, and the array where one is at fault.
    """
    name = os.fspath(path)
    try:
        with opened(path, regular=True) as file:
            _check_magic(name, file)
            _check_sizes(name, file)
            with np.load(file, allow_pickle=False) as archive:
                return {key: _member(name, archive, key) for key in archive.files}
    except OSError as error:
        raise unreadable(path, error) from error
    except UNREADABLE as error:
        raise violation(f"cannot read {name}: {_reason(error)}") from error


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
"""What zipfile and numpy raise for an archive that is no good, besides OSError."""


def _reason(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def _check_magic(path: str, file: BinaryIO) -> None:
    """numpy takes whatever is no archive for a pickle, and says only that."""
    if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise violation(f"cannot read {path}: it is not an .npz file", hint="see numpy.savez")
    file.seek(0)


def _check_sizes(path: str, file: BinaryIO) -> None:
    """Hold what the archive unpacks to, and what its arrays claim to be, against the limit.

    A small file may unpack to any size, and an array of a few bytes may claim any shape.
    """
    with zipfile.ZipFile(file) as archive:
        limits.check("npz-bytes", sum(info.file_size for info in archive.infolist()), f"bytes in {path}")
        for info in archive.infolist():
            _check_claim(path, archive, info)
    file.seek(0)


def _check_claim(path: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    """What is no array is none of the limit's business: reading it tells what it is."""
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
        raise violation(f'cannot read array "{key}" of {path}: {_reason(error)}') from error
    if not isinstance(array, np.ndarray):
        raise violation(f'cannot read "{key}" of {path}: it is not an array')
    return array


def write_npz(path: StrPath, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays under their names (any names), atomically and the same bytes every time.

    bfloat16 is stored as numpy's `V2`. numpy.savez would refuse an array that is called `file`.
    """
    if _is_special(path):  # a device does not know where in an archive it is
        archive = BytesIO()
        write_archive(archive, arrays)
        write_whole(path, archive.getvalue())
        return
    with whole_file(path) as file:
        write_archive(file, arrays)


def write_archive(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    """The bytes of `write_npz`."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
