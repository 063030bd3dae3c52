"""The compiler driver: source to module, module through the pipeline, module to model."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from dialects.support import entry
from dialects.support.diagnostics import Diagnostic, several, usage
from dialects.support.limits import Limits, using
from dialects.support.option_names import offer_parameters, option
from gradc.compiler.compiled import Compiled
from gradc.compiler.contributed_ops import explain_misspelt, misspelt_remarks, nonstandard_remarks
from gradc.compiler.default_opset import with_opset
from gradc.compiler.node_rewrites import rewrites_of
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer, parse, run_passes
from gradc.compiler.repeated_weights import duplicate_weight_remarks
from gradc.compiler.sizes import resize_inputs, validate_rebatch, validate_static_shapes
from gradc.compiler.source import Source
from gradc.compiler.source_errors import report_invalid_source, report_opaque_nodes
from gradc.compiler.source_metadata import foreign_metadata, required_weights
from gradc.crash_reports import crash
from gradc.crash_reports.recipes import MODEL, Recipe
from gradc.graph.constants import bind_constants
from gradc.graph.printing import module_text
from gradc.graph.renaming import rename_edges
from gradc.graph.unused import drop_unused_inputs, unused_remarks
from gradc.model.weight_metadata import CHANGED_KEY, add_required
from gradc.runtime.embedded_graph import metadata
from gradc.terminal.notes import quoting_errors
from gradc.tuning.request import BUDGET, TuningRequest
from gradc.util import arguments
from gradc.util.collector import rare_collections
from passes import pipelines
from passes.infer_types import resolve_readings
from passes.select_strategy import AUTO

if TYPE_CHECKING:
    from gradc.tuning.tuner import Tuner


@quoting_errors()
@offer_parameters
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
    rename: Mapping[str, str] | None = None,
    static_shapes: Mapping[str, Sequence[int]] | None = None,
    rebatch: int | str | None = None,
    record_pipeline: bool = False,
) -> Compiled:
    """Compile a graph to a plain ONNX model.

    source: a path (JSON, MLIR text or an ONNX model), a parsed JSON document, an `onnx.ModelProto`, a
    `gradc.Graph` or an xDSL module; or a list of paths of JSON files, parts of one graph.
    target: `cpu`, `cuda`, `openvino`, `tract`, or `portable`: for other runtimes as well as the CPU.
    opset: 13 and newer, default 18.
    constants: input name -> array, or the path of an .npz or .safetensors, or several: these inputs become
    initializers.
    strategy: `auto`, or the name of one lowering to use; an error gives the reason if it does not apply.
    auto_pad_rule: `documented` or `library` for every op; default: the op's own, else that of the source
    format.
    strict: make remarks on contradictions errors.
    threads: threads within an op to optimise for; default: the cores this process may use.
    tune: measure the strategies for each gradient on this machine, for up to tune_budget seconds, and
    use the fastest. Measurements are cached, or stored in the tuning_file.
    tuning_file: a file of measurements, also read without `tune`.
    shapes: input name -> sizes at which `tune` measures, for dynamic shapes.
    limits: a `gradc.Limits` that replaces the default limits (docs/limits.md).
    checked: let the model itself fail, on any runtime, for dynamic sizes that the graph cannot have
    (docs/inputs.md); `Compiled.run` and `gradc run` always reject them.
    strict_ieee: avoid lowerings that can turn inf into NaN (0 * inf); slower (docs/numbers.md).
    drop_unused_inputs: remove unused inputs, such as an image that only gives a size known already. By
    default they stay, and a remark names them.
    rename: name of an input or output -> new name, which `constants`, `shapes` and the model use. The names
    of JSON are `t<tensor id>`.
    static_shapes: input name -> sizes, for inputs with dynamic shapes.
    record_pipeline: write the passes into the model's metadata, as `gradc.pipeline`.
    rebatch: new batch for a source with a fixed one: a size, or a name for a dynamic size.

    Raises GradcError, whose text is the diagnostic line, for an invalid graph.
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
        record_pipeline=record_pipeline,
    )
    with using(limits):
        tuner = request.tuner(options.resolve_target())
        names = arguments.mapping("rename", {} if rename is None else rename, "a mapping from names to names")
        sizes, batch = validate_static_shapes(static_shapes), validate_rebatch(rebatch)
        module = resize_inputs(rename_edges(load(source, auto_pad_rule, target=target), names), batch, sizes)
        return compile_module(module, options, constants, tuner=tuner)


