"""What `expand-ops` writes in place of an op means the same, in numpy and on onnxruntime."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from support.pipeline import apply
from xdsl.dialects.builtin import ModuleOp, f32, f64, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from dialects.evaluate import evaluate
from dialects.onnx import ops
from dialects.onnx.base import OnnxOp
from dialects.support.dtypes import by_name
from dialects.support.entry import set_names, update_function_type
from dialects.support.shapes import Dim, tensor_type
from gradc.model.exporter import export
from gradc.runtime.session import Session
from passes.decompositions.registry import Reason, table_of

EXPAND = "expand-ops{target=cuda opset=20}"
EXPANDED = tuple(ops.op_class(one.op) for one in table_of(Reason.MISSING_KERNEL).values() if one.kernels)


def module_of(make, *types) -> ModuleOp:
    """A function of one op on inputs of these types."""
    block = Block(arg_types=types)
    made = make(*block.args)
    block.add_ops(made)
    block.add_op(ReturnOp(made[-1].results[0]))
    function = FuncOp("main", ([], []), Region(block))
    update_function_type(function)
    set_names(function, [f"x{i}" for i in range(len(types))], ["y"])
    module = ModuleOp([function])
    module.verify()
    return module


def check(
    module: ModuleOp,
    inputs: list[np.ndarray],
    passes: str = EXPAND,
    gone: tuple[type[OnnxOp], ...] = EXPANDED,
) -> None:
    want = evaluate(module, inputs)[0]
    expanded = apply(module, passes)
    assert not [op for op in expanded.walk() if isinstance(op, gone)]
    np.testing.assert_array_equal(evaluate(expanded, inputs)[0], want)
    session = Session(export(expanded, opset=20, metadata={}), threads=1)
    got = session.run({f"x{i}": array for i, array in enumerate(inputs)})
    np.testing.assert_array_equal(got["y"], want)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(40))
def test_pad(seed: int):
    """Pads of any sign, known or not, on all axes or some, of sizes known or not."""
    rng = np.random.default_rng([5, seed])
    sizes = rng.integers(2, 6, rng.integers(1, 5)).tolist()
    dims: list[Dim] = [size if rng.integers(2) else None for size in sizes]
    some = rng.integers(2)
    axes = sorted(rng.choice(len(sizes), rng.integers(1, len(sizes) + 1), replace=False).tolist())
    count = len(axes) if some else len(sizes)
    pads = rng.integers(-1, 3, 2 * count)
    fill = rng.choice([0.0, 1.5, np.nan])

    def make(data: SSAValue, *given: SSAValue) -> list[OnnxOp]:
        known = [] if given else [ops.ConstantOp(pads)]
        value = ops.ConstantOp(np.array(fill, np.float32))
        positions = [ops.ConstantOp(np.array(axes))] if some else []
        made = ops.PadOp(data, *(given or known), value, *positions)
        return [*known, value, *positions, made]

    inputs = [rng.standard_normal(sizes).astype(np.float32)]
    types = [tensor_type(f32, dims)]
    if rng.integers(2):
        types.append(tensor_type(i64, [2 * count]))
        inputs.append(pads)
    check(module_of(make, *types), inputs)


def test_pad_of_an_empty_batch():
    def make(data: SSAValue) -> list[OnnxOp]:
        pads = ops.ConstantOp(np.array([0, 0, 1, 0, 2, 0]))
        return [pads, ops.PadOp(data, pads)]

    check(module_of(make, tensor_type(f32, [None, 3, 4])), [np.zeros((0, 3, 4), np.float32)])


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_equal(dtype):
    values = np.array(
        [0, -0.0, 1, np.nan, np.inf, -np.inf] if dtype == np.float32 else [-1, 0, 1, 2**62], dtype
    )
    type_ = tensor_type(f32 if dtype == np.float32 else i64, [None, None])
    grid = [np.ascontiguousarray(x) for x in np.meshgrid(values, values)]
    check(module_of(lambda a, b: [ops.EqualOp(a, b)], type_, type_), grid)


@pytest.mark.parametrize("sizes", [(2, 3), (0, 3), ()])
def test_constant_of_shape(sizes):
    for value in (None, np.array([2.5], np.float32), np.array([7])):
        module = module_of(
            lambda given, value=value: [ops.ConstantOfShapeOp(given, value=value)],
            tensor_type(i64, [len(sizes)]),
        )
        check(module, [np.array(sizes, np.int64)])


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [None, [0], [-1], [1, 0]])
def test_reduce_prod(axes, keepdims):
    """Of integers, which have no kernel on CUDA: the number of elements that a mean is over."""

    def make(data: SSAValue) -> list[OnnxOp]:
        given = [] if axes is None else [ops.ConstantOp(np.array(axes))]
        return [*given, ops.ReduceProdOp(data, *given, keepdims=keepdims)]

    values = np.array([[3, -2, 5], [7, 2**40, 1]])
    check(module_of(make, tensor_type(i64, [2, 3])), [values])


@pytest.mark.parametrize("op", [ops.ReduceMaxOp, ops.ReduceMinOp])
@pytest.mark.parametrize("axes", [None, [], [0], [-1], [2, 0]])
def test_extremes(op: type[OnnxOp], axes: list[int] | None):
    """That of an odd size, of infinities and of a NaN; the kernels on CUDA end at opset 19."""
    values = np.random.default_rng(3).standard_normal((3, 2, 7)).astype(np.float32)
    values[0, 1, 3], values[1, 0, 6], values[2, 1, 0] = np.nan, np.inf, -np.inf
    for keepdims, noop in product((0, 1), repeat=2):

        def make(data: SSAValue, keepdims: int = keepdims, noop: int = noop) -> list[OnnxOp]:
            given = [] if axes is None else [ops.ConstantOp(np.array(axes, np.int64))]
            return [*given, op(data, *given, keepdims=keepdims, noop_with_empty_axes=noop)]

        check(module_of(make, tensor_type(f32, [3, 2, 7])), [values])


@pytest.mark.parametrize("op", [ops.ReduceMaxOp, ops.ReduceMinOp])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[1], [0, -1], [2, 1, 0]])
def test_extremes_of_unknown_sizes(axes: list[int], keepdims: int, op: type[OnnxOp]):
    """That of infinities alone, of nothing and of a NaN, which ArgMax on the CPU passes over."""

    def make(data: SSAValue) -> list[OnnxOp]:
        given = ops.ConstantOp(np.array(axes, np.int64))
        return [given, op(data, given, keepdims=keepdims)]

    module = module_of(make, tensor_type(f32, [None, 2, None]))
    values = np.random.default_rng(3).standard_normal((3, 2, 7)).astype(np.float32)
    values[0] = -np.inf
    values[:, :, 4] = np.inf
    for data in (values, -values, values[:0], values[:, :, :0], values[:, :, :1]):
        check(module, [data])
    values[1, 0, 6] = np.nan
    want = evaluate(module, [values])[0]
    np.testing.assert_array_equal(evaluate(apply(module, EXPAND), [values])[0], want)


@pytest.mark.sweep
@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("sizes", [(2, 3, 4), (0, 3, 4), (2, 0, 4)])
def test_flatten(axis, sizes):
    values = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    for dims in (sizes, (None, *sizes[1:]), (None, None, None)):
        module = module_of(lambda x: [ops.FlattenOp(x, axis=axis)], tensor_type(f32, dims))
        check(module, [values], "expand-ops{target=cuda opset=22}")


@pytest.mark.parametrize("alpha", [1.0, 1.5])
@pytest.mark.parametrize("target", ["cpu", "portable", "cuda"])
def test_swish(target: str, alpha: float):
    """No target has a kernel for it; onnxruntime runs its function where it is the model's own node."""
    module = module_of(lambda data: [ops.SwishOp(data, alpha=alpha)], tensor_type(f32, [None]))
    x = np.array([-np.inf, -30, -1, -0.0, 0.5, 30, np.inf, np.nan], np.float32)
    want = evaluate(module, [x])[0]
    expanded = apply(module, f"expand-ops{{target={target} opset=20}}")
    kinds = [op.name for op in expanded.walk() if isinstance(op, ops.SwishOp | ops.SigmoidOp)]
    assert kinds == ["onnx.Sigmoid"]
    np.testing.assert_array_max_ulp(evaluate(expanded, [x])[0], want, 2)


