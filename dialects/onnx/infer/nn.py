"""Shape rules of products, pools, attention and recurrent ops."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from dialects.onnx.call import Call, axis_of
from dialects.onnx.dims import add, broadcast, broadcast_dims, ceildiv, floordiv, multiply
from dialects.onnx.infer.spatial import average_pool, conv
from dialects.support.diagnostics import violation
from dialects.support.shapes import Dim, Shape, UnknownRank, same_dim, show

Rule = Callable[[Call], list[Shape | None]]


def matmul(call: Call) -> list[Shape | None]:
    a, b = call.operand(0).shape, call.operand(1).shape
    if not a or not b:
        raise violation("operands of MatMul", given="a scalar", expected="rank 1 or more")
    inner, columns = b[-2:-1] or b, b[-1:] if len(b) > 1 else ()
    if not same_dim(a[-1], inner[0]):
        raise violation("inner dims of MatMul", given=f"{show(a)} and {show(b)}", expected="equal ones")
    return [(*broadcast([a[:-2], b[:-2]]), *a[-2:-1], *columns)]


def of_operands(rule: Callable[[Call], Sequence[Shape | None]], *operands: int) -> Rule:
    """Return the rule of another op, applied to some of the operands."""

    def of_those(call: Call) -> list[Shape | None]:
        return [*rule(replace(call, operands=tuple(call.operand(i) for i in operands)))]

    return of_those


def gemm(call: Call) -> list[Shape | None]:
    a, b = call.operand(0).shape, call.operand(1).shape
    if len(a) != 2 or len(b) != 2:
        raise violation("operands of Gemm", given=f"{show(a)} and {show(b)}", expected="rank 2")
    a = a[::-1] if call.attribute("transA", 0) else a
    b = b[::-1] if call.attribute("transB", 0) else b
    if not same_dim(a[1], b[0]):
        raise violation("inner dims of Gemm", given=f"{show(a)} and {show(b)}", expected="equal ones")
    return [(a[0], b[1])]


def einsum(call: Call) -> list[Shape | None]:
    terms, result = einsum_terms(call.attribute("equation"), [o.rank for o in call.operands if o])
    sizes: dict[str, Dim] = {}
    for term, operand in zip(terms, call.operands, strict=True):
        assert operand is not None
        for label, dim in zip(term, operand.shape, strict=True):
            # an ellipsis broadcasts; sizes of one letter are equal, but for 1
            sizes[label] = broadcast_dims(sizes.get(label, 1), dim)
    return [tuple(sizes[label] for label in result)]


def einsum_terms(equation: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """Return the axis labels of each operand and of the result; those of an ellipsis are numbers."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(ranks):
        raise violation("equation", given=equation, expected=f"{len(ranks)} terms")
    terms = [_labels(text, rank, equation) for text, rank in zip(texts, ranks, strict=True)]
    dots = max((sum(label.isdigit() for label in term) for term in terms), default=0)
    numbers = [str(i) for i in reversed(range(dots))]
    if arrow:
        found = [x for part in re.findall(r"\.\.\.|.", right) for x in (numbers if part == "..." else [part])]
    else:
        letters = [label for term in terms for label in term if not label.isdigit()]
        found = [*numbers, *sorted(x for x in set(letters) if letters.count(x) == 1)]
    unknown = set(found) - {label for term in terms for label in term}
    if unknown:
        raise violation("equation", given=equation, hint=f"no operand has {', '.join(sorted(unknown))}")
    return terms, found


def _labels(text: str, rank: int, equation: str) -> list[str]:
    before, dots, after = text.partition("...")
    missing = rank - len(before) - len(after)
    if missing < 0 or (missing and not dots):
        raise violation("equation", given=equation, expected=f"{rank} axes in {text or 'a term'}")
    return [*before, *(str(i) for i in reversed(range(missing))), *after]


# Pools


def pool(call: Call) -> list[Shape | None]:
    """Return the pooled shape for one result, or for both of MaxPool."""
    (shape,) = average_pool(call)
    return [shape] * call.results


def global_pool(call: Call) -> list[Shape | None]:
    data = call.operand(0)
    if data.rank < 2:
        raise violation(f"input of {call.name}", given=show(data.shape), expected="rank 2 or more")
    return [(*data.shape[:2], *(1,) * (data.rank - 2))]


