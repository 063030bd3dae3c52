"""Source graphs from Python: one typed method per op.

    g = Graph()
    dy, w = g.input("dy", "f32", ("N", 4, 3, 3)), g.input("w", "f32", (4, 2, 3, 3))
    dx = g.convolution_backward_data(dy, w, (None, 2, 5, 5), strides=(2, 2), ...)
    g.output(dx, "dx")

A mistake is a GradcError at the caller's file and line, with the message that a document would get.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import index
from typing import Any, SupportsIndex

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from dialects.cann import ResizeBilinearV2GradOp, UpsampleBilinear2dBackwardOp
from dialects.cann.resize import CannResizeOp
from dialects.onednn import (
    ConvolutionBackwardDataOp,
    ConvTransposeBackwardDataOp,
    InterpolateBackwardOp,
)
from dialects.onednn.base import OneDNNOp
from dialects.support import dense, dtypes, shapes
from dialects.support.attributes import unknown_dims
from dialects.support.diagnostics import Diagnostic, GradcError, Position, location, nearest, sentence
from dialects.support.documented_op import build
from dialects.support.entry import set_names
from dialects.support.shapes import Dim, Shape

REQUIRED: Any = None
"""The default of what must be given: the op itself says that it is missing, in its own words."""

OUR_PACKAGES = ("gradc", "passes", "dialects")

Ints = Sequence[int]
Floats = Sequence[float]
Dims = Sequence[Dim]
"""Sizes; None or a name is one that only run time knows."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of a graph."""

    _graph: Graph = field(repr=False)
    _ssa: SSAValue = field(repr=False)

    @property
    def shape(self) -> Shape:
        """Sizes; a name or None where only run time knows one."""
        return shapes.shape_of(self._ssa)

    @property
    def dtype(self) -> str:
        """oneDNN's word: f32, bf16, f16, s32, ..."""
        return dtypes.name_of(shapes.element_type_of(self._ssa))

    def __repr__(self) -> str:
        return f"Value({self.dtype} {shapes.show(self.shape)})"


