"""Small problems for the derivative of each op: operands, and the results that are made of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.recurrence import GATES
from dialects.support.dtypes import of_numpy
from dialects.support.entry import set_names, update_function_type
from dialects.support.shapes import element_type_of, tensor_type
from passes.autodiff.rules import pointwise
from passes.builder.values import Builder

INF = 2**31 - 1


def C(*values: int) -> np.ndarray:
    """A constant vector of integers."""
    return np.array(values, np.int64)


@dataclass(frozen=True)
class Problem:
    """An op with operands: a tuple is the shape of random floats, an array is a constant, None is absent.

    Where `given`, arrays of integers are inputs, so that only run time knows them. `low` and `high` bound
    the floats.
    """

    op: str
    operands: Sequence[Any]
    attributes: Mapping[str, Any]
    results: int | None = None
    low: float = -2.0
    high: float = 2.0
    given: bool = False
    sizes: str = "static"
    distinct: bool = False

    def __str__(self) -> str:
        shown = ",".join("x".join(map(str, x)) if isinstance(x, tuple) else "c" for x in self.operands)
        message = ",".join(f"{k}={v}" for k, v in self.attributes.items())
        return f"{self.op}-{shown}-{message}-{self.sizes}{'-given' if self.given else ''}"


def P(op: str, *operands: Any, results: int | None = None, low=-2.0, high=2.0, **attributes: Any) -> Problem:
    return Problem(op, operands, attributes, results, low, high)


def module_of(problem: Problem, floats: Any = np.float64) -> tuple[ModuleOp, list[np.ndarray]]:
    """A function of the problem's op, and values for its inputs, of which `floats` is the dtype."""
    rng = np.random.default_rng(zlib.crc32(str(problem).encode()))
    arrays = [_in_dtype(_array(operand, problem, rng), floats) for operand in problem.operands]
    is_input = [isinstance(o, tuple) or (problem.given and o is not None) for o in problem.operands]
    inputs = [a for a, is_one in zip(arrays, is_input, strict=True) if is_one]
    block, e = Block(arg_types=[_type(a, problem) for a in inputs]), Builder()
    arguments = iter(block.args)
    values: list[SSAValue | None] = [
        None if a is None else next(arguments) if is_one else e.emit.constant(a)
        for a, is_one in zip(arrays, is_input, strict=True)
    ]
    dtype = of_numpy(np.dtype(floats))
    assert dtype is not None
    results = _applied(problem, values, e, dtype.mlir)
    block.add_ops([*e.emit.ops, ReturnOp(*results)])
    function = FuncOp("main", ([], []), Region(block))
    set_names(function, [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(results))])
    update_function_type(function)
    return ModuleOp([function]), inputs


def _array(operand: Any, problem: Problem, rng: np.random.Generator) -> Any:
    if not isinstance(operand, tuple):
        return operand
    if problem.distinct:  # no two elements are near each other
        count = int(np.prod(operand))
        return (rng.permutation(count) * 0.37 - 0.2 * count).reshape(operand)
    return rng.uniform(problem.low, problem.high, operand)


def _in_dtype(array: Any, floats: Any) -> Any:
    return array.astype(floats) if array is not None and array.dtype == np.float64 else array


def _type(array: np.ndarray, problem: Problem):
    dtype = of_numpy(array.dtype)
    assert dtype is not None
    if problem.sizes == "static":
        return tensor_type(dtype.mlir, array.shape)
    unknown: list[int | None] = [None] * array.ndim
    if array.dtype.kind in "iu" and array.ndim:
        unknown[-1] = array.shape[-1]  # it may say a rank
    if problem.op == "Det":
        unknown[-2:] = array.shape[-2:]
    return tensor_type(dtype.mlir, unknown)


def _applied(
    problem: Problem, values: list[SSAValue | None], e: Builder, dtype: Attribute
) -> Sequence[SSAValue]:
    cls = onnx.op_class(problem.op)
    ports = cls.SIGNATURE.operands
    given: list[Any] = [values] if ports[0].option not in ("", "optional") and len(ports) == 1 else values
    extra = {} if problem.results is None else {"results": problem.results}
    results = e.emit.all(cls(*given, **extra, **problem.attributes))
    if problem.op == "BatchNormalization" and "training_mode" not in problem.attributes:
        return results[:1]  # the others are those of training
    return [result for result in results if element_type_of(result) == dtype]


