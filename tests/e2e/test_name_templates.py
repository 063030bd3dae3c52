"""Name templates of Jacobians and Hessians, which know the two values of a result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

import gradc
from tests.support.cli import run_gradc

TEXT = """<ir_version: 10, opset_import: ["": 18]>
f (float[2] x, float[2] w) => (float[2] y, float[2] z) { y = Mul(x, w)  z = Exp(y) }"""
TEMPLATE = "{what}:{of}/{wrt}"


def model() -> onnx.ModelProto:
    return onnx.parser.parse_model(TEXT)


def names(compiled: gradc.Compiled) -> list[str]:
    return [one.name for one in compiled.outputs]


def test_jacobians():
    found = gradc.jacobian(model(), of=["y", "z"], wrt=["x", "w"], name_template=TEMPLATE, check=False)
    assert names(found) == [f"jacobian:{of}/{wrt}" for of in "yz" for wrt in "xw"]
    pairs = {one.result: (one.of, one.wrt) for one in found.derivatives}
    assert pairs["jacobian:z/w"] == (("z",), ("w",))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_both_modes_are_proved(mode: str):
    found = gradc.jacobian(model(), of="y", wrt="x", mode=mode, name_template=TEMPLATE, check=True)
    assert names(found) == ["jacobian:y/x"]
    same = gradc.jacobian(model(), of="y", wrt="x", mode=mode, name_template="{name}.{what}", check=False)
    assert names(same) == ["y_x.jacobian"]


def test_hessians():
    blocks = gradc.hessian(model(), of="z", wrt=["x", "w"], name_template=TEMPLATE, check=False)
    assert names(blocks) == [f"hessian:z/{a}_{b}" for a in "xw" for b in "xw"]
    options: dict[str, Any] = {"diagonal": True, "trace": True, "name_template": TEMPLATE, "check": False}
    lines = gradc.hessian(model(), of="z", wrt=["x", "w"], **options)
    assert names(lines) == ["hessian_diagonal:z/x", "hessian_diagonal:z/w", "laplacian:z/x_w"]


@pytest.mark.parametrize("derivative", [gradc.jacobian, gradc.hessian])
@pytest.mark.parametrize(
    "template", ["{what}_{of}", "{what}_{wrt}", "{of}_{wrt}", "{what}_{name}_{of}_{wrt}"]
)
def test_fields_that_do_not_name_a_pair(derivative: Callable[..., Any], template: str):
    expected = r"a text with \{what\} and \{name\}, or \{what\} and \{of\} and \{wrt\}"
    with pytest.raises(gradc.UsageError, match=expected):
        derivative(model(), of="y", wrt="x", name_template=template)


def test_a_gradient_has_no_pairs():
    with pytest.raises(gradc.UsageError, match=r"a text with \{what\} and \{name\}$"):
        gradc.vjp(model(), of="y", wrt="x", name_template=TEMPLATE)


def test_names_that_collide():
    source = onnx.parser.parse_model(
        TEXT.replace("float[2] w", "float[2] jacobianyx").replace("w)", "jacobianyx)")
    )
    with pytest.raises(gradc.UsageError, match="jacobianyx, expected unique new names"):
        gradc.jacobian(source, of="y", wrt="x", name_template="{what}{of}{wrt}")


def test_the_command(tmp_path: Path):
    path, out = tmp_path / "f.onnx", tmp_path / "jacobian.onnx"
    onnx.save(model(), path)
    options = ("--of", "y", "--wrt", "x", "--name-template", "d{of}/d{wrt}.{what}", "--no-check")
    assert run_gradc("jacobian", path, *options, "-o", out).code == 0
    assert [one.name for one in onnx.load(out).graph.output] == ["dy/dx.jacobian"]
