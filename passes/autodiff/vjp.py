"""Reverse-mode walk over the ops of one block.

All readers of an op's results come after it, so its cotangents are complete when the walk reaches it. Ops
that do not depend on `wrt`, such as size computations, are not visited.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import StringAttr, UnknownLoc, UnrankedTensorType
from xdsl.ir import Operation, SSAValue

from dialects.onnx import lookup_op, traits
from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.node import WHY, NodeOp
from dialects.onnx.ops import IfOp, op_names
from dialects.onnx.types import type_text, word_of
from dialects.support import shapes
from dialects.support.diagnostics import Diagnostic, UnsupportedError, suggest, usage
from dialects.support.documented_op import DocumentedOp, documented_attributes
from dialects.support.error_list import OpReference, locations
from dialects.support.option_names import Place, advice, current
from dialects.support.shapes import UnknownRank, shape_of
from passes.autodiff.activity.active_values import find_active_values, is_float, operands_and_captures
from passes.autodiff.activity.non_differentiable import NO_TYPE, REFUSED, title_of
from passes.autodiff.activity.straight_through_marks import cotangent_target
from passes.autodiff.common.concat_slices import concat_slices
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule, Zero, refusal
from passes.autodiff.common.unbroadcast import unbroadcast
from passes.autodiff.control_flow.regions import Gradients, RegionPrimal, Seeds
from passes.autodiff.control_flow.sequences import add_values, is_sequence, zeros_like
from passes.autodiff.nan_safety.infinite_slope import masks_at_domain_edges
from passes.autodiff.preaccumulation import NAMES, Number, Sources
from passes.autodiff.record import Record
from passes.autodiff.rules import contributed
from passes.autodiff.rules.angles import angle, quotient_of_angle
from passes.autodiff.rules.quantize import quantizing_op, straight_through_gradient
from passes.autodiff.table import GRADIENT_RULES, REGION_RULES, RULES, is_repeated
from passes.autodiff.user_rules import attribute_to_rule
from passes.builder.values import Builder, Value
from passes.decompositions.registry import Decomposition, Reason, decomposition_of


@dataclass
class Walk:
    """One walk over the ops of a block; `e` collects the emitted ops."""

    e: Builder
    ops: Sequence[Operation]
    wrt: Collection[SSAValue]
    rules: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    """The user's rules, by op type, qualified by a non-standard domain."""
    cotangents: dict[SSAValue, list[Value]] = field(default_factory=dict)
    _flows: set[SSAValue] = field(default_factory=set)
    _sources: Sources | None = None
    _unbounded: set[Operation] = field(default_factory=set)
    refused: dict[tuple[str, str], list[Operation]] = field(default_factory=dict)
    """(kind of op, reason) -> the refused ops."""
    record: Record = field(default_factory=Record)
    """The steps of this block, without those in regions and decompositions."""

    def gradients(self, seeds: Iterable[tuple[SSAValue, Value]]) -> dict[SSAValue, Value]:
        """Return the sum of (d of / d w)^T seed for each w that a seeded value depends on.

        Raises UnsupportedError, listing all active ops without a rule.
        """
        found = self._collect(seeds)
        self._check()
        return found

    def _collect(self, seeds: Iterable[tuple[SSAValue, Value]]) -> dict[SSAValue, Value]:
        self._flows = find_active_values(self.ops, self.wrt)
        if not self.e.strict_ieee:  # a product with a derivative of 0 would not hide an inf
            self._unbounded = masks_at_domain_edges(self.ops)
            names = NAMES.difference(self.rules)
            apart = self._unbounded.union(op for op in self.ops if self._quotient(op) is not None)
            self._sources = Sources(self.ops, self._flows, self.wrt, names, apart)
        for value, seed in seeds:
            self._add(value, seed)
        for op in reversed(self.ops):
            self._visit(op)
        reached = [value for value in self.cotangents if value in self.wrt]  # in no order of a hash
        return {value: self._total(value) for value in reached}

    def _walk_region(
        self, e: Builder, ops: Sequence[Operation], wrt: Collection[SSAValue], seeds: Seeds
    ) -> Gradients:
        """Walk the ops of a region, collecting refusals in this walk."""
        return Walk(e, ops, wrt, self.rules, refused=self.refused)._collect(seeds)

    def _add(self, value: SSAValue, gradient: Value) -> None:
        self.record.add(value, gradient.value)
        if value in self._flows:
            self.cotangents.setdefault(value, []).append(gradient)

    def _total(self, value: SSAValue) -> Value:
        """Return the summed cotangent of a value, computed once."""
        total, *others = self.cotangents[value]
        if others and is_float(value):
            total, *others = concat_slices(self.cotangents[value])
        for other in others if is_float(value) or is_sequence(value) else ():
            total = add_values(total, other)
        self.cotangents[value] = [total]
        self.record.totals[value] = total.value
        return total

    def _visit(self, op: Operation) -> None:
        """Propagate the cotangents of an op's results to its operands."""
        read = [i for i, result in enumerate(op.results) if result in self.cotangents]
        if not read or self._flows.isdisjoint(operands_and_captures(op)):
            return
        first = len(self.e.emit.ops)
        totals = {i: self._total(op.results[i]) for i in read}
        self.record.begin(op, {op.results[i]: total.value for i, total in totals.items()})
        try:
            (self._apply_region_rule if op.regions else self._apply_rule)(op, totals)
        except (UnknownRank, UnsupportedError) as error:
            why = _NO_RANK if isinstance(error, UnknownRank) else error
            self.refused.setdefault((op.name, why.diagnostic.message), []).append(op)
            for value in filter(self._flows.__contains__, operands_and_captures(op)):
                self._add(value, self.e(value))  # any value: the walk goes on to find more errors
        self.record.end()
        self.record.check_types(op, self.e.emit.ops[first:])
        for new in self.e.emit.ops[first:]:
            if isinstance(new.location, UnknownLoc):
                new.location = op.location

    def _apply_rule(self, op: Operation, totals: Mapping[int, Value]) -> None:
        if (estimated := cotangent_target(op)) is not None:
            self._add(estimated, unbroadcast_to_operand(totals[0], self.e(estimated), 0, op, self.e))
            return
        subgraph = self._sources.subgraph_ending_at(op) if self._sources is not None else None
        if subgraph is not None:
            derivative = subgraph.derivative(self.e)
            gradient = totals[0] * (float(derivative) if isinstance(derivative, Number) else derivative)
            self._add(subgraph.source, gradient.assume_shape(shape_of(subgraph.source)))
            return
        rule, operands, attributes = self._rule(op)
        shaping = self._quotient(op) or op
        _check_types([value for value in (*op.operands, *op.results) if value in self._flows])
        forward = Primal(
            self.e,
            operands=[None if value is None else self.e(value) for value in operands],
            attributes=attributes,
            results=[self.e(result) for result in op.results],
            wanted=[i for i, value in enumerate(operands) if value in self._flows],
            read=list(totals),
        )
        e = Builder(self.e.emit, strict_ieee=True) if op in self._unbounded else self.e
        with self._attribute_errors(op):
            gradients = rule(forward, Cotangents(self.e, op, totals), e)
        self._check_count(op, gradients, len(operands))
        for index in forward.wanted or ():
            value, gradient = operands[index], gradients[index] if index < len(gradients) else ZERO
            if value is not None and not isinstance(gradient, Zero):
                self._check_own(op, gradient, self.e(value), index)
                whole = is_sequence(value)
                fit = (
                    gradient
                    if whole
                    else unbroadcast_to_operand(gradient, self.e(value), index, shaping, self.e)
                )
                self._add(value, fit)
        quantized = quantizing_op(op)
        if quantized is not None and isinstance(op, OnnxOp) and quantized.operands[0] in self._flows:
            self._add(quantized.operands[0], straight_through_gradient(quantized, op, totals[0], self.e))

    def _rule(self, op: Operation) -> tuple[Rule, Sequence[SSAValue | None], Mapping[str, Any]]:
        """Return the user's rule or the built-in one; for an angle, `angle` with its quotient's operands."""
        quotient = self._quotient(op)
        if quotient is not None:
            return angle, quotient.operands, {}
        if not isinstance(op, OnnxOp | NodeOp) or title_of(op) not in self.rules:
            return _rule(op)
        return self.rules[str(title_of(op))], op.onnx_inputs(), op.onnx_attributes()

    def _quotient(self, op: Operation) -> onnx.DivOp | onnx.ReciprocalOp | None:
        """Return the quotient y / x in Atan(y / x), which is differentiated together with the Atan."""
        found = quotient_of_angle(op)
        if (
            found is None
            or found.results[0] in self.wrt
            or not {"Atan", found.onnx_name()}.isdisjoint(self.rules)
        ):
            return None
        return found

    def _attribute_errors(self, op: Operation) -> AbstractContextManager[None]:
        """Attribute errors in a user's rule to that rule."""
        is_own = isinstance(op, OnnxOp | NodeOp) and title_of(op) in self.rules
        return attribute_to_rule(str(title_of(op))) if is_own else nullcontext()

    def _check_count(self, op: Operation, gradients: object, count: int) -> None:
        """Raise UsageError unless a user's rule returned one gradient for each operand."""
        if not isinstance(op, OnnxOp | NodeOp) or title_of(op) not in self.rules:
            return
        what, expected = f"result of the rule of {title_of(op)}", f"{count}, one for each operand"
        if not isinstance(gradients, Sequence):
            raise usage(what, type(gradients).__name__, f"a list of {expected}")
        if len(gradients) != count:
            raise usage(what, len(gradients), expected)

    def _check_own(self, op: Operation, gradient: object, operand: Value, index: int) -> None:
        """Raise UsageError unless a user's rule returned a gradient of the operand's type."""
        if not isinstance(op, OnnxOp | NodeOp) or title_of(op) not in self.rules:
            return
        what = f"gradient of operand {index} by the rule of {title_of(op)}"
        if not isinstance(gradient, Value):
            raise usage(what, type(gradient).__name__, "a Value or gradc.ZERO")
        if gradient.dtype != operand.dtype or not shapes.compatible(gradient.shape, operand.shape):
            raise usage(what, type_text(gradient.value.type), type_text(operand.value.type))

    def _apply_region_rule(self, op: Operation, totals: Mapping[int, Value]) -> None:
        rule = REGION_RULES.get(op.onnx_name()) if isinstance(op, OnnxOp) else None
        if rule is None or not isinstance(op, OnnxOp):
            raise _without_rule(op)
        reached = [op.results[index] for index in totals]
        flowing = [value for value in (*operands_and_captures(op), *reached) if value in self._flows]
        _check_types(value for value in flowing if not _has_own_ranks(op, value))
        around = RegionPrimal(op, self._flows, self._walk_region)
        around.check_is_repeatable()
        for value, gradient in rule(around, totals, self.e):
            self._add(value, gradient)

    def _check(self) -> None:
        if not self.refused:
            return
        refused = sorted(self.refused.items(), key=lambda item: NO_TYPE in item[0][1])  # causes first
        diagnostics = [_refusal(why, ops) for (_, why), ops in refused]
        raise UnsupportedError(diagnostics[0], diagnostics[1:])