@pytest.mark.parametrize("attributes", [{}, {"alpha": 1 / 6, "beta": 0.5}, {"alpha": -2.0, "beta": 0.3}])
def test_hard_sigmoid_of_doubles(attributes: dict[str, float]):
    """onnxruntime's CPU provider has a kernel of f32 alone."""
    module = module_of(lambda data: [ops.HardSigmoidOp(data, **attributes)], tensor_type(f64, [None]))
    x = np.array([-np.inf, -30, -1, -0.0, 0.1, 0.5, 30, np.inf, np.nan])
    want = evaluate(module, [x])[0]
    expanded = apply(module, "expand-ops{target=cpu opset=18}")
    assert not [op for op in expanded.walk() if isinstance(op, ops.HardSigmoidOp)]
    np.testing.assert_allclose(evaluate(expanded, [x])[0], want, rtol=1e-7, atol=1e-7)


LATE = "expand-ops{target=cuda opset=22}"
POINTS = np.concatenate([np.linspace(-30, 30, 241), [1e-7, -1e-7, 0.49999997, -0.49999997, np.nan, 2.0**30]])


@pytest.mark.parametrize("type_", [f32, f64])
@pytest.mark.parametrize(
    "make",
    [
        ops.RoundOp,
        ops.SoftplusOp,
        lambda x: ops.EluOp(x, alpha=1.5),
    ],
    ids=["Round", "Softplus", "Elu"],
)
def test_functions_of_one_element(make, type_):
    """CUDA has no kernel of the forms of opset 22; infinities and small numbers too."""
    module = module_of(lambda x: [make(x)], tensor_type(type_, [None]))
    x = np.concatenate([POINTS, [np.inf, -np.inf, -700.0, -80.0]])
    x = x.astype(np.float32) if type_ is f32 else x
    want = evaluate(module, [x])[0]
    expanded = apply(module, LATE)
    assert len([*expanded.walk()]) > 6
    got = [evaluate(expanded, [x])[0]]
    if type_ is f32:
        got.append(Session(export(expanded, opset=22, metadata={}), threads=1).run({"x0": x})["y"])
    for array in got:
        np.testing.assert_allclose(array, want, rtol=1e-6 if type_ is f32 else 1e-13)


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["s8", "u8", "f8_e4m3", "f8_e5m2"])
@pytest.mark.parametrize("axis", [None, 0, -1, 1])
def test_quantize_linear(axis: int | None, dtype: str):
    """With scales for all and along an axis; the kernels on CUDA end at opset 22."""
    entry = by_name(dtype)
    assert entry is not None
    sizes, rng = (3, 4, 5), np.random.default_rng(5)
    shape = () if axis is None else (sizes[axis],)
    scale = rng.choice([0.25, 0.5, 2], shape).astype(np.float32)
    zero = rng.integers(0, 9, shape) if dtype in ("s8", "u8") else np.zeros(shape)
    x = (rng.integers(-300, 300, sizes) / 4).astype(np.float32)

    def make(data: SSAValue) -> list[OnnxOp]:
        given = ops.ConstantOp(scale), ops.ConstantOp(zero.astype(entry.numpy))
        return [*given, ops.QuantizeLinearOp(data, *given, axis=1 if axis is None else axis)]

    module = module_of(make, tensor_type(f32, sizes))
    want = evaluate(module, [x])[0]
    expanded = apply(module, "expand-ops{target=cuda opset=23}")
    assert not [op for op in expanded.walk() if isinstance(op, ops.QuantizeLinearOp | ops.RoundOp)]
    np.testing.assert_array_equal(evaluate(expanded, [x])[0], want)
    got = Session(export(expanded, opset=23, metadata={}), threads=1).run({"x0": x})["y"]
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize("dims", [(2, 3, 6, 5), (None, 3, None, 5)])
@pytest.mark.parametrize(
    "window",
    [
        {"kernel_shape": [1, 1]},
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 2], "strides": [1, 2], "pads": [1, 0, 1, 1]},
        {"kernel_shape": [2, 3], "dilations": [3, 2], "pads": [0, 1, 1, 0]},
    ],
)
def test_places_of_maxima(window, dims):
    """The first of equal ones; a MaxPool whose places are asked for."""

    def make(data: SSAValue) -> list[OnnxOp]:
        pool = ops.MaxPoolOp(data, **window)
        return [pool, ops.AddOp(pool.Indices, pool.Indices)]

    x = np.random.default_rng(2).integers(-2, 3, (2, 3, 6, 5)).astype(np.float32)
    check(module_of(make, tensor_type(f32, dims)), [x], LATE)


