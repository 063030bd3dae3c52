"""MLIR text: places, names, and errors of one line."""

import random
import re

import pytest
from support.tiers import some
from xdsl.ir import Operation

from dialects.support.diagnostics import GradcError, name_of, position_of
from dialects.support.entry import entry_function, input_names, output_names
from dialects.support.limits import LimitError
from gradc.importers.mlir import parser
from gradc.importers.mlir.parser import import_mlir

TEXT = """\
// a comment
func.func @main(%dy: tensor<1x2x6x6xf32>, %src_1: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %s = arith.constant dense<[6, 6]> : tensor<2xi32>
  %dx_7 = onednn.interpolate_backward %src_1, %dy, %s {
    mode = "Linear", data_format = "NCX"
  } : (tensor<1x2x3x3xf32>, tensor<1x2x6x6xf32>, tensor<2xi32>) -> tensor<1x2x3x3xf32>
  func.return %dx_7 : tensor<1x2x3x3xf32>
}
"""


def op_of(name: str, text: str = TEXT) -> Operation:
    return next(op for op in import_mlir(text, "dir/g.mlir").walk() if op.name == name)


def line_of(text: str | bytes) -> str:
    with pytest.raises(GradcError) as caught:
        import_mlir(text, "g.mlir")
    assert caught.value.exit_code == (3 if isinstance(caught.value, LimitError) else 4)
    assert not getattr(caught.value, "__notes__", [])
    text = str(caught.value)
    for line in text.splitlines():
        assert re.fullmatch(r"g\.mlir:\d+:\d+: error: .+", line), line
    return text


@pytest.mark.parametrize(
    ("op", "place", "name"),
    [
        ("builtin.module", "1:1", ""),
        ("func.func", "2:1", ""),
        ("arith.constant", "3:3", "s"),
        ("onednn.interpolate_backward", "4:3", "dx_7"),
        ("func.return", "7:3", ""),
    ],
)
def test_places_and_names(op: str, place: str, name: str):
    found = op_of(op)
    assert str(position_of(found)) == f"dir/g.mlir:{place}"
    assert name_of(found) == name


def test_given_locations_stay():
    located = TEXT.replace("-> tensor<1x2x3x3xf32>\n", '-> tensor<1x2x3x3xf32> loc("up"("g.json":5:6))\n')
    found = op_of("onednn.interpolate_backward", located)
    assert (str(position_of(found)), name_of(found)) == ("g.json:5:6", "up")
    named = TEXT.replace("-> tensor<1x2x3x3xf32>\n", '-> tensor<1x2x3x3xf32> loc("up")\n')
    found = op_of("onednn.interpolate_backward", named)
    assert (str(position_of(found)), name_of(found)) == ("dir/g.mlir:4:3", "up")


def test_public_names_are_those_of_the_text():
    """xDSL's name hints lose a trailing `_1`; a second import reads the same names."""
    module = import_mlir(TEXT, "g.mlir")
    again = import_mlir(str(module), "g.mlir")
    assert str(again) == str(module)
    for one in (module, again):
        function = entry_function(one)
        assert input_names(function) == ("dy", "src_1")
        assert output_names(function) == ("dx_7",)


def test_names_that_differ_by_a_suffix():
    text = "func.func @main(%x_1: tensor<1xf32>, %x: tensor<1xf32>) -> tensor<1xf32> {\n"
    text += "  func.return %x : tensor<1xf32>\n}"
    module = import_mlir(text, "g.mlir")
    again = import_mlir(str(module), "g.mlir")
    assert input_names(entry_function(module)) == input_names(entry_function(again)) == ("x_1", "x")


def test_given_names_stay():
    text = TEXT.replace("%dy: tensor<1x2x6x6xf32>", '%dy: tensor<1x2x6x6xf32> {gradc.name = "a/b:0"}')
    assert input_names(entry_function(import_mlir(text, "g.mlir"))) == ("a/b:0", "src_1")