B = np.array
LINEAR = (
    P("Det", (2, 3, 3)),
    P("Det", (4, 4)),
    P("Det", (2, 1, 2, 2)),
    P("Det", (3, 1, 1)),
    P("MatMul", (3, 4), (4, 2)),
    P("MatMul", (4,), (4,)),
    P("MatMul", (4,), (2, 4, 3)),
    P("MatMul", (2, 3, 4), (4,)),
    P("MatMul", (2, 3, 4), (4, 5)),
    P("MatMul", (3, 4), (2, 4, 5)),
    P("MatMul", (2, 1, 3, 4), (5, 4, 2)),
    P("Gemm", (3, 4), (4, 2), (2,), alpha=0.5, beta=1.5),
    P("Gemm", (4, 3), (2, 4), (3, 1), transA=1, transB=1),
    P("Gemm", (4, 3), (4, 2), transA=1, alpha=2.0),
    P("Gemm", (3, 4), (2, 4), (1, 2), transB=1),
    P("Einsum", (2, 3), (3, 4), equation="ij,jk->ik"),
    P("Einsum", (2, 3, 4), (2, 4, 3), equation="bij,bji->b"),
    P("Einsum", (2, 3, 4), equation="bij->i"),
    P("Einsum", (2, 5, 3), (1, 3, 4), equation="...ij,...jk->...ik"),
    P("Einsum", (3,), (4,), (3, 4), equation="i,j,ij"),
    P("Einsum", (3, 3), (3,), equation="ii,i->"),
    P("Einsum", (2, 3, 3, 2, 4), equation="ijjik->ik"),
    P("Einsum", (3, 3), equation="ii"),
    P("Einsum", (3, 4), (1, 4), equation="ij,ij->j"),
    P("Einsum", (2, 2, 3), (2, 4), (), equation="i i ...,ik,->...k"),
)
_SMOOTH = ("Sum", "Mean", "L1", "L2", "SumSquare", "LogSumExp")
REDUCE = (
    *(P(f"Reduce{how}", (2, 3, 4), C(1), keepdims=0) for how in _SMOOTH),
    *(P(f"Reduce{how}", (2, 3, 4), C(-1, 0)) for how in _SMOOTH),
    *(P(f"Reduce{how}", (2, 3)) for how in ("Sum", "Mean", "Max", "L2", "LogSumExp")),
    *(P(f"Reduce{how}", (2, 3, 5), C(2), keepdims=0) for how in ("Max", "Min", "Prod")),
    *(P("ReduceProd", (2, n), C(1)) for n in (1, 2, 3, 4, 6, 7)),
    *(P("ReduceProd", (n, 2), C(0), keepdims=0) for n in (2, 3)),
    P("ReduceProd", (2, 3, 4), C(0, 2), keepdims=0),
    P("ReduceSum", (2, 3), C(), noop_with_empty_axes=1),
    P("ReduceL1", (2, 3), noop_with_empty_axes=1),
    P("ReduceLogSum", (2, 3, 4), C(1), low=0.3),
    P("CumSum", (3, 4), B(1)),
    P("CumSum", (3, 4), B(0), reverse=1, exclusive=1),
    *(P("CumProd", (2, 3, 2), B(1), reverse=r, exclusive=e) for r in (0, 1) for e in (0, 1)),
)  # fmt: skip
SHAPE = (
    P("Reshape", (2, 6), C(3, 4)),
    P("Reshape", (2, 6), C(0, -1, 2)),
    P("Flatten", (2, 3, 4), axis=2),
    P("Squeeze", (2, 1, 3, 1), C(1, -1)),
    P("Unsqueeze", (2, 3), C(0, 3)),
    P("Expand", (3, 1), C(2, 1, 4)),
    P("Tile", (2, 3), C(3, 2)),
    P("Transpose", (2, 3, 4), perm=[2, 0, 1]),
    P("Transpose", (2, 3, 4)),
    P("Concat", (2, 3), (2, 1), (2, 2), axis=1),
    P("Concat", (2, 3), axis=-1),
    P("Split", (2, 6), C(1, 3, 2), axis=1, results=3),
    P("Split", (5, 2), num_outputs=2, results=2),
    P("Slice", (5, 6), C(1, -4), C(4, INF)),
    P("Slice", (7, 6), C(-1), C(-INF), C(0), C(-1)),
    P("Slice", (7, 9), C(1, 8), C(6, 1), C(0, 1), C(2, -3)),
    P("Slice", (3, 4), C(2), C(-2), C(0)),
    P("Slice", (5, 6), C(2, 10**9), C(10**9, -(10**9)), C(0, 1), C(10**9, -(10**9))),
    P("Slice", (5, 6), C(-2, 3), C(INF, -INF), C(0, 1), C(3, -4)),
    P("Pad", (3, 4), C(1, 0, 2, 3), (), low=0.5),
    P("Pad", (3, 4), C(-1, 2, 1, -2)),
    P("Pad", (3, 4), C(1, 2), None, C(-1)),
    *(P("Pad", (4, 5), C(2, 0, 1, 3), mode=mode) for mode in ("reflect", "edge", "wrap")),
    *(P("Pad", (7, 8), C(2, 0, 1, 3), mode=mode) for mode in ("reflect", "edge", "wrap")),
    *(P("Pad", (2, 3), C(-1, 5, 1, 4), mode=mode) for mode in ("reflect", "edge", "wrap")),
    P("DepthToSpace", (1, 8, 2, 3), blocksize=2),
    P("DepthToSpace", (2, 8, 2, 3), blocksize=2, mode="CRD"),
    P("SpaceToDepth", (1, 2, 4, 6), blocksize=2),
    P("Trilu", (3, 4), B(1)),
    P("Trilu", (2, 3, 3), upper=0),
    P("ReverseSequence", (4, 3), C(1, 4, 2)),
    P("CenterCropPad", (5, 3), C(2, 6)),
    P("Dropout", (3, 4)),
    replace(P("Range", B(0.3), B(2.0), B(0.25)), given=True),
)  # fmt: skip
INDEX = (
    P("Gather", (5, 3), B([[0, 2], [2, -1]])),
    P("Gather", (3, 5, 2), B([1, 3, 1]), axis=1),
    P("Gather", (3, 5), B(2), axis=1),
    P("Gather", (3, 5), C(1, 2, 3), axis=1),
    P("Gather", (2, 3, 5), C(1, 4, 1), axis=2),
    P("Gather", (5,), C(3, -2, 0)),
    P("Gather", (3, 5), C(4, 0, 3, 1, 2), axis=-1),
    P("GatherElements", (3, 4), B([[0, 2], [1, 1]]), axis=0),
    P("GatherElements", (3, 4), B([[0, -1, 0], [1, 1, 3]]), axis=1),
    P("GatherND", (3, 4, 2), B([[0, 1], [2, 3], [0, 1]])),
    P("GatherND", (2, 3, 4), B([[[1], [1]], [[0], [2]]]), batch_dims=1),
    P("ScatterElements", (4, 3), B([[0, 1, 2], [3, 0, 1]]), (2, 3)),
    P("ScatterElements", (4, 3), B([[0, 0], [1, 2]]), (2, 2), axis=1, reduction="add"),
    P("ScatterND", (4, 3), B([[1], [3]]), (2, 3)),
    P("ScatterND", (4, 3), B([[1, 0], [3, 2], [1, 0]]), (3,), reduction="add"),
    P("ScatterElements", (4, 3), B([[0, 0], [1, 2]]), (2, 2), axis=1, reduction="max"),
    P("ScatterND", (4, 3), B([[1, 0], [3, 2], [1, 0]]), (3,), reduction="min"),
    P("ScatterElements", (4, 3), B([[0, 1, 2], [-4, 0, 2]]), (2, 3), reduction="mul"),
    P("ScatterElements", (3, 4), B([[0, 0, -4], [1, 2, 1]]), (2, 3), axis=-1, reduction="mul"),
    P("ScatterND", (4, 3), B([[1, 0], [3, 2], [-3, -3]]), (3,), reduction="mul"),
    P("ScatterND", (4, 3), B([[[1], [3]], [[-3], [0]]]), (2, 2, 3), reduction="mul"),
    P("TensorScatter", (2, 4, 3), (2, 2, 3), C(1, 2)),
    P("TensorScatter", (2, 3, 4), (2, 3, 2), C(3, 1), axis=-1, mode="circular"),
    P("TensorScatter", (1, 3, 2, 2), (1, 2, 2, 2), axis=1),
    P("TensorScatter", (3, 4, 5), (3, 2, 5), B([1, 2, 0])),
    P("TopK", (3, 5), C(2)),
    P("TopK", (4, 3), C(2), axis=0, largest=0),
    P("Compress", (4, 3), B([True, False, True]), axis=0),
    P("Compress", (2, 3), B([True, False, True, True])),
    P("Unique", (4, 3)),
    P("Unique", (4, 3), axis=1, sorted=0),
    P("OneHot", B([[0, 2], [1, -1]]), B(3), (2,), axis=1),
)  # fmt: skip

