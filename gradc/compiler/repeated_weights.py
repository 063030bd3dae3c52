"""Remark on weights that a compiled model stores twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.onnx.ops import ConstantOp
from dialects.onnx.values import constant_of
from dialects.support import dtypes
from dialects.support.diagnostics import Diagnostic, name_of, several
from dialects.support.names import name_of_value
from gradc.model.changed_weights import NOT_WEIGHTS
from gradc.model.split_model import KEPT_BYTES
from gradc.terminal.numbers import format_bytes
from passes.share_weights import WORDS, fingerprint

LEAST_BYTES = 10**6
"""Copies of fewer bytes in total get no remark."""

LEAST_SHARE = 0.1
"""Copies that add less than this fraction to the other constants get no remark."""

LEAST_PART = 512
"""Constants of no more bytes are no parts of a weight."""

MOST_NAMED = 4


Stored = tuple[ConstantOp, np.ndarray]


def duplicate_weight_remarks(source: ModuleOp, module: ModuleOp) -> tuple[Diagnostic, ...]:
    """Return one remark that names the weights of which `module` holds a large reordered copy.

    A copy is a constant that is not in `source` and has the elements of another one in another order, or
    constants of one op that have these elements together. Constants whose name is not in `source`, such as
    interpolation matrices, do not count.
    """
    given = {op.value: name_of_value(op.results[0]) for op, _ in _weights(source, KEPT_BYTES)}
    known = set(given.values()) - {""}
    stored = list(_weights(module))
    if sum(array.nbytes for op, array in stored if op.value not in given) < LEAST_BYTES:
        return ()
    alike = defaultdict[object, list[Stored]](list)
    for op, array in stored:
        alike[fingerprint(array)].append((op, array))
    added, names, single = 0, list[str](), list[Stored]()
    for group in alike.values():
        copies = [(op, array) for op, array in group if op.value not in given]
        found = [name for op, _ in group for name in (given.get(op.value), name_of_value(op.results[0]))]
        name = next((name for name in found if name in known), None)
        if name and len(group) > 1 and copies:
            added += min(len(copies), len(group) - 1) * group[0][1].nbytes
            names.append(name)
        else:
            single += copies
    for parts in _by_op(single):
        whole = next((name_of_value(op.results[0]) for op, _ in alike.get(_joint(parts), ())), None)
        if whole in known:
            added += sum(array.nbytes for _, array in parts)
            names.append(whole)
    total = sum(array.nbytes for _, array in stored)
    if added < max(LEAST_BYTES, LEAST_SHARE * (total - added)):
        return ()
    why = "stored twice, as the model also reads them transposed, flipped, reshaped or split"
    sizes = f"the copies take {format_bytes(added)} of {format_bytes(total)}"
    return (Diagnostic("remark", f"{why}: {several(names, MOST_NAMED)}; {sizes}"),)


def _by_op(constants: Iterable[Stored]) -> Iterable[Sequence[Stored]]:
    """Group constants that may be parts of one weight: those of one op with the same channels."""
    found = defaultdict[object, list[Stored]](list)
    for op, array in constants:
        found[name_of(op), array.dtype, array.ndim, array.shape[:2]].append((op, array))
    return [group for group in found.values() if len(group) > 1]


def _joint(parts: Iterable[Stored]) -> object:
    """Return the fingerprint of an array that has the elements of all parts."""
    return fingerprint(np.concatenate([array.reshape(-1) for _, array in parts]))


def _weights(module: ModuleOp, least_bytes: int = LEAST_PART) -> Iterator[Stored]:
    """Yield the constants of a module that can be weights or parts of one, with their elements."""
    for op in module.walk():
        if not isinstance(op, ConstantOp) or dtypes.name_of(op.value.type.element_type) in NOT_WEIGHTS:
            continue
        array = constant_of(op.results[0])
        if array is not None and array.nbytes > least_bytes and array.itemsize in WORDS:
            yield op, array
