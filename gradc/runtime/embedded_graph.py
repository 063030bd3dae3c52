"""The graph embedded in a model with dynamic sizes, which the inputs of a run are checked against.

It is MLIR text in the model's metadata. Constants that are too large to be sizes become inputs, as only their
types matter. Locations lose their folders, as those of nodes do.
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
from dialects.support.op_cache_key import MOST_SIZES
from gradc.graph.printing import located_text
from gradc.graph.run_time_sizes import DynamicSizes

KEY = "gradc.graph"


def metadata(source: ModuleOp) -> dict[str, str]:
    """Return the metadata entry of a source; empty if all sizes are static."""
    return {KEY: located_text(_slim(source))} if DynamicSizes(source).are_dynamic else {}


def sizes_of(carried: Mapping[str, str]) -> DynamicSizes | None:
    """Return the size checks that a model's metadata describes; None without an entry."""
    from gradc.importers.mlir.parser import import_mlir

    if KEY not in carried:
        return None
    try:
        return DynamicSizes(import_mlir(carried[KEY], KEY))
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
    function.arg_attrs = None  # default values of weights do not matter
    entry.set_names(function, inputs, outputs)
    for name in entry.OF_NODES:
        module.attributes.pop(name, None)
    return module


def _without_folders(op: Operation):
    place = position_of(op)
    return location(name_of(op), place and replace(place, file=os.path.basename(place.file)))
