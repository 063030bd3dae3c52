"""The part of a report that runs the model: what is off by how much, and what may be an image."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from dialects.support import entry
from dialects.support.attributes import documented_attributes
from dialects.support.diagnostics import GradcError
from dialects.support.documented_op import DocumentedOp
from gradc import files
from gradc.accuracy import report as accuracy
from gradc.compiler import Compiled
from gradc.reporting.data import Array, Missing, Run
from gradc.reporting.request import Request
from gradc.samples import random_inputs
from gradc.tensors import as_dtype
from gradc.verify import verify_outputs

MOST_OPS = 60
"""Gradients of a graph up to which each is also run by itself."""

GRADIENTS = ("diff_dst", "grads", "grad_out")
"""What ops call the gradient that they are given."""

LAYOUTS = {"NCX": "NCX", "NCHW": "NCX", "NXC": "NXC", "NHWC": "NXC"}


def run(compiled: Compiled, request: Request) -> Run | Missing:
    """Never raises for what the user's machine or graph lacks: that is the reason why it is missing."""
    if not request.run:
        return Missing("nothing was run, as was asked for")
    try:
        return _run(compiled, request)
    except GradcError as error:
        return Missing(str(error.diagnostic.with_severity("remark")))
    except MemoryError:
        return Missing("the memory of this machine does not suffice to run and verify the graph")


def _run(compiled: Compiled, request: Request) -> Run:
    fed = _inputs(compiled, request)
    threads = request.options.threads
    outputs = compiled.run(fed, request.ep, threads)
    rows = verify_outputs(compiled, fed, outputs, request.rtol)
    errors = _errors(compiled, fed, outputs, request)
    arrays = (*_given(compiled, fed), *_made(compiled, outputs))
    said = "given" if request.inputs is not None else f"random, seed {request.seed}"
    return Run(said, tuple(rows), errors, arrays)


def _inputs(compiled: Compiled, request: Request) -> Mapping[str, np.ndarray]:
    given = request.inputs
    if given is None:
        return random_inputs(compiled.source, request.seed, request.shapes)
    return files.read_npz(given) if isinstance(given, str | os.PathLike) else given


def _errors(
    compiled: Compiled, fed: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray], request: Request
) -> accuracy.Report | Missing:
    count = sum(isinstance(op, DocumentedOp) for op in compiled.source.walk())
    if count > MOST_OPS:
        return Missing(f"{count} gradients, more than the {MOST_OPS} up to which each is run by itself")
    return accuracy.report(compiled, fed, outputs, request.ep, request.options.threads)


def _given(compiled: Compiled, fed: Mapping[str, Any]) -> Iterator[Array]:
    """The inputs that are gradients; weights are no images, and of images only the sizes matter."""
    function = entry.entry_function(compiled.source)
    dtypes = {info.name: info.dtype for info in compiled.inputs}
    for name, argument in zip(entry.input_names(function), function.args, strict=True):
        readers = [use.operation for use in argument.uses if isinstance(use.operation, DocumentedOp)]
        layouts = [_layout(op) for op in readers if _is_gradient_of(op, argument)]
        if layouts:
            yield Array(name, "input", layouts[0], as_dtype(np.asarray(fed[name]), dtypes[name]))


def _is_gradient_of(op: DocumentedOp, value: SSAValue) -> bool:
    return any(getattr(op, name, None) is value for name in GRADIENTS)


def _made(compiled: Compiled, outputs: Mapping[str, np.ndarray]) -> Iterator[Array]:
    function = entry.entry_function(compiled.source)
    returned = entry.return_op(function).arguments
    for name, value in zip(entry.output_names(function), returned, strict=True):
        if isinstance(value.owner, DocumentedOp):
            yield Array(name, "output", _layout(value.owner), outputs[name])


def _layout(op: DocumentedOp) -> str:
    attributes = documented_attributes(type(op))
    word = next((op.value(name) for name in ("data_format", "format") if name in attributes), "NCX")
    return LAYOUTS[word]
