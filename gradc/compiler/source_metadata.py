"""Metadata of the source model."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr

from dialects.support import entry
from gradc.model.weight_metadata import REQUIRED_KEY, names_in


def foreign_metadata(module: ModuleOp) -> dict[str, str]:
    """Return the metadata without gradc's."""
    return {name: text for name, text in _metadata(module).items() if not name.startswith("gradc.")}


def required_weights(module: ModuleOp) -> list[str]:
    """Return the inputs of a gradient that are weights without a value in the model."""
    names = names_in(_metadata(module).get(REQUIRED_KEY, ""))
    return [name for name in entry.input_names(entry.entry_function(module)) if name in names]


def _metadata(module: ModuleOp) -> Mapping[str, str]:
    given = module.attributes.get(entry.METADATA)
    if not isinstance(given, DictionaryAttr):
        return {}
    return {name: text.data for name, text in given.data.items() if isinstance(text, StringAttr)}