def load(
    source: Any,
    auto_pad_rule: str | None = None,
    *,
    for_gradients: Collection[str] | None = None,
    target: str = "cpu",
) -> ModuleOp:
    """Import and verify a source; a given `auto_pad_rule` applies to all ops.

    `for_gradients` are the ops with user rules, None if no gradient is taken; it and the target decide which
    ops of other domains are decomposed.
    """
    module = _import_source(source, auto_pad_rule, for_gradients, target)
    if for_gradients is not None:
        explain_misspelt(module)
    return module


def _import_source(
    source: Any, auto_pad_rule: str | None, for_gradients: Collection[str] | None, target: str
) -> ModuleOp:
    if arguments.is_path(source):
        from gradc.importers import import_file

        path, rewrites = arguments.path("source", source), rewrites_of(for_gradients, target)
        return import_file(path, auto_pad_rule, for_gradients=for_gradients, rewrites=rewrites)
    if isinstance(source, Source):
        own = for_gradients if source.for_gradients is None else source.for_gradients
        return source.transform(load(source.given, auto_pad_rule, for_gradients=own, target=target))
    if isinstance(source, list | tuple):
        from gradc.importers import import_files

        return import_files(_paths(source), auto_pad_rule)
    if isinstance(source, Mapping):
        from gradc.importers.onednn.reader import import_document

        with crash.import_reproducer(lambda: json.dumps(source, default=str), "json", auto_pad_rule):
            return import_document(source, auto_pad_rule)
    if type(source).__name__ == "ModelProto":
        from gradc.importers.onnx import import_onnx

        rewrites = rewrites_of(for_gradients, target)
        return import_onnx(source, for_gradients=for_gradients, rewrites=rewrites)
    from gradc.builder.graph import Graph
    from gradc.graph.checks import check_graph

    if not isinstance(source, ModuleOp | Graph):
        expected = "a path, a JSON document (dict), an onnx.ModelProto, a gradc.Graph or a module"
        hint = "its .model is one" if isinstance(source, Compiled) else ""
        raise usage(option("source"), type(source).__name__, expected, hint)
    module = source.clone() if isinstance(source, ModuleOp) else source.unverified_module()
    check_graph(module, auto_pad_rule)
    return module


def _paths(source: Sequence[Any]) -> Sequence[Any]:
    if not source:
        raise usage(option("source"), "an empty list", "a list of paths of JSON files")
    for path in source:
        if not arguments.is_path(path):
            raise usage(
                option("source"), f"a list with {type(path).__name__}", "a list of paths of JSON files"
            )
    return [arguments.path("source", path) for path in source]


@rare_collections()
def compile_module(
    module: ModuleOp,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
    tuner: Tuner | None = None,
    origin: ModuleOp | None = None,
    final: Sequence[ModulePass] = (),
) -> Compiled:
    """Compile a module, which is modified; `origin` is the module that has the user's names of weights.
    `final` are passes over the ONNX ops of the pipeline's end."""
    from gradc.model.changed_weights import find_changed_weights
    from gradc.model.exporter import export_parts

    options = _resolve_opset(options, module)
    if constants is not None:
        bind_constants(module, constants_of(constants))
    _set_public_names(module)
    resolve_readings(module)
    _write_bodies(module, options)
    source = module.clone()
    remarks = run_passes(module, parse(options.pipeline), options, observer, tuner, start=source)
    target = options.resolve_target()
    if options.checked:
        from passes.size_checks.writer import write_checks

        write_checks(module, source, target)
    if final:
        run_passes(module, final, options, observer, start=module.clone())
    remarks += _check_unused(module, options)
    remarks += _lost_defaults(source) + nonstandard_remarks(module, target) + misspelt_remarks(module)
    again = f"gradc compile --target {target.name} --opset {target.opset} THIS_FILE -o model.onnx"
    recipe = Recipe(MODEL, "the exporter", options=asdict(options))
    reproduced = crash.reproducer(recipe, lambda: module_text(module), again)
    with reproduced, report_opaque_nodes(module), report_invalid_source(source):
        parts = export_parts(
            module,
            opset=target.opset,
            metadata=foreign_metadata(source) | _pipeline(options) | metadata(source),
        )
    known = source if origin is None else origin
    remarks += duplicate_weight_remarks(known, module)
    if changed := find_changed_weights(known, module, parts):
        parts.proto.metadata_props.add(key=CHANGED_KEY, value=json.dumps(changed))
    inputs = entry.input_names(entry.entry_function(module))
    add_required(parts.proto, [name for name in required_weights(known) if name in inputs])
    return Compiled(parts, remarks, source, module, options)