NORM = (
    P("Softmax", (2, 3, 4)),
    P("Softmax", (2, 3, 4), axis=1),
    P("LogSoftmax", (2, 3)),
    P("LogSoftmax", (2, 3, 2), axis=0),
    P("LayerNormalization", (3, 4), (4,), (4,)),
    P("LayerNormalization", (2, 3, 4), (3, 1), None, axis=1, epsilon=0.1),
    P("RMSNormalization", (3, 4), (4,)),
    P("RMSNormalization", (2, 3, 4), (3, 4), axis=-2, epsilon=0.1),
    P("InstanceNormalization", (2, 3, 4), (3,), (3,), epsilon=0.1),
    P("GroupNormalization", (2, 4, 3), (4,), (4,), num_groups=2),
    P("GroupNormalization", (2, 4), (4,), (4,), num_groups=2),
    P("BatchNormalization", (2, 3, 4), (3,), (3,), (3,), (3,), low=0.3, epsilon=0.1),
    P("BatchNormalization", (2, 3, 4), (3,), (3,), (3,), (3,), low=0.3, training_mode=1, momentum=0.3),
)

_LABELS = B([[0, 2], [1, 1], [2, 0]])
RANGES = (
    P("LRN", (2, 4, 3), size=3, alpha=0.5),
    P("LRN", (2, 5, 1, 2), size=2, alpha=0.7, beta=0.5, bias=2.0),
    P("LpNormalization", (3, 4)),
    P("LpNormalization", (3, 4), p=1, axis=0),
    P("MeanVarianceNormalization", (2, 3, 2, 2)),
    P("MeanVarianceNormalization", (3, 4), axes=[1]),
    *(P("NegativeLogLikelihoodLoss", (3, 4, 2), _LABELS, reduction=how) for how in ("none", "sum", "mean")),
    P("NegativeLogLikelihoodLoss", (3, 4, 2), _LABELS, B([0.5, 1, 2, 3]), ignore_index=1),
    P("SoftmaxCrossEntropyLoss", (3, 4, 2), _LABELS, reduction="sum", ignore_index=-1),
    P("SoftmaxCrossEntropyLoss", (3, 4), C(0, 2, -100), ignore_index=-100),
    P("SoftmaxCrossEntropyLoss", (3, 4, 2), _LABELS, (4,), low=0.3, ignore_index=2),
    P("NegativeLogLikelihoodLoss", (3, 4, 2), _LABELS, (4,), low=0.3, reduction="none"),
)
_IMAGE = (1, 2, 4, 5)
_CROP: Mapping[str, Any] = {
    "coordinate_transformation_mode": "tf_crop_and_resize",
    "extrapolation_value": 2.5,
}
_ROI = B([0.1, -0.2, 0.9, 0.7], np.float32)
RESIZE = (
    *(
        P("Resize", _IMAGE, None, None, C(1, 2, *sizes), mode=mode, coordinate_transformation_mode=how)
        for sizes, mode, how in (
            ((8, 3), "linear", "half_pixel"),
            ((7, 10), "linear", "align_corners"),
            ((6, 7), "nearest", "asymmetric"),
            ((6, 7), "cubic", "half_pixel"),
            ((1, 9), "linear", "pytorch_half_pixel"),
            ((6, 3), "linear", "half_pixel_symmetric"),
        )
    ),
    *(
        P("Resize", _IMAGE, None, None, C(*sizes), axes=[2, 3], **given)
        for sizes, given in (
            ((3, 9), {"mode": "cubic", "exclude_outside": 1, "coordinate_transformation_mode": "asymmetric"}),
            ((2, 7), {"mode": "linear", "antialias": 1}),
            ((3, 2), {"mode": "cubic", "antialias": 1, "cubic_coeff_a": -0.5}),
            ((1, 2), {"mode": "cubic", "antialias": 1, "exclude_outside": 1}),
            ((6, 8), {"mode": "cubic", "keep_aspect_ratio_policy": "not_larger"}),
        )
    ),
    *(
        P(
            "Resize",
            _IMAGE,
            B([0.1, -0.2, 0.9, 0.7], np.float32),
            None,
            C(3, n),
            axes=[2, 3],
            mode=mode,
            **_CROP,
        )
        for mode, n in (("linear", 5), ("cubic", 1), ("nearest", 4))
    ),
    P("Resize", _IMAGE, None, B([1, 1, 2, 1.5], np.float32), mode="linear"),
    *(
        replace(problem, given=True, sizes="unknown")
        for problem in (
            P("Resize", _IMAGE, None, B([1.4, 0.7], np.float32), axes=[2, 3], mode="linear", antialias=1),
            P("Resize", _IMAGE, _ROI, None, C(3, 4), axes=[2, 3], **_CROP),
        )
    ),
    P("Resize", _IMAGE, None, B([2, 3], np.float32), None, axes=[2, 3], nearest_mode="floor"),
    P("Resize", _IMAGE, None, B([2, 0.6], np.float32), None, axes=[2, 3], nearest_mode="ceil"),
)
_W = B(np.random.default_rng(3).normal(size=(4, 2, 3, 2)))
"""Weights of two groups: of a convolution from 4 channels, of a transposed one to 4."""

