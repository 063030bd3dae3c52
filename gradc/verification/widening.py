"""Widening of a module's floats to float64, to avoid rounding between ops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType, f64
from xdsl.ir import Attribute, SSAValue

from dialects.onnx.types import OptionalType, SequenceType
from dialects.support import entry
from dialects.support.dtypes import HALVES, of_mlir, of_numpy
from dialects.support.interfaces import set_type
from passes.autodiff.activity.active_values import FLOATS


def widen(module: ModuleOp) -> None:
    """Change all float types of the module to f64; constants keep their elements."""
    for op in module.walk():
        _widen(op.results)
        for block in (block for region in op.regions for block in region.blocks):
            _widen(block.args)
    function = entry.entry_function(module)
    entry.drop_declared_types(function)
    entry.update_function_type(function)


def has_halves(module: ModuleOp) -> bool:
    """Return whether a value of the module is of a half type."""
    results = (result for op in module.walk() for result in op.results)
    values = (*results, *entry.entry_function(module).args)
    return any(isinstance(v.type, TensorType) and _is_half(v.type.element_type) for v in values)


def _is_half(element: Attribute) -> bool:
    dtype = of_mlir(element)
    return dtype is not None and dtype.name in HALVES


def wide(array: Any) -> Any:
    """Return the array, or the elements of a sequence, with floats as float64; 8-bit floats are codes."""
    if isinstance(array, list):
        return [wide(element) for element in array]
    if not isinstance(array, np.ndarray) or array.dtype.kind in "iubOUSTc" or array.dtype == np.float64:
        return array
    dtype = of_numpy(array.dtype)
    return array if dtype is None or dtype.name not in FLOATS else array.astype(np.float64)


def _widen(values: Iterable[SSAValue]) -> None:
    for value in values:
        if (found := _wide_type(value.type)) != value.type:
            set_type(value, found)


def _wide_type(type_: Attribute) -> Attribute:
    match type_:
        case TensorType():
            return TensorType(f64, type_.shape, type_.encoding) if _is_narrow(type_.element_type) else type_
        case UnrankedTensorType():
            return UnrankedTensorType(f64) if _is_narrow(type_.element_type) else type_
        case SequenceType() | OptionalType():
            return type(type_)(_wide_type(type_.element))
        case _:
            return type_


def _is_narrow(element: Attribute) -> bool:
    dtype = of_mlir(element)
    return dtype is not None and dtype.name in FLOATS and dtype.name != "f64"
