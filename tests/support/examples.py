"""How many examples a property tries."""

from __future__ import annotations

import os

from hypothesis import settings

EXAMPLES = int(os.environ.get("GRADC_EXAMPLES", "1"))


def examples(count: int) -> settings:
    """`count` examples, or GRADC_EXAMPLES times as many."""
    return settings(max_examples=count * EXAMPLES)
