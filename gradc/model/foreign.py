"""Models from files: what must hold of one before a runtime opens it, and where its tensors' bytes are.

A tensor of an ONNX model may lie in another file, which the model names. A model from a stranger could
name any file of the machine; so each such name is held against the folder of the model first.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from google.protobuf.message import DecodeError, Message
from onnx import ModelProto, TensorProto

from dialects.support.diagnostics import GradcError, violation
from gradc.files.reading import opened, unreadable
from gradc.model.cutting import Cut
from gradc.model.wire import MalformedError

LARGEST = 2**31 - 1
"""Bytes of a protobuf message."""


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The path of a model beside which its external data is; every tensor outside of the model is within a
    file of its folder.

    A model may be a link, as in the cache of Hugging Face: then the data is in the folder of the target, or
    beside the link, perhaps as a link into the folder of the target.

    Raises GradcError, one line with the path and the tensor, for a file that cannot be read or is no
    model, and for external data that is missing, elsewhere, or shorter than the model says.
    """
    name = os.fspath(path)
    with stored_model(name) as (model, data):
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


@dataclass(frozen=True)
class TensorData:
    """The bytes of tensors that are not in the message of their model.

    They are in a file of the first of `folders`, perhaps by a link into another one, or in that of the model
    itself, where `own` is as long as it is open; the location of these is `token`.
    """

    folders: tuple[Path, ...] = ()
    own: BinaryIO | None = None
    token: str = ""

    def is_own(self, tensor: TensorProto) -> bool:
        return bool(self.token) and any(entry.value == self.token for entry in tensor.external_data)

    def length(self, tensor: TensorProto) -> int:
        """Bytes of a tensor in a file beside the model's, where it says how many; of any other 0."""
        told = {entry.key: entry.value for entry in tensor.external_data}
        return 0 if self.is_own(tensor) else _number("length", told.get("length", "0"))

    def read(self, tensor: TensorProto, expected: int) -> bytes:
        """The bytes of a tensor, of which there have to be so many. Raises GradcError."""
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
    """Not mapped: a file that is cut short meanwhile would end the process."""
    there = os.fstat(file.fileno()).st_size - offset
    _check_length("bytes of a tensor", min(there, length), length)
    file.seek(offset)
    data = file.read(length)
    _check_length("bytes of a tensor", len(data), length)
    return data


@contextlib.contextmanager
def stored_model(name: str) -> Iterator[tuple[ModelProto, TensorData]]:
    """The model of a file, and the bytes of its large tensors, which are read when they are asked for.

    Raises GradcError.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(opened(name, regular=True))
            size = os.fstat(file.fileno()).st_size
            if size > LARGEST:
                raise violation(f"cannot load {name}: it is larger than the 2 GiB that a model can have")
            if size == 0:
                raise violation(f"cannot load {name}: the file is empty")
            cut = Cut(file)
            model = cut.model(size)
        except OSError as error:
            raise unreadable(name, error) from error
        except (DecodeError, MalformedError):
            raise violation(f"cannot load {name}: it is not an ONNX model") from None
        yield model, TensorData(_folders_of(name, _locations(model, cut.token)), file, cut.token)


def _locations(model: ModelProto, token: str) -> list[str]:
    """The files that external data is in, as a model names them."""
    entries = (entry for tensor in _external_tensors(model) for entry in tensor.external_data)
    found = {entry.value for entry in entries if entry.key == "location" and entry.value != token}
    return [location for location in found if location and "\0" not in location]


def _folders_of(name: str, locations: Sequence[str]) -> tuple[Path, ...]:
    """The folder of a model's external data, then one that links there may lead into: that is the folder of
    the model, or for a model that is a link the folder of the link, where only that has the data."""
    real = Path(os.path.realpath(name)).parent
    beside = Path(os.path.realpath(os.path.dirname(name) or "."))
    has_all = {
        folder: all(os.path.exists(folder / place) for place in locations) for folder in (real, beside)
    }
    return (beside, real) if has_all[beside] and not has_all[real] else (real,)


def _external_tensors(message: Message) -> Iterator[TensorProto]:
    """The tensors with external data, wherever a model can have some: a walk over all its parts."""
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
    """The file of a tensor's external data, the offset in it, and the length where it is said.

    Raises GradcError for a file that is not in the folder, nor behind a link from there in one of `linked`,
    and for a range beyond its end.
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
    """The file behind a location; it may be in a folder below the model's, by no link out of it but into one
    of `linked`."""
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
