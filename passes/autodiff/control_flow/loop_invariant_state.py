"""Loop-carried values that no step reads: after the loop they are results of the last step.

Exporters carry variables that a program first defines within its loop; the initial value may have another
rank than the later ones, and is the result of a run without steps. If a reader rejects its rank, such a run
fails, so the result has the later rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from dialects.onnx.ops import LoopOp
from dialects.support.diagnostics import GradcError
from dialects.support.interfaces import InfersTypes, refine_results
from dialects.support.shapes import Shape, has_rank, shape_of

MOST = 20
"""Limit on the ops after a loop that are tested for rejecting a rank."""


def shape_of_last(op: LoopOp, index: int) -> Shape | None:
    """Return the shape of result `index` if only a step can have made it; sizes may be None."""
    last = op.body.block.last_op
    assert last is not None
    argument, made = op.body.block.args[2 + index], last.operands[1 + index]
    initial, result = op.v_initial[index], op.results[index]
    if argument.uses or has_rank(result) or not has_rank(initial) or not has_rank(made):
        return None
    if len(shape_of(initial)) == len(shape_of(made)) or not _is_refused(result, initial):
        return None
    return tuple(size if isinstance(size, int) else None for size in shape_of(made))


def _is_refused(result: SSAValue, other: SSAValue) -> bool:
    """Return whether readers of the result would reject `other`."""
    trial, values = Block(), dict[SSAValue, SSAValue]()
    values[result] = trial.insert_arg(other.type, 0)
    try:
        for reader in islice(_dependents(result), MOST):
            trial.add_op(copy := reader.clone(values))
            if isinstance(copy, InfersTypes):
                refine_results(copy)
    except GradcError:
        return True
    finally:
        trial.drop_all_references()
    return False


def _dependents(result: SSAValue) -> Iterator[Operation]:
    """Yield the later ops of the block that depend on the result, in order."""
    assert isinstance(result.owner, Operation)
    made, op = {result}, result.owner.next_op
    while op is not None:
        if not op.has_trait(IsTerminator) and not op.regions and not made.isdisjoint(op.operands):
            made.update(op.results)
            yield op
        op = op.next_op
