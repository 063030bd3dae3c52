"""Support table: attributes from the op classes, their values from diagnostics of wrong ones, dtypes and
ranks from compiling a small graph of each op."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.ir import Attribute

from dialects import source_kinds, source_ops
from dialects.onednn.spec_classes import FAMILIES, KINDS
from dialects.support.attributes import AttributeSpec, documented_attributes
from dialects.support.diagnostics import GradcError
from dialects.support.documented_op import DocumentedOp
from gradc.builder.graph import Graph
from gradc.compiler.driver import compile
from passes.kernel_tables import PROVIDERS
from tools.support_specs import example_rank, page_of, probe

DTYPES = ("f32", "bf16", "f16", "f64")
SPATIAL = (1, 2, 3)
NO_LENGTH = 7
"""A list length that no op accepts in a 2D graph."""

Size = int | str


def _sizes(dynamic: bool, n: int, static: int) -> list[Size]:
    return [f"S{i}" for i in range(n)] if dynamic else [static] * n


def _convolution(g: Graph, dtype: str, n: int, dynamic: bool) -> Any:
    dst = g.input("diff_dst", dtype, ["N" if dynamic else 1, 4, *_sizes(dynamic, n, 3)])
    weights = g.input("weights", dtype, [4, 2, *[3] * n])
    ones = [1] * n
    wanted = g.input("dst_shape", "s32", [n + 2]) if dynamic else [1, 2, *[5] * n]
    return g.convolution_backward_data(
        dst,
        weights,
        wanted,
        strides=[2] * n,
        pads_begin=ones,
        pads_end=ones,
        dilations=ones,
        data_format="NCX",
        weights_format="OIX",
    )


def _conv_transpose(g: Graph, dtype: str, n: int, dynamic: bool) -> Any:
    dst = g.input("diff_dst", dtype, ["N" if dynamic else 1, 4, *_sizes(dynamic, n, 5)])
    weights = g.input("weights", dtype, [2, 4, *[3] * n])
    ones = [1] * n
    return g.conv_transpose_backward_data(
        dst,
        weights,
        strides=[2] * n,
        pads_begin=ones,
        pads_end=ones,
        dilations=ones,
        data_format="NCX",
        weights_format="IOX",
    )


def _interpolate(g: Graph, dtype: str, n: int, dynamic: bool) -> Any:
    batch: Size = "N" if dynamic else 1
    src = g.input("src", dtype, [batch, 2, *([f"X{i}" for i in range(n)] if dynamic else [3] * n)])
    dst = g.input("diff_dst", dtype, [batch, 2, *_sizes(dynamic, n, 6)])
    sizes = g.input("sizes", "s32", [n]) if dynamic else [6] * n
    return g.interpolate_backward(src, dst, sizes, mode="linear", data_format="NCX")


def _resize(g: Graph, dtype: str, n: int, dynamic: bool) -> Any:
    batch: Size = "N" if dynamic else 1
    grads = g.input("grads", dtype, [batch, 2, *_sizes(dynamic, n, 6)])
    image = g.input(
        "original_image", dtype, [batch, 2, *([f"X{i}" for i in range(n)] if dynamic else [3] * n)]
    )
    return g.resize_bilinear_v2_grad(grads, image, half_pixel_centers=True)


def _upsample(g: Graph, dtype: str, n: int, dynamic: bool) -> Any:
    grad = g.input("gradOut", dtype, ["N" if dynamic else 1, 2, *[6] * n])
    return g.upsample_bilinear2d_backward(
        grad, outputSize=[6] * n, inputSize=[None if dynamic else 1, 2, *[3] * n]
    )


Probe = Callable[[Graph, str, int, bool], Any]
"""Adds an op of a dtype and a number of spatial axes, with static sizes or with all dims dynamic that may be;
returns its result."""


def _of_one_shape(kind: str) -> Probe:
    """Return a probe whose operands have one shape."""

    def probe(g: Graph, dtype: str, n: int, dynamic: bool) -> Any:
        cls = source_ops()[kind]
        shape = ["N" if dynamic else 1, 2, *_sizes(dynamic, n, 3)]
        operands = [g.input(port, dtype, shape) for port in cls.PORTS]
        return getattr(g, cls.name.partition(".")[2])(*operands)

    return probe


_OF_SEVERAL_SHAPES: dict[str, Probe] = {
    "ConvolutionBackwardData": _convolution,
    "ConvTransposeBackwardData": _conv_transpose,
    "InterpolateBackward": _interpolate,
    "ResizeBilinearV2Grad": _resize,
    "UpsampleBilinear2dBackward": _upsample,
}

CLASS_KINDS = tuple(kind for kind in source_kinds() if kind not in KINDS)
"""Kinds with a handwritten class, not an op spec."""

PROBES = {kind: _OF_SEVERAL_SHAPES.get(kind) or _of_one_shape(kind) for kind in CLASS_KINDS}


def compiles(kind: str, dtype: str, n: int, dynamic: bool, target: str) -> bool:
    try:
        compile(_probe_graph(kind, dtype, n, dynamic), target=target)
    except GradcError:
        return False
    return True


def _probe_graph(kind: str, dtype: str, n: int, dynamic: bool) -> Graph:
    if kind in KINDS:
        return probe(kind, dtype, n, dynamic)
    graph = Graph()
    graph.output(PROBES[kind](graph, dtype, n, dynamic), "out")
    return graph


def attributes_of(kind: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, type, values and default of each attribute of a source op."""
    for documented in documented_attributes(source_ops()[kind]).values():
        spec = documented.spec
        default = "required" if documented.required else _default_text(spec.default)
        yield f"`{documented.name}`", spec.tag, _values(kind, documented.name, spec), default


