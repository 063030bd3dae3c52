"""ONNX models as sources: files and protos to modules of the onnx dialect."""

from __future__ import annotations

import os
from typing import Any

from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

from gradc.graph.checks import check_graph
from gradc.importers.onnx.read import module_of
from gradc.model.foreign import TensorData, stored_model


def import_onnx(source: str | os.PathLike[str] | ModelProto) -> ModuleOp:
    """The verified module of a model, given as a proto or as the path of its file.

    Values and nodes keep their names (`dialects.support.names`), inputs and outputs their names, order and
    declared types. Old forms of ops are brought to the newest, functions are written where they are called,
    and what no class of the dialect holds is an `onnx.Node`. Raises GradcError, which names the nodes.
    """
    if isinstance(source, ModelProto):
        return _verified(module_of(source, TensorData()))
    with stored_model(os.fspath(source)) as (model, data):
        module = module_of(model, data)
    return _verified(module)


def is_model(source: Any) -> bool:
    return isinstance(source, ModelProto)


def _verified(module: ModuleOp) -> ModuleOp:
    check_graph(module)
    return module
