"""Low-rank adapters of a run, merged into the weights of its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dialects.support.diagnostics import several, usage
from gradc.files.writing import StrPath
from gradc.inspection.weights import extract_weights, set_weights
from passes.training.lora import Adapter, merge_adapters


def as_data(adapters: Sequence[Adapter]) -> dict[str, dict[str, Any]]:
    """Return the facts of train.json on adapters, by the weight that they belong to."""
    return {
        one.weight: {"a": one.a, "b": one.b, "scale": one.scale, "is_transposed": one.is_transposed}
        for one in adapters
    }


def write_merged(
    facts: Mapping[str, Any], state: Mapping[str, np.ndarray], source: StrPath, path: StrPath
) -> None:
    """Write the source with its weights plus scale A B, for the adapters of `state`.

    Raises UsageError for a run without adapters, for values that `state` lacks, and for a source without one
    of the weights.
    """
    entries: Mapping[str, Mapping[str, Any]] = facts.get("adapters", {})
    if not entries:
        raise usage("adapters of the run", "none", "a step with lora")
    names = [one[key] for one in entries.values() for key in ("a", "b")]
    if missing := [name for name in names if name not in state]:
        raise usage("the state", f"no {several(missing)}", "the values of all adapters")
    weights = extract_weights(source, to_npz=False).arrays
    if missing := [name for name in entries if name not in weights]:
        raise usage(f"source of the run {source}", f"no weight {several(missing)}", "the model of the step")
    adapters = [_adapter(name, one, state) for name, one in entries.items()]
    set_weights(source, merge_adapters(adapters, state, weights), path)


def _adapter(weight: str, entry: Mapping[str, Any], state: Mapping[str, np.ndarray]) -> Adapter:
    a, b = state[entry["a"]], state[entry["b"]]
    sizes = a.shape[0], b.shape[1]
    return Adapter(weight, sizes, a.shape[1], entry["scale"], a.dtype, entry["is_transposed"])
