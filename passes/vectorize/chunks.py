"""A Scan over chunks of rows, of which each step computes one: the memory is that of a chunk."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region

from dialects.onnx import ops as onnx
from dialects.onnx.control import YieldOp
from dialects.onnx.dims import TO_THE_END
from dialects.onnx.values import constant_of
from dialects.support.diagnostics import violation
from dialects.support.entry import return_op
from dialects.support.shapes import element_type_of, shape_of, static, tensor_type
from passes.autodiff.pin_values import set_results
from passes.builder.captured_values import dependents
from passes.builder.values import Builder, Value


class Chunks:
    """Rows 0 to `rows`, a vector of one number, in chunks of `size`; the last one may be shorter.

    The ops of a function that read `numbers`, those of the rows of one chunk, become the body of a Scan.
    """

    def __init__(self, rows: Value, size: int) -> None:
        self.total, self.size = rows, size
        known = constant_of(rows.value)
        self._known = None if known is None else int(known[0])
        self._body = Block(arg_types=[tensor_type(i64, ())])

    def numbers(self, e: Builder) -> Value:
        """Return the numbers of the rows of a chunk; those behind the last row are no rows."""
        return e(self._body.args[0]) + e.ints(range(self.size))

    def scan(self, function: FuncOp, chosen: Sequence[bool]) -> None:
        """Move the ops that depend on the numbers into a Scan, and let the chosen results have all rows.

        The others must not depend on them.
        """
        last, e = return_op(function), Builder()
        moved, dependent = dependents(list(function.body.block.ops)[:-1], self._body.args)
        pairs = list(zip(last.arguments, chosen, strict=True))
        if any(value in dependent for value, is_chosen in pairs if not is_chosen):
            raise violation("result that is the same for all rows", given="one that depends on the row")
        chunked = [value for value, is_chosen in pairs if is_chosen]
        for op in moved:
            op.detach()
            self._body.add_op(op)
        inner = Builder()
        results = [x if x in dependent else inner(x).apply(onnx.IdentityOp).value for x in chunked]
        self._body.add_ops([*inner.emit.ops, YieldOp(*results)])
        count = None if self._known is None else -(-self._known // self.size)
        scan = onnx.ScanOp(
            [self._starts(e, count).value],
            num_scan_inputs=1,
            body=Region(self._body),
            result_types=[tensor_type(element_type_of(x), (count, *shape_of(x))) for x in results],
        )
        rows = iter([self._join(e, e(value)) for value in e.emit.all(scan)])
        set_results(function, e, [next(rows).value if is_chosen else value for value, is_chosen in pairs])

    def _starts(self, e: Builder, count: int | None) -> Value:
        """Return the number of the first row of each chunk; without rows there is an empty chunk."""
        if count is not None:
            return e.ints([index * self.size for index in range(count)])
        zero, step = (e.ints([number]).squeeze([0]) for number in (0, self.size))
        rows = e(self.total.value).at_least(e.ints([1]))
        return zero.apply(onnx.RangeOp, rows.squeeze([0]), step)

    def _join(self, e: Builder, chunks: Value) -> Value:
        """Return the rows of all chunks along one axis, without those behind the last row."""
        row = chunks.shape[2:]
        known, count = static(row), chunks.shape[0]
        sizes = (
            e.shape(chunks).apply(onnx.SliceOp, e.ints([2]), e.ints([TO_THE_END]))
            if known is None
            else e.ints(known)
        )
        first = e.shape(chunks).apply(onnx.SliceOp, e.ints([0]), e.ints([1])) * e.ints([self.size])
        padded = e.ints([count * self.size]) if isinstance(count, int) else first
        joined = chunks.apply(onnx.ReshapeOp, e.concat([padded, sizes], 0), allowzero=1)
        if self._known is not None and isinstance(count, int) and count * self.size == self._known:
            return joined.assume_shape((self._known, *row))
        rows = joined.apply(onnx.SliceOp, e.ints([0]), self.total, e.ints([0]))
        return rows.assume_shape((self._known, *row))
