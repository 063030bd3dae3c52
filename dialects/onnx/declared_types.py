"""Ranks that a model declares for values whose rank inference cannot determine.

Exporters may record them from one run, and for untaken branches. So they are adopted only for values that are
still unranked after all other simplifications.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, NoneType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation

from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.shapes import has_rank

DECLARED = "gradc.declared"


def declare(op: Operation, types: Sequence[Attribute | None]) -> None:
    """Store the declared types of an op's results that add a rank."""
    found = [
        type_ if type_ is not None and _adds_rank(result.type, type_) else NoneType()
        for result, type_ in zip(op.results, types, strict=True)
    ]
    if any(type_ != NoneType() for type_ in found):
        op.attributes[DECLARED] = ArrayAttr(found)


def _adds_rank(known: Attribute, declared: Attribute) -> bool:
    """Return whether a declared type adds a rank to an unranked tensor."""
    match known, declared:
        case UnrankedTensorType(), TensorType():
            return bool(known.element_type == declared.element_type)
        case _:
            return False


def adopt_declared(ops: Iterable[Operation]) -> bool:
    """Give results that are still unranked their declared types, and drop the other declarations. Ops come in
    order. Return whether there were any declarations."""
    forgotten = adopted = False
    for op in ops:
        if adopted and isinstance(op, InfersTypes) and not all(map(has_rank, op.results)):
            refine_results(op)  # adopted ranks may determine further ones
        declared = op.attributes.pop(DECLARED, None)
        if not isinstance(declared, ArrayAttr):
            continue
        forgotten = True
        for result, type_ in zip(op.results, declared, strict=True):
            if _adds_rank(result.type, type_):
                set_type(result, type_)
                adopted = True
    return forgotten
