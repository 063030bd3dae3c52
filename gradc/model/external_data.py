"""Models from files, with checks of their external data.

An ONNX model may name other files for its tensors. An untrusted model could name any file of the machine, so
each name is checked to be within the model's folder.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

import onnx
from google.protobuf.message import DecodeError, Message
from onnx import ModelProto, TensorProto

from dialects.support.diagnostics import GradcError, violation
from gradc.files.reading import open_file, read_error
from gradc.model.lazy_tensors import TensorCutter
from gradc.model.protobuf_wire import MalformedError

LARGEST = 2**31 - 1
"""Largest protobuf message in bytes."""


def resolve_model_path(path: str | os.PathLike[str]) -> Path:
    """Check a model's external data; return the model's path in the folder of the data.

    A model may be a link, as in the cache of Hugging Face: its data is then in the folder of the target or of
    the link, perhaps as links into the folder of the target.

    Raises GradcError, with the path and the tensor, for a file that cannot be read or is no model, and for
    external data that is missing, out of the folder, or too short.
    """
    name = os.fspath(path)
    with open_model(name) as (model, data):
        for tensor in _external_tensors(model):
            if data.is_own(tensor):
                continue
            try:
                external_range(tensor, *data.folders)
            except GradcError as error:
                message = error.diagnostic.message
                raise violation(f'cannot load {name}: tensor "{tensor.name}": {message}') from None
    real, folder = Path(os.path.realpath(name)), data.folders[0]
    return real if folder == real.parent else folder / os.path.basename(name)


def message_of_file(path: str | os.PathLike[str]) -> tuple[ModelProto, Path]:
    """Return a model's message without its external data, and its path as `resolve_model_path` does."""
    resolved = resolve_model_path(path)
    return onnx.load(os.fspath(resolved), load_external_data=False), resolved


@dataclass(frozen=True)
class TensorData:
    """Contents of tensors that are not in the model's message.

    They are in a file of the first of `folders`, perhaps a link into another one, or, if their location is
    `token`, in the model's file `own` while it is open.
    """

    folders: tuple[Path, ...] = ()
    own: BinaryIO | None = None
    token: str = ""

    def is_own(self, tensor: TensorProto) -> bool:
        return bool(self.token) and any(entry.value == self.token for entry in tensor.external_data)

    def length(self, tensor: TensorProto) -> int:
        """Return the declared bytes of a tensor in another file, 0 for other tensors."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        return 0 if self.is_own(tensor) else _number("length", entries.get("length", "0"))

    def read(self, tensor: TensorProto, expected: int) -> bytes:
        """Return the bytes of a tensor. Raises GradcError unless there are `expected` bytes."""
        if self.own is not None and self.is_own(tensor):
            given = {entry.key: int(entry.value) for entry in tensor.external_data if entry.key != "location"}
            _check_length("bytes of a tensor", given["length"], expected)
            return _read(self.own, given["offset"], expected)
        if not self.folders:
            hint = "give the path of the model's file"
            raise violation("external data of a model that is no file", hint=hint)
        path, offset, length = external_range(tensor, *self.folders)
        if length is not None:
            _check_length("length of external data", length, expected)
        with open(path, "rb") as file:
            return _read(file, offset, expected)


def _check_length(what: str, given: int, expected: int) -> None:
    if given != expected:
        raise violation(what, given=given, expected=expected)


def _read(file: BinaryIO, offset: int, length: int) -> bytes:
    """Read a range; not by mmap, since truncation of a mapped file would end the process."""
    there = os.fstat(file.fileno()).st_size - offset
    _check_length("bytes of a tensor", min(there, length), length)
    file.seek(offset)
    data = file.read(length)
    _check_length("bytes of a tensor", len(data), length)
    return data


@contextlib.contextmanager
def open_model(name: str) -> Iterator[tuple[ModelProto, TensorData]]:
    """Open a model; the contents of its large tensors are read on demand. Raises GradcError."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open_file(name, regular=True))
            size = os.fstat(file.fileno()).st_size
            if size > LARGEST:
                raise violation(f"cannot load {name}: it is larger than the 2 GiB that a model can have")
            if size == 0:
                raise violation(f"cannot load {name}: the file is empty")
            cut = TensorCutter(file)
            model = cut.model(size)
        except OSError as error:
            raise read_error(name, error) from error
        except (DecodeError, MalformedError):
            raise violation(f"cannot load {name}: it is not an ONNX model") from None
        yield model, TensorData(_folders_of(name, _locations(model, cut.token)), file, cut.token)


