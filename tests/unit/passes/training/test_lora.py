"""lora: the products with adapters, merged weights, and weights that have none."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
from dialects.evaluate import evaluate
from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import UsageError
from dialects.support.entry import entry_function
from dialects.support.names import name_of_value
from passes.differentiate import Request, differentiate
from passes.infer_types import infer_types
from passes.training.lora import Adapter, LoraPass, merge_adapters

RNG = np.random.default_rng(0)
W = RNG.normal(size=(4, 3))
X = RNG.normal(size=(5, 4))
A, B = RNG.normal(size=(4, 2)), RNG.normal(size=(2, 3))
F64 = "tensor<5x3xf64>"


def dense(array: np.ndarray, type_: str = "f64") -> str:
    return f"dense<{array.tolist()}> : tensor<{'x'.join(map(str, array.shape))}x{type_}>"


def parse(body: str, result: str = F64, inputs: str = "%x: tensor<5x4xf64>") -> ModuleOp:
    text = f"func.func @main({inputs}) -> ({result}) {{\n{body}\nfunc.return %y : {result}\n}}"
    module = Parser(dialects.context(), text).parse_module()
    infer_types(module)
    return module


PLAIN = (
    f"%w = onnx.Constant {dense(W)}\n%y = onnx.MatMul %x, %w : (tensor<5x4xf64>, tensor<4x3xf64>) -> {F64}"
)
FORMS = {
    "MatMul": PLAIN,
    "Gemm": f"""%w = onnx.Constant {dense(W)}
      %y = onnx.Gemm %x, %w {{alpha = 0.5 : f32}} : (tensor<5x4xf64>, tensor<4x3xf64>) -> {F64}""",
    "transB": f"""%w = onnx.Constant {dense(W.T)}
      %b = onnx.Constant {dense(RNG.normal(size=3))}
      %y = onnx.Gemm %x, %w, %b {{transB = 1 : i64}}
        : (tensor<5x4xf64>, tensor<3x4xf64>, tensor<3xf64>) -> {F64}""",
    "transA": f"""%w = onnx.Constant {dense(W)}
      %t = onnx.Transpose %x {{perm = [1, 0]}} : (tensor<5x4xf64>) -> tensor<4x5xf64>
      %y = onnx.Gemm %t, %w {{transA = 1 : i64}} : (tensor<4x5xf64>, tensor<4x3xf64>) -> {F64}""",
    "Transpose": f"""%w = onnx.Constant {dense(W.T)}
      %t = onnx.Transpose %w {{perm = [1, 0]}} : (tensor<3x4xf64>) -> tensor<4x3xf64>
      %y = onnx.MatMul %x, %t : (tensor<5x4xf64>, tensor<4x3xf64>) -> {F64}""",
}


def constants(module: ModuleOp) -> dict[str, ConstantOp]:
    ops = (op for op in entry_function(module).body.block.ops if isinstance(op, ConstantOp))
    return {name_of_value(op.output): op for op in ops}


def set_constant(module: ModuleOp, name: str, array: np.ndarray) -> None:
    constants(module)[name].properties["value"] = ConstantOp(array).properties["value"]


def attach(module: ModuleOp, *weights: str, **options: object) -> list[Adapter]:
    pass_ = LoraPass(weights or ("w",), **{"rank": 2, **options})  # type: ignore[arg-type]
    found = pass_.adapters(module)
    pass_.apply(Context(), module)
    module.verify()
    return found


@pytest.mark.parametrize("form", FORMS)
def test_merged_weights_compute_what_adapters_do(form: str):
    module, merged = parse(FORMS[form]), parse(FORMS[form])
    before = evaluate(module, [X])[0]
    (adapter,) = attach(module, alpha=3.0)
    assert adapter.scale == 1.5
    assert (adapter.a, adapter.b) == ("w.lora_a", "w.lora_b")
    np.testing.assert_array_equal(evaluate(module, [X])[0], before)
    set_constant(module, adapter.a, A)
    set_constant(module, adapter.b, B)
    stored = W.T if adapter.is_transposed else W
    weights = merge_adapters([adapter], {adapter.a: A, adapter.b: B}, {"w": stored})
    set_constant(merged, "w", weights["w"])
    after = evaluate(module, [X])[0]
    np.testing.assert_allclose(after, evaluate(merged, [X])[0], rtol=1e-12)
    assert not np.allclose(after, before)


def test_the_result_keeps_its_name():
    module = parse(PLAIN)
    attach(module)
    function = entry_function(module)
    last = function.get_return_op()
    assert last is not None
    assert name_of_value(last.operands[0]) == "y"
    named = [name_of_value(result) for op in function.body.block.ops for result in op.results]
    assert named.count("y") == 1


def test_the_gradients_are_those_of_the_adapters_alone():
    module = parse(PLAIN)
    (adapter,) = attach(module, alpha=4)
    a = adapter.initial()[adapter.a]
    set_constant(module, adapter.b, B)
    differentiate(module, Request(wrt=[adapter.a, adapter.b], reduce="sum"))
    by_a, by_b = evaluate(module, [X])
    ones = np.ones((5, 3))
    np.testing.assert_allclose(by_a, 2 * X.T @ ones @ B.T)
    np.testing.assert_allclose(by_b, 2 * (X @ a).T @ ones)


def test_initial_values_depend_on_the_seed_and_the_name():
    one, other = (Adapter(name, (4, 3), 2, 1.0, np.dtype(np.float32)) for name in ("one", "other"))
    a = one.initial(1)["one.lora_a"]
    np.testing.assert_array_equal(a, one.initial(1)["one.lora_a"])
    assert not np.array_equal(a, one.initial(2)["one.lora_a"])
    assert not np.array_equal(a, other.initial(1)["other.lora_a"])
    assert (a.dtype, np.abs(a).max() <= 0.5) == (np.float32, True)
    assert not one.initial()["one.lora_b"].any()


def test_a_weight_of_several_products_has_one_adapter():
    square = dense(np.eye(4))
    type_ = "(tensor<5x4xf64>, tensor<4x4xf64>) -> tensor<5x4xf64>"
    body = f"""%w = onnx.Constant {square}
      %h = onnx.MatMul %x, %w : {type_}
      %y = onnx.MatMul %h, %w : {type_}"""
    module = parse(body, "tensor<5x4xf64>")
    (adapter,) = attach(module)
    a, b = A, RNG.normal(size=(2, 4))
    set_constant(module, adapter.a, a)
    set_constant(module, adapter.b, b)
    merged = np.eye(4) + a @ b
    np.testing.assert_allclose(evaluate(module, [X])[0], X @ merged @ merged)


def test_quantized_weights():
    body = """%q = onnx.Constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 1, 1]]> : tensor<4x3xi8>
      %s = onnx.Constant dense<0.5> : tensor<f32>
      %w = onnx.DequantizeLinear %q, %s : (tensor<4x3xi8>, tensor<f32>) -> tensor<4x3xf32>
      %y = onnx.MatMul %x, %w : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>"""
    module = parse(body, "tensor<5x3xf32>", "%x: tensor<5x4xf32>")
    (adapter,) = attach(module, "q")
    set_constant(module, adapter.a, A.astype(np.float32))
    set_constant(module, adapter.b, B.astype(np.float32))
    q = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 1, 1]])
    found = evaluate(module, [X.astype(np.float32)])[0]
    np.testing.assert_allclose(found, X @ (q / 2 + A @ B), rtol=1e-4)
    with pytest.raises(UsageError, match="merged weight q: given s8, expected floats"):
        merge_adapters([adapter], {adapter.a: A, adapter.b: B}, {"q": q.astype(np.int8)})


def test_half_weights_have_adapters_in_float32():
    half = PLAIN.replace("f64", "f16")
    module = parse(half, "tensor<5x3xf16>", "%x: tensor<5x4xf16>")
    (adapter,) = attach(module)
    assert adapter.dtype == np.float32
    set_constant(module, adapter.a, A.astype(np.float32))
    set_constant(module, adapter.b, B.astype(np.float32))
    found = evaluate(module, [X.astype(np.float16)])[0]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, X @ (W + A @ B), rtol=0.02, atol=0.02)
    merged = adapter.merge(W.astype(np.float16), A, B)
    assert merged.dtype == np.float16


def test_patterns_take_what_can_have_an_adapter():
    body = f"""%layer.bias = onnx.Constant {dense(np.ones(3))}
      %layer.weight = onnx.Constant {dense(W)}
      %h = onnx.MatMul %x, %layer.weight : (tensor<5x4xf64>, tensor<4x3xf64>) -> {F64}
      %y = onnx.Add %h, %layer.bias : ({F64}, tensor<3xf64>) -> {F64}"""
    assert [adapter.weight for adapter in attach(parse(body), "layer.*")] == ["layer.weight"]
    with pytest.raises(UsageError, match=r"lora: weight layer.bias: given no matrix, expected a matrix that"):
        attach(parse(body), "layer.bias")
    with pytest.raises(UsageError, match=r"no weight that can have an adapter: layer.bias \(no matrix\)"):
        attach(parse(body), "*.bias")


SQUARE = "tensor<4x4xf64>"
PRODUCT = f"({SQUARE}, {SQUARE}) -> {SQUARE}"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"%y = onnx.MatMul %w, %x : {PRODUCT}", "read by MatMul"),
        (f"%y = onnx.Neg %w : ({SQUARE}) -> {SQUARE}", "read by Neg"),
        (f"%y = onnx.Neg %x : ({SQUARE}) -> {SQUARE}", "unused"),
        (
            f"""%t = onnx.Transpose %w {{perm = [1, 0]}} : ({SQUARE}) -> {SQUARE}
            %h = onnx.MatMul %x, %w : {PRODUCT}
            %y = onnx.MatMul %h, %t : {PRODUCT}""",
            "read as it is and transposed",
        ),
    ],
)
def test_weights_without_adapters(body: str, reason: str):
    module = parse(f"%w = onnx.Constant {dense(np.eye(4))}\n{body}", SQUARE, f"%x: {SQUARE}")
    with pytest.raises(UsageError, match=f"lora: weight w: given {reason}"):
        attach(module)


@pytest.mark.parametrize(
    ("weights", "options", "message"),
    [
        (("ww",), {}, "lora: no weight has the name ww"),
        (("w",), {"rank": 4}, "rank of the adapter of w: given 4, expected at most 3"),
        (("w",), {"rank": 0}, "rank: given 0, expected 1 or more"),
    ],
)
def test_wrong_options(weights: tuple[str, ...], options: dict[str, int], message: str):
    with pytest.raises(UsageError, match=message):
        attach(parse(PLAIN), *weights, **options)


def test_adapters_are_added_once():
    module = parse(PLAIN)
    attach(module)
    with pytest.raises(UsageError, match=r"a value named w.lora_a; it seems to have adapters already"):
        attach(module)