CONV = (
    P("Conv", (2, 4, 5, 6), (4, 2, 3, 2), (4,), group=2, strides=[2, 1], pads=[1, 0, 0, 1], dilations=[1, 2]),
    P("Conv", (1, 2, 6), (3, 2, 2), strides=[3]),
    P("Conv", (1, 2, 3, 2, 3), (2, 2, 2, 1, 2), None),
    P("ConvTranspose", (1, 4, 3, 2), (4, 2, 3, 2), (4,), group=2, strides=[2, 3], pads=[1, 0, 0, 1]),
    P("ConvTranspose", (2, 2, 3), (2, 3, 2), strides=[2], output_padding=[1], dilations=[2]),
)
CONV_OF_DATA = (
    P("Conv", (2, 4, 5, 6), _W, group=2, strides=[2, 1], pads=[1, 0, 0, 1]),
    P("Conv", (1, 4, 5, 6), _W, group=2, pads=[1, 0, 1, 1]),
    P("ConvTranspose", (1, 4, 3, 2), _W, group=2, strides=[2, 3], pads=[1, 0, 0, 1]),
)
"""Of constant weights: the data may have any sizes."""

_SAME = (
    P("Conv", (1, 4, 5, 6), _W, group=2, strides=[2, 3], auto_pad="SAME_UPPER"),
    P("Conv", (2, 4, 6, 5), _W, group=2, strides=[3, 2], dilations=[1, 2], auto_pad="SAME_LOWER"),
    P("ConvTranspose", (1, 4, 3, 2), _W, group=2, strides=[2, 2], auto_pad="SAME_LOWER"),
    P("ConvTranspose", (1, 4, 3, 2), _W, group=2, strides=[5, 3], auto_pad="SAME_UPPER"),
    P(
        "ConvTranspose",
        (1, 4, 3, 2),
        _W,
        group=2,
        strides=[5, 3],
        auto_pad="SAME_LOWER",
        output_padding=[1, 2],
    ),
)
_SHAPED = P("ConvTranspose", (1, 4, 3, 2), (4, 2, 3, 2), None, group=2, strides=[2, 3], output_shape=[6, 4])

