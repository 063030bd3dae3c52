"""JSON text, as every `--json` prints it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any


def json_text(data: Any) -> str:
    """Return a document's JSON text; infinities and NaN, which JSON lacks, become null."""
    return json.dumps(_finite(data), indent=1, allow_nan=False)


def _finite(data: Any) -> Any:
    match data:
        case float():
            return data if isfinite(data) else None
        case Mapping():
            return {key: _finite(value) for key, value in data.items()}
        case list() | tuple():
            return [_finite(value) for value in data]
        case _:
            return data
