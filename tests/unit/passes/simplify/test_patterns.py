"""Canonicalization: each pattern fires where it may, not where it may not, and keeps the numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from support.canonicalize import canonicalize
from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.parser import Parser

from dialects.onnx import ONNX
from dialects.onnx.interpreter import OnnxFunctions
from dialects.onnx.numpy import round_to
from dialects.support import dtypes
from dialects.support.shapes import element_type_of, shape_of

SIZES = {"N": 3, "M": 2, None: 4}
"""The run-time sizes of symbolic and unknown dims."""


def parse(text: str) -> tuple[Context, builtin.ModuleOp]:
    """The body of a function `f`, with types written `2x?xf32` and constants `c[1, 2]`."""
    text = re.sub(r"c\[([-\d, ]*)\]", _constant, text)
    ctx = Context()
    for dialect in (builtin.Builtin, func.Func, ONNX):
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return ctx, module


def _constant(match: re.Match) -> str:
    count = len([part for part in match[1].split(",") if part.strip()])
    return f"onnx.Constant dense<[{match[1]}]> : tensor<{count}xi64>"


def interpret(module: builtin.ModuleOp, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(OnnxFunctions())
    return interpreter.call_op("f", tuple(inputs))


def assert_read_within(module: builtin.ModuleOp) -> None:
    """No op that a pattern made and did not use reads a value of the module: it would be kept alive."""
    within = set(module.walk())
    for op in within:
        assert all(use.operation in within for result in op.results for use in result.uses), op.name


def canonicalized(text: str) -> list[str]:
    """The names of the ops that are left; types and numbers are as before."""
    _, module = parse(text)
    (function,) = module.ops
    assert isinstance(function, func.FuncOp)
    random = np.random.default_rng(0)
    inputs = []
    for arg in function.args:
        dtype = dtypes.of_mlir(element_type_of(arg))
        assert dtype is not None
        shape = [dim if isinstance(dim, int) else SIZES[dim] for dim in shape_of(arg)]
        inputs.append(np.asarray(random.integers(0, 9, shape) + 1 / 3).astype(dtype.numpy))
    before, types = interpret(module, inputs), list(function.function_type.outputs)
    canonicalize(module)
    module.verify()
    assert_read_within(module)
    last = function.body.block.last_op
    assert last is not None
    assert list(last.operand_types) == types
    for a, b in zip(before, interpret(module, inputs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    return [op.name.removeprefix("onnx.") for op in function.body.block.ops][:-1]


def unary(body: str, of: str, to: str) -> str:
    """A function of %x, of one type, whose last value is %y, of another."""
    return f"""
    func.func @f(%x: {of}) -> {to} {{
      {body}
      func.return %y : {to}
    }}"""


A, B, N = "tensor<2x3xf32>", "tensor<3x2xf32>", 'tensor<?x3xf32, ["N", ""]>'
U, UU = "tensor<?x3xf32>", "tensor<?x?xf32>"
S = "tensor<2xi64>"

M = "tensor<2x3xi1>"
SOME, NOT = "onnx.Constant dense<0.5> : tensor<f32>", "onnx.Constant dense<false> : tensor<i1>"
ONES, ZERO = "onnx.Constant dense<1.0>", "onnx.Constant dense<0.0> : tensor<f32>"

GONE = {
    "dropout": unary(f"%y, %m = onnx.Dropout %x : ({A}) -> ({A}, {M})", A, A),
    "a factor of 1": unary(
        f"%o = {ONES} : tensor<3xf32> %y = onnx.Mul %o, %x : (tensor<3xf32>, {N}) -> {N}", N, N),
    "a divisor of 1": unary(
        f"%o = {ONES} : tensor<f32> %y = onnx.Div %x, %o : ({A}, tensor<f32>) -> {A}", A, A),
    "nothing taken away": unary(
        f"%o = {ZERO} %y = onnx.Sub %x, %o : ({A}, tensor<f32>) -> {A}", A, A),
    "dropout that says it does not train": unary(
        f"""%r = {SOME} %t = {NOT}
            %y, %m = onnx.Dropout %x, %r, %t : ({A}, tensor<f32>, tensor<i1>) -> ({A}, {M})""", A, A),
    "identity": unary(f"%y = onnx.Identity %x : ({A}) -> {A}", A, A),
    "transpose": unary(f"%y = onnx.Transpose %x {{perm = [0, 1]}} : ({A}) -> {A}", A, A),
    "two transposes": unary(
        f"""%0 = onnx.Transpose %x : ({A}) -> {B}
            %y = onnx.Transpose %0 {{perm = [1, 0]}} : ({B}) -> {A}""", A, A),
    "cast": unary(f"%y = onnx.Cast %x {{to = f32}} : ({A}) -> {A}", A, A),
    "wide cast and back": unary(
        """%0 = onnx.Cast %x {to = f32} : (tensor<2xbf16>) -> tensor<2xf32>
           %y = onnx.Cast %0 {to = bf16} : (tensor<2xf32>) -> tensor<2xbf16>""",
        "tensor<2xbf16>", "tensor<2xbf16>"),
    "static reshape": unary(
        f"%s = c[2, 3] %y = onnx.Reshape %x, %s : ({A}, {S}) -> {A}", A, A),
    "named reshape": unary(
        f"%s = c[0, 3] %y = onnx.Reshape %x, %s : ({N}, {S}) -> {N}", N, N),
    "reshape with one unknown": unary(
        f"%s = c[-1, 3] %y = onnx.Reshape %x, %s : ({U}, {S}) -> {U}", U, U),
    "reshape and back": unary(
        f"""%s = c[6] %0 = onnx.Reshape %x, %s : ({A}, tensor<1xi64>) -> tensor<6xf32>
            %t = c[2, 3] %y = onnx.Reshape %0, %t : (tensor<6xf32>, {S}) -> {A}""", A, A),
    "zero pad": unary(
        f"%s = c[0, 0, 0, 0] %y = onnx.Pad %x, %s : ({A}, tensor<4xi64>) -> {A}", A, A),
    "full slice": unary(
        f"%s = c[0, -3] %e = c[2, 9] %y = onnx.Slice %x, %s, %e : ({A}, {S}, {S}) -> {A}", A, A),
    "slice to the end": unary(
        f"%s = c[0] %e = c[9223372036854775807] %y = onnx.Slice %x, %s, %e, %s : "
        f"({U}, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> {U}", U, U),
    "expand": unary(f"%s = c[1, 3] %y = onnx.Expand %x, %s : ({A}, {S}) -> {A}", A, A),
    "tile": unary(f"%s = c[1, 1] %y = onnx.Tile %x, %s : ({U}, {S}) -> {U}", U, U),
    "concat of one": unary(f"%y = onnx.Concat %x {{axis = 0}} : ({U}) -> {U}", U, U),
    "clip": unary(f"%y = onnx.Clip %x : ({U}) -> {U}", U, U),
    "resize": unary(
        f"%s = c[2, 3] %y = onnx.Resize %x, _, _, %s {{mode = \"linear\"}} : ({A}, {S}) -> {A}", A, A),
    "unsqueeze and back": unary(
        f"""%s = c[-1, 0] %0 = onnx.Unsqueeze %x, %s : ({U}, {S}) -> tensor<1x?x3x1xf32>
            %t = c[0, 3] %y = onnx.Squeeze %0, %t : (tensor<1x?x3x1xf32>, {S}) -> {U}""", U, U),
    "gather of all": unary(
        f"%i = c[0, 1] %y = onnx.Gather %x, %i {{axis = 0}} : ({A}, {S}) -> {A}", A, A),
    "squeeze and back": unary(
        """%s = c[1] %0 = onnx.Squeeze %x, %s : (tensor<?x1xf32>, tensor<1xi64>) -> tensor<?xf32>
           %y = onnx.Unsqueeze %0, %s : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>""",
        "tensor<?x1xf32>", "tensor<?x1xf32>"),
}  # fmt: skip


@pytest.mark.parametrize("name", GONE)
def test_gone(name: str) -> None:
    assert canonicalized(GONE[name]) == []


STAYS = {
    "narrow cast and back": unary(
        f"""%0 = onnx.Cast %x {{to = bf16}} : ({A}) -> tensor<2x3xbf16>
            %y = onnx.Cast %0 {{to = f32}} : (tensor<2x3xbf16>) -> {A}""", A, A),
    "f16 by bf16": unary(
        """%0 = onnx.Cast %x {to = bf16} : (tensor<2xf16>) -> tensor<2xbf16>
           %y = onnx.Cast %0 {to = f16} : (tensor<2xbf16>) -> tensor<2xf16>""",
        "tensor<2xf16>", "tensor<2xf16>"),
    "square transpose": unary(
        "%y = onnx.Transpose %x : (tensor<2x2xf32>) -> tensor<2x2xf32>",
        "tensor<2x2xf32>", "tensor<2x2xf32>"),
    "pad and crop": unary(
        f"%s = c[1, 0, -1, 0] %y = onnx.Pad %x, %s : ({A}, tensor<4xi64>) -> {A}", A, A),
    "reversed": unary(
        f"%s = c[-1] %e = c[-9] %a = c[0] %y = onnx.Slice %x, %s, %e, %a, %s : "
        f"({A}, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> {A}", A, A),
    "slice of an unknown size": unary(
        f"%s = c[0] %e = c[3] %y = onnx.Slice %x, %s, %e, %s : "
        f"({U}, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> {U}", U, U),
    "reshape with two unknowns": unary(
        f"%s = c[2, -1] %y = onnx.Reshape %x, %s : ({UU}, {S}) -> {UU}", UU, UU),
    "repeat": unary(f"%s = c[2, 1] %y = onnx.Tile %x, %s : ({U}, {S}) -> {U}", U, U),
    "squeeze elsewhere": unary(
        """%s = c[0] %0 = onnx.Unsqueeze %x, %s : (tensor<1xf32>, tensor<1xi64>) -> tensor<1x1xf32>
           %t = c[1] %y = onnx.Squeeze %0, %t : (tensor<1x1xf32>, tensor<1xi64>) -> tensor<1xf32>""",
        "tensor<1xf32>", "tensor<1xf32>"),
    "gather of the first ones": unary(
        f"%i = c[0, 1] %y = onnx.Gather %x, %i {{axis = 0}} : ({U}, {S}) -> {A}", U, A),
    "gather in another order": unary(
        f"%i = c[1, 0] %y = onnx.Gather %x, %i {{axis = 0}} : ({A}, {S}) -> {A}", A, A),
    "gather of another axis": unary(
        f"%i = c[0, 1] %y = onnx.Gather %x, %i {{axis = 1}} : ({A}, {S}) -> tensor<2x2xf32>",
        A, "tensor<2x2xf32>"),
    "a factor of 1 that repeats": unary(
        f"%o = {ONES} : {A} %y = onnx.Mul %x, %o : (tensor<3xf32>, {A}) -> {A}", "tensor<3xf32>", A),
    "other factors": unary(
        f"""%o = onnx.Constant dense<[1.0, 1.0, 2.0]> : tensor<3xf32>
            %y = onnx.Mul %x, %o : ({A}, tensor<3xf32>) -> {A}""", A, A),
    "1 divided": unary(
        f"%o = {ONES} : {A} %y = onnx.Div %o, %x : ({A}, {A}) -> {A}", A, A),
    "-0 taken away": unary(
        f"""%o = onnx.Constant dense<-0.0> : tensor<f32>
            %y = onnx.Sub %x, %o : ({A}, tensor<f32>) -> {A}""", A, A),
    "0 added": unary(
        f"%o = {ZERO} %y = onnx.Add %x, %o : ({A}, tensor<f32>) -> {A}", A, A),
    "dropout whose mask is read": unary(
        f"%0, %m = onnx.Dropout %x : ({A}) -> ({A}, {M}) %y = onnx.Where %m, %0, %x : ({M}, {A}, {A}) -> {A}",
        A, A),
    "new result type": unary(f"%y = onnx.Identity %x : ({N}) -> {U}", N, U),
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_stays(name: str) -> None:
    assert [op for op in canonicalized(STAYS[name]) if op != "Constant"] == [
        word for word in re.findall(r"onnx\.(\w+)", STAYS[name]) if word != "Constant"
    ]


def test_transposes_compose() -> None:
    text = unary(
        """%0 = onnx.Transpose %x {perm = [2, 0, 1]} : (tensor<?x3x5xf32>) -> tensor<5x?x3xf32>
           %1 = onnx.Transpose %0 {perm = [1, 0, 2]} : (tensor<5x?x3xf32>) -> tensor<?x5x3xf32>
           %y = onnx.Transpose %1 {perm = [2, 0, 1]} : (tensor<?x5x3xf32>) -> tensor<3x?x5xf32>""",
        "tensor<?x3x5xf32>",
        "tensor<3x?x5xf32>",
    )
    assert canonicalized(text) == ["Transpose"]


H, T, N3 = "tensor<2x3xf16>", "tensor<3x2xf16>", 'tensor<?x1x3xf32, ["N", "", ""]>'
BEHIND_CASTS = {
    "transpose": unary(
        f"""%0 = onnx.Transpose %x : ({H}) -> {T}
            %1 = onnx.Cast %0 {{to = f32}} : ({T}) -> {B}
            %y = onnx.Transpose %1 {{perm = [1, 0]}} : ({B}) -> {A}""", H, A),
    "unknown sizes": unary(
        """%0 = onnx.Transpose %x {perm = [2, 0, 1]} : (tensor<?x3x?xf32>) -> tensor<?x?x3xf32>
           %1 = onnx.Cast %0 {to = f16} : (tensor<?x?x3xf32>) -> tensor<?x?x3xf16>
           %y = onnx.Transpose %1 {perm = [1, 2, 0]} : (tensor<?x?x3xf16>) -> tensor<?x3x?xf16>""",
        "tensor<?x3x?xf32>", "tensor<?x3x?xf16>"),
    "reshape": unary(
        f"""%s = c[6] %0 = onnx.Reshape %x, %s : ({H}, tensor<1xi64>) -> tensor<6xf16>
            %1 = onnx.Cast %0 {{to = f32}} : (tensor<6xf16>) -> tensor<6xf32>
            %t = c[2, 3] %y = onnx.Reshape %1, %t : (tensor<6xf32>, {S}) -> {A}""", H, A),
    "reshape of a named size": unary(
        f"""%s = c[0, 1, 3] %0 = onnx.Reshape %x, %s : ({N}, tensor<3xi64>) -> {N3}
            %1 = onnx.Cast %0 {{to = f16}} : ({N3}) -> {N3.replace("f32", "f16")}
            %2 = c[0, 3]
            %y = onnx.Reshape %1, %2 : ({N3.replace("f32", "f16")}, {S}) -> tensor<?x3xf16, ["N", ""]>""",
        N, 'tensor<?x3xf16, ["N", ""]>'),
    "unsqueeze": unary(
        f"""%a = c[1] %0 = onnx.Unsqueeze %x, %a : ({H}, tensor<1xi64>) -> tensor<2x1x3xf16>
            %1 = onnx.Cast %0 {{to = f32}} : (tensor<2x1x3xf16>) -> tensor<2x1x3xf32>
            %y = onnx.Squeeze %1, %a : (tensor<2x1x3xf32>, tensor<1xi64>) -> {A}""", H, A),
}  # fmt: skip


@pytest.mark.parametrize("name", BEHIND_CASTS)
def test_a_move_that_is_undone_behind_a_cast_is_not_made(name: str) -> None:
    assert canonicalized(BEHIND_CASTS[name]) == ["Cast"]


def test_several_casts_between_inverse_transposes() -> None:
    """The second rounds, so both stay; somebody else reads what it gives in the other order."""
    text = f"""
    func.func @f(%x: {H}) -> ({H}, {T}) {{
      %0 = onnx.Transpose %x : ({H}) -> {T}
      %1 = onnx.Cast %0 {{to = bf16}} : ({T}) -> tensor<3x2xbf16>
      %2 = onnx.Cast %1 {{to = f16}} : (tensor<3x2xbf16>) -> {T}
      %y = onnx.Transpose %2 : ({T}) -> {H}
      func.return %y, %2 : {H}, {T}
    }}"""
    assert canonicalized(text) == ["Transpose", "Cast", "Cast", "Cast", "Cast"]


def test_another_transpose_behind_a_cast_stays() -> None:
    square = "tensor<3x3x3xf16>"
    text = unary(
        f"""%0 = onnx.Transpose %x {{perm = [2, 0, 1]}} : ({square}) -> {square}
            %1 = onnx.Cast %0 {{to = f32}} : ({square}) -> tensor<3x3x3xf32>
            %y = onnx.Transpose %1 {{perm = [2, 0, 1]}} : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>""",
        square,
        "tensor<3x3x3xf32>",
    )
    assert canonicalized(text) == ["Transpose", "Cast", "Transpose"]


def test_a_reshape_of_a_weight_that_is_cast() -> None:
    """Too large to fold: an op without operands is no move that could be undone."""
    wide, flat = "tensor<1024x1024xf32>", "tensor<1048576xf32>"
    text = f"""
    func.func @f(%x: {flat}) -> {flat} {{
      %0 = onnx.Constant dense<1> : tensor<1024x1024xui8>
      %1 = onnx.Cast %0 {{to = f32}} : (tensor<1024x1024xui8>) -> {wide}
      %s = c[1048576] %2 = onnx.Reshape %1, %s : ({wide}, tensor<1xi64>) -> {flat}
      %y = onnx.Add %x, %2 : ({flat}, {flat}) -> {flat}
      func.return %y : {flat}
    }}"""
    assert {"Cast", "Reshape"} < set(canonicalized(text))


def test_reshapes_compose() -> None:
    text = unary(
        f"""%s = c[3, -1] %0 = onnx.Reshape %x, %s : (tensor<?x6xf32>, {S}) -> tensor<3x?xf32>
            %t = c[-1, 3] %y = onnx.Reshape %0, %t : (tensor<3x?xf32>, {S}) -> {N}""",
        "tensor<?x6xf32>",
        N,
    )
    assert canonicalized(text) == ["Constant", "Reshape"]


M4 = 'tensor<?x?x2x3xf32, ["N", "M", "", ""]>'


def sized(picked: str, count: int, to: str) -> str:
    """A Reshape of two unknown sizes and 2x3 to sizes of which some are computed."""
    return unary(
        f"""%sizes = onnx.Shape %x : ({M4}) -> tensor<4xi64>
            %i = c[{picked}] %own = onnx.Gather %sizes, %i {{axis = 0}} : (tensor<4xi64>, {S}) -> {S}
            %six = c[6] %s = onnx.Concat %own, %six {{axis = 0}} : ({S}, tensor<1xi64>) -> tensor<3xi64>
            %y = onnx.Reshape %x, %s : ({M4}, tensor<{count}xi64>) -> {to}""",
        M4,
        to,
    )


def test_a_reshape_copies_the_sizes_at_their_places() -> None:
    kept = sized("0, 1", 3, 'tensor<?x?x6xf32, ["N", "M", ""]>')
    assert canonicalized(kept) == ["Constant", "Reshape"]


def flattened(allowzero: int) -> str:
    deep, flat = 'tensor<?x2x3xf32, ["N", "", ""]>', 'tensor<?x6xf32, ["N", ""]>'
    return unary(
        f"""%n = onnx.Shape %x {{start = 0, end = 1}} : ({deep}) -> tensor<1xi64>
            %rest = c[-1]
            %s = onnx.Concat %n, %rest {{axis = 0}} : (tensor<1xi64>, tensor<1xi64>) -> {S}
            %y = onnx.Reshape %x, %s {{allowzero = {allowzero}}} : ({deep}, {S}) -> {flat}""",
        deep,
        flat,
    )


def test_a_reshape_copies_the_sizes_before_a_rest() -> None:
    assert canonicalized(flattened(0)) == ["Constant", "Reshape"]
    assert "Shape" in canonicalized(flattened(1)), "a size of 0 is no copy there"


def test_a_reshape_does_not_copy_sizes_of_other_places() -> None:
    moved = sized("1, 0", 3, 'tensor<?x?x6xf32, ["M", "N", ""]>')
    assert "Gather" in canonicalized(moved)


def test_a_reshape_finds_one_size_by_itself() -> None:
    text = unary(
        f"""%n = onnx.Shape %x {{start = 0, end = 1}} : ({N}) -> tensor<1xi64>
            %three = c[3]
            %s = onnx.Concat %three, %n {{axis = 0}} : (tensor<1xi64>, tensor<1xi64>) -> {S}
            %y = onnx.Reshape %x, %s : ({N}, {S}) -> tensor<3x?xf32, ["", "N"]>""",
        N,
        'tensor<3x?xf32, ["", "N"]>',
    )
    assert canonicalized(text) == ["Constant", "Reshape"]


EXPANDED = """
    func.func @f(%x: {a}, %v: tensor<1x3xf32>) -> {y} {{
      %s = onnx.Shape %x : ({a}) -> tensor<2xi64>
      %e = onnx.Expand %v, %s : (tensor<1x3xf32>, tensor<2xi64>) -> {e}
      %y = onnx.{op} %x, %e : ({a}, {e}) -> {y}
      func.return %y : {y}
    }}"""


@pytest.mark.parametrize("op", ["Add", "Div", "Mul", "Sub"])
@pytest.mark.parametrize("type_", [A, N])
def test_arithmetic_repeats_by_itself(op: str, type_: str) -> None:
    assert canonicalized(EXPANDED.format(a=type_, e=type_, y=type_, op=op)) == [op]


def test_what_makes_the_shape_is_expanded() -> None:
    one = "tensor<1x3xf32>"
    text = unary(
        f"""%s = c[2, 3] %e = onnx.Expand %x, %s : ({one}, {S}) -> {A}
            %y = onnx.Mul %e, %x : ({A}, {one}) -> {A}""",
        one,
        A,
    )
    assert canonicalized(text) == ["Constant", "Expand", "Mul"]


def test_what_is_expanded_to_a_shape_that_nobody_knows_stays() -> None:
    some = "tensor<?x?xf32>"
    text = unary(
        f"""%s = onnx.Shape %x : ({some}) -> {S}
            %z = onnx.Neg %x : ({some}) -> {some}
            %e = onnx.Expand %z, %s : ({some}, {S}) -> {some}
            %y = onnx.Mul %e, %z : ({some}, {some}) -> {some}""",
        some,
        some,
    )
    assert canonicalized(text) == ["Shape", "Neg", "Expand", "Mul"]


@pytest.mark.parametrize(
    ("bounds", "sizes"), [("", 3), ("start = 1", 2), ("start = -2, end = -1", 1), ("end = 9", 3)]
)
def test_sizes_are_read_before_a_transpose_and_a_cast(bounds: str, sizes: int) -> None:
    text = unary(
        f"""%0 = onnx.Transpose %x {{perm = [2, 0, 1]}} : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
            %1 = onnx.Cast %0 {{to = f16}} : (tensor<?x?x?xf32>) -> tensor<?x?x?xf16>
            %y = onnx.Shape %1 {{{bounds}}} : (tensor<?x?x?xf16>) -> tensor<{sizes}xi64>""",
        "tensor<?x?x?xf32>",
        f"tensor<{sizes}xi64>",
    )
    assert canonicalized(text) == ["Shape", "Constant", "Gather"]


def test_gathers_compose() -> None:
    text = unary(
        """%i = c[2, 0, -1] %j = c[1, -1, 0, 1]
           %0 = onnx.Gather %x, %i {axis = 0} : (tensor<4xi64>, tensor<3xi64>) -> tensor<3xi64>
           %y = onnx.Gather %0, %j {axis = 0} : (tensor<3xi64>, tensor<4xi64>) -> tensor<4xi64>""",
        "tensor<4xi64>",
        "tensor<4xi64>",
    )
    assert canonicalized(text) == ["Constant", "Gather"]


@pytest.mark.parametrize(
    ("bounds", "left"),
    [
        (("1", "9", "1"), ["Gather"]),
        (("0", "-1", "2"), ["Gather"]),
        (("2", "-9", "-1"), ["Gather", "Slice"]),
    ],
)
def test_a_part_of_what_is_gathered(bounds: tuple[str, str, str], left: list[str]) -> None:
    """Fewer indices; a turned part stays."""
    first, end, step = bounds
    count = len(range(3)[int(first) : int(end) : int(step)])
    text = unary(
        f"""%i = c[2, 0, -1] %a = c[{first}] %b = c[{end}] %k = c[0] %c = c[{step}]
           %0 = onnx.Gather %x, %i {{axis = 0}} : (tensor<4xi64>, tensor<3xi64>) -> tensor<3xi64>
           %y = onnx.Slice %0, %a, %b, %k, %c : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>,
             tensor<1xi64>) -> tensor<{count}xi64>""",
        "tensor<4xi64>",
        f"tensor<{count}xi64>",
    )
    assert [op for op in canonicalized(text) if op != "Constant"] == left


CONCATS = {
    "inner along the same axis": ("%x, %x {axis = 0}", "4x3", "%0, %x {axis = -2}", "6x3", ["Concat"]),
    "inner along another axis": ("%x, %x {axis = 1}", "2x6", "%0, %0 {axis = 0}", "4x6", ["Concat"] * 2),
    "inner that is read twice": ("%x, %x {axis = 0}", "4x3", "%0, %0 {axis = 0}", "8x3", ["Concat"] * 2),
    "empty part": ("%e, %x {axis = 0}", "2x3", "%0, %x, %e {axis = 0}", "4x3", ["Concat"]),
    "nothing but empty parts": ("%e, %e {axis = 0}", "0x3", "%0, %x, %e {axis = 0}", "2x3", []),
}


@pytest.mark.parametrize("name", CONCATS)
def test_concats_flatten(name: str) -> None:
    inner, middle, outer, last, left = CONCATS[name]
    shapes = {"%x": "tensor<2x3xf32>", "%e": "tensor<0x3xf32>", "%0": f"tensor<{middle}xf32>"}
    types = [", ".join(shapes[v] for v in re.findall(r"%\w+", text)) for text in (inner, outer)]
    text = f"""
    func.func @f(%x: tensor<2x3xf32>, %e: tensor<0x3xf32>) -> tensor<{last}xf32> {{
      %0 = onnx.Concat {inner} : ({types[0]}) -> {shapes["%0"]}
      %y = onnx.Concat {outer} : ({types[1]}) -> tensor<{last}xf32>
      func.return %y : tensor<{last}xf32>
    }}"""
    assert canonicalized(text) == left


def test_a_copied_size_keeps_the_inner_reshape() -> None:
    text = unary(
        f"""%s = c[3, -1] %0 = onnx.Reshape %x, %s : (tensor<?x6xf32>, {S}) -> tensor<3x?xf32>
            %t = c[0, 1, -1]
            %y = onnx.Reshape %0, %t : (tensor<3x?xf32>, tensor<3xi64>) -> tensor<3x1x?xf32>""",
        "tensor<?x6xf32>",
        "tensor<3x1x?xf32>",
    )
    assert canonicalized(text).count("Reshape") == 2


def test_a_size_that_is_copied_from_the_same_place_keeps_no_inner_reshape() -> None:
    deep, flat = 'tensor<?x2x3xf32, ["N", "", ""]>', 'tensor<?x6xf32, ["N", ""]>'
    to = 'tensor<?x3x2xf32, ["N", "", ""]>'
    text = unary(
        f"""%s = c[0, -1] %0 = onnx.Reshape %x, %s : ({deep}, {S}) -> {flat}
            %t = c[0, 3, 2] %y = onnx.Reshape %0, %t : ({flat}, tensor<3xi64>) -> {to}""",
        deep,
        to,
    )
    assert canonicalized(text).count("Reshape") == 1


def test_shape_of_known_dims_is_a_constant() -> None:
    text = """
    func.func @f(%x: tensor<?x3x5xf32>) -> (tensor<2xi64>, tensor<3xi64>, tensor<i64>) {
      %0 = onnx.Shape %x {start = 1} : (tensor<?x3x5xf32>) -> tensor<2xi64>
      %1 = onnx.Shape %x : (tensor<?x3x5xf32>) -> tensor<3xi64>
      %i = onnx.Constant dense<-1> : tensor<i64>
      %2 = onnx.Gather %1, %i : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
      %3 = onnx.Mul %2, %2 : (tensor<i64>, tensor<i64>) -> tensor<i64>
      func.return %0, %1, %3 : tensor<2xi64>, tensor<3xi64>, tensor<i64>
    }"""
    assert sorted(canonicalized(text)) == ["Constant", "Constant", "Shape"]


def test_large_constants_are_not_made() -> None:
    """A fold may not blow up: more than 1 MiB and more than 16 times the operands."""
    grown = unary(
        """%c = onnx.Constant dense<1.0> : tensor<1xf32>
           %s = c[1024, 1024]
           %0 = onnx.Expand %c, %s : (tensor<1xf32>, tensor<2xi64>) -> tensor<1024x1024xf32>
           %y = onnx.Add %x, %0 : (tensor<1xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>""",
        "tensor<1xf32>",
        "tensor<1024x1024xf32>",
    )
    assert "Expand" in canonicalized(grown)
    assert "Expand" not in canonicalized(grown.replace("1024", "512"))


def test_a_fold_never_divides_by_zero() -> None:
    text = """
    func.func @f(%x: tensor<2xi64>) -> tensor<2xi64> {
      %0 = c[1, 2]
      %1 = c[0, 1]
      %2 = onnx.Div %0, %1 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
      %y = onnx.Add %x, %2 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
      func.return %y : tensor<2xi64>
    }"""
    _, module = parse(text)
    canonicalize(module)
    assert "onnx.Div" in str(module)


@pytest.mark.parametrize(("base", "folds"), [("3", True), ("3037000500", False)])
def test_a_fold_makes_no_power_that_does_not_fit(base: str, folds: bool) -> None:
    """3037000500 ** 2 is more than an s64 holds; runtimes go by way of f64, and give its least number."""
    text = f"""
    func.func @f(%x: tensor<1xi64>) -> tensor<1xi64> {{
      %0 = c[{base}]
      %1 = c[2]
      %2 = onnx.Pow %0, %1 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
      %y = onnx.Add %x, %2 : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
      func.return %y : tensor<1xi64>
    }}"""
    _, module = parse(text)
    canonicalize(module)
    assert ("onnx.Pow" not in str(module)) == folds


def test_rounding_to_bf16_is_to_nearest_even() -> None:
    """Against a search through all bfloat16 numbers; doubles on ties, just off them, and anywhere."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        every = np.arange(2**16).astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float64)
    table = np.unique(every[np.isfinite(every)])
    random = np.random.default_rng(0)
    at = random.integers(1, len(table) - 1, 2000)
    ties = (table[at] + table[at - 1]) / 2
    off = ties * (1 + random.choice([-1, 1], 2000) * 2.0 ** random.integers(-52, -8, 2000))
    doubles = np.concatenate([ties, off, random.standard_normal(2000)])
    right = np.clip(np.searchsorted(table, doubles), 1, len(table) - 1)
    low, high = table[right - 1], table[right]
    even = low.astype(ml_dtypes.bfloat16).view(np.uint16) % 2 == 0
    nearest = np.where(doubles - low < high - doubles, low, high)
    expected = np.where((doubles - low == high - doubles) & even, low, nearest)
    found = round_to(doubles, np.dtype(ml_dtypes.bfloat16)).astype(np.float64)
    np.testing.assert_array_equal(found, expected)


def test_bf16_folds_round_once() -> None:
    """The sum is just above a tie of bfloat16, and in float32 it is that tie."""
    a, b = np.array([1, 2**-8]).astype(ml_dtypes.bfloat16), np.array([0, 2**-30])
    text = unary(
        """%0 = onnx.Constant dense<1.00390625> : tensor<1xf64>
           %1 = onnx.Constant dense<9.313225746154785e-10> : tensor<1xf64>
           %2 = onnx.Add %0, %1 : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
           %3 = onnx.Cast %2 {to = bf16} : (tensor<1xf64>) -> tensor<1xbf16>
           %y = onnx.Mul %3, %x : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xbf16>""",
        "tensor<1xbf16>",
        "tensor<1xbf16>",
    )
    assert float(a.astype(np.float64).sum() + b.sum()) == 1.00390625 + 2**-30
    _, module = parse(text)
    (found,) = interpret(module, [np.ones(1, ml_dtypes.bfloat16)])
    assert float(found[0]) == 1.0078125
