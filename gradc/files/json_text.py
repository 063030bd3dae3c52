"""JSON documents for programs: what every `--json` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any


def json_text(data: Any) -> str:
    """The text of a document. JSON has no infinity and no NaN: such a number is null."""
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
