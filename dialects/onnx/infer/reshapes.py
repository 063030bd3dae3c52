"""Shape rules of ops that preserve the elements and their order: Reshape, Squeeze, Unsqueeze."""

from __future__ import annotations

import math

from dialects.onnx.call import Call, axes_of
from dialects.onnx.dims import ints, is_at_least, mod, product, quotient, vanishes_with, vector
from dialects.shapes.forms import Size
from dialects.support.diagnostics import violation
from dialects.support.shapes import Dim, Shape, UnknownRank, same_dim, show


def reshape(call: Call) -> list[Shape]:
    data = call.operand(0).shape
    what = "the shape of Reshape"
    sizes = vector(call.operand(1), what)
    if sizes is None:
        return [call.unknown(what, call.operand(1))]
    target = list(sizes)
    copies = not call.attribute("allowzero", 0)
    copied = [i for i, dim in enumerate(target) if dim == 0 and copies]
    for i in copied:
        if i >= len(data):
            raise violation("0 in the shape of Reshape", given=show(target), expected=show(data))
        target[i] = data[i]
    if (free := target.count(-1)) > 1 or any(isinstance(d, int) and d < -1 for d in target):
        raise violation("shape of Reshape", given=show(target), expected="at most one -1")
    target = [_target_dim(dim, i, data, bool(free), copies) for i, dim in enumerate(target)]
    if free:
        at = target.index(-1)
        # copied dims are in both products, so they cancel even if unknown
        before = [dim for i, dim in enumerate(data) if i not in copied]
        after = [dim for i, dim in enumerate(target) if i not in copied and i != at]
        target[at] = quotient(before, after)
        return [tuple(target)]
    before, after = ints(data), ints(target)
    if before is not None and after is not None and math.prod(before) != math.prod(after):
        raise violation("Reshape", given=show(data), expected=f"the elements of {show(target)}")
    return [tuple(target)]


def _target_dim(dim: Dim, axis: int, data: Shape, free: bool, copies: bool) -> Dim:
    """Return the size that an entry of Reshape's shape denotes, None if run time may read it otherwise.

    A computed entry may be -1, unless a literal -1 is present. If it is 0, it copies data's size: that must
    be 0 as well, or the run fails, unless there is a -1, or two sizes are 0 at once.
    """
    if not isinstance(dim, Size) or not (free or is_at_least(dim, 0)):
        return dim if isinstance(dim, int) else None
    if not copies or axis >= len(data) or is_at_least(dim, 1) or vanishes_with(data[axis], dim):
        return dim
    elements = product(data)
    if elements is None:
        return dim if dim.name is not None else None
    return dim if not free and mod(elements, dim) == 0 else None


def squeeze(call: Call) -> list[Shape]:
    data, given = call.operand(0), call.optional(1)
    if given is None:
        return [_squeeze_all(call, data.shape)]
    what = "the axes of Squeeze"
    elements = vector(given, what)
    known = ints(elements)
    if elements is None:
        return [call.unknown(what, given)]
    if known is None:
        return [(None,) * (data.rank - len(elements))]
    if not known:
        # the specification squeezes no axis then, onnxruntime every 1
        raise violation("axes of Squeeze", given="none", expected="at least one")
    axes = axes_of(known, data.rank)
    if any(not same_dim(data.shape[axis], 1) for axis in axes):
        raise violation("Squeeze", given=f"{show(data.shape)} at {axes}", expected="dims of 1")
    return [tuple(dim for i, dim in enumerate(data.shape) if i not in axes)]


def _squeeze_all(call: Call, shape: Shape) -> Shape:
    """Squeeze without axes; the declared rank shows whether all or no unknown dims are 1."""
    rest = tuple(dim for dim in shape if dim != 1)
    sizes = tuple(dim for dim in rest if isinstance(dim, int))
    if sizes == rest:
        return rest
    if not call.ranks:
        raise UnknownRank(f"Squeeze without axes of {show(shape)} decides a rank that is not declared")
    possible = {len(rest): rest, len(sizes): sizes}
    return possible.get(call.ranks[0], (None,) * min(max(call.ranks[0], len(sizes)), len(rest)))


def unsqueeze(call: Call) -> list[Shape]:
    data, what = call.operand(0), "the axes of Unsqueeze"
    elements = vector(call.operand(1), what)
    if elements is None:
        return [call.unknown(what, call.operand(1))]
    rank = data.rank + len(elements)
    known = ints(elements)
    if known is None:
        return [(None,) * rank]
    axes, rest = axes_of(known, rank), iter(data.shape)
    return [tuple(1 if i in axes else next(rest) for i in range(rank))]
