"""Contents of a model's tensors: lazy reading and replacement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto

from gradc.model.external_data import TensorData
from gradc.model.split_model import KEPT_BYTES
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
"""Fields of a tensor with its elements or their location."""


def is_external(tensor: TensorProto, data: TensorData) -> bool:
    """Return whether the model stores the elements in another file."""
    return tensor.data_location == TensorProto.EXTERNAL and not data.is_own(tensor)


def fill(tensor: TensorProto, array: np.ndarray) -> None:
    """Set the elements of a tensor from an array of its shape and type."""
    clear(tensor)
    if array.dtype.kind in "UO":
        tensor.string_data.extend(str(word).encode() for word in array.reshape(-1))
    else:
        tensor.raw_data = array.tobytes()


def clear(tensor: TensorProto) -> None:
    for name in CONTENTS:
        tensor.ClearField(name)


def read_into_message(tensor: TensorProto, data: TensorData) -> None:
    """Read the elements of a tensor into the message."""
    if tensor.data_location == TensorProto.EXTERNAL:
        content = data.read(tensor, bytes_of(tensor.dims, tensor.data_type))
        clear(tensor)
        tensor.raw_data = content


@dataclass(frozen=True)
class StoredContents(Mapping[str, bytes]):
    """Raw data of initializers by name; each access reads from the file."""

    data: TensorData
    _read: dict[str, bytes] = field(default_factory=dict)
    _stored: dict[str, TensorProto] = field(default_factory=dict)

    def take(self, tensor: TensorProto) -> None:
        """Move the elements of an initializer here, unless they are few."""
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
