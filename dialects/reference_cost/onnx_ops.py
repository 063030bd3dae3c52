"""Time and memory of the numpy kernels, from shapes and, where needed, values.

An unknown size counts as one, so the estimate for a dynamic graph is below the cost of a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from dialects.onnx import traits
from dialects.onnx.call import Call, axes_of
from dialects.onnx.dims import ints
from dialects.onnx.infer.spatial import window, with_explicit_pads
from dialects.onnx.recurrence import GATES
from dialects.reference_cost.account import LEAST, PYTHON, Work
from dialects.support.columns import block_size
from dialects.support.shapes import Dim, Shape, static
from dialects.support.taps import PER_READ, PER_STACK

WIDE = 8
"""Bytes of a float64."""

Results = Sequence[Shape | None]


def size(shape: Iterable[Dim]) -> int:
    return math.prod(dim for dim in shape if isinstance(dim, int))


def work(call: Call, results: Results) -> Work:
    """Return the cost of an op. Raises UnknownRank if the cost depends on an unknown rank."""
    given = sum(size(tensor.shape) for tensor in call.operands if tensor is not None)
    made = sum(size(shape) for shape in results if shape is not None)
    base = Work(given + made + LEAST, WIDE * (given + _TEMPORARIES.get(call.name, 3) * made))
    more = _MORE.get(call.name)
    if more is None or not _is_static(call, results):
        return base
    extra = more(call, results)
    return Work(base.reads + extra.reads, base.bytes + extra.bytes)


def _is_static(call: Call, results: Results) -> bool:
    shapes = [*results, *(None if tensor is None else tensor.shape for tensor in call.operands)]
    return all(static(shape) is not None for shape in shapes if shape is not None)


_TEMPORARIES: Mapping[str, int] = {
    **dict.fromkeys(traits.MOVES | traits.VIEWS, 1),
    **dict.fromkeys(traits.ARITHMETIC - {"PRelu", "Pow", "Div", "Mod"}, 1),
    **dict.fromkeys(traits.REDUCTIONS, 3),
    "Constant": 0,
    "MatMul": 1,
    "Conv": 2,
    "ConvTranspose": 2,
    "Resize": 1,
    "RotaryEmbedding": 5,
}
"""Peak number of float64 arrays as large as the results; by default three."""


def _shape(call: Call, index: int) -> Shape:
    tensor = call.optional(index)
    return () if tensor is None else tensor.shape


def _elements(call: Call, index: int) -> int:
    tensor = call.optional(index)
    return 0 if tensor is None else size(tensor.shape)


def _kernel(call: Call, index: int) -> Shape:
    if call.name in ("Conv", "ConvInteger", "ConvTranspose", "DeformConv", "QLinearConv"):
        return _shape(call, index)[2:]
    return tuple(call.attribute("kernel_shape", ()))


def _with_pads(call: Call, kernel: Shape) -> int:
    """Return the element count of the first operand with its pads."""
    shape = _shape(call, 0)
    view = window(call, kernel)
    sizes = static(shape[2:])
    if sizes is not None and None not in view.kernel:
        view = with_explicit_pads(view, sizes)
    spatial = [dim + view.pads(i) if isinstance(dim, int) else None for i, dim in enumerate(shape[2:])]
    return size((*shape[:2], *spatial))


def _taps(kernel: Shape, elements: int) -> int:
    """Return the reads for `elements` elements, tap by tap."""
    return size(kernel) * max(elements, LEAST)


def _conv(weights: int) -> Callable[[Call, Results], Work]:
    def more(call: Call, results: Results) -> Work:
        kernel = _kernel(call, weights)
        batch, group = size(_shape(call, 0)[:1]), call.attribute("group", 1)
        made = size(results[0] or ())
        read = size((*_shape(call, 0)[:2], *(results[0] or ())[2:]))  # elements that one tap reads
        stacks = batch * group * PER_STACK
        products = made * size(_shape(call, weights)[1:2]) // PER_READ
        reads = _taps(kernel, max(made, read, stacks) + products)
        block = block_size(_elements(call, weights), size(kernel) * read + made)
        return Work(
            reads, WIDE * (_with_pads(call, kernel) + max(read, block) + 2 * _elements(call, weights))
        )

    return more


def _conv_transpose(call: Call, results: Results) -> Work:
    kernel, data = _kernel(call, 1), _elements(call, 0)
    group = call.attribute("group", 1)
    part = size((*_shape(call, 0)[:1], *_shape(call, 1)[1:2], *_shape(call, 0)[2:])) * group
    stacks = size(_shape(call, 0)[:1]) * group * PER_STACK
    products = part * size(_shape(call, 0)[1:2]) // group // PER_READ
    reads = _taps(kernel, max(data, part, stacks) + products)
    block = block_size(_elements(call, 1), size(kernel) * part + data)
    return Work(reads, WIDE * (data + max(part, block) + 2 * _elements(call, 1)))


def _pool(call: Call, results: Results) -> Work:
    kernel = _kernel(call, 0)
    padded = _with_pads(call, kernel) if call.name == "AveragePool" else 0
    return Work(4 * _taps(kernel, size(results[0] or ())), WIDE * (padded + size(results[0] or ())))


def _col2im(call: Call, results: Results) -> Work:
    block = ints(call.operand(2).dims)
    if block is None:
        return Work()
    shape = results[0] or ()
    view = window(call, block)
    whole = [dim + view.pads(i) if isinstance(dim, int) else None for i, dim in enumerate(shape[2:])]
    taken = size(block) or 1
    return Work(_taps(tuple(block), _elements(call, 0) // taken), WIDE * size((*shape[:2], *whole)))


def _products(common: Callable[[Call], int], per_read: int = PER_READ) -> Callable[[Call, Results], Work]:
    def more(call: Call, results: Results) -> Work:
        made = results[0] or ()
        return Work(size(made) * common(call) // per_read + size(made[:-2]) * PER_STACK)

    return more


def _last(call: Call) -> int:
    return size(_shape(call, 0)[-1:])


def _of_gemm(call: Call) -> int:
    shape = _shape(call, 0)
    return size(shape[:1] if call.attribute("transA", 0) else shape[1:])


def _einsum(call: Call, results: Results) -> Work:
    """Count one step per combination of label positions: all operands are contracted at once."""
    labels: dict[str, int] = {}
    rest = 1
    terms = call.attribute("equation").replace(" ", "").partition("->")[0].split(",")
    for term, operand in zip(terms, call.operands, strict=False):
        shape = () if operand is None else operand.shape
        before, dots, after = term.partition("...")
        named = [*zip(before, shape, strict=False), *zip(after[::-1], shape[::-1], strict=False)]
        labels |= {label: max(labels.get(label, 1), size([dim])) for label, dim in named}
        if dots:
            rest = max(rest, size(shape[len(before) : len(shape) - len(after)]))
    return Work(rest * math.prod(labels.values()))


def _recurrent(call: Call, results: Results) -> Work:
    steps, batch = _shape(call, 0)[:2] if not call.attribute("layout", 0) else _shape(call, 0)[1::-1]
    directions, gates, inputs = (*_shape(call, 1), 1, 1, 1)[:3]
    hidden = size(_shape(call, 2)[-1:])
    rows = size((steps, batch, directions, gates))
    return Work(
        rows * (size([inputs]) + hidden) // PER_READ + 4 * rows + 4 * LEAST * size((steps, directions)),
        WIDE * (3 * size((steps, batch, gates)) + rows // GATES[call.name]),
    )


def _attention(call: Call, results: Results) -> Work:
    q, k, past = _shape(call, 0), _shape(call, 1), _shape(call, 4)
    packed = len(q) == 3
    heads = call.attribute("q_num_heads", 1) if packed else size(q[1:2])
    keys = size(k[-2:-1]) + (size(past[-2:-1]) if past else 0)
    scores = size(q[:1]) * heads * size(q[-2:-1]) * keys
    depth = size(q[-1:]) // max(1, heads if packed else 1)
    repeated = size(q[:1]) * heads * keys * depth
    return Work(scores * (2 * depth // PER_READ + 12), WIDE * (6 * scores + 3 * repeated))


def _linear_attention(call: Call, results: Results) -> Work:
    batch, steps, width = (*_shape(call, 0), 1, 1, 1)[:3]
    heads, shared = call.attribute("q_num_heads", 1), call.attribute("kv_num_heads", 1)
    depth, values = size([width]) // heads, size(_shape(call, 2)[-1:]) // shared
    state = size([batch]) * max(heads, shared) * depth * values
    return Work(size([steps]) * (6 * state + 2 * LEAST), 6 * WIDE * state)


def _resize(call: Call, results: Results) -> Work:
    """Count axes that shrink first, so that no intermediate is larger than operand or result."""
    data, made = _shape(call, 0), results[0]
    if made is None:
        return Work()
    largest = max(size(data), size(made))
    taps = {"nearest": 1, "linear": 3}.get(call.attribute("mode", "nearest"), 5)
    axes = axes_of(call.attribute("axes", range(len(data))), len(data))
    changed = [axis for axis in axes if data[axis] != made[axis]]
    positions = sum(size([made[axis]]) for axis in changed)
    widest = max([taps, *(_widest(call, data[axis], made[axis], taps) for axis in changed)])
    gathered = 2 * taps * size(data) if widest > taps else 0
    return Work(
        (widest * size(made) + taps * (2 * largest + positions * 32)) * bool(changed),
        WIDE * (largest + gathered + 8 * max(2**18, widest)),
    )


def _widest(call: Call, x: Dim, y: Dim, taps: int) -> int:
    if not call.attribute("antialias", 0) or not isinstance(x, int) or not isinstance(y, int):
        return taps
    return taps * (x // max(y, 1) + 1)


def _pad(call: Call, results: Results) -> Work:
    """Count positive pads before negative ones."""
    shape, pads, axes = _shape(call, 0), call.operand(1).dims, call.optional(3)
    listed = [*range(len(shape))] if axes is None else ints(axes.dims)
    if pads is None or listed is None:
        return Work()
    chosen = axes_of(listed, len(shape))
    whole = list(shape)
    for i, axis in enumerate(chosen):
        given = (whole[axis], *pads[i :: len(chosen)][:2])
        whole[axis] = sum(max(dim, 0) for dim in given if isinstance(dim, int))
    return Work(size(whole), WIDE * 2 * size(whole))


def _grid_sample(call: Call, results: Results) -> Work:
    grid = _shape(call, 1)
    points, axes = size(grid[:-1]), max(1, len(grid) - 2)
    taps = {"nearest": 1, "cubic": 4}.get(call.attribute("mode", "linear"), 2)
    return Work(
        4 * taps**axes * (points * (axes + 2) + size(results[0] or ())),
        WIDE * (points * (2 * taps * axes + 4)),
    )


def _roi_align(call: Call, results: Results) -> Work:
    made, rois = size(results[0] or ()), call.operand(1)
    sizes = [call.attribute("output_height", 1), call.attribute("output_width", 1)]
    samples, given = call.attribute("sampling_ratio", 0), rois.value
    per_axis = [samples or 1] * 2
    if not samples and given is not None and given.size:
        wide = abs(np.nan_to_num(given.astype(float))) * call.attribute("spatial_scale", 1.0)
        extents = (wide[:, 3] + wide[:, 1]).max(), (wide[:, 2] + wide[:, 0]).max()
        per_axis = [math.ceil(min(e, 2**40) / n) + 1 for e, n in zip(extents, sizes, strict=True)]
    points = size(_shape(call, 1)[:1]) * math.prod(sizes) * math.prod(per_axis)
    each = math.prod(per_axis) * 4 * size(_shape(call, 0)[1:2])
    return Work(points * 2**5 * PYTHON + made, WIDE * 3 * each)


def _deform_conv(call: Call, results: Results) -> Work:
    counts, kernel = (results[0] or ())[2:], _kernel(call, 1)
    places = size((*_shape(call, 0)[:1], *counts, *kernel)) * call.attribute("offset_group", 1)
    columns = size((*_shape(call, 0)[:2], *counts, *kernel))
    products = size(results[0] or ()) * size(_shape(call, 1)[1:])
    return Work(places * 2 ** (5 + len(kernel)) * PYTHON + columns + products, WIDE * 3 * columns)


def _per_element(index: int, reads: int) -> Callable[[Call, Results], Work]:
    """Count a Python loop over an operand's elements."""
    return lambda call, results: Work(_elements(call, index) * reads)


