"""The kind of a file, by its name and by its first bytes."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

SUFFIX = ".onnx"
TEXTS = (".json", ".mlir", ".py")

HEAD = 3
"""Bytes that tell a model of ONNX."""

_FIELDS = {number << 3 | 2 for number in (2, 3, 4, 6, 7, 8, 14)} | {5 << 3}
"""The first bytes of the fields of a model that may come after the IR version; those from 16 on have two."""


def is_onnx_content(data: bytes) -> bool:
    """Whether bytes begin as a serialized model of ONNX does: with a small IR version, then another field. No
    text begins so, nor a GraphDef of TensorFlow."""
    return len(data) >= HEAD and data[0] == 8 and 0 < data[1] < 0x80 and data[2] in _FIELDS


def is_onnx(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a model of ONNX by its name, or by its content where the name is of no text."""
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
