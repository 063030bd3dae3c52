"""Faults of the VJP rules of ops that work element by element."""

from __future__ import annotations

import math

import numpy as np
from support.faults.fault import Patch, fault, in_rule, named
from xdsl.dialects.builtin import bf16, f16, f64

from dialects.onnx import ops as onnx
from passes.autodiff import preaccumulation, vjp
from passes.autodiff.common.primal import ZERO
from passes.builder.values import Value


@in_rule("Sub", "siamese", "masked")
def sign_of_the_second_operand(f, found, g, e):
    return [found[0], g[0]]


@in_rule("Tanh", "mlp", "mlp_twice", "conv_twice", "einsums", "moved", "deep")
def tanh_without_a_square(f, found, g, e):
    return [g[0] * (1 - f.y)]


@in_rule("Tanh", "deep", where=named("layer37"))
def one_per_cent_in_one_of_sixty(f, found, g, e):
    return [found[0] * 1.01]


@in_rule("Tanh", "deep", where=named("layer5"))
def a_thousandth_in_one_of_sixty(f, found, g, e):
    return [found[0] * 1.001]


@in_rule("Tanh", "mlp", "deep", "mlp_twice")
def tanh_off_where_it_is_large(f, found, g, e):
    return [found[0] * ((f.x.abs() > 1.2).cast(f.x.dtype) * 0.05 + 1)]


@in_rule("Tanh", "deep", where=named("layer20"))
def sign_of_one_column_in_one_of_sixty(f, found, g, e):
    return [found[0] * e(e.emit.constant(np.array([1, 1, 1, 1, 1, -1], np.float32)))]


@in_rule("Sigmoid", "mlp", "mlp_twice", "physics", "causal", "loop", blamed="Sigmoid|Mul|Loop")
def sigmoid_without_its_rest(f, found, g, e):
    return [g[0] * f.y]


@in_rule("Relu", "resnet", "densenet", "physics", "unet", blamed="Relu")
def relu_mask_shifted(f, found, g, e):
    return [e.keep(g[0], f.x > -0.1)]


@in_rule("Relu", "resnet", "physics", where=lambda f: f.y.rank in (2, 4))
def relu_one_per_cent_off(f, found, g, e):
    return [found[0] * 1.01]


@in_rule("Relu", "at_a_kink", convention="the derivative of ReLU at 0")
def relu_passes_on_at_zero(f, found, g, e):
    return [e.keep(g[0], f.x >= 0)]


@in_rule("Clip", "mobilenet")
def bounds_of_clip_ignored(f, found, g, e):
    return [g[0], *found[1:]]


@in_rule("Clip", "mobilenet")
def upper_bound_of_clip_ignored(f, found, g, e):
    return [e.keep(g[0], f.x > 0), *found[1:]]


@in_rule("LeakyRelu", "dilated")
def slope_of_leaky_relu_forgotten(f, found, g, e):
    return [e.keep(g[0], f.x > 0)]


@in_rule("PRelu", "dilated")
def prelu_slope_on_the_wrong_side(f, found, g, e):
    slope = f.operand(1)
    return [e.keep(g[0], f.x <= 0) + g[0] * slope * (f.x > 0).cast(f.x.dtype), found[1]]


@in_rule("Elu", "dilated")
def elu_without_its_exponential(f, found, g, e):
    return [g[0] * 1.05]


@in_rule("HardSwish", "grouped", blamed="HardSwish|HardSigmoid|Mul")
def hard_swish_as_its_gate(f, found, g, e):
    return [g[0] * f.x.apply(onnx.HardSigmoidOp, alpha=1 / 6, beta=0.5)]


@in_rule("HardSigmoid", "grouped")
def factor_of_hard_sigmoid_forgotten(f, found, g, e):
    return [found[0] * 5.0]


@in_rule("Gelu", "attention_op")
def gelu_without_its_density(f, found, g, e):
    s = (f.x.square() * 0.0713548 + 1.5957691) * f.x
    return [g[0] * s.sigmoid()]


@in_rule("Erf", "encoder", blamed="Erf|Mul|Gelu")
def factor_of_erf(f, found, g, e):
    return [found[0] * math.sqrt(0.5)]


@in_rule("Mul", "mlp", "mlp_twice", "causal", where=lambda f: f.operands[0].shape == f.operands[1].shape)
def operands_of_mul_swapped(f, found, g, e):
    return found[::-1]


