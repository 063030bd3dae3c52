"""Inferred shapes, which are expressions over the names of an input's dims, against onnxruntime's.

A random chain of ops is inferred once; then it is run at several sizes, and each value has the shape that its
expressions have at them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.examples import examples
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from dialects.onnx import ops as onnx
from dialects.shapes.forms import name
from dialects.support.diagnostics import GradcError
from dialects.support.shapes import Shape, shape_of, tensor_type, with_sizes
from gradc.graph.run_time_sizes import specialize
from gradc.model.exporter import export
from passes.builder.op_builder import OpBuilder

runtime = pytest.importorskip("onnxruntime")
FAILURES = tuple(
    getattr(runtime.capi.onnxruntime_pybind11_state, name)
    for name in ("Fail", "InvalidArgument", "RuntimeException", "NotImplemented")
)
NAMES = ("N", "C", "H", "W")


@dataclass
class Chain:
    """A value of four axes, which each step makes another one of, and all values on the way."""

    draw: Callable[..., Any]
    argument: SSAValue
    emit: OpBuilder = field(default_factory=OpBuilder)

    def __post_init__(self) -> None:
        self.value = self.argument
        self.earlier = [self.argument]

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def step(self) -> None:
        # what contradicts the sizes that are known is left out
        with suppress(GradcError):
            self.value = self.draw(st.sampled_from(STEPS))(self)
            self.earlier.append(self.value)

    def sizes(self, start: int = 0, end: int = 4, of: SSAValue | None = None) -> SSAValue:
        return self.emit(onnx.ShapeOp(self.value if of is None else of, start=start, end=end))

    def computed(self) -> SSAValue:
        """The sizes of the value, some of them computed."""
        sizes = self.sizes()
        other = self.sizes(of=self.draw(st.sampled_from(self.earlier)))
        match self.number(0, 6):
            case 0:
                return self.emit(onnx.AddOp(sizes, self.emit.ints([0, 0, self.number(-2, 2), 1])))
            case 1:
                return self.emit(onnx.MulOp(sizes, self.emit.ints([1, 1, 2, self.number(1, 3)])))
            case 2:
                return self.emit(onnx.DivOp(sizes, self.emit.ints([1, 1, 2, self.number(1, 3)])))
            case 3:
                return self.emit(onnx.SubOp(sizes, self.emit.ints([0, 0, 1, self.number(-1, 2)])))
            case 4:
                return self.emit(onnx.MaxOp([sizes, other]))
            case 5:
                return self.emit(onnx.MinOp([sizes, other]))
            case _:
                return sizes

    def kernel(self, channels_in: int, channels_out: int) -> SSAValue:
        shape = (channels_in, channels_out, self.number(1, 3), self.number(1, 3))
        return self.emit.constant(np.zeros(shape, np.float32))


def window(chain: Chain) -> dict[str, Any]:
    pads = [chain.number(0, 1) for _ in range(4)]
    auto = chain.draw(st.sampled_from(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    strides = [chain.number(1, 3), chain.number(1, 3)]
    return {"strides": strides, "auto_pad": auto} | ({"pads": pads} if auto == "NOTSET" else {})


def one_channel(chain: Chain) -> SSAValue:
    return chain.emit(onnx.ReduceSumOp(chain.value, chain.emit.ints([1]), keepdims=1))


def conv(chain: Chain) -> SSAValue:
    dilations = [1, 1] if (view := window(chain))["auto_pad"].startswith("SAME") else [chain.number(1, 2), 1]
    return chain.emit(onnx.ConvOp(one_channel(chain), chain.kernel(2, 1), dilations=dilations, **view))


def conv_transpose(chain: Chain) -> SSAValue:
    view = window(chain)
    if view["auto_pad"].startswith("SAME"):
        view["strides"] = [1, 1]  # the specification and onnxruntime differ for narrow windows
    return chain.emit(onnx.ConvTransposeOp(one_channel(chain), chain.kernel(1, 2), **view))


def pool(chain: Chain) -> SSAValue:
    op = chain.draw(st.sampled_from([onnx.MaxPoolOp, onnx.AveragePoolOp]))
    kernel = [chain.number(2, 3), chain.number(2, 3)]
    made = op(chain.value, kernel_shape=kernel, ceil_mode=chain.number(0, 1), **window(chain))
    chain.emit.ops.append(made)
    return made.results[0]


def concat(chain: Chain) -> SSAValue:
    other = chain.draw(st.sampled_from(chain.earlier))
    return chain.emit(onnx.ConcatOp([chain.value, other], axis=chain.number(0, 3)))


def padded(chain: Chain) -> SSAValue:
    pads = [chain.number(-1, 2) if i % 4 > 1 else 0 for i in range(8)]
    return chain.emit(onnx.PadOp(chain.value, chain.emit.ints(pads)))


BOUNDS = st.one_of(st.integers(-5, 5), st.sampled_from([2**31 - 1, 2**62, -(2**31), -(2**62)]))


def sliced(chain: Chain) -> SSAValue:
    step = chain.draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2]))
    start, end = chain.draw(BOUNDS), chain.draw(BOUNDS)
    bounds = [[start], [end], [chain.number(0, 3)], [step]]
    return chain.emit(onnx.SliceOp(chain.value, *map(chain.emit.ints, bounds)))


def sliced_by_sizes(chain: Chain) -> SSAValue:
    axis = chain.number(0, 3)
    bounds = [
        chain.emit(onnx.SliceOp(chain.computed(), *map(chain.emit.ints, ([axis], [axis + 1])))) for _ in "ab"
    ]
    start = bounds[0] if chain.number(0, 1) else chain.emit.ints([chain.number(-2, 2)])
    return chain.emit(onnx.SliceOp(chain.value, start, bounds[1], chain.emit.ints([axis])))


def transposed(chain: Chain) -> SSAValue:
    return chain.emit(onnx.TransposeOp(chain.value, perm=chain.draw(st.permutations(range(4)))))


def flat_and_back(chain: Chain) -> SSAValue:
    sizes = chain.sizes()
    flat = chain.emit(onnx.ReshapeOp(chain.value, chain.emit.ints([0, 0, -1])))
    return chain.emit(onnx.ReshapeOp(flat, sizes))


def regrouped(chain: Chain) -> SSAValue:
    """The sizes of two axes multiplied, in the graph or by a -1."""
    first = chain.emit(onnx.MulOp(chain.sizes(0, 1), chain.sizes(1, 2)))
    parts = [first, chain.emit.ints([1]), chain.sizes(2, 3), chain.emit.ints([-1])]
    rest = chain.draw(st.permutations([1, 2, 3]))
    target = chain.emit(onnx.ConcatOp([parts[0], *(parts[i] for i in rest)], axis=0))
    return chain.emit(onnx.ReshapeOp(chain.value, target))


def reshaped(chain: Chain) -> SSAValue:
    target = chain.draw(
        st.sampled_from(
            [[-1, 1, 0, 0], [0, 1, -1, 2], [0, 0, -1, 1], [1, -1, 2, 3], [-1, 0, 0, 0], [0, 0, 0, -1]]
        )
    )
    return chain.emit(onnx.ReshapeOp(chain.value, chain.emit.ints(target)))


def flattened(chain: Chain) -> SSAValue:
    flat = chain.emit(onnx.FlattenOp(chain.value, axis=chain.number(0, 4)))
    return chain.emit(onnx.UnsqueezeOp(flat, chain.emit.ints([0, chain.number(1, 3)])))


def expanded(chain: Chain) -> SSAValue:
    axis = chain.emit.ints([chain.number(0, 3)])
    single = chain.emit(onnx.ReduceMaxOp(chain.value, axis, keepdims=1))
    return chain.emit(onnx.ExpandOp(single, chain.computed()))


def broadcast(chain: Chain) -> SSAValue:
    return chain.emit(onnx.AddOp(chain.value, chain.draw(st.sampled_from(chain.earlier))))


def reduced_broadcast(chain: Chain) -> SSAValue:
    other = chain.draw(st.sampled_from(chain.earlier))
    axes = chain.emit.ints(chain.draw(st.sampled_from([[0], [2], [2, 3], [1, 3]])))
    return chain.emit(onnx.MulOp(chain.value, chain.emit(onnx.ReduceMeanOp(other, axes, keepdims=1))))


def tiled(chain: Chain) -> SSAValue:
    return chain.emit(
        onnx.TileOp(chain.value, chain.emit.ints([1, 1, chain.number(1, 2), chain.number(1, 3)]))
    )


def resized(chain: Chain) -> SSAValue:
    factor = st.sampled_from([1.0, 2.0, 3.0, 0.5, 1.5, 0.25, 0.3])
    scales = np.array([1, 1, chain.draw(factor), chain.draw(factor)], np.float32)
    options = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return chain.emit(onnx.ResizeOp(chain.value, None, chain.emit.constant(scales), **options))


def split(chain: Chain) -> SSAValue:
    axis, count = chain.number(0, 3), chain.number(1, 3)
    made = onnx.SplitOp(chain.value, axis=axis, num_outputs=count, results=count)
    chain.emit.ops.append(made)
    return made.results[chain.number(0, count - 1)]


def ranged(chain: Chain) -> SSAValue:
    scalars = [chain.emit(onnx.SqueezeOp(chain.sizes(i, i + 1), chain.emit.ints([0]))) for i in (2, 3)]
    delta = chain.emit.constant(np.array(chain.draw(st.sampled_from([1, 2, -1, -2])), np.int64))
    zero = chain.emit.constant(np.array(chain.number(-1, 2), np.int64))
    bounds = chain.draw(st.permutations([*scalars, zero]))[:2]
    positions = chain.emit(onnx.CastOp(chain.emit(onnx.RangeOp(*bounds, delta)), to=f32))
    return chain.emit(onnx.UnsqueezeOp(positions, chain.emit.ints([0, 1, 2])))


def made_of_sizes(chain: Chain) -> SSAValue:
    return chain.emit(onnx.ConstantOfShapeOp(chain.computed()))


def blocks(chain: Chain) -> SSAValue:
    tiled = chain.emit(onnx.TileOp(chain.value, chain.emit.ints([1, 4, 2, 2])))
    if chain.number(0, 1):
        return chain.emit(onnx.SpaceToDepthOp(tiled, blocksize=2))
    return chain.emit(onnx.DepthToSpaceOp(tiled, blocksize=2))


STEPS = (
    *(conv, conv_transpose, pool, pool, concat, padded, sliced, sliced, sliced_by_sizes, transposed),
    *(flat_and_back, regrouped, reshaped, flattened, expanded, broadcast, reduced_broadcast, tiled),
    *(resized, split, ranged, made_of_sizes, blocks),
)


def module_of(draw: Callable[..., Any], shape: Shape) -> tuple[ModuleOp, list[SSAValue]]:
    block = Block(arg_types=[tensor_type(f32, shape)])
    chain = Chain(draw, block.args[0])
    for _ in range(draw(st.integers(1, 6))):
        chain.step()
    block.add_ops(chain.emit.ops)
    values = [result for op in chain.emit.ops for result in op.results if op.name != "onnx.Constant"]
    block.add_op(ReturnOp(*values))
    types = [value.type for value in values]
    return ModuleOp([FuncOp("f", ([block.args[0].type], types), Region(block))]), values


def session_of(module: ModuleOp) -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    model = export(module, opset=21, metadata={}).SerializeToString()
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@examples(100, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_runtime_gives_the_inferred_shapes(data: st.DataObject):
    shape = tuple(data.draw(st.one_of(st.sampled_from(NAMES).map(name), st.integers(1, 4))) for _ in range(4))
    module, values = module_of(data.draw, shape)
    if not values:
        return
    try:
        session = session_of(module)
    except (AssertionError, *FAILURES):
        return  # the known sizes contradict each other
    for _ in range(4):
        sizes = {each: data.draw(st.integers(1, 7)) for each in NAMES}
        sizes |= dict.fromkeys(data.draw(st.sets(st.sampled_from(NAMES), max_size=1)), 0)
        given_shape = with_sizes(shape, sizes)
        try:
            specialize(module, {"arg0": given_shape}, {})  # pyright: ignore
            found = session.run(None, {"arg0": np.zeros(given_shape, np.float32)})  # pyright: ignore
        except (GradcError, *FAILURES):
            continue  # no run has such sizes
        for value, array in zip(values, found, strict=True):
            inferred = shape_of(value)
            expected = with_sizes(inferred, sizes)
            if expected.count(0) > 1:
                break  # see Reshape: two sizes of 0 at once
            dims = zip(inferred, expected, array.shape, strict=True)
            agree = [dim is None or at_sizes == size for dim, at_sizes, size in dims]
            assert all(agree), (str(value.owner), inferred, sizes, array.shape)
