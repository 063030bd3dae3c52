"""`gradc.jacobian`: all partial derivatives of a result, in one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from xdsl.dialects.builtin import ModuleOp

from dialects.support import entry
from dialects.support.limits import using
from gradc.compiler.compiled import Compiled, Derivative
from gradc.compiler.driver import load
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.options import DerivativeOptions, split, takes
from gradc.derivatives.request import GradientRequest
from gradc.util import arguments
from gradc.verification.written_forms import WrittenBlocks
from passes.autodiff.vjp_pass import check_names
from passes.vectorize.jacobian_pass import JacobianPass

MODES = ("auto", "forward", "reverse")


class JacobianOptions(DerivativeOptions, total=False):
    """Options of `jacobian`."""

    mode: str
    per_sample: bool
    batch_axis: Mapping[str, int | None] | None


@dataclass(frozen=True)
class JacobianRequest(GradientRequest):
    """Options of a Jacobian: `mode` is that of the smaller side for `auto`."""

    mode: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.one_of("mode", self.mode, MODES)

    @property
    def row_passes(self) -> tuple[str, ...]:
        return ("jacobian", *self.sample_passes)


@takes(JacobianOptions, JacobianRequest)
def jacobian(model: Any, **given: Unpack[JacobianOptions]) -> Compiled:
    """Return the Jacobian, with a result `jacobian_<of>_<wrt>` of shape [*of, *wrt] for each `of` and `wrt`.

    mode: `reverse` computes the rows, from cotangents; `forward` the columns, from tangents; `auto` what has
    fewer elements.
    per_sample: one Jacobian for each sample of the batch, [N, *of, *wrt] without the batch axes of `of` and
    `wrt`; `batch_axis` as for `grad`. Other arguments as for `grad`.
    """
    request, options, constants = split(given, JacobianRequest)
    with using(options.limits):
        module = load(model, for_gradients=tuple(request.rules or ()))
        return jacobian_of(module, request, options, constants)


def jacobian_of(
    module: ModuleOp,
    user_request: JacobianRequest,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
) -> Compiled:
    """Return the Jacobian of a module, which is modified."""
    derivation = Derivation.begin(module, user_request, options, constants, observer)
    return _reverse(derivation, user_request)


def _reverse(derivation: Derivation, user_request: JacobianRequest) -> Compiled:
    module = derivation.module
    request = user_request.request(module)
    of = user_request.of_names(module)
    keep = list(dict.fromkeys([*request.keep, *of]))
    inputs = entry.input_names(entry.entry_function(module))
    found = derivation.differentiate(replace(request, cotangents=True, keep=keep))
    rows = JacobianPass(
        inputs=tuple(found.cotangents.values()),
        like=tuple(found.cotangents),
        results=tuple(found.gradients.values()),
        strict_ieee=derivation.options.strict_ieee,
    )
    derivation.run(rows)
    derivation.drop_results(set(keep) - set(request.keep))
    blocks = {
        (one, wrt): (
            f"{result}_{cotangent}",
            user_request.name_template.format(what="jacobian", name=f"{one}_{wrt}"),
        )
        for one, cotangent in found.cotangents.items()
        for wrt, result in found.gradients.items()
    }
    names = {key: new for key, (_, new) in blocks.items()}
    check_names(list(names.values()), [*inputs, *request.keep])
    derivation.rename({}, dict(blocks.values()))
    derivatives = [Derivative(name, "jacobian", (of,), (wrt,)) for (of, wrt), name in names.items()]
    by = {wrt: name for (_, wrt), name in names.items()} if len(found.of) == 1 else {}
    return derivation.finish(WrittenBlocks(by, {}, blocks=names), derivatives)
