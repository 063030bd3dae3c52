"""`gradc.train_step`: a training step of a model as plain ONNX models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from dialects.onnx.ops import BatchNormalizationOp
from dialects.support import entry
from dialects.support.diagnostics import Diagnostic
from dialects.support.option_names import renaming
from gradc.compiler.compiled import Compiled, Derivative
from gradc.compiler.driver import compile_module, constants_of
from gradc.compiler.exported_program import ExportedProgram
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer, parse, run_passes
from gradc.compiler.untied_weights import untie_weights
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.module import prepare
from gradc.derivatives.options import derive, takes
from gradc.derivatives.request import REQUIRED, GradientRequest
from gradc.derivatives.results import edge_names
from gradc.graph.renaming import rename_weights
from gradc.graph.unused import unused_remarks
from gradc.losses.remarks import value_remarks
from gradc.model.ordered_updates import order_updates
from gradc.model.split_model import without_initializers
from gradc.training.ambiguities import find_ambiguities
from gradc.training.check import check_updates
from gradc.training.evaluation import compile_evaluation, compile_inference, inference_form
from gradc.training.merging import as_data
from gradc.training.options import TRAINABLE, TrainOptions, TrainRequest, names_of
from gradc.training.source import describe_source
from gradc.training.step import APPLY, EVALUATION, GRADIENTS, MODEL, STEP, TrainStep
from gradc.training.terms import take_declared_ranks, terms_of
from gradc.training.unexported import find_details, find_unexported
from gradc.verification.gradient_spec import Written
from gradc.verification.proof import Proof
from passes.autodiff.session import Session
from passes.training.accumulate import MEAN, AccumulatePass, mean_of_sums
from passes.training.attach_loss import LOSS, AttachLossPass
from passes.training.dropout import SEED, dropout_remarks
from passes.training.lora import Adapter, LoraPass
from passes.training.recompute import RecomputePass
from passes.training.write_optimizer import LR, NEW, WriteOptimizerPass
from passes.training.write_optimizer import STEP as STEP_NUMBER

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto

SCALARS = {LR: "float32", STEP_NUMBER: "int64", SEED: "int64"}
"""Inputs of a step that are scalars, with their dtypes."""

RANKS = "unpack-sequences,normalize-loops,normalize-sequences"
"""Passes that give values shapes, which losses need."""

OPTION_NAMES = {"wrt": "trainable"}
"""Option of a gradient -> option of a training step."""


@takes(TrainOptions, TrainRequest, returns=TrainStep, trainable=TRAINABLE)
def train_step(model: Any, **given: Unpack[TrainOptions]) -> TrainStep:
    """Return a training step of a model: batch, labels, parameters and states in; loss and new ones out.

    model: as for `grad`.
    loss: a loss of `gradc.losses`, a mapping from values to losses or pairs of a loss and its weight, a
    function of `gradc.ops` values, or a second model.
    optimizer: an optimizer of `gradc.optim`.
    of: names of the values that the loss reads; default: the float outputs.
    trainable: names of weights, patterns, or `:weights`, the default: all trainable weights
    (docs/weights.md).
    frozen: names and patterns that are not trained.
    untie: give each reader of a shared weight a separate one. Uniform weights that several ops share (all
    ones or zeros, which exporters merge) are untied in any case.
    keep_outputs: `none`, `of`, `all`, or names of values that are also results, after the loss.
    batchnorm: `train` (default): statistics of the batch, and updated running statistics; `eval`: the
    running ones; None: as the file says.
    dropout: `hashed` (default): a mask from an int64 scalar input `seed`; `off`; `keep`: as the file says.
    groups: `gradc.optim.Group`s with other options for some parameters.
    no_decay: names and patterns of parameters without weight decay.
    clip: largest global norm of the gradients.
    ema: decay of a moving average of the parameters, the states `<parameter>.ema`.
    lr: a schedule of `gradc.optim`; default: the step has an input `lr`, a float32 scalar.
    accumulate: number of parts of a batch whose gradients are added up before an update; the step is then two
    models, `gradients` and `apply`.
    in_place: let the new parameters and states be written to the memory of the old ones.
    recompute: keep few activations, and compute the others again in the backward pass: less memory, slower.
    lora: names and patterns of matrices that get low-rank adapters, `<weight>.lora_a` and `<weight>.lora_b`
    of the given rank, times alpha / rank (default 1); by default only these train.
    straight_through, stop_gradient, constants, static_shapes, rebatch, rules, kernels: as for `grad`.
    check, check_seconds: as for `grad`, of the gradients; one run of the step is compared with a numpy
    reference of the optimizer.
    target, opset, threads, strict_ieee, limits: as for `compile`.
    rename: name of an input, output or weight of the model -> new name.

    Raises GradcError as `grad`, and for a model with values named as inputs of the step.
    """
    options: dict[str, Any] = {**given, "wrt": given.get("trainable", TRAINABLE), "weights": REQUIRED}
    options.pop("trainable", None)
    source = describe_source(model)
    with renaming(OPTION_NAMES):
        return derive(model, options, TrainRequest, train_step_of).with_facts(source=source)


def train_step_of(
    module: ModuleOp,
    user_request: TrainRequest,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
) -> TrainStep:
    """Return the training step of a module, which is modified."""
    names, bound = edge_names(module), None if constants is None else constants_of(constants)
    module = prepare(module, user_request, options, bound, observer)
    left = {old: new for old, new in (user_request.rename or {}).items() if old not in names}
    rename_weights(module, left)
    run_passes(module, parse(RANKS), options, observer, start=module.clone())
    untied = {} if user_request.untie else untie_weights(module, uniform_only=True)
    trained, adapters = names_of(user_request.wrt), list[Adapter]()
    if user_request.lora:
        adapters = _add_adapters(module, user_request, options, observer)
        names_of_adapters = [name for one in adapters for name in (one.a, one.b)]
        trained = names_of_adapters if trained == (TRAINABLE,) else trained
    function = entry.entry_function(module)
    take_declared_ranks(function)
    outputs, batch = entry.output_names(function), entry.input_names(function)
    terms = terms_of(user_request.loss, user_request.of, function)
    plain = module.clone()
    run_passes(module, [AttachLossPass(tuple(terms))], options, observer, start=plain)
    labels = entry.input_names(entry.entry_function(module))[len(batch) :]
    of = list(dict.fromkeys(name for term in terms for name in term.of))
    request = user_request.with_loss(of, outputs, trained)
    with_loss, request = module.clone(), _for_ops_of(module, request)
    derivation = Derivation.of_prepared(module, (*names, *labels), request, options, observer)
    session = derivation.differentiate(request.request(derivation.module))
    source, program = entry.entry_function(plain), ExportedProgram.of_module(plain)
    remarks = [
        *value_remarks(source, terms),
        *find_ambiguities(plain, session.gradients, untied, all_weights=TRAINABLE in trained),
        *find_unexported(source, program, names_of(user_request.stop_gradient), user_request.batchnorm),
    ]
    details = find_details(source, program)
    writer = _Writer(
        user_request, options, observer, derivation, session, batch, labels, remarks, details, adapters
    )
    return writer.write(plain, with_loss)


def _add_adapters(
    module: ModuleOp, user_request: TrainRequest, options: Options, observer: Observer | None
) -> list[Adapter]:
    """Add low-rank adapters to a module, in place, and return them."""
    lora = LoraPass(names_of(user_request.lora), user_request.rank, user_request.alpha)
    adapters = lora.adapters(module)
    run_passes(module, [lora], options, observer, start=module.clone())
    return adapters


def _for_ops_of(module: ModuleOp, request: GradientRequest) -> GradientRequest:
    """Return the request without options for ops that the module does not have."""
    has_norm = any(isinstance(op, BatchNormalizationOp) for op in module.walk())
    drops = request.dropout != "hashed" or not dropout_remarks(entry.entry_function(module))
    return replace(
        request,
        batchnorm=request.batchnorm if has_norm else None,
        dropout=request.dropout if drops else "off",
    )


@dataclass
class _Writer:
    """The models of a training step, from the module of its gradients."""

    user_request: TrainRequest
    options: Options
    observer: Observer | None
    derivation: Derivation
    session: Session
    batch: Sequence[str]
    labels: Sequence[str]
    ambiguities: Sequence[Diagnostic]
    details: Sequence[Diagnostic]
    adapters: Sequence[Adapter] = ()

    def write(self, plain: ModuleOp, with_loss: ModuleOp) -> TrainStep:
        function = entry.entry_function(self.derivation.module)
        inputs = dict(zip(entry.input_names(function), (arg.type for arg in function.args), strict=True))
        types = {
            name: type_ for name in self.session.gradients if isinstance(type_ := inputs[name], TensorType)
        }
        optimizer, statistics = self._optimizer(), _statistics(function)
        compiled = self._compile([optimizer])
        models = {STEP: compiled, **self._models(plain, with_loss, [*types, *statistics])}
        if self.user_request.accumulate:
            models |= self._accumulation(types, optimizer)
        proof, remarks = self._check(compiled, optimizer)
        weights = {name: compiled.weights[name] for name in (*types, *statistics)}
        facts = self._facts(types, statistics, optimizer, compiled)
        return TrainStep(
            {name: self._model(name, one, facts) for name, one in models.items()},
            {**weights, **optimizer.initial({name: weights[name] for name in types})},
            facts,
            (*_remarks(compiled), *self.derivation.remarks, *self.ambiguities, *self.details, *remarks),
            tuple(self.ambiguities),
            proof,
        )

    def _model(self, name: str, compiled: Compiled, facts: Mapping[str, Any]) -> ModelProto:
        if not self.user_request.in_place or name in (EVALUATION, MODEL):
            return compiled.model
        return order_updates(compiled.model, {**facts["updates"], **facts.get("gradients", {})})

    def _facts(
        self,
        types: Mapping[str, TensorType],
        statistics: Sequence[str],
        optimizer: WriteOptimizerPass,
        step: Compiled,
    ) -> dict[str, Any]:
        updates = {**optimizer.updates(types), **{name: NEW + name for name in statistics}}
        scalars, given = [LR, STEP_NUMBER, SEED], {info.name for info in step.inputs}
        kept = [*types, *statistics]
        facts: dict[str, Any] = {
            "updates": updates,
            "batch": list(self.batch),
            "labels": list(self.labels),
            "scalars": {name: SCALARS[name] for name in scalars if name in given},
            "outputs": [info.name for info in step.outputs if info.name not in updates.values()],
            "parameters": list(types),
            "statistics": list(statistics),
            "states": {one.name: one.as_data() for one in optimizer.states(types)},
            "evaluation": {name: name for name in kept},
            "export": {name: {"from": name} for name in kept},
            "in_place": self.user_request.in_place,
        }
        if self.adapters:
            facts["adapters"] = as_data(self.adapters)
        if self.user_request.accumulate:
            sums = {name: NEW + name for name in self.session.gradients.values()}
            facts |= {"accumulate": self.user_request.accumulate, "gradients": sums}
        return facts

    def _models(self, plain: ModuleOp, with_loss: ModuleOp, weights: Collection[str]) -> dict[str, Compiled]:
        """Return the models without gradients."""
        evaluation, inference = (self._inference(module, weights) for module in (with_loss, plain))
        origin = self.derivation.primal
        return {
            EVALUATION: compile_evaluation(evaluation, self.options, origin),
            MODEL: compile_inference(inference, self.options, origin),
        }

    def _optimizer(self) -> WriteOptimizerPass:
        given = self.user_request
        return WriteOptimizerPass(
            self.session.gradients, given.given_optimizer, given.all_groups, given.clip, given.ema, given.lr
        )

    def _compile(self, passes: Sequence[ModulePass], module: ModuleOp | None = None) -> Compiled:
        """Return the gradients, or another module, after some passes as a model whose weights are inputs."""
        module = self.derivation.module.clone() if module is None else module
        run_passes(module, passes, self.options, self.observer, start=module.clone())
        compiled = compile_module(
            module, self.options, origin=self.derivation.primal, final=self._final_passes()
        )
        return replace(compiled, parts=without_initializers(compiled.parts, compiled.weights))

    def _final_passes(self) -> Sequence[ModulePass]:
        if not self.user_request.recompute:
            return ()
        gradients = self.session.gradients.values()
        function = entry.entry_function(self.derivation.module)
        names, weights = entry.output_names(function), (*self.session.gradients, *_statistics(function))
        results = tuple(name for name in names if name not in gradients)
        target = self.options.resolve_target()
        batch = (*self.batch, *self.labels, SEED)
        return [RecomputePass(batch, weights, results, target.name, target.opset)]

    def _accumulation(
        self, types: Mapping[str, TensorType], optimizer: WriteOptimizerPass
    ) -> dict[str, Compiled]:
        """Return the model that adds up gradients, and the one that applies them."""
        gradients = self.session.gradients
        means = {name: MEAN + result for name, result in gradients.items()}
        module = mean_of_sums(types, gradients)
        sums = self._compile([AccumulatePass(tuple(gradients.values()))])
        return {GRADIENTS: sums, APPLY: self._compile([replace(optimizer, gradients=means)], module)}

    def _check(
        self, step: Compiled, optimizer: WriteOptimizerPass
    ) -> tuple[Proof | None, Sequence[Diagnostic]]:
        """Compile the gradients alone, and check them and the updates; return the proof and remarks."""
        if self.user_request.check is False:
            return None, ()
        gradients, known = self.session.gradients, (*step.remarks, *self.derivation.remarks)
        derivatives = [Derivative(result, "grad", (LOSS,), (name,)) for name, result in gradients.items()]
        found = self.derivation.finish(Written(gradients, {}), derivatives)
        unproved = [one for one in found.remarks if one not in known]
        return found.proof, [*unproved, *check_updates(step, found, optimizer, self.user_request)]

    def _inference(self, module: ModuleOp, weights: Collection[str]) -> ModuleOp:
        trains = self.user_request.batchnorm == "train"
        return inference_form(module, weights, self.options, self.observer, trains=trains)


def _statistics(function: FuncOp) -> list[str]:
    """Return the inputs that are running statistics with an updated result."""
    results = entry.state_names(function.res_attrs)
    return [name for name in entry.input_names(function) if NEW + name in results]


def _remarks(compiled: Compiled) -> list[Diagnostic]:
    """Return the remarks on a compiled step; not those on unused scalars, which every step has."""
    unused = set(unused_remarks(compiled.module))
    kept = [one for one in compiled.remarks if one not in unused]
    return [*kept, *unused_remarks(compiled.module, SCALARS)]
