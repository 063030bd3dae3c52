"""Faults of the VJP rules of products, reductions, softmaxes, norms and losses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.faults.fault import Patch, fault, in_rule
from support.faults.moved import rolled

from dialects.onnx import ops as onnx
from passes.autodiff.common.primal import ZERO
from passes.autodiff.rules import losses, norm, reduce, softmaxes
from passes.builder.values import Value


@in_rule("Softmax", "encoder", "masked", "einsums", "mobilenet", "half", "open_sizes", "causal")
def sum_in_softmax_forgotten(f, found, g, e):
    return [(g[0] * f.y).cast(f.x.dtype)]


@in_rule("Softmax", "encoder", "masked", "einsums", "open_sizes", "half")
def softmax_over_the_wrong_axis(f, found, g, e):
    axis = f.value("axis", -1) % f.y.rank
    other = axis - 1 if axis else 1
    return [f.y * (g[0] - (g[0] * f.y).sum_axes([other], keepdims=1))]


@in_rule("Softmax", "encoder", "causal", "masked")
def softmax_one_per_cent_off(f, found, g, e):
    return [found[0] * 1.01]


@in_rule("LogSoftmax", "densenet")
def sum_in_log_softmax_forgotten(f, found, g, e):
    return [g[0] * 1.0]


@in_rule("LogSoftmax", "densenet")
def log_softmax_by_its_result(f, found, g, e):
    return [g[0] - f.y * g[0].sum_axes([f.y.rank - 1], keepdims=1)]


@fault("LayerNormalization|InstanceNormalization|Div|Sub", "encoder", "grouped")
def mean_of_the_cotangent_forgotten(patch: Patch) -> None:
    right = norm.Normalized.gradient
    patch.setattr(norm.Normalized, "gradient", lambda self, g: right(replace(self, less_mean=False), g))


@fault("LayerNormalization|InstanceNormalization|RMSNormalization", "encoder", "grouped", "attention_op")
def variance_in_norms_forgotten(patch: Patch) -> None:
    def gradient(self, g):
        return self.r * (g - norm.mean_of(g, self.axes) if self.less_mean else g)

    patch.setattr(norm.Normalized, "gradient", gradient)


@fault("LayerNormalization|InstanceNormalization|RMSNormalization", "encoder", "grouped", "attention_op")
def deviation_in_norms_forgotten(patch: Patch) -> None:
    def gradient(self, g):
        along = norm.mean_of(g * self.value, self.axes)
        return (g - norm.mean_of(g, self.axes) if self.less_mean else g) - self.value * along

    patch.setattr(norm.Normalized, "gradient", gradient)


@fault("LayerNormalization|RMSNormalization", "encoder", "attention_op")
def scale_of_norms_forgotten(patch: Patch) -> None:
    patch.setattr(norm, "_scale", lambda f, like: None)


@in_rule("LayerNormalization", "encoder")
def shift_of_a_norm_by_the_operand(f, found, g, e):
    return [*found[:2], g[0] * f.x]


@in_rule("BatchNormalization", "densenet")
def deviation_in_the_scale_s_gradient_forgotten(f, found, g, e):
    variance = f.operand(4)
    return [found[0], found[1] * (variance + 1e-5).sqrt(), *found[2:]]


@in_rule("BatchNormalization", "densenet")
def mean_in_the_scale_s_gradient_forgotten(f, found, g, e):
    deviation = (f.operand(4) + 1e-5).sqrt()
    return [found[0], (g[0] * f.x).sum_axes([0, 2, 3]) / deviation, *found[2:]]


@in_rule("BatchNormalization", "normalized_in_training", where=lambda f: bool(f.value("training_mode", 0)))
def statistics_taken_for_constants(f, found, g, e):
    mean = f.x.apply(onnx.ReduceMeanOp, e.ints([0, 2, 3]), keepdims=1)
    variance = (f.x - mean).square().apply(onnx.ReduceMeanOp, e.ints([0, 2, 3]), keepdims=1)
    scale = norm.per_channel(f.operand(1), 1, f.x.rank)
    return [g[0] * scale / (variance + 1e-5).sqrt(), *found[1:]]


@in_rule("InstanceNormalization", "grouped")
def mean_for_sum_in_a_scale_s_gradient(f, found, g, e):
    return [found[0], found[1] * 0.5, *found[2:]]


@in_rule("LRN", "normalized_in_training")
def neighbours_in_lrn_forgotten(f, found, g, e):
    return [g[0] * f.y / f.x]


@in_rule(
    "ReduceMean",
    "masked",
    "causal",
    "open_sizes",
    "mobilenet",
    "reduced",
    blamed="ReduceMean|GlobalAveragePool",
)
def count_in_reduce_mean_forgotten(f, found, g, e):
    return [reduce.broadcast_back(g[0], f), *found[1:]]


@in_rule("ReduceSum", "moved", "open_sizes")
def mean_for_sum(f, found, g, e):
    return [found[0] * 0.5, *found[1:]]


@in_rule("ReduceMax", "ranked")
def maximum_gives_to_all(f, found, g, e):
    return [reduce.broadcast_back(g[0], f), ZERO]


@in_rule("ReduceMin", "reduced")
def minimum_one_place_off(f, found, g, e):
    return [rolled(found[0], 1), ZERO]


@in_rule("ReduceL1", "reduced")
def sign_in_an_l1_norm_forgotten(f, found, g, e):
    return [reduce.broadcast_back(g[0], f), ZERO]


@in_rule("ReduceL2", "reduced", "divided")
def l2_norm_not_divided(f, found, g, e):
    return [reduce.restore_axes(g[0], f) * f.x, ZERO]


@in_rule("ReduceProd", "reduced")
def product_of_all(f, found, g, e):
    return [reduce.broadcast_back(g[0] * f.y, f), ZERO]


@in_rule("ReduceLogSumExp", "reduced")
def log_sum_exp_shared_evenly(f, found, g, e):
    return [reduce.broadcast_back(g[0], f) * (1 / 3), ZERO]


@in_rule("ReduceSumSquare", "reduced", "siamese", blamed="ReduceSumSquare|ReduceL2")
def factor_two_forgotten(f, found, g, e):
    return [found[0] * 0.5, ZERO]


@in_rule("ReduceLogSum", "mixed")
def logarithm_of_a_sum_not_divided(f, found, g, e):
    return [reduce.broadcast_back(g[0], f), ZERO]


@in_rule("CumSum", "ranked")
def cumulative_sum_from_the_same_end(f, found, g, e):
    return [g[0].apply(onnx.CumSumOp, f.operand(1), exclusive=1), ZERO]


@in_rule("CumSum", "ranked")
def exclusive_forgotten(f, found, g, e):
    return [g[0].apply(onnx.CumSumOp, f.operand(1), reverse=1), ZERO]


@in_rule("MatMul", "encoder", "mlp", "mlp_twice", "scan", "loop", "causal", blamed="MatMul|Scan|Loop")
def gradient_by_the_right_one_per_cent_off(f, found, g, e):
    return [found[0], found[1] * 1.01 if isinstance(found[1], Value) else found[1]]


@in_rule("MatMul", "encoder", "mlp", "causal")
def last_row_of_a_weight_s_gradient_lost(f, found, g, e):
    if not isinstance(found[1], Value) or found[1].rank != 2:
        return found
    mask = np.ones((found[1].shape[0], 1), np.float32)
    mask[-1] = 0
    return [found[0], found[1] * e(e.emit.constant(mask))]


@in_rule("Gemm", "resnet")
def bias_of_gemm_twice(f, found, g, e):
    return [*found[:2], found[2] * 2.0 if isinstance(found[2], Value) else found[2]]


@in_rule("Gemm", "resnet", "physics")
def rows_of_gemm_one_off(f, found, g, e):
    return [rolled(found[0], 1) if isinstance(found[0], Value) else found[0], *found[1:]]


@in_rule("Einsum", "einsums")
def second_operand_of_einsum_forgotten(f, found, g, e):
    return [found[0], ZERO]


@fault("SoftmaxCrossEntropyLoss", "causal")
def mean_of_a_loss_not_divided(patch: Patch) -> None:
    patch.setattr(losses, "_share", lambda f, g, weighted: g)


@fault("SoftmaxCrossEntropyLoss", "causal")
def labels_one_off(patch: Patch) -> None:
    right = losses._of_logarithms

    def wrong(f, labels, g):
        found = right(f, labels, g)
        return replace(found, indices=rolled(found.indices, 0))

    patch.setattr(losses, "_of_logarithms", wrong)


@fault("Softmax", "causal")
def product_in_attention_by_the_wrong_value(patch: Patch) -> None:
    """The quick form of the sums in a Softmax before a product reads the cotangent one column off."""
    right = softmaxes._product_of

    def wrong(y, cotangent):
        found = right(y, cotangent)
        return None if found is None else rolled(found, found.rank - 1) * 1.02

    patch.setattr(softmaxes, "_product_of", wrong)
