"""Plain data of a captured PyTorch function: values, inputs, ops in order, outputs; no objects of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

InputKind = Literal["argument", "parameter", "buffer"]


@dataclass(frozen=True)
class ValueRef:
    """A reference to `CapturedGraph.values[index]`."""

    index: int


@dataclass(frozen=True)
class TensorType_:
    """Element type, named as in `dialects.support.dtypes`, and shape; a size is an int or a `Size`."""

    dtype: str
    shape: tuple[Any, ...]


@dataclass(frozen=True)
class Input:
    name: str
    value: int
    kind: InputKind


@dataclass(frozen=True)
class Output:
    name: str
    value: int


@dataclass(frozen=True)
class CapturedOp:
    """One ATen op without side effects.

    `op` is the overload without `aten.`, as `mm.default`. `arguments` follow the schema, with defaults filled
    in and without device, layout, memory format, pinning and generator: tensors are `ValueRef`, lists are
    tuples, integers int or `Size`, floats float or `Ratio`, ScalarTypes names of element types. `location` is
    `file.py:12` of the user's code, or empty.
    """

    op: str
    arguments: tuple[Any, ...]
    results: tuple[int, ...]
    location: str = ""


@dataclass(frozen=True)
class CapturedGraph:
    """A captured function. `constants` holds tensors that the function closes over or writes as literals,
    `updates` the new values of inputs that it changes in place, `dims` the dynamic dims with the sizes of the
    example, `constant_locations` where constants are first read."""

    values: tuple[TensorType_, ...]
    inputs: tuple[Input, ...]
    constants: Mapping[int, np.ndarray]
    ops: tuple[CapturedOp, ...]
    outputs: tuple[Output, ...]
    updates: Mapping[str, int] = field(default_factory=dict[str, int])
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    constant_locations: Mapping[int, str] = field(default_factory=dict[int, str])
