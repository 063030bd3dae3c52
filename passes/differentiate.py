"""The gradient of a function of ONNX ops, by the pipeline DIFFERENTIATE of passes/pipelines.py."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline

from passes import pipelines
from passes.autodiff.common.primal import Rule
from passes.autodiff.pin_values import PinValuesPass
from passes.autodiff.preparation import NormalizeBranchesPass
from passes.autodiff.session import Session, in_session
from passes.autodiff.stop_gradient import StopGradientPass
from passes.autodiff.vjp_pass import NAME_TEMPLATE, VjpPass
from passes.registry import all_passes


@dataclass(frozen=True)
class Request:
    """A gradient request: by default the only float result by every float input.

    `keep`: values to return before the gradients. `stop_gradient`: values through which no gradient flows.
    Others: as those of `vjp` (passes/autodiff/vjp_pass.py).
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
    stop_gradient: Sequence[str] = ()

    def passes(self, session: Session, *, strict_ieee: bool = False) -> tuple[ModulePass, ...]:
        """Return the passes that write the gradient."""
        vjp = VjpPass(
            self.cotangents,
            self.reduce,
            self.allow_unused,
            self.weights_as_inputs,
            self.name_template,
            self.straight_through,
            strict_ieee,
            tuple(self.optional),
        )
        values = PinValuesPass(tuple(self.of), tuple(self.wrt), tuple(self.keep))
        branches = NormalizeBranchesPass((*values.of, *values.keep, *values.wrt))
        stops = StopGradientPass(tuple(self.stop_gradient))
        own: dict[str, ModulePass] = {pass_.name: pass_ for pass_ in (stops, branches, values, vjp)}
        spec = pipelines.differentiate(straight_through=self.straight_through, strict_ieee=strict_ieee)
        passes = PassPipeline.parse_spec(all_passes(), spec).passes
        return tuple(in_session(own.get(pass_.name, pass_), session) for pass_ in passes)


def differentiate(
    module: ModuleOp,
    request: Request,
    *,
    strict_ieee: bool = False,
    rules: Mapping[str, Rule] | None = None,
    record: bool = False,
) -> Session:
    """Replace the module's function by its gradient; return the names of new results and inputs.

    `rules`: the user's rules by qualified op type, such as `com.example.Ramp`. `record`: also return a copy
    of the module in which every step of the walk can be checked.

    Raises UsageError for an invalid request, UnsupportedError for all active ops without a derivative.
    """
    session = Session({} if rules is None else rules, record)
    for pass_ in request.passes(session, strict_ieee=strict_ieee):
        pass_.apply(Context(), module)
    return session
