"""Names of dims and sizes that are computed in the graph, and what the verifier refuses."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import builtin, func, test
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from dialects.onnx import ONNX, ops
from dialects.onnx.base import OnnxOp, constant_of
from dialects.onnx.values import dims_of
from dialects.shapes.forms import name
from dialects.shapes.sizes import largest
from dialects.support import dtypes
from dialects.support.diagnostics import GradcError
from dialects.support.shapes import Dim, shape_of, tensor_type


def value(*shape: Dim, dtype: Attribute = f32) -> SSAValue:
    return test.TestOp(result_types=[tensor_type(dtype, shape)]).results[0]


def vector(*values: int) -> ops.ConstantOp:
    return ops.ConstantOp(np.array(values, np.int64))


def scalar(number: int) -> ops.ConstantOp:
    return ops.ConstantOp(np.array(number, np.int64))


def of(op: OnnxOp) -> tuple[Dim, ...]:
    return shape_of(op.results[0])


X = ("N", 8, "H", None)
N, H = name("N"), name("H")


def test_names_pass_where_sizes_do() -> None:
    x = value(*X)
    assert of(ops.NegOp(x)) == X
    assert of(ops.AddOp(x, value(8, 1, 1))) == X
    assert of(ops.AddOp(x, value("M", 8, 1, 7))) == (None, 8, "H", 7)
    assert of(ops.TransposeOp(x, perm=[2, 0, 3, 1])) == ("H", "N", None, 8)
    assert of(ops.ConcatOp([x, value(None, 2, "H", 5)], axis=1)) == ("N", 10, "H", 5)
    assert of(ops.ConvOp(x, value(4, 8, 3, 3), pads=[1, 1, 1, 1])) == ("N", 4, "H", None)
    assert of(ops.ConvOp(x, value(4, 8, 3, 3))) == ("N", 4, H - 2, None)
    assert of(ops.ConvTransposeOp(x, value(8, 2, 3, 3), strides=[2, 2])) == ("N", 2, 2 * H + 1, None)
    assert of(ops.ConvTransposeOp(x, value(8, 2, 1, 1))) == ("N", 2, "H", None)
    assert of(ops.MatMulOp(value("N", "A", 3), value(3, "B"))) == ("N", "A", "B")
    assert of(ops.ReduceSumOp(x, vector(1), keepdims=0)) == ("N", "H", None)
    assert of(ops.PadOp(x, vector(0, 0, 0, 1, 0, 0, 0, 1))) == ("N", 8, "H", None)
    assert of(ops.SliceOp(x, vector(1), vector(3), vector(1))) == ("N", 2, "H", None)
    assert of(ops.SliceOp(x, vector(0), vector(2**62), vector(2))) == X
    assert of(ops.UnsqueezeOp(x, vector(0))) == (1, *X)
    assert of(ops.ReshapeOp(x, vector(0, 2, 4, -1))) == ("N", 2, 4, None)
    assert of(ops.ReshapeOp(value(None, 8, 6), vector(0, -1))) == (None, 48)
    assert of(ops.ReshapeOp(value(2, None, 6), vector(-1, 0, 3))) == (4, None, 3)
    assert of(ops.ReshapeOp(value("N", 8, 6), vector(-1, 48))) == ("N", 48)
    assert of(ops.ReshapeOp(value("N", 8, 6), vector(-1, 24))) == (2 * N, 24)
    assert of(ops.GatherOp(x, value("K", dtype=i64), axis=1)) == ("N", "K", "H", None)


def test_sizes_computed_in_the_graph_keep_names() -> None:
    x = value("N", 8, "H", 6)
    shape = ops.ShapeOp(x)
    batch = ops.SliceOp(shape, vector(0), vector(1))
    height = ops.UnsqueezeOp(ops.GatherOp(shape, scalar(-2)), vector(0))
    width = ops.UnsqueezeOp(ops.MulOp(ops.GatherOp(shape, scalar(3)), scalar(2)), vector(0))
    sizes = ops.ConcatOp([batch, vector(4), height, width], axis=0)
    assert dims_of(sizes.results[0]) == ("N", 4, "H", 12)
    assert of(ops.ExpandOp(value(1, 4, 1, 1), sizes)) == ("N", 4, "H", 12)
    assert of(ops.ConstantOfShapeOp(sizes)) == ("N", 4, "H", 12)
    assert of(ops.ReshapeOp(x, sizes)) == ("N", 4, "H", 12)
    assert of(ops.ReshapeOp(x, ops.ConcatOp([batch, vector(-1)], axis=0))) == ("N", 48 * H)
    resized = ops.ResizeOp(value("N", 4, 3, 3), None, None, sizes, mode="nearest")
    assert of(resized) == ("N", 4, "H", 12)


@pytest.mark.parametrize("axes", [None, 0, -1])
@pytest.mark.parametrize(("step", "found"), [(None, ("N", 8)), (1, ("N", 8)), (2, ("N",))])
def test_a_slice_of_sizes_with_any_of_its_operands(
    axes: int | None, step: int | None, found: tuple[Dim, ...]
) -> None:
    given = [None if each is None else vector(each) for each in (axes, step)]
    first = ops.SliceOp(ops.ShapeOp(value("N", 8, "H", 6)), vector(0), vector(2), *given)
    assert dims_of(first.results[0]) == found
    assert of(ops.ConstantOfShapeOp(first)) == found


def test_positions_up_to_a_size_are_as_many() -> None:
    size = ops.GatherOp(ops.ShapeOp(value("N", 8)), scalar(0))
    assert of(ops.RangeOp(scalar(0), size, scalar(1))) == ("N",)
    assert of(ops.RangeOp(scalar(1), size, scalar(1))) == (largest(0, N - 1),)
    eight = ops.GatherOp(ops.ShapeOp(value("N", 8)), scalar(1))
    assert of(ops.RangeOp(scalar(0), eight, scalar(3))) == (3,)


@pytest.mark.parametrize(("fmod", "found"), [(0, (2, None)), (1, (None, None))])
def test_remainders_of_sizes(fmod: int, found: tuple[Dim, ...]) -> None:
    rank = ops.ModOp(vector(-1, 2), ops.ConcatOp([vector(3), value(1, dtype=i64)], axis=0), fmod=fmod)
    assert dims_of(rank.results[0]) == found


def test_minus_one_in_the_shape_of_an_expand() -> None:
    """As torch's exporter writes `expand(n, -1, 4)`."""
    batch = ops.GatherOp(ops.ShapeOp(value("N", 8)), vector(0))
    shape = ops.ConcatOp([batch, vector(-1), vector(4)], axis=0)
    ones = ops.ConstantOfShapeOp(vector(3), value=np.array([1], np.int64))
    is_free = ops.EqualOp(shape, ops.MulOp(ones, scalar(-1)))
    sizes = ops.WhereOp(is_free, ones, shape)
    assert dims_of(sizes.results[0]) == ("N", 1, 4)
    assert of(ops.ExpandOp(value(1, 3, 1), sizes)) == ("N", 3, 4)
    unknown = ops.WhereOp(ops.EqualOp(shape, value(3, dtype=i64)), ones, shape)
    assert dims_of(unknown.results[0]) == (None, None, None)


