"""Recipes of crash reproducers: the steps that repeat an error.

A reproducer is a text file: `//` comments, one of which holds the recipe, then the module (MLIR text), or
the source (MLIR text or JSON) if the importer failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from dialects.support.diagnostics import violation
from dialects.support.limits import current

PREFIX = "// recipe: "

PASSES, CHOICE, MODEL, SESSION, IMPORT = "passes", "choice", "model", "session", "import"
CHECK = "check"
STAGES = (PASSES, CHOICE, MODEL, SESSION, IMPORT, CHECK)
"""Failing stages: a pass, strategy selection, the exporter, onnxruntime on the model, the importer, the
check of a gradient."""


@dataclass(frozen=True)
class Recipe:
    """The steps that repeat an error.

    `step` and `error`: the failing step and the exception's type. `pipeline`: the passes to run first.
    `options`: those of the compilation, or of the gradient; `ep`: its execution provider; `tune`: strategies
    are measured. `form`: the format of the source, mlir or json. `limits`: those in force.
    """

    stage: str
    step: str
    error: str = ""
    pipeline: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    ep: str = "cpu"
    tune: bool = False
    form: str = "mlir"
    limits: Mapping[str, int] = field(default_factory=lambda: asdict(current()))

    def line(self) -> str:
        return PREFIX + json.dumps(asdict(self))


def has_recipe(text: str) -> bool:
    return _line(text) is not None


def read(text: str, file: str) -> tuple[Recipe, str]:
    """Return the recipe of a reproducer, and its text with the comments blanked.

    Raises GradcError naming the file if the recipe is missing or malformed.
    """
    line = _line(text)
    if line is None:
        hint = "crash reproducers begin with // lines that hold one"
        raise violation(f"{file} has no recipe", expected=f"a line {PREFIX.strip()} {{..}}", hint=hint)
    try:
        given = json.loads(line.removeprefix(PREFIX))
        recipe = Recipe(**given)
    except (ValueError, TypeError, RecursionError) as error:
        raise violation(f"recipe of {file}: {error}") from None
    _check(recipe, file)
    body = _body(text)
    if not body.strip():
        raise violation(f"{file} has nothing after its recipe", expected="a module, or a source")
    return recipe, body


def _line(text: str) -> str | None:
    for line in text.splitlines():
        if not line.startswith("//"):
            return None
        if line.startswith(PREFIX):
            return line
    return None


def _check(recipe: Recipe, file: str) -> None:
    for entry in fields(Recipe):
        value = getattr(recipe, entry.name)
        kind = {"options": dict, "limits": dict, "tune": bool}.get(entry.name, str)
        if not isinstance(value, kind):
            raise violation(f"recipe of {file}, {entry.name}", given=repr(value), expected=kind.__name__)
    if recipe.stage not in STAGES:
        expected = f"one of {', '.join(STAGES)}"
        raise violation(f"recipe of {file}, stage", given=recipe.stage, expected=expected)


def _body(text: str) -> str:
    """Return the text with its leading comments blanked, so that line numbers stay."""
    lines = text.splitlines(keepends=True)
    count = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    return "\n" * count + "".join(lines[count:])
