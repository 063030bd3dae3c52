"""MLIR texts of graphs with many ops in a row, of each kind that gradc follows from op to op."""

from __future__ import annotations

from collections.abc import Callable

DATA, WEIGHTS, HALF, SIZES = (f"tensor<{t}>" for t in ("1x4x6x6xf32", "4x4x3x3xf32", "4x4x3x3xbf16", "4xi64"))


def _conv(result: str, data: str, weights: str) -> str:
    return (
        f"{result} = onednn.convolution_backward_data {data}, {weights} {{strides = [1, 1], "
        f"pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1], dst_shape = [1, 4, 6, 6], "
        f'data_format = "NCX", weights_format = "OIX"}} : ({DATA}, {WEIGHTS}) -> {DATA}'
    )


def _one(result: str, op: str, data: str, type_: str, attributes: str = "") -> str:
    return f"{result} = onnx.{op} {data}{attributes} : ({type_}) -> {type_}"


def _two(result: str, op: str, a: str, b: str, type_: str) -> str:
    return f"{result} = onnx.{op} {a}, {b} : ({type_}, {type_}) -> {type_}"


def _function(lines: list[str], result: str = "%r") -> str:
    body = "\n  ".join((*lines, f"return {result} : {DATA}"))
    return f"func.func @main(%d0: {DATA}, %w0: {WEIGHTS}) -> {DATA} {{\n  {body}\n}}\n"


def weights(count: int) -> str:
    """A convolution whose weights are computed of an input."""
    chain = [_one(f"%w{i + 1}", "Abs", f"%w{i}", WEIGHTS) for i in range(count)]
    return _function([*chain, _conv("%r", "%d0", f"%w{count}")])


def doubled(count: int) -> str:
    """The same, by sums of a value with itself: so many paths lead back that none may be taken twice."""
    chain = [_two(f"%w{i + 1}", "Add", f"%w{i}", f"%w{i}", WEIGHTS) for i in range(count)]
    return _function([*chain, _conv("%r", "%d0", f"%w{count}")])


def constants(count: int) -> str:
    """Weights that folding makes constants."""
    first = f"%v0 = onnx.Constant dense<1.0> : {WEIGHTS}"
    chain = [_one(f"%v{i + 1}", "Neg", f"%v{i}", WEIGHTS) for i in range(count)]
    return _function([first, *chain, _conv("%r", "%d0", f"%v{count}")])


def casts(count: int) -> str:
    """Casts to bf16 and back, none of which may be left out."""
    chain = []
    for i in range(0, count, 2):
        chain.append(f"%h{i} = onnx.Cast %w{i} {{to = bf16}} : ({WEIGHTS}) -> {HALF}")
        chain.append(f"%w{i + 2} = onnx.Cast %h{i} {{to = f32}} : ({HALF}) -> {WEIGHTS}")
    return _function([*chain, _conv("%r", "%d0", f"%w{count + count % 2}")])


def transposes(count: int) -> str:
    """Transposes between two gradients."""
    chain = [_conv("%t0", "%d0", "%w0")]
    chain += [_one(f"%t{i + 1}", "Transpose", f"%t{i}", DATA, " {perm = [0, 1, 3, 2]}") for i in range(count)]
    return _function([*chain, _conv("%r", f"%t{count}", "%w0")])


def gradients(count: int) -> str:
    """One gradient of the other."""
    return _function([_conv(f"%d{i + 1}", f"%d{i}", "%w0") for i in range(count)], f"%d{count}")


def diamonds(count: int) -> str:
    """Fan-out and fan-in, again and again."""
    lines = []
    for i in range(0, count, 3):
        lines.append(_one(f"%a{i}", "Abs", f"%d{i}", DATA))
        lines.append(_one(f"%b{i}", "Neg", f"%d{i}", DATA))
        lines.append(_two(f"%d{i + 3}", "Add", f"%a{i}", f"%b{i}", DATA))
    return _function([*lines, _conv("%r", f"%d{-(-count // 3) * 3}", "%w0")])


def fan(count: int) -> str:
    """One value that many ops read, and one op that reads all of theirs."""
    lines = [_one(f"%a{i}", "Abs", "%d0", DATA) for i in range(count)]
    operands, types = ", ".join(f"%a{i}" for i in range(count)), ", ".join([DATA] * count)
    return _function([*lines, f"%m = onnx.Max {operands} : ({types}) -> {DATA}", _conv("%r", "%m", "%w0")])


def sizes(count: int) -> str:
    """A size of the result at run time, computed of others."""
    free = "tensor<1x4x?x?xf32>"
    chain = [_two(f"%s{i + 1}", "Add", f"%s{i}", f"%s{i}", SIZES) for i in range(count)]
    chain.append(f"%c = onnx.Cast %s{count} {{to = i32}} : ({SIZES}) -> tensor<4xi32>")
    conv = _conv("%r", "%d", "%w, %c").replace("dst_shape = [1, 4, 6, 6], ", "").replace(DATA, free)
    conv = conv.replace(f"{WEIGHTS})", f"{WEIGHTS}, tensor<4xi32>)")
    body = "\n  ".join((*chain, conv, f"return %r : {free}"))
    return f"func.func @main(%d: {free}, %w: {WEIGHTS}, %s0: {SIZES}) -> {free} {{\n  {body}\n}}\n"


KINDS: dict[str, Callable[[int], str]] = {
    each.__name__: each
    for each in (weights, doubled, constants, casts, transposes, gradients, diamonds, fan, sizes)
}
