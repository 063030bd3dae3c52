"""Comparison of a model before and after compilation: nodes by op, bytes, opset."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gradc.compiler.compiled import Compiled
from gradc.model.saving import model_bytes
from gradc.terminal.numbers import size
from gradc.terminal.tables import PLAIN, Look, table

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto

STANDARD = ("", "ai.onnx")


@dataclass(frozen=True)
class Measures:
    """A model's main-graph nodes by op, its bytes with external data, its opset."""

    nodes: Mapping[str, int]
    bytes: int
    opset: int


@dataclass(frozen=True)
class BeforeAfter:
    before: Measures
    after: Measures

    def as_data(self) -> dict[str, Any]:
        return asdict(self)

    def as_text(self, look: Look = PLAIN) -> str:
        before, after = self.before, self.after
        kinds = Counter(before.nodes) | Counter(after.nodes)
        rows = [
            (kind, str(before.nodes.get(kind, 0)), str(after.nodes.get(kind, 0)))
            for kind, _ in kinds.most_common()
        ]
        rows += [
            ("nodes", *(f"{sum(side.nodes.values()):,}" for side in (before, after))),
            ("size", *(" ".join(size(side.bytes)) for side in (before, after))),
            ("opset", str(before.opset), str(after.opset)),
        ]
        return table(("", "before", "after"), rows, (1, 2), look)


def of_file(path: str) -> Measures:
    """Measure the model in a file. Raises GradcError."""
    from gradc.model.external_data import open_model

    with open_model(path) as (model, data):
        external = sum(data.length(tensor) for tensor in model.graph.initializer)
        return _measures(model, os.path.getsize(path) + external)


def of_compiled(compiled: Compiled) -> Measures:
    return _measures(compiled.proto, model_bytes(compiled.parts))


def _measures(model: ModelProto, total: int) -> Measures:
    kinds = Counter(node.op_type for node in model.graph.node)
    opset = next((entry.version for entry in model.opset_import if entry.domain in STANDARD), 1)
    return Measures(dict(kinds.most_common()), total, opset)