def test_shared_sizes_are_followed_once() -> None:
    size = ops.GatherOp(ops.ShapeOp(value("N", 2)), vector(1))
    for _ in range(60):
        size = ops.SubOp(ops.AddOp(size, size), size)
    assert dims_of(size.results[0]) == (None,)
    assert of(ops.ConstantOfShapeOp(size)) == (None,)


def test_run_time_sizes_give_a_rank() -> None:
    sizes = value(3, dtype=i64)
    assert of(ops.ReshapeOp(value(4, 6), sizes)) == (None, None, None)
    assert of(ops.ExpandOp(value(4, 6), sizes)) == (None, 4, 6)
    assert of(ops.ExpandOp(value(4, 1), sizes)) == (None, 4, None)
    assert of(ops.ConstantOfShapeOp(sizes)) == (None, None, None)
    assert of(ops.TileOp(value(4, 6, 1), sizes)) == (None, None, None)
    assert of(ops.PadOp(value(4, 6, 1), value(6, dtype=i64))) == (None, None, None)
    assert of(ops.SliceOp(value(4, 6, 1), value(2, dtype=i64), vector(3, 3))) == (None, None, 1)
    assert of(ops.RangeOp(*(value(dtype=i64) for _ in range(3)))) == (None,)


def free(count: Dim = "K") -> SSAValue:
    """Sizes or axes of which not even the number is known."""
    return value(count, dtype=i64)


X3 = (4, 6, 1)

