"""The program that torch's exporter wrote into a model's metadata: its parameters, buffers and calls."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from dialects.support import entry
from passes.autodiff.named_values import values_by_name

_SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
_CALL = "pkg.torch.onnx.fx_node"
_SCOPES = "pkg.torch.onnx.name_scopes"
LINEAR = "aten.linear"

_INPUT = re.compile(r"^(\w+): ([A-Z_]+)(?: target='([^']*)')?", re.MULTILINE)
_NAME = re.compile(r"%(\w+)")


@dataclass(frozen=True)
class Call:
    """A call of the program: its text, the names of its arguments, and the path of its module."""

    text: str = ""
    arguments: Sequence[str] = ()
    scope: str | None = None

    @property
    def function(self) -> str:
        """The called function, such as `aten.linear`."""
        found = re.search(r"target=torch\.ops\.(\w+\.\w+)", self.text)
        return found[1] if found else ""

    @property
    def result(self) -> str:
        """The name of the value that the call returns."""
        return self.text.partition(" :")[0].lstrip("%")


@dataclass(frozen=True)
class ExportedProgram:
    """`parameters` and `buffers`: names of the module's by those of the program's inputs."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    buffers: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, Call] = field(default_factory=dict)
    """By the name of the node."""
    values: Collection[str] = ()
    """The inputs of the program and the values that the file still has."""

    @classmethod
    def of_module(cls, module: ModuleOp) -> ExportedProgram:
        """Return the program in a module's annotations; an empty one if there is none."""
        annotations = _entries(module.attributes.get(entry.ANNOTATIONS))
        signature = _text(_entries(annotations.get("graph")).get(_SIGNATURE))
        inputs = _INPUT.findall(signature)
        calls = {name: _call(_entries(of)) for name, of in _entries(annotations.get("node")).items()}
        return cls(
            {name: target for name, kind, target in inputs if kind == "PARAMETER"},
            {name: target for name, kind, target in inputs if kind not in ("PARAMETER", "USER_INPUT")},
            {name: call for name, call in calls.items() if call.text},
            {*values_by_name(entry.entry_function(module)), *(name for name, _, _ in inputs)},
        )


def _call(properties: Mapping[str, Attribute]) -> Call:
    text = _text(properties.get(_CALL))
    scopes = _scopes(_text(properties.get(_SCOPES)))
    names = _NAME.findall(text.partition("(args = ")[2])
    return Call(text, names, scopes[-2] if len(scopes) > 1 else None)


def _scopes(text: str) -> Sequence[str]:
    """Return the paths of the modules around a call, and the call's own name."""
    try:
        found = literal_eval(text) if text else []
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ()
    is_list = isinstance(found, list) and all(isinstance(one, str) for one in found)
    return found if is_list else ()


def _entries(given: Attribute | None) -> Mapping[str, Attribute]:
    return given.data if isinstance(given, DictionaryAttr) else {}


def _text(given: Attribute | None) -> str:
    return given.data if isinstance(given, StringAttr) else ""
