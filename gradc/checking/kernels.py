"""Numpy kernels that a user gives for ops without a numpy reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from dialects.onnx.node import NodeOp
from dialects.support.diagnostics import Diagnostic, UnsupportedError
from gradc.checking.evaluation import Kernel


def kernel_of(functions: Mapping[str, Callable[..., Any]] | None) -> Kernel:
    """Return a function that evaluates a node by the kernel that the user gave for its op type."""
    known = dict(functions or {})

    def run(op: Operation, values: Sequence[Any]) -> Sequence[Any]:
        assert isinstance(op, NodeOp)
        function = known.get(op.title)
        if function is None:
            text = f"{op.title} has no numpy kernel; kernels={{'{op.title}': f}} takes one"
            raise UnsupportedError(Diagnostic("error", text))
        given = iter(values)
        arrays = [None if value is None else next(given) for value in op.onnx_inputs()]
        found = function(*arrays, **op.onnx_attributes())
        results = found if isinstance(found, tuple | list) else (found,)
        return [np.asarray(result) for result in results]

    return run
