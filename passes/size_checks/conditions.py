"""Conditions of the source ops' verifiers on dynamic sizes.

Most are collected by running the verifier with symbolic sizes (`collect_rows`). For ops whose sizes determine
their pads, they are given here: a condition is `(op, operands, math) -> rows, sizes of the result`.
`operands` are the sizes of each data operand, and the elements of an operand that is sizes or axes.
tests/property/test_dynamic_size_errors.py and test_op_spec_checks.py compare them with the verifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Block, SSAValue

from dialects.cann.resize import ResizeBilinearV2GradOp, UpsampleBilinear2dBackwardOp
from dialects.grad.geometry import Window, axis_letters
from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
from dialects.onednn.conv_transpose_backward_data import ConvTransposeBackwardDataOp
from dialects.onednn.interpolate_backward import InterpolateBackwardOp
from dialects.onnx import ops as onnx
from dialects.support import layouts
from dialects.support.attributes import documented_attributes
from dialects.support.diagnostics import UnsupportedError, error_at
from dialects.support.documented_op import DocumentedOp
from dialects.support.shapes import Shape, element_type_of, shape_of, tensor_type
from dialects.support.size_guards import SIZE_LIMIT, collect
from passes.builder.op_builder import OpBuilder
from passes.size_checks.expressions import Expressions, UnknownSize
from passes.size_checks.rows import Row, Size, elements, equal, positive, row, vector_of

Sizes = tuple[Size, ...]
Found = tuple[list[Row], Sizes]
Condition = Callable[..., Found]


def is_vector_of_sizes(op: DocumentedOp, index: int) -> bool:
    """Return whether an operand is sizes or axes: a port that is also an attribute."""
    return op.port(index) in documented_attributes(type(op))


def _convolution(op: ConvolutionBackwardDataOp, operands: Sequence[Sizes], emit: OpBuilder) -> Found:
    problem, layout = op.problem(), op.data_format
    n, channels, *ys = layouts.reorder(operands[0], layout, "NCX")
    rows = _data_rows("diff_dst", channels, ys, problem.out_channels)
    xs: list[Size] = [x for x in problem.src if isinstance(x, int)]
    if op.has_runtime_shape:
        batch, made, *xs = layouts.reorder(operands[2], layout, "NCX")
        rows += equal("N of dst_shape", batch, n) + equal("C of dst_shape", made, problem.in_channels)
    else:
        batch = layouts.reorder(op.sources()[0].shape, layout, "NCX")[0]
        rows += equal("N of diff_src", n, batch) if isinstance(batch, int) else []
    for axis, (letter, x, y) in enumerate(zip(axis_letters(len(ys)), xs, ys, strict=True)):
        rows += positive(f"{letter} of diff_src", x) + _forward(op, axis, letter, x, y)
    return rows, layouts.reorder((n, problem.in_channels, *xs), "NCX", layout)


def _data_rows(port: str, channels: Size, spatial: Sequence[Size], wanted: int) -> list[Row]:
    rows = equal(f"C of {port}", channels, wanted)
    for letter, size in zip(axis_letters(len(spatial)), spatial, strict=True):
        rows += positive(f"{letter} of {port}", size)
    return rows


def _forward(op: ConvolutionBackwardDataOp, axis: int, letter: str, x: Size, y: Size) -> list[Row]:
    """Check that the forward convolution of X gives Y: 0 <= X + p - Ke - s (Y - 1) < s for pads p.

    Pads of the library's rule exist if Y = ceil(X / s), 0 <= X - 1 - s (Y - 1) < s. Those of the
    specification are op - e for e = X - Ke - s (Y - 1) up to op, the given output_padding, and leave op;
    there are none for a larger e. So e < s, if op is a residue at all.
    """
    window = op.problem().windows[axis]
    stride, label = window.stride, f"{letter} of diff_dst for that of diff_src"
    terms = [(1, x), (-stride, y)]
    if not op.is_same:
        pads = sum(op.explicit_pads()[axis])
        return row(label, terms, pads - window.extent + stride, stride - 1)
    if op.auto_pad_rule == "library":
        return row(label, terms, stride - 1, stride - 1)
    given = op.value("output_padding")[axis] if op.is_given("output_padding") else 0
    if given >= stride:
        return [Row(label, (), -1, 0)]
    return row(label, [(-1, x), (stride, y)], window.extent - 1, SIZE_LIMIT)


def _conv_transpose(op: ConvTransposeBackwardDataOp, operands: Sequence[Sizes], emit: OpBuilder) -> Found:
    problem, layout = op.problem(), op.data_format
    n, channels, *ys = layouts.reorder(operands[0], layout, "NCX")
    rows = _data_rows("diff_dst", channels, ys, problem.out_channels)
    pads = [0] * len(ys) if op.is_same else [sum(pair) for pair in op.explicit_pads()]
    letters = axis_letters(len(ys))
    for letter, y, window, pad in zip(letters, ys, problem.windows, pads, strict=True):
        if not op.is_same:
            rows += row(f"{letter} of diff_dst for the kernel", [(1, y)], pad - window.extent, SIZE_LIMIT)
    xs = _result_sizes(op, ys, pads, emit)
    if op.is_given("output_padding"):
        rests = _remainders(op, ys, xs, pads, emit)
        for letter, rest, given in zip(letters, rests, op.value("output_padding"), strict=True):
            rows += equal(f"{letter} of diff_dst for output_padding", rest, given)
    return rows, layouts.reorder((n, problem.in_channels, *xs), "NCX", layout)


def _result_sizes(
    op: ConvTransposeBackwardDataOp, ys: Sequence[Size], pads: Sequence[int], emit: OpBuilder
) -> Sizes:
    """Return X = (Y + p - Ke) div s + 1, or ceil(Y / s) for `same_*`."""
    windows: Sequence[Window] = op.problem().windows
    sums = [0 if op.is_same else pad - w.extent + 1 for pad, w in zip(pads, windows, strict=True)]
    strides = [window.stride for window in windows]
    if all(isinstance(y, int) for y in ys):
        rows = zip(ys, sums, strides, strict=True)
        return tuple((y + c - 1) // s + 1 for y, c, s in rows if isinstance(y, int))
    above = emit.add(vector_of(ys, emit), emit.ints([c - 1 for c in sums]))
    return elements(emit.add(emit.div(above, emit.ints(strides)), emit.ints([1])))


def _remainders(
    op: ConvTransposeBackwardDataOp, ys: Sequence[Size], xs: Sizes, pads: Sequence[int], emit: OpBuilder
) -> Sizes:
    """Return the rest of Y after the windows: Y + p - Ke - s (X - 1), or 0 if `same_*` pads."""
    windows = op.problem().windows
    steps = emit.mul(vector_of(xs, emit), emit.ints([-window.stride for window in windows]))
    rest = [pad - window.extent + window.stride for pad, window in zip(pads, windows, strict=True)]
    left = emit.add(emit.add(vector_of(ys, emit), steps), emit.ints(rest))
    return elements(emit.max(left, 0) if op.is_same else left)


def _interpolate(op: InterpolateBackwardOp, operands: Sequence[Sizes], emit: OpBuilder) -> Found:
    src, dst, *sizes = operands
    layout = op.data_format
    n = len(src) - 2
    rows = _same_batch_and_channels("diff_dst", dst, src, layout)
    spatial = layouts.spatial_axes(layout, n)
    ys, letters = [dst[axis] for axis in spatial], axis_letters(n)
    for letter, axis in zip(letters, spatial, strict=True):
        rows += positive(f"{letter} of src", src[axis]) + positive(f"{letter} of diff_dst", dst[axis])
    if op.is_given("sizes"):
        given = zip(letters, ys, op.value("sizes"), strict=True)
        rows += [found for letter, y, size in given for found in equal(f"{letter} of diff_dst", y, size)]
    elif op.is_given("scales"):
        rows += _check_scales(op, [src[axis] for axis in spatial], ys, emit)
    for letter, given, y in zip(letters, *sizes[:1], ys, strict=True) if sizes else ():
        rows += equal(f"{letter} of sizes", given, y)
    return rows, src


def _check_scales(
    op: InterpolateBackwardOp, xs: Sequence[Size], ys: Sequence[Size], emit: OpBuilder
) -> list[Row]:
    """Check that Y is X scaled, as in `scale_fits`, with the product in f32, or approximately in f64."""
    if all(isinstance(size, int) for size in (*xs, *ys)):
        return []
    emit, scales = emit, op.scales
    x, y = vector_of(xs, emit), vector_of(ys, emit)
    single = emit(onnx.MulOp(emit(onnx.CastOp(x, to=f32)), emit.constant(np.array(scales, np.float32))))
    truncated = emit(onnx.CastOp(single, to=i64))
    exact = emit(onnx.MulOp(emit(onnx.CastOp(x, to=f64)), emit.constant(np.array(scales, np.float64))))
    off = emit(onnx.AbsOp(emit(onnx.SubOp(exact, emit(onnx.CastOp(y, to=f64))))))
    least = emit(onnx.CastOp(emit.max(y, 1), to=f64))
    slack = emit(onnx.MulOp(least, emit.constant(np.array([1e-3]))))
    far = emit(onnx.CastOp(emit(onnx.GreaterOrEqualOp(off, slack)), to=i64))
    wrong = elements(emit.mul(emit.sub(truncated, y), far))
    letters = axis_letters(len(xs))
    return [r for letter, w in zip(letters, wrong, strict=True) for r in equal(f"{letter} of scales", w, 0)]


def _same_batch_and_channels(port: str, given: Sizes, other: Sizes, layout: str) -> list[Row]:
    n, c = (layouts.axis_of(layout, letter, len(given) - 2) for letter in "NC")
    rows = equal(f"N of {port}", given[n], other[n]) + equal(f"C of {port}", given[c], other[c])
    return rows + positive(f"C of {port}", given[c])


def _resize(op: ResizeBilinearV2GradOp, operands: Sequence[Sizes], emit: OpBuilder) -> Found:
    grads, image = operands
    layout = op.format
    rows = _same_batch_and_channels("grads", grads, image, layout)
    for letter, axis in zip("HW", layouts.spatial_axes(layout, 2), strict=True):
        rows += positive(f"{letter} of grads", grads[axis])
        rows += positive(f"{letter} of original_image", image[axis])
    return rows, image


def _upsample(op: UpsampleBilinear2dBackwardOp, operands: Sequence[Sizes], emit: OpBuilder) -> Found:
    (grad,), layout = operands, op.format
    batch = layouts.axis_of(layout, "N", 2)
    made = tuple(dim if isinstance(dim, int) else grad[axis] for axis, dim in enumerate(op.input_shape()))
    rows = _same_batch_and_channels("gradOut", grad, made, layout)
    declared = zip("HW", layouts.spatial_axes(layout, 2), op.outputSize, strict=True)
    for letter, axis, size in declared:
        rows += positive(f"{letter} of gradOut", grad[axis])
        rows += equal(f"{letter} of gradOut", grad[axis], size) if size >= 0 else []
    return rows, tuple(grad[batch] if axis == batch else size for axis, size in enumerate(made))


CONDITIONS: Mapping[type[DocumentedOp], Condition] = {
    ConvolutionBackwardDataOp: _convolution,
    ConvTransposeBackwardDataOp: _conv_transpose,
    InterpolateBackwardOp: _interpolate,
    ResizeBilinearV2GradOp: _resize,
    UpsampleBilinear2dBackwardOp: _upsample,
}


def collect_rows(
    op: DocumentedOp, operands: Sequence[Sizes], declared: Sequence[Shape], known: Expressions
) -> tuple[list[Row], list[tuple[Size | None, ...]]]:
    """Return the conditions of an op's verifier on sizes, and the sizes of its results, None if unknown.

    `declared` are the declared shapes of the results, as expressions if sizes are known.
    """
    copy, elements = _symbolic_copy(op, operands, declared, known)
    with collect(elements) as demands:
        types = copy.infer_result_types()
    rows: list[Row] = []
    for demand in demands.found:
        try:
            rows += known.row(demand)
        except UnknownSize:
            demands.unstated.append(demand.what)
    if demands.unstated:
        what = "cannot check run-time sizes that are not expressions of input sizes"
        raise error_at(op, what, given=", ".join(demands.unstated), kind=UnsupportedError)
    shapes = [shape_of(type_) for type_ in types if type_ is not None]
    return rows, [tuple(map(known.size, shape)) for shape in shapes]


def _symbolic_copy(
    op: DocumentedOp, operands: Sequence[Sizes], declared: Sequence[Shape], known: Expressions
) -> tuple[DocumentedOp, dict[SSAValue, Shape]]:
    """Return a copy of the op with symbolic sizes, and the elements of operands that are sizes."""
    elements: dict[SSAValue, Shape] = {}
    block, values = Block(), list[SSAValue]()
    for index, (value, sizes) in enumerate(zip(op.operands, operands, strict=True)):
        symbols = tuple(map(known.form, sizes))
        if is_vector_of_sizes(op, index):
            elements[value] = symbols
            values.append(value)
        else:
            type_ = tensor_type(element_type_of(value), symbols)
            values.append(block.insert_arg(type_, len(block.args)))
    results = zip(op.results, declared, strict=True)
    copy = type(op).create(
        operands=values,
        result_types=[tensor_type(element_type_of(result), shape) for result, shape in results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    copy.location = op.location
    return copy, elements