def _resolve_opset(options: Options, module: ModuleOp) -> Options:
    """Return the options with an opset, after opaque nodes have been raised to their form at that opset."""
    options = with_opset(options, module)
    if any(isinstance(op, NodeOp) for op in module.walk()):
        from gradc.importers.onnx.raised_nodes import raise_nodes

        raise_nodes(module, options.resolve_target().opset)
    return options


def _write_bodies(module: ModuleOp, options: Options) -> None:
    """Inline decompositions of ops that the target lacks, for imported models also ONNX's function bodies."""
    if not any(isinstance(op, OnnxOp) for op in module.walk()):
        return
    from gradc.compiler.function_bodies import inline_missing_ops

    inline_missing_ops(module, options.resolve_target(), is_imported=entry.OPSET in module.attributes)


def _lost_defaults(source: ModuleOp) -> tuple[Diagnostic, ...]:
    """Return a remark on inputs with defaults in a gradient model, which become constants."""
    names = source.attributes.get(entry.OPTIONAL)
    if not isinstance(names, ArrayAttr):
        return ()
    words = [name.data for name in names if isinstance(name, StringAttr)]
    text = f"{several(words)}: inputs with defaults in the source, constants here"
    return (Diagnostic("remark", f"{text}; gradc grad writes a gradient for another target or opset"),)


def _pipeline(options: Options) -> dict[str, str]:
    """Return the metadata entry of the pipeline if `record_pipeline` is set."""
    return {"gradc.pipeline": options.pipeline} if options.record_pipeline else {}


def constants_of(given: Any) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return arguments.arrays("constants", given)
    from gradc.files.arrays import read_files

    return read_files(arguments.files("constants", given))


def lower(
    module: ModuleOp,
    options: Options,
    observer: Observer | None = None,
    tuner: Tuner | None = None,
) -> tuple[Diagnostic, ...]:
    """Run the pipeline over a module, in place; return remarks on its source ops and their strategies."""
    options = _resolve_opset(options, module)
    _set_public_names(module)
    _write_bodies(module, options)
    remarks = run_passes(module, parse(options.pipeline), options, observer, tuner, start=module.clone())
    return (*remarks, *_check_unused(module, options), *nonstandard_remarks(module, options.resolve_target()))


def _check_unused(module: ModuleOp, options: Options) -> tuple[Diagnostic, ...]:
    """Drop unused inputs or return a remark on them."""
    if not options.drop_unused_inputs:
        return tuple(unused_remarks(module))
    drop_unused_inputs(module)
    return ()


def to_gradients(module: ModuleOp, options: Options) -> tuple[Diagnostic, ...]:
    """Run the pipeline up to strategy selection."""
    options = _resolve_opset(options, module)
    spec = pipelines.to_grad(options.resolve_target(), options.strategy_name)
    _set_public_names(module)
    return run_passes(module, parse(spec), options, start=module.clone())


def _set_public_names(module: ModuleOp) -> None:
    """Make the public names attributes, since ops that passes insert may take the names of values."""
    function = entry.entry_function(module)
    entry.set_names(function, entry.input_names(function), entry.output_names(function))