ANY_NUMBER = {
    "Slice": (lambda: ops.SliceOp(value(*X3), free(), free()), (None, None, None)),
    "Slice, some": (lambda: ops.SliceOp(value(*X3), free(), vector(3), vector(0)), (None, 6, 1)),
    "Pad": (lambda: ops.PadOp(value(*X3), free()), (None, None, None)),
    "Pad, axes": (lambda: ops.PadOp(value(*X3), free(), None, vector(1)), (4, None, 1)),
    "Pad, any axes": (lambda: ops.PadOp(value(*X3), free(), None, free()), (None, None, None)),
    "Tile": (lambda: ops.TileOp(value(*X3), free()), (None, None, None)),
    "ReduceSum": (lambda: ops.ReduceSumOp(value(*X3), free()), (None, None, 1)),
    "ReduceSum, one": (lambda: ops.ReduceSumOp(value(*X3), free(1), keepdims=0), (None, None)),
    "Squeeze": (lambda: ops.SqueezeOp(value(*X3), free(1)), (None, None)),
    "Split": (lambda: ops.SplitOp(value(*X3), free(), axis=1, results=2), (4, None, 1)),
    "ScatterND": (lambda: ops.ScatterNDOp(value(*X3), value(2, "D", dtype=i64), value(2, 6, 1)), X3),
    "Col2Im": (lambda: ops.Col2ImOp(value("N", 8, 5), free(), vector(2, 2)), ("N", 2, None, None)),
    "Col2Im, block": (lambda: ops.Col2ImOp(value("N", 8, 5), vector(4, 6), free()), ("N", None, 4, 6)),
    "Resize": (
        lambda: ops.ResizeOp(value(1, 2, *X3), None, None, free(), axes=[3, 2], mode="nearest"),
        (1, 2, None, None, 1),
    ),
}


@pytest.mark.parametrize("name", ANY_NUMBER)
def test_operands_of_any_number_leave_the_rank_known(name: str) -> None:
    make, expected = ANY_NUMBER[name]
    assert of(make()) == expected


@pytest.mark.parametrize(
    ("op", "operands", "rank"),
    [
        ("Reshape", '%x, %k : (tensor<?x1x4xf32, ["N", "", ""]>, tensor<?xi64>)', 2),
        ("Expand", '%x, %k : (tensor<?x1x4xf32, ["N", "", ""]>, tensor<?xi64>)', 4),
        ("ConstantOfShape", "%k : (tensor<?xi64>)", 2),
        ("Unsqueeze", '%x, %k : (tensor<?x1x4xf32, ["N", "", ""]>, tensor<?xi64>)', 5),
        ("Squeeze", '%x, %k : (tensor<?x1x4xf32, ["N", "", ""]>, tensor<?xi64>)', 2),
        ("Squeeze", '%x : (tensor<?x1x4xf32, ["N", "", ""]>)', 1),
        ("Squeeze", '%x : (tensor<?x1x4xf32, ["N", "", ""]>)', 2),
        ("ReduceSum", '%x, %k {keepdims = 0} : (tensor<?x1x4xf32, ["N", "", ""]>, tensor<?xi64>)', 1),
    ],
)
def test_a_declared_rank_stands_where_only_run_time_knows_one(op: str, operands: str, rank: int) -> None:
    """How many axes are added or taken away, the operands do not tell."""
    result = f"tensor<{'x'.join('?' * rank)}xf32>"
    arguments = '%x: tensor<?x1x4xf32, ["N", "", ""]>, %k: tensor<?xi64>'
    module = parse(f"%r = onnx.{op} {operands} -> {result}", arguments)
    module.verify()
    (one,) = (inner for inner in module.walk() if isinstance(inner, OnnxOp))
    assert [len(shape_of(type_)) for type_ in one.infer_result_types()] == [rank]


def test_a_squeeze_of_unknown_dims_follows_the_rank() -> None:
    x = value("N", 1, 4, None)
    for result, expected in [(("N", 4, None), ("N", 4, None)), ((4,), (4,)), ((None, None), (None, None))]:
        op = ops.SqueezeOp.build(operands=[x, None], result_types=[tensor_type(f32, result)])
        assert shape_of(op.infer_result_types()[0]) == expected
    too_few = ops.SqueezeOp.build(operands=[x, None], result_types=[tensor_type(f32, ())])
    with pytest.raises(GradcError, match="shape of squeezed"):
        too_few.verify()


