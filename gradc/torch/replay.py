"""Evaluation of captured ops by torch, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dialects.aten.ratios import Ratio
from dialects.shapes.forms import Form, Size
from dialects.shapes.sizes import substitute
from gradc.importers.torch import torch_internals as internals
from gradc.importers.torch.captured import CapturedOp, ValueRef
from gradc.importers.torch.elements import torch_dtype


def run_op(op: CapturedOp, values: Mapping[int, Any], dims: Mapping[str, int]) -> list[Any]:
    """Return the results of an op for the values of its operands, at given sizes of the dims."""
    packet, _, overload = op.op.partition(".")
    called = internals.overload(packet, overload)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for (name, kind, is_keyword), value in zip(internals.captured_schema(called), op.arguments, strict=True):
        given = _argument(value, kind, values, dims)
        if is_keyword:
            named[name] = given
        else:
            positional.append(given)
    if op.op == "view.default":
        positional[0] = positional[0].contiguous()
    found = called(*positional, **named)
    return list(found) if isinstance(found, tuple | list) else [found]


def _argument(argument: Any, kind: str, values: Mapping[int, Any], dims: Mapping[str, int]) -> Any:
    if isinstance(argument, tuple):
        return [_single(each, kind, values, dims) for each in argument]
    return _single(argument, kind, values, dims)


def _single(argument: Any, kind: str, values: Mapping[int, Any], dims: Mapping[str, int]) -> Any:
    if isinstance(argument, ValueRef):
        return values[argument.index]
    if isinstance(argument, Ratio):
        with np.errstate(all="ignore"):
            return float(np.float64(number_at(argument.dividend, dims)) / number_at(argument.divisor, dims))
    if isinstance(argument, Size):
        return number_at(argument, dims)
    return torch_dtype(argument) if isinstance(argument, str) and "ScalarType" in kind else argument


def number_at(size: Form | float, dims: Mapping[str, int]) -> Any:
    """Return the value of a size at given sizes of the dims."""
    return substitute(size, dims) if isinstance(size, Size) else size
