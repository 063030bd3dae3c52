"""The compiler driver: source to module, module through the pipeline, module to model."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline

import dialects
from dialects.onednn.convolution import ConvolutionBackwardDataOp
from dialects.support import entry
from dialects.support.attributes import documented_attributes
from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    UsageError,
    nearest,
    sentence,
)
from dialects.support.findings import together
from dialects.support.flat import flat, restored
from dialects.support.interfaces import collect_remarks
from dialects.support.limits import Limits, using
from dialects.support.spelling import option
from gradc.base import arguments
from gradc.base.collector import rare_collections
from gradc.checking.samples import check_runnable
from gradc.compiler.edited import blamed_on_edits
from gradc.compiler.opaque_nodes import blamed_on_nodes
from gradc.faults import crash
from gradc.faults.recipes import CHOICE, MODEL, SESSION, Recipe
from gradc.graph.constants import bind_constants
from gradc.graph.printing import whole
from gradc.graph.run_time_sizes import RunTimeSizes
from gradc.graph.tensors import TensorInfo
from gradc.graph.unused import drop_unused_inputs, unused_remarks
from gradc.model.tensors import input_infos, output_infos
from gradc.runtime.carried_graph import metadata
from gradc.terminal import progress
from gradc.terminal.notes import quoting_errors
from gradc.tuning.request import BUDGET, TuningRequest
from passes import pipelines
from passes.infer_types import settle_readings
from passes.kernels import TARGETS
from passes.kernels.target import Target
from passes.registry import all_passes
from passes.select_strategy import AUTO, SelectStrategyPass, find_strategy, unused_choices
from passes.size_checks.writer import write_checks

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto
    from gradc.runtime.session import Ep, Session
    from gradc.tuning.tuner import Tuner


AUTO_PAD_RULES = documented_attributes(ConvolutionBackwardDataOp)["auto_pad_rule"].spec.words


FLAGS = ("strict", "strict_ieee", "drop_unused_inputs", "checked")
"""The options that are True or False."""


@dataclass(frozen=True)
class Options:
    """What a compilation is asked for. Raises UsageError for a value that no graph could accept."""

    target: str = "cpu"
    opset: int | None = None
    strategy: str = AUTO
    auto_pad_rule: str | None = None
    strict: bool = False
    threads: int | None = None
    limits: Limits | None = None
    strict_ieee: bool = False
    drop_unused_inputs: bool = False
    checked: bool = False

    def __post_init__(self) -> None:
        from gradc.runtime.session import checked_opset, checked_threads

        arguments.word("target", self.target, TARGETS)
        if self.auto_pad_rule is not None:
            arguments.word("auto_pad_rule", self.auto_pad_rule, AUTO_PAD_RULES)
        if not isinstance(self.strategy, str):
            raise arguments.refused("strategy", self.strategy, "auto or the name of a strategy")
        find_strategy(self.strategy)
        if not isinstance(self.limits, Limits | None):
            raise arguments.refused("limits", self.limits, "a gradc.Limits")
        plain = {name: arguments.flag(name, getattr(self, name)) for name in FLAGS}
        numbers = {"opset": checked_opset(self.opset), "threads": checked_threads(self.threads)}
        for name, value in (plain | numbers).items():
            object.__setattr__(self, name, value)

    def resolved(self) -> Target:
        return Target.of(self.target, self.opset, self.threads, self.strict_ieee)

    @property
    def pipeline(self) -> str:
        return pipelines.lower(self.resolved(), self.spelled_strategy)

    @property
    def spelled_strategy(self) -> str:
        return self.strategy.replace("_", "-")


def _usage(what: str, given: object, expected: str, hint: str = "") -> UsageError:
    return UsageError(Diagnostic("error", sentence(what, given, expected, hint)))


@dataclass(frozen=True)
class Stage:
    """The module before the pipeline (`after` is None) or after a pass, as an observer sees it.

    `seconds` is what the pass and the verification after it took.
    """

    module: ModuleOp
    after: ModulePass | None = None
    seconds: float = 0.0


Observer = Callable[[Stage], None]


@dataclass(frozen=True, eq=False, repr=False)
class Compiled:
    """A compiled graph: `model` is the ONNX model, `remarks` what the reader should know."""

    model: ModelProto
    remarks: tuple[Diagnostic, ...]
    source: ModuleOp
    """The source module with constants bound: what the model means."""

    module: ModuleOp
    """The module of ONNX ops from which the model was written."""

    options: Options

    @cached_property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Name, dtype and shape of each input, in order."""
        return tuple(input_infos(self.model))

    @cached_property
    def outputs(self) -> tuple[TensorInfo, ...]:
        return tuple(output_infos(self.model))

    @cached_property
    def dropped_inputs(self) -> tuple[str, ...]:
        """The inputs of the graph that the model does not have, because it would read nothing of them."""
        kept = {info.name for info in self.inputs}
        names = entry.input_names(entry.entry_function(self.source))
        return tuple(name for name in names if name not in kept)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, whole or not at all; weights beyond 2 GB go to a `.data` file beside it."""
        from gradc.model.saving import save_model

        with self._blamed_on_edits():
            save_model(self.model, arguments.path("path", path))

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        ep: Ep | None = None,
        threads: int | None = None,
    ) -> dict[str, np.ndarray]:
        """The outputs by name, on onnxruntime; bfloat16 in and out is ml_dtypes'.

        An input of the graph that was left out of the model may be given all the same.
        `ep` defaults to the target's execution provider, `threads` to what the model was compiled for.
        Raises GradcError, as a compilation does, for sizes that the graph cannot have.
        """
        return self.session(ep, threads).run(self._read(_by_name("inputs", inputs)))

    def _read(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What is given, without what the model does not have."""
        return {name: array for name, array in given.items() if name not in self.dropped_inputs}

    def reference(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the outputs should be, by name: the source executed with numpy, slowly and exactly."""
        from gradc.checking.verify import in_order, reference

        function = entry.entry_function(self.source)
        with using(self.options.limits):
            check_runnable(self.source)
            given = _by_name("inputs", inputs)
            self._sizes.checked_inputs(self.inputs, self._read(given))
            arrays = in_order(self.source, self.inputs, given)
            self._sizes.check(dict(zip(entry.input_names(function), arrays, strict=True)))
            expected = reference(self.source, arrays)
        return dict(zip(entry.output_names(function), expected, strict=True))

    def session(self, ep: Ep | None = None, threads: int | None = None) -> Session:
        """The onnxruntime session that `run` uses; made once per provider and thread count."""
        from gradc.runtime.session import Session, checked_ep, checked_threads, ep_of

        with using(self.options.limits):
            check_runnable(self.module)
        provider = ep_of(self.options.target) if ep is None else checked_ep(ep)
        count = checked_threads(threads) or self.options.resolved().threads
        key = (provider, count)
        if key not in self._sessions:
            options = asdict(self.options) | {"threads": count}
            recipe = Recipe(SESSION, "onnxruntime, which refuses the model", options=options, ep=provider)
            written = crash.reproducer(recipe, lambda: whole(self.module))
            with self._blamed_on_edits(), written, blamed_on_nodes(self.module):
                self._sessions[key] = Session(self.model, ep=provider, threads=count, sizes=self._sizes)
        return self._sessions[key]

    def __repr__(self) -> str:
        edge = f"{', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}"
        target = self.options.resolved()
        count = len(self.model.graph.node)
        nodes = "1 node" if count == 1 else f"{count} nodes"
        return f"<gradc.Compiled {edge}; {nodes}, {target.name}, opset {target.opset}>"

    def _repr_html_(self) -> str:
        from gradc.drawing.notebook import compiled_html

        return compiled_html(self.module, self.inputs, self.outputs, self.options.resolved(), self.remarks)

    def __getstate__(self) -> dict[str, Any]:
        """What it takes to be the same elsewhere: sessions are made anew there."""
        state = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return state | {"source": flat(self.source), "module": flat(self.module)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        modules = {name: restored(state[name]) for name in ("source", "module")}
        self.__dict__.update(state | modules)

    def _blamed_on_edits(self) -> AbstractContextManager[None]:
        return blamed_on_edits(self.model, self.module, self.options.resolved().opset)

    @cached_property
    def _sizes(self) -> RunTimeSizes:
        return RunTimeSizes(self.source, self.options.strict, self.options.limits)

    @cached_property
    def _sessions(self) -> dict[tuple[str, int], Session]:
        return {}


@quoting_errors()
def compile(
    source: Any,
    target: str = "cpu",
    opset: int | None = None,
    constants: Any = None,
    strategy: str = AUTO,
    auto_pad_rule: str | None = None,
    strict: bool = False,
    threads: int | None = None,
    tune: bool = False,
    tuning_file: str | os.PathLike[str] | None = None,
    tune_budget: float = BUDGET,
    shapes: Mapping[str, Sequence[int]] | None = None,
    limits: Limits | None = None,
    strict_ieee: bool = False,
    drop_unused_inputs: bool = False,
    checked: bool = False,
) -> Compiled:
    """Compile a graph to a plain ONNX model.

    source: a path (JSON or MLIR text), a parsed JSON document, a `gradc.Graph` or an xDSL module.
    target: `cpu`, `cuda`, or `portable`: for other runtimes as well as the CPU.
    opset: 13 and newer, default 18.
    constants: input name -> array, or the path of an .npz: these inputs become initializers.
    strategy: `auto`, or the name of one lowering, which is then used or refused with its reason.
    auto_pad_rule: `documented` or `library` for every op; default: the op's own, else what the source
    form implies.
    strict: contradictions that are remarks otherwise become errors.
    threads: what to optimise for, the threads within an op; default: the cores this process may use.
    tune: measure the strategies for each gradient on this machine, for up to tune_budget seconds, and
    use the fastest. Measurements are kept in a cache, or in the tuning_file.
    tuning_file: also used without `tune`.
    shapes: sizes of inputs, by name, that are unknown otherwise, for `tune`.
    limits: a `gradc.Limits`, for what is larger than gradc goes up to by default (docs/limits.md).
    checked: the model itself fails, on any runtime, for run-time sizes that the graph cannot have
    (docs/inputs.md); `Compiled.run` and `gradc run` refuse them without that.
    strict_ieee: no strategy that may turn an inf into a NaN through a zero of its own (docs/numbers.md).
    drop_unused_inputs: leave out of the model what it reads nothing of, such as an image that only says a
    size known already. Without it every input of the graph is one of the model, and a remark names those.

    Raises GradcError, whose text is the diagnostic line, for anything wrong with the graph.
    """
    request = TuningRequest(tune, tuning_file, tune_budget, {} if shapes is None else shapes)
    request.check_shapes_are_used()
    threads = request.threads(threads)
    options = Options(
        target,
        opset,
        strategy,
        auto_pad_rule,
        strict,
        threads,
        limits,
        strict_ieee=strict_ieee,
        drop_unused_inputs=drop_unused_inputs,
        checked=checked,
    )
    with using(limits):
        tuner = request.tuner(options.resolved())
        return compile_module(load(source, auto_pad_rule), options, constants, tuner=tuner)


def load(source: Any, auto_pad_rule: str | None = None) -> ModuleOp:
    """The module of a source, verified, under an `auto_pad_rule` for all ops if one is given.

    Importers are told the rule, because a document may be valid under one rule only.
    """
    if isinstance(source, str | os.PathLike):
        from gradc.importers import import_file

        return import_file(source, auto_pad_rule)
    if isinstance(source, Mapping):
        from gradc.importers.onednn_json import import_document

        with crash.import_reproducer(lambda: json.dumps(source, default=str), "json", auto_pad_rule):
            return import_document(source, auto_pad_rule)
    from gradc.builder.graph import Graph
    from gradc.graph.checks import check_graph

    if not isinstance(source, ModuleOp | Graph):
        expected = "a path, a JSON document (dict), a gradc.Graph or a module"
        raise _usage(option("source"), type(source).__name__, expected)
    module = source.clone() if isinstance(source, ModuleOp) else source.unverified_module()
    check_graph(module, auto_pad_rule)
    return module


@rare_collections()
def compile_module(
    module: ModuleOp,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
    tuner: Tuner | None = None,
) -> Compiled:
    """`compile` for a module that is ours to change."""
    from gradc.model.exporter import export

    if constants is not None:
        bind_constants(module, constants_of(constants))
    _write_names_down(module)
    settle_readings(module)
    source = module.clone()
    remarks = _run(module, _passes(options), options, observer, tuner, start=source)
    target = options.resolved()
    if options.checked:
        write_checks(module, source, target)
    remarks += _settle_unused_inputs(module, options)
    again = f"gradc compile --target {target.name} --opset {target.opset} THIS_FILE -o model.onnx"
    recipe = Recipe(MODEL, "the exporter", options=asdict(options))
    with crash.reproducer(recipe, lambda: whole(module), again):
        model = export(
            module, opset=target.opset, metadata={"gradc.pipeline": options.pipeline} | metadata(source)
        )
    return Compiled(model, remarks, source, module, options)


def constants_of(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, str | os.PathLike):
        return _by_name("constants", given)
    from gradc.files.npz import read_npz

    return read_npz(arguments.path("constants", given))


def _by_name(what: str, given: Any) -> Mapping[str, Any]:
    return arguments.mapping(what, given, "a mapping from names to arrays")


def lower(
    module: ModuleOp,
    options: Options,
    observer: Observer | None = None,
    stop_after: str | None = None,
    tuner: Tuner | None = None,
) -> tuple[Diagnostic, ...]:
    """Run the pipeline over a module, in place; the remarks of its source ops, and on their strategies.

    Before strategies are selected, the tuner writes down which of them the gradients get. Anything but a
    GradcError is our fault and becomes an InternalError with a crash reproducer.
    """
    pipeline = _passes(options)
    if stop_after is not None:
        pipeline = _until(pipeline, stop_after)
    _write_names_down(module)
    remarks = _run(module, pipeline, options, observer, tuner, start=module.clone())
    return remarks if stop_after else (*remarks, *_settle_unused_inputs(module, options))


def _settle_unused_inputs(module: ModuleOp, options: Options) -> tuple[Diagnostic, ...]:
    """Drop them, or remark on them."""
    if not options.drop_unused_inputs:
        return tuple(unused_remarks(module))
    drop_unused_inputs(module)
    return ()


def _passes(options: Options) -> tuple[ModulePass, ...]:
    return PassPipeline.parse_spec(all_passes(), options.pipeline).passes


def to_gradients(module: ModuleOp, options: Options) -> tuple[Diagnostic, ...]:
    """`lower` up to where strategies are selected."""
    spec = pipelines.to_grad(options.resolved(), options.spelled_strategy)
    _write_names_down(module)
    pipeline = PassPipeline.parse_spec(all_passes(), spec).passes
    return _run(module, pipeline, options, start=module.clone())


@rare_collections()
def _run(
    module: ModuleOp,
    pipeline: Sequence[ModulePass],
    options: Options,
    observer: Observer | None = None,
    tuner: Tuner | None = None,
    *,
    start: ModuleOp,
) -> tuple[Diagnostic, ...]:
    """The module is verified at the end, and after each pass if somebody watches; `start` is a clone of
    it, from which a failing pass is found."""
    ctx = dialects.context()
    first, last = 0, len(pipeline) - 1
    remarks: tuple[Diagnostic, ...] = ()
    if observer is not None:
        observer(Stage(module))
    for index, pass_ in enumerate(pipeline):
        progress.show(index, len(pipeline), pass_.name)
        if isinstance(pass_, SelectStrategyPass):
            remarks += _choose(module, options, tuner)
            start, first = (module.clone(), index) if tuner else (start, first)
        begun = time.perf_counter()
        with crash.pass_reproducer(start, pipeline[first:], index - first):
            pass_.apply(ctx, module)
            if observer is not None or index == last:
                module.verify()
        seconds = time.perf_counter() - begun
        if pass_.name == "infer-types":
            remarks = _remarks(module, options.strict)
        if observer is not None:
            observer(Stage(module, pass_, seconds))
    return remarks


def _choose(module: ModuleOp, options: Options, tuner: Tuner | None) -> tuple[Diagnostic, ...]:
    measures = tuner is not None and tuner.measure is not None
    recipe = Recipe(CHOICE, "the choice of strategies", options=asdict(options), tune=measures)
    with crash.reproducer(recipe, lambda: whole(module)):
        return choose(module, options, tuner)


def choose(module: ModuleOp, options: Options, tuner: Tuner | None) -> tuple[Diagnostic, ...]:
    """Write the tuner's choices down; remarks on them, and on those of the source that go unused."""
    target = options.resolved()
    remarks = [] if tuner is None else tuner.tune(module, target, find_strategy(options.strategy))[1]
    return (*remarks, *unused_choices(module, target))


def _write_names_down(module: ModuleOp) -> None:
    """Make the public names attributes: what passes insert may take the names of values."""
    function = entry.entry_function(module)
    entry.set_names(function, entry.input_names(function), entry.output_names(function))


def _until(pipeline: tuple[ModulePass, ...], name: str) -> tuple[ModulePass, ...]:
    names = [pass_.name for pass_ in pipeline]
    name = name.replace("_", "-")
    if name not in names:
        known = list(dict.fromkeys(names))
        raise _usage(option("stop_after"), name, f"one of {', '.join(known)}", nearest(name, known))
    return pipeline[: names.index(name) + 1]


def _remarks(module: ModuleOp, strict: bool) -> tuple[Diagnostic, ...]:
    found = tuple(collect_remarks(list(module.walk())))
    contradictions = [remark.with_severity("error") for remark in found if remark.strict]
    if strict and contradictions:
        raise together([GradcError(diagnostic) for diagnostic in contradictions])
    return found