def _rule(op: Operation) -> tuple[Rule, Sequence[SSAValue | None], Mapping[str, Any]]:
    """Return the rule of an op, its operands (None for absent ones) and its attributes."""
    if isinstance(op, DocumentedOp) and op.name in GRADIENT_RULES:
        return (
            GRADIENT_RULES[op.name],
            op.operands,
            {name: op.value(name) for name in documented_attributes(type(op))},
        )
    if isinstance(op, NodeOp) and op.title in contributed.RULES:
        return contributed.RULES[op.title], op.onnx_inputs(), op.onnx_attributes()
    if not isinstance(op, OnnxOp):
        raise _without_rule(op)
    return onnx_rule(op), op.onnx_inputs(), op.onnx_attributes()


def onnx_rule(op: OnnxOp) -> Rule:
    """Return the rule of an ONNX op, its own or by its decomposition. Raises UnsupportedError."""
    name = op.onnx_name()
    if name in RULES:
        return RULES[name]
    found = decomposition_of(name, Reason.GRADIENT)
    if found is None:
        raise _without_rule(op)
    return by_decomposition(found)


NCHWC_DOMAIN = "com.microsoft.nchwc"
"""Domain of onnxruntime's ops with weights in a blocked layout."""

IN_PYTHON = "gradc.grad takes one in Python, rules={...}"
"""Hint for callers outside Python."""


