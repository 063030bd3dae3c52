"""The derivatives of If, Loop and Scan, each an op of its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import Region, SSAValue

from dialects.onnx import ops as onnx
from passes.emit.expressions import Expr, Operators
from passes.vjp.regions import Around, Gradients, RegionRule, Writer


def _if(f: Around, g: Mapping[int, Expr], e: Operators) -> Sequence[tuple[SSAValue, Expr]]:
    """The branch that was taken gives its gradients, zeros for what only the other one reads."""
    branches = [_Branch(f, region, g, e) for region in f.op.regions]
    wanted = [value for value in f.captured() if any(value in branch.found for branch in branches)]
    if not wanted:
        return []
    then_branch, else_branch = (branch.region(wanted) for branch in branches)
    types = [value.type for value in wanted]
    (condition,) = f.op.operands
    new = onnx.IfOp(condition, then_branch=then_branch, else_branch=else_branch, result_types=types)
    return list(zip(wanted, map(e, e.emit.all(new)), strict=True))


class _Branch:
    """The gradient of one branch by the values from around that it reads."""

    found: Gradients

    def __init__(self, f: Around, region: Region, g: Mapping[int, Expr], e: Operators):
        self.writer = Writer(f, Operators(strict_ieee=e.strict_ieee))
        outputs = self.writer.copy(region.block, {})
        self.found = self.writer.pull([(outputs[i], one) for i, one in g.items()], f.captured())

    def region(self, wanted: Sequence[SSAValue]) -> Region:
        e = self.writer.e
        return self.writer.region(
            [self.found[value] if value in self.found else e.filled(0, e(value)) for value in wanted]
        )


RULES: Mapping[str, RegionRule] = MappingProxyType({"If": _if})
