"""Differentiate sources and write gradients: what `gradc grad` does with its options."""

from __future__ import annotations

from gradc.cli.compiling import Files, write_model
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import load
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.compiler.source import Source
from gradc.derivatives.gradient import gradient_of
from gradc.derivatives.request import GradientRequest
from gradc.files.json_text import json_text
from gradc.inspection import summaries
from gradc.terminal import messages, progress


def gradient_to(
    source: Source,
    output: str | None,
    asked: GradientRequest,
    options: Options,
    constants: Files | None,
    external_data: bool,
    observer: Observer,
) -> Compiled:
    """Differentiate and compile, print the remarks, and write the model."""
    with progress.bar():
        module = load(source, options.auto_pad_rule, for_gradients=())
        found = gradient_of(module, asked, options, constants, observer)
    messages.show_remarks(*found.remarks)
    write_model(found, output, external_data)
    return found


def gradient_json(compiled: Compiled, output: str | None) -> str:
    return json_text(summaries.of_gradient(compiled, output))
