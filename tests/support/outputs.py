"""Comparison of a model's outputs with the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from gradc.graph.tensors import TensorInfo
from gradc.verification.verify import OutputError, compare_outputs, inputs_in_order, reference


def verify_outputs(
    source: ModuleOp,
    model_inputs: Sequence[TensorInfo],
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    rtol: float | None = None,
) -> list[OutputError]:
    """Run the reference on named inputs; return the rows of `compare_outputs`."""
    fed = inputs_in_order(source, model_inputs, inputs)
    return compare_outputs(source, fed, outputs, reference(source, fed), rtol)
