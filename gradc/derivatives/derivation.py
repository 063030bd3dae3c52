"""A derivative in the making: steps that replace the function by its derivative, and what the check tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, kind_of
from dialects.support.option_names import option
from gradc.compiler.compiled import Compiled, Derivative
from gradc.compiler.driver import compile_module, constants_of
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer, run_passes
from gradc.derivatives.module import differentiate, prepare
from gradc.derivatives.request import REQUIRED, GradientRequest
from gradc.derivatives.results import edge_names
from gradc.derivatives.row_requests import SampleRequest
from gradc.derivatives.training import apply_training
from gradc.files.json_text import json_text
from gradc.graph.rebatching import check_new_size
from gradc.model.split_model import without_initializers
from gradc.model.weight_metadata import add_required
from gradc.verification.gradient_spec import Claim, Written
from gradc.verification.proof import Proof
from gradc.verification.written_forms import WrittenRows
from passes.autodiff.pin_values import set_results
from passes.autodiff.session import Session
from passes.builder.rewriting import drop_unread_nodes
from passes.builder.values import Builder
from passes.differentiate import Request
from passes.vectorize.jacobian_pass import JacobianPass
from passes.vectorize.samples_pass import PerSamplePass
from passes.vectorize.vectorize_pass import VectorizePass

if TYPE_CHECKING:
    from gradc.derivatives.samples import Samples


@dataclass
class Derivation:
    """A module that becomes its derivative in place, step by step.

    primal: the function to differentiate, in ONNX ops, with the requested names, constants and shapes.
    names: the inputs and outputs of the source. claims: each differentiation so far, for the check.
    """

    module: ModuleOp
    primal: ModuleOp
    names: Collection[str]
    user_request: GradientRequest
    options: Options
    observer: Observer | None = None
    claims: list[Claim] = field(default_factory=list[Claim])
    remarks: list[Diagnostic] = field(default_factory=list[Diagnostic])
    samples: Samples | None = None

    @classmethod
    def begin(
        cls,
        module: ModuleOp,
        user_request: GradientRequest,
        options: Options,
        constants: Any = None,
        observer: Observer | None = None,
    ) -> Derivation:
        """Prepare a source module, which is modified."""
        names, bound = edge_names(module), None if constants is None else constants_of(constants)
        module = prepare(module, user_request, options, bound, observer)
        return cls.of_prepared(module, names, user_request, options, observer)

    @classmethod
    def of_prepared(
        cls,
        module: ModuleOp,
        names: Collection[str],
        user_request: GradientRequest,
        options: Options,
        observer: Observer | None = None,
    ) -> Derivation:
        """Give a module in ONNX ops, which is modified, the form that is differentiated."""
        remarks = apply_training(module, user_request, options, observer)
        if not isinstance(user_request, SampleRequest) or not user_request.per_sample:
            return cls(module, module.clone(), names, user_request, options, observer, remarks=remarks)
        from gradc.derivatives.separate_samples import function_of_one_sample

        module, samples, more = function_of_one_sample(module, user_request)
        return cls(
            module,
            module.clone(),
            names,
            user_request,
            options,
            observer,
            remarks=[*remarks, *more],
            samples=samples,
        )

    def differentiate(self, request: Request) -> Session:
        """Replace the function by its gradient, whose cotangents are inputs or seeds."""
        function = self.module.clone() if self.claims else self.primal
        checked, rules = self.user_request.check is not False, self.user_request.rules
        found = differentiate(self.module, request, self.options, rules, self.observer, records=checked)
        self.remarks += found.remarks
        if found.differentiated is not None:
            how = (request.straight_through, request.reduce, request.stop_gradient)
            claim = Claim(function, found.differentiated, *how)
            self.claims.append(claim)
        return found

    def run(self, pass_: VectorizePass | JacobianPass | PerSamplePass) -> None:
        """Run a pass over the module, with a remark on the ops that it computes row by row."""
        run_passes(self.module, [pass_], self.options, self.observer, start=self.module.clone())
        if pass_.fallbacks:
            counts = Counter(map(kind_of, pass_.fallbacks))
            names = ", ".join(f"{count} {name}" for name, count in counts.items())
            self.remarks.append(Diagnostic("remark", f"computed row by row, in a Scan: {names}"))

    def vectorize(
        self, what: str, rows: int | str, inputs: Iterable[str], results: Iterable[str], written: Written
    ) -> WrittenRows:
        """Give inputs and results an axis of rows, which the option `what` requests; return the new form."""
        function = entry.entry_function(self.module)
        check_new_size(function, what, rows)
        shared = [name for name in entry.output_names(function) if name not in set(results)]
        self.run(VectorizePass(tuple(inputs), rows, tuple(shared), self.options.strict_ieee))
        count = rows if isinstance(rows, int) else None
        return WrittenRows(written.gradients, written.cotangents, rows=count)

    def keep_results(self, names: Sequence[str]) -> None:
        """Keep these results of the module, in this order, and what they need."""
        function = entry.entry_function(self.module)
        inputs = entry.input_names(function)
        named = dict(zip(entry.output_names(function), entry.return_op(function).arguments, strict=True))
        set_results(function, Builder(), [named[name] for name in names])
        entry.set_new_names(function, inputs, names)
        drop_unread_nodes(function)
        entry.update_function_type(function)

    def finish(
        self,
        written: Written,
        derivatives: Sequence[Derivative],
        cotangents: Mapping[str, str] | None = None,
        gradients: Mapping[str, str] | None = None,
    ) -> Compiled:
        """Rename, scale, compile and check the module; the last claim is that of the compiled model.

        Source value -> its cotangent or tangent input, and its derivative, if not those of `written`.
        """
        cotangents = written.cotangents if cotangents is None else cotangents
        gradients = written.gradients if gradients is None else gradients
        if self.samples is not None:
            per_sample = self.samples.pass_of(
                self.module, derivatives, cotangents, strict_ieee=self.options.strict_ieee
            )
            self.run(per_sample)
            written = self.samples.write_form(per_sample, written)
        results = [one.result for one in derivatives]
        names, factors = self.user_request.finish(self.module, results, self.names)
        written = replace(written.renamed(names), factors=factors)
        derivatives = [replace(one, result=names.get(one.result, one.result)) for one in derivatives]
        cotangents, gradients = (
            {key: names.get(name, name) for key, name in part.items()} for part in (cotangents, gradients)
        )
        compiled = compile_module(self.module, self.options, observer=self.observer, origin=self.primal)
        compiled = store_weights(compiled, self.user_request.weights)
        proof, remarks = self._check(compiled, written)
        remarks = (*compiled.remarks, *self.remarks, *remarks)
        entries: dict[str, Any] = {
            "gradc.cotangents": cotangents,
            "gradc.gradients": gradients,
            "gradc.derivatives": [one.as_data() for one in derivatives],
        }
        entries |= {"gradc.scales": dict(self.user_request.scale)} if self.user_request.scale else {}
        for key, value in entries.items():
            compiled.parts.proto.metadata_props.add(key=key, value=json_text(value))
        return replace(
            compiled,
            remarks=remarks,
            proof=proof,
            gradients=gradients,
            cotangents=cotangents,
            derivatives=tuple(derivatives),
        )

    def _check(self, compiled: Compiled, written: Written) -> tuple[Proof, Sequence[Diagnostic]]:
        if self.user_request.check is False:
            return Proof(reason=option("check", False)), ()
        from gradc.derivatives.check import check

        return check(self.claims, compiled, written, self.user_request)

    def rename(self, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> None:
        """Rename inputs and outputs of the module."""
        function = entry.entry_function(self.module)
        entry.set_names(
            function,
            [inputs.get(name, name) for name in entry.input_names(function)],
            [outputs.get(name, name) for name in entry.output_names(function)],
        )


def store_weights(compiled: Compiled, weights: str) -> Compiled:
    """Return the compiled graph, without the initializers of its weights if they are `required`."""
    if weights != REQUIRED or not compiled.weights:
        return compiled
    parts = without_initializers(compiled.parts, compiled.weights)
    add_required(parts.proto, compiled.weights)
    return replace(compiled, parts=parts)