@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("given", [{}, {"axis": -1}, {"axis": 0}, {"axis": 1, "block_size": 2}])
def test_dequantize_linear(given: dict[str, int], dtype: str):
    """With scales for all, along an axis and for blocks; the kernels on CUDA end at opset 22."""
    entry, rng, sizes = by_name(dtype), np.random.default_rng(6), (3, 4)
    assert entry is not None
    axis, block = given.get("axis"), given.get("block_size", 0)
    shape = (3, 2) if block else () if axis is None else (sizes[axis],)
    scale = rng.uniform(0.1, 2, shape).astype(np.float32)
    x, zero = (rng.integers(0, 100, s).astype(entry.numpy) for s in (sizes, shape))

    def make(data: SSAValue) -> list[OnnxOp]:
        constants = ops.ConstantOp(scale), ops.ConstantOp(zero)
        made = ops.DequantizeLinearOp(data, *constants, axis=given.get("axis", 1), block_size=block)
        return [*constants, made]

    assert entry.mlir is not None
    module = module_of(make, tensor_type(entry.mlir, sizes))
    want = evaluate(module, [x])[0]
    expanded = apply(module, "expand-ops{target=cuda opset=23}")
    assert not [op for op in expanded.walk() if isinstance(op, ops.DequantizeLinearOp)]
    np.testing.assert_array_equal(evaluate(expanded, [x])[0], want)
    got = Session(export(expanded, opset=23, metadata={}), threads=1).run({"x0": x})["y"]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("how", ["none", "add"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_scatter_nd(depth: int, how: str, known: bool):
    """Tuples of places from either end; without an addition each of another place."""
    rng, shape = np.random.default_rng(depth), (3, 4, 2)
    every = rng.permutation(list(np.ndindex(*shape[:depth])))
    places = np.concatenate([every[:2], every[:2]]) if how == "add" else every[:2]
    from_end = rng.integers(2, size=places.shape)
    places = (places - from_end * shape[:depth]).reshape(1, -1, depth)
    data = rng.integers(-9, 9, shape).astype(np.float32)
    updates = rng.integers(-9, 9, (*places.shape[:2], *shape[depth:])).astype(np.float32)
    arrays = [data, places, updates]
    dims = [list(array.shape) if known else [None] * array.ndim for array in arrays]
    dims[1][-1] = depth
    types = [tensor_type(kind, one) for kind, one in zip((f32, i64, f32), dims, strict=True)]
    module = module_of(lambda *values: [ops.ScatterNDOp(*values, reduction=how)], *types)
    check(module, arrays, "expand-ops{target=portable opset=20}", (ops.ScatterNDOp,))
