"""How much work it is to fold an op: what is too much is left to the runtime, which is quicker.

A constant is small in a text, `dense<0.5> : tensor<4096x4096xf32>`, and a product of two of them is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from dialects.onnx.call import Call
from dialects.onnx.work import work
from dialects.support import shapes
from dialects.support.limits import current
from dialects.support.shapes import UnknownRank

MOST_READS = 2**28
"""Numbers that are read for a fold: a second, about."""


def is_too_much(call: Call, results: Sequence[SSAValue]) -> bool:
    """Whether to fold an op is more work than is done at compile time, or takes more memory."""
    made = [shapes.shape_of(value) if shapes.has_rank(value) else None for value in results]
    try:
        needed = work(call, made)
    except UnknownRank:
        return True
    return needed.reads > MOST_READS or needed.bytes > current().reference_bytes
