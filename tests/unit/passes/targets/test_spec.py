"""Declarations of targets, and passes that ask their capabilities instead of their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f16, f32, f64

from dialects.onnx import ops as onnx
from dialects.onnx.ops import OPS
from dialects.support.diagnostics import UsageError
from dialects.support.dtypes import ONNX_DTYPES
from passes.kernel_tables import PROVIDERS
from passes.targets import TARGETS, spec
from passes.targets.spec import TargetSpec, spec_of
from passes.targets.target import Target

ROOT = Path(__file__).resolve().parents[4]
RUNTIME = ROOT / "gradc" / "runtime"
"""onnxruntime's execution providers and devices have names of targets."""


def names_compared(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that compare, match, or look up by the name of a target."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                words = [child for side in (node.left, *node.comparators) for child in ast.walk(side)]
            case ast.Dict():
                words = [key for key in node.keys if key is not None]
            case ast.MatchValue():
                words = [node.value]
            case _:
                continue
        for word in words:
            if isinstance(word, ast.Constant) and word.value in TARGETS:
                yield word.lineno


@pytest.mark.parametrize(
    "source",
    ["target == 'cpu'", "'portable' != t.name", "t in ('cuda', 'x')", "{'cuda': 1}[t]", "f(t == 'cpu')"],
)
def test_a_comparison_with_a_name_is_found(source: str):
    assert list(names_compared(ast.parse(source))) == [1]
    assert not list(names_compared(ast.parse("target: str = 'cpu'")))
    assert list(names_compared(ast.parse("match t:\n  case 'cuda' | 'x': pass"))) == [2]


@pytest.mark.parametrize("layer", ["dialects", "passes", "gradc"])
def test_no_module_compares_with_the_name_of_a_target(layer: str):
    """Modules that do not contain a name need no parsing."""
    sources = {
        path: path.read_text(encoding="utf-8")
        for path in (ROOT / layer).rglob("*.py")
        if RUNTIME not in path.parents
    }
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path, text in sources.items()
        if any(f'"{name}"' in text for name in TARGETS)
        for line in names_compared(ast.parse(text))
    ]
    assert len(sources) > 50
    assert not found


@pytest.mark.parametrize("name", TARGETS)
class TestDeclared:
    def test_names_exist(self, name: str):
        declared = spec_of(name)
        assert declared.name == name
        assert declared.summary
        assert declared.provider in PROVIDERS
        assert set(declared.excluded_ops) <= {op.onnx_name() for op in OPS}
        assert set(declared.excluded_dtypes) <= {dtype.name for dtype in ONNX_DTYPES}
        assert declared.restricts is None or spec_of(declared.restricts).provider == declared.provider

    def test_reasons_are_given(self, name: str):
        declared = spec_of(name)
        reasons = [*declared.excluded_ops.values(), *declared.excluded_dtypes.values()]
        reasons += [quirk.why for quirks in declared.form_quirks.values() for quirk in quirks]
        assert all(reasons)


def test_an_unknown_target_is_an_error():
    with pytest.raises(UsageError, match="one of cpu, cuda, portable"):
        Target("slide_rule")


@pytest.fixture
def slide_rule(monkeypatch: pytest.MonkeyPatch) -> Target:
    """A target without f64, f16, and Erf."""
    declared = TargetSpec(
        name="slide_rule",
        summary="a made-up runtime",
        restricts="cpu",
        excluded_ops={"Erf": "slide_rule lacks it"},
        excluded_dtypes={"f64": "slide_rule has 32 bits", "f16": "slide_rule has 32 bits"},
    )
    known = spec.spec_of
    for module in ("passes.targets.spec", "passes.targets.target"):
        monkeypatch.setattr(
            f"{module}.spec_of", lambda name: declared if name == "slide_rule" else known(name)
        )
    return Target("slide_rule")


class TestExcluded:
    def test_an_op_and_a_dtype_have_their_reasons(self, slide_rule: Target):
        assert (
            slide_rule.lacks_uncached(onnx.ErfOp, "f32")
            == "Erf is avoided on slide_rule: slide_rule lacks it"
        )
        assert (
            slide_rule.lacks_uncached(onnx.AddOp, "f64")
            == "f64 is avoided on slide_rule: slide_rule has 32 bits"
        )
        assert slide_rule.lacks_uncached(onnx.AddOp, "f32") is None

    def test_a_half_type_is_widened(self, slide_rule: Target):
        def twice(dtype) -> onnx.AddOp:
            (x,) = test.TestOp(result_types=[TensorType(dtype, [2])]).results
            return onnx.AddOp(x, x)

        assert slide_rule.lacks_kernel(twice(f32)) is None
        assert slide_rule.lacks_kernel(twice(f16)) == "f16 is avoided on slide_rule: slide_rule has 32 bits"
        assert slide_rule.lacks_form(twice(f16)) is None
        assert slide_rule.lacks_form(twice(f64)) == "f64 is avoided on slide_rule: slide_rule has 32 bits"
