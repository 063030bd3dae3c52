"""Run of the model for a report: errors, and tensors that may be images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from dialects.support import entry
from dialects.support.attributes import documented_attributes
from dialects.support.diagnostics import GradcError
from dialects.support.documented_op import DocumentedOp
from gradc.compiler.compiled import Compiled
from gradc.inspection import accuracy as accuracy
from gradc.inspection.verify_ops import verify
from gradc.reporting.data import Array, Missing, Run
from gradc.reporting.request import Request
from gradc.terminal.numbers import size, with_prefix
from gradc.verification.exact_match import unmeasured_reason
from gradc.verification.samples import random_inputs
from gradc.verification.verify import check_reference, inputs_in_order, reference

MOST_OPS = 60
MOST_FLOPS = 5 * 10**9
MOST_WEIGHTS = 2**26
"""Limits up to which each gradient is also compared with float64: gradients, their flops, bytes of weights.
That takes several times as long as the outputs alone, and twice the memory."""

GRADIENTS = ("diff_dst", "grads", "grad_out")
"""Port names of incoming gradients."""

LAYOUTS = {"NCX": "NCX", "NCHW": "NCX", "NXC": "NXC", "NHWC": "NXC"}


def run(compiled: Compiled, request: Request, work: int) -> Run | Missing:
    """Run and verify the model; a limit of the machine or the graph gives `Missing` with the reason.

    `work` is the flops of the graph, as far as known.
    """
    if not request.run:
        return Missing("nothing was run, as requested")
    try:
        return _run(compiled, request, work)
    except GradcError as error:
        return Missing.of_error(error)
    except MemoryError:
        return Missing("the memory of this machine does not suffice to run and verify the graph")


def _run(compiled: Compiled, request: Request, work: int) -> Run:
    check_reference(compiled.source)
    fed = _inputs(compiled, request)
    threads = request.options.threads
    outputs = compiled.run(fed, request.ep, threads)
    rows = verify(compiled, fed, outputs, request.rtol, request.ep, threads)
    origin = "given" if request.inputs is not None else f"random, seed {request.seed}"
    why = unmeasured_reason([*fed.values(), *outputs.values()]) or _why_skip_ops(compiled, work)
    errors = Missing(why) if why else accuracy.report(compiled, fed, outputs, request.ep, threads)
    expected = {} if why else _reference_outputs(compiled, fed)
    return Run(
        origin,
        tuple(rows),
        errors,
        (*_gradient_inputs(compiled, fed), *_gradient_outputs(compiled, outputs, expected)),
    )


def _why_skip_ops(compiled: Compiled, work: int) -> str:
    """Return the reason not to compare each op with float64; '' to compare."""
    count = sum(isinstance(op, DocumentedOp) for op in compiled.source.walk())
    if count > MOST_OPS:
        return f"{count} gradients, more than the {MOST_OPS} up to which each is compared with float64"
    if (weights := compiled.parts.weight_bytes) > MOST_WEIGHTS:
        given, most = (" ".join(size(count)) for count in (weights, MOST_WEIGHTS))
        known = f"weights of {given}, more than the {most} up to which all is compared with float64"
        return f"{known}; gradc verify --report does that"
    if work > MOST_FLOPS:
        flops = f"{with_prefix(work)}flop, more than the {with_prefix(MOST_FLOPS)}flop"
        return (
            f"gradients of {flops} up to which each is compared with float64; gradc verify --report does that"
        )
    return ""


def _reference_outputs(compiled: Compiled, fed: Mapping[str, Any]) -> dict[str, np.ndarray]:
    function = entry.entry_function(compiled.source)
    given = inputs_in_order(compiled.source, compiled.inputs, fed)
    return dict(zip(entry.output_names(function), reference(compiled.source, given), strict=True))


def _inputs(compiled: Compiled, request: Request) -> Mapping[str, np.ndarray]:
    if request.arrays is not None:
        return request.arrays
    return random_inputs(compiled.source, request.seed, request.shapes)


def _gradient_inputs(compiled: Compiled, fed: Mapping[str, Any]) -> Iterator[Array]:
    """Yield the inputs that are gradients; weights are not images, and forward inputs matter only by size."""
    function = entry.entry_function(compiled.source)
    arrays = inputs_in_order(compiled.source, compiled.inputs, fed)
    for name, argument, array in zip(entry.input_names(function), function.args, arrays, strict=True):
        readers = [use.operation for use in argument.uses if isinstance(use.operation, DocumentedOp)]
        layouts = [_layout(op) for op in readers if _is_gradient_of(op, argument)]
        if layouts:
            yield Array(name, "input", layouts[0], array)


def _is_gradient_of(op: DocumentedOp, value: SSAValue) -> bool:
    return any(getattr(op, name, None) is value for name in GRADIENTS)


def _gradient_outputs(
    compiled: Compiled, outputs: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]
) -> Iterator[Array]:
    function = entry.entry_function(compiled.source)
    returned = entry.return_op(function).arguments
    for name, value in zip(entry.output_names(function), returned, strict=True):
        if isinstance(value.owner, DocumentedOp):
            yield Array(name, "output", _layout(value.owner), outputs[name], expected.get(name))


def _layout(op: DocumentedOp) -> str:
    attributes = documented_attributes(type(op))
    word = next((op.value(name) for name in ("data_format", "format") if name in attributes), "NCX")
    return LAYOUTS[word]