def _without_rule(op: Operation) -> UnsupportedError:
    if isinstance(op, NodeOp) and op.is_standard and lookup_op(op.title) is not None:
        hint = "add a value_info for the results of ops of other domains"
        return refusal(f"{op.title}: {NO_TYPE}", hint=hint)
    if not isinstance(op, OnnxOp):
        hint = advice("rules", "takes one") if current() is Place.PYTHON else IN_PYTHON
        if isinstance(op, NodeOp) and op.domain.data == NCHWC_DOMAIN:
            hint = "onnxruntime wrote the model for one machine; what it writes with ENABLE_EXTENDED has one"
        title = op.title if isinstance(op, NodeOp) else op.name
        why = op.attributes.get(WHY)
        if isinstance(why, StringAttr):
            return refusal(f"{title} has none in this form: {why.data}", hint=hint)
        if title in contributed.REFUSED:
            return refusal(f"{title} has none: {contributed.REFUSED[title]}", hint=hint)
        if isinstance(op, NodeOp) and op.is_standard:
            return refusal(f"gradc knows no op {title} of ONNX", hint=suggest(title, op_names()))
        return refusal(f"{title} has neither a rule nor a decomposition", hint=hint)
    return refusal(REFUSED.get(op.onnx_name(), "gradc has no derivative of it yet"))


