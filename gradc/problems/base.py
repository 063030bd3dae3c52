"""Base class of problems: text, module, random inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from dialects.grad.tunable import SAMPLE_BATCH, SAMPLE_SIZE
from dialects.onnx.ops import ConstantOp
from dialects.support import layouts, limits, shapes
from dialects.support.documented_op import DocumentedOp, build
from dialects.support.dtypes import known_dtype, name_of
from dialects.support.entry import set_names, update_function_type
from dialects.support.shapes import Dim, Shape
from gradc.problems.text import Fields, show_shape


@dataclass(frozen=True)
class Problem(ABC):
    """One canonical gradient with channels-first sizes; `str(problem)` is its unique text."""

    KIND: ClassVar[str]
    OP: ClassVar[type[DocumentedOp]]
    FIELDS: ClassVar[tuple[str, ...]]
    """The names of the fields after diff_dst."""

    dtype: str
    layout: str
    diff_dst: Shape

    def __str__(self) -> str:
        fields = {"diff_dst": show_shape(self.diff_dst)} | self._fields()
        return ",".join((self.KIND, self.dtype, self.layout, *(f"{k}={v}" for k, v in fields.items())))

    @classmethod
    @abstractmethod
    def read(cls, fields: Fields, dtype: str, layout: str) -> Self:
        """Parse the fields after kind, dtype and layout."""

    @classmethod
    @abstractmethod
    def of_op(cls, op: Any) -> Self:
        """Return the problem of a verified op of the class's kind."""

    @abstractmethod
    def _fields(self) -> dict[str, str]:
        """Return the fields after diff_dst that differ from their defaults, in order."""

    @abstractmethod
    def _inputs(self) -> dict[str, tuple[Attribute, Shape]]:
        """Return dtype and shape of every operand by name, including constants, in the op's order."""

    @abstractmethod
    def _attributes(self) -> dict[str, Any]:
        """Return the attributes of the canonical op."""

    def constants(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Return random values of the compile-time operands."""
        return {}

    @abstractmethod
    def feeds(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Return random values of the run-time inputs by name, with sample sizes for `?`."""

    def module(self, seed: int = 0) -> ModuleOp:
        """Return a verified module of the op: run-time operands are inputs, `diff_src` is the output."""
        constants = self.constants(seed)
        inputs = self._inputs()
        run_time = [name for name in inputs if name not in constants]
        block = Block(arg_types=[shapes.tensor_type(*inputs[name]) for name in run_time])
        values: dict[str, SSAValue] = dict(zip(run_time, block.args, strict=True))
        for name, array in constants.items():
            block.add_op(op := ConstantOp(array))
            values[name] = op.results[0]
        block.add_op(op := build(self.OP, [values[name] for name in inputs], self._attributes()))
        block.add_op(ReturnOp(op.results[0]))
        function = FuncOp("main", ([], []), Region(block))
        update_function_type(function)
        set_names(function, run_time, ["diff_src"])
        module = ModuleOp([function])
        module.verify()
        return module

    @cached_property
    def diff_src(self) -> Shape:
        """The shape of the result, channels first."""
        inputs = self._inputs()
        block = Block(arg_types=[shapes.tensor_type(*given) for given in inputs.values()])
        op = build(self.OP, list(block.args), self._attributes())
        return reorder(shapes.shape_of(op.results[0]), self.layout, "NCX")

    def _of_dtype(self, array: np.ndarray) -> np.ndarray:
        return array.astype(np.float32).astype(known_dtype(self.dtype).numpy)

    def _random_diff_dst(self, seed: int) -> np.ndarray:
        known = [sample_size(dim, axis) for axis, dim in enumerate(self.diff_dst)]
        limits.check_tensor(known, "input-elements", "elements of diff_dst")
        rng = np.random.default_rng([seed, 0])
        return self._of_dtype(rng.standard_normal(reorder(known, "NCX", self.layout)))

    @property
    def _element_type(self):
        return known_dtype(self.dtype).mlir

    @property
    def _data(self) -> dict[str, tuple[Attribute, Shape]]:
        return {"diff_dst": (self._element_type, reorder(self.diff_dst, "NCX", self.layout))}


def reorder(values: Sequence[Any], source: str, target: str) -> tuple[Any, ...]:
    """Call `layouts.reorder`, except for tensors with fewer than three axes, whose order is fixed."""
    return layouts.reorder(values, source, target) if len(values) > 2 else tuple(values)


def sample_size(dim: Dim, axis: int) -> int:
    if isinstance(dim, int):
        return dim
    return SAMPLE_SIZE if axis else SAMPLE_BATCH


def data_of(diff_dst: SSAValue, layout: str) -> dict[str, Any]:
    shape = [dim if isinstance(dim, int) else None for dim in shapes.shape_of(diff_dst)]
    dtype = name_of(shapes.element_type_of(diff_dst))
    return {"dtype": dtype, "layout": layout, "diff_dst": reorder(shape, layout, "NCX")}
