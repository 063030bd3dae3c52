"""Identity of the source of a step, for train.json."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from gradc.model.saving import PROTO_LIMIT
from gradc.util import arguments


def describe_source(source: Any) -> dict[str, str]:
    """Return the name and the SHA-256 of a file, or the SHA-256 of the bytes of an `onnx.ModelProto`; {} for
    other sources, files that cannot be read, and models too large to serialize. External data does not
    count."""
    if arguments.is_path(source):
        path = Path(source)
        try:
            with open(path, "rb") as file:
                return {"name": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        except OSError:
            return {}
    if type(source).__name__ != "ModelProto" or source.ByteSize() >= PROTO_LIMIT:
        return {}
    return {"sha256": hashlib.sha256(source.SerializeToString()).hexdigest()}
