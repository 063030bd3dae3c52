"""What a model says of values whose ranks do not follow at once from what makes them.

Exporters say it of one run, and of branches that were not taken: it is believed of what is still unknown
once all else has been simplified.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, NoneType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation

from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.shapes import has_rank

DECLARED = "gradc.declared"


def declare(op: Operation, types: Sequence[Attribute | None]) -> None:
    """Note of an op what types its results are said to have, where that is of use."""
    found = [
        type_ if type_ is not None and _adds(result.type, type_) else NoneType()
        for result, type_ in zip(op.results, types, strict=True)
    ]
    if any(type_ != NoneType() for type_ in found):
        op.attributes[DECLARED] = ArrayAttr(found)


def _adds(known: Attribute, declared: Attribute) -> bool:
    """Whether a tensor is said to have a rank, of which nothing else is known."""
    match known, declared:
        case UnrankedTensorType(), TensorType():
            return bool(known.element_type == declared.element_type)
        case _:
            return False


def adopt_declared(ops: Iterable[Operation]) -> bool:
    """Give results whose ranks are still unknown the types that they are said to have, and forget what is
    said of the others; whether there was anything to forget. Ops come in order."""
    forgotten = adopted = False
    for op in ops:
        if adopted and isinstance(op, InfersTypes) and not all(map(has_rank, op.results)):
            refine_results(op)  # of what is declared, another rank may follow
        declared = op.attributes.pop(DECLARED, None)
        if not isinstance(declared, ArrayAttr):
            continue
        forgotten = True
        for result, type_ in zip(op.results, declared, strict=True):
            if _adds(result.type, type_):
                set_type(result, type_)
                adopted = True
    return forgotten
