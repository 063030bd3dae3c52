"""What a runner is, and what becomes of a test whose runtime is not installed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

import numpy as np
import pytest
from onnx import ModelProto

Feeds = Sequence[Mapping[str, np.ndarray]]

REQUIRED = "GRADC_REQUIRE_RUNTIMES"
"""Set to anything, a runtime that is missing fails its tests instead of skipping them."""


class Runner(Protocol):
    name: ClassVar[str]

    def missing(self) -> str | None:
        """What is not installed and how to get it; None if everything is there."""
        ...

    def run(self, model: ModelProto, feeds: Feeds) -> list[list[np.ndarray]]:
        """The outputs of a model, in order, for each set of feeds."""
        ...


def require(missing: str | None) -> None:
    """Skip the test, or fail it under GRADC_REQUIRE_RUNTIMES, where something is missing."""
    if missing and os.environ.get(REQUIRED):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
