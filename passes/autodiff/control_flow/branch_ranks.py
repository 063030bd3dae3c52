"""Ifs whose branches yield different ranks, as exporters write a Squeeze of an axis of unknown size.

No derivative can be written for a value without a rank, but each branch has one: the dependent ops move into
the branches. If they reject the rank of one branch, a run that takes it would fail, and only the other branch
remains.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, ModuleOp, NoneType, TensorType, UnrankedTensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from dialects.onnx.control import YieldOp
from dialects.onnx.declared_types import DECLARED
from dialects.onnx.ops import IfOp
from dialects.support.diagnostics import GradcError
from dialects.support.interfaces import InfersTypes, refine_results, set_type
from dialects.support.shapes import element_type_of, has_rank, shape_of, tensor_type
from passes.builder.captured_values import ancestor_in_block, dependents, values_read_by
from passes.builder.rewriting import functions
from passes.simplify import simplify
from passes.simplify.folding import fold

MOST = 20_000
"""Limit on the ops of all branches together: each If duplicates the ops after it."""


def normalize_branches(module: ModuleOp, kept: Collection[SSAValue] = ()) -> bool:
    """Move readers of a two-rank value into the branches; return whether the module changed.

    Values read elsewhere, and `kept`, become results of the If; values in branches have no names. Constant
    conditions, such as those on a rank, are folded first.
    """
    if not any(isinstance(op, IfOp) and _has_two_ranks(op) for op in module.walk()):
        return False
    fold(module, kept, adopting=False)
    changed = False
    for function in functions(module):
        waiting, room = [function.body.block], MOST
        while waiting:
            block = waiting.pop()
            while (found := _next(block, room)) is not None:
                found.write(kept)
                room -= found.size
                changed = True
            waiting += [inner for op in block.ops for region in op.regions for inner in region.blocks]
        while changed and (impossible := _find_impossible_branch(function.body.block)) is not None:
            _inline_other_branch(*impossible)
    return changed


def _find_impossible_branch(block: Block) -> tuple[IfOp, Region] | None:
    """Refine types; return the If and branch of an op that rejects its operands. Raises GradcError
    elsewhere."""
    for op in block.ops:
        for one in _inner_first(op):
            try:
                _refine_one(one)
            except GradcError:
                branch = one.parent_region()
                around = one.parent_op()
                if not isinstance(around, IfOp) or branch is None:
                    raise
                return around, branch
    return None


def _inline_other_branch(op: IfOp, impossible: Region) -> None:
    """Inline the remaining branch in place of the If."""
    (other,) = (region for region in op.regions if region is not impossible)
    last = _last(other)
    made = list(last.operands)
    Rewriter.erase_op(last)
    ops = list(other.block.ops)
    for one in ops:
        one.detach()
    Rewriter.insert_op(ops, InsertPoint.before(op))
    for result, value in zip(op.results, made, strict=True):
        result.replace_all_uses_with(value)
    Rewriter.erase_op(op)


def _next(block: Block, room: int) -> _BranchMove | None:
    """Return the first If of a block that can be normalized within `room` ops."""
    for op in block.ops:
        if not isinstance(op, IfOp) or not _has_two_ranks(op):
            continue
        later, _ = dependents((one for one in block.ops if not one.has_trait(IsTerminator)), op.results)
        readers = _readers(op, later)
        if not readers or 2 * len(readers) > room:
            continue
        branches = [_branch(region, op, readers) for region in op.regions]
        possible = [branch for branch in branches if branch is not None]
        if possible:
            return _BranchMove(op, readers, [one for one in later if one not in set(readers)], possible)
    return None


def _has_two_ranks(op: IfOp) -> bool:
    yielded = [_last(region).operands for region in op.regions]
    return any(
        not has_rank(result) and all(map(has_rank, made))
        for result, *made in zip(op.results, *yielded, strict=True)
    )


def _last(region: Region) -> YieldOp:
    last = region.block.last_op
    assert isinstance(last, YieldOp)
    return last


def _readers(found: IfOp, later: Sequence[Operation]) -> list[Operation]:
    """Return those of the later ops that read unranked values, and those that these depend on."""
    open_ = {result for op in (found, *later) for result in op.results if not has_rank(result)}
    wanted, readers = set[SSAValue](), list[Operation]()
    for op in reversed(later):
        if _reads(op, open_) or not wanted.isdisjoint(op.results):
            readers.append(op)
            wanted.update(values_read_by(op))
    return readers[::-1]


def _reads(op: Operation, values: Collection[SSAValue]) -> bool:
    return any(value in values for value in values_read_by(op))


@dataclass
class _Branch:
    block: Block
    values: Mapping[SSAValue, SSAValue]
    copies: Sequence[Operation]


def _branch(region: Region, found: IfOp, readers: Sequence[Operation]) -> _Branch | None:
    """Return a copy of a branch followed by the readers; None if they reject its results."""
    block, values = Block(), dict[SSAValue, SSAValue]()
    block.add_ops(op.clone(values) for op in region.block.ops if not isinstance(op, YieldOp))
    made = [values.get(value, value) for value in _last(region).operands]
    values |= dict(zip(found.results, made, strict=True))
    copies: list[Operation] = []
    try:
        for op in readers:
            block.add_op(copy := op.clone(values))
            copies.append(copy)
            _refine_reachable(copy)
        if any(op.regions for op in copies):
            _try_decided(block, copies)
    except GradcError:
        for op in block.ops:
            op.drop_all_references()
        return None
    return _Branch(block, values, copies)


def _try_decided(block: Block, copies: Sequence[Operation]) -> None:
    """Raise GradcError if an op of the block rejects its operands once Ifs are folded, as by a rank."""
    trial, values = Block(), dict[SSAValue, SSAValue]()
    for value in _captures(block):
        _import_value(value, trial, values)
    trial.add_ops(op.clone(values) for op in block.ops)
    results = [values[result] for op in copies for result in op.results]
    trial.add_op(ReturnOp(*results))
    types = ([one.type for one in trial.args], [one.type for one in results])
    module = ModuleOp([FuncOp("branch", types, Region(trial))])
    try:
        simplify(module)
    except GradcError:
        for op in trial.ops:
            if isinstance(op, InfersTypes):
                refine_results(op)


def _import_value(value: SSAValue, trial: Block, values: dict[SSAValue, SSAValue]) -> None:
    """Bring an outer value into the trial block: non-floats with their defining ops, as conditions need."""
    waiting = [value]
    while waiting:
        one, owner = waiting[-1], waiting[-1].owner
        if one in values:
            waiting.pop()
        elif not isinstance(owner, Operation) or owner.regions or not _may_decide(one):
            values[waiting.pop()] = trial.insert_arg(one.type, len(trial.args))
        elif missing := [operand for operand in owner.operands if operand not in values]:
            waiting += missing
        else:
            trial.add_op(owner.clone(values))


def _may_decide(value: SSAValue) -> bool:
    """Return whether a condition may depend on the value."""
    is_tensor = isinstance(value.type, TensorType | UnrankedTensorType)
    return is_tensor and not isinstance(element_type_of(value), AnyFloat)


def _captures(block: Block) -> Sequence[SSAValue]:
    """Return the values that a block captures, each once."""
    made = {result for op in block.ops for result in op.results}
    read = (value for op in block.ops for value in values_read_by(op))
    return list(dict.fromkeys(value for value in read if value not in made))


def _refine_reachable(op: Operation) -> None:
    """Refine types, inner ops first. Errors within branches are ignored: the other one may run."""
    for one in _inner_first(op):
        try:
            _refine_one(one)
        except GradcError:
            if one is op or not isinstance(one.parent_op(), IfOp):
                raise


def _inner_first(op: Operation) -> Sequence[Operation]:
    found, waiting = list[Operation](), [op]
    while waiting:
        found.append(one := waiting.pop())
        waiting += [inner for region in one.regions for inner in region.block.ops]
    return found[::-1]


def _refine_one(op: Operation) -> None:
    if isinstance(op, IfOp):
        _join_types(op)
    elif isinstance(op, InfersTypes):
        refine_results(op)


def _join_types(op: IfOp) -> None:
    """Set the types of unranked results on whose ranks both branches agree."""
    for result, *made in zip(op.results, *(_last(region).operands for region in op.regions), strict=True):
        if has_rank(result) or not all(map(has_rank, made)):
            continue
        one, other = map(shape_of, made)
        if len(one) == len(other):
            dims = [dim if dim == also else None for dim, also in zip(one, other, strict=True)]
            set_type(result, tensor_type(element_type_of(result), dims))


@dataclass
class _BranchMove:
    """An If, the ops that move into its branches, the other dependents, and the new branches."""

    op: IfOp
    readers: Sequence[Operation]
    others: Sequence[Operation]
    branches: Sequence[_Branch]

    @property
    def size(self) -> int:
        return sum(len(branch.block.ops) for branch in self.branches)

    def write(self, kept: Collection[SSAValue]) -> None:
        """Replace the If and its readers by the new branches, or by the ops of the only one."""
        moved, block = {self.op, *self.readers}, self.op.parent
        assert block is not None
        results = [
            result
            for op in (self.op, *self.readers)
            for result in op.results
            if result in kept
            or any(ancestor_in_block(use.operation, block) not in moved for use in result.uses)
        ]
        place = self.readers[-1]
        _move_behind(place, self.others)
        if len(self.branches) == 1:
            new = _inline_branch(place, self.branches[0], results)
        else:
            new = _rebuild_if(self.op, place, self.branches, results)
        for old, value in zip(results, new, strict=True):
            value.name_hint = old.name_hint or value.name_hint
            old.replace_all_uses_with(value)
        for op in (*reversed(self.readers), self.op):
            Rewriter.erase_op(op)


def _move_behind(last: Operation, ops: Sequence[Operation]) -> None:
    """Move those `ops` that precede `last`, which does not depend on them, behind it."""
    before, op = set[Operation](), last.prev_op
    while op is not None:
        before.add(op)
        op = op.prev_op
    place = last
    for one in ops:
        if one in before:
            one.detach()
            Rewriter.insert_op(one, InsertPoint.after(place))
            place = one


def _inline_branch(place: Operation, branch: _Branch, results: Sequence[SSAValue]) -> Sequence[SSAValue]:
    ops = list(branch.block.ops)
    for op in ops:
        op.detach()
    Rewriter.insert_op(ops, InsertPoint.after(place))
    return [branch.values[result] for result in results]


def _rebuild_if(
    found: IfOp, place: Operation, branches: Sequence[_Branch], results: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    for branch in branches:
        for op in (inner for copy in branch.copies for inner in copy.walk()):
            op.attributes.pop(DECLARED, None)  # the declaration is of one branch only
        branch.block.add_op(YieldOp(*(branch.values[result] for result in results)))
    regions = [Region(branch.block) for branch in branches]
    types = [result.type for result in results]
    new = IfOp(found.cond, then_branch=regions[0], else_branch=regions[1], result_types=types)
    new.attributes |= {name: value for name, value in found.attributes.items() if name != DECLARED}
    new.attributes[DECLARED] = ArrayAttr([_declared_type(result) for result in results])
    new.location = found.location
    Rewriter.insert_op(new, InsertPoint.after(place))
    _join_types(new)
    return new.results


def _declared_type(result: SSAValue) -> Attribute:
    """Return the declared type of an unranked result."""
    assert isinstance(result.owner, Operation)
    declared = result.owner.attributes.get(DECLARED)
    if not isinstance(declared, ArrayAttr):
        return NoneType()
    return declared.data[result.owner.results.index(result)]
