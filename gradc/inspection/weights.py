"""Weights of a model: listing, extraction and replacement."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dialects.onnx.tensor_attributes import StringTensorAttr
from dialects.support import dense, dtypes, shapes
from dialects.support.diagnostics import Diagnostic, GradcError, several, suggest, violation
from dialects.support.error_list import Errors
from gradc.compiler.traced_names import RESHAPED
from gradc.files import npz, safetensors
from gradc.files.json_text import json_text
from gradc.files.writing import StrPath
from gradc.graph.tensors import as_dtype
from gradc.inspection.trainable import Trainability, find_trainable
from gradc.model.external_data import TensorData, open_model
from gradc.model.saving import PROTO_LIMIT, save_model
from gradc.model.split_model import KEPT_BYTES, ModelParts
from gradc.model.stored_weights import (
    REQUIRED,
    StoredWeight,
    list_weights,
    names_of_changed_weights,
)
from gradc.model.tensor_contents import StoredContents, fill, is_external, read_into_message
from gradc.terminal.numbers import size
from gradc.terminal.tables import PLAIN, Look, table

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto

WORDS = {True: "yes", False: "no", None: "?"}

SAME_FORM = ("", RESHAPED)
"""Forms in which a weight of the exported module can be set under its name there."""

NO_DATA = TensorData()
"""The data of a model whose message has all contents."""

LISTED_READERS = 3
"""Readers in a line of the table; JSON has all."""


@dataclass(frozen=True)
class ExtractedWeights:
    """Values of weights by name, and remarks on omitted ones."""

    arrays: Mapping[str, np.ndarray]
    remarks: Sequence[Diagnostic]


def weights_of(path: str | os.PathLike[str]) -> list[StoredWeight]:
    """Return the weights of a model. Raises GradcError for a file that is no model."""
    with open_model(os.fspath(path)) as (model, _):
        return list_weights(model)


def as_data(found: Sequence[StoredWeight]) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "dtype": one.dtype,
            "shape": list(one.shape),
            "bytes": one.bytes,
            "readers": list(one.readers),
            "role": one.role,
        }
        for one in found
    ]


def as_json(found: Sequence[StoredWeight], training: Mapping[str, Trainability]) -> str:
    more = [asdict(training[one.name]) for one in found]
    return json_text([{**data, **own} for data, own in zip(as_data(found), more, strict=True)])


def as_text(found: Sequence[StoredWeight], training: Mapping[str, Trainability], look: Look = PLAIN) -> str:
    has_other_names = any(training[one.name].also or training[one.name].stored for one in found)
    rows = [
        (
            one.name,
            one.dtype,
            shapes.show(one.shape),
            " ".join(size(one.bytes)),
            one.role,
            WORDS[training[one.name].trainable],
            training[one.name].reason,
            *([_other_names(training[one.name])] if has_other_names else []),
            _readers(one),
        )
        for one in found
    ]
    header = ("weight", "dtype", "shape", "size", "role", "trainable", "reason")
    header = (*header, *(["in the module"] if has_other_names else []), "read by")
    total = " ".join(size(sum(one.bytes for one in found)))
    trainable = sum(training[one.name].trainable is True for one in found)
    return f"{table(header, rows, (3,), look)}\n{len(found):,} weights, {total}, {trainable:,} trainable"


def _other_names(one: Trainability) -> str:
    names = several(list(one.also)) if one.also else ""
    return f"{names} ({one.stored})".strip() if one.stored else names


def _readers(one: StoredWeight) -> str:
    more = len(one.readers) - LISTED_READERS
    return ", ".join(one.readers[:LISTED_READERS]) + (f" and {more} more" if more > 0 else "")


def extract_weights(path: str | os.PathLike[str], *, to_npz: bool) -> ExtractedWeights:
    """Return the values of the weights of a model, for an .npz file or a .safetensors one.

    Weights that the format cannot hold are omitted with a remark. Raises GradcError, also for bf16 and .npz,
    since .safetensors can hold it.
    """
    with open_model(os.fspath(path)) as (model, data):
        found = list_weights(model)
        held = [one for one in found if one.tensor is not None]
        if to_npz and (names := [one.name for one in held if one.dtype == "bf16"]):
            hint = "write a .safetensors file"
            raise violation(f"an .npz file cannot hold bf16: {several(names)}", hint=hint)
        kept = [one for one in held if _can_hold(one.dtype, to_npz)]
        arrays = {one.name: _value(one, data) for one in kept}
    return ExtractedWeights(arrays, list(_omission_remarks(found, {one.name for one in kept}, to_npz)))


def _can_hold(dtype: str, to_npz: bool) -> bool:
    if not to_npz:
        return dtype in safetensors.CODES
    known = dtypes.by_name(dtype)
    return known is not None and known.numpy.kind in "biufcO"


def _omission_remarks(found: Sequence[StoredWeight], kept: set[str], to_npz: bool) -> Iterator[Diagnostic]:
    suffix = ".npz" if to_npz else safetensors.SUFFIX
    for dtype in dict.fromkeys(one.dtype for one in found if one.role != REQUIRED and one.name not in kept):
        names = [one.name for one in found if one.dtype == dtype and one.name not in kept]
        yield Diagnostic("remark", f"omitted, since a {suffix} file cannot hold {dtype}: {several(names)}")
    if names := [one.name for one in found if one.role == REQUIRED]:
        text = f"omitted, since they are inputs without a value in the model: {several(names)}"
        yield Diagnostic("remark", text)


def _value(one: StoredWeight, data: TensorData) -> np.ndarray:
    from gradc.importers.onnx.weights import tensor_attribute

    assert one.tensor is not None
    try:
        found = tensor_attribute(one.tensor, data)
    except GradcError as error:
        raise violation(f'weight "{one.name}": {error.diagnostic.message}') from None
    if isinstance(found, StringTensorAttr):
        words = [
            str(word.data, "utf-8", "replace") if isinstance(word.data, bytes) else word.data
            for word in found.values
        ]
        return np.array(words, object).reshape(tuple(found.type.get_shape()))
    return dense.to_numpy(found)


def write_weights(path: str, arrays: Mapping[str, np.ndarray], *, to_npz: bool) -> None:
    if to_npz:
        npz.write_npz(path, arrays)
    else:
        safetensors.write_safetensors(path, arrays)


def set_weights(
    path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], output: StrPath
) -> ModelParts:
    """Write the model at `path` with new values of some weights.

    External data stays external. Raises GradcError for a name that is no weight, a wrong shape or dtype, and
    a weight that gradc transposed, folded or merged with an equal one.
    """
    with open_model(os.fspath(path)) as (model, data):
        found = {one.name: one for one in list_weights(model)}
        return set_in_model(model, _names_in_file(path, arrays, found), output, data)


def set_in_model(
    model: ModelProto, arrays: Mapping[str, np.ndarray], output: StrPath, data: TensorData = NO_DATA
) -> ModelParts:
    """Write a model, which is modified, as `set_weights` does; `data` has contents that the message lacks."""
    found = {one.name: one for one in list_weights(model)}
    changed = set(names_of_changed_weights(model))
    errors = Errors()
    values = {name: _in_dtype_of(found.get(name), array) for name, array in arrays.items()}
    for name, array in values.items():
        errors.attempt(_check, name, array, found, changed)
    errors.check()
    outside = any(one.tensor is not None and is_external(one.tensor, data) for one in found.values())
    contents = StoredContents(data)
    for name, one in found.items():
        tensor = one.tensor
        if tensor is None:
            continue
        if name in values:
            fill(tensor, values[name])
        if one.is_main:
            contents.take(tensor)
        else:
            read_into_message(tensor, data)
    parts = ModelParts(model, contents)
    save_model(parts, output, KEPT_BYTES if outside else PROTO_LIMIT)
    return parts


def _names_in_file(
    path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], found: Mapping[str, StoredWeight]
) -> Mapping[str, np.ndarray]:
    """Return the values by the names in the file, where the exported module has others.

    Raises GradcError for a weight that the file stores in another form than the module: a square matrix would
    be taken transposed.
    """
    if all(name in found for name in arrays):
        return arrays
    training, _ = find_trainable(path, list(found.values()))
    names = {other: name for name, one in training.items() for other in one.also if name not in one.also}
    errors = Errors()
    for name in sorted((arrays.keys() - found.keys()) & names.keys()):
        if (stored := training[names[name]].stored) not in SAME_FORM:
            what = f'weight "{name}" is "{names[name]}" in the model, {stored}'
            errors.found.append(violation(what, hint="set that one, in the form in which it is stored"))
    errors.check()
    return {name if name in found else names.get(name, name): array for name, array in arrays.items()}


def _in_dtype_of(one: StoredWeight | None, array: np.ndarray) -> np.ndarray:
    return array if one is None else as_dtype(array, one.dtype)


def _check(name: str, array: np.ndarray, found: Mapping[str, StoredWeight], changed: set[str]) -> None:
    if name in changed:
        what = f'weight "{name}" was transposed, folded or merged when gradc compiled the model'
        raise violation(what, hint="set it in the source model and compile that")
    one = found.get(name)
    if one is None:
        hint = suggest(name, list(found)) or "`gradc weights` lists them"
        raise violation("weight", given=f'"{name}"', expected="a weight of the model", hint=hint)
    if one.role == REQUIRED:
        raise violation(
            f'"{name}" is an input of the model, without a value', hint="`gradc run --inputs` takes its value"
        )
    if one.tensor is None:
        raise violation(f'weight "{name}" is sparse', hint="only dense ones can be set")
    known = dtypes.of_numpy(array.dtype)
    word = "string" if array.dtype.kind in "UO" else known.name if known is not None else array.dtype.name
    if word != one.dtype:
        raise violation(f'weight "{name}": dtype', given=word, expected=one.dtype)
    if list(array.shape) != list(one.shape):
        raise violation(
            f'weight "{name}": shape', given=shapes.show(array.shape), expected=shapes.show(one.shape)
        )
