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

TOLD = "gradc.told"


def tell(op: Operation, told: Sequence[Attribute | None]) -> None:
    """Note of an op what is said of its results, where that is of use."""
    found = [
        type_ if type_ is not None and _adds(result.type, type_) else NoneType()
        for result, type_ in zip(op.results, told, strict=True)
    ]
    if any(type_ != NoneType() for type_ in found):
        op.attributes[TOLD] = ArrayAttr(found)


def _adds(known: Attribute, told: Attribute) -> bool:
    """Whether a tensor is said to have a rank, of which nothing else is known."""
    match known, told:
        case UnrankedTensorType(), TensorType():
            return bool(known.element_type == told.element_type)
        case _:
            return False


def believe(ops: Iterable[Operation]) -> bool:
    """Give results whose ranks are still unknown the types that they are said to have, and forget what is
    said of the others; whether there was anything to forget. Ops come in order."""
    forgotten = believed = False
    for op in ops:
        if believed and isinstance(op, InfersTypes) and not all(map(has_rank, op.results)):
            refine_results(op)  # of what is believed, another rank may follow
        told = op.attributes.pop(TOLD, None)
        if not isinstance(told, ArrayAttr):
            continue
        forgotten = True
        for result, type_ in zip(op.results, told, strict=True):
            if _adds(result.type, type_):
                set_type(result, type_)
                believed = True
    return forgotten
