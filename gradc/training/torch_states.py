"""States of an optimizer as torch has them: without scales and chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dialects.support.diagnostics import several, usage

Arrays = Mapping[str, np.ndarray]


def to_torch(facts: Mapping[str, Any], values: Arrays) -> dict[str, dict[str, np.ndarray]]:
    """Return parameter -> torch's name of a state -> its value, given parameters and states by input name.

    `facts` are those of train.json.
    """
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in facts["parameters"]}
    for name, state in facts["states"].items():
        stored, shape = values[name], values[state["of"]].shape
        value = stored * np.asarray(state.get("scale", 1), stored.dtype)
        found[state["of"]][state["slot"]] = value.reshape(shape) if value.size == np.prod(shape) else value
    return found


def from_torch(
    facts: Mapping[str, Any], initial: Arrays, states: Mapping[str, Mapping[str, Any]]
) -> dict[str, np.ndarray]:
    """Return states by input name, in the dtypes and shapes of `initial`, from what `to_torch` returns.

    Raises UsageError for a missing state, and for one of another size.
    """
    found: dict[str, np.ndarray] = {}
    for name, state in facts["states"].items():
        given = states.get(state["of"], {})
        if state["slot"] not in given:
            what = f"the state {state['slot']} of {state['of']}"
            raise usage(what, several(list(given)) or "no states", state["slot"])
        value, like = np.asarray(given[state["slot"]]), initial[name]
        if value.size != like.size:
            what = f"the state {state['slot']} of {state['of']}"
            raise usage(what, f"{value.size} elements", f"{like.size}")
        found[name] = (value / state.get("scale", 1)).astype(like.dtype).reshape(like.shape)
    return found
