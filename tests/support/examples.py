"""The number of examples that a property tries."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from support.tiers import Tier

EXAMPLES = int(os.environ.get("GRADC_EXAMPLES", "1"))
QUICK = 6
"""The quick tier tries one in so many examples."""


def examples(count: int, **others: Any) -> Callable[[Any], Any]:
    """Try `count` examples, or GRADC_EXAMPLES times as many; in the quick tier a part of them.

    `others` are settings of hypothesis.
    """
    parts = QUICK if Tier.turn is not None and EXAMPLES == 1 else 1

    def decorate(test: Any) -> Any:
        return pytest.mark.sweep(settings(max_examples=-(-count * EXAMPLES // parts), **others)(test))

    return decorate
