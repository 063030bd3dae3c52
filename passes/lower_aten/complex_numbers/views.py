"""Views of complex tensors as real ones of which one part is taken: the part itself, in the aten dialect."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.aten.ops import AtenOp, aten
from dialects.support.shapes import shape_of

_TAKEN = ("real.default", "imag.default")


def simplify_views(function: FuncOp) -> None:
    """Replace parts of `view_as_real`, and `view_as_complex` of the gradient of one part."""
    for op in list(function.body.block.ops):
        if not isinstance(op, AtenOp):
            continue
        found = _part(op) or _of_one_part(op)
        if found is not None:
            found.location = op.location
            Rewriter.insert_op(found, InsertPoint.before(op))
            op.results[0].replace_all_uses_with(found.results[0])
            Rewriter.erase_op(op)
    _erase_unused(function)


def _part(op: AtenOp) -> AtenOp | None:
    """Return the op for `view_as_real(z)[..., i]`."""
    source = _maker(op.operands[0], "view_as_real.default") if op.aten_name == "select.int" else None
    if source is None or not _is_of_last(op, len(shape_of(source.results[0]))):
        return None
    return aten(_TAKEN[int(op.arguments()["index"])], [source.operands[0]], [op.results[0].type])


def _of_one_part(op: AtenOp) -> AtenOp | None:
    """Return the op for `view_as_complex` of a tensor that is 0 but for one part."""
    is_view = op.aten_name == "view_as_complex.default"
    source = _maker(op.operands[0], "select_backward.default") if is_view else None
    if source is None or not _is_of_last(source, len(shape_of(source.results[0]))):
        return None
    gradient, kind = source.operands[0], op.results[0].type
    return aten("mul.Scalar", [gradient, 1j if source.arguments()["index"] else 1], [kind])


def _maker(value: SSAValue, name: str) -> AtenOp | None:
    made = value.owner
    return made if isinstance(made, AtenOp) and made.aten_name == name else None


def _is_of_last(op: AtenOp, rank: int) -> bool:
    """Return whether an op selects the first or second position of the last axis."""
    given = op.arguments()
    return given["dim"] % rank == rank - 1 and given["index"] in (0, 1)


def _erase_unused(function: FuncOp) -> None:
    for op in reversed(list(function.body.block.ops)):
        is_view = isinstance(op, AtenOp) and op.aten_name in (
            "view_as_real.default",
            "select_backward.default",
        )
        if is_view and op.results[0].first_use is None:
            Rewriter.erase_op(op)
