"""The elements of a model's tensors as bytes: read when they are asked for, put into a message, replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto

from gradc.model.foreign import TensorData
from gradc.model.parts import KEPT_BYTES
from gradc.model.stored_weights import bytes_of

CONTENTS = (
    "raw_data",
    "float_data",
    "int32_data",
    "string_data",
    "int64_data",
    "double_data",
    "uint64_data",
    "external_data",
    "data_location",
)
"""The fields of a tensor that say what its elements are."""


def is_elsewhere(tensor: TensorProto, data: TensorData) -> bool:
    """Whether the model itself says that the elements are in another file."""
    return tensor.data_location == TensorProto.EXTERNAL and not data.is_own(tensor)


def fill(tensor: TensorProto, array: np.ndarray) -> None:
    """Give a tensor the elements of an array of its shape and type."""
    clear(tensor)
    if array.dtype.kind in "UO":
        tensor.string_data.extend(str(word).encode() for word in array.reshape(-1))
    else:
        tensor.raw_data = array.tobytes()


def clear(tensor: TensorProto) -> None:
    for name in CONTENTS:
        tensor.ClearField(name)


def in_message(tensor: TensorProto, data: TensorData) -> None:
    """Put the elements of a tensor that are not in the message into it."""
    if tensor.data_location == TensorProto.EXTERNAL:
        content = data.read(tensor, bytes_of(tensor.dims, tensor.data_type))
        clear(tensor)
        tensor.raw_data = content


@dataclass(frozen=True)
class StoredContents(Mapping[str, bytes]):
    """The elements of initializers by name, in the form of raw_data; a file is read for each as it is asked
    for."""

    data: TensorData
    _read: dict[str, bytes] = field(default_factory=dict)
    _stored: dict[str, TensorProto] = field(default_factory=dict)

    def take(self, tensor: TensorProto) -> None:
        """Take over the elements of an initializer, which is left without any, unless they are few."""
        if tensor.data_location == TensorProto.EXTERNAL:
            stored = TensorProto()
            stored.CopyFrom(tensor)
            self._stored[tensor.name] = stored
        elif len(tensor.raw_data) > KEPT_BYTES:
            self._read[tensor.name] = tensor.raw_data
        else:
            return
        clear(tensor)

    def __getitem__(self, name: str) -> bytes:
        if name in self._read:
            return self._read[name]
        tensor = self._stored[name]
        return self.data.read(tensor, bytes_of(tensor.dims, tensor.data_type))

    def __iter__(self) -> Iterator[str]:
        yield from self._read
        yield from self._stored

    def __len__(self) -> int:
        return len(self._read) + len(self._stored)
