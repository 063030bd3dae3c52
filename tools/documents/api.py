"""Reference of the Python API as Markdown, from signatures and docstrings."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import gradc
from gradc.builder.base import GraphValue
from gradc.builder.spec_methods import SpecMethod
from gradc.graph.tensors import TensorInfo
from gradc.reporting.data import Remark
from gradc.runtime.session import Session
from tools.documents.prose import escape_markdown, table

FUNCTIONS = (
    "compile",
    "grad",
    "value_and_grad",
    "vjp",
    "jvp",
    "hvp",
    "ggnvp",
    "jacobian",
    "hessian",
    "report",
    "train_step",
)
CLASSES = ("Compiled", "Graph", "Report", "Limits", "TrainStep", "Trainer")
ERRORS = (
    "GradcError",
    "UnsupportedError",
    "UsageError",
    "CheckError",
    "InternalError",
    "TrainerError",
    "Diagnostic",
)
OTHERS = {
    "gradc.builder.base.GraphValue": GraphValue,
    "gradc.graph.tensors.TensorInfo": TensorInfo,
    "gradc.reporting.data.Remark": Remark,
    "gradc.runtime.session.Session": Session,
}
"""Types of arguments and results of public methods."""

HIDDEN = {"Compiled": ("parts", "source", "module", "options")}
VALUES = {
    "losses": "The module of losses of training steps: [the losses](../training_losses.md).",
    "training": "The module with `generate_artifacts`, by the signature of onnxruntime's training package.",
    "optim": "The module of optimizers of training steps: [the optimizers](../training_optimizers.md).",
    "ZERO": "The value that a custom rule returns for an operand whose gradient is always 0.",
    "torch": "The module of PyTorch functions, `export`, `module` and `train_step`: [its page](../torch.md).",
    "ops": "The module that a custom rule is written with: [its reference](ops.md).",
    "__version__": "The version of gradc, a string.",
}

_ARGUMENT = re.compile(r"[a-z_]+(, [a-z_]+)*: ")


def reference() -> str:
    return "\n\n".join(_sections())


def _sections() -> Iterator[str]:
    yield "## Functions"
    for name in FUNCTIONS:
        yield from _function(name, getattr(gradc, name))
    yield "## Classes"
    for name in CLASSES:
        yield from _class(f"gradc.{name}", getattr(gradc, name))
    yield "## Errors and diagnostics"
    for name in ERRORS:
        yield from _class(f"gradc.{name}", getattr(gradc, name))
    yield "## Types of arguments and results"
    for name, cls in OTHERS.items():
        yield from _class(name, cls)
    yield "## Values"
    yield table(("name", "meaning"), [(f"`gradc.{name}`", text) for name, text in VALUES.items()])


def _function(name: str, function: Any) -> Iterator[str]:
    yield f"### gradc.{name}"
    yield f"```text\n{_signature(f'gradc.{name}', function)}\n```"
    yield from _prose(function)


def _signature(name: str, function: Any) -> str:
    """Format a signature, on several lines if it is long."""
    signature = inspect.signature(function)
    parameters = list(map(_parameter, signature.parameters.values()))
    stars = [i for i, p in enumerate(signature.parameters.values()) if p.kind is p.KEYWORD_ONLY][:1]
    for index in stars:
        parameters.insert(index, "*")
    result = f" -> {_type(signature.return_annotation)}"
    line = f"{name}({', '.join(parameters)}){result}"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {text},\n" for text in parameters) + f"){result}"


def _parameter(parameter: inspect.Parameter) -> str:
    known = parameter.annotation is not parameter.empty
    text = parameter.name + (f": {_type(parameter.annotation)}" if known else "")
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{text}"
    if parameter.default is parameter.empty:
        return text
    return f"{text} = {parameter.default!r}" if known else f"{text}={parameter.default!r}"


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


def _prose(documented: Any) -> Iterator[str]:
    """Yield the paragraphs of a docstring; one that describes arguments becomes a list."""
    for paragraph in (inspect.getdoc(documented) or "").split("\n\n"):
        lines = paragraph.splitlines()
        if all(line.startswith("    ") for line in lines):
            yield f"```text\n{textwrap.dedent(paragraph)}\n```"
            continue
        if not _ARGUMENT.match(lines[0] if lines else ""):
            yield escape_markdown(" ".join(lines))
            continue
        items: list[str] = []
        for line in lines:
            if _ARGUMENT.match(line):
                items.append(line)
            else:
                items[-1] += f" {line.strip()}"
        parts = (item.partition(": ") for item in items)
        yield "\n".join(f"* `{name}`: {escape_markdown(text)}" for name, _, text in parts)


def _class(name: str, cls: type) -> Iterator[str]:
    yield f"### {name}"
    own = inspect.getdoc(cls) or ""
    if not own.startswith(f"{cls.__name__}("):
        yield from _prose(cls)
    rows = list(members(cls))
    if rows:
        yield table(("member", "meaning"), rows)


def members(cls: type) -> Iterator[tuple[str, str]]:
    seen: set[str] = set(HIDDEN.get(cls.__name__, ()))
    for base in cls.__mro__:
        if not base.__module__.startswith(("gradc", "dialects", "passes")):
            continue
        documented = _field_docs(base) | _limit_docs(base)
        for name in [*inspect.get_annotations(base), *vars(base)]:
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            member = vars(base).get(name)
            created = getattr(base, name) if isinstance(member, SpecMethod) else member
            yield _member(name, created, documented.get(name, ""))


def _limit_docs(cls: type) -> dict[str, str]:
    """Return the descriptions in the metadata of a dataclass's fields."""
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return {field.name: field.metadata["meaning"] for field in fields if "meaning" in field.metadata}


def _member(name: str, member: Any, field_doc: str) -> tuple[str, str]:
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if not inspect.isfunction(member):
        documented = inspect.isdatadescriptor(member) or hasattr(member, "func")
        value = str(member) if isinstance(member, int) else ""
        return f"`{name}`", _first(inspect.getdoc(member) or "" if documented else field_doc or value)
    parameters = [p for p in inspect.signature(member).parameters.values() if p.name not in ("self", "cls")]
    words = [p.name if p.default is p.empty else f"{p.name}=" for p in parameters]
    return f"`{name}({', '.join(words)})`", _first(inspect.getdoc(member) or "")


def _first(text: str) -> str:
    return escape_markdown(" ".join(text.split("\n\n")[0].split()))


def _field_docs(cls: type) -> dict[str, str]:
    """Return the texts after the fields of a class."""
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    except (OSError, TypeError):
        return {}
    found: dict[str, str] = {}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            found[field.target.id] = str(text.value.value) if is_text else ""  # pyright: ignore
    return found