POOL = (
    P("MaxPool", (2, 2, 5, 4), kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
    P("MaxPool", (1, 2, 7), kernel_shape=[3], strides=[2], dilations=[2]),
    P("GlobalMaxPool", (2, 3, 2, 3)),
    P("GlobalAveragePool", (2, 3, 2, 3)),
    P("AveragePool", (2, 2, 5, 4), kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
    P("AveragePool", (1, 2, 6), kernel_shape=[3], strides=[2], pads=[1, 1], count_include_pad=1),
    P("AveragePool", (1, 2, 6), kernel_shape=[2], strides=[2]),
    P("AveragePool", (1, 2, 6), kernel_shape=[3], strides=[2], ceil_mode=1),
    P("AveragePool", (1, 2, 6), kernel_shape=[2], strides=[3], pads=[1, 1], ceil_mode=1, count_include_pad=1),
    P("AveragePool", (1, 2, 8), kernel_shape=[2], strides=[3], pads=[1, 1], dilations=[2], ceil_mode=1),
    P("AveragePool", (1, 2, 5, 6), kernel_shape=[3, 2], strides=[2, 3], auto_pad="SAME_LOWER"),
    P("AveragePool", (1, 2, 7), kernel_shape=[4], strides=[2], auto_pad="SAME_UPPER", count_include_pad=1),
    *(
        P("LpPool", (1, 2, 5, 6), kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 0, 1], p=p)
        for p in (1, 2, 3)
    ),
    P("LpPool", (2, 2, 8), kernel_shape=[2], strides=[3], dilations=[2], ceil_mode=1),
    P("LpPool", (1, 2, 7), kernel_shape=[3], strides=[2], auto_pad="SAME_LOWER"),
    *(P("GlobalLpPool", (2, 3, 2, 3), p=p) for p in (1, 2, 3)),
    P("MaxUnpool", (1, 2, 2), B([[[1, 2], [5, 6]]]), kernel_shape=[2], strides=[2]),
    P("MaxUnpool", (1, 2, 2), B([[[1, 2], [5, 6]]]), C(1, 2, 4), kernel_shape=[2], strides=[2]),
    P("Col2Im", (2, 8, 6), C(4, 5), C(2, 2), strides=[2, 1], pads=[1, 0, 0, 0], dilations=[1, 2]),
    P("Col2Im", (1, 6, 3), C(5), C(3)),
    P("MaxPool", (1, 2, 7), kernel_shape=[3], strides=[2], ceil_mode=1, storage_order=1),
    P("MaxPool", (1, 2, 6, 5), kernel_shape=[3, 2], strides=[3, 2], auto_pad="SAME_LOWER"),
    P("MaxPool", (1, 2, 6, 5), kernel_shape=[2, 2], strides=[2, 1], dilations=[2, 3], auto_pad="VALID"),
)

_ROIS = B([[0.3, 0.7, 4.2, 3.4], [1.1, 0.2, 2.4, 4.6], [-1.6, 1.3, 9.1, 7.2]])
DEFORMED = (
    P("DeformConv", (1, 4, 4, 5), (4, 2, 2, 2), (1, 16, 3, 4), group=2, offset_group=2, low=-0.9, high=0.9),
)
_TWO = {"strides": [2, 1], "pads": [1, 1, 1, 1], "dilations": [2, 1]}
SAMPLING = (
    P("DeformConv", (2, 2, 4, 5), _W[:3, :, :2, :1], (2, 4, 2, 7), (3,), (2, 2, 2, 7), **_TWO),
    *(
        P("GridSample", (2, 2, 3, 4), (2, 2, 3, 2), mode=mode, padding_mode=how, align_corners=corners)
        for mode in ("linear", "nearest", "cubic")
        for how in ("zeros", "border", "reflection")
        for corners in (0, 1)
    ),
    P("GridSample", (1, 2, 2, 3, 2), (1, 2, 1, 2, 3), padding_mode="reflection"),
    P("GridSample", (2, 1, 5), (2, 4, 1), padding_mode="border"),
    *(
        P("RoiAlign", (2, 2, 5, 6), _ROIS, C(1, 0, 1), output_height=2, output_width=3, **given)
        for given in (
            {"sampling_ratio": 2},
            {"spatial_scale": 0.5},
            {"mode": "max", "coordinate_transformation_mode": "output_half_pixel", "spatial_scale": 0.7},
        )
    ),
    P("AffineGrid", (2, 2, 3), C(2, 1, 3, 4)),
    P("AffineGrid", (2, 2, 3), C(2, 1, 3, 1)),
    P("AffineGrid", (2, 3, 4), C(2, 1, 2, 3, 2), align_corners=1),
    P("AffineGrid", (2, 2, 3), C(2, 1, 1, 3), align_corners=1),
)

CAUSAL = (
    P("CausalConvWithState", (2, 3, 5), (3, 1, 4), (3,), (2, 3, 3), activation="silu"),
    P("CausalConvWithState", (2, 3, 2), (3, 1, 4)),
    P("CausalConvWithState", (2, 3, 4), (3, 1, 1), (3,), activation="swish"),
)
ATTENTION = (
    *CAUSAL,
    P("SwiGLU", (2, 3), (2, 3), alpha=1.5),
    P("Attention", (2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 3)),
    P("Attention", (2, 3, 8), (2, 5, 4), (2, 5, 6), q_num_heads=4, kv_num_heads=2, scale=0.7, softcap=1.5),
    P("Attention", (2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 4), (3, 3), is_causal=1),
    P("Attention", (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 3), results=4, softcap=1.5),
    P(
        "Attention",
        *((2, 4, 3, 2), (2, 2, 2, 2), (2, 2, 2, 2), None, (2, 2, 3, 2), (2, 2, 3, 2)),
        is_causal=1,
        qk_matmul_output_mode=3,
    ),
    P("Attention", (2, 2, 3, 4), (2, 2, 4, 4), (2, 2, 4, 4), B([[1, 0, 1], [0, 0, 0], [1, 1, 1]], bool)),
    P("CausalConvWithState", (2, 4, 5), _W[:, :1, :, 0], (4,), (2, 4, 2)),
    *(
        P("LinearAttention", (2, 3, 8), (2, 3, 4), (2, 3, 6), *rest, q_num_heads=4, kv_num_heads=2, **given)
        for rest, given in (
            ((), {"update_rule": "linear"}),
            (((2, 2, 2, 3), (2, 3, 4)), {"update_rule": "gated", "scale": 0.7}),
            ((None, None, (2, 3, 1)), {"update_rule": "delta"}),
            (((2, 2, 2, 3), (2, 3, 2), (2, 3, 2)), {}),
        )
    ),
    P("RotaryEmbedding", (2, 2, 3, 4), (2, 3, 2), (2, 3, 2)),
    P("RotaryEmbedding", (2, 3, 8), (5, 2), (5, 2), B([[0, 2, 1], [4, 0, 0]]), num_heads=2, interleaved=1),
    P("RotaryEmbedding", (2, 3, 12), (2, 3, 2), (2, 3, 2), num_heads=2, rotary_embedding_dim=4),
)
_LENGTHS = B([3, 0, 2, 4], np.int32)


def _recurrent(op: str, *further: str, both: bool = False, **attributes: Any) -> Problem:
    """Of 4 steps, 4 sequences, 2 features, 3 hidden; `further` are the optional operands that it has."""
    rows, directions, hidden = GATES[op] * 3, 1 + both, 3
    shapes = {
        "bias": (directions, 2 * rows), "lengths": _LENGTHS, "h": (directions, 4, hidden),
        "c": (directions, 4, hidden), "peepholes": (directions, 3 * hidden),
    }  # fmt: skip
    names = list(shapes)[: 5 if op == "LSTM" else 3]
    x, given = (4, 4, 2), [shapes[name] if name in further else None for name in names]
    if attributes.get("layout"):
        given = [(s[1], s[0], s[2]) if isinstance(s, tuple) and len(s) == 3 else s for s in given]
    if both:
        attributes["direction"] = "bidirectional"
    attributes = {"hidden_size": hidden, **attributes}
    return Problem(op, [x, (directions, rows, 2), (directions, rows, hidden), *given], attributes)


_CURVED = ["Softplus", "ScaledTanh", "Softsign"]
RECURRENT = (
    _recurrent("RNN"),
    _recurrent(
        "RNN", "bias", "h", both=True, clip=1.5, activations=["Affine", "Elu"], activation_alpha=[0.7, 0.6]
    ),
    _recurrent("RNN", "lengths", "h", direction="reverse", layout=1, activations=["LeakyRelu"]),
    _recurrent("GRU"),
    _recurrent("GRU", "bias", "lengths", "h", both=True, hidden_size=3),
    _recurrent("GRU", "bias", "lengths", "h", both=True, linear_before_reset=1, clip=1.2),
    _recurrent(
        "GRU",
        "bias",
        linear_before_reset=1,
        direction="reverse",
        layout=1,
        activations=["HardSigmoid", "Relu"],
    ),
    _recurrent("LSTM"),
    _recurrent(
        "LSTM",
        "bias",
        "lengths",
        "h",
        "c",
        both=True,
        activations=[*_CURVED[:1], "Tanh", "Tanh", "Sigmoid", *_CURVED[1:]],
        activation_alpha=[1.2],
        activation_beta=[0.8],
    ),
    _recurrent("LSTM", "bias", "lengths", "h", "c", "peepholes", direction="reverse", clip=1.5),
    _recurrent(
        "LSTM",
        "c",
        "peepholes",
        input_forget=1,
        layout=1,
        activations=["HardSigmoid", "Tanh", "ThresholdedRelu"],
        activation_alpha=[0.3, 0.1],
        activation_beta=[0.4],
    ),
    _recurrent("LSTM", "bias", "lengths", input_forget=1, clip=1.0),
)

_BOUNDED = {
    "Acos": (-0.9, 0.9), "Acosh": (1.1, 4), "Asin": (-0.9, 0.9), "Atanh": (-0.9, 0.9), "Log": (0.2, 3),
    "Sqrt": (0.2, 3), "Reciprocal": (0.3, 2), "Tan": (-1.2, 1.2),
}  # fmt: skip
_SEVERAL = ("Add", "Div", "Max", "Mean", "Min", "Mod", "Mul", "PRelu", "Pow", "Sub", "Sum")
_ATTRIBUTES: dict[str, list[dict[str, Any]]] = {
    "Cast": [{"to": f64}],
    "Celu": [{}, {"alpha": 1.7}, {"alpha": -0.8}],
    "Elu": [{}, {"alpha": 0.6}, {"alpha": -0.7}],
    "Gelu": [{}, {"approximate": "tanh"}],
    "HardSigmoid": [{}, {"alpha": 0.3, "beta": 0.4}],
    "LeakyRelu": [{}, {"alpha": -0.2}],
    "Selu": [
        {},
        *({"alpha": alpha, "gamma": gamma} for alpha, gamma in ((1.2, 0.9), (-0.6, 0.9), (1.2, -0.9))),
    ],
    "Shrink": [{"bias": 0.2, "lambd": 0.7}],
    "Swish": [{}, {"alpha": 1.4}],
    "ThresholdedRelu": [{}, {"alpha": 0.4}],
}
_UNARY = sorted(set(pointwise.RULES) - {*_SEVERAL, "CastLike", "Clip", "Where"})
POINTWISE = (
    *(
        Problem(name, [(3, 7)], given, None, *_BOUNDED.get(name, (-3.5, 3.5)))
        for name in _UNARY
        for given in _ATTRIBUTES.get(name, [{}])
    ),
    *(P(name, (2, 1, 4), (3, 1)) for name in ("Add", "Mul", "Sub")),
    *(P(name, (2, 1, 4), (3, 1), (4,)) for name in ("Max", "Mean", "Min", "Sum")),
    *(P(name, (2, 1, 4), (3, 1), low=0.3) for name in ("Div", "Pow")),
    P("Pow", (3, 4), B(3)),
    *(P("Pow", (3, 4), B(power), low=0.3) for power in (2.0, 0.5, -1.0, 1.5, 2.5, 4.0, 5.0, -0.5, -3.0)),
    P("Mod", (2, 1, 4), (3, 1), low=0.4, high=1.9, fmod=1),
    P("PRelu", (2, 3, 4), (3, 1)),
    P("CastLike", (3, 4), (2,)),
    P("Clip", (3, 7), B(-1.3), B(1.1)),
    P("Clip", (3, 7), (), None, low=-0.7, high=0.5),
    P("Clip", (3, 7), None, ()),
    P("Where", B([[True, False, True], [False, True, True]]), (2, 1, 3), (2, 2, 1)),
)

_CODES = B(np.random.default_rng(5).integers(-128, 128, (2, 6, 3)), np.int8)
QUANTIZED = (
    P("DequantizeLinear", _CODES, (), B(3, np.int8)),
    P("DequantizeLinear", _CODES, (1,)),
    P("DequantizeLinear", _CODES, (6,), B([3, -5, 0, 7, 1, 2], np.int8)),
    P("DequantizeLinear", _CODES.astype(np.int32), (3,), axis=-1),
    P("DequantizeLinear", _CODES.view(np.uint8), (2, 3, 3), None, axis=1, block_size=2),
    P("DequantizeLinear", _CODES, (2, 2, 3), _CODES[:, :2], axis=-2, block_size=4),
    P("DynamicQuantizeLinear", (3, 4)),
    P("DynamicQuantizeLinear", (3, 4), low=0.3),
)

VALUES: Mapping[str, Callable[[Problem], Problem]] = {
    **dict.fromkeys(("GlobalMaxPool", "MaxPool", "TopK"), lambda p: replace(p, distinct=True)),
}


_AXIS = B(1)
SPECTRA = (
    *(
        P("DFT", (2, 5, 1), None, _AXIS, onesided=one, inverse=inverse)
        for one, inverse in ((0, 0), (1, 0), (0, 1))
    ),
    P("DFT", (2, 6, 2), None, _AXIS, inverse=1),
    P("DFT", (2, 4, 3, 2), B(6), _AXIS),
    P("DFT", (7, 2, 1), B(4), B(0), onesided=1),
    P("DFT", (2, 4, 2), None, _AXIS, onesided=1, inverse=1),
    P("DFT", (5, 2, 2), B(7), B(-3), onesided=1, inverse=1),
    P("STFT", (2, 9, 1), B(2), (4,)),
    P("STFT", (2, 8, 2), B(3), None, B(5), onesided=0),
)


def problems() -> Iterator[Problem]:
    """Each with all sizes known, with none, and with its integers given at run time, where that is one."""
    for problem in (
        *POINTWISE,
        *LINEAR,
        *NORM,
        *RANGES,
        *REDUCE,
        *SHAPE,
        *INDEX,
        *ATTENTION,
        *RESIZE,
        *CONV,
        *CONV_OF_DATA,
        *_SAME,
        _SHAPED,
        *POOL,
        *DEFORMED,
        *SAMPLING,
        *SPECTRA,
        *RECURRENT,
        *QUANTIZED,
    ):
        problem = VALUES.get(problem.op, lambda p: p)(problem)
        yield problem
        if (problem.given and problem.sizes != "static") or any(
            problem is one for one in (*CAUSAL, *CONV, *DEFORMED, _SHAPED)
        ):
            continue
        yield replace(problem, sizes="unknown")
        if problem.op in GIVEN:
            yield replace(problem, given=True, sizes="unknown")


GIVEN = frozenset((
    "AffineGrid", "CenterCropPad", "Col2Im", "Compress", "CumProd", "CumSum", "DFT", "DequantizeLinear",
    "Expand", "Gather", "GatherElements", "GatherND", "MaxUnpool", "Pad", "ReduceL1", "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare", "Reshape", "ScatterElements", "ScatterND", "Slice", "Split", "Squeeze", "Tile",
    "TopK", "Trilu", "Unsqueeze",
))  # fmt: skip
"""The ops whose integers are data."""
