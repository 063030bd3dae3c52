"""The entry function, and the public names of its inputs and outputs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from dialects import context
from dialects.support import entry
from dialects.support.diagnostics import GradcError
from dialects.support.interfaces import set_type


def module(text: str) -> ModuleOp:
    return Parser(context(), text).parse_module()


def function(arguments: str, returned: str = "", attributes: str = "") -> FuncOp:
    """A function of these arguments; `returned` are values of type tensor<f32>."""
    values = [value for value in returned.split(",") if value]
    types = ", ".join(["tensor<f32>"] * len(values))
    line = f"func.return {', '.join(values)} : {types}" if values else "func.return"
    return entry.entry_function(
        module(f"func.func @main({arguments}) -> ({attributes or types}) {{\n {line}\n}}")
    )


X = "%x: tensor<f32>"


def test_one_function():
    found = entry.entry_function(module(f"func.func @f({X}) {{\n func.return\n}}"))
    assert found.sym_name.data == "f"


def test_declarations_do_not_count():
    text = f"func.func private @g(tensor<f32>)\nfunc.func @f({X}) {{\n func.return\n}}"
    assert entry.entry_function(module(text)).sym_name.data == "f"


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("builtin.module {\n}", "none"),
        ("func.func private @g(tensor<f32>)", "none"),
        ("func.func @f() {\n func.return\n}\nfunc.func @g() {\n func.return\n}", "@f, @g"),
    ],
)
def test_not_one_function(text: str, given: str):
    with pytest.raises(GradcError, match=f"functions in the module: given {given}, expected exactly one"):
        entry.entry_function(module(text))


def test_not_one_block():
    text = 'func.func @f() {\n "cf.br"() [^b] : () -> ()\n^b:\n func.return\n}'
    ctx = context()
    ctx.allow_unregistered = True
    with pytest.raises(GradcError, match="blocks in the function: given 2, expected 1"):
        entry.entry_function(Parser(ctx, text).parse_module())


def test_names_of_values():
    f = function("%x: tensor<f32>, %dy: tensor<f32>", "%dy,%x")
    assert entry.input_names(f) == ("x", "dy")
    # the outputs are other tensors than the inputs
    assert len({*entry.input_names(f), *entry.output_names(f)}) == 4


def test_given_names_win():
    f = function(
        '%x: tensor<f32> {gradc.name = "encoder/x:0"}, %y: tensor<f32>',
        "%x",
        'tensor<f32> {gradc.name = "encoder/y:0"}',
    )
    assert entry.input_names(f) == ("encoder/x:0", "y")
    assert entry.output_names(f) == ("encoder/y:0",)


def test_nameless_values():
    f = FuncOp("main", FunctionType.from_lists([TensorType(f32, [])] * 2, []))
    assert entry.input_names(f) == ("arg0", "arg1")


def test_a_value_returned_twice():
    f = function("%x: tensor<f32>", "%x,%x")
    names = entry.output_names(f)
    assert len(set(names)) == 2
    assert not set(names) & set(entry.input_names(f))


def test_set_names():
    f = function(X, "%x")
    entry.set_names(f, ["a b"], ["x"])
    assert entry.input_names(f) == ("a b",)
    assert entry.output_names(f) == ("x",)


NAMES = st.lists(st.sampled_from(["a", "b", "a_1", "a_1_1", "a_2", ""]), min_size=1, max_size=6)


@given(NAMES, NAMES)
def test_names_are_unique(inputs: list[str], outputs: list[str]):
    """All public names differ, and a name that nobody else wants is kept."""
    arguments = ", ".join(f"%v{i}: tensor<f32>" for i in range(len(inputs)))
    f = function(arguments, ",".join(["%v0"] * len(outputs)))
    entry.set_names(f, inputs, outputs)
    found = (*entry.input_names(f), *entry.output_names(f))
    assert len(set(found)) == len(found)
    for name, given_name in zip(found, (*inputs, *outputs), strict=True):
        assert name.startswith(given_name)
    if len({*inputs, *outputs}) == len(inputs) + len(outputs) and "" not in (*inputs, *outputs):
        assert found == (*inputs, *outputs)


def test_the_first_keeps_its_name():
    f = function("%a: tensor<f32>, %b: tensor<f32>")
    entry.set_names(f, ["n", "n"], [])
    assert entry.input_names(f) == ("n", "n_1")


def test_no_return():
    f = entry.entry_function(module("func.func @f() {\n func.return\n}"))
    last = f.body.block.last_op
    assert last is not None
    last.detach()
    with pytest.raises(GradcError, match=r"does not end in func\.return"):
        entry.return_op(f)


def test_update_function_type():
    f = function("%x: tensor<f32>", "%x")
    set_type(f.args[0], TensorType(f64, []))
    entry.update_function_type(f)
    wide = [TensorType(f64, [])]
    assert f.function_type == FunctionType.from_lists(wide, wide)
