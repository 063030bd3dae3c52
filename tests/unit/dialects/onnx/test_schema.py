"""The generated file is fresh, and what it says of opsets is what onnx says."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from xdsl.dialects import test
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

import dialects
from dialects.onnx import ops, schema
from dialects.onnx.base import OnnxOp
from dialects.onnx.opset_range import is_default, opset_range
from dialects.support.diagnostics import GradcError, UnsupportedError
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of, tensor_type


def value(*shape: int, dtype: Attribute = f32) -> SSAValue:
    return test.TestOp(result_types=[tensor_type(dtype, shape)]).results[0]


def vector(*values: int) -> ops.ConstantOp:
    return ops.ConstantOp(np.array(values, np.int64))


def test_ops_are_up_to_date() -> None:
    newest = onnx.defs.onnx_opset_version()
    if newest < schema.NEWEST:
        pytest.skip(f"onnx {onnx.__version__} knows opsets up to {newest} only")
    assert schema.check() == ""


def test_check_sees_a_difference(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = tmp_path / "signatures.py"
    stale.write_text(schema.signatures().replace("13 2:", "13 1:", 1))
    monkeypatch.setattr(schema, "folder", lambda: tmp_path)
    assert schema.main(["--check"]) == 1
    assert schema.main([]) == 0
    assert schema.main(["--check"]) == 0
    assert schema.main(["--wrong"]) == 2


def test_every_op_of_the_standard_domain_has_a_class() -> None:
    found = {s.name for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated}
    assert found <= set(ops.op_names())
    assert [op.onnx_name() for op in ops.OPS] == list(ops.op_names())
    assert all(getattr(ops, op.__name__) is op for op in ops.OPS)
    with pytest.raises(AttributeError):
        ops.NoSuchOp  # noqa: B018  # pyright: ignore
    with pytest.raises(KeyError):
        ops.op_class("NoSuch")


@pytest.mark.parametrize("op", ops.OPS, ids=lambda op: op.onnx_name())
def test_the_newest_form_is_onnxs(op: type[OnnxOp]) -> None:
    """Operands, results, attributes and defaults of the newest schema, in order."""
    newest = schema.versions(op.onnx_name())[-1]
    assert [port.name for port in op.SIGNATURE.operands] == [p.name for p in newest.inputs]
    assert [port.name for port in op.SIGNATURE.results] == [p.name for p in newest.outputs]
    kept = schema.ATTRIBUTES.get(op.onnx_name(), tuple(newest.attributes))
    assert {a.name for a in op.SIGNATURE.attributes} == set(kept)
    for attribute in op.SIGNATURE.attributes:
        default = newest.attributes[attribute.name].default_value
        if attribute.kind in ("INT", "INTS", "STRINGS", "FLOAT") and default.ByteSize():
            theirs = helper.get_attribute_value(default)
            theirs = [x.decode() for x in theirs] if attribute.kind == "STRINGS" else theirs
            assert attribute.default == (pytest.approx(theirs) if attribute.kind == "FLOAT" else theirs)


def test_a_class_is_made_when_it_is_asked_for() -> None:
    """Neither the dialect nor a text that holds an op makes the classes of the others."""
    code = (
        "import dialects, sys; from dialects.onnx.ops import loaded_ops; from xdsl.parser import Parser\n"
        "few = len(loaded_ops()); ctx = dialects.context()\n"
        "text = '%a = onnx.Constant dense<1> : tensor<i64> %b = onnx.Abs %a : (tensor<i64>) -> tensor<i64>'\n"
        "Parser(ctx, text).parse_module().verify()\n"
        "sys.exit(len(loaded_ops()) > few + 2)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_text_of_types_and_ops_in_any_order() -> None:
    """A context that made some classes reads a type of the dialect afterwards, and so does its copy."""
    x = "%x = onnx.Constant dense<1> : tensor<2xi64>"
    s = "%s = onnx.SequenceConstruct %x : (tensor<2xi64>) -> !onnx.seq<tensor<2xi64>>"
    ctx = dialects.context()
    Parser(ctx, x).parse_module()
    for context in (ctx.clone(), ctx):
        Parser(context, f"{x} {s}").parse_module().verify()
        with pytest.raises(ParseError, match=r"onnx\.NoSuch is not registered"):
            Parser(context, "%x = onnx.NoSuch").parse_module()


def test_the_dialect_does_not_import_onnx() -> None:
    code = "import sys; import dialects.onnx.interpreter; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


INSTANCES: dict[str, OnnxOp] = {
    "abs": ops.AbsOp(value(2)),
    "add": ops.AddOp(value(2), value(2)),
    "add u8": ops.AddOp(value(2, dtype=i8), value(2, dtype=i8)),
    "average pool": ops.AveragePoolOp(value(1, 2, 8), kernel_shape=[2]),
    "average pool bf16": ops.AveragePoolOp(value(1, 2, 8, dtype=bf16), kernel_shape=[2]),
    "average pool dilated": ops.AveragePoolOp(value(1, 2, 8), kernel_shape=[2], dilations=[2]),
    "cast": ops.CastOp(value(2), to=bf16),
    "cast saturate": ops.CastOp(value(2), to=f16, saturate=1),
    "col2im": ops.Col2ImOp(value(1, 4, 4), vector(2, 2), vector(1, 1)),
    "constant": vector(1),
    "conv": ops.ConvOp(value(1, 2, 8), value(2, 2, 3)),
    "conv bf16": ops.ConvOp(value(1, 2, 8, dtype=bf16), value(2, 2, 3, dtype=bf16)),
    "conv f64 bias": ops.ConvOp(value(1, 2, 8, dtype=f64), value(2, 2, 3, dtype=f64), value(2, dtype=f64)),
    "conv transpose f16": ops.ConvTransposeOp(value(1, 2, 8, dtype=f16), value(2, 2, 3, dtype=f16)),
    "equal bool": ops.EqualOp(value(2, dtype=i1), value(2, dtype=i1)),
    "pad": ops.PadOp(value(2), vector(1, 1)),
    "pad axes": ops.PadOp(value(2, 2), vector(1, 1), None, vector(0)),
    "pad bool": ops.PadOp(value(2, dtype=i1), vector(1, 1)),
    "range": ops.RangeOp(*(value(dtype=i64) for _ in range(3))),
    "range f16": ops.RangeOp(*(value(dtype=f16) for _ in range(3))),
    "reduce sum": ops.ReduceSumOp(value(2, 2), vector(0), keepdims=0),
    "reshape": ops.ReshapeOp(value(2, 2), vector(4)),
    "reshape allowzero": ops.ReshapeOp(value(2, 2), vector(4), allowzero=1),
    "resize": ops.ResizeOp(value(1, 1, 4), None, None, vector(1, 1, 8), mode="linear"),
    "resize axes": ops.ResizeOp(value(1, 1, 4), None, None, vector(8), axes=[2], mode="linear"),
    "scatter": ops.ScatterNDOp(value(4), vector_of_vectors := ops.ConstantOp(np.array([[1]])), value(1)),
    "scatter add": ops.ScatterNDOp(value(4), vector_of_vectors, value(1), reduction="add"),
    "shape": ops.ShapeOp(value(2, 3)),
    "shape start": ops.ShapeOp(value(2, 3), start=1),
    "slice": ops.SliceOp(value(4), vector(0), vector(2)),
    "slice axes steps": ops.SliceOp(value(4), vector(0), vector(2), vector(0), vector(1)),
    "split equal": ops.SplitOp(value(4), results=2),
    "split num_outputs": ops.SplitOp(value(4), results=2, num_outputs=2),
    "split sizes": ops.SplitOp(value(4), vector(1, 3), results=2),
    "where bf16": ops.WhereOp(value(2, dtype=i1), value(2, dtype=bf16), value(2, dtype=bf16)),
    "where": ops.WhereOp(value(2, dtype=i1), value(2), value(2)),
    "greater": ops.GreaterOrEqualOp(value(2, dtype=bf16), value(2, dtype=bf16)),
}


def legal(op: OnnxOp, opset: int) -> bool:
    """What onnx itself says of the instance in an opset, where what is so by default is not written."""
    try:
        found = onnx.defs.get_schema(op.onnx_name(), opset, "")
    except onnx.defs.SchemaError:
        return False
    given = op.onnx_attributes().items()
    attributes: dict[str, Any] = {n: v for n, v in given if not is_default(op, n, op.properties[n])}
    attributes.update({"to": 1} if "to" in attributes else {})
    if "value" in attributes:
        attributes["value"] = onnx.numpy_helper.from_array(attributes["value"])
    inputs = op.onnx_inputs()
    names = ["" if value is None else f"i{i}" for i, value in enumerate(inputs)]
    outputs = [f"o{i}" for i in range(len(op.results))]
    node = helper.make_node(op.onnx_name(), names, outputs, **attributes)
    context = onnx.checker.C.CheckerContext()
    context.ir_version, context.opset_imports = 10, {"": opset}
    try:
        onnx.checker.check_node(node, context)
    except onnx.checker.ValidationError:
        return False
    parameters = [found.inputs[min(i, len(found.inputs) - 1)] for i in range(len(inputs))]
    pairs = [(p, v) for p, v in zip(parameters, inputs, strict=True) if v is not None]
    pairs += [(found.outputs[min(i, len(found.outputs) - 1)], v) for i, v in enumerate(op.results)]
    return all(_onnx_type(value) in parameter.types for parameter, value in pairs)


def _onnx_type(value: SSAValue) -> str:
    dtype = of_mlir(element_type_of(value))
    assert dtype is not None
    number = helper.np_dtype_to_tensor_dtype(dtype.numpy)
    return f"tensor({onnx.TensorProto.DataType.Name(number).lower()})"


@pytest.mark.parametrize("name", INSTANCES)
def test_opsets(name: str) -> None:
    op = INSTANCES[name]
    opsets = range(13, min(schema.NEWEST, onnx.defs.onnx_opset_version()) + 1)
    theirs = [opset for opset in opsets if legal(op, opset)]
    first, last = opset_range(op)
    ours = [opset for opset in opsets if first <= opset and (last is None or opset < last)]
    if name.startswith("split"):
        return  # whether parts are equal is said in prose, not in the schema: see below
    assert ours == theirs
    assert opset_range(op)[0] == theirs[0]


def test_opsets_that_schemas_do_not_tell() -> None:
    assert opset_range(INSTANCES["split equal"]) == (13, 18)
    assert opset_range(INSTANCES["split num_outputs"]) == (18, None)
    assert opset_range(INSTANCES["split sizes"]) == (13, None)
    assert opset_range(ops.PadOp(value(4), vector(1, 1), mode="wrap"))[0] == 19
    assert opset_range(ops.PadOp(value(4), vector(1, 1), mode="edge"))[0] == 13
    scatter = ops.ScatterNDOp(value(4), vector_of_vectors, value(1), reduction="max")
    assert opset_range(scatter)[0] == 18
    symmetric = {"coordinate_transformation_mode": "half_pixel_symmetric"}
    resize = ops.ResizeOp(value(1, 1, 4), None, None, vector(1, 1, 8), **symmetric)
    assert opset_range(resize)[0] == 19


def test_no_opset() -> None:
    """Forms that no version has together: an old one's types with a new one's attributes."""
    op = ops.MulOp(value(2), value(2))
    op.properties["fused"] = vector(1).value
    with pytest.raises(UnsupportedError, match="no opset has this op"):
        opset_range(op)[0]


def test_dtypes_are_held_against_the_schema() -> None:
    with pytest.raises(GradcError, match=r"\[onnx.MatMul\] dtype of A: given boolean, expected one of"):
        ops.MatMulOp(value(2, 2, dtype=i1), value(2, 2, dtype=i1))
    with pytest.raises(GradcError, match=r"dtype of B: given f16, expected f32"):
        ops.AddOp(value(2), value(2, dtype=f16))
    with pytest.raises(GradcError, match=r"dtype of shape: given f32, expected s64"):
        ops.ReshapeOp(value(2), value(1))
