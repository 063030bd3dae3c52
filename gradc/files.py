"""Files, written whole or not at all, and read with errors that name the file."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from dialects.support.diagnostics import GradcError, violation

if TYPE_CHECKING:
    from gradc.exporter import ModelProto

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
    target = Path(os.path.realpath(path))
    try:
        _check_place(path, target)
        with open(path, "wb") if _is_special(path) else _replacing(target) as file:
            yield file
    except OSError as error:
        raise _refusal("write", path, error) from error


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """A temporary file in the same folder that takes the target's place, and its permissions."""
    temporary = _sibling(target)
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _check_place(path: StrPath, target: Path) -> None:
    if target.is_dir():
        raise violation(f"cannot write {os.fspath(path)}: it is a folder")
    if not target.parent.is_dir():
        raise violation(f"cannot write {os.fspath(path)}: there is no folder {target.parent}")


def _is_special(path: StrPath) -> bool:
    """Asked of the path itself: the name that /dev/stdout resolves to is no file when it is a pipe."""
    return os.path.exists(path) and not os.path.isfile(path)


def _sibling(target: Path) -> Path:
    return target.with_name(f".gradc-{secrets.token_hex(8)}.tmp")


def _refusal(verb: str, path: StrPath, error: OSError) -> GradcError:
    return violation(f"cannot {verb} {os.fspath(path)}: {error.strerror or error}")


def weight_bytes(model: ModelProto) -> int:
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


def save_model(model: ModelProto, path: StrPath, limit: int = PROTO_LIMIT) -> None:
    """Write a model; above `limit` bytes of weights these go to `<path>.data` beside it.

    The weights are in place before the model is, and a failure brings the former files back.
    Raises GradcError naming the path.
    """
    if weight_bytes(model) <= limit:
        write_whole(path, model.SerializeToString(deterministic=True))
        return
    data_path = Path(f"{os.path.realpath(path)}.data")
    with _restored_on_error(data_path), whole_file(path) as file:
        with whole_file(data_path) as data:
            slim = _externalised(model, data, data_path.name)
        file.write(slim.SerializeToString(deterministic=True))


def _externalised(model: ModelProto, data: BinaryIO, location: str) -> ModelProto:
    """A model whose larger initializers point into `data`, which is written here."""
    slim = without_weights(model)
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) <= KEPT_BYTES:
            slim.graph.initializer.append(tensor)
            continue
        data.write(b"\0" * (-data.tell() % PAGE))
        entries = {"location": location, "offset": data.tell(), "length": len(tensor.raw_data)}
        data.write(tensor.raw_data)
        pointer = slim.graph.initializer.add(
            name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, data_location=tensor.EXTERNAL
        )
        for key, value in entries.items():
            pointer.external_data.add(key=key, value=str(value))
    return slim


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


@contextlib.contextmanager
def _restored_on_error(path: Path) -> Iterator[None]:
    """Where the block fails, `path` is again what it was: the same file, or none.

    The former file is kept by a second link to it. Where the file system has no links it cannot be
    brought back.
    """
    existed, backup = path.exists(), _sibling(path)
    with contextlib.suppress(OSError):
        os.link(path, backup)
    try:
        yield
    except BaseException:
        if backup.exists():
            os.replace(backup, path)
        elif not existed:
            path.unlink(missing_ok=True)
        raise
    finally:
        backup.unlink(missing_ok=True)


def read_npz(path: StrPath) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name; nothing pickled is loaded.

    bfloat16 comes back as numpy's `V2`, see `gradc.tensors.as_dtype`. Raises GradcError naming the
    path, and the array where one is at fault.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            _check_magic(name, file)
            with np.load(file, allow_pickle=False) as archive:
                return {key: _member(name, archive, key) for key in archive.files}
    except zipfile.BadZipFile as error:
        raise violation(f"cannot read {name}: {error}") from error
    except OSError as error:
        raise _refusal("read", path, error) from error


def _check_magic(path: str, file: BinaryIO) -> None:
    """numpy takes whatever is no archive for a pickle, and says only that."""
    if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise violation(f"cannot read {path}: it is not an .npz file", hint="see numpy.savez")
    file.seek(0)


def _member(path: str, archive: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    try:
        array = archive[key]
    except (ValueError, EOFError, zlib.error) as error:
        raise violation(f'cannot read array "{key}" of {path}: {error}') from error
    if not isinstance(array, np.ndarray):
        raise violation(f'cannot read "{key}" of {path}: it is not an array')
    return array


def write_npz(path: StrPath, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays under their names (any names), atomically and the same bytes every time.

    bfloat16 is stored as numpy's `V2`. numpy.savez would refuse an array that is called `file`.
    """
    with whole_file(path) as file:
        write_archive(file, arrays)


def write_archive(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    """The bytes of `write_npz`."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