class Graph:
    """A graph under construction; `module()` gives what has been built so far."""

    def __init__(self, name: str = "main"):
        if not isinstance(name, str) or not name:
            raise _error("name of the graph", given=repr(name), expected="a string that is not empty")
        self._name = name
        self._position = _caller()
        self._block = Block()
        self._inputs: list[str] = []
        self._outputs: dict[str, SSAValue] = {}
        self._op_names: dict[SSAValue, str] = {}

    def input(self, name: str, dtype: Any, shape: Dims) -> Value:
        """A tensor that is given at run time.

        `dtype` is oneDNN's word or anything that numpy takes for a dtype; a dim of `shape` is a size, a
        name (equal names are equal sizes) or None.
        """
        subject = f'input "{name}"'
        self._check_name(name, self._inputs, subject)
        type_ = shapes.tensor_type(_dtype(dtype, subject).mlir, _shape(shape, subject))
        argument = self._block.insert_arg(type_, len(self._block.args))
        _hint(argument, name)
        self._inputs.append(name)
        return Value(self, argument)

    def constant(self, array: Any, name: str | None = None) -> Value:
        """A tensor known now: weights, or the values of `dst_shape` and `sizes`."""
        from dialects.onnx.ops import ConstantOp

        try:
            op = ConstantOp(dense.from_numpy(np.asarray(array)))
        except (GradcError, ValueError) as error:
            message = error.diagnostic.message if isinstance(error, GradcError) else str(error)
            raise _error(message, f'constant "{name}"' if name else "constant") from None
        self._check_op_name(name, "constant")
        op.location = location(name or "", _caller())
        return self._add(op, name)

    def output(self, value: Value, name: str | None = None) -> None:
        """Make a value an output. Without a name it has that of its op, else `result<i>`."""
        ssa = self._operand(value, "output", "value")
        if name is None:
            name = self._default_output(ssa)
        subject = f'output "{name}"'
        self._check_name(name, self._outputs, subject)
        self._outputs[name] = ssa

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph as MLIR text, which every command reads."""
        from gradc.files import write_whole
        from gradc.printing import whole

        write_whole(path, whole(self.module()).encode())

    def module(self) -> ModuleOp:
        """A verified copy of the graph; the graph can go on growing."""
        module = self.unverified_module()
        module.verify()
        return module

    def unverified_module(self) -> ModuleOp:
        """`module`, for who verifies it anyway."""
        if not self._outputs:
            raise _error("the graph has no outputs", expected="at least one g.output(value)")
        for name in self._outputs:
            if name in self._inputs:
                raise _error("the name is that of an input", f'output "{name}"', given=name)
        copies: dict[SSAValue, SSAValue] = {}
        region, copy = Region(self._block), Region()
        region.clone_into(copy, value_mapper=copies)
        region.detach_block(self._block)
        returned = [copies[value] for value in self._outputs.values()]
        last = ReturnOp(*returned)
        copy.block.add_op(last)
        types = (list(copy.block.arg_types), [value.type for value in returned])
        function = FuncOp(self._name, types, copy)
        set_names(function, self._inputs, list(self._outputs))
        module = ModuleOp([function])
        for op in (last, function, module):
            op.location = location(position=self._position)
        return module

    def _repr_html_(self) -> str:
        from gradc.notebook import graph_html

        inputs = dict(zip(self._inputs, self._block.args, strict=True))
        return graph_html(inputs, self._outputs, self._block.ops)

    def convolution_backward_data(
        self,
        diff_dst: Value = REQUIRED,
        weights: Value = REQUIRED,
        dst_shape: Value | Dims | None = None,
        *,
        strides: Ints = REQUIRED,
        pads_begin: Ints = REQUIRED,
        pads_end: Ints = REQUIRED,
        dilations: Ints = REQUIRED,
        auto_pad: str | None = None,
        output_padding: Ints | None = None,
        groups: int | None = None,
        data_format: str | None = None,
        weights_format: str | None = None,
        auto_pad_rule: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **attributes: Any,
    ) -> Value:
        """Gradient of a convolution with respect to its input.

        `dst_shape` is the full shape of the result in data_format order: a value (the op's third input)
        or sizes (its attribute). `result_shape` declares the result, which may take its place.
        """
        sizes_input, attribute = _split(dst_shape)
        given = {
            "strides": strides,
            "pads_begin": pads_begin,
            "pads_end": pads_end,
            "dilations": dilations,
            "auto_pad": auto_pad,
            "output_padding": output_padding,
            "groups": groups,
            "data_format": data_format,
            "weights_format": weights_format,
            "auto_pad_rule": auto_pad_rule,
            "dst_shape": _with_unknown(attribute),
        }
        operands = (diff_dst, weights, sizes_input)
        return self._build(ConvolutionBackwardDataOp, operands, given, attributes, name, result_shape)

    def conv_transpose_backward_data(
        self,
        diff_dst: Value = REQUIRED,
        weights: Value = REQUIRED,
        *,
        strides: Ints = REQUIRED,
        pads_begin: Ints = REQUIRED,
        pads_end: Ints = REQUIRED,
        dilations: Ints = REQUIRED,
        auto_pad: str | None = None,
        output_padding: Ints | None = None,
        groups: int | None = None,
        data_format: str | None = None,
        weights_format: str | None = None,
        auto_pad_rule: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **attributes: Any,
    ) -> Value:
        """Gradient of a transposed convolution with respect to its input."""
        given = {
            "strides": strides,
            "pads_begin": pads_begin,
            "pads_end": pads_end,
            "dilations": dilations,
            "auto_pad": auto_pad,
            "output_padding": output_padding,
            "groups": groups,
            "data_format": data_format,
            "weights_format": weights_format,
            "auto_pad_rule": auto_pad_rule,
        }
        operands = (diff_dst, weights)
        return self._build(ConvTransposeBackwardDataOp, operands, given, attributes, name, result_shape)

    def interpolate_backward(
        self,
        src: Value = REQUIRED,
        diff_dst: Value = REQUIRED,
        sizes: Value | Ints | None = None,
        *,
        mode: str = REQUIRED,
        coordinate_transformation_mode: str | None = None,
        scales: Floats | None = None,
        data_format: str | None = None,
        nearest_rounding: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **attributes: Any,
    ) -> Value:
        """Gradient of an interpolation with respect to `src`, of which only the shape counts.

        `sizes` are the spatial sizes of diff_dst: a value (the op's third input) or its attribute.
        """
        sizes_input, attribute = _split(sizes)
        given = {
            "mode": mode,
            "coordinate_transformation_mode": coordinate_transformation_mode,
            "sizes": attribute,
            "scales": scales,
            "data_format": data_format,
            "nearest_rounding": nearest_rounding,
        }
        operands = (src, diff_dst, sizes_input)
        return self._build(InterpolateBackwardOp, operands, given, attributes, name, result_shape)

    def resize_bilinear_v2_grad(
        self,
        grads: Value = REQUIRED,
        original_image: Value = REQUIRED,
        *,
        align_corners: bool | None = None,
        half_pixel_centers: bool | None = None,
        scales: Floats | None = None,
        format: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **attributes: Any,
    ) -> Value:
        """Ascend's gradient of a bilinear resize; of `original_image` only shape and dtype count."""
        given = {
            "align_corners": align_corners,
            "half_pixel_centers": half_pixel_centers,
            "scales": scales,
            "format": format,
        }
        operands = (grads, original_image)
        return self._build(ResizeBilinearV2GradOp, operands, given, attributes, name, result_shape)

    def upsample_bilinear2d_backward(
        self,
        gradOut: Value = REQUIRED,
        outputSize: Ints = REQUIRED,
        inputSize: Dims = REQUIRED,
        alignCorners: bool | None = None,
        scalesH: float | None = None,
        scalesW: float | None = None,
        *,
        format: str | None = None,
        name: str | None = None,
        result_shape: Dims | None = None,
        **attributes: Any,
    ) -> Value:
        """The aclnn call behind which ResizeBilinearV2Grad stands.

        Every argument may also be spelled in snake case (`output_size`).
        """
        camel = {
            "gradOut": gradOut,
            "outputSize": outputSize,
            "inputSize": inputSize,
            "alignCorners": alignCorners,
            "scalesH": scalesH,
            "scalesW": scalesW,
        }
        given = camel | _from_snake(camel, attributes)
        operands = (given.pop("gradOut"),)
        given["inputSize"] = _with_unknown(given["inputSize"])
        given["outputSize"] = _with_unknown(given["outputSize"])
        given["format"] = format
        return self._build(UpsampleBilinear2dBackwardOp, operands, given, attributes, name, result_shape)

    def _build(
        self,
        cls: type[OneDNNOp | CannResizeOp],
        operands: Sequence[Value | None],
        documented: Mapping[str, Any],
        others: Mapping[str, Any],
        name: str | None,
        result_shape: Dims | None,
    ) -> Value:
        """None stands for a documented argument that is not given."""
        self._check_op_name(name, cls.KIND)
        subject = f'{cls.KIND} "{name}"' if name else cls.KIND
        given = list(takewhile(lambda operand: operand is not None, operands))
        op = build(
            cls,
            [self._operand(v, subject, f"input {port}") for port, v in zip(cls.PORTS, given, strict=False)],
            {key: value for key, value in documented.items() if value is not None} | dict(others),
            result_shape=None if result_shape is None else _shape(result_shape, subject),
            location=location(name or "", _caller()),
        )
        return self._add(op, name)

    def _operand(self, value: Any, subject: str, role: str) -> SSAValue:
        if not isinstance(value, Value):
            hint = "g.constant(array) makes one of an array"
            raise _error(
                role, subject, given=type(value).__name__, expected="a Value of this graph", hint=hint
            )
        if value._graph is not self:
            raise _error(role, subject, given="a Value of another graph", expected="one of this graph")
        return value._ssa

    def _add(self, op: Any, name: str | None) -> Value:
        self._block.add_op(op)
        (result,) = op.results
        if name:
            _hint(result, name)
            self._op_names[result] = name
        return Value(self, result)

    def _default_output(self, value: SSAValue) -> str:
        wanted = self._op_names.get(value, "")
        taken = {*self._outputs, *self._inputs}
        if wanted and wanted not in taken:
            return wanted
        return next(n for i in range(len(taken) + 1) if (n := f"result{len(self._outputs) + i}") not in taken)

    def _check_op_name(self, name: Any, subject: str) -> None:
        if name is not None:
            self._check_name(name, (), subject)

    def _check_name(self, name: Any, taken: Sequence[str] | Mapping[str, Any], subject: str) -> None:
        if not isinstance(name, str) or not name:
            raise _error("name", subject, given=repr(name), expected="a string that is not empty")
        if name in taken:
            raise _error("the name is taken", subject, given=name, expected="another one")


def _error(
    what: str, subject: str = "", given: object = None, expected: object = None, hint: str = ""
) -> GradcError:
    return GradcError(Diagnostic("error", sentence(what, given, expected, hint), subject, _caller()))


def _caller() -> Position | None:
    """The line of the user's code that called us; a frame has no column."""
    frame = sys._getframe(1)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in OUR_PACKAGES:
            return Position(frame.f_code.co_filename, frame.f_lineno, 1)
        frame = frame.f_back
    return None


def _hint(value: SSAValue, name: str) -> None:
    if SSAValue.is_valid_name(name):
        value.name_hint = name


def _dtype(dtype: Any, subject: str) -> dtypes.DType:
    """The table's entry for oneDNN's word, a numpy dtype or its name."""
    word = dtype.lower() if isinstance(dtype, str) else ""
    for entry in dtypes.DTYPES:
        if word in (entry.name, entry.numpy.name):
            return entry
    found = None if isinstance(dtype, str) or dtype is None else _of_numpy(dtype)
    if found is None:
        names = [entry.name for entry in dtypes.DTYPES]
        expected = f"one of {', '.join(names)}"
        raise _error("dtype", subject, given=dtype, expected=expected, hint=nearest(word, names))
    return found


def _of_numpy(dtype: Any) -> dtypes.DType | None:
    try:
        return dtypes.of_numpy(np.dtype(dtype))
    except TypeError:
        return None


def _shape(shape: Any, subject: str) -> Shape:
    if isinstance(shape, str | bytes) or not hasattr(shape, "__iter__"):
        raise _error("shape", subject, given=repr(shape), expected="sizes, names and None in a tuple or list")
    return tuple(_dim(axis, dim, subject) for axis, dim in enumerate(shape))


def _dim(axis: int, dim: Any, subject: str) -> Dim:
    if dim is None or (isinstance(dim, str) and dim):
        return dim
    if isinstance(dim, SupportsIndex) and not isinstance(dim, bool) and 0 <= index(dim) < 2**63:
        return index(dim)
    expected = "a size, or a name or None for one that only run time knows"
    raise _error(f"shape axis {axis}", subject, given=repr(dim), expected=expected)


def _split(given: Any) -> tuple[Value | None, Any]:
    """What may be an input port or an attribute of one name, as that pair."""
    return (given, None) if isinstance(given, Value) else (None, given)


def _with_unknown(sizes: Any) -> Any:
    return unknown_dims(sizes) if isinstance(sizes, list | tuple) else sizes


def _from_snake(camel: Mapping[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    """Takes the snake case spellings out of `attributes`; one that is given in both is left there."""
    spellings = {"".join("_" + c.lower() if c.isupper() else c for c in name): name for name in camel}
    taken = [s for s, name in spellings.items() if s in attributes and camel[name] is None]
    return {spellings[snake]: attributes.pop(snake) for snake in taken}
