"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from xdsl.dialects.builtin import f64

from dialects.onnx import ops as onnx
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.promotion import BOOL, category, is_float


def product(first: str, second: str) -> Rule:
    """Return the rule of a matrix product of two arguments."""
    return lambda f, e: getattr(f, first) @ getattr(f, second)


def addmm(f: Call, e: Builder) -> Value:
    """beta * self + alpha * mat1 @ mat2."""
    exact = f.dtype != f64 or all(float(np.float32(factor)) == factor for factor in (f.alpha, f.beta))
    if is_float(f.dtype) and f.beta != 0 and exact:  # Gemm's factors are float32
        return f.mat1.apply(onnx.GemmOp, f.mat2, f.self, alpha=float(f.alpha), beta=float(f.beta))
    return _multiply_add(f, f.mat1 @ f.mat2)


def _multiply_add(f: Call, product: Value) -> Value:
    """Return beta * self + alpha * product; with beta = 0, NaN in self does not matter.

    Factors of integers are rounded towards zero.
    """
    alpha, beta = (factor if is_float(f.dtype) else int(factor) for factor in (f.alpha, f.beta))
    scaled = product if alpha == 1 else product * f.number(alpha, f.dtype)
    if beta == 0:
        return scaled
    return (f.self if beta == 1 else f.self * f.number(beta, f.dtype)) + scaled


def baddbmm(f: Call, e: Builder) -> Value:
    return _multiply_add(f, f.batch1 @ f.batch2)


def addbmm(f: Call, e: Builder) -> Value:
    """beta * self + alpha * the sum of the products of a batch."""
    return _multiply_add(f, (f.batch1 @ f.batch2).sum_axes([0]))


def addmv(f: Call, e: Builder) -> Value:
    return _multiply_add(f, f.mat @ f.vec)


def addr(f: Call, e: Builder) -> Value:
    if category(f.dtype) == BOOL:
        raise f.refusal("addr of booleans", hint="use vec1[:, None] & vec2")
    return _multiply_add(f, f.vec1.unsqueeze([1]) * f.vec2)


def outer(f: Call, e: Builder) -> Value:
    return f.self.cast(f.dtype).unsqueeze([1]) * f.vec2.cast(f.dtype)


def linear(f: Call, e: Builder) -> Value:
    weight = f.weight.swap_last_axes() if f.weight.rank > 1 else f.weight
    product = f.input @ weight
    return product + f.bias if f.has("bias") else product


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "mm.default": product("self", "mat2"),
        "bmm.default": product("self", "mat2"),
        "mv.default": product("self", "vec"),
        "dot.default": product("self", "tensor"),
        "vdot.default": product("self", "other"),
        "matmul.default": product("self", "other"),
        "linear.default": linear,
        "addmm.default": addmm,
        "addbmm.default": addbmm,
        "baddbmm.default": baddbmm,
        "addmv.default": addmv,
        "addr.default": addr,
        "outer.default": outer,
    }
)
