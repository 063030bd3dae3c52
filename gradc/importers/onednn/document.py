"""A oneDNN Graph document as plain data, with checked keys, types and encodings.

This module checks single records; `gradc/importers/onednn/reader.py` checks the links between them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX

from dialects import source_op
from dialects.support import dtypes
from dialects.support.attributes import documented_attributes
from dialects.support.diagnostics import Diagnostic, GradcError, Position, sentence, suggest
from dialects.support.documented_op import DocumentedOp
from dialects.support.error_list import Errors, OpReference
from dialects.support.names import is_text
from dialects.support.shapes import Shape
from gradc.importers.onednn.json_positions import LocatedObject, position_of, value_position
from gradc.importers.onednn.op_kinds import END, current_name, unsupported_error

UNKNOWN = DYNAMIC_INDEX
"""-2^63: an unknown dimension; as the only element of a list, an unknown shape or stride."""

UNDEF = "undef"

WORDS = {
    "engine_kind": ("cpu", "gpu", "any"),
    "fpmath_mode": ("strict", "bf16", "f16", "any", "tf32"),
    "fpmath_mode_apply_to_int": ("true", "false"),
    "layout_type": ("strided", UNDEF, "any", "opaque"),
    "property_type": (UNDEF, "variable", "constant", "host_scalar"),
}
"""Allowed values of keys that configure execution. They do not change results: gradc accumulates in f32
whatever the fpmath mode, and strides and layouts are physical."""

OP_KEYS = ("id", "name", "kind", "attrs", "inputs", "outputs")
TENSOR_KEYS = ("id", "dtype", "shape", "stride", "layout_type", "property_type")
PARTITION_ATTRIBUTES = ("partition_id", "backend")
"""Attributes that a dump of partitions adds to every op."""

SIZE_PORTS = ("dst_shape", "sizes")
"""Ports whose values are sizes. They have rank 1, so a lone unknown is their length, not an unknown rank."""


@dataclass(frozen=True)
class Tensor:
    """A tensor record. A shape of None means unknown rank."""

    id: int
    dtype: str
    shape: Shape | None
    port: str
    position: Position | None


@dataclass(frozen=True)
class Node:
    """An op record. `op` is None for `End`, whose inputs are graph outputs, and for unsupported kinds."""

    id: int
    name: str
    kind: str
    op: type[DocumentedOp] | None
    attributes: Mapping[str, Any]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    position: Position | None
    record: Mapping[str, Any]

    @property
    def is_end(self) -> bool:
        return self.kind == END

    def position_of_message(self, what: str) -> Position | None:
        """Return the position of what a message begins with: `strides axis H`, `shape of diff_src`.

        The first word that is an attribute or a port of the record decides.
        """
        attributes = self.record.get("attrs", {})
        for word in re.findall(r"\w+", what):
            if isinstance(attributes, LocatedObject) and word in attributes:
                known = self.op is not None and word in documented_attributes(self.op)
                return (
                    value_position(attributes[word], "value") if known else attributes.position_of_key(word)
                )
            for key, tensors in (("inputs", self.inputs), ("outputs", self.outputs)):
                ports = [tensor.port for tensor in tensors]
                if word in ports:
                    entry = self.record[key][ports.index(word)]
                    return value_position(entry, "dtype" if what.startswith("dtype") else "shape")
        return None

    def error(
        self,
        what: str,
        *,
        given: object = None,
        expected: object = None,
        hint: str = "",
        at: Tensor | None = None,
    ) -> GradcError:
        """Return an error about this op, located at one of its tensors or else at the op."""
        position = at.position if at else self.position
        subject = subject_of(self.kind, self.name, self.id)
        return GradcError(Diagnostic("error", sentence(what, given, expected, hint), subject, position))


@dataclass(frozen=True)
class Document:
    nodes: tuple[Node, ...]
    input_ports: tuple[int, ...]
    output_ports: tuple[int, ...]
    position: Position | None


def subject_of(kind: str, name: str, identifier: int) -> str:
    """Return the bracketed part of a diagnostic; equals `diagnostics.subject_of` of the imported op."""
    return f'{kind} "{name}" id {identifier}'


@dataclass(frozen=True)
class Record:
    """An object of the document. `what` names it in messages; `subject` is the op that it belongs to."""

    data: Mapping[str, Any]
    what: str
    subject: str = ""
    fallback: Position | None = None

    def error(
        self,
        what: str,
        given: object = None,
        expected: object = None,
        hint: str = "",
        at: Any = None,
        key: str = "",
    ) -> GradcError:
        """Return an error located at the value `at`, else at the value of `key`, else at the record."""
        place = position_of(at) or value_position(self.data, key) or position_of(self.data) or self.fallback
        return GradcError(Diagnostic("error", sentence(what, given, expected, hint), self.subject, place))

    def integer(self, key: str) -> int:
        value = self._require(key)
        if not _is_size(value):
            raise self._ill_typed(key, "a non-negative integer")
        return int(value)

    def string(self, key: str, default: str | None = None) -> str:
        if default is not None and key not in self.data:
            return default
        value = self._require(key)
        if not isinstance(value, str):
            raise self._ill_typed(key, "a string")
        if not is_text(value):
            raise self._ill_typed(key, "text that UTF-8 can spell")
        return value

    def word(self, key: str) -> None:
        """Check an optional key whose value is one of a list, ignoring case."""
        if key not in self.data:
            return
        value = str(self.data[key])
        if value.lower() not in WORDS[key]:
            expected = f"one of {', '.join(WORDS[key])}"
            raise self.error(f"{key} of {self.what}", short_json(self.data[key]), expected, key=key)

    def array(self, key: str, default: tuple[Any, ...] | None = None) -> list[Any] | tuple[Any, ...]:
        if default is not None and key not in self.data:
            return default
        value = self._require(key)
        if not isinstance(value, list | tuple):
            raise self._ill_typed(key, "an array")
        return value

    def integers(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        values = self.array(key, default)
        for index, value in enumerate(values):
            if not _is_int(value):
                what = f"{key} of {self.what}, element {index}"
                raise self.error(what, short_json(value), "an integer", at=values)
        return tuple(int(value) for value in values)

    def record(self, key: str, subject: str) -> Record:
        """Return the object under an optional key, an empty one if the key is missing."""
        value = self.data.get(key, {})
        if not isinstance(value, Mapping):
            raise self._ill_typed(key, "an object")
        return Record(value, key, subject, position_of(self.data) or self.fallback)

    def check_misspelt_keys(self, known: tuple[str, ...]) -> None:
        """Raise for a key that resembles a missing one, whose default would silently apply."""
        missing = [key for key in known if key not in self.data]
        for key in self.data:
            hint = suggest(key, missing) if key not in known else ""
            if hint:
                raise self.error(f"unknown key {key} of {self.what}", hint=hint, key=key)

    def _require(self, key: str) -> Any:
        if key not in self.data:
            hint = "a oneDNN Graph dump lists its ops under graph" if key == "graph" else ""
            raise self.error(f"{self.what} has no key {key}", hint=hint)
        return self.data[key]

    def _ill_typed(self, key: str, expected: str) -> GradcError:
        return self.error(f"{key} of {self.what}", short_json(self.data[key]), expected, key=key)


def short_json(value: Any) -> str:
    """Return a value as JSON text of at most 60 characters."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def read_document(data: Any) -> Document:
    """Read and check all records. Raises GradcError; `unsupported_kinds` checks the op kinds."""
    if not isinstance(data, Mapping):
        position = position_of(data)
        message = sentence("the document", short_json(data), "an object with the key graph")
        raise GradcError(Diagnostic("error", message, position=position))
    top = Record(data, "the document")
    for key in ("engine_kind", "fpmath_mode", "fpmath_mode_apply_to_int"):
        top.word(key)
    version = top.string("version", "0.0.0")
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise top.error("version of the document", short_json(version), "numbers like 3.13.0", key="version")
    entries = top.array("graph")
    if not entries:
        raise top.error("graph of the document is empty", expected="at least one op", at=entries)
    errors, nodes = Errors(), []
    for index, entry in enumerate(entries):
        with errors.collecting():
            nodes.append(_node(top, entry, index))
    errors.check()
    return Document(
        tuple(nodes),
        top.integers("input_ports", ()),
        top.integers("output_ports", ()),
        position_of(data),
    )