def max_unpool(call: Call) -> list[Shape | None]:
    data, sizes = call.operand(0), call.optional(2)
    if sizes is not None:
        return [tuple(sizes.dims) if sizes.dims is not None else (None,) * data.rank]
    kernel = call.attribute("kernel_shape")
    rank = len(kernel)
    strides, pads = call.attribute("strides", [1] * rank), call.attribute("pads", [0] * 2 * rank)
    spatial = [
        add(multiply(add(dim, -1), strides[i]), kernel[i] - pads[i] - pads[rank + i])
        for i, dim in enumerate(data.shape[2:])
    ]
    return [(*data.shape[:2], *spatial)]


def roi_align(call: Call) -> list[Shape | None]:
    sizes = call.attribute("output_height", 1), call.attribute("output_width", 1)
    rois = call.operand(1).shape
    if len(rois) != 2 or not same_dim(rois[1], 4):
        raise violation("rois of RoiAlign", given=show(rois), expected="[number, 4]")
    return [(call.operand(1).shape[0], call.operand(0).shape[1], *sizes)]


def max_roi_pool(call: Call) -> list[Shape | None]:
    return [(call.operand(1).shape[0], call.operand(0).shape[1], *call.attribute("pooled_shape"))]


def grid_sample(call: Call) -> list[Shape | None]:
    data, grid = call.operand(0), call.operand(1)
    if data.rank != grid.rank or data.rank < 3:
        ranks = f"{show(data.shape)} and {show(grid.shape)}"
        raise violation("ranks of GridSample", given=ranks, expected="equal, 3 or more")
    return [(*data.shape[:2], *grid.shape[1:-1])]


def affine_grid(call: Call) -> list[Shape | None]:
    sizes = call.operand(1).dims
    if sizes is None:
        return [call.unknown("the size of AffineGrid", call.operand(1))]
    return [(sizes[0], *sizes[2:], len(sizes) - 2)]


def det(call: Call) -> list[Shape | None]:
    return [call.operand(0).shape[:-2]]


def deform_conv(call: Call) -> list[Shape | None]:
    """Infer as for Conv; the bias comes after the offsets."""
    data, weights, _, bias = (call.optional(i) for i in range(4))
    return [*conv(replace(call, operands=(data, weights, bias)))]


# Attention and recurrence


def attention(call: Call) -> list[Shape | None]:
    """Infer from Q, K, V of (B, heads, length, size) or (B, length, heads * size)."""
    q, k, v = (call.operand(i).shape for i in range(3))
    heads, kv_heads = call.attribute("q_num_heads"), call.attribute("kv_num_heads")
    packed = len(q) == 3
    if packed and not (heads and kv_heads):
        raise violation("Attention of rank 3", expected="q_num_heads and kv_num_heads")
    q, k, v = (_split_heads(s, n) for s, n in ((q, heads), (k, kv_heads), (v, kv_heads)))
    past = call.optional(4)
    length = add(k[2], past.shape[2]) if past is not None else k[2]
    y = (q[0], q[2], multiply(q[1], v[3])) if packed else (*q[:3], v[3])
    present_key, present_value = (*k[:2], length, k[3]), (*v[:2], length, v[3])
    return [y, present_key, present_value, (*q[:3], length)]


def _split_heads(shape: Shape, heads: int | None) -> Shape:
    if len(shape) != 3 or not heads:
        return shape
    size = shape[2]
    return (shape[0], heads, shape[1], floordiv(size, heads))


def linear_attention(call: Call) -> list[Shape | None]:
    q, k, v = (call.operand(i).shape for i in range(3))
    heads, kv_heads = call.attribute("q_num_heads"), call.attribute("kv_num_heads")
    if heads < 1 or kv_heads < 1:
        given = f"{heads} and {kv_heads}"
        raise violation("q_num_heads and kv_num_heads", given=given, expected="1 or more")
    keys, values = (floordiv(s[2], kv_heads) for s in (k, v))
    return [(*q[:2], multiply(heads, values)), (q[0], kv_heads, keys, values)]


