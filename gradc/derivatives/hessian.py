"""`gradc.hessian`: all second partial derivatives, in one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from operator import add
from typing import Any, Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.support import entry
from dialects.support.shapes import shape_of, static, static_shape
from gradc.compiler.compiled import Compiled, Derivative
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.options import DerivativeOptions, derive, takes
from gradc.derivatives.request import GradientRequest
from gradc.derivatives.results import add_axes, add_results, results_of, set_results_of
from gradc.derivatives.second_order import differentiate_twice
from gradc.util import arguments
from gradc.verification.written_diagonals import WrittenDiagonals
from gradc.verification.written_forms import WrittenHessian
from passes.autodiff.pin_values import default_wrt
from passes.autodiff.request import default_output
from passes.autodiff.vjp_pass import check_names
from passes.builder.values import Value, ValueBuilder
from passes.vectorize.jacobian_pass import JacobianPass


class HessianOptions(DerivativeOptions, total=False):
    """Options of `hessian`."""

    diagonal: bool
    trace: bool


@dataclass(frozen=True)
class HessianRequest(GradientRequest):
    """Options of a Hessian: `diagonal` and `trace` replace the blocks."""

    diagonal: bool = False
    trace: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("diagonal", "trace"):
            arguments.flag(name, getattr(self, name))

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
    Other arguments as for `grad`. An `of` of several elements has a Hessian for each. All rows are computed
    in one run, which takes memory for as many Hessian-vector products as `wrt` has elements.
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
    module = derivation.module
    request, function = user_request.request(module), entry.entry_function(module)
    inputs = entry.input_names(function)
    of = request.of or default_output(function, entry.output_names(function))
    by = request.wrt or default_wrt(function)
    like = add_results(function, [*of, *by], LIKE)
    rank = _rank_of_one_element(function, [like[name] for name in of if name in like])
    kept = request.keep
    keep = [*kept, *like.values()]
    request = replace(request, of=of, wrt=by, keep=keep, cotangents=rank is None)
    once, twice = differentiate_twice(derivation, request)
    wrt = list(once.gradients)
    tangents = [twice.cotangents[gradient] for gradient in once.gradients.values()]
    ieee = options.strict_ieee
    products = tuple(twice.gradients[name] for name in wrt)
    shapes = tuple(like[name] for name in wrt)
    named = results_of(entry.entry_function(module))
    ranks = {name: len(shape_of(named[like[name]])) for name in wrt}
    derivation.run(JacobianPass(tuple(tangents), shapes, products, strict_ieee=ieee))
    pairs = {(a, b): f"{twice.gradients[b]}_{t}" for a, t in zip(wrt, tangents, strict=True) for b in wrt}
    rows = {(one, a, b): name for one in of for (a, b), name in pairs.items()}
    if rank is None:
        ofs = tuple(once.cotangents.values())
        shapes = tuple(like[name] for name in once.cotangents)
        derivation.run(JacobianPass(ofs, shapes, tuple(pairs.values()), strict_ieee=ieee))
        rows = {key: f"{name}_{once.cotangents[key[0]]}" for key, name in rows.items()}
    elif rank:
        add_axes(entry.entry_function(module), list(pairs.values()), rank)
    derivation.keep_results([*kept, *rows.values()])
    template = user_request.name_template
    names = {key: template.format(what="hessian", name="_".join(key)) for key in rows}
    check_names(list(names.values()), [*inputs, *kept])
    derivation.rename({}, {rows[key]: name for key, name in names.items()})
    whole = module.clone()
    blocks = {(one, once.gradients[a], b): name for (one, a, b), name in names.items()}
    only = {b: name for (_, _, b), name in names.items()} if len(names) == 1 else {}
    written = WrittenHessian(only, {}, blocks=blocks, outer=once.cotangents, rank=rank or 0)
    derivatives = [Derivative(name, "hessian", (one,), (a, b)) for (one, a, b), name in names.items()]
    if user_request.diagonal or user_request.trace:
        derivatives, diagonals, traces = _diagonals(derivation, user_request, names, ranks, kept)
        only = {one.wrt[0]: one.result for one in derivatives} if len(derivatives) == 1 else {}
        written = WrittenDiagonals(
            only, {}, blocks=blocks, outer=once.cotangents, rank=rank or 0,
            whole=whole, diagonals=diagonals, traces=traces, ranks=ranks,
        )  # fmt: skip
    check_names([one.result for one in derivatives], [*inputs, *kept])
    return derivation.finish(written, derivatives)


def _diagonals(
    derivation: Derivation,
    user_request: HessianRequest,
    names: Mapping[tuple[str, str, str], str],
    ranks: Mapping[str, int],
    kept: Sequence[str],
) -> tuple[list[Derivative], dict[str, str], dict[str, list[str]]]:
    """Replace the blocks by diagonals and traces; return these, result -> its block, and its blocks."""
    function, e = entry.entry_function(derivation.module), ValueBuilder()
    template = user_request.name_template
    results, found = results_of(function), list[Derivative]()
    values, diagonals, traces = dict[str, SSAValue](), dict[str, str](), dict[str, list[str]]()
    wrt = list(dict.fromkeys(a for _, a, _ in names))
    for of in dict.fromkeys(of for of, _, _ in names):
        parts = {a: e(results[names[of, a, a]]) for a in wrt}
        if user_request.diagonal:
            for a, block in parts.items():
                name = template.format(what="hessian_diagonal", name=f"{of}_{a}")
                values[name] = diagonal(e, block, ranks[a], keep_shape=True).value
                diagonals[name] = names[of, a, a]
                found.append(Derivative(name, "hessian_diagonal", (of,), (a, a)))
        if user_request.trace:
            name = template.format(what="laplacian", name=of)
            lines = [diagonal(e, block, ranks[a], keep_shape=False) for a, block in parts.items()]
            values[name] = reduce(add, (line.sum_axes([line.rank - 1]) for line in lines)).value
            traces[name] = [names[of, a, a] for a in wrt]
            found.append(Derivative(name, "laplacian", (of,), tuple(wrt)))
    set_results_of(function, {**results, **values}, e)
    derivation.keep_results([*kept, *values])
    return found, diagonals, traces


def diagonal(e: ValueBuilder, block: Value, rank: int, *, keep_shape: bool) -> Value:
    """Return the diagonal of a block whose last axes are twice the `rank` axes of one value: in the shape of
    that value, or along one axis."""
    first = block.rank - 2 * rank
    outer, own = _sizes(e, block, 0, first), _sizes(e, block, first, first + rank)
    count = own.apply(onnx.ReduceProdOp, keepdims=1) if rank else e.ints([1])
    flat = block.apply(onnx.ReshapeOp, e.concat([outer, count * count], 0), allowzero=1)
    taken = flat.apply(onnx.SliceOp, e.ints([0]), e.ints([TO_THE_END]), e.ints([first]), count + e.ints([1]))
    if not keep_shape:
        return taken
    shaped = taken.apply(onnx.ReshapeOp, e.concat([outer, own], 0), allowzero=1)
    return shaped.assume_shape(block.shape[: first + rank])


def _sizes(e: ValueBuilder, value: Value, first: int, last: int) -> Value:
    """Return the sizes of some axes as a vector."""
    known = static(value.shape[first:last])
    return (
        e.shape(value).apply(onnx.SliceOp, e.ints([first]), e.ints([last]))
        if known is None
        else e.ints(known)
    )


def _rank_of_one_element(function: FuncOp, results: Sequence[str]) -> int | None:
    """Return the rank of a single result of one element; None for others."""
    named = results_of(function)
    shapes = [static_shape(named[name]) for name in results]
    known = [shape for shape in shapes if shape is not None and prod(shape) == 1]
    return len(known[0]) if len(known) == len(shapes) == 1 else None