def unsupported_kinds(data: Any) -> GradcError | None:
    """Return the error for unsupported op kinds of a document, or None."""
    entries = data.get("graph") if isinstance(data, Mapping) else None
    if not isinstance(entries, list | tuple):
        return None
    records = [entry for entry in entries if isinstance(entry, Mapping)]
    found = [_finding(record) for record in records if isinstance(record.get("kind"), str)]
    return unsupported_error(found, len(records))


def _finding(record: Mapping[str, Any]) -> OpReference:
    kind, identifier = current_name(record["kind"]), record.get("id", -1)
    given = record.get("name")
    name = given if isinstance(given, str) and given else f"{kind}_{identifier}"
    known = str(int(identifier)) if _is_size(identifier) else ""
    subject = subject_of(kind, name, int(known)) if known else f'{kind} "{name}"'
    return OpReference(kind, subject, value_position(record, "kind"), known)


def _node(top: Record, entry: Any, index: int) -> Node:
    if not isinstance(entry, Mapping):
        raise top.error(f"element {index} of graph", short_json(entry), "an op record", at=entry)
    unnamed = Record(entry, f"element {index} of graph")
    unnamed.check_misspelt_keys(OP_KEYS)
    identifier, kind = unnamed.integer("id"), current_name(unnamed.string("kind"))
    name = unnamed.string("name", "") or f"{kind}_{identifier}"
    subject = subject_of(kind, name, identifier)
    record = Record(entry, "the op", subject)
    op = source_op(kind)
    return Node(
        identifier,
        name,
        kind,
        op,
        {} if op is None else _attributes(record.record("attrs", subject), op),
        _tensors(record, "inputs", op.port if op else None),
        _tensors(record, "outputs", op.result_name if op else None, () if kind == END else None),
        position_of(entry),
        entry,
    )


