"""Reader of models without the contents of large tensors, which are read on demand.

Parsing with protobuf would hold a model in memory twice. Each large tensor is replaced in the bytes, before
they are parsed, by a tensor whose external data is in the model's file.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from onnx import ModelProto, TensorProto

from dialects.support import limits
from gradc.model.protobuf_wire import BYTES, Field, MalformedError, fields, head

LARGE = 2**12
"""Tensors of more bytes are replaced."""

DEEPEST = 12
"""Largest nesting depth of a tensor that is replaced."""

_TENSOR = "Tensor"

_PARTS: Mapping[str, Mapping[int, str]] = {
    "Model": {7: "Graph", 25: "Function"},
    "Graph": {1: "Node", 5: _TENSOR, 15: "SparseTensor"},
    "Function": {7: "Node"},
    "Node": {5: "Attribute"},
    "Attribute": {5: _TENSOR, 6: "Graph", 10: _TENSOR, 11: "Graph", 22: "SparseTensor", 23: "SparseTensor"},
    "SparseTensor": {1: _TENSOR, 2: _TENSOR},
}
"""Message -> fields that may contain a tensor -> their message."""

_DATA_TYPE, _RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 2, 9, 13, 14

_LISTS: Mapping[int, int] = {TensorProto.FLOAT: 4, TensorProto.DOUBLE: 10}
"""Element type -> the field that lists elements with the bytes of raw_data."""

_CONTENTS = frozenset((_RAW_DATA, *range(4, 8), 10, 11))
"""Fields with elements."""


@dataclass
class TensorCutter:
    """Replaces the large tensors of a model in a file.

    `token` is the location of their data: a secret that distinguishes them from the model's own external
    data.
    """

    file: BinaryIO
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    kept: int = 0

    def model(self, size: int) -> ModelProto:
        """Parse the model in the first `size` bytes. Raises MalformedError, protobuf's DecodeError, and
        LimitError if the rest of the model is too large."""
        return ModelProto.FromString(b"".join(self._slim("Model", 0, size, 1)))

    def _slim(self, kind: str, start: int, end: int, depth: int) -> Iterator[bytes]:
        """Yield the bytes of a message without the contents of large tensors."""
        parts = _PARTS[kind]
        taken = start
        for found in fields(self.file, start, end):
            inner = parts.get(found.number) if found.type == BYTES and found.length > LARGE else None
            if inner is None or depth > DEEPEST:
                continue
            yield self._bytes(taken, found.start)
            taken = found.end
            if inner == _TENSOR:
                content = self._tensor(found)
            else:
                content = b"".join(self._slim(inner, found.inside, found.end, depth + 1))
            yield head(found.number, len(content)) + content
        yield self._bytes(taken, end)

    def _tensor(self, message: Field) -> bytes:
        found = list(fields(self.file, message.inside, message.end))
        content = _content(found)
        if content is None:
            return self._bytes(message.inside, message.end)
        rest = (self._bytes(other.start, other.end) for other in found if other is not content)
        return b"".join(rest) + _pointer(self.token, content)

    def _bytes(self, start: int, end: int) -> bytes:
        self.kept += end - start
        limits.check("file-bytes", self.kept, "bytes of a model without its weights")
        self.file.seek(start)
        data = self.file.read(end - start)
        if len(data) < end - start:
            raise MalformedError("the file ends within a field")
        return data


def _content(tensor: list[Field]) -> Field | None:
    """Return the field with all elements of a large tensor, if it has the bytes of raw_data."""
    numbers = [part.number for part in tensor]
    if _EXTERNAL_DATA in numbers or _DATA_LOCATION in numbers:
        return None
    types = [part.value for part in tensor if part.number == _DATA_TYPE]
    listed = _LISTS.get(types[-1]) if types else None
    contents = [part for part in tensor if part.number in _CONTENTS]
    if len(contents) != 1 or contents[0].number not in (_RAW_DATA, listed):
        return None
    return contents[0] if contents[0].type == BYTES and contents[0].length > LARGE else None


def _pointer(token: str, content: Field) -> bytes:
    pointer = TensorProto(data_location=TensorProto.EXTERNAL)
    given = {"location": token, "offset": content.inside, "length": content.length}
    for key, value in given.items():
        pointer.external_data.add(key=key, value=str(value))
    return pointer.SerializeToString()
