"""Saving of ONNX models, with external data if the weights exceed one message."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from dialects.support.diagnostics import violation
from gradc.files.atomic import draft, restore_on_error, sweep
from gradc.files.safetensors import pieces
from gradc.files.writing import StrPath, atomic_file, is_special, write_errors
from gradc.model.split_model import ModelParts, split_model

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

PROTO_LIMIT = 2**31 - 2**26
"""Largest bytes of weights in a model of one file: the 2 GiB of a protobuf message, less some for the
rest."""

PAGE = 4096
"""Alignment of external tensors in bytes, which lets a runtime map them into memory."""


def weight_bytes(model: ModelProto) -> int:
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


def model_bytes(parts: ModelParts) -> int:
    """Return the size of a model's file, or of its weights if they exceed one message."""
    return parts.size if parts.weight_bytes <= PROTO_LIMIT else parts.weight_bytes


def weights_path(model: Path) -> Path:
    """Return the path of the initial values of a model's required weights."""
    return model.with_name(f"{model.name}.weights.safetensors")


def stale_weights(path: StrPath) -> str:
    """Return the file of initial weights that an earlier model at `path` left, or ''."""
    found = weights_path(Path(path))
    return os.fspath(found) if found.is_file() else ""


def save_model(
    model: ModelProto | ModelParts,
    path: StrPath,
    limit: int = PROTO_LIMIT,
    initial: Mapping[str, np.ndarray] | None = None,
) -> str:
    """Write a model; return the name of its data file, or ''.

    Weights of more than `limit` bytes go to `<path>.<digest>.data`. The digest prevents that a model is read
    with another model's data: the new data is written first, then the model is replaced, then the former data
    is removed. A data file left by a killed process is removed by the next write to `path`. `initial` are
    values of required weights, whose file is published immediately before the model. Raises GradcError naming
    the path; then the former files are unchanged.
    """
    weights = model.weight_bytes if isinstance(model, ModelParts) else weight_bytes(model)
    if weights > limit and is_special(path):
        raise violation(f"cannot write {os.fspath(path)}: external data needs a second file next to it")
    if initial and is_special(path):
        raise violation(f"cannot write {os.fspath(path)}: required weights need a second file next to it")
    with write_errors(path) as target, _initial_weights_file(target, initial or {}) as publish:
        kept = ""
        if weights > limit:
            kept = _save_pair(model if isinstance(model, ModelParts) else split_model(model), target, publish)
        else:
            _save_whole(model, path, publish)
        sweep(target.parent, _data_names(target), kept)
        return kept


@contextlib.contextmanager
def _initial_weights_file(target: Path, initial: Mapping[str, np.ndarray]) -> Iterator[Callable[[], None]]:
    """Write the initial values for `target`; yield the function that publishes their file."""
    if not initial:
        yield lambda: None
        return
    path = weights_path(target)
    with draft(target.parent) as found, restore_on_error(path):
        for piece in pieces(initial):
            found.file.write(piece)
        yield lambda: found.publish(path)


def _save_whole(model: ModelProto | ModelParts, path: StrPath, before: Callable[[], None]) -> None:
    """Write a model; call `before` when all is written, before it is published."""
    if isinstance(model, ModelParts):
        contents = model.pieces()
    else:
        contents = [model.SerializeToString(deterministic=True)]
    with atomic_file(path) as file:
        for piece in contents:
            file.write(piece)
        before()


def _data_names(model: Path) -> re.Pattern[str]:
    return re.compile(re.escape(model.name) + r"\.[0-9a-f]{16}\.data")


def _save_pair(model: ModelParts, target: Path, before: Callable[[], None]) -> str:
    """Write a model and its data; return the data file's name. `before` is called before the model is
    published."""
    with draft(target.parent) as data, draft(target.parent) as file:
        slim, location = _externalize(model, data.file, target.name)
        file.file.write(slim.SerializeToString(deterministic=True))
        data_path = target.with_name(location)
        existed = data_path.exists()
        data.publish(data_path)
        try:
            before()
            file.publish(target)
        except BaseException:
            if not existed:
                data_path.unlink(missing_ok=True)
            raise
    return location


def _externalize(model: ModelParts, data: BinaryIO, name: str) -> tuple[ModelProto, str]:
    """Write the larger initializers to `data`; return the model that refers to them, and the name of the data
    file for a model called `name`."""
    slim, large = with_pointers(model)
    digest, size, places = hashlib.sha256(), 0, []
    for tensor in large:
        content = model.weights[tensor.name]
        start = size + -size % PAGE
        for part in (b"\0" * (start - size), content):
            data.write(part)
            digest.update(part)
        size = start + len(content)
        places.append((start, len(content)))
    location = f"{name}.{digest.hexdigest()[:16]}.data"
    for tensor, (start, length) in zip(large, places, strict=True):
        point(tensor, location, start, length)
    return slim, location


def with_pointers(model: ModelParts) -> tuple[ModelProto, list[TensorProto]]:
    """Return a copy of the model's proto, and its initializers without content."""
    slim = type(model.proto)()
    slim.CopyFrom(model.proto)
    return slim, [tensor for tensor in slim.graph.initializer if tensor.name in model.weights]


def point(tensor: TensorProto, location: str, offset: int, length: int) -> None:
    """Set the external data of a tensor; offset and length are in bytes."""
    tensor.data_location = tensor.EXTERNAL
    for key, value in {"location": location, "offset": offset, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))