def test_more_than_64_parts() -> None:
    split = ops.SplitOp(value(70, 3), vector(*[1] * 70), axis=0, results=70)
    assert {shape_of(part) for part in split.results} == {(1, 3)}


def test_a_long_vector_is_no_vector_of_sizes() -> None:
    assert dims_of(value(64, dtype=i64)) == (None,) * 64
    assert dims_of(value(65, dtype=i64)) is None
    assert dims_of(value(2)) is None
    assert dims_of(value("N", dtype=i64)) is None


def test_a_constant_vector_is_known_however_long() -> None:
    parts = ops.SplitOp(value(2, 162), vector(*[2] * 81), axis=1, results=81).results
    assert [shape_of(part) for part in parts] == [(2, 2)] * 81
    parts = ops.SplitOp(value(2, 162), vector(82, *[1] * 80), axis=1, results=81).results
    assert [shape_of(part) for part in parts] == [(2, 82), *[(2, 1)] * 80]
    assert of(ops.PadOp(value(*[2] * 40), vector(*[1] * 80))) == (4,) * 40
    assert of(ops.PadOp(value(*[2] * 40), value(80, dtype=i64))) == (None,) * 40
    parts = ops.SplitOp(value(2, 81), value(81, dtype=i64), axis=1, results=81).results
    assert [shape_of(part) for part in parts] == [(2, None)] * 81


def test_a_long_vector_in_place_of_axes_is_refused() -> None:
    """At once, however long it is said to be."""
    for make in (
        lambda: ops.ConstantOfShapeOp(value(2**40, dtype=i64)),
        lambda: ops.ReshapeOp(value(2, 3), vector(*[1] * 65)),
        lambda: ops.SplitOp(value(4), value(2**40, dtype=i64), results=2),
        lambda: ops.PadOp(value(4), value(2**40, dtype=i64)),
    ):
        with pytest.raises(GradcError, match=r"given .* values, expected at most (64|128)"):
            make()


CONTRADICTIONS = {
    "channels of Conv": lambda: ops.ConvOp(value(1, 4, 8), value(2, 3, 3)),
    "output channels of Conv": lambda: ops.ConvOp(value(1, 4, 8), value(3, 2, 3), group=2),
    "strides": lambda: ops.ConvOp(value(1, 4, 8), value(3, 4, 3), strides=[1, 1]),
    "pads": lambda: ops.ConvOp(value(1, 4, 8), value(3, 4, 3), pads=[-1, 0]),
    "bias": lambda: ops.ConvOp(value(1, 4, 8), value(3, 4, 3), value(4)),
    "kernel_shape": lambda: ops.ConvOp(value(1, 4, 8), value(3, 4, 3), kernel_shape=[2]),
    "window of 9": lambda: ops.ConvOp(value(1, 4, 8), value(3, 4, 9)),
    "channels of ConvTranspose": lambda: ops.ConvTransposeOp(value(1, 4, 8), value(3, 4, 3)),
    "size of the result on spatial axis 0": lambda: ops.ConvTransposeOp(
        value(1, 4, 1), value(4, 4, 2), pads=[1, 1]
    ),
    "perm": lambda: ops.TransposeOp(value(1, 2), perm=[0, 0]),
    "dims do not broadcast": lambda: ops.AddOp(value(2), value(3)),
    "inner dims of MatMul": lambda: ops.MatMulOp(value(2, 3), value(2, 3)),
    "dims of Concat": lambda: ops.ConcatOp([value(2, 3), value(2, 4)], axis=0),
    "Reshape": lambda: ops.ReshapeOp(value(2, 3), vector(4)),
    "shape of Reshape": lambda: ops.ReshapeOp(value(2, 3), vector(-1, -1)),
    "sizes of Split": lambda: ops.SplitOp(value(4), vector(1, 2), results=2),
    "results of Split": lambda: ops.SplitOp(value(4), vector(1, 3), results=3),
    "Squeeze": lambda: ops.SqueezeOp(value(2), vector(0)),
    "axes": lambda: ops.UnsqueezeOp(value(2), vector(0, 0)),
    "axis": lambda: ops.GatherOp(value(2), vector(0), axis=1),
    "end of Slice": lambda: ops.SliceOp(value(2), vector(0), vector(2**31), None, vector(-1)),
    "sizes of the result of Pad": lambda: ops.PadOp(value(2), vector(-2, -2)),
    "columns of Col2Im": lambda: ops.Col2ImOp(value(1, 4, 5), vector(2, 2), vector(1, 1)),
    "blocksize": lambda: ops.DepthToSpaceOp(value(1, 4, 2, 2), blocksize=0),
    "scales or sizes": lambda: ops.ResizeOp(value(1, 4, 2, 2), None, None, vector(2, 2)),
    "updates of ScatterND": lambda: ops.ScatterNDOp(value(4), ops.ConstantOp(np.array([[1]])), value(2)),
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_contradictions(what: str) -> None:
    with pytest.raises(GradcError) as caught:
        CONTRADICTIONS[what]()
    diagnostic = caught.value.diagnostic
    assert diagnostic.subject.startswith("onnx.")
    assert diagnostic.message.startswith(what)


def parse(body: str, arguments: str = "%x: tensor<2x3xf32>") -> builtin.ModuleOp:
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, test.Test, ONNX):
        ctx.load_dialect(dialect)
    return Parser(ctx, f"func.func @f({arguments}) {{ {body} func.return }}").parse_module()


