"""ONNX models as files: one, or two where their weights are beyond what one message holds."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from dialects.support.diagnostics import violation
from gradc.files.atomic import draft, sweep
from gradc.files.writing import StrPath, is_special, refusals_of, write_whole

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

PROTO_LIMIT = 2**31 - 2**26
"""Bytes of weights up to which a model is one file. A protobuf message ends at 2 GiB; the slack is
for everything that is not a weight."""


KEPT_BYTES = 1024
"""Initializers up to this size stay in the model file: shape inference reads them."""


PAGE = 4096
"""Alignment of external tensors, in bytes: what a runtime needs to map them into memory."""


def weight_bytes(model: ModelProto) -> int:
    return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


def model_bytes(model: ModelProto) -> int:
    """What a model takes on disk; one message cannot hold more than 2 GB of weights, nor count them."""
    weights = weight_bytes(model)
    return model.ByteSize() if weights <= PROTO_LIMIT else weights


def save_model(model: ModelProto, path: StrPath, limit: int = PROTO_LIMIT) -> None:
    """Write a model; above `limit` bytes of weights these go to `<path>.<digest>.data` beside it.

    The data file is called after its content, so that no model ever stands beside data of another
    one: the new data comes first, then the model takes the place of the former one, then the former
    data goes. A process that dies between two of these steps leaves a data file that nothing reads,
    and the next write to `path` removes it. Raises GradcError naming the path; then the former files
    are as they were.
    """
    small = weight_bytes(model) <= limit
    if not small and is_special(path):
        raise violation(f"cannot write {os.fspath(path)}: weights beyond 2 GB need a second file beside it")
    with refusals_of(path) as target:
        kept = "" if small else _save_pair(model, target)
        if small:
            write_whole(path, model.SerializeToString(deterministic=True))
        sweep(target.parent, _data_names(target), kept)


def _data_names(model: Path) -> re.Pattern[str]:
    return re.compile(re.escape(model.name) + r"\.[0-9a-f]{16}\.data")


def _save_pair(model: ModelProto, target: Path) -> str:
    """Write a model and its data; the data file's name."""
    with draft(target.parent) as data, draft(target.parent) as file:
        slim, location = _externalised(model, data.file, target.name)
        file.file.write(slim.SerializeToString(deterministic=True))
        data_path = target.with_name(location)
        existed = data_path.exists()
        data.publish(data_path)
        try:
            file.publish(target)
        except BaseException:
            if not existed:
                data_path.unlink(missing_ok=True)
            raise
    return location


def _externalised(model: ModelProto, data: BinaryIO, name: str) -> tuple[ModelProto, str]:
    """A model whose larger initializers point into `data`, which is written here, and the name that
    `data` must get beside the model called `name`."""
    slim, large = split_weights(model)
    digest, size, ends = hashlib.sha256(), 0, []
    for _, tensor in large:
        for part in (b"\0" * (-size % PAGE), tensor.raw_data):
            data.write(part)
            digest.update(part)
            size += len(part)
        ends.append(size)
    location = f"{name}.{digest.hexdigest()[:16]}.data"
    for (pointer, tensor), end in zip(large, ends, strict=True):
        length = len(tensor.raw_data)
        point(pointer, location, end - length, length)
    return slim, location


def split_weights(model: ModelProto) -> tuple[ModelProto, list[tuple[TensorProto, TensorProto]]]:
    """A copy of a model whose larger initializers have no content, and these, each beside its original."""
    slim, large = without_weights(model), []
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) <= KEPT_BYTES:
            slim.graph.initializer.append(tensor)
            continue
        empty = slim.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        large.append((empty, tensor))
    return slim, large


def point(tensor: TensorProto, location: str, offset: int, length: int) -> None:
    """Say where the content of a tensor is, in bytes."""
    tensor.data_location = tensor.EXTERNAL
    for key, value in {"location": location, "offset": offset, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))


def without_weights(model: ModelProto) -> ModelProto:
    """A copy without initializers. They must not be copied first and then dropped: protobuf copies
    some messages by serialising them, which ends at 2 GiB."""
    copy = type(model)()
    _copy_fields(model, copy, left_out="graph")
    _copy_fields(model.graph, copy.graph, left_out="initializer")
    return copy


def _copy_fields(source: Any, target: Any, left_out: str) -> None:
    for field, value in source.ListFields():
        if field.name == left_out:
            continue
        if hasattr(value, "extend"):
            getattr(target, field.name).extend(value)
        elif hasattr(value, "CopyFrom"):
            getattr(target, field.name).CopyFrom(value)
        else:
            setattr(target, field.name, value)