def _locations(model: ModelProto, token: str) -> list[str]:
    """Return the files of external data as the model names them."""
    entries = (entry for tensor in _external_tensors(model) for entry in tensor.external_data)
    found = {entry.value for entry in entries if entry.key == "location" and entry.value != token}
    return [location for location in found if location and "\0" not in location]


def _folders_of(name: str, locations: Sequence[str]) -> tuple[Path, ...]:
    """Return the folder of a model's external data, then a folder into which links there may lead.

    For a model that is a link, the folder of the link is the first if only that has all the data.
    """
    real = Path(os.path.realpath(name)).parent
    link_folder = Path(os.path.realpath(os.path.dirname(name) or "."))
    has_all = {
        folder: all(os.path.exists(folder / place) for place in locations) for folder in (real, link_folder)
    }
    return (link_folder, real) if has_all[link_folder] and not has_all[real] else (real,)


def _external_tensors(message: Message) -> Iterator[TensorProto]:
    """Yield all tensors with external data in a message."""
    pending = [message]
    while pending:
        part = pending.pop()
        if isinstance(part, TensorProto):
            if part.external_data or part.data_location == TensorProto.EXTERNAL:
                yield part
            continue
        for field, value in part.ListFields():
            if field.type == field.TYPE_MESSAGE:
                pending += [value] if isinstance(value, Message) else value


def external_range(tensor: TensorProto, folder: Path, *linked: Path) -> tuple[Path, int, int | None]:
    """Return the file, offset and length, if given, of a tensor's external data.

    Raises GradcError for a file that is neither in the folder nor, by a link from there, in one of `linked`,
    and for a range beyond the end of the file.
    """
    keys = [entry.key for entry in tensor.external_data]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise violation(f"external data: {twice} is given twice")
    given = {entry.key: entry.value for entry in tensor.external_data}
    path = _data_path(given.get("location", ""), folder, linked)
    size = _size_of(path, given.get("location", ""))
    offset, length = (_number(key, given.get(key, "0")) for key in ("offset", "length"))
    if offset + length > size:
        expected = f"an end within the {size} bytes of the file"
        raise violation("external data", given=f"offset {offset}, length {length}", expected=expected)
    return path, offset, length if "length" in given else None


def _data_path(location: str, folder: Path, linked: Sequence[Path]) -> Path:
    """Return the file of a location in or below the model's folder; links may only lead there or into
    `linked`."""
    expected = "a file in the model's folder"
    parts = (*PurePosixPath(location).parts, *PureWindowsPath(location).parts)
    rooted = PurePosixPath(location).is_absolute() or PureWindowsPath(location).anchor
    if not location or rooted or ".." in parts or "\0" in location:
        raise violation(
            "external data location", given=repr(location), expected="a file in the model's folder"
        )
    path = Path(os.path.realpath(folder / location))
    if not any(path.is_relative_to(allowed) for allowed in (folder, *linked)):
        given = f"{location!r}, a link to {path}"
        raise violation("external data location", given=given, expected=expected)
    return path


def _size_of(path: Path, location: str) -> int:
    try:
        found = path.stat()
    except OSError as error:
        raise violation(f"cannot read external data {location!r}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise violation(f"external data {location!r} is no regular file")
    return found.st_size


def _number(key: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 19:
        raise violation(f"external data {key}", given=repr(text), expected="a number, 0 or more")
    return int(text)
