"""`gradc.jacobian`: all partial derivatives of a result, in one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any, ClassVar, Unpack

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from dialects.support import entry
from dialects.support.shapes import has_rank, static_shape
from gradc.compiler.compiled import Compiled, Derivative
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.derivatives.casadi import finish_for_casadi
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.forward import transpose
from gradc.derivatives.options import DerivativeOptions, derive, takes
from gradc.derivatives.row_requests import (
    PAIR_FIELDS,
    SampleRequest,
    check_chunk_size,
    check_family,
    pair_name,
)
from gradc.derivatives.second_order import free_template
from gradc.util import arguments
from gradc.verification.written_forms import WrittenBlocks
from passes.autodiff.named_values import add_elements, values_by_name
from passes.autodiff.pin_values import default_wrt
from passes.autodiff.vjp_pass import check_names
from passes.builder.rewriting import drop_unread_nodes
from passes.vectorize.jacobian_pass import JacobianPass

MODES = ("auto", "forward", "reverse")


class JacobianOptions(DerivativeOptions, total=False):
    """Options of `jacobian`."""

    mode: str
    chunk_size: int | None
    family: str | None
    per_sample: bool
    batch_axis: Mapping[str, int | None] | None


@dataclass(frozen=True)
class JacobianRequest(SampleRequest):
    """Options of a Jacobian: `mode` is that of the smaller side for `auto`."""

    mode: str = "auto"
    chunk_size: int | None = None
    family: str | None = None

    template_fields: ClassVar[Sequence[Sequence[str]]] = PAIR_FIELDS

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.one_of("mode", self.mode, MODES)
        check_family(self.family, self)
        check_chunk_size(self.chunk_size)

    @property
    def differentiates_all(self) -> bool:
        return self.family is not None

    @property
    def row_passes(self) -> tuple[str, ...]:
        return ("jacobian", *super().row_passes)


@takes(JacobianOptions, JacobianRequest)
def jacobian(model: Any, **given: Unpack[JacobianOptions]) -> Compiled:
    """Return the Jacobian, with a result `jacobian_<of>_<wrt>` of shape [*of, *wrt] for each `of` and `wrt`.

    mode: `reverse` computes the rows, from cotangents; `forward` the columns, from tangents; `auto` what has
    fewer elements.
    name_template: template of the names of results: `{what}` is jacobian, `{name}` is `<of>_<wrt>`; instead
    of it, `{of}` and `{wrt}`.
    chunk_size: compute at most this many rows or columns at once, in a Scan over them, which takes less
    memory; default: all in one run.
    family: `casadi` gives results the names and shapes of CasADi's jac_<model>.onnx.
    per_sample: one Jacobian for each sample of the batch, [N, *of, *wrt] without the batch axes of `of` and
    `wrt`; `batch_axis` as for `grad`. Other arguments as for `grad`.
    """
    return derive(model, given, JacobianRequest, jacobian_of)


def jacobian_of(
    module: ModuleOp,
    user_request: JacobianRequest,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
) -> Compiled:
    """Return the Jacobian of a module, which is modified."""
    derivation = Derivation.begin(module, user_request, options, constants, observer)
    kept = user_request.request(derivation.module).keep
    inputs = entry.input_names(entry.entry_function(derivation.module))
    is_forward = user_request.mode == "forward" or (user_request.mode == "auto" and _is_narrow(derivation))
    found = (_forward if is_forward else _reverse)(derivation, user_request)
    template = user_request.name_template
    names = {(of, wrt): pair_name(template, "jacobian", of, [wrt]) for of, wrt in found}
    check_names(list(names.values()), [*inputs, *kept])
    derivation.keep_results([*kept, *(block.result for block in found.values())])
    derivation.rename({}, {block.result: names[key] for key, block in found.items()})
    derivatives = [Derivative(name, "jacobian", (of,), (wrt,)) for (of, wrt), name in names.items()]
    of = {key[0] for key in found}
    by = {wrt: name for (_, wrt), name in names.items()} if len(of) == 1 else {}
    blocks = {block.checked: names[key] for key, block in found.items()}
    shown = {block.checked[1]: names[key] for key, block in found.items()}
    written = WrittenBlocks(shown, {}, blocks=blocks, columns=is_forward)
    if user_request.family:
        return finish_for_casadi(derivation, written, derivatives, {}, by)
    return derivation.finish(written, derivatives, gradients=by)


@dataclass(frozen=True)
class _Block:
    """The block of an `of` and a `wrt`: a result, and the names of cotangent and gradient in the check."""

    result: str
    checked: tuple[str, str]


def _is_narrow(derivation: Derivation) -> bool:
    """Return whether `wrt` has fewer elements than `of`. Dynamic sizes count as infinite."""
    module, user_request = derivation.module, derivation.user_request
    function = entry.entry_function(module)
    values = values_by_name(function)
    of = list(user_request.of_names(module))
    known = {**values, **add_elements(function, of, values)}
    wrt = user_request.request(module).wrt or default_wrt(function)
    drop_unread_nodes(function)
    if any(name not in known for name in (*of, *wrt)):
        return False
    sides = [sum(map(_elements, (known[name] for name in names))) for names in (wrt, of)]
    return sides[0] < sides[1]


def _elements(value: SSAValue) -> float:
    shape = static_shape(value) if has_rank(value) else None
    return inf if shape is None else prod(shape)


def _reverse(derivation: Derivation, user_request: JacobianRequest) -> dict[tuple[str, str], _Block]:
    """Compute all rows; return the blocks by the names of `of` and `wrt`."""
    request = user_request.request(derivation.module)
    of = user_request.of_names(derivation.module)
    keep = list(dict.fromkeys([*request.keep, *of]))
    inputs = entry.input_names(entry.entry_function(derivation.module))
    template = free_template({*inputs, *keep, *request.wrt})
    found = derivation.differentiate(replace(request, cotangents=True, keep=keep, name_template=template))
    rows = JacobianPass(
        inputs=tuple(found.cotangents.values()),
        like=tuple(found.cotangents),
        results=tuple(found.gradients.values()),
        chunk=user_request.chunk_size or 0,
        strict_ieee=derivation.options.strict_ieee,
    )
    derivation.run(rows)
    return {
        (of, wrt): _Block(f"{result}_{cotangent}", (of, wrt))
        for of, cotangent in found.cotangents.items()
        for wrt, result in found.gradients.items()
    }


def _forward(derivation: Derivation, user_request: JacobianRequest) -> dict[tuple[str, str], _Block]:
    """Compute all columns; return the blocks by the names of `of` and `wrt`."""
    once, twice = transpose(derivation, keep_tangents=True)
    columns = JacobianPass(
        inputs=tuple(twice.cotangents[gradient] for gradient in once.gradients.values()),
        like=tuple(once.gradients),
        results=tuple(twice.gradients[cotangent] for cotangent in once.cotangents.values()),
        columns=True,
        chunk=user_request.chunk_size or 0,
        strict_ieee=derivation.options.strict_ieee,
    )
    derivation.run(columns)
    return {
        (of, wrt): _Block(f"{twice.gradients[cotangent]}_{twice.cotangents[gradient]}", (gradient, cotangent))
        for of, cotangent in once.cotangents.items()
        for wrt, gradient in once.gradients.items()
    }
