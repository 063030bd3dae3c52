"""Random instances of the ONNX ops that gradc does not write itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.onnx_draws import Case, Draws, elementwise, unary, variadic

Build = Callable[[Draws], Case]

CLOSE = 1e-5


def close(build: Build, tolerance: float = CLOSE, **attributes: Any) -> Build:
    """The same with a tolerance, and with these attributes half of the time."""

    def built(d: Draws) -> Case:
        case = build(d)
        case.tolerance = tolerance
        case.attributes |= attributes if attributes and d.int(0, 1) else {}
        return case

    return built


def vector(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def reduction(name: str, *dtypes: Any) -> Build:
    def build(d: Draws) -> Case:
        shape = d.shape(1)
        axes = d.axes(len(shape)) if d.int(0, 1) else None
        data = d.array(shape, d.pick(*dtypes))
        if name.startswith("ReduceLogSum"):
            data = np.asarray(np.abs(data) + 1)
        return Case(name, [data, axes], {"keepdims": d.int(0, 1)}, (1,), tolerance=CLOSE)

    return build


def index_reduction(name: str) -> Build:
    def build(d: Draws) -> Case:
        shape = d.shape(1)
        flags = {"keepdims": d.int(0, 1), "select_last_index": d.int(0, 1)}
        return Case(
            name, [d.array(shape, d.pick(np.float32, np.int32))], {"axis": d.axis(len(shape))} | flags
        )

    return build


def along_axis(name: str) -> Build:
    def build(d: Draws) -> Case:
        shape = d.shape(1)
        return Case(name, [d.array(shape)], {"axis": d.axis(len(shape))}, tolerance=CLOSE)

    return build


def cumulative(name: str) -> Build:
    def build(d: Draws) -> Case:
        shape = d.shape(1)
        axis = np.array(d.axis(len(shape)), np.int64)
        flags = {"exclusive": d.int(0, 1), "reverse": d.int(0, 1)}
        return Case(name, [d.array(shape, d.pick(np.float32, np.int64)), axis], flags, (1,), tolerance=CLOSE)

    return build


def top_k(d: Draws) -> Case:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    count = vector(d.int(0, shape[axis]))
    data = d.array(shape, d.pick(np.float32, np.int64))
    return Case("TopK", [data, count], {"axis": axis, "largest": d.int(0, 1)}, (1,))


def layer_normalization(d: Draws) -> Case:
    shape = d.shape(1)
    axis = d.int(0, len(shape) - 1)
    scale, bias = (d.array(shape[axis:]) for _ in range(2))
    inputs = [d.array(shape), scale, bias if d.int(0, 1) else None]
    return Case("LayerNormalization", inputs, {"axis": axis}, tolerance=1e-4)


def rms_normalization(d: Draws) -> Case:
    shape = d.shape(1)
    axis = d.int(0, len(shape) - 1)
    return Case("RMSNormalization", [d.array(shape), d.array(shape[axis:])], {"axis": axis}, tolerance=1e-4)


def images(d: Draws) -> tuple[int, ...]:
    return (d.int(1, 2), d.int(1, 4), *(d.int(2, 5) for _ in range(d.int(1, 2))))


def channelwise(name: str) -> Build:
    def build(d: Draws) -> Case:
        shape = images(d)
        scale, bias = (d.array(shape[1:2]) for _ in range(2))
        return Case(name, [d.array(shape), scale, bias], tolerance=1e-4)

    return build


def group_normalization(d: Draws) -> Case:
    groups, shape = d.int(1, 2), images(d)
    shape = (shape[0], groups * shape[1], *shape[2:])
    inputs = [d.array(shape), d.array(shape[1:2]), d.array(shape[1:2])]
    return Case("GroupNormalization", inputs, {"num_groups": groups}, tolerance=1e-4)


def local_response(d: Draws) -> Case:
    shape = (*images(d), 3)[:4]
    return Case("LRN", [d.array(shape)], {"size": d.pick(1, 3), "alpha": 0.5}, tolerance=1e-4)


def global_pool(name: str) -> Build:
    return lambda d: Case(name, [d.array(images(d))], tolerance=CLOSE)


def pool(name: str) -> Build:
    def build(d: Draws) -> Case:
        shape = images(d)
        rank = len(shape) - 2
        kernel = [d.int(1, 2) for _ in range(rank)]
        pads = [d.int(0, k - 1) for k in (*kernel, *kernel)]
        strides = [d.int(1, 2) for _ in range(rank)]
        return Case(
            name,
            [d.array(shape)],
            {"kernel_shape": kernel, "pads": pads, "strides": strides},
            tolerance=CLOSE,
        )

    return build


def gemm(d: Draws) -> Case:
    n, k, m = d.int(1, 4), d.int(1, 4), d.int(1, 4)
    left, right = d.int(0, 1), d.int(0, 1)
    a, b = d.array((k, n) if left else (n, k)), d.array((m, k) if right else (k, m))
    c = d.array(d.pick((), (m,), (n, 1), (n, m))) if d.int(0, 1) else None
    attributes = {"transA": left, "transB": right, "alpha": d.pick(1.0, 0.5), "beta": d.pick(1.0, 2.0)}
    return Case("Gemm", [a, b, c], attributes, tolerance=CLOSE)


EQUATIONS = (
    *("ij,jk->ik", "bij,bjk->bik", "bhik,bhjk->bhij"),
    *("ij->ji", "ij->i", "ij,jk", "...ij,...jk->...ik"),
)


def einsum(d: Draws) -> Case:
    sizes = {letter: d.int(1, 4) for letter in "bhijk"}
    equation = d.pick(*EQUATIONS)
    terms = equation.partition("->")[0].replace("...", "").split(",")
    arrays: list[Any] = [d.array([sizes[x] for x in term]) for term in terms]
    return Case("Einsum", arrays, {"equation": equation}, tolerance=1e-4)


def gather_nd(d: Draws) -> Case:
    shape = d.shape(1)
    batch = d.int(0, min(1, len(shape) - 1))
    depth = d.int(1, len(shape) - batch)
    places = [d.random.integers(0, size, (*shape[:batch], 3)) for size in shape[batch : batch + depth]]
    return Case("GatherND", [d.array(shape, d.dtype()), np.stack(places, -1)], {"batch_dims": batch})


def scatter_elements(d: Draws) -> Case:
    shape, dtype = d.shape(1), d.pick(np.float32, np.int64)
    axis = d.axis(len(shape))
    indices = np.argsort(d.random.random(shape), axis)
    attributes = d.pick({}, {"reduction": "add"}, {"reduction": "max"}, {"reduction": "mul"})
    inputs: list[Any] = [d.array(shape, dtype), indices, d.array(shape, dtype)]
    return Case("ScatterElements", inputs, {"axis": axis} | attributes)


def one_hot(d: Draws) -> Case:
    shape, depth = d.shape(1, 3), d.int(1, 5)
    indices = d.random.integers(-depth, depth, shape)
    values = d.array((2,), d.pick(np.float32, np.int64))
    axis = d.int(-len(shape) - 1, len(shape))
    return Case("OneHot", [np.asarray(indices), vector(depth), values], {"axis": axis}, (1,))


def trilu(d: Draws) -> Case:
    data = d.array((d.int(1, 2), d.int(1, 4), d.int(1, 4)), d.pick(np.float32, np.int64))
    return Case("Trilu", [data, np.array(d.int(-3, 3), np.int64)], {"upper": d.int(0, 1)})


def flatten(d: Draws) -> Case:
    shape = d.shape(1)
    return Case("Flatten", [d.array(shape, d.dtype())], {"axis": d.int(-len(shape), len(shape))})


def space_to_depth(d: Draws) -> Case:
    block = d.int(1, 3)
    data = d.array((d.int(1, 2), d.int(1, 3), block * d.int(1, 3), block * d.int(1, 3)))
    return Case("SpaceToDepth", [data], {"blocksize": block})


def unique(d: Draws) -> Case:
    shape = d.shape(1, 2)
    axis = d.pick({}, {"axis": d.axis(len(shape))})
    return Case("Unique", [d.array(shape, d.pick(np.float32, np.int64))], {"sorted": d.int(0, 1)} | axis)


def non_zero(d: Draws) -> Case:
    return Case("NonZero", [d.array(d.shape(1, 2), d.pick(np.float32, np.int64, np.bool_))])


def quantize(d: Draws) -> Case:
    scale = np.array(d.pick(0.5, 0.25), np.float32)
    zero = np.array(d.int(0, 9), d.pick(np.int8, np.uint8))
    return Case("QuantizeLinear", [d.array(d.shape(1)), scale, zero])


def dequantize(d: Draws) -> Case:
    shape = d.shape(2)
    data = np.asarray(np.abs(d.array(shape, np.int64)), d.pick(np.int8, np.uint8))
    axis = d.axis(len(shape))
    size = (shape[axis],) if d.int(0, 1) else ()
    zero = np.asarray(d.random.integers(0, 9, size), data.dtype)
    scale = np.asarray(d.random.integers(1, 9, size) / 8, np.float32)
    return Case("DequantizeLinear", [data, scale, zero], {"axis": axis})


def integer_matmul(d: Draws) -> Case:
    n, k, m = d.int(1, 4), d.int(1, 4), d.int(1, 4)
    a, b = (np.asarray(d.random.integers(0, 9, s), np.uint8) for s in ((n, k), (k, m)))
    zeros = [np.array(d.int(0, 5), np.uint8) for _ in range(2)]
    return Case("MatMulInteger", [a, b, *zeros])


def prelu(d: Draws) -> Case:
    shape = d.shape(1)
    return Case("PRelu", [d.array(shape), d.array(shape[-1:])])


def power(d: Draws) -> Case:
    base, exponent = d.broadcast(2)
    return Case("Pow", [np.asarray(np.abs(d.array(base)) + 1), d.array(exponent)], tolerance=1e-4)


def bit_shift(d: Draws) -> Case:
    x, by = d.broadcast(2)
    dtype = d.pick(np.uint8, np.uint32, np.uint64)
    amounts = np.asarray(d.random.integers(0, 8, by), dtype)
    data = np.asarray(np.abs(d.array(x, np.int64)), dtype)
    return Case("BitShift", [data, amounts], {"direction": d.pick("LEFT", "RIGHT")})


def floats(build: Build) -> Build:
    """The same with operands of f32."""

    def built(d: Draws) -> Case:
        case = build(d)
        case.inputs = [None if array is None else array.astype(np.float32) for array in case.inputs]
        case.tolerance = CLOSE
        return case

    return built


INTEGERS = (np.int32, np.int64)

MORE: dict[str, Build] = {
    **{
        name: close(unary(name, np.float32))
        for name in (
            *("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp"),
            *("Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Reciprocal", "Relu", "Round"),
            *(
                "Selu",
                "Shrink",
                "Sigmoid",
                "Sign",
                "Sin",
                "Sinh",
                "Softplus",
                "Softsign",
                "Sqrt",
                "Tan",
                "Tanh",
            ),
            *("ThresholdedRelu", "IsInf", "IsNaN"),
        )
    },
    **{
        name: reduction(name, np.float32)
        for name in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp")
    },
    **{name: reduction(name, np.float32, np.int32) for name in ("ReduceMax", "ReduceMean", "ReduceMin")},
    "ReduceProd": reduction("ReduceProd", np.float32),
    "ReduceSumSquare": reduction("ReduceSumSquare", np.float32, np.int32),
    **{name: index_reduction(name) for name in ("ArgMax", "ArgMin")},
    **{name: along_axis(name) for name in ("Hardmax", "LogSoftmax", "Softmax")},
    **{name: global_pool(name) for name in ("GlobalAveragePool", "GlobalMaxPool")},
    **{name: pool(name) for name in ("LpPool", "MaxPool")},
    **{name: elementwise(name, 2, INTEGERS) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    **{name: elementwise(name, 2) for name in ("Greater", "LessOrEqual")},
    **{name: floats(variadic(name)) for name in ("Mean", "Sum")},
    "BitShift": bit_shift,
    "BitwiseNot": unary("BitwiseNot", *INTEGERS),
    "CumSum": cumulative("CumSum"),
    "DequantizeLinear": dequantize,
    "Einsum": einsum,
    "Flatten": flatten,
    "GatherND": gather_nd,
    "Gemm": gemm,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": channelwise("InstanceNormalization"),
    "LRN": local_response,
    "LayerNormalization": layer_normalization,
    "MatMulInteger": integer_matmul,
    "NonZero": non_zero,
    "OneHot": one_hot,
    "PRelu": prelu,
    "Pow": power,
    "QuantizeLinear": quantize,
    "RMSNormalization": rms_normalization,
    "ScatterElements": scatter_elements,
    "Size": unary("Size", np.float32, np.int64),
    "SpaceToDepth": space_to_depth,
    "TopK": top_k,
    "Trilu": trilu,
    "Unique": unique,
    "Xor": elementwise("Xor", 2, [np.bool_]),
}
