"""The compiler driver: source to module, module through the pipeline, module to model."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.exceptions import DiagnosticException

import dialects
import passes
from dialects.onednn.base import OneDNNConvOp
from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    UsageError,
    nearest,
    sentence,
)
from dialects.support.interfaces import collect_remarks
from gradc import crash
from gradc.constants import bind_constants
from gradc.tensors import TensorInfo, input_infos, output_infos
from passes import pipelines
from passes.kernels import TARGETS
from passes.select_strategy import AUTO, find_strategy
from passes.target import Target

if TYPE_CHECKING:
    from gradc.exporter import ModelProto
    from gradc.runtime import Ep, Session


AUTO_PAD_RULES = ("documented", "library")


@dataclass(frozen=True)
class Options:
    """What a compilation is asked for. Raises UsageError for a value that no graph could accept."""

    target: str = "cpu"
    opset: int | None = None
    strategy: str = AUTO
    auto_pad_rule: str | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        _check_word("target", self.target, TARGETS)
        if self.auto_pad_rule is not None:
            _check_word("auto_pad_rule", self.auto_pad_rule, AUTO_PAD_RULES)
        find_strategy(self.strategy)
        if self.opset is not None:
            from gradc.runtime import check_opset

            check_opset(self.opset)

    def resolved(self) -> Target:
        return Target(self.target) if self.opset is None else Target(self.target, self.opset)

    @property
    def pipeline(self) -> str:
        return pipelines.lower(self.resolved(), self.strategy.replace("_", "-"))


def _check_word(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        text = sentence(name, repr(given), f"one of {', '.join(known)}", nearest(str(given), known))
        raise UsageError(Diagnostic("error", text))


@dataclass(frozen=True)
class Stage:
    """The module before the pipeline (`after` is None) or after a pass, as an observer sees it.

    `seconds` is what the pass and the verification after it took.
    """

    module: ModuleOp
    after: ModulePass | None = None
    seconds: float = 0.0


Observer = Callable[[Stage], None]


@dataclass(frozen=True)
class Compiled:
    """A compiled graph: `model` is the ONNX model, `remarks` what the reader should know."""

    model: ModelProto
    remarks: tuple[Diagnostic, ...]
    source: ModuleOp = field(repr=False)
    """The source module with constants bound: what the model means."""

    module: ModuleOp = field(repr=False)
    """The module of ONNX ops from which the model was written."""

    options: Options = field(repr=False)

    @cached_property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Name, dtype and shape of each input, in order."""
        return tuple(input_infos(self.model))

    @cached_property
    def outputs(self) -> tuple[TensorInfo, ...]:
        return tuple(output_infos(self.model))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, whole or not at all; weights beyond 2 GB go to `<path>.data` beside it."""
        from gradc.files import save_model

        save_model(self.model, path)

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        ep: Ep | None = None,
        threads: int | None = None,
    ) -> dict[str, np.ndarray]:
        """The outputs by name, on onnxruntime; bfloat16 in and out is ml_dtypes'.

        `ep` defaults to the target's execution provider, `threads` to onnxruntime's choice.
        """
        return self.session(ep, threads).run(inputs)

    def session(self, ep: Ep | None = None, threads: int | None = None) -> Session:
        """The onnxruntime session that `run` uses; made once per provider and thread count."""
        from gradc.runtime import Session

        provider = ep or _provider(self.options.target)
        key = (provider, threads)
        if key not in self._sessions:
            self._sessions[key] = Session(self.model, ep=provider, threads=threads)
        return self._sessions[key]

    @cached_property
    def _sessions(self) -> dict[tuple[str, int | None], Session]:
        return {}


def _provider(target: str) -> Ep:
    return "cuda" if target == "cuda" else "cpu"


def compile(
    source: Any,
    target: str = "cpu",
    opset: int | None = None,
    constants: Any = None,
    strategy: str = AUTO,
    auto_pad_rule: str | None = None,
    strict: bool = False,
) -> Compiled:
    """Compile a graph to a plain ONNX model.

    source: a path (JSON or MLIR text), a parsed JSON document, a `gradc.Graph` or an xDSL module.
    target: `cpu` or `cuda`; opset: 13 and newer, default 18.
    constants: input name -> array, or the path of an .npz: these inputs become initializers.
    strategy: `auto`, or the name of one lowering, which is then used or refused with its reason.
    auto_pad_rule: `documented` or `library` for every op; default: the op's own, else what the source
    form implies. strict: contradictions that are remarks otherwise become errors.

    Raises GradcError, whose text is the diagnostic line, for anything wrong with the graph.
    """
    options = Options(target, opset, strategy, auto_pad_rule, strict)
    return compile_module(load(source, auto_pad_rule), options, constants)


def load(source: Any, auto_pad_rule: str | None = None) -> ModuleOp:
    """The module of a source, verified, under an `auto_pad_rule` for all ops if one is given."""
    module = _module_of(source)
    if auto_pad_rule is not None:
        for op in module.walk():
            if isinstance(op, OneDNNConvOp):
                op.properties["auto_pad_rule"] = StringAttr(auto_pad_rule)
    verify(module)
    return module


def _module_of(source: Any) -> ModuleOp:
    if isinstance(source, ModuleOp):
        return source.clone()
    if isinstance(source, str | os.PathLike):
        from gradc.importers import import_file

        return import_file(source)
    if isinstance(source, Mapping):
        from gradc.importers.onednn_json import import_document

        return import_document(source)
    from gradc.builder import Graph

    if isinstance(source, Graph):
        return source.module()
    text = sentence(
        "source", type(source).__name__, "a path, a JSON document (dict), a gradc.Graph or a module"
    )
    raise UsageError(Diagnostic("error", text))


def verify(module: ModuleOp) -> None:
    """Verify a user's module; what IRDL alone refuses becomes a GradcError."""
    try:
        module.verify()
    except GradcError:
        raise
    except DiagnosticException as error:
        raise GradcError(Diagnostic("error", str(error))) from None