@in_rule("Mul", "open_sizes", "mlp", "grouped", "physics", "causal")
def second_operand_of_mul_forgotten(f, found, g, e):
    return [found[0], ZERO]


@in_rule("Div", "siamese", "divided", "masked")
def second_operand_of_div_forgotten(f, found, g, e):
    return [found[0], ZERO]


@in_rule("Div", "siamese", "divided", "masked")
def square_in_div_forgotten(f, found, g, e):
    return [found[0], -(g[0] * f.y)]


@in_rule("Pow", "divided", blamed="Pow|Mul")
def logarithm_in_pow_forgotten(f, found, g, e):
    return [found[0], g[0] * f.y]


@in_rule("Pow", "divided", "causal", "masked", blamed="Pow|Mul")
def exponent_of_pow_forgotten(f, found, g, e):
    exponent = f.operand(1)
    return [found[0] / exponent, *found[1:]]


@in_rule("Sqrt", "siamese", "masked", "causal", blamed="Sqrt|Mul|Div|ReduceL2")
def half_in_sqrt_forgotten(f, found, g, e):
    return [found[0] * 2.0]


@in_rule("Log", "divided")
def log_multiplies(f, found, g, e):
    return [g[0] * f.x]


@in_rule("Exp", "scan", "sampled", "ranked", "physics")
def exp_without_its_result(f, found, g, e):
    return [g[0] * 1.0]


@in_rule("Sin", "moved", "physics", "rnn", "loop", "branches")
def sine_for_cosine(f, found, g, e):
    return [g[0] * f.y]


@in_rule("Reciprocal", "divided", "causal", blamed="Reciprocal|Mul|Div")
def sign_of_reciprocal(f, found, g, e):
    return [g[0] * f.y.square()]


@in_rule("Atan", "divided")
def one_in_atan_forgotten(f, found, g, e):
    return [g[0] / (f.x.square() + 0.99)]


@in_rule("Softplus", "mlp", "mlp_twice", "conv_twice", "normalized_in_training")
def softplus_by_tanh(f, found, g, e):
    return [g[0] * f.x.tanh()]


@in_rule("Where", "sampled", "branches")
def branches_of_where_swapped(f, found, g, e):
    return [found[0], e.keep(g[0], f.x.apply(onnx.NotOp)), e.keep(g[0], f.x)]


@in_rule("Where", "branches")
def second_branch_of_where_passes_all(f, found, g, e):
    return [found[0], found[1], g[0]]


@in_rule("Max", "siamese")
def max_gives_to_all(f, found, g, e):
    return [g[0]] * len(f.operands)


@in_rule("Mean", "reduced")
def count_in_mean_forgotten(f, found, g, e):
    return [g[0]] * len(f.operands)


@in_rule("Add", "resnet", "encoder", "unet", "causal", "deep", "mobilenet")
def first_operand_of_add_forgotten(f, found, g, e):
    wide = f.operands[0].rank == f.operands[1].rank
    return [ZERO, found[1]] if wide else found


@in_rule("Neg", "divided")
def neg_without_a_sign(f, found, g, e):
    return [g[0]]


@in_rule("Cast", "mixed", where=lambda f: f.y.dtype == f64)
def cast_through_bfloat16(f, found, g, e):
    return [g[0].cast(bf16).cast(f.x.dtype)]


@in_rule("MatMul", "mlp", "encoder", "causal", "loop", blamed="MatMul|Loop")
def product_rounded_to_half(f, found, g, e):
    return [one.cast(f16).cast(g[0].dtype) if isinstance(one, Value) else one for one in found]


@fault("Mul|Sigmoid", "causal", "encoder")
def preaccumulated_way_lost(patch: Patch) -> None:
    """Of two ways from the source of a pointwise subgraph only one counts."""
    patch.setattr(preaccumulation, "_sum", lambda a, b: a)


@fault("Mul|Sigmoid", "causal", "encoder")
def preaccumulated_number_off(patch: Patch) -> None:
    """Numbers that multiply a pointwise derivative are one per cent off."""
    right = vjp.Sources.subgraph_ending_at

    def wrong(self, op):
        found = right(self, op)
        return None if found is None else _OffByOnePerCent(found.source, found.ops)

    patch.setattr(vjp.Sources, "subgraph_ending_at", wrong)


class _OffByOnePerCent(preaccumulation.ElementwiseSubgraph):
    def derivative(self, e):
        found = super().derivative(e)
        return found * 1.01