REFUSED = {
    "onnx.Transpose has no attribute prem; did you mean perm?": (
        "%y = onnx.Transpose %x {prem = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>"
    ),
    "shape of Y: given [3, 2], expected [2, 3]": ("%y = onnx.Neg %x : (tensor<2x3xf32>) -> tensor<3x2xf32>"),
    "dtype of output: given f16, expected bf16": (
        "%y = onnx.Cast %x {to = bf16} : (tensor<2x3xf32>) -> tensor<2x3xf16>"
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_the_verifier_refuses(message: str) -> None:
    with pytest.raises(GradcError) as caught:
        parse(REFUSED[message]).verify()
    assert caught.value.diagnostic.message == message


def test_marks_are_allowed() -> None:
    parse('%y = onnx.Neg %x {gradc.why = "so"} : (tensor<2x3xf32>) -> tensor<2x3xf32>').verify()


def test_a_property_of_the_wrong_kind() -> None:
    text = '%y = onnx.Transpose %x {perm = "10"} : (tensor<2x3xf32>) -> tensor<3x2xf32>'
    with pytest.raises(VerifyException):
        parse(text).verify()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%y = onnx.Neg %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> f32", "2 operands"),
        ("%y = onnx.Add %x, _ : (tensor<2x3xf32>) -> tensor<2x3xf32>", "operand B of onnx.Add"),
        ("%y = onnx.Neg %x : () -> tensor<2x3xf32>", "expected 0 operand types but had 1"),
        ("%y = onnx.Transpose %x {perm = [1.0]} : () -> f32", "perm: a list of integers"),
        ("%y = onnx.Constant 1 : i64", "a dense tensor expected"),
    ],
)
def test_the_parser_refuses(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(text)


FLOATS = [0.1, -0.0, 1 / 3, 1e-40, np.nan, np.inf, -np.inf, 16777217.0, 1234567.0, 1e30]
VALUES = [np.array(FLOATS), *[np.array(x) for x in FLOATS], *[np.full(200, x) for x in FLOATS]]
VALUES += [np.zeros((0, 3)), np.arange(200), np.linspace(1e7, 2e7, 300)]


@pytest.mark.parametrize("dtype", dtypes.DTYPES, ids=lambda dtype: dtype.name)
def test_constants_read_back_bit_by_bit(dtype: dtypes.DType) -> None:
    for array in VALUES:
        with np.errstate(all="ignore"):
            array = array.astype(dtype.numpy)
        text = str(ops.ConstantOp(array)).replace("%0", "%y")
        (function,) = parse(text).ops
        assert isinstance(function, func.FuncOp)
        constant = function.body.block.first_op
        assert constant is not None
        found = constant_of(constant.results[0])
        assert found is not None
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes(), text


def test_absent_operands_stay_in_their_place() -> None:
    op = ops.ResizeOp(value(1, 1, 4), None, None, vector(1, 1, 8))
    assert [operand is None for operand in op.onnx_inputs()] == [False, True, True, False]
    assert str(op).count("_") == 2
    assert [operand is None for operand in ops.ClipOp(value(2)).onnx_inputs()] == [False]
    assert ops.PadOp(value(2), vector(0, 0)).onnx_attributes() == {}
    assert ops.TransposeOp(value(2, 3), perm=(1, 0)).onnx_attributes() == {"perm": [1, 0]}
