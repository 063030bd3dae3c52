"""Behaviour of the exported module that the file lacks, or that a training step changes: remarks.

The calls of the program that torch's exporter wrote into the file have arguments that its ops do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.traits import RANDOM
from dialects.support.diagnostics import Diagnostic, name_of, sentence, several
from dialects.support.option_names import Place, advice, current
from gradc.compiler.exported_program import Call, ExportedProgram

_DROPPING = re.compile(r"\], (?:True|False), \d+, (0\.\d*[1-9]\d*|1\.0), (?:True|False)")
"""Arguments of a recurrent call behind its weights: biases, layers, a dropout above 0, training."""


@dataclass(frozen=True)
class _Check:
    """A remark on calls of some functions. `find`: the name of what is lost in a call, or ''."""

    functions: Sequence[str]
    find: Callable[[Call, ExportedProgram], str]
    text: str
    hint: Callable[[], str]


def find_unexported(
    function: FuncOp, program: ExportedProgram, stopped: Collection[str], batchnorm: str | None
) -> list[Diagnostic]:
    """Return a remark for each part of a module that trains in another way than in torch.

    function: the source, before BatchNormalization and Dropout take their form for training. stopped: names
    of values through which no gradient flows. batchnorm: the mode of BatchNormalization.
    """
    found = list(_lost_arguments(_CHECKS, program, stopped))
    return found if batchnorm != "train" else [*found, *_momenta(function), *_frozen_norms(function, program)]


def find_details(function: FuncOp, program: ExportedProgram) -> list[Diagnostic]:
    """Return remarks on rows of embeddings, and on random numbers: differences without a choice."""
    return [*_lost_arguments(_DETAILS, program, ()), *_random_ops(function)]


def _lost_arguments(
    checks: Sequence[_Check], program: ExportedProgram, stopped: Collection[str]
) -> Iterator[Diagnostic]:
    calls = {call.text: call for call in program.calls.values()}.values()
    for check in checks:
        found = [check.find(call, program) for call in calls if call.function in check.functions]
        names = [name for name in dict.fromkeys(found) if name and name not in stopped]
        if names:
            yield _remark(check.text.format(several(names)), check.hint())


def _positional_texts(call: Call) -> list[str]:
    """Return the positional arguments of a call without lists, as texts."""
    text = call.text.partition("(args = (")[2].partition("), kwargs = ")[0]
    return [one.strip(" ,") for one in text.split(", ")]


def _find_detach(call: Call, program: ExportedProgram) -> str:
    """Return the name of a detached value that is computed from parameters or inputs."""
    source = next(iter(call.arguments), "")
    is_constant = source in program.buffers or source.startswith("lift_fresh_copy")
    return "" if is_constant or not source else call.result


def _find_padding_row(call: Call, program: ExportedProgram) -> str:
    given = _positional_texts(call)
    is_padded = len(given) > 2 and given[2].isdigit()
    return f"row {given[2]} of {_table(call, program)}" if is_padded else ""


def _find_frequency_scaling(call: Call, program: ExportedProgram) -> str:
    return _table(call, program) if _positional_texts(call)[3:4] == ["True"] else ""


def _table(call: Call, program: ExportedProgram) -> str:
    name = next(iter(call.arguments), "")
    return program.parameters.get(name, name)


def _dropping(call: Call, _: ExportedProgram) -> str:
    return call.result if _DROPPING.search(call.text) else ""


def _find_statistics(call: Call, program: ExportedProgram) -> str:
    return call.result if any(name in program.buffers for name in call.arguments) else ""


_CHECKS = (
    _Check(
        ("aten.detach",),
        _find_detach,
        "gradients flow through {}, which the exported module detaches",
        lambda: advice("stop_gradient", "with these names stops them"),
    ),
    _Check(
        ("aten.lstm", "aten.gru", "aten.rnn_tanh", "aten.rnn_relu"),
        _dropping,
        "the dropout between the layers of {} is not in the file",
        lambda: "layers of one LSTM each, with a Dropout between them, keep it",
    ),
    _Check(
        ("aten.instance_norm",),
        _find_statistics,
        "the running statistics of the instance normalization {} are not updated",
        lambda: "the exported model normalizes as the file does",
    ),
)

_DETAILS = (
    _Check(
        ("aten.embedding",),
        _find_padding_row,
        "{} trains, which is the padding_idx of an embedding of the exported module",
        lambda: "torch keeps that row constant, except for weight decay",
    ),
    _Check(
        ("aten.embedding",),
        _find_frequency_scaling,
        "the gradient of {} is not divided by the frequency of the indices",
        lambda: "the exported module has scale_grad_by_freq=True",
    ),
)


def _random_ops(function: FuncOp) -> list[Diagnostic]:
    ops = [op for op in function.walk() if isinstance(op, OnnxOp) and op.onnx_name() in RANDOM]
    if not ops:
        return []
    names = several([f"{op.onnx_name()} {name_of(op)}".strip() for op in ops])
    hint = "an input of the model with the numbers makes runs repeatable"
    return [_remark(f"{names} of the file draw other numbers in each session, also after resuming", hint)]


def _momenta(function: FuncOp) -> list[Diagnostic]:
    """Return a remark on running statistics that never change, or are those of the last batch."""
    found = list[Diagnostic]()
    for momentum, what in ((0.0, "are those of the last batch"), (1.0, "never change")):
        norms = [name_of(op) or "without a name" for op in _norms(function) if _momentum(op) == momentum]
        if norms:
            text = f"the running statistics of BatchNormalization {several(norms)} {what}"
            hint = (
                f"momentum is {momentum:g} in the file: torch's momentum=None, a cumulative average, is none"
            )
            found.append(_remark(text, hint))
    return found


def _momentum(op: onnx.BatchNormalizationOp) -> float:
    return float(op.call().attribute("momentum", 0.9))


def _frozen_norms(function: FuncOp, program: ExportedProgram) -> list[Diagnostic]:
    """Return a remark on norms that use running statistics in a file whose other norms train."""
    modes = {op: _trains(op, program) for op in _norms(function)}
    frozen = [name_of(op) or "without a name" for op, trains in modes.items() if not trains]
    if not frozen or not any(modes.values()):
        return []
    text = f"BatchNormalization {several(frozen)} use running statistics in the export, and train here"
    if program.calls:
        return [_remark(text, "an export by TorchScript (TrainingMode.PRESERVE) says which norms train")]
    kept = "keep" if current() is Place.COMMAND_LINE else "None"
    return [_remark(text, advice("batchnorm", "leaves each norm as it is in the file", kept))]


def _trains(op: onnx.BatchNormalizationOp, program: ExportedProgram) -> bool:
    call = program.calls.get(name_of(op))
    if call is not None and call.function.startswith("aten._native_batch_norm_legit"):
        return not call.function.endswith("no_training")
    return bool(op.call().attribute("training_mode", 0))


def _norms(function: FuncOp) -> list[onnx.BatchNormalizationOp]:
    return [op for op in function.walk() if isinstance(op, onnx.BatchNormalizationOp)]


def _remark(text: str, hint: str) -> Diagnostic:
    return Diagnostic("remark", sentence(text, hint=hint))
