"""Trainable weights of an ONNX file: the reasons, and the names in the exported module."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, GradcError, sentence, several
from gradc.compiler.driver import load
from gradc.compiler.exported_program import ExportedProgram
from gradc.compiler.trainable_weights import Weight, find_weights, lost_parameters
from gradc.model.stored_weights import REQUIRED, StoredWeight
from passes.autodiff.shared_weights import pop_copies, separate_copies

COPIED = "copied by Identity"


@dataclass(frozen=True)
class Trainability:
    """The trainability of a weight, None if unknown. `also`: the names of the parameters in the
    exported module, if the file has others; `stored`: how it stores them."""

    trainable: bool | None
    reason: str
    also: Sequence[str] = ()
    stored: str = ""


def find_trainable(
    path: str | os.PathLike[str], weights: Sequence[StoredWeight]
) -> tuple[dict[str, Trainability], Sequence[Diagnostic]]:
    """Return the trainability of the weights by name, and a remark on parameters that the file lacks."""
    try:
        module = load(os.fspath(path), for_gradients=())
    except GradcError as error:
        unknown = Trainability(None, f"unknown: {error.diagnostic.message}")
        return {one.name: unknown for one in weights}, ()
    found = find_weights(module)
    lost = _remarks(lost_parameters(module, found))
    function = entry.entry_function(module)
    separate_copies(function, ExportedProgram.of_module(module).calls)
    copies = pop_copies(function)
    training = {one.name: _of_weight(one, found, copies) for one in weights}
    return training, lost


def _of_weight(
    one: StoredWeight, found: Mapping[str, Weight], copies: Mapping[str, Sequence[str]]
) -> Trainability:
    weight = found.get(one.name)
    if one.role == REQUIRED:
        return Trainability(True, "an input of a gradient by it")
    if weight is None:
        nested = "/" in one.name or not one.is_main
        return Trainability(False, "of a nested graph" if nested else f"{one.dtype}, not floats")
    also, stored = weight.source.names, weight.source.stored
    if not also and one.name in copies:
        also, stored = copies[one.name], COPIED
    return Trainability(weight.is_trainable, weight.reason, also, stored)


def _remarks(lost: Sequence[str]) -> list[Diagnostic]:
    if not lost:
        return []
    what = f"parameters of the exported module that the file does not have: {several(lost)}"
    return [
        Diagnostic("remark", sentence(what, hint="the exporter folded them into others, or none uses them"))
    ]
