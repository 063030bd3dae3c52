"""Metadata keys about weights in models that gradc wrote."""

from __future__ import annotations

import json

REQUIRED_KEY = "gradc.required_weights"
"""Names of inputs that are weights without an initializer: a JSON list."""

CHANGED_KEY = "gradc.changed_weights"
"""Names of weights of the source that the model stores transposed or folded: a JSON list."""


def names_in(text: str) -> list[str]:
    """Return the names in a metadata entry; none if it is malformed."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