def _scatter_nd(call: Call, results: Results) -> Work:
    return Work(size(_shape(call, 1)[:-1]) * 2 * PYTHON)


def _tensor_scatter(call: Call, results: Results) -> Work:
    return Work(size(_shape(call, 1)) // max(1, size(_shape(call, 1)[-1:])) * 4 * PYTHON)


def _lrn(call: Call, results: Results) -> Work:
    return Work(_elements(call, 0) * min(call.attribute("size", 1), size(_shape(call, 0)[1:2])))


def _reduction(call: Call, results: Results) -> Work:
    return Work(_elements(call, 0), WIDE * _elements(call, 0))


def _sort(call: Call, results: Results) -> Work:
    count = _elements(call, 0)
    return Work(4 * count * max(1, count.bit_length()), WIDE * 4 * count)


def _fourier(call: Call, results: Results) -> Work:
    count = max(_elements(call, 0), 2 * size(results[0] or ()))
    return Work(4 * count * max(1, count.bit_length()), WIDE * 6 * count)


def _det(call: Call, results: Results) -> Work:
    return Work(_elements(call, 0) * _last(call) // PER_READ + size(results[0] or ()) * PER_STACK)


def _integer(call: Call, index: int) -> bool:
    tensor = call.optional(index)
    return tensor is not None and tensor.value is not None and tensor.value.dtype.kind in "iu"


def _matmul(call: Call, results: Results) -> Work:
    return _products(_last, 1 if _integer(call, 0) else PER_READ)(call, results)


_MORE: Mapping[str, Callable[[Call, Results], Work]] = {
    **dict.fromkeys(GATES, _recurrent),
    **dict.fromkeys(traits.POOLS, _pool),
    **dict.fromkeys(traits.REDUCTIONS | traits.GLOBAL_POOLS, _reduction),
    "Attention": _attention,
    "CausalConvWithState": lambda call, results: Work(
        _taps(_shape(call, 1)[2:], size(results[0] or ())), WIDE * _elements(call, 0)
    ),
    "Col2Im": _col2im,
    "Conv": _conv(1),
    "ConvInteger": _conv(1),
    "ConvTranspose": _conv_transpose,
    "DFT": _fourier,
    "DeformConv": _deform_conv,
    "Det": _det,
    "Einsum": _einsum,
    "Gemm": _products(_of_gemm),
    "GridSample": _grid_sample,
    "LRN": _lrn,
    "LinearAttention": _linear_attention,
    "MatMul": _matmul,
    "MatMulInteger": _products(_last, 1),
    "MelWeightMatrix": lambda call, results: Work(size(results[0] or ()) * PYTHON // 4),
    "NonZero": lambda call, results: Work(0, 2 * WIDE * len(_shape(call, 0)) * _elements(call, 0)),
    "Pad": _pad,
    "QLinearConv": _conv(3),
    "QLinearMatMul": _products(_last),
    "RegexFullMatch": _per_element(0, PYTHON),
    "Resize": _resize,
    "RoiAlign": _roi_align,
    "STFT": _fourier,
    "ScatterElements": _per_element(1, 2 * PYTHON),
    "ScatterND": _scatter_nd,
    "StringConcat": _per_element(0, PYTHON),
    "StringNormalizer": _per_element(0, PYTHON),
    "StringSplit": _per_element(0, 4 * PYTHON),
    "TensorScatter": _tensor_scatter,
    "TopK": _sort,
    "Unique": _sort,
}
"""Cost beyond that of reading the operands and writing the results."""
