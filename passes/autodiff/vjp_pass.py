"""vjp: append the reverse pass to a function whose requested values are pinned.

The results become the values to keep, and for each of `wrt` the sum over `of` of (d of / d wrt)^T c, in the
shape and dtype of the value. c is an input `cotangent_<of>` with `cotangents`; else 1 for an `of` of one
element, and the seed of `reduce`, sum or mean, for others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Size
from dialects.support.diagnostics import Diagnostic, several, usage
from dialects.support.entry import (
    declared_types,
    entry_function,
    input_names,
    return_op,
    set_new_names,
    update_function_type,
)
from dialects.support.error_list import Errors
from dialects.support.option_names import advice, option
from dialects.support.shapes import Dim, has_rank, shape_of, show, static
from passes.autodiff.activity.active_values import find_active_values
from passes.autodiff.activity.non_differentiable import mark_ruled
from passes.autodiff.activity.straight_through_patterns import mark_estimates
from passes.autodiff.activity.unreached import (
    idle_stop_remarks,
    no_gradient_error,
    partly_zero_remarks,
    unused_remarks,
)
from passes.autodiff.exporter_traps import lost_sums
from passes.autodiff.file_names import file_name_remarks
from passes.autodiff.named_values import base_of
from passes.autodiff.pin_values import PinnedValues, keep_as_inputs, pinned_constants, set_results
from passes.autodiff.record import Differentiated
from passes.autodiff.request import check_floats, collect_errors
from passes.autodiff.rules.quantize import mark_pairs
from passes.autodiff.session import SessionPass
from passes.autodiff.shared_weights import copy_remarks, several_readers, shared_statistics
from passes.autodiff.vjp import Walk
from passes.builder.rewriting import REQUEST
from passes.builder.values import Builder, Value

REDUCTIONS = ("sum", "mean")

NAME_TEMPLATE = "{what}_{name}"
"""Name of new inputs and results: `what` is grad or cotangent, `name` that of a primal value."""


@dataclass(frozen=True)
class VjpPass(SessionPass):
    """Append the reverse pass to a function whose requested values are pinned.

    `weights_as_inputs`: constants among `wrt` become trailing inputs with defaults. `straight_through`:
    gradients pass quantization as if nothing were rounded. `optional`: names of `wrt` that are left out if
    they have no gradient, those that a pattern matched.
    """

    name = "vjp"

    cotangents: bool = False
    reduce: str | None = None
    allow_unused: bool = False
    weights_as_inputs: bool = False
    name_template: str = NAME_TEMPLATE
    straight_through: bool = False
    strict_ieee: bool = False
    optional: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _ReversePass(op, self, Builder(strict_ieee=self.strict_ieee)).write()


@dataclass
class _ReversePass:
    module: ModuleOp
    options: VjpPass
    e: Builder

    def write(self) -> None:
        function, options, session = entry_function(self.module), self.options, self.options.session
        requested = PinnedValues.in_function(function)
        of, keep, wrt = requested.of, requested.keep, dict(requested.wrt)
        inputs = input_names(function)
        weights = pinned_constants(function)
        cotangents = {name: self._name("cotangent", name) for name in of} if options.cotangents else {}
        gradients = {name: self._name("grad", name) for name in wrt}
        taken = inputs if options.weights_as_inputs else inputs[: len(inputs) - len(weights)]
        hint = advice("name_template", "sets their names")
        check_names([*cotangents.values(), *gradients.values()], [*taken, *keep], hint)
        declared = declared_types(function.res_attrs, return_op(function).arguments)
        collect_errors(lambda: check_floats("of", of), lambda: check_floats("wrt", wrt))
        set_results(function, Builder(), [*of.values(), *keep.values()])
        del function.attributes[REQUEST]
        ops = list(function.body.block.ops)[:-1]
        if options.straight_through:
            mark_pairs(self.module)
        mark_ruled(self.module, session.rules)
        mark_estimates(self.module, straight_through=options.straight_through)
        walk = Walk(self.e, ops, set(wrt.values()), session.rules)
        found = walk.gradients(self._seeds(function, of))
        left_out = self._check_reached(
            {n: value for n, value in wrt.items() if value not in found}, of, wrt, ops
        )
        wrt = {name: value for name, value in wrt.items() if name not in left_out}
        gradients = {name: gradients[name] for name in wrt}
        session.remarks = [
            *unused_remarks(left_out, of, ops),
            *partly_zero_remarks(found, of, ops),
            *idle_stop_remarks(session.stopped, wrt.values(), of, ops),
            *_narrower_types(dict(zip(of, declared, strict=False)), of),
            *shared_statistics(wrt, ops),
            *lost_sums(ops, find_active_values(ops, wrt.values())),
            *several_readers(wrt, weights, of.values(), ops),
            *copy_remarks(wrt, session.copies),
            *file_name_remarks(wrt, session.in_file),
        ]
        results = [self._result(value, found) for value in wrt.values()]
        set_results(function, self.e, [*keep.values(), *results])
        set_new_names(function, [*inputs, *cotangents.values()], [*keep, *gradients.values()])
        session.of, session.gradients, session.cotangents = list(of), gradients, cotangents
        if session.records:
            session.differentiated = self._record(walk, of, wrt, ops)
        if options.weights_as_inputs:
            keep_as_inputs(function, [argument for argument in weights if argument in wrt.values()])
        update_function_type(function)

    def _name(self, what: str, name: str) -> str:
        return self.options.name_template.format(what=what, name=name)

    def _check_reached(
        self,
        unused: Mapping[str, SSAValue],
        of: Mapping[str, SSAValue],
        wrt: Collection[str],
        ops: Sequence[Operation],
    ) -> Mapping[str, SSAValue]:
        """Return the optional values without a gradient. Raises the errors of others, or if none has one."""
        if self.options.allow_unused:
            return {}
        optional = {name: value for name, value in unused.items() if name in self.options.optional}
        left_out = {} if len(unused) == len(wrt) else optional
        errors = Errors()
        errors.found += [
            no_gradient_error(name, value, of, ops) for name, value in unused.items() if name not in left_out
        ]
        errors.check()
        return left_out

    def _record(
        self, walk: Walk, of: Mapping[str, SSAValue], wrt: Mapping[str, SSAValue], primal: Sequence[Operation]
    ) -> Differentiated:
        """Return a copy of the module in which each step of the walk can be checked."""
        function = entry_function(self.module)
        kept = frozenset(function.body.block.ops).intersection(primal)
        weights, count = pinned_constants(function), len(of) if self.options.cotangents else 0
        named = zip(input_names(function), function.args, strict=True)
        arguments = {name: argument for name, argument in named if argument not in weights}
        inputs = dict(list(arguments.items())[: len(arguments) - count])
        seeds = dict(zip(of, function.args[len(function.args) - count :], strict=False)) if count else {}
        found = Differentiated(self.module, walk.record, inputs, weights, seeds, of, wrt, kept)
        return found.clone_module()

    def _seeds(self, function: FuncOp, of: Mapping[str, SSAValue]) -> list[tuple[SSAValue, Value]]:
        block = function.body.block
        if not self.options.cotangents:
            return [(value, self._seed(name, self.e(value))) for name, value in of.items()]
        return [(value, self.e(block.insert_arg(value.type, len(block.args)))) for value in of.values()]

    def _seed(self, name: str, value: Value) -> Value:
        """Return ones, or for the mean 1 / size."""
        known = static(value.shape) if has_rank(value.value) else None
        one = known is not None and all(size == 1 for size in known)
        match self.options.reduce:
            case None if not one:
                if not has_rank(value.value):
                    hint = _for_one_number("make the model give one")
                    raise usage(
                        option("of"), given=f"{name} of no known rank", expected="one element", hint=hint
                    )
                given = f"{name} of shape {show(shape_of(value.value))}"
                whole = base_of(name)
                places = (
                    name.removeprefix(whole).replace(":", "0") or f"[{','.join('0' for _ in value.shape)}]"
                )
                element = f"{whole}{places}"
                hint = _for_one_number(f"name one element, such as {element}")
                raise usage(option("of"), given=given, expected="one element", hint=hint)
            case "mean":
                share = 1 / value.apply(onnx.SizeOp).cast(value.dtype)
                return share.apply(onnx.ExpandOp, self.e.shape(value))
            case None | "sum":
                return self.e.fill_like(1, value)
            case other:
                raise usage(option("reduce"), given=other, expected=" or ".join(REDUCTIONS))

    def _result(self, value: SSAValue, found: Mapping[SSAValue, Value]) -> SSAValue:
        return found[value].value if value in found else self.e.fill_like(0, self.e(value)).value


def _for_one_number(last: str) -> str:
    """Return a hint: the available ways to reduce a tensor to one number."""
    ways = (advice("reduce", "takes sum or mean"), advice("cotangents", "makes it an input", True))
    others = ", ".join(filter(None, ways))
    return f"{others}, or {last}" if others else last


def _narrower_types(declared: Mapping[str, Attribute | None], of: Mapping[str, SSAValue]) -> list[Diagnostic]:
    """Return a remark on each result declared with a static size that is dynamic."""
    return [
        Diagnostic("remark", f"{name} is declared as {show(known)}, but has the dynamic shape {show(found)}")
        for name, value in of.items()
        if isinstance(type_ := declared.get(name), TensorType) and has_rank(value)
        for known, found in [(shape_of(cast("Attribute", type_)), shape_of(value))]
        if len(known) != len(found) or any(map(_is_narrower, known, found))
    ]


def _is_narrower(declared: Dim, found: Dim) -> bool:
    return isinstance(declared, int) and isinstance(found, Size)


def check_names(new: Sequence[str], given: Sequence[str], hint: str = "") -> None:
    """Raise UsageError for new names that are already used."""
    names = [*new, *given]
    taken = sorted(name for name in set(new) if names.count(name) > 1)
    if taken:
        expected = "unique new names"
        hint = hint or advice("rename", f"gives it another name, as {taken[0]}={taken[0]}_of_model")
        raise usage("names of the gradient", given=several(taken), expected=expected, hint=hint)
