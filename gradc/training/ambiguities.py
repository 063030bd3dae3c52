"""Ambiguities of a file about its parameters: tensors that an exporter renamed, merged or folded."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from dialects.onnx.ops import ConstantOp
from dialects.onnx.values import constant_of
from dialects.support.diagnostics import Diagnostic, sentence, several
from dialects.support.entry import entry_function
from dialects.support.names import name_of_value
from dialects.support.option_names import advice
from dialects.support.shapes import has_rank, shape_of
from gradc.compiler.parameter_names import is_generated
from gradc.compiler.traced_names import FOLDED, MERGED
from gradc.compiler.trainable_weights import Weight, find_weights, lost_parameters
from gradc.compiler.untied_weights import separation_remarks
from passes.autodiff.activity.active_values import is_float
from passes.training.batch_norm import computed_weights

MOST_COMPARED = 2**28
"""Bytes of weights up to which equal ones are searched."""


def find_ambiguities(
    module: ModuleOp, trained: Collection[str], untied: Mapping[str, Sequence[str]], *, all_weights: bool
) -> list[Diagnostic]:
    """Return a remark for each fact about the trained weights that the file does not say.

    module: the source with its constants. trained: names of the trained weights. untied: the weights of ones
    or zeros that were separated, with the new names. all_weights: `:weights` selected them.
    """
    weights = find_weights(module)
    known = {name: weights[name] for name in trained if name in weights}
    found = [
        *separation_remarks(untied),
        *_equal_parameters(known),
        *_split_weights(known),
        *_computed_weights(module, known),
    ]
    if not all_weights:
        return found
    found += [*_made_up_names(known), *_lost_weights(module, weights), *_doubtful(weights, trained)]
    return [*found, *_weights_in_bodies(entry_function(module))]


def _equal_parameters(weights: Mapping[str, Weight]) -> list[Diagnostic]:
    merged = {one.name: one.source.names for one in weights.values() if one.source.stored == MERGED}
    hint = advice("untie", "gives each of them a weight", True)
    return [
        _remark(f"{name} holds the equal parameters {several(list(names))}, which train as one", hint)
        for name, names in merged.items()
    ]


def _split_weights(weights: Mapping[str, Weight]) -> list[Diagnostic]:
    """Return remarks on weights with equal contents, also transposed, that train apart."""
    arrays = {name: constant_of(one.value) for name, one in weights.items() if len(shape_of(one.value)) > 1}
    groups: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for name, array in arrays.items():
        if array is not None and array.size > 1 and array.nbytes < MOST_COMPARED:
            flat = array.reshape(-1)
            key = (str(array.dtype), tuple(sorted(array.shape)), float(flat[0]), float(flat[-1]))
            groups[key].append(name)
    pairs = [
        (one, other)
        for names in groups.values()
        for index, one in enumerate(names)
        for other in names[index + 1 :]
        if _equal(arrays[one], arrays[other])
    ]
    hint = "a tied weight, as an embedding that is also the output layer, is one parameter in the module"
    return [_remark(f"{one} and {other} have the same values but train apart", hint) for one, other in pairs]


def _equal(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Return whether two arrays, neither of ones or zeros, are equal, or one is the other transposed."""
    if a is None or b is None or (a == a.reshape(-1)[0]).all():
        return False
    return np.array_equal(a, b) or (a.ndim == 2 and np.array_equal(a, b.T))


def _computed_weights(module: ModuleOp, weights: Mapping[str, Weight]) -> list[Diagnostic]:
    folded = [one.name for one in weights.values() if one.source.stored == FOLDED]
    names = [name for name in (*computed_weights(entry_function(module)), *folded) if name in weights]
    if not names:
        return []
    text = f"the exporter computed the weights {several(list(dict.fromkeys(names)))}"
    hint = "a BatchNormalization may be folded into them; an export for training keeps them apart"
    return [_remark(text, hint)]


def _made_up_names(weights: Mapping[str, Weight]) -> list[Diagnostic]:
    names = [one.name for one in weights.values() if is_generated(one.name) and not one.source.names]
    if not names:
        return []
    hint = "`gradc train --list` shows by which op each is read"
    return [_remark(f"trained weights with names that an exporter made up: {several(names)}", hint)]


def _lost_weights(module: ModuleOp, weights: Mapping[str, Weight]) -> list[Diagnostic]:
    lost = lost_parameters(module, weights)
    if not lost:
        return []
    hint = "the exporter folded them into others, or none uses them"
    return [_remark(f"parameters of the exported module that the file does not have: {several(lost)}", hint)]


def _weights_in_bodies(function: FuncOp) -> list[Diagnostic]:
    """Return a remark on constants of floats with several elements within the bodies of ops."""
    block = function.body.block
    inner = (op for op in function.walk() if isinstance(op, ConstantOp) and op.parent_block() is not block)
    outputs = [op.output for op in inner if is_float(op.output) and has_rank(op.output)]
    names = [name_of_value(value) or "one without a name" for value in outputs if _has_several(value)]
    if not names:
        return []
    hint = "initializers of the graph around the body train"
    text = f"weights in bodies of If, Loop or Scan, which do not train: {several(list(dict.fromkeys(names)))}"
    return [_remark(text, hint)]


def _has_several(value: SSAValue) -> bool:
    return math.prod(dim for dim in shape_of(value) if isinstance(dim, int)) > 1


def _doubtful(weights: Mapping[str, Weight], trained: Collection[str]) -> list[Diagnostic]:
    names = [one.name for one in weights.values() if one.is_doubtful and one.name not in trained]
    if not names:
        return []
    hint = advice("trainable", "with :weights and the names of parameters trains them")
    return [_remark(f"constants that may be parameters, and do not train: {several(names)}", hint)]


def _remark(text: str, hint: str) -> Diagnostic:
    return Diagnostic("remark", sentence(text, hint=hint))
