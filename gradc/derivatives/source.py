"""Gradients as sources of a compilation, as `gradc report --wrt` takes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from gradc.compiler.driver import load
from gradc.compiler.source import Source
from gradc.derivatives.module import differentiate_source
from gradc.derivatives.request import GradientRequest


@dataclass(frozen=True)
class GradientSource(Source):
    """The gradient of a graph in files."""

    gradient: GradientRequest = field(default_factory=GradientRequest)

    @property
    def primal(self) -> Source:
        return Source(self.files, self.names, self.rebatch, self.static_shapes)

    @property
    def is_model(self) -> bool:
        return False

    @property
    def for_gradients(self) -> tuple[str, ...]:
        return ()

    def transform(self, module: ModuleOp) -> ModuleOp:
        return differentiate_source(super().transform(module), self.gradient)


def load_gradient(
    source: Any, user_request: GradientRequest | None, auto_pad_rule: str | None = None, target: str = "cpu"
) -> ModuleOp:
    """Return the module of the gradient of a source, or that of the source if `user_request` is None."""
    if user_request is None:
        return load(source, auto_pad_rule, target=target)
    return differentiate_source(load(source, auto_pad_rule, for_gradients=()), user_request)
