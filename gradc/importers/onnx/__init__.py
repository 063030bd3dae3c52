"""ONNX models as sources: files and protos to modules of the onnx dialect."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

from gradc.graph.checks import check_graph
from gradc.importers.onnx.read import module_of
from gradc.importers.onnx.rewrites import Rewrites
from gradc.model.external_data import TensorData, open_model


def import_onnx(
    source: str | os.PathLike[str] | ModelProto,
    *,
    for_gradients: Collection[str] | None = None,
    rewrites: Rewrites | None = None,
) -> ModuleOp:
    """Import and verify a model, given as a proto or as the path of its file.

    Values and nodes keep their names (`dialects.support.names`), inputs and outputs their names, order and
    declared types. Ops are upgraded to the newest opset, functions are inlined, and ops without a class in
    the dialect become `onnx.Node`, unless `rewrites` replaces them. `for_gradients`, if a gradient is taken,
    names the ops with user rules. Raises GradcError, which names the nodes.
    """
    if isinstance(source, ModelProto):
        return _verify(module_of(source, TensorData(), for_gradients=for_gradients, rewrites=rewrites))
    with open_model(os.fspath(source)) as (model, data):
        module = module_of(model, data, for_gradients=for_gradients, rewrites=rewrites)
    return _verify(module)


def is_model(source: Any) -> bool:
    return isinstance(source, ModelProto)


def _verify(module: ModuleOp) -> ModuleOp:
    check_graph(module)
    return module
