"""Every op, on random instances: shapes against onnx, numbers against onnxruntime, text, folding."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator
from support.canonicalize import canonicalize
from support.onnx_cases import MORE
from support.onnx_draws import Case, Draws, divisor, elementwise, unary, variadic
from xdsl.context import Context
from xdsl.dialects import builtin, func, test
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.ir import Block, Region
from xdsl.parser import Parser
from xdsl.printer import Printer

from dialects.onnx import ONNX, ops
from dialects.onnx.base import NEVER_FOLDED, OnnxOp, constant_of
from dialects.onnx.interpreter import OnnxFunctions
from dialects.onnx.numpy import KERNELS
from dialects.onnx.opset_range import opset_range
from dialects.support import dtypes
from dialects.support.interfaces import set_type
from dialects.support.shapes import Dim, DimLike, element_type_of, shape_of, tensor_type, with_sizes

OPSET = 21
CLASSES = {op.onnx_name(): op for op in ops.OPS}


def _vector(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def cast(d: Draws) -> Case:
    to = d.pick(builtin.f32, builtin.f64, builtin.i64, builtin.i32, builtin.i1, builtin.i8)
    return Case("Cast", [d.array(d.shape(), d.pick(np.float32, np.int64, np.bool_))], {"to": to})


def clip(d: Draws) -> Case:
    dtype = d.dtype()
    bounds = [d.array((), dtype) if d.int(0, 2) else None for _ in range(2)]
    if bounds[0] is not None and bounds[1] is not None:
        bounds.sort(key=lambda bound: bound.item())
    return Case("Clip", [d.array(d.shape(), dtype), *bounds])


@dataclass
class Conv:
    """A random window problem whose result is not empty."""

    rank: int
    sizes: list[int]
    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[int]
    group: int

    @staticmethod
    def of(d: Draws, pads: int = 3) -> Conv:
        rank = d.int(1, 3)
        kernel, strides, dilations = ([d.int(1, 3) for _ in range(rank)] for _ in range(3))
        begin, end = ([d.int(0, pads) for _ in range(rank)] for _ in range(2))
        low = [
            max(1, (k - 1) * e + 1 - b - f) for k, e, b, f in zip(kernel, dilations, begin, end, strict=True)
        ]
        sizes = [least + d.int(0, 4) for least in low]
        return Conv(rank, sizes, kernel, strides, dilations, begin + end, d.int(1, 3))

    def attributes(self) -> dict[str, Any]:
        return {"strides": self.strides, "dilations": self.dilations, "pads": self.pads}


def conv(d: Draws) -> Case:
    p = Conv.of(d)
    channels, out = p.group * d.int(1, 3), p.group * d.int(1, 3)
    inputs = [
        d.array((d.int(1, 2), channels, *p.sizes)),
        d.array((out, channels // p.group, *p.kernel)),
        d.array((out,)) if d.int(0, 1) else None,
    ]
    return Case("Conv", inputs, p.attributes() | {"group": p.group}, tolerance=1e-5)


def conv_transpose(d: Draws) -> Case:
    p = Conv.of(d, pads=1)
    extra = [d.int(0, stride - 1) for stride in p.strides]
    spans = zip(p.strides, p.kernel, p.dilations, p.pads[: p.rank], p.pads[p.rank :], extra, strict=True)
    sizes = [max(1, -(-(1 + b + e - o - (k - 1) * a - 1) // s) + 1) for s, k, a, b, e, o in spans]
    sizes = [size + d.int(0, 3) for size in sizes]
    channels, out = p.group * d.int(1, 3), d.int(1, 3)
    inputs = [
        d.array((d.int(1, 2), channels, *sizes)),
        d.array((channels, out, *p.kernel)),
        d.array((out * p.group,)) if d.int(0, 1) else None,
    ]
    attributes = p.attributes() | {"group": p.group, "output_padding": extra}
    return Case("ConvTranspose", inputs, attributes, tolerance=1e-5)


def average_pool(d: Draws) -> Case:
    p = Conv.of(d, pads=1)
    kernel = [k + 1 for k in p.kernel]
    sizes = [size + 2 * e for size, e in zip(p.sizes, p.dilations, strict=True)]
    attributes = p.attributes() | {
        "kernel_shape": kernel,
        "count_include_pad": d.int(0, 1),
        "ceil_mode": d.int(0, 1),
    }
    return Case("AveragePool", [d.array((2, 3, *sizes))], attributes, tolerance=1e-6)


def col2im(d: Draws) -> Case:
    p = Conv.of(d)
    extents = [(k - 1) * e + 1 for k, e in zip(p.kernel, p.dilations, strict=True)]
    begin, end = p.pads[: p.rank], p.pads[p.rank :]
    spans = zip(p.sizes, extents, p.strides, begin, end, strict=True)
    count = math.prod((x + b + e - k) // s + 1 for x, k, s, b, e in spans)
    data = d.array((d.int(1, 2), d.int(1, 3) * math.prod(p.kernel), count))
    return Case(
        "Col2Im", [data, _vector(*p.sizes), _vector(*p.kernel)], p.attributes(), (1, 2), tolerance=1e-5
    )


def concat(d: Draws) -> Case:
    shape, dtype = list(d.shape(1)), d.dtype()
    axis = d.axis(len(shape))
    inputs = []
    for _ in range(d.int(1, 3)):
        shape[axis] = d.int(0, 4)
        inputs.append(d.array(shape, dtype))
    return Case("Concat", inputs, {"axis": axis})


def constant(d: Draws) -> Case:
    return Case("Constant", [], {"value": d.array(d.shape(), d.pick(np.float32, np.int64, np.bool_))})


def constant_of_shape(d: Draws) -> Case:
    attributes = d.pick({}, {"value": d.array((1,), d.dtype())})
    return Case("ConstantOfShape", [_vector(*d.shape())], attributes, (0,))


def depth_to_space(d: Draws) -> Case:
    block = d.int(1, 3)
    data = d.array((d.int(1, 2), block * block * d.int(1, 3), d.int(1, 4), d.int(1, 4)))
    mode = d.pick({}, {"mode": "DCR"}, {"mode": "CRD"})
    return Case("DepthToSpace", [data], {"blocksize": block} | mode)


def expand(d: Draws) -> Case:
    shape, target = d.broadcast(2)
    return Case("Expand", [d.array(shape, d.dtype()), _vector(*target)], {}, (1,))


def gather(d: Draws) -> Case:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    indices = d.random.integers(-shape[axis], shape[axis], d.shape(0, 2)).astype(d.pick(np.int64, np.int32))
    return Case("Gather", [d.array(shape, d.dtype()), indices], d.pick({"axis": axis}, {"axis": axis}))


def gather_elements(d: Draws) -> Case:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    other = [d.int(1, size) for size in shape]
    other[axis] = d.int(1, 5)
    indices = d.random.integers(-shape[axis], shape[axis], other)
    return Case("GatherElements", [d.array(shape, d.dtype()), indices], {"axis": axis})


def matmul(d: Draws) -> Case:
    dtype = d.pick(np.float32, np.float64, np.int32, np.int64)
    n, k, m = d.int(1, 4), d.int(1, 4), d.int(1, 4)
    left, right = d.broadcast(2)
    a, b = d.pick(((*left, n, k), (*right, k, m)), ((k,), (*right, k, m)), ((*left, n, k), (k,)))
    return Case("MatMul", [d.array(a, dtype), d.array(b, dtype)], tolerance=1e-5)


def pad(d: Draws) -> Case:
    shape, dtype = d.shape(1), d.dtype()
    rank = len(shape)
    axes = d.axes(rank) if d.int(0, 1) else None
    mode = d.pick("constant", "reflect", "edge", "wrap")
    sizes = [shape[axis] for axis in (range(rank) if axes is None else axes)]
    pads = []
    for size in (*sizes, *sizes):
        low = 0 if mode == "reflect" else -((size - 1) // 2)
        pads.append(d.int(low, 2 if mode in ("constant", "edge") else size - 1))
    fill = d.array((), dtype) if mode == "constant" and d.int(0, 1) else None
    return Case("Pad", [d.array(shape, dtype), _vector(*pads), fill, axes], {"mode": mode}, (1, 3))


def range_(d: Draws) -> Case:
    dtype = d.pick(np.int64, np.int32, np.float32, np.float64)
    bounds = d.int(-5, 5), d.int(-5, 9), d.pick(-3, -1, 1, 2)
    return Case("Range", [np.array(bound, dtype) for bound in bounds], {}, d.pick((), (0, 1, 2)))


def reduce_sum(d: Draws) -> Case:
    shape = d.shape()
    axes = d.axes(len(shape)) if d.int(0, 1) else None
    attributes = {"keepdims": d.int(0, 1), "noop_with_empty_axes": d.int(0, 1)}
    return Case("ReduceSum", [d.array(shape, d.dtype()), axes], attributes, (1,), tolerance=1e-6)


def reshape(d: Draws) -> Case:
    shape = d.shape(1)
    parts = [size for n in shape for size in ((2, n // 2) if n % 2 == 0 else (n,))]
    target = list(d.draw(st.permutations(parts)))
    if d.int(0, 1):
        target[d.int(0, len(target) - 1)] = -1
    if target[0] == shape[0]:
        target[0] = d.pick(0, target[0])
    return Case("Reshape", [d.array(shape, d.dtype()), _vector(*target)], {}, (1,))


def resize(d: Draws) -> Case:
    """Ratios that f32 represents, so that onnxruntime's coordinates are exact."""
    rank = d.int(1, 3)
    mode = d.pick("nearest", "linear") if rank < 3 else "nearest"
    coordinates = d.pick("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
    sizes = [d.pick(1, 2, 4, 8) for _ in range(rank)]
    resized = [d.pick(1, 2, 4, 8) for _ in range(rank)]
    if mode == "linear":
        sizes, resized = [1, 1, *sizes], [1, 1, *resized]
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = d.pick(*("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
        if coordinates == "align_corners":
            attributes["coordinate_transformation_mode"] = "half_pixel"
    data = d.array(sizes)
    if d.int(0, 1):
        return Case("Resize", [data, None, None, _vector(*resized)], attributes, (3,), tolerance=1e-5)
    scales = np.array([r / s for r, s in zip(resized, sizes, strict=True)], np.float32)
    return Case("Resize", [data, None, scales], attributes, (2,), tolerance=1e-5)


def scatter_nd(d: Draws) -> Case:
    shape, dtype = d.shape(1), d.pick(np.float32, np.int64)
    depth = d.int(1, len(shape))
    places = [list(np.ndindex(*shape[:depth]))[i] for i in d.random.permutation(math.prod(shape[:depth]))][
        : d.int(1, 4)
    ]
    indices = np.array(places, np.int64)
    updates = d.array((len(places), *shape[depth:]), dtype)
    attributes = d.pick({}, {"reduction": "add"}, {"reduction": "max"}, {"reduction": "mul"})
    return Case("ScatterND", [d.array(shape, dtype), indices, updates], attributes)


def shape(d: Draws) -> Case:
    bounds = {"start": d.int(-5, 5), "end": d.int(-5, 5)}
    attributes = d.pick({}, bounds, {"start": bounds["start"]}, {"end": bounds["end"]})
    return Case("Shape", [d.array(d.shape(), d.dtype())], attributes)


def slice_(d: Draws) -> Case:
    dims = d.shape(1)
    axes = d.axes(len(dims)) if d.int(0, 1) else None
    count = len(dims) if axes is None else len(axes)
    steps = [d.pick(1, 2, -1, -2) for _ in range(count)] if d.int(0, 1) else None
    starts, ends = ([d.pick(0, 1, -1, -2, 7, -9) for _ in range(count)] for _ in range(2))
    down = [steps is not None and step < 0 for step in steps or [1] * count]
    ends = [end if back else d.pick(end, 2**31 - 1) for end, back in zip(ends, down, strict=True)]
    given = [None if v is None else np.array(v, np.int64) for v in (starts, ends, axes, steps)]
    return Case("Slice", [d.array(dims, d.dtype()), *given], {}, (1, 2, 3, 4))


def split(d: Draws) -> Case:
    dims = list(d.shape(1))
    axis = d.axis(len(dims))
    if d.int(0, 1):
        count = d.int(1, 3)
        dims[axis] = d.pick(count, 2 * count, 2 * count - 1 if count > 1 else 2)
        return Case("Split", [d.array(dims)], {"axis": axis, "num_outputs": count}, (), count)
    parts = [d.int(0, 3) for _ in range(d.int(1, 3))]
    dims[axis] = sum(parts)
    return Case("Split", [d.array(dims, d.dtype()), _vector(*parts)], {"axis": axis}, (1,), len(parts))


def squeeze(d: Draws) -> Case:
    dims = [d.pick(1, 3) for _ in range(d.int(0, 4))]
    ones = [i for i, size in enumerate(dims) if size == 1]
    axes = _vector(*ones[: d.int(1, len(ones))]) if ones and d.int(0, 1) else None
    return Case("Squeeze", [d.array(dims, d.dtype()), axes], {}, (1,))


def tile(d: Draws) -> Case:
    dims = d.shape(1)
    repeats = _vector(*(d.int(0, 3) for _ in dims))
    return Case("Tile", [d.array(dims, d.dtype()), repeats], {}, (1,))


def transpose(d: Draws) -> Case:
    dims = d.shape()
    perm = {"perm": d.draw(st.permutations(range(len(dims))))}
    return Case("Transpose", [d.array(dims, d.dtype())], d.pick({}, perm) if dims else {})


def unsqueeze(d: Draws) -> Case:
    dims = d.shape(0, 3)
    rank = len(dims) + 2
    axes = [axis - rank * d.int(0, 1) for axis in d.draw(st.permutations(range(rank)))[:2]]
    return Case("Unsqueeze", [d.array(dims, d.dtype()), _vector(*axes)], {}, (1,))


def where(d: Draws) -> Case:
    condition, x, y = d.broadcast(3)
    dtype = d.dtype()
    return Case("Where", [d.array(condition, np.bool_), d.array(x, dtype), d.array(y, dtype)])


FLOATS, NUMBERS = (np.float32, np.float64), (np.float32, np.float64, np.int64, np.int32)

CASES: dict[str, Callable[[Draws], Case]] = {
    **MORE,
    "Abs": unary("Abs", *NUMBERS),
    "Add": elementwise("Add", 2),
    "And": elementwise("And", 2, [np.bool_]),
    "AveragePool": average_pool,
    "Cast": cast,
    "Ceil": unary("Ceil", *FLOATS),
    "Clip": clip,
    "Col2Im": col2im,
    "Concat": concat,
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DepthToSpace": depth_to_space,
    "Div": divisor("Div"),
    "Equal": elementwise("Equal", 2, [np.float32, np.int64, np.bool_]),
    "Expand": expand,
    "Floor": unary("Floor", *FLOATS),
    "Gather": gather,
    "GatherElements": gather_elements,
    "GreaterOrEqual": elementwise("GreaterOrEqual", 2),
    "Identity": unary("Identity", *NUMBERS, np.bool_),
    "Less": elementwise("Less", 2),
    "MatMul": matmul,
    "Max": variadic("Max"),
    "Min": variadic("Min"),
    "Mod": divisor("Mod"),
    "Mul": elementwise("Mul", 2),
    "Neg": unary("Neg", *NUMBERS),
    "Not": unary("Not", np.bool_),
    "Or": elementwise("Or", 2, [np.bool_]),
    "Pad": pad,
    "Range": range_,
    "ReduceSum": reduce_sum,
    "Reshape": reshape,
    "Resize": resize,
    "ScatterND": scatter_nd,
    "Shape": shape,
    "Slice": slice_,
    "Split": split,
    "Squeeze": squeeze,
    "Sub": elementwise("Sub", 2),
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
    "Where": where,
}


def test_every_case_has_a_kernel() -> None:
    """What kernel has none here is held against the cases that onnx ships."""
    assert CASES.keys() <= KERNELS.keys()


def every_op(examples: int) -> Callable:
    """Run a test on random instances of every op."""

    def decorate(function: Callable[[Case], None]) -> Callable:
        @pytest.mark.parametrize("name", sorted(CASES))
        @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
        @given(data=st.data())
        def run(name: str, data: st.DataObject) -> None:
            case = CASES[name](Draws(data.draw))
            case.seed = data.draw(st.integers(0, 1000))
            function(case)

        run.__doc__ = function.__doc__
        return run

    return decorate


# Modules and models of one op


def context() -> Context:
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, test.Test, ONNX):
        ctx.load_dialect(dialect)
    return ctx


def arguments(case: Case) -> list[int]:
    constants = case.constants
    return [i for i, a in enumerate(case.inputs) if a is not None and i not in constants]


def module_of(case: Case, shapes: dict[int, Sequence[DimLike]], folded: bool = False):
    """A function of one op; operands in `constants` (all, if `folded`) are `onnx.Constant`."""
    indexes = [] if folded else arguments(case)
    types = []
    for i in indexes:
        array = case.inputs[i]
        assert array is not None
        dtype = dtypes.of_numpy(array.dtype)
        assert dtype is not None
        types.append(tensor_type(dtype.mlir, shapes.get(i, array.shape)))
    block = Block(arg_types=types)
    values: list[Any] = []
    for i, array in enumerate(case.inputs):
        if i in indexes:
            values.append(block.args[indexes.index(i)])
        else:
            made = None if array is None else ops.ConstantOp(array)
            values.append(made)
            block.add_ops([made] if made else [])
    op = construct(case, values)
    block.add_op(op)
    block.add_op(func.ReturnOp(*op.results))
    function = func.FuncOp("f", (types, list(op.result_types)), Region(block))
    return builtin.ModuleOp([function]), op


def construct(case: Case, values: Sequence[Any]) -> OnnxOp:
    cls: Any = CLASSES[case.name]
    extra = {} if case.results is None else {"results": case.results}
    if case.name in ("Concat", "Einsum", "Max", "Mean", "Min", "Sum"):
        return cls(values, **case.attributes)
    return cls(*values, **case.attributes, **extra)


def model_of(case: Case, op: OnnxOp, shapes: dict[int, Sequence[DimLike]]) -> onnx.ModelProto:
    """The same one-node model, made from what the op says of itself."""
    names = [f"i{i}" if v is not None else "" for i, v in enumerate(op.onnx_inputs())]
    attributes = dict(op.onnx_attributes())
    if case.name == "Cast":
        to = dtypes.of_mlir(op.onnx_attributes()["to"])  # pyright: ignore
        assert to is not None
        attributes["to"] = helper.np_dtype_to_tensor_dtype(to.numpy)
    for name, value in attributes.items():
        if isinstance(value, np.ndarray):
            attributes[name] = numpy_helper.from_array(value)
    outputs = [f"o{i}" for i in range(len(op.results))]
    node = helper.make_node(case.name, names, outputs, **attributes)
    inputs, initializers = [], []
    for i, array in enumerate(case.inputs):
        if array is None:
            continue
        if i not in arguments(case):
            initializers.append(numpy_helper.from_array(array, f"i{i}"))
            continue
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        inputs.append(helper.make_tensor_value_info(f"i{i}", dtype, shapes.get(i, array.shape)))
    results = [
        helper.make_tensor_value_info(name, _onnx_dtype(result), None)
        for name, result in zip(outputs, op.results, strict=True)
    ]
    graph = helper.make_graph([node], "g", inputs, results, initializers)
    opset = max(OPSET, opset_range(op)[0])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def _onnx_dtype(result: Any) -> int:
    dtype = dtypes.of_mlir(result.type.element_type)
    assert dtype is not None
    return helper.np_dtype_to_tensor_dtype(dtype.numpy)


def interpret(module: builtin.ModuleOp, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(OnnxFunctions())
    return interpreter.call_op("f", tuple(inputs))


def run(model: onnx.ModelProto, case: Case) -> list[np.ndarray]:
    if case.name == "Col2Im" and len(case.attributes["dilations"]) != 2:
        # onnxruntime 1.31 is wrong here for dilations other than 1 (it reads beyond the columns).
        return ReferenceEvaluator(model).run(None, {"i0": case.inputs[0]})  # pyright: ignore
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {f"i{i}": case.inputs[i] for i in arguments(case)})


def at_least(case: Case, ours: Sequence[Dim], theirs: Sequence[DimLike] | None) -> None:
    """Every size that onnx knows, we know."""
    if theirs is None or case.attributes.get("ceil_mode"):
        return  # onnx counts pooling windows that start in the padding; onnxruntime does not
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == other or not isinstance(other, int), (case, ours, theirs)


def inferred_by_onnx(model: onnx.ModelProto) -> list[tuple[DimLike, ...] | None]:
    """The shape of each output, None where onnx does not know even the rank."""
    model = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    return [_dims(output.type.tensor_type) for output in model.graph.output]


def _dims(tensor: Any) -> tuple[DimLike, ...] | None:
    if not tensor.HasField("shape"):
        return None
    return tuple(d.dim_value if d.HasField("dim_value") else (d.dim_param or None) for d in tensor.shape.dim)


# Tests


@pytest.mark.sweep
@every_op(examples=12)
def test_static_shapes_and_numbers(case: Case) -> None:
    """Our shapes are onnx's, our numbers onnxruntime's."""
    module, op = module_of(case, {})
    module.verify()
    model = model_of(case, op, {})
    ours = interpret(module, [case.inputs[i] for i in arguments(case)])  # pyright: ignore
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = run(model, case)
    for result, a, b in zip(op.results, ours, theirs, strict=True):
        assert all(x is None or x == y for x, y in zip(shape_of(result), b.shape, strict=True))
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=case.tolerance, atol=case.tolerance * 10, err_msg=repr(case))
    for result, expected in zip(op.results, inferred_by_onnx(model), strict=True):
        at_least(case, shape_of(result), expected)


@pytest.mark.sweep
@every_op(examples=8)
def test_unknown_dims(case: Case) -> None:
    """With some dims unknown or named: sound, and as precise as onnx."""
    names: dict[str, int] = {}
    random = np.random.default_rng(case.seed)
    shapes: dict[int, Sequence[DimLike]] = {}
    for i in arguments(case):
        array = case.inputs[i]
        assert array is not None
        names.update({f"D{size}": size for size in array.shape})
        pick = random.integers(0, 3, array.ndim)
        shapes[i] = [[s, f"D{s}", None][p] for s, p in zip(array.shape, pick, strict=True)]
    check_unknown(case, shapes, names)


@pytest.mark.sweep
@every_op(examples=8)
def test_unknown_operands(case: Case) -> None:
    """With sizes, axes, steps, ... that only run time knows, and maybe not even their number: the same."""
    random = np.random.default_rng(case.seed)
    shapes: dict[int, Sequence[DimLike]] = {}
    kept = tuple(i for i in case.constants if case.inputs[i] is None or random.integers(0, 3) == 0)
    for i in set(case.constants) - set(kept):
        array = case.inputs[i]
        assert array is not None
        known = case.name == "Resize"  # onnx takes an unknown number of sizes for 0
        shapes[i] = [size if known or random.integers(0, 2) else None for size in array.shape]
    check_unknown(replace(case, constants=kept), shapes, {})


def check_unknown(case: Case, shapes: dict[int, Sequence[DimLike]], names: dict[str, int]) -> None:
    """Inputs of these shapes, of which dims may be unknown, and results declared with no more than a rank."""
    module, op = module_of(case, {})
    results = interpret(module, [case.inputs[i] for i in arguments(case)])  # pyright: ignore
    for value in op.results:
        set_type(value, tensor_type(element_type_of(value), (None,) * len(shape_of(value))))
    for i, argument in zip(arguments(case), op.parent_block().args, strict=True):  # pyright: ignore
        set_type(argument, tensor_type(element_type_of(argument), shapes.get(i, shape_of(argument))))
    inferred = op.infer_result_types()
    onnx_shapes = inferred_by_onnx(model_of(case, op, shapes))
    for type_, array, theirs in zip(inferred, results, onnx_shapes, strict=True):
        ours = shape_of(type_)
        assert len(ours) == array.ndim
        assert [dim for dim in with_sizes(ours, names) if dim is not None] == [
            size for dim, size in zip(ours, array.shape, strict=True) if dim is not None
        ]
        at_least(case, ours, theirs)


@pytest.mark.sweep
@every_op(examples=5)
def test_text_round_trip(case: Case) -> None:
    module, _ = module_of(case, {})
    module.verify()
    custom, generic = StringIO(), StringIO()
    Printer(custom).print_op(module)
    Printer(generic, print_generic_format=True).print_op(module)
    for text in (custom.getvalue(), generic.getvalue()):
        again = Parser(context(), text).parse_module()
        again.verify()
        printed = StringIO()
        Printer(printed).print_op(again)
        assert printed.getvalue() == custom.getvalue()


@pytest.mark.sweep
@every_op(examples=5)
def test_fold(case: Case) -> None:
    """An op of constants becomes constants with the reference's numbers, but for those of `NEVER_FOLDED`."""
    module, op = module_of(case, {}, folded=True)
    expected = interpret(module, [])
    canonicalize(module)
    module.verify()
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    if op.onnx_name() in NEVER_FOLDED:
        assert any(o.name == op.name for o in function.body.block.ops)
        return
    assert all(isinstance(o, (ops.ConstantOp, func.ReturnOp)) for o in function.body.block.ops)
    results = function.body.block.last_op
    assert results is not None
    for value, array in zip(results.operands, expected, strict=True):
        found = constant_of(value)
        assert found is not None
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)
