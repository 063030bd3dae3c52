"""ONNX models as files: one, or two where their weights are beyond what one message holds."""

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
from gradc.files.atomic import draft, restoring, sweep
from gradc.files.safetensors import pieces
from gradc.files.writing import StrPath, is_special, refusals_of, whole_file
from gradc.model.parts import ModelParts, parts_of

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

PROTO_LIMIT = 2**31 - 2**26
"""Bytes of weights up to which a model is one file. A protobuf message ends at 2 GiB; the slack is
for everything that is not a weight."""

PAGE = 4096
"""Alignment of external tensors, in bytes: what a runtime needs to map them into memory."""


def weight_bytes(model: ModelProto) -> int:
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


def model_bytes(parts: ModelParts) -> int:
    """What a model takes on disk; with weights beyond one message, these."""
    return parts.size if parts.weight_bytes <= PROTO_LIMIT else parts.weight_bytes


def weights_path(model: Path) -> Path:
    """Where the initial values of a model's required weights are."""
    return model.with_name(f"{model.name}.weights.safetensors")


def stale_weights(path: StrPath) -> str:
    """Return the file of initial weights that an earlier model at `path` left there, '' if there is none."""
    found = weights_path(Path(path))
    return os.fspath(found) if found.is_file() else ""


def save_model(
    model: ModelProto | ModelParts,
    path: StrPath,
    limit: int = PROTO_LIMIT,
    initial: Mapping[str, np.ndarray] | None = None,
) -> str:
    """Write a model; above `limit` bytes of weights these go to `<path>.<digest>.data` beside it.

    Returns the name of that file, '' where there is none.

    The data file is called after its content, so that no model ever stands beside data of another
    one: the new data comes first, then the model takes the place of the former one, then the former
    data goes. A process that dies between two of these steps leaves a data file that nothing reads,
    and the next write to `path` removes it. `initial` are values of weights that are written beside the
    model, immediately before it. Raises GradcError naming the path; then the former files are as they were.
    """
    weights = model.weight_bytes if isinstance(model, ModelParts) else weight_bytes(model)
    if weights > limit and is_special(path):
        raise violation(f"cannot write {os.fspath(path)}: external data needs a second file beside it")
    if initial and is_special(path):
        raise violation(f"cannot write {os.fspath(path)}: required weights need a second file beside it")
    with refusals_of(path) as target, _values_beside(target, initial or {}) as publish:
        kept = ""
        if weights > limit:
            kept = _save_pair(model if isinstance(model, ModelParts) else parts_of(model), target, publish)
        else:
            _save_whole(model, path, publish)
        sweep(target.parent, _data_names(target), kept)
        return kept


@contextlib.contextmanager
def _values_beside(target: Path, initial: Mapping[str, np.ndarray]) -> Iterator[Callable[[], None]]:
    """Write values for `target`, and yield the function that gives their file its name."""
    if not initial:
        yield lambda: None
        return
    path = weights_path(target)
    with draft(target.parent) as found, restoring(path):
        for piece in pieces(initial):
            found.file.write(piece)
        yield lambda: found.publish(path)


def _save_whole(model: ModelProto | ModelParts, path: StrPath, before: Callable[[], None]) -> None:
    """Write a model; `before` is called when all of it is written, and it gets its name."""
    if isinstance(model, ModelParts):
        contents = model.pieces()
    else:
        contents = [model.SerializeToString(deterministic=True)]
    with whole_file(path) as file:
        for piece in contents:
            file.write(piece)
        before()


def _data_names(model: Path) -> re.Pattern[str]:
    return re.compile(re.escape(model.name) + r"\.[0-9a-f]{16}\.data")


def _save_pair(model: ModelParts, target: Path, before: Callable[[], None]) -> str:
    """Write a model and its data; the data file's name. `before` is called before the model gets its name."""
    with draft(target.parent) as data, draft(target.parent) as file:
        slim, location = _externalised(model, data.file, target.name)
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


def _externalised(model: ModelParts, data: BinaryIO, name: str) -> tuple[ModelProto, str]:
    """A model whose larger initializers point into `data`, which is written here, and the name that
    `data` must get beside the model called `name`."""
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
    """A copy of the proto of a model in parts, and its initializers that have to point to their content."""
    slim = type(model.proto)()
    slim.CopyFrom(model.proto)
    return slim, [tensor for tensor in slim.graph.initializer if tensor.name in model.weights]


def point(tensor: TensorProto, location: str, offset: int, length: int) -> None:
    """Say where the content of a tensor is, in bytes."""
    tensor.data_location = tensor.EXTERNAL
    for key, value in {"location": location, "offset": offset, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))