def test_generic_form():
    text = TEXT[: TEXT.index("onednn")] + (
        '"onednn.interpolate_backward"(%src_1, %dy, %s) <{mode = "linear", data_format = "NCX"}> : '
        + TEXT[TEXT.index("(tensor<1x2x3x3xf32>, tensor<1x2x6x6xf32>, tensor<2xi32>)") :]
    )
    assert str(import_mlir(text, "g.mlir")) == str(import_mlir(TEXT, "g.mlir"))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"Linear"', '"cubic"', '5:5: error: [InterpolateBackward "dx_7"] attribute mode: given "cubic"'),
        ("mode =", "moda =", '5:5: error: [InterpolateBackward "dx_7"] unknown attribute moda'),
        ("[6, 6]", "[6, 5]", '4:3: error: [InterpolateBackward "dx_7"] the sizes input axis W: given 5'),
        ("interpolate_backward", "interpolat_backward", "did you mean onednn.interpolate_backward"),
        ("onednn.", "oneddn.", "4:3: error: [oneddn.interpolate_backward] unknown op"),
        ("%src_1, %dy", "%dy, %dy", "4:39: error: "),
        ("%dy, %s", "%dy, %q", "values used but not defined: [%q]"),
        ('"NCX"', '"NCX', "5:36: error: End of file reached before closing string literal"),
        ("mode =", "mode", "5:10: error: "),
        ("%src_1:", "%dy:", "2:43: error: SSA value %dy is already defined"),
        ("[6, 6]> : tensor<2xi32>", "[6, 6, 6]> : tensor<2xi32>", "Shape mismatch in dense literal"),
        ("  func.return %dx_7 : tensor<1x2x3x3xf32>\n", "", "does not end in func.return"),
        ("func.return %dx_7 : tensor<1x2x3x3xf32>", "func.return", "7:3: error: [func.return]"),
        ("%src_1: tensor<1x2x3x3xf32>", "%src_1: tensor<1x2x3x3xf32>, %i: i32", 'input "i": given i32'),
        ("%src_1: tensor<1x2x3x3xf32>", "%src_1: tensor<*xf32>", "error: "),
        ("@main(", "@main(%u: none, ", 'type of input "u": given none'),
        (
            "func.func @main(",
            "func.func @other() { func.return }\nfunc.func @main(",
            "functions in the module: given @other, @main, expected exactly one",
        ),
        ("arith.constant dense", "arith.constantt dense", "did you mean arith.constant"),
        (
            " : tensor<2xi32>\n",
            " : tensor<2xi32>\n  %u = arith.addi %s, %s : tensor<2xi32>\n",
            "4:3: error: [arith",
        ),
        ("tensor<2xi32>)", 'tensor<2xi32, ["a"]>)', "error: "),
        ("// a comment", "#" * 3, "1:1: error: "),
        ("// a comment", "builtin.module", "error: "),
        ("dense<[6, 6]>", "dense<" + "[" * 5000, "nested too deeply"),
        ("1x2x6x6", "99999999999999999999x2x6x6", "error: "),
    ],
)
def test_errors(old: str, new: str, line: str):
    assert old in TEXT
    assert line in line_of(TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "1:1: error: "),
        (".", "1:1: error: "),
        ('"', "1:1: error: "),
        ("builtin.module {}", "functions in the module: given none"),
        ("func.func @f() { func.return }", "the graph has no outputs"),
        ("func.func private @f(tensor<1xf32>) -> tensor<1xf32>", "functions in the module: given none"),
        (b"\xff", "1:1: error: not UTF-8 text"),
        ("%c = arith.constant dense<1> : tensor<1xi32>", "op outside of a function"),
    ],
)
def test_texts_without_a_graph(text: str | bytes, line: str):
    assert line in line_of(text)


def test_op_outside_of_the_function():
    assert "op outside of a function" in line_of(TEXT + "%c = arith.constant dense<1> : tensor<1xi32>")


@pytest.mark.parametrize(
    ("inner", "line"),
    [
        ("builtin.module {}", "[builtin.module] op inside of a function"),
        ("func.func private @g(tensor<1xf32>)", "[func.func] op inside of a function"),
        (
            "%c = arith.constant 1 : i32",
            '[arith.constant "c"] value of the constant: given 1 : i32, expected',
        ),
        ("%c = arith.constant 1.0 : f32", "expected a dense<...> tensor"),
    ],
)
def test_what_the_function_may_not_hold(inner: str, line: str):
    message = line_of(TEXT.replace("func.return", f"{inner}\n  func.return"))
    assert line in message
    assert re.match(r"\S+:\d+:\d+: error: ", message)


