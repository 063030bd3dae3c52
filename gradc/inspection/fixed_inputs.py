"""Sessions in which some inputs have fixed values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from gradc.runtime.session import Session


class FixedInputsSession(Session):
    """A session whose runs need no value for the inputs in `fixed`."""

    def __init__(self, model: Any, fixed: Mapping[str, np.ndarray], **options: Any):
        super().__init__(model, **options)
        self._fixed = fixed

    def run(
        self, inputs: Mapping[str, np.ndarray], only: Collection[str] | None = None
    ) -> dict[str, np.ndarray]:
        return super().run({**self._fixed, **inputs}, only)