def _values(kind: str, name: str, spec: AttributeSpec) -> str:
    """Return the words of an enumeration, else the expectation of the op's diagnostics."""
    if spec.words:
        return ", ".join(f"`{word}`" for word in spec.words)
    if spec.tag == "bool":
        return "`true`, `false`"
    bad = math.nan if spec.tag.startswith("f32") else -1
    if not spec.tag.endswith("[]"):
        return _general(_expectation(kind, name, spec.encode(bad)))
    length = _expectation(kind, name, spec.encode([bad] * NO_LENGTH))
    (count,) = re.findall(r"^\d+", length)
    number = _expectation(kind, name, spec.encode([bad] * int(count)))
    return ": ".join(filter(None, (_general(length), _general(number))))


def _expectation(kind: str, name: str, value: Attribute) -> str:
    """Return what an op's diagnostic expects instead of a wrong attribute value.

    '' if the diagnostic is about another value that conflicts with it.
    """
    graph = Graph()
    graph.output(PROBES[kind](graph, "f32", 2, False), "out")
    (op,) = (op for op in graph.module().walk() if isinstance(op, DocumentedOp))
    op.properties[name] = value
    try:
        op.verify()
    except GradcError as error:
        found = re.fullmatch(rf"(?:.* )?{name}\b.*?: given .*?, expected (.*)", error.diagnostic.message)
        return found[1] if found else ""
    raise AssertionError(f"{kind} takes {name} = {value}")


def _general(expected: str) -> str:
    """Remove the sizes and the layout of the probe: `2, one value per axis`; a bare `2` gets a noun."""
    text = re.sub(r"^(\d+)(?=$| \()", r"\1 values", expected)
    return re.sub(r"^\d+[,;] ", "", text).replace("NCX order", "data_format order")


def _default_text(default: Any) -> str:
    match default:
        case None:
            return "unset"
        case bool():
            return f"`{str(default).lower()}`"
        case tuple():
            return f"`{list(default)}`"
        case _:
            return f"`{default}`"


def _dtype_rows() -> Iterator[str]:
    columns = [f"{dtype} {target}" for dtype in DTYPES for target in PROVIDERS]
    yield f"| op | data | {' | '.join(columns)} |"
    yield f"|---|---|{'---|' * len(columns)}"
    for kind in PROBES:
        for n in SPATIAL:
            cells = [_cell(kind, dtype, n, target) for dtype in DTYPES for target in PROVIDERS]
            if any(cell != "no" for cell in cells):
                yield f"| {kind} | {n}D | {' | '.join(cells)} |"


def _family_rows() -> Iterator[str]:
    for family, (_, specs) in FAMILIES.items():
        kinds = [spec.kind for spec in specs]
        if not any(dtype in spec.dtypes for spec in specs for dtype in DTYPES):
            continue  # integer-only ops are on their own page
        cells = [_family_cell(kinds, dtype, target) for dtype in DTYPES for target in PROVIDERS]
        name = kinds[0] if len(kinds) == 1 else f"{family}: {len(kinds)} ops"
        yield f"| [{name}](ops/{page_of(family)}) | any | {' | '.join(cells)} |"


def _family_cell(kinds: Sequence[str], dtype: str, target: str) -> str:
    """Return the support of a family, or how many of its ops are supported."""
    cells = [_cell(kind, dtype, example_rank(kind), target) for kind in kinds]
    count = cells.count("yes")
    if count in (0, len(kinds)):
        return "yes" if count else "no"
    return f"{count} of {len(kinds)}"


def _cell(kind: str, dtype: str, n: int, target: str) -> str:
    static, dynamic = (compiles(kind, dtype, n, d, target) for d in (False, True))
    if static and dynamic:
        return "yes"
    return "static" if static else "no"


def dtypes_and_ranks() -> str:
    """Return a row per op and rank, with a column per dtype and execution provider."""
    legend = "`yes`: static and dynamic sizes; `static`: static sizes only; `no`: not supported."
    return "\n".join((*_dtype_rows(), *_family_rows(), "", legend))
