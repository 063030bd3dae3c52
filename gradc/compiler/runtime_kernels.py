"""Single nodes on onnxruntime, for the check of a gradient rule whose op has no numpy reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64
from xdsl.ir import SSAValue

from dialects.onnx.node import NodeOp
from dialects.support import entry
from dialects.support.interfaces import set_type
from gradc.model.exporter import export_parts
from gradc.runtime.session import Session
from gradc.verification.isolate_op import inputs_of, isolated
from gradc.verification.kernels import RuntimeKernel

OPSET = 18

PRECISIONS = (False, True)
"""Precisions to try in order: True for f32, False for f64."""


def runtime_kernel(op: NodeOp) -> RuntimeKernel | None:
    """Return onnxruntime's kernel of a node in f64, or else in f32; None if it has neither."""
    module = isolated(op, verify=False)
    for single in PRECISIONS:
        if single:
            _narrow(module)
        try:
            session = Session(export_parts(module, opset=OPSET, metadata={}), ep="cpu", threads=1)
        except Exception:  # onnxruntime has its own classes for missing kernels and domains
            continue
        return _Run(op, session), single
    return None


class _Run:
    def __init__(self, op: NodeOp, session: Session) -> None:
        self._op, self._session = op, session
        self._places = [list(op.operands).index(value) for value in inputs_of(op)]

    def __call__(self, values: Sequence[Any]) -> Sequence[Any]:
        dtypes = {info.name: info.dtype for info in self._session.inputs}
        given: dict[str, Any] = {}
        for index, place in enumerate(self._places):
            name = f"operand{index}"
            single = dtypes.get(name) == "f32"
            given[name] = values[place].astype(np.float32) if single else values[place]
        found = self._session.run(given)
        return [found[f"result{index}"] for index in range(len(self._op.results))]


def _narrow(module: ModuleOp) -> None:
    function = entry.entry_function(module)
    values: list[SSAValue] = [*function.args, *(r for op in module.walk() for r in op.results)]
    for value in values:
        if isinstance(value.type, TensorType) and value.type.element_type == f64:
            set_type(value, TensorType(f32, value.type.shape, value.type.encoding))
    entry.update_function_type(function)
