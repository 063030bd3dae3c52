"""`gradc.hessian`: all second partial derivatives, in one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from operator import add
from typing import Any, ClassVar, Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from dialects.support import entry
from dialects.support.shapes import shape_of, static, static_shape
from gradc.compiler.compiled import Compiled, Derivative
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.options import DerivativeOptions, derive, takes
from gradc.derivatives.request import GradientRequest
from gradc.derivatives.results import add_axes, add_results, results_of, set_results_of
from gradc.derivatives.row_requests import PAIR_FIELDS, check_chunk_size, pair_name
from gradc.derivatives.second_order import differentiate_twice
from gradc.util import arguments
from gradc.verification.written_diagonals import WrittenDiagonals
from gradc.verification.written_forms import WrittenHessian
from passes.autodiff.pin_values import default_wrt
from passes.autodiff.request import default_output
from passes.autodiff.session import Session
from passes.autodiff.vjp_pass import check_names
from passes.builder.values import Builder, Value
from passes.vectorize.jacobian_pass import JacobianPass


class HessianOptions(DerivativeOptions, total=False):
    """Options of `hessian`."""

    diagonal: bool
    trace: bool
    chunk_size: int | None


@dataclass(frozen=True)
class HessianRequest(GradientRequest):
    """Options of a Hessian: `diagonal` and `trace` replace the blocks."""

    diagonal: bool = False
    trace: bool = False
    chunk_size: int | None = None

    template_fields: ClassVar[Sequence[Sequence[str]]] = PAIR_FIELDS

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("diagonal", "trace"):
            arguments.flag(name, getattr(self, name))
        check_chunk_size(self.chunk_size)

    @property
    def row_passes(self) -> tuple[str, ...]:
        return ("jacobian",)


LIKE = "gradc.like."
"""Prefix of results that only give the shapes of rows."""


@takes(HessianOptions, HessianRequest)
def hessian(model: Any, **given: Unpack[HessianOptions]) -> Compiled:
    """Return the Hessian, a result `hessian_<of>_<wrt1>_<wrt2>` of shape [*of, *wrt1, *wrt2] for each `of`
    and each two of `wrt`.

    diagonal: return the diagonals instead, `hessian_diagonal_<of>_<wrt>` of shape [*of, *wrt].
    trace: return the sum of the diagonals instead, `laplacian_<of>` of the shape of `of`.
    name_template: template of the names of results: `{what}` is hessian, hessian_diagonal or laplacian,
    `{name}` is `<of>_<wrt1>_<wrt2>`; instead of it, `{of}` and `{wrt}`, which is `<wrt1>_<wrt2>`.
    chunk_size: compute at most this many Hessian-vector products at once, in a Scan; default: all in one run,
    which takes memory for as many products as the Hessians have rows.
    Other arguments as for `grad`. An `of` of several elements has a Hessian for each.
    """
    return derive(model, given, HessianRequest, hessian_of)


def hessian_of(
    module: ModuleOp,
    user_request: HessianRequest,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
) -> Compiled:
    """Return the Hessian of a module, which is modified."""
    derivation = Derivation.begin(module, user_request, options, constants, observer)
    kept = user_request.request(derivation.module).keep
    inputs = entry.input_names(entry.entry_function(derivation.module))
    found = _products(derivation)
    is_short = user_request.diagonal or user_request.trace
    whole = replace(derivation, module=derivation.module.clone(), remarks=[]) if is_short else derivation
    rows = _rows(whole, found, user_request.chunk_size or 0)
    whole.keep_results([*kept, *rows.values()])
    template = user_request.name_template
    names = {(of, a, b): pair_name(template, "hessian", of, [a, b]) for of, a, b in rows}
    if not is_short:
        check_names(list(names.values()), [*inputs, *kept])
    whole.rename({}, {rows[key]: name for key, name in names.items()})
    gradients, outer, rank = found.once.gradients, found.once.cotangents, found.rank or 0
    blocks = {(of, gradients[a], b): name for (of, a, b), name in names.items()}
    if not is_short:
        only = {b: name for (_, _, b), name in names.items()} if len(names) == 1 else {}
        derivatives = [Derivative(name, "hessian", (of,), (a, b)) for (of, a, b), name in names.items()]
        return derivation.finish(WrittenHessian(only, {}, blocks=blocks, outer=outer, rank=rank), derivatives)
    derivatives, diagonals, traces = _diagonals(derivation, user_request, found, names, kept)
    check_names([one.result for one in derivatives], [*inputs, *kept])
    only = {one.wrt[0]: one.result for one in derivatives} if len(derivatives) == 1 else {}
    written = WrittenDiagonals(
        only, {}, blocks=blocks, outer=outer, rank=rank,
        whole=whole.module, diagonals=diagonals, traces=traces, ranks=found.ranks,
    )  # fmt: skip
    return derivation.finish(written, derivatives)


@dataclass(frozen=True)
class _Products:
    """A module of Hessian-vector products, with its two differentiations.

    like: value -> a result of its shape. ranks: `wrt` -> its rank. rank: the rank of a single `of` of one
    element, whose products have no cotangent; None for others. count: the number of elements of `wrt`; None
    if it is dynamic.
    """

    once: Session
    twice: Session
    of: Sequence[str]
    like: Mapping[str, str]
    ranks: Mapping[str, int]
    rank: int | None
    count: int | None


def _products(derivation: Derivation) -> _Products:
    """Replace the function by its Hessian-vector products, with tangents and cotangents as inputs."""
    request = derivation.user_request.request(derivation.module)
    function = entry.entry_function(derivation.module)
    of = request.of or default_output(function, entry.output_names(function))
    by = request.wrt or default_wrt(function)
    like = add_results(function, [*of, *by], LIKE)
    rank = _rank_of_one_element(function, [like[name] for name in of if name in like])
    keep = [*request.keep, *like.values()]
    once, twice = differentiate_twice(
        derivation, replace(request, of=of, wrt=by, keep=keep, cotangents=rank is None)
    )
    results = results_of(entry.entry_function(derivation.module))
    shapes = {name: shape_of(results[like[name]]) for name in once.gradients}
    known = [static(shape) for shape in shapes.values()]
    sizes = [prod(shape) for shape in known if shape is not None]
    count = sum(sizes) if len(sizes) == len(known) else None
    ranks = {name: len(shape) for name, shape in shapes.items()}
    return _Products(once, twice, of, like, ranks, rank, count)


def _rows(derivation: Derivation, found: _Products, chunk: int) -> dict[tuple[str, str, str], str]:
    """Compute the products for the rows of identities; return the blocks by the names of `of` and two of
    `wrt`. `chunk`: the largest number of products at once; 0: all."""
    once, twice = found.once, found.twice
    products = {name: twice.gradients[name] for name in once.gradients}
    blocks = _for_unit_tangents(derivation, found, list(products.values()), chunk)
    pairs = {(a, b): blocks[a, product] for a in once.gradients for b, product in products.items()}
    whole = _for_unit_cotangents(derivation, found, list(pairs.values()), chunk)
    return {(of, a, b): whole[of, name] for of in found.of for (a, b), name in pairs.items()}


def _for_unit_tangents(
    derivation: Derivation, found: _Products, results: Sequence[str], chunk: int
) -> dict[tuple[str, str], str]:
    """Compute results for all unit tangents; return those for the tangents of a `wrt`, by both names."""
    tangents = {name: found.twice.cotangents[gradient] for name, gradient in found.once.gradients.items()}
    by, like = tuple(tangents.values()), tuple(found.like[name] for name in tangents)
    ieee = derivation.options.strict_ieee
    derivation.run(JacobianPass(by, like, tuple(results), chunk=chunk, strict_ieee=ieee))
    return {(a, result): f"{result}_{t}" for a, t in tangents.items() for result in results}


def _for_unit_cotangents(
    derivation: Derivation, found: _Products, results: Sequence[str], chunk: int
) -> dict[tuple[str, str], str]:
    """Compute results for all unit cotangents; return those for the cotangents of an `of`, by both names.

    A single `of` of one element has no cotangent, but its axes are added.
    """
    cotangents = found.once.cotangents
    if found.rank is not None:
        if found.rank:
            add_axes(entry.entry_function(derivation.module), results, found.rank)
        return {(of, result): result for of in found.of for result in results}
    by, like = tuple(cotangents.values()), tuple(found.like[name] for name in cotangents)
    several = max(1, chunk // found.count) if chunk and found.count else min(chunk, 1)
    ieee = derivation.options.strict_ieee
    derivation.run(JacobianPass(by, like, tuple(results), chunk=several, strict_ieee=ieee))
    return {(of, result): f"{result}_{cotangents[of]}" for of in found.of for result in results}


def _diagonals(
    derivation: Derivation,
    user_request: HessianRequest,
    found: _Products,
    names: Mapping[tuple[str, str, str], str],
    kept: Sequence[str],
) -> tuple[list[Derivative], dict[str, str], dict[str, list[str]]]:
    """Compute diagonals and traces, without the blocks; return these, result -> its block, and its blocks."""
    parts = _diagonal_parts(derivation, found, user_request.chunk_size or 0, kept)
    function, e, template = (
        entry.entry_function(derivation.module),
        Builder(),
        user_request.name_template,
    )
    results, derivatives = results_of(function), list[Derivative]()
    values, diagonals, traces = dict[str, SSAValue](), dict[str, str](), dict[str, list[str]]()
    wrt = list(found.once.gradients)
    for of in found.of:
        own = {a: e(results[parts[of, a]]) for a in wrt}
        if user_request.diagonal:
            for a, part in own.items():
                name = pair_name(template, "hessian_diagonal", of, [a])
                values[name], diagonals[name] = part.value, names[of, a, a]
                derivatives.append(Derivative(name, "hessian_diagonal", (of,), (a, a)))
        if user_request.trace:
            name = pair_name(template, "laplacian", of, wrt, name=of)
            sums = (_sum_last(part, found.ranks[a]) for a, part in own.items())
            values[name] = reduce(add, sums).value
            traces[name] = [names[of, a, a] for a in wrt]
            derivatives.append(Derivative(name, "laplacian", (of,), tuple(wrt)))
    set_results_of(function, {**results, **values}, e)
    derivation.keep_results([*kept, *values])
    return derivatives, diagonals, traces


FORM = "gradc.form"
"""Name of a result of the module of products: their quadratic form."""


def _diagonal_parts(
    derivation: Derivation, found: _Products, chunk: int, kept: Sequence[str]
) -> dict[tuple[str, str], str]:
    """Compute the quadratic forms of unit tangents, which are the elements of the diagonal.

    Return the results, [*of, *wrt], by the names of `of` and `wrt`.
    """
    function, e = entry.entry_function(derivation.module), Builder()
    tangents = dict(zip(entry.input_names(function), function.args, strict=True))
    results, cotangents = results_of(function), found.twice.cotangents
    pairs = [
        (e(results[found.twice.gradients[name]]), e(tangents[cotangents[gradient]]))
        for name, gradient in found.once.gradients.items()
    ]
    set_results_of(function, {**results, FORM: quadratic_form(pairs).value}, e)
    derivation.keep_results([*kept, *found.like.values(), FORM])
    forms = _for_unit_tangents(derivation, found, [FORM], chunk)
    whole = _for_unit_cotangents(derivation, found, list(forms.values()), chunk)
    return {(of, a): whole[of, name] for of in found.of for (a, _), name in forms.items()}


def quadratic_form(pairs: Sequence[tuple[Value, Value]]) -> Value:
    """Return the sum of the inner products of pairs of a product with the Hessian and its tangent."""
    return reduce(add, (_sum_last(product * tangent, tangent.rank) for product, tangent in pairs))


def _sum_last(value: Value, count: int) -> Value:
    """Sum along the last `count` axes."""
    return value.sum_axes(range(value.rank - count, value.rank)) if count else value


def _rank_of_one_element(function: FuncOp, results: Sequence[str]) -> int | None:
    """Return the rank of a single result of one element; None for others."""
    named = results_of(function)
    shapes = [static_shape(named[name]) for name in results]
    known = [shape for shape in shapes if shape is not None and prod(shape) == 1]
    return len(known[0]) if len(known) == len(shapes) == 1 else None
