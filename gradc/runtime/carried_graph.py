"""The graph that a model with run-time sizes carries, so that a run of the saved model can be held
against it.

It is MLIR text in the model's metadata, with constants of more elements than sizes have as further inputs:
of a weight its type is enough. Places lose their folders, as the provenance of nodes does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from dialects.support import entry
from dialects.support.constants import constant_attribute
from dialects.support.diagnostics import GradcError, location, name_of, position_of, violation
from dialects.support.state import MOST_SIZES
from gradc.graph.printing import placed
from gradc.graph.run_time_sizes import RunTimeSizes
from gradc.importers.mlir_text import import_mlir

KEY = "gradc.graph"


def metadata(source: ModuleOp) -> dict[str, str]:
    """The entry of a model's metadata for its source; none where nothing is left to run time."""
    return {KEY: placed(_slim(source))} if RunTimeSizes(source).are_open else {}


def sizes_of(carried: Mapping[str, str]) -> RunTimeSizes | None:
    """What a model's metadata says of its sizes; None where it says nothing."""
    if KEY not in carried:
        return None
    try:
        return RunTimeSizes(import_mlir(carried[KEY], KEY))
    except GradcError as error:
        hint = f"compile it with this gradc, or take {KEY} out of its metadata to run it unchecked"
        raise violation(f"the model's metadata {KEY} cannot be read: {error}", hint=hint) from None


def _slim(source: ModuleOp) -> ModuleOp:
    module = source.clone()
    function = entry.entry_function(module)
    inputs, outputs = list(entry.input_names(function)), entry.output_names(function)
    for op in list(module.walk()):
        op.location = _without_folders(op)
        attribute = constant_attribute(op.results[0]) if op.results else None
        if attribute is None or prod(attribute.type.get_shape()) <= MOST_SIZES:
            continue
        block = function.body.block
        argument = block.insert_arg(op.results[0].type, len(block.args))
        op.results[0].replace_all_uses_with(argument)
        block.erase_op(op)
        inputs.append(f"constant {len(block.args)}")
    entry.update_function_type(function)
    function.arg_attrs = None  # whatever a weight is by default, its type is enough
    entry.set_names(function, inputs, outputs)
    for name in entry.OF_NODES:
        module.attributes.pop(name, None)
    return module


def _without_folders(op: Operation):
    place = position_of(op)
    return location(name_of(op), place and replace(place, file=os.path.basename(place.file)))