def compile_module(
    module: ModuleOp,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
) -> Compiled:
    """`compile` for a module that is ours to change."""
    if constants is not None:
        bind_constants(module, _arrays(constants))
    source = module.clone()
    remarks = lower(module, options, observer)
    from gradc.exporter import export

    pipeline = options.pipeline
    model = export(module, opset=options.resolved().opset, metadata={"gradc.pipeline": pipeline})
    return Compiled(model, remarks, source, module, options)


def _arrays(constants: Any) -> Mapping[str, np.ndarray]:
    if isinstance(constants, Mapping):
        return constants
    from gradc.files import read_npz

    return read_npz(constants)


def lower(
    module: ModuleOp, options: Options, observer: Observer | None = None, stop_after: str | None = None
) -> tuple[Diagnostic, ...]:
    """Run the pipeline over a module, in place; the remarks of its source ops.

    The module is verified after every pass. Anything but a GradcError is our fault and becomes an
    InternalError with a crash reproducer.
    """
    ctx = dialects.context()
    pipeline = PassPipeline.parse_spec(passes.all_passes(), options.pipeline).passes
    if stop_after is not None:
        pipeline = _until(pipeline, stop_after)
    start = module.clone()
    remarks: tuple[Diagnostic, ...] = ()
    if observer is not None:
        observer(Stage(module))
    for index, pass_ in enumerate(pipeline):
        begun = time.perf_counter()
        with crash.reproducer(start, pipeline, index):
            pass_.apply(ctx, module)
            module.verify()
        seconds = time.perf_counter() - begun
        if pass_.name == "infer-types":
            remarks = _remarks(module, options.strict)
        if observer is not None:
            observer(Stage(module, pass_, seconds))
    return remarks


def _until(pipeline: tuple[ModulePass, ...], name: str) -> tuple[ModulePass, ...]:
    names = [pass_.name for pass_ in pipeline]
    if name not in names:
        known = list(dict.fromkeys(names))
        text = sentence("--stop-after", name, f"one of {', '.join(known)}", nearest(name, known))
        raise UsageError(Diagnostic("error", text))
    return pipeline[: names.index(name) + 1]


def _remarks(module: ModuleOp, strict: bool) -> tuple[Diagnostic, ...]:
    found = tuple(collect_remarks(list(module.walk())))
    for remark in found:
        if strict and remark.strict:
            raise GradcError(remark.with_severity("error"))
    return found
