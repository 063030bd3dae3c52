"""`gradc.hessian`: all second partial derivatives, in one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from dialects.support import entry
from dialects.support.limits import using
from dialects.support.shapes import static_shape
from gradc.compiler.compiled import Compiled, Derivative
from gradc.compiler.driver import load
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.options import DerivativeOptions, split, takes
from gradc.derivatives.request import GradientRequest
from gradc.derivatives.results import add_axes, add_results, results_of
from gradc.derivatives.second_order import differentiate_twice
from gradc.verification.written_forms import WrittenHessian
from passes.autodiff.pin_values import default_wrt
from passes.autodiff.request import default_output
from passes.autodiff.vjp_pass import check_names
from passes.vectorize.jacobian_pass import JacobianPass


class HessianRequest(GradientRequest):
    """Options of a Hessian."""

    @property
    def row_passes(self) -> tuple[str, ...]:
        return ("jacobian",)


LIKE = "gradc.like."
"""Prefix of results that only give the shapes of rows."""


@takes(DerivativeOptions, HessianRequest)
def hessian(model: Any, **given: Unpack[DerivativeOptions]) -> Compiled:
    """Return the Hessian, a result `hessian_<of>_<wrt1>_<wrt2>` of shape [*of, *wrt1, *wrt2] for each `of`
    and each two of `wrt`.

    Arguments as for `grad`. An `of` of several elements has a Hessian for each. All rows are computed in one
    run, which takes memory for as many Hessian-vector products as `wrt` has elements.
    """
    request, options, constants = split(given, HessianRequest)
    with using(options.limits):
        module = load(model, for_gradients=tuple(request.rules or ()))
        return hessian_of(module, request, options, constants)


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
    derivation.run(
        JacobianPass(tuple(tangents), tuple(like[name] for name in wrt), products, strict_ieee=ieee)
    )
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
    derivatives = [Derivative(name, "hessian", (one,), (a, b)) for (one, a, b), name in names.items()]
    blocks = {(one, once.gradients[a], b): name for (one, a, b), name in names.items()}
    only = {b: name for (_, _, b), name in names.items()} if len(names) == 1 else {}
    written = WrittenHessian(only, {}, blocks=blocks, outer=once.cotangents, rank=rank or 0)
    return derivation.finish(written, derivatives)


def _rank_of_one_element(function: FuncOp, results: Sequence[str]) -> int | None:
    """Return the rank of a single result of one element; None for others."""
    named = results_of(function)
    shapes = [static_shape(named[name]) for name in results]
    known = [shape for shape in shapes if shape is not None and prod(shape) == 1]
    return len(known[0]) if len(known) == len(shapes) == 1 else None
