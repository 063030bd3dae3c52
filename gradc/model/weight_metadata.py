"""Metadata keys about weights in models that gradc wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from gradc.files.json_text import json_text

REQUIRED_KEY = "gradc.required_weights"
"""Names of inputs that are weights without an initializer: a JSON list."""

CHANGED_KEY = "gradc.changed_weights"
"""Names of weights of the source that the model stores transposed, folded or merged: a JSON list."""


def names_in(text: str) -> list[str]:
    """Return the names in a metadata entry; none if it is malformed."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def add_required(model: Any, names: Iterable[str]) -> None:
    """Add names to the required weights of a ModelProto."""
    new = list(names)
    found = [entry for entry in model.metadata_props if entry.key == REQUIRED_KEY]
    if new:
        entry = found[0] if found else model.metadata_props.add(key=REQUIRED_KEY)
        entry.value = json_text([*names_in(entry.value), *new])
