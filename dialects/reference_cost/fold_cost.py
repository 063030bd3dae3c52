"""Cost limit of constant folding: expensive folds are left to the faster runtime.

A constant is short as text, `dense<0.5> : tensor<4096x4096xf32>`, but a product of two is expensive.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from dialects.onnx.call import Call
from dialects.reference_cost.onnx_ops import work
from dialects.support import shapes
from dialects.support.limits import current
from dialects.support.shapes import UnknownRank

MAX_FOLD_READS = 2**28
"""Cost limit of a fold in reads: about a second."""


def is_too_costly(call: Call, results: Sequence[SSAValue]) -> bool:
    """Return whether folding an op exceeds the time or memory limit of compile time."""
    made = [shapes.shape_of(value) if shapes.has_rank(value) else None for value in results]
    try:
        needed = work(call, made)
    except UnknownRank:
        return True
    return needed.reads > MAX_FOLD_READS or needed.bytes > current().reference_bytes
