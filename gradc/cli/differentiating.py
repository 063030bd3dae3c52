"""Differentiate sources and write derivatives: what `gradc grad` and others do with their options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from gradc.cli.compiling import Files, write_model
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import load
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.compiler.source import Source
from gradc.derivatives.request import GradientRequest
from gradc.files.json_text import json_text
from gradc.inspection import summaries
from gradc.terminal import messages, progress

Derive = Callable[[ModuleOp, Any, Options, Files | None, Observer | None], Compiled]
"""A derivative of a module, which is modified: from the request, the options, constants and an observer."""


def derivative_to(
    derive: Derive,
    source: Source,
    output: str | None,
    user_request: GradientRequest,
    options: Options,
    constants: Files | None,
    external_data: bool,
    observer: Observer,
) -> Compiled:
    """Differentiate and compile, print the remarks, and write the model."""
    with progress.bar():
        module = load(source, options.auto_pad_rule, for_gradients=())
        found = derive(module, user_request, options, constants, observer)
    messages.show_remarks(*found.remarks)
    write_model(found, output, external_data)
    return found


def derivative_json(compiled: Compiled, output: str | None) -> str:
    return json_text(summaries.of_gradient(compiled, output))