def missing_decomposition(value: SSAValue) -> str:
    """Return why an op of another domain has no decomposition if that leaves the value's rank unknown."""
    made = value.owner
    if not isinstance(made, NodeOp) or not isinstance(value.type, UnrankedTensorType):
        return ""
    return _without_rule(made).diagnostic.message


def by_decomposition(decomposition: Decomposition) -> Rule:
    """Return a rule that walks the op's decomposition. Emitted ops that no gradient uses are dead code."""

    def rule(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
        first = len(e.emit.ops)
        results = decomposition.write(f, e)
        if results is None:
            raise refusal(f"form of {decomposition.op}", expected="one with a decomposition")
        made = e.emit.ops[first:]
        wanted = {x.value for i, x in enumerate(f.operands) if x is not None and f.wants(i)}
        read = {i: result for i, result in enumerate(results) if result is not None and f.is_read(i)}
        seeds = [(result.value, g[i]) for i, result in read.items()]
        found = Walk(e, made, wanted).gradients(seeds)
        return [ZERO if x is None else found.pop(x.value, ZERO) for x in f.operands]

    return rule


_NO_RANK = refusal("rank of a value", given="unknown", expected="known")


def _check_types(values: Iterable[SSAValue]) -> None:
    unknown = next((value for value in values if not is_float(value) and not is_sequence(value)), None)
    if unknown is None:
        return
    if isinstance(unknown.type, UnrankedTensorType):
        raise _NO_RANK
    raise refusal("type of a value", given=word_of(unknown.type), expected="a tensor of floats")


def _has_own_ranks(op: Operation, value: SSAValue) -> bool:
    """Return whether `value` is an unranked result of an If, where each branch has its own rank."""
    return isinstance(op, IfOp) and value.owner is op and isinstance(value.type, UnrankedTensorType)


def _refusal(why: str, ops: Sequence[Operation]) -> Diagnostic:
    """Return one diagnostic for all ops of a type that are refused for the same reason."""
    found = [OpReference.of(op) for op in reversed(ops)]
    if len(found) == 1:
        return Diagnostic("error", f"no derivative: {why}", found[0].subject, found[0].position)
    message = f"no derivative of {len(found)} {found[0].kind}{locations(found)}: {why}"
    return Diagnostic("error", message, "", found[0].position)


def unbroadcast_to_operand(gradient: Value, operand: Value, index: int, op: Operation, e: Builder) -> Value:
    """Return a rule's gradient for an operand, summed to the operand's shape."""
    name = op.name.removeprefix("onnx.")
    if name in traits.POINTWISE:
        gradient = gradient.assume_shape(shape_of(op.results[0]))
    if is_repeated(name, index):
        gradient = unbroadcast(gradient, operand, e)
    assert gradient.dtype == operand.dtype, f"the rule of {name} changes the dtype of operand {index}"
    same = shapes.compatible(gradient.shape, operand.shape)
    assert same, f"the rule of {name} gives {gradient.shape} for operand {index}"
    return gradient.assume_shape(operand.shape)


@dataclass(frozen=True)
class Cotangents(Sequence[Value]):
    """Cotangents of the results of an op; zeros, emitted on access, for an unused result."""

    e: Builder
    op: Operation
    known: Mapping[int, Value]

    def __len__(self) -> int:
        return len(self.op.results)

    def __getitem__(self, index: int) -> Value:  # pyright: ignore[reportIncompatibleMethodOverride]
        found = self.known.get(index)
        return zeros_like(self.e, self.op.results[index]) if found is None else found
