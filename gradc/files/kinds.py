"""Recognition of ONNX files by name and by first bytes."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

SUFFIX = ".onnx"
TEXTS = (".json", ".mlir", ".py")

HEAD = 3
"""Leading bytes that identify an ONNX model."""

_FIELDS = {number << 3 | 2 for number in (2, 3, 4, 6, 7, 8, 14)} | {5 << 3}
"""First bytes of the ModelProto fields that may follow the IR version; from number 16 on they take two."""


def is_onnx_content(data: bytes) -> bool:
    """Return whether bytes begin like a ModelProto: a small IR version, then another field. Neither text nor
    a TensorFlow GraphDef does."""
    return len(data) >= HEAD and data[0] == 8 and 0 < data[1] < 0x80 and data[2] in _FIELDS


def is_onnx(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is an ONNX model by its suffix, or by its content unless it has a text suffix."""
    name = os.fspath(path).lower()
    if name.endswith(SUFFIX):
        return True
    if name.endswith(TEXTS):
        return False
    with suppress(OSError, ValueError):
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as file:
                return is_onnx_content(file.read(HEAD))
    return False
