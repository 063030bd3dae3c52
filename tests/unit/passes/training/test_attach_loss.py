"""attach-loss: inputs, results, several terms, and names in use."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
from dialects.evaluate import evaluate
from dialects.support.diagnostics import UsageError
from dialects.support.entry import entry_function, input_names, output_names
from dialects.support.shapes import shape_of, show
from gradc.losses import MSE, CrossEntropy
from passes.training.attach_loss import AttachLossPass, Term, label_names

TYPE = 'tensor<?x3xf32, ["N", ""]>'
X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def parse(result: str = "y", argument: str = "x") -> ModuleOp:
    text = f"""func.func @main(%{argument}: {TYPE}) -> ({TYPE}) {{
      %h = onnx.Tanh %{argument} : ({TYPE}) -> {TYPE}
      %{result} = onnx.Neg %h : ({TYPE}) -> {TYPE}
      func.return %{result} : {TYPE}
    }}"""
    return Parser(dialects.context(), text).parse_module()


def attach(module: ModuleOp, *terms: Term) -> None:
    AttachLossPass(terms).apply(Context(), module)
    module.verify()


def test_inputs_and_results():
    module = parse()
    attach(module, Term(["y"], CrossEntropy()))
    function = entry_function(module)
    assert input_names(function) == ("x", "label")
    assert output_names(function) == ("loss", "y")
    assert show(shape_of(function.args[1])) == "[N]"
    assert not shape_of(function.get_return_op().operands[0])  # pyright: ignore[reportOptionalMemberAccess]


def test_several_terms_with_weights():
    module = parse()
    names = [label_names([of], ["label"], several=True) for of in ("y", "h")]
    attach(module, Term(["y"], MSE(), 0.5, names[0]), Term(["h"], MSE("sum"), 2.0, names[1]))
    assert input_names(entry_function(module)) == ("x", "label_y", "label_h")
    one, two = np.zeros_like(X), np.ones_like(X)
    loss, y = evaluate(module, [X, one, two])
    h = np.tanh(X)
    np.testing.assert_allclose(loss, 0.5 * (h**2).mean() + 2 * ((h - 1) ** 2).sum(), rtol=1e-6)
    np.testing.assert_allclose(y, -h, rtol=1e-6)


def test_names_of_one_term_are_plain():
    assert label_names(["y"], ["label"], several=False) == {"label": "label"}


@pytest.mark.parametrize(
    ("result", "argument", "name"),
    [("loss", "x", "loss"), ("y", "loss", "loss"), ("y", "label", "label"), ("label", "x", "label")],
)
def test_names_in_use_are_refused(result: str, argument: str, name: str):
    with pytest.raises(UsageError, match=f"the model has a value named {name}; rename gives it another name"):
        attach(parse(result, argument), Term([result], MSE()))


def test_unknown_values_have_a_hint():
    with pytest.raises(UsageError, match="of: there is no value yy; did you mean y"):
        attach(parse(), Term(["yy"], MSE()))


def test_two_labels_of_one_name_are_refused():
    with pytest.raises(UsageError, match="the model has a value named label"):
        attach(parse(), Term(["y"], MSE()), Term(["h"], MSE()))


def test_without_terms_nothing_changes():
    module = parse()
    before = str(module)
    attach(module)
    assert str(module) == before