def _attributes(record: Record, op: type[DocumentedOp]) -> dict[str, Any]:
    """Return the attribute values by name, checked against the documented types; unknown names pass."""
    errors, found = Errors(), {}
    for name, entry in record.data.items():
        if name not in PARTITION_ATTRIBUTES:
            errors.attempt(lambda n=name, e=entry: found.update({n: _attribute(record, op, n, e)}))
    errors.check()
    return found


def _attribute(record: Record, op: type[DocumentedOp], name: str, entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        expected = "an object with the keys type and value"
        raise record.error(f"attribute {name}", short_json(entry), expected, key=name)
    for key in ("type", "value"):
        if key not in entry:
            raise record.error(f"attribute {name} has no key {key}", at=entry)
    documented = documented_attributes(op).get(name)
    if documented is None:
        return entry["value"]
    spec = documented.spec
    if entry["type"] != spec.tag:
        what = f"attribute {name}: type"
        raise Record(entry, "", record.subject).error(what, short_json(entry["type"]), spec.tag, key="type")
    try:
        spec.encode(entry["value"])
    except ValueError as error:
        whole = Record(entry, "", record.subject)
        raise whole.error(f"attribute {name}: {error}", key="value") from None
    return entry["value"]


def _tensors(
    record: Record,
    key: str,
    name_of: Callable[[int], str] | None,
    default: tuple[Any, ...] | None = None,
) -> tuple[Tensor, ...]:
    entries = record.array(key, default)
    return tuple(
        _tensor(record, entry, key, index, name_of(index) if name_of else f"{key}[{index}]")
        for index, entry in enumerate(entries)
    )


def _tensor(op: Record, entry: Any, key: str, index: int, port: str) -> Tensor:
    if not isinstance(entry, Mapping):
        hint = "only trailing ports can be absent, and they are left out" if entry is None else ""
        raise op.error(
            f"element {index} of {key} ({port})", short_json(entry), "a tensor record", hint, entry
        )
    unnamed = Record(entry, f"tensor record of {port}", op.subject, position_of(op.data))
    unnamed.check_misspelt_keys(TENSOR_KEYS)
    identifier = unnamed.integer("id")
    record = Record(entry, f"tensor {identifier} ({port})", op.subject, position_of(op.data))
    record.word("layout_type")
    record.word("property_type")
    shape = _shape(record)
    if port in SIZE_PORTS and shape is None:
        shape = (None,)
    _check_stride(record, shape)
    return Tensor(identifier, _dtype(record), shape, port, position_of(entry))


def _dtype(record: Record) -> str:
    word = record.string("dtype")
    known = (*(d.name for d in dtypes.DTYPES), UNDEF)
    if word.lower() in known:
        return word.lower()
    renamed = {d.numpy.name: d.name for d in dtypes.DTYPES}.get(word.lower())
    hint = f"did you mean {renamed}?" if renamed else suggest(word, known)
    raise record.error(
        f"dtype of {record.what}", short_json(word), f"one of {', '.join(known)}", hint, key="dtype"
    )


def _shape(record: Record) -> Shape | None:
    dims = record.integers("shape")
    if dims == (UNKNOWN,):
        return None
    for axis, dim in enumerate(dims):
        if dim != UNKNOWN and not _is_size(dim):
            expected = f"a size, or {UNKNOWN} for one that is not known"
            what = f"shape of {record.what}, axis {axis}"
            raise record.error(what, dim, expected, at=record.data["shape"])
    return tuple(None if dim == UNKNOWN else dim for dim in dims)


def _check_stride(record: Record, shape: Shape | None) -> None:
    stride = record.integers("stride", (UNKNOWN,))
    if stride == (UNKNOWN,) or shape is None or len(stride) == len(shape):
        return
    what = f"stride of {record.what}: length"
    given = f"{len(stride)} {short_json(stride)}"
    expected = f"{len(shape)}, the length of shape {short_json(record.data['shape'])}"
    raise record.error(what, given, expected, at=record.data["stride"])


def _is_int(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_size(value: Any) -> bool:
    return _is_int(value) and 0 <= value < 2**63