def causal_conv(call: Call) -> list[Shape | None]:
    data, taps = call.operand(0).shape, call.operand(1).shape[2]
    return [data, (*data[:2], add(taps, -1))]


def recurrent(call: Call) -> list[Shape | None]:
    """Infer from X (length, batch, features), W (directions, ...), R (directions, ..., hidden)."""
    names = ("input", "weights", "recurrent weights")
    x, _, recurrence = (_of_rank_3(call, index, what) for index, what in enumerate(names))
    hidden: Dim = call.attribute("hidden_size", recurrence[-1])
    directions: Dim = 2 if call.attribute("direction", "forward") == "bidirectional" else 1
    if call.attribute("layout", 0):
        whole, last = (x[0], x[1], directions, hidden), (x[0], directions, hidden)
    else:
        whole, last = (x[0], directions, x[1], hidden), (directions, x[1], hidden)
    found: list[Shape | None] = [whole, last, last]
    return found[: call.results]


def _of_rank_3(call: Call, index: int, what: str) -> Shape:
    """Return the shape of an operand, all-dynamic if its rank is unknown."""
    shape: Shape = (None, None, None)
    with suppress(UnknownRank):
        shape = call.operand(index).shape
    if len(shape) != 3:
        raise violation(f"{what} of {call.name}", given=show(shape), expected="rank 3")
    return shape


# Quantisation


def quantize_linear(call: Call) -> list[Shape | None]:
    data = call.operand(0)
    for index, what in ((1, "scale"), (2, "zero point")):
        given = call.optional(index)
        with suppress(UnknownRank):
            if given is not None and not _broadcasts(call, given.shape, data.shape):
                expected = "one number, one along the axis, or one for each block"
                shown = f"{show(given.shape)} for {show(data.shape)}"
                raise violation(f"{what} of {call.name}", given=shown, expected=expected)
    return [data.shape]


def _broadcasts(call: Call, given: Shape, data: Shape) -> bool:
    """Return whether scales of shape `given` broadcast to the data: scalar, per axis, or blocked."""
    vector = len(given) == 1 and not call.attribute("block_size", 0)
    if given == () or (vector and not (isinstance(given[0], int) and given[0] != 1)):
        return True
    axis, block = axis_of(call.attribute("axis", 1), len(data)), call.attribute("block_size", 0)
    if vector:
        return same_dim(given[0], data[axis])
    if len(given) != len(data) or block < 1:
        return False
    expected = (*data[:axis], ceildiv(data[axis], block), *data[axis + 1 :])
    return all(map(same_dim, given, expected))


RULES: Mapping[str, Mapping[str, Rule]] = {
    "POOLS": {
        "LpPool": pool,
        "MaxPool": pool,
    },
    "GLOBAL_POOLS": {
        "GlobalAveragePool": global_pool,
        "GlobalLpPool": global_pool,
        "GlobalMaxPool": global_pool,
    },
    "PRODUCTS": {
        "ConvInteger": of_operands(conv, 0, 1),
        "DeformConv": deform_conv,
        "Einsum": einsum,
        "Gemm": gemm,
        "MatMul": matmul,
        "MatMulInteger": of_operands(matmul, 0, 1),
        "QLinearConv": of_operands(conv, 0, 3),
        "QLinearMatMul": of_operands(matmul, 0, 3),
    },
    "QUANTIZATION": {
        "DequantizeLinear": quantize_linear,
        "QuantizeLinear": quantize_linear,
    },
    "SAMPLINGS": {
        "AffineGrid": affine_grid,
        "GridSample": grid_sample,
        "MaxRoiPool": max_roi_pool,
        "RoiAlign": roi_align,
    },
    "RECURRENT": {
        "GRU": recurrent,
        "LSTM": recurrent,
        "RNN": recurrent,
    },
    "ATTENTION": {
        "Attention": attention,
        "CausalConvWithState": causal_conv,
        "LinearAttention": linear_attention,
    },
    "OF_NO_KIND": {
        # a number of each matrix
        "Det": det,
        # moves to indices that are data, without the addition of a scatter
        "MaxUnpool": max_unpool,
    },
}
"""Kind in `traits` -> op -> its shape rule."""