@pytest.mark.parametrize(
    "text",
    ["builtin.module {\n" + TEXT + "^bb1(%a: tensor<1xf32>):\n}", '"builtin.module"() ({}) : () -> ()'],
)
def test_what_a_module_is_not(text: str):
    message = line_of(text)
    assert re.match(r"\S+:\d+:\d+: error: \[builtin.module\] body of the module: expected one block", message)


def test_use_before_definition():
    first = "  %a = onnx.Neg %b : (tensor<1xf32>) -> tensor<1xf32>\n"
    second = "  %b = onnx.Neg %x : (tensor<1xf32>) -> tensor<1xf32>\n"
    head = "func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {\n"
    tail = "  func.return %a : tensor<1xf32>\n}"
    import_mlir(head + second + first + tail, "g.mlir")
    assert '2:3: error: [onnx.Neg "a"] %b is used before' in line_of(head + first + second + tail)


def test_an_open_string_takes_no_time():
    """xDSL's own lexer is exponential here."""
    line_of(TEXT.replace('"NCX"', '"' + "NCX " * 1000))


def broken(rng: random.Random) -> str:
    alphabet = '(){}[]<>:=,%"@!#*x-0 1a.\n'
    text = list(TEXT)
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(text))
        text[start : start + rng.randint(0, 5)] = rng.choices(alphabet, k=rng.randint(0, 2))
    return "".join(text)


@pytest.mark.sweep
def test_broken_texts_are_never_a_traceback():
    rng = random.Random(0)
    texts = some([broken(rng) for _ in range(400)])
    refused = 0
    for text in texts:
        try:
            import_mlir(text, "g.mlir")
        except GradcError:
            refused += 1
            line_of(text)
    assert refused > len(texts) / 2


LITERALS = {
    "dense<[1.0, (2.0, 3.0, 4.0]> : tensor<4xf32>": "g.mlir:2:44: error: ')' expected",
    "dense<1.0> : tensor<4xcomplex<f32>>": "g.mlir:2:3: error: a value that does not fit its type",
    "dense<(true, false)> : tensor<4xi1>": "g.mlir:2:29: error: Expected integer value",
}


@pytest.mark.parametrize("literal", LITERALS, ids=range(len(LITERALS)))
def test_literals_that_the_parser_asserts_to_be_others(literal: str):
    text = f"func.func @f() {{\n  %c = arith.constant {literal}\n  func.return\n}}"
    with pytest.raises(GradcError) as caught:
        import_mlir(text, "g.mlir")
    assert str(caught.value) == LITERALS[literal]


def test_an_assertion_of_ours_is_no_mistake_in_the_text(monkeypatch):
    def fails(*_):
        raise AssertionError("ours")

    monkeypatch.setattr(parser.FloatBits, "to_type", fails)
    with pytest.raises(AssertionError, match="ours"):
        import_mlir("func.func @f() {\n  %c = arith.constant dense<1.0> : tensor<4xf32>\n}", "g.mlir")


@pytest.mark.parametrize("dst", ["f32", "1x2xf32", "1x1x6x6xf32", "1x1x7xf32"])
def test_a_declared_size_of_a_transposed_convolution_that_cannot_be(dst: str):
    """With `same` it may be up to a stride less one larger than what the windows cover."""
    text = f"""func.func @f(%x: tensor<1x1x3xf32>, %w: tensor<1x1x1xf32>) -> tensor<{dst}> {{
  %y = onednn.conv_transpose %x, %w {{strides = [2], pads_begin = [0], pads_end = [0], dilations = [1],
    auto_pad = "same_upper", data_format = "NCX", weights_format = "IOX"}}
    : (tensor<1x1x3xf32>, tensor<1x1x1xf32>) -> tensor<{dst}>
  func.return %y : tensor<{dst}>
}}"""
    with pytest.raises(GradcError, match="shape of dst: given"):
        import_mlir(text, "g.mlir")
    import_mlir(text.replace(f"tensor<{dst}>", "tensor<1x1x6xf32>"), "g.mlir")
