"""Remark on weights that a compiled model stores twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.onnx.ops import ConstantOp
from dialects.onnx.values import constant_of
from dialects.support import dtypes
from dialects.support.diagnostics import Diagnostic, several
from dialects.support.names import name_of_value
from gradc.model.changed_weights import NOT_WEIGHTS
from gradc.model.split_model import KEPT_BYTES
from gradc.terminal.numbers import format_bytes
from passes.share_weights import WORDS, fingerprint

LEAST_BYTES = 10**6
"""Copies of fewer bytes in total get no remark."""

LEAST_SHARE = 0.1
"""Copies that add less than this fraction to the other constants get no remark."""

MOST_NAMED = 4


def duplicate_weight_remarks(source: ModuleOp, module: ModuleOp) -> tuple[Diagnostic, ...]:
    """Return one remark that names the weights of which `module` holds a large reordered copy.

    A copy is a constant that is not in `source` and has the elements of another one in another order.
    Constants whose name is not in `source`, such as interpolation matrices, do not count.
    """
    given = {op.value: name_of_value(op.results[0]) for op, _ in _weights(source)}
    known = set(given.values()) - {""}
    stored = list(_weights(module))
    if sum(array.nbytes for op, array in stored if op.value not in given) < LEAST_BYTES:
        return ()
    alike = defaultdict[object, list[tuple[ConstantOp, int]]](list)
    for op, array in stored:
        alike[fingerprint(array)].append((op, array.nbytes))
    added, names = 0, list[str]()
    for group in alike.values():
        copies = [op for op, _ in group if op.value not in given]
        found = [name for op, _ in group for name in (given.get(op.value), name_of_value(op.results[0]))]
        name = next((name for name in found if name in known), None)
        count = min(len(copies), len(group) - 1)
        if name and count:
            added += count * group[0][1]
            names.append(name)
    total = sum(array.nbytes for _, array in stored)
    if added < max(LEAST_BYTES, LEAST_SHARE * (total - added)):
        return ()
    why = "stored twice, as the model also reads them transposed, flipped or reshaped"
    sizes = f"the copies take {format_bytes(added)} of {format_bytes(total)}"
    return (Diagnostic("remark", f"{why}: {several(names, MOST_NAMED)}; {sizes}"),)


def _weights(module: ModuleOp) -> Iterator[tuple[ConstantOp, np.ndarray]]:
    """Yield the constants of a module that can be weights, with their elements."""
    for op in module.walk():
        if not isinstance(op, ConstantOp) or dtypes.name_of(op.value.type.element_type) in NOT_WEIGHTS:
            continue
        array = constant_of(op.results[0])
        if array is not None and array.nbytes > KEPT_BYTES and array.itemsize in WORDS:
            yield op, array
