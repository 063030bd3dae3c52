"""differentiate: the gradient of a function of ONNX ops.

The function keeps its inputs; its results become, for each of `wrt`, the sum over `of` of (d of / d wrt)^T c,
in the shape and dtype of the value. c is an input `cotangent_<of>` with `cotangents`; else 1 for an `of` of
one element, and the seed of `reduce`, sum or mean, for others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.shapes.forms import Size
from dialects.support.diagnostics import (
    Diagnostic,
    several,
)
from dialects.support.entry import (
    declared_types,
    entry_function,
    input_names,
    output_names,
    return_op,
    set_defaults,
    set_new_names,
    update_function_type,
)
from dialects.support.error_list import Errors
from dialects.support.option_names import advice, option
from dialects.support.shapes import Dim, has_rank, shape_of, show, static
from passes.autodiff.activity.active_values import find_active_values
from passes.autodiff.activity.non_differentiable import mark_ruled, unmark_ruled
from passes.autodiff.activity.straight_through_patterns import mark_estimates, unmark_estimates
from passes.autodiff.activity.unreached import no_gradient_error, partly_zero_remarks, unused_remarks
from passes.autodiff.common.primal import Rule
from passes.autodiff.control_flow.branch_ranks import normalize_branches
from passes.autodiff.control_flow.loop_shapes import normalize_loops
from passes.autodiff.control_flow.scan_outputs import to_scan_outputs
from passes.autodiff.control_flow.sequence_element_rank import normalize_elements
from passes.autodiff.exporter_traps import lost_sums
from passes.autodiff.masked_branches import guard_masked_branches
from passes.autodiff.named_values import PinnedValues, add_elements, base_of, values_by_name
from passes.autodiff.record import Differentiated
from passes.autodiff.request import (
    check_floats,
    collect_errors,
    default_output,
    floats,
    resolve_floats,
    resolve_names,
    usage,
)
from passes.autodiff.rules.norm import unmark_centred
from passes.autodiff.rules.quantize import mark_pairs, unmark_pairs
from passes.autodiff.shared_weights import (
    copy_remarks,
    pop_copies,
    several_readers,
    shared_statistics,
)
from passes.autodiff.stable_forms import use_stable_forms
from passes.autodiff.vjp import Walk
from passes.builder.rewriting import drop_unread_nodes, fold, simplify
from passes.builder.values import Value, ValueBuilder
from passes.decompositions.contrib.qdq_to_float import compute_with_floats
from passes.fold_affine.folding import fold_affine
from passes.infer_types import infer_types
from passes.name_sizes import name_sizes
from passes.unpack_sequences.sequences import unpack_sequences

REDUCTIONS = ("sum", "mean")

NAME_TEMPLATE = "{what}_{name}"
"""Name of new inputs and results: `what` is grad or cotangent, `name` that of a primal value."""


@dataclass(frozen=True)
class DifferentiatePass(ModulePass):
    name = "differentiate"

    of: tuple[str, ...] = ()
    wrt: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    cotangents: bool = False
    reduce: str | None = None
    allow_unused: bool = False
    weights_as_inputs: bool = False
    name_template: str = NAME_TEMPLATE
    straight_through: bool = False
    strict_ieee: bool = False
    optional: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        request = Request(**{entry.name: getattr(self, entry.name) for entry in fields(Request)})
        differentiate(op, request, strict_ieee=self.strict_ieee)


@dataclass(frozen=True)
class Request:
    """A gradient request: by default the only float result by every float input.

    `keep`: values to return before the gradients.
    `weights_as_inputs`: constants among `wrt` become trailing inputs with defaults.
    `straight_through`: gradients pass quantization as if nothing were rounded.
    `optional`: names of `wrt` that a pattern matched; they are dropped if they have no gradient.
    """

    of: Sequence[str] = ()
    wrt: Sequence[str] = ()
    keep: Sequence[str] = ()
    cotangents: bool = False
    reduce: str | None = None
    allow_unused: bool = False
    weights_as_inputs: bool = False
    name_template: str = NAME_TEMPLATE
    straight_through: bool = False
    optional: Collection[str] = ()

    def name(self, what: str, name: str) -> str:
        return self.name_template.format(what=what, name=name)


@dataclass(frozen=True)
class Gradients:
    """New results and inputs: name of the primal value -> name of its gradient or cotangent."""

    gradients: Mapping[str, str]
    cotangents: Mapping[str, str]
    of: Sequence[str] = ()
    remarks: Sequence[Diagnostic] = field(default_factory=tuple)
    differentiated: Differentiated | None = None
    """A copy of the primal and all emitted ops, for a check; None unless recorded."""


def differentiate(
    module: ModuleOp,
    request: Request,
    *,
    strict_ieee: bool = False,
    rules: Mapping[str, Rule] | None = None,
    record: bool = False,
) -> Gradients:
    """Replace the module's function by its gradient; return the names of new results and inputs.

    `rules`: the user's rules by qualified op type, such as `com.example.Ramp`. `record`: also return a copy
    of the module in which every step of the walk can be checked.

    Raises UsageError for an invalid request, UnsupportedError for all active ops without a derivative.
    """
    operators = ValueBuilder(strict_ieee=strict_ieee)
    return _Differentiation(module, request, operators, {} if rules is None else rules, record).write()


@dataclass
class _Differentiation:
    module: ModuleOp
    request: Request
    e: ValueBuilder
    rules: Mapping[str, Rule]
    record: bool

    def write(self) -> Gradients:
        function, request = entry_function(self.module), self.request
        unmark_centred(self.module)
        unpack_sequences(self.module)
        if normalize_loops(self.module):
            infer_types(self.module)
        normalize_elements(self.module)
        if request.straight_through:
            compute_with_floats(self.module)
        if normalize_branches(self.module, self._requested_values(function)):
            infer_types(self.module)
        inputs, outputs = input_names(function), output_names(function)
        copies = pop_copies(function)
        values = values_by_name(function)
        of, wrt, keep = collect_errors(
            lambda: self._of(function, values),
            lambda: resolve_floats("wrt", request.wrt or floats(function.args, inputs), values),
            lambda: resolve_names("keep_outputs", request.keep, values),
        )
        declared = dict(
            zip(outputs, declared_types(function.res_attrs, return_op(function).arguments), strict=True)
        )
        cotangents = {name: request.name("cotangent", name) for name in of} if request.cotangents else {}
        gradients = {name: request.name("grad", name) for name in wrt}

        held = PinnedValues()
        wrt = held.pin(function, wrt)
        arguments = dict(wrt)
        of, keep = held.pinned_values(of), held.pinned_values(keep)
        weights = held.defaults(wrt) if request.weights_as_inputs else {}
        hint = advice("name_template", "sets their names")
        check_names([*cotangents.values(), *gradients.values()], [*inputs, *weights, *keep], hint)
        self._simplify(function, [*of.values(), *keep.values()], wrt.values())
        wrt = self._as_tensors(function, wrt)
        self._keep_finite(function, wrt.values())
        last = return_op(function)
        of = dict(zip(of, last.arguments, strict=False))
        collect_errors(lambda: check_floats("of", of), lambda: check_floats("wrt", wrt))
        kept = last.arguments[len(of) :]
        ops = [op for op in function.body.block.ops if op is not last]
        if request.straight_through:
            mark_pairs(self.module)
        mark_ruled(self.module, self.rules)
        mark_estimates(self.module, straight_through=request.straight_through)
        walk = Walk(self.e, ops, set(wrt.values()), self.rules)
        found = walk.gradients(self._seeds(function, of))
        unused = {} if request.allow_unused else {n: value for n, value in wrt.items() if value not in found}
        left_out = self._drop_unused(unused, wrt)
        _check_reached({name: value for name, value in unused.items() if name not in left_out}, of, ops)
        for part in (wrt, gradients, weights):
            for name in left_out.keys() & part.keys():
                del part[name]
        results = [self._result(value, found) for value in wrt.values()]
        remarks = [
            *unused_remarks(left_out, of, ops),
            *partly_zero_remarks(found, of, ops),
            *_narrower_types(declared, of),
            *shared_statistics(wrt, ops),
        ]
        remarks += lost_sums(ops, find_active_values(ops, wrt.values()))
        remarks += several_readers(wrt, held.arguments, of.values(), ops)
        remarks += copy_remarks(wrt, copies)
        _return(function, self.e, [*kept, *results])
        differentiated = None
        if self.record:
            given = dict(zip(inputs, function.args, strict=False))
            seeds = (
                dict(zip(cotangents, function.args[-len(cotangents) :], strict=True)) if cotangents else {}
            )
            whole = Differentiated(self.module, walk.record, given, held.constants, seeds, of, wrt, len(ops))
            differentiated = whole.clone_module()
        drop_unread_nodes(function)
        unmark_pairs(self.module)
        unmark_estimates(self.module)
        unmark_ruled(self.module)
        unmark_centred(self.module)
        if request.weights_as_inputs:
            held.release(function, [arguments[name] for name in left_out])
        else:
            held.release(function)
        set_new_names(function, [*inputs, *weights, *cotangents.values()], [*keep, *gradients.values()])
        set_defaults(function, weights)
        update_function_type(function)
        return Gradients(gradients, cotangents, list(of), remarks, differentiated)

    def _drop_unused(self, unused: Mapping[str, SSAValue], wrt: Collection[str]) -> dict[str, SSAValue]:
        """Return the pattern-matched values without a gradient, or none if no value has one."""
        optional = {name: value for name, value in unused.items() if name in self.request.optional}
        return {} if len(unused) == len(wrt) else optional

    def _of(self, function: FuncOp, values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
        names = self.request.of or default_output(function, output_names(function))
        return resolve_floats("of", names, {**values, **add_elements(function, names, values)})

    def _requested_values(self, function: FuncOp) -> set[SSAValue]:
        """Return the values in the function that the request names."""
        request, values = self.request, values_by_name(function)
        names = (base_of(name) if name not in values else name for name in (*request.of, *request.keep))
        return {values[name] for name in (*names, *request.wrt) if name in values}

    def _simplify(self, function: FuncOp, kept: Sequence[SSAValue], wrt: Collection[SSAValue]) -> None:
        """Simplify the ops behind `kept`. If an inner value is differentiated, only fold: other rewrites
        could bypass it."""
        _return(function, ValueBuilder(), kept)
        update_function_type(function)
        name_sizes(self.module)
        inner = [value for value in wrt if not isinstance(value, BlockArgument)]
        self._fold(inner)
        if not inner and unpack_sequences(self.module):  # positions may be constant now
            self._fold(inner)
        if use_stable_forms(self.module, inner, self.rules):
            self._fold(inner)
        if not self.e.strict_ieee:
            fold_affine(self.module, inner, wrt)
        name_sizes(self.module)

    def _fold(self, inner: Sequence[SSAValue]) -> None:
        if inner:
            fold(self.module, inner)
        else:
            simplify(Context(), self.module)

    def _as_tensors(self, function: FuncOp, wrt: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
        """Replace sequences, and loop-carried values that grow in each step, by tensors; return the new
        values of `wrt`."""
        results = return_op(function).arguments
        count = len(results)
        _return(function, ValueBuilder(), [*results, *wrt.values()])
        unpacked = unpack_sequences(self.module)  # positions may be constant now
        if normalize_loops(self.module):  # branches may be known now
            infer_types(self.module)
        changed = to_scan_outputs(self.module) or unpacked
        now = return_op(function).arguments
        found = dict(zip(wrt, now[count:], strict=True))
        _return(function, ValueBuilder(), now[:count])
        if changed:
            name_sizes(self.module)
        return found

    def _keep_finite(self, function: FuncOp, wrt: Collection[SSAValue]) -> None:
        """Guard unselected branches whose derivative is not finite."""
        flows = find_active_values(list(function.body.block.ops), wrt)

        def is_active(value: SSAValue) -> bool:
            block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
            return value in flows or block is not function.body.block

        guard_masked_branches(self.module, wrt, is_active)

    def _seeds(self, function: FuncOp, of: Mapping[str, SSAValue]) -> list[tuple[SSAValue, Value]]:
        block = function.body.block
        if not self.request.cotangents:
            return [(value, self._seed(name, self.e(value))) for name, value in of.items()]
        return [(value, self.e(block.insert_arg(value.type, len(block.args)))) for value in of.values()]

    def _seed(self, name: str, value: Value) -> Value:
        """Return ones, or for the mean 1 / size."""
        known = static(value.shape) if has_rank(value.value) else None
        one = known is not None and all(size == 1 for size in known)
        match self.request.reduce:
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
    said = ", ".join(filter(None, ways))
    return f"{said}, or {last}" if said else last


def _return(function: FuncOp, e: ValueBuilder, results: Sequence[SSAValue]) -> None:
    """Insert the ops of `e` at the end, and return `results` instead."""
    last = return_op(function)
    Rewriter.insert_op([*e.emit.ops, ReturnOp(*results)], InsertPoint.before(last))
    Rewriter.erase_op(last)


def _check_reached(
    unused: Mapping[str, SSAValue], of: Mapping[str, SSAValue], ops: Sequence[Operation]
) -> None:
    errors = Errors()
    errors.found += [no_gradient_error(name, value, of, ops) for name, value in unused.items()]
    errors.check()


def _narrower_types(declared: Mapping[str, Attribute | None], of: Mapping[str, SSAValue]) -> list[Diagnostic]:
    """Return a remark on each result declared with a static size that is dynamic."""
    return [
        Diagnostic("remark", f"{name} is declared as {show(said)}, but has the dynamic shape {show(found)}")
        for name, value in of.items()
        if isinstance(type_ := declared.get(name), TensorType) and has_rank(value)
        for said, found in [(shape_of(cast("Attribute", type_)), shape_of(value))]
        if len(said) != len(found) or any(map(_is_narrower, said, found))
    ]


def _is_narrower(declared: Dim, found: Dim) -> bool:
    return isinstance(declared, int) and isinstance(found, Size)


def check_names(new: Sequence[str], given: Sequence[str], hint: str = "") -> None:
    """Raise UsageError for new names that are already used."""
    names = [*new, *given]
    taken = sorted(name for name in set(new) if names.count(name) > 1)
    if taken:
        expected = "unique new names"
        raise usage("names of the gradient", given=several(taken), expected=expected, hint=hint)
