"""Faults of the VJP rules of convolutions, pools, resampling, and ops that move elements."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from support.faults.fault import Patch, fault, in_rule
from support.faults.moved import late, reversed_, rolled

from dialects.grad.geometry import ConvAxis
from dialects.onnx import ops as onnx
from passes.autodiff import vjp
from passes.autodiff.common.dynamic_axes import reshape_as
from passes.autodiff.common.primal import ZERO
from passes.autodiff.rules import conv, pool, shape
from passes.builder.values import Value
from passes.decompositions.registry import Reason, table_of


def _shifted(convolution: conv.Convolution) -> conv.Convolution:
    """With one more position of padding at the beginning and one less at the end, where there is any."""
    moved = [min(axis.pad_end, 1) for axis in convolution.axes]
    pairs = zip(convolution.axes, moved, strict=True)
    axes = [ConvAxis(axis.window, axis.pad_begin + by, axis.pad_end - by) for axis, by in pairs]
    return replace(convolution, axes=axes)


@fault("Conv", "resnet", "unet", "densenet", "grouped", "mobilenet", "quantized")
def pad_of_a_convolution_off_by_data(patch: Patch) -> None:
    right = conv.Convolution.by_image
    patch.setattr(conv.Convolution, "by_image", lambda self, g, w, x: right(_shifted(self), g, w, x))


@fault("Conv", "resnet", "mobilenet", "unet", "grouped", "quantized")
def pad_of_a_convolution_off_by_weights(patch: Patch) -> None:
    right = conv.Convolution.by_weights
    patch.setattr(conv.Convolution, "by_weights", lambda self, x, g, w: right(_shifted(self), x, g, w))


@in_rule("Conv", "dilated", where=lambda f: list(f.value("strides") or []) == [2, 3])
def path_of_some_strides_wrong(f, found, g, e):
    return [rolled(found[0], 3) if isinstance(found[0], Value) else found[0], *found[1:]]


@in_rule("Conv", "mobilenet", where=lambda f: f.value("group", 1) > 1)
def channels_of_groups_one_off(f, found, g, e):
    return [rolled(found[0], 1), *found[1:]]


@in_rule("Conv", "resnet", where=lambda f: f.operand(1).shape == (8, 8, 3, 3))
def one_convolution_one_per_cent_off(f, found, g, e):
    return [one * 1.01 if isinstance(one, Value) else one for one in found]


@in_rule("ConvTranspose", "unet")
def transposed_convolution_by_a_neighbour(f, found, g, e):
    return [rolled(found[0], 2), *found[1:]]


@in_rule("ConvTranspose", "unet")
def weights_of_a_transposed_convolution_mirrored(f, found, g, e):
    return [found[0], reversed_(found[1], 2), *found[2:]]


@fault("ConvTranspose|Conv", "unet")
def mean_for_sum_in_a_bias(patch: Patch) -> None:
    right = conv._by_bias

    def wrong(f, g):
        found = right(f, g)
        return found * (1 / 64) if isinstance(found, Value) else found

    patch.setattr(conv, "_by_bias", wrong)


@in_rule("MaxPool", "resnet")
def maximum_one_place_off(f, found, g, e):
    return [late(found[0], 3)]


@in_rule("GlobalMaxPool", "dilated")
def global_maximum_one_place_off(f, found, g, e):
    return [rolled(found[0], 3)]


@in_rule(
    "GlobalAveragePool", "resnet", "densenet", "grouped", "quantized", blamed="GlobalAveragePool|ReduceMean"
)
def count_in_a_global_pool_forgotten(f, found, g, e):
    return [g[0].apply(onnx.ExpandOp, e.shape(f.x))]


@fault("AveragePool", "grouped")
def windows_at_the_border_count_pads(patch: Patch) -> None:
    patch.setattr(pool, "_rescale_divisors", lambda f, g, axes, sides, e: g)


@in_rule("AveragePool", "densenet", "grouped")
def mean_of_a_pool_one_column_off(f, found, g, e):
    return [rolled(found[0], 3)]


@in_rule("LpPool", "dilated")
def norm_of_a_pool_not_divided(f, found, g, e):
    return [found[0] * 2.0]


@in_rule("Resize", "unet")
def resize_one_row_off(f, found, g, e):
    return [rolled(found[0], 2), *found[1:]]


@in_rule("Resize", "unet")
def resize_as_nearest(f, found, g, e):
    n, c, h, w = f.x.shape
    split = g[0].apply(onnx.ReshapeOp, e.ints([n, c, h, 2, w, 2]))
    return [split.apply(onnx.ReduceSumOp, e.ints([3, 5]), keepdims=0), *found[1:]]


def _in_body(patch: Patch, op: str, change) -> None:
    """The rule of an op with a body: what the walk gives for it is changed."""
    right = vjp.by_decomposition(table_of(Reason.GRADIENT)[op])
    rules = {**vjp.RULES, op: lambda f, g, e: change(f, list(right(f, g, e)), g, e)}
    patch.setattr(vjp, "RULES", MappingProxyType(rules))


@fault("GridSample", "sampled")
def grid_of_a_sample_by_corners(patch: Patch) -> None:
    def change(f, found, g, e):
        return [found[0], found[1] * (5 / 6)]

    _in_body(patch, "GridSample", change)


@fault("GridSample", "sampled")
def coordinates_of_a_grid_swapped(patch: Patch) -> None:
    _in_body(patch, "GridSample", lambda f, found, g, e: [found[0], rolled(found[1], 3)])


@fault("Attention", "attention_op")
def scale_of_attention_off(patch: Patch) -> None:
    def change(f, found, g, e):
        return [found[0] * 1.01, *found[1:]]

    _in_body(patch, "Attention", change)


@fault("Attention", "attention_op")
def keys_and_values_of_attention_swapped(patch: Patch) -> None:
    def change(f, found, g, e):
        return [found[0], found[2], found[1], *found[3:]]

    _in_body(patch, "Attention", change)


# Ops that move elements


@in_rule("Concat", "physics", where=lambda f: len({x.shape for x in f.operands}) == 1)
def parts_of_concat_swapped(f, found, g, e):
    return found[::-1]


@in_rule("Concat", "densenet", "unet")
def first_part_of_concat_forgotten(f, found, g, e):
    return [ZERO, *found[1:]]


@in_rule("Split", "moved", "physics")
def parts_of_split_swapped(f, found, g, e):
    axis = f.value("axis", 0)
    parts = [g[i].value for i in reversed(range(len(g)))]
    return [e(e.emit(onnx.ConcatOp(parts, axis=axis))).assume_shape(f.x.shape), *found[1:]]


@in_rule("Transpose", "encoder", "masked", "grouped", "open_sizes", "lstm", "divided", "moved", "turned")
def transpose_as_reshape(f, found, g, e):
    return [reshape_as(g[0], f.x)]


@in_rule("Transpose", "turned")
def transpose_not_inverted(f, found, g, e):
    return [g[0].apply(onnx.TransposeOp, perm=f.value("perm"))]


@in_rule("Pad", "moved")
def pad_one_off(f, found, g, e):
    return [rolled(found[0], 3), *found[1:]]


@in_rule("Pad", "moved", where=lambda f: f.value("mode", "constant") == "reflect")
def reflections_forgotten(f, found, g, e):
    cropped = shape._pad_gradient(replace(f, attributes={}), g[0], range(f.x.rank))
    return [cropped, *found[1:]]


@in_rule("Slice", "moved")
def slice_one_off(f, found, g, e):
    return [rolled(found[0], 2), *found[1:]]


@in_rule("Slice", "moved")
def negative_step_of_slice_ignored(f, found, g, e):
    return [reversed_(found[0], 3), *found[1:]]


@in_rule("Tile", "moved")
def repeats_of_tile_averaged(f, found, g, e):
    return [found[0] * 0.5, ZERO]


@in_rule("Gather", "encoder", "causal")
def gather_one_row_off(f, found, g, e):
    return [rolled(found[0], 0), ZERO]


@in_rule("Gather", "encoder", "causal")
def gather_writes_over(f, found, g, e):
    places = f.operand(1).as_int64().apply(onnx.UnsqueezeOp, e.ints([2]))
    return [e.fill_like(0, f.x).apply(onnx.ScatterNDOp, places, g[0]), ZERO]


@in_rule("GatherElements", "ranked")
def gather_elements_writes_over(f, found, g, e):
    axis = f.value("axis", 0)
    return [e.fill_like(0, f.x).apply(onnx.ScatterElementsOp, f.operand(1), g[0], axis=axis), ZERO]


@in_rule("ScatterElements", "ranked")
def what_was_overwritten_counts(f, found, g, e):
    return [g[0], *found[1:]]


@in_rule("ScatterND", "ranked")
def updates_one_row_off(f, found, g, e):
    return [found[0], found[1], rolled(found[2], 0)]


@in_rule("TopK", "ranked")
def top_k_one_place_off(f, found, g, e):
    return [rolled(found[0], 1), ZERO]


@in_rule("Expand", "turned")
def expand_one_place_off(f, found, g, e):
    return [rolled(g[0], 1), ZERO]


@in_rule("SpaceToDepth", "turned")
def blocks_in_the_other_order(f, found, g, e):
    return [g[0].apply(onnx.DepthToSpaceOp, blocksize=2, mode="CRD")]


@in_rule("Reshape", "turned", where=lambda f: f.x.rank == 3)
def reshape_one_place_off(f, found, g, e):
    return [rolled(found[0], 2), ZERO]
