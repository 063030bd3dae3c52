"""Every row of BAD_INPUTS: what is changed on a valid document, and what the one line must name.

A row is refused alike as JSON text and through the builder, unless it can only be said in JSON.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from support.documents import (
    CONV,
    CONV_TRANSPOSE,
    INTERPOLATE,
    LEFT_OUT,
    RESIZE,
    UNKNOWN,
    UPSAMPLE,
    Change,
    Doc,
    attrs,
    changed,
    document,
    first_op,
    inputs,
    op,
    output,
    ports,
    tensor,
    text_of,
    top,
    two_convolutions,
)
from support.tiers import some

from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError
from dialects.support.interfaces import collect_remarks
from gradc.builder.graph import Graph
from gradc.importers.onednn.reader import import_document, import_json

BASES = {
    "D0": CONV,
    "D1": CONV,
    "D2": CONV_TRANSPOSE,
    "D3": INTERPOLATE,
    "D4": RESIZE,
    "D4u": UPSAMPLE,
}
BUILDER_METHODS = {
    "ConvolutionBackwardData": "convolution_backward_data",
    "ConvTransposeBackwardData": "conv_transpose_backward_data",
    "InterpolateBackward": "interpolate_backward",
    "ResizeBilinearV2Grad": "resize_bilinear_v2_grad",
    "UpsampleBilinear2dBackward": "upsample_bilinear2d_backward",
}


@dataclass(frozen=True)
class Row:
    """`names` are fragments that the diagnostic must contain, each as written or as a pattern."""

    row: str
    changes: tuple[Change, ...]
    names: tuple[str, ...]
    json_only: bool = False

    def document(self) -> Doc:
        return changed(BASES[self.row.partition(".")[0]], *self.changes)


def row(number: str, changes: Change | tuple[Change, ...], *names: str, json_only: bool = False) -> Row:
    return Row(number, changes if isinstance(changes, tuple) else (changes,), names, json_only)


def start_over(doc: Doc) -> Change:
    def change(given: Doc) -> None:
        given.clear()
        given.update(doc)

    return change


def dim_of(*path: Any, value: Any) -> Change:
    """Set one place of op 0, given as a path of keys and indices."""

    def change(doc: Doc) -> None:
        place = doc["graph"][0]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


def duplicate_id() -> Change:
    doc = two_convolutions()
    doc["graph"][1]["id"] = 0
    return start_over(doc)


def two_producers() -> Change:
    doc = two_convolutions()
    doc["graph"][1]["outputs"][0] = tensor(2, [1, 2, 5, 5])
    return start_over(doc)


def different_records() -> Change:
    doc = two_convolutions()
    doc["graph"][1]["inputs"][0] = tensor(2, [1, 2, 5, 4])
    return start_over(doc)


def cycle() -> Change:
    """Ops 2 and 3 feed each other; op 1 only waits for them."""
    window = {"strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1]}
    kwargs = window | {"data_format": "NCX", "weights_format": "OIX", "dst_shape": [1, 2, 3, 3]}
    ends = {1: (7, 8), 2: (5, 6), 3: (6, 5)}
    ops = [
        op(
            i,
            "ConvolutionBackwardData",
            kwargs,
            [tensor(a if i != 1 else 6, [1, 2, 3, 3]), tensor(9, [2, 2, 1, 1])],
            [tensor(b, [1, 2, 3, 3])],
        )
        for i, (a, b) in ends.items()
    ]
    return start_over(document(*ops))


def dst_shape_input(dtype: str = "s32", shape: tuple[int, ...] = (4,)) -> Change:
    return inputs(2, tensor(7, list(shape), dtype))


def sizes_input(dtype: str = "s32", shape: tuple[int, ...] = (2,)) -> Change:
    return inputs(2, tensor(7, list(shape), dtype))


SAME_UPPER = attrs(auto_pad="SAME_UPPER")
NHWC = attrs(format="NHWC")

D0 = [
    row("D0.2 missing", lambda doc: doc.pop("graph"), "graph"),
    row("D0.2 empty", top(graph=[]), "graph", "empty"),
    row(
        "D0.3",
        first_op(kind="ConvolutionBackwardDatas"),
        '"conv" id 0',
        "ConvolutionBackwardDatas",
        "did you mean ConvolutionBackwardData",
    ),
    row(
        "D0.4",
        first_op(kind="Convolutionbackwarddata"),
        "given Convolutionbackwarddata",
        "expected ConvolutionBackwardData",
        "case-sensitive",
    ),
    row("D0.5", duplicate_id(), "op id 0", '"conv"', '"second"'),
    row("D0.6", two_producers(), "tensor 2", 'op 0 "conv"', 'op 1 "second"'),
    row(
        "D0.7",
        different_records(),
        "tensor 2",
        "[1, 2, 5, 4]",
        'op 1 "second"',
        "[1, 2, 5, 5]",
        'op 0 "conv"',
    ),
    row("D0.8", cycle(), "cycle", r"2 -> 3 -> 2", '"op_2" -> "op_3" -> "op_2"'),
    row(
        "D0.9",
        dim_of("attrs", "strides", value={"type": "s64", "value": 2}),
        "strides",
        'given "s64"',
        "expected s64[]",
    ),
    row(
        "D0.10",
        dim_of("attrs", "strides", "value", value=[2, 1.5]),
        "strides",
        "1.5 at element 1",
        "s64[]",
    ),
    row(
        "D0.11",
        attrs(paddings=[1, 1]),
        "unknown attribute paddings",
        "strides, pads_begin",
        "did you mean output_padding",
    ),
    row(
        "D0.12",
        ports(dtypes=("float32",)),
        "diff_dst",
        '"float32"',
        "f32, bf16, f16",
        "did you mean f32?",
    ),
    row(
        "D0.13",
        dim_of("inputs", 0, "stride", value=[36, 9, 3]),
        "tensor 0",
        "given 3 [36, 9, 3]",
        "expected 4",
    ),
    row("D0.14", ports([1, 4, 3, -1]), "tensor 0", "axis 3", "given -1"),
    row("D0.15", top(output_ports=[2, 77]), "output_ports", "tensor 77", "no op produces"),
    row("D0.16", top(fpmath_mode="fast"), "fpmath_mode", '"fast"', "strict, bf16, f16, any, tf32"),
    row("D0.17", inputs(1, None, tensor(7, [4], "s32")), "element 1 of inputs", "null", "trailing"),
    row("D0.18", ports([UNKNOWN]), "tensor 0", "diff_dst", "unknown rank", '[ConvolutionBackwardData "conv"'),
]

D1 = [
    row("D1.1", inputs(1), "given 1", "expected 2 or 3", "missing weights"),
    row("D1.2", inputs(2, *(tensor(i, [4], "s32") for i in (7, 8))), "inputs: given 4", json_only=True),
    row("D1.3", ports(dtypes=(None, "f16")), "diff_dst f32", "weights f16"),
    row("D1.4", ports(dtypes=("s8", "s8", "s8")), "diff_dst", "given s8", "f32, bf16, f16"),
    row(
        "D1.5",
        (attrs(dst_shape=LEFT_OUT), output([UNKNOWN])),
        "dst_shape input",
        "dst_shape attribute",
        "declared shape",
    ),
    row("D1.6", dst_shape_input("s64"), "dst_shape", "given s64", "expected s32", json_only=True),
    row("D1.8", output([1, 2, 6, 6]), "[1, 2, 5, 5]", "attribute", "[1, 2, 6, 6]", "declared"),
    row("D1.9", attrs(dst_shape=[5, 5]), "dst_shape", "given 2", "expected 4", "full shape", "N and C"),
    row(
        "D1.10",
        (attrs(dst_shape=[1, 3, 5, 5]), output([1, 3, 5, 5])),
        "channels",
        "given 3",
        "weights I * groups = 2 * 1 = 2",
    ),
    row(
        "D1.11",
        (attrs(dst_shape=[2, 2, 5, 5]), output([2, 2, 5, 5])),
        "batch",
        "given 2",
        "expected 1, that of diff_dst",
    ),
    row(
        "D1.12",
        (attrs(dst_shape=[1, 2, 7, 5]), output([1, 2, 7, 5])),
        "axis H",
        "(7 - 3 + 1 + 1) div 2 + 1 = 4",
        "diff_dst has 3",
        "5 to 6",
    ),
    row("D1.13", (attrs(dst_shape=[1, 2, 0, 5]), output([1, 2, 0, 5])), "axis H", "given 0", "positive"),
    row("D1.14", ports(None, [5, 2, 3, 3]), "weights O", "given 5", "expected 4, the channels of diff_dst"),
    row("D1.15", attrs(groups=3), "groups", "given 3", "4 % 3 = 1", "divisors: 1, 2, 4"),
    row("D1.16 zero", attrs(groups=0), "groups", "given 0", "positive"),
    row("D1.16 negative", attrs(groups=-1), "groups", "given -1", "positive"),
    row("D1.17", attrs(groups=2), "I = C/groups = 2/2 = 1", "got 2"),
    row("D1.18", attrs(strides=[2]), "strides", "given 1 [2]", "expected 2", "spatial"),
    row("D1.19", attrs(strides=[0, 2]), "strides axis H", "given 0", "positive"),
    row("D1.19 same", (attrs(strides=[0, 2]), SAME_UPPER), "strides axis H", "given 0", "positive"),
    row("D1.20", attrs(dilations=[1, 0]), "dilations axis W", "given 0", "positive", "1 means dense"),
    row("D1.21", attrs(pads_begin=[-1, 1]), "pads_begin axis H", "given -1", "non-negative"),
    row("D1.22", attrs(pads_begin=LEFT_OUT), "pads_begin is missing", "required even with auto_pad"),
    row(
        "D1.22 auto_pad",
        (attrs(pads_begin=LEFT_OUT), SAME_UPPER),
        "pads_begin is missing",
        "required even with auto_pad",
    ),
    row("D1.23", attrs(auto_pad="SAME"), "auto_pad", '"SAME"', "none, same_upper, same_lower, valid"),
    row(
        "D1.24",
        (SAME_UPPER, ports([1, 4, 2, 3])),
        "axis H",
        "ceil(5/2) = 3",
        "given 2",
    ),
    row("D1.25", attrs(data_format="NCHW"), "data_format", '"NCHW"', "NCX, NXC", "did you mean NCX?"),
    row(
        "D1.26",
        attrs(weights_format="IOX"),
        "weights_format",
        '"IOX"',
        "OIX, XIO",
        "ConvTranspose uses IOX and XOI",
    ),
    row(
        "D1.27",
        attrs(data_format=LEFT_OUT),
        "weights O",
        "axis 3",
        "expected 3",
        "data_format is not given: its default is NXC",
    ),
    row(
        "D1.28",
        attrs(weights_format=LEFT_OUT),
        "spatial [4, 2], I 3, O 3",
        "weights_format is not given: its default is XIO",
    ),
    row("D1.29 rank 2", ports([1, 4]), "rank of diff_dst", "given 2", "3 to 5"),
    row("D1.29 rank 6", ports([1, 4, 3, 3, 3, 3]), "rank of diff_dst", "given 6", "3 to 5"),
    row("D1.30", ports(None, [4, 2, 9, 3]), "axis H", "= 9", "exceeds", "5+1+1 = 7"),
    row("D1.32", attrs(output_padding=[0, 0, 0]), "output_padding", "given 3", "expected 2"),
    row("D1.33", ports(None, [1, 4, 2, 3, 3]), "rank of weights", "given 5", "expected 4", "folded"),
]

D2 = [
    row(
        "D2.1",
        inputs(2, tensor(7, [4], "s32")),
        "inputs: given 3",
        "expected 2",
        "no shape input",
        json_only=True,
    ),
    row(
        "D2.2",
        attrs(dst_shape=[1, 2, 3, 3]),
        "unknown attribute dst_shape",
        "ConvolutionBackwardData",
    ),
    row("D2.3", attrs(weights_format="OIX"), '"OIX"', "IOX, XOI", "newer page", "in error"),
    row(
        "D2.4",
        attrs(weights_format=LEFT_OUT),
        "weights O",
        "given 3",
        "expected 4",
        "weights_format is not given: its default is XOI",
    ),
    row("D2.5", ports(None, [2, 5, 3, 3]), "weights O", "given 5", "expected 4, the channels of diff_dst"),
    row(
        "D2.6 neither",
        (attrs(groups=2), ports(None, [2, 3, 3, 3])),
        "given 3",
        "4/2 = 2",
        "weights like [2, 2, 3, 3]",
        "weights like [1, 4, 3, 3]",
    ),
    row("D2.7", attrs(groups=3), "groups", "given 3", "4 % 3"),
    row("D2.8", (attrs(groups=2), ports(None, [3, 2, 3, 3])), "groups", "given 2", "C", "= 3"),
    row("D2.9", attrs(groups=0), "groups", "given 0", "positive"),
    row(
        "D2.10",
        output([1, 2, 4, 4]),
        "[1, 2, 3, 3]",
        "[1, 2, 4, 4]",
        "(5 + 1 + 1 - 3) div 2 + 1 = 3",
        "axis H",
    ),
    row("D2.11", output([1, 4, 3, 3]), "axis C", "given 4", "expected 2, the I of weights"),
    row("D2.12", ports([1, 4, 0, 5]), "diff_dst axis H", "given 0", "positive"),
    row("D2.13", ports(None, [2, 4, 9, 3]), "axis H", "= 9", "5+1+1 = 7"),
    row("D2.14", attrs(strides=[2, 2, 2]), "strides", "given 3", "expected 2"),
    row("D2.15", attrs(dilations=[-1, 1]), "dilations axis H", "given -1", "positive"),
    row("D2.16", attrs(pads_end=[1, -2]), "pads_end axis W", "given -2", "non-negative"),
    row("D2.17", attrs(output_padding=[2, 0]), "output_padding axis H", "given 2", "stride 2"),
    row(
        "D2.18",
        attrs(output_padding=[1, 0]),
        "output_padding axis H",
        "2*(3-1) + 3 - 2 + 1 = 6",
        "diff_dst has 5",
    ),
    row(
        "D2.20",
        attrs(auto_pad="explicit"),
        '"explicit"',
        "none, same_upper, same_lower, valid",
    ),
    row("D2.21", ports(dtypes=("bf16",)), "diff_dst bf16", "weights f32"),
    row("D2.22", ports(None, [2, 4, 3]), "rank of weights", "given 3", "expected 4, that of diff_dst"),
    row(
        "D2.23",
        (attrs(data_format="NXC"), output([1, 3, 3, 2])),
        "weights O",
        "given 4",
        "expected 5, the channels of diff_dst",
        "[1, 4, 5, 5]",
        "NXC: axis 3",
        "did you mean data_format NCX?",
    ),
    row("D2.24", output([2, 2, 3, 3]), "axis N", "given 2", "expected 1, the batch of diff_dst"),
]

D3 = [
    row("D3.1", inputs(1), "inputs: given 1", "expected 2 or 3", "missing diff_dst"),
    row("D3.2", attrs(mode=LEFT_OUT), "mode is missing", "nearest, linear, bilinear, trilinear"),
    row("D3.3", attrs(mode="cubic"), '"cubic"', "nearest, linear, bilinear, trilinear"),
    row("D3.5", attrs(sizes=LEFT_OUT), "sizes attribute", "scales attribute", "sizes input"),
    row("D3.7", attrs(sizes=[6]), "sizes", "given 1", "expected 2", "spatial axis"),
    row("D3.8", attrs(sizes=[1, 2, 6, 6]), "sizes", "given 4", "expected 2", "without N and C"),
    row("D3.9", attrs(sizes=[6, 0]), "sizes axis W", "given 0", "positive"),
    row("D3.10", attrs(sizes=[7, 6]), "sizes axis H", "given 7", "expected 6, that of diff_dst"),
    row(
        "D3.11",
        attrs(sizes=LEFT_OUT, scales=[2.5, 2]),
        "scales axis H",
        "trunc(3 * 2.5) = 7",
        "expected 6",
    ),
    row("D3.12 zero", attrs(scales=[0, 2]), "scales axis H", "given 0", "positive and finite"),
    row("D3.12 negative", attrs(scales=[-2, 2]), "scales axis H", "given -2", "positive and finite"),
    row("D3.12 nan", attrs(scales=[2, float("nan")]), "scales axis W", "given nan", "positive and finite"),
    row(
        "D3.13",
        dim_of("attrs", "scales", value={"type": "s64[]", "value": [2, 2]}),
        "scales",
        'given "s64[]"',
        "expected f32[]",
        json_only=True,
    ),
    row(
        "D3.14",
        attrs(coordinate_transformation_mode="asymmetric"),
        '"asymmetric"',
        "half_pixel, align_corners",
        "ResizeBilinearV2Grad",
    ),
    row("D3.15", ports(None, [1, 3, 6, 6]), "axis C", "src 2", "diff_dst 3"),
    row("D3.16", ports(None, [2, 2, 6, 6]), "axis N", "src 1", "diff_dst 2"),
    row("D3.17", ports(None, [1, 2, 6]), "ranks", "src [1, 2, 3, 3]", "diff_dst [1, 2, 6]"),
    row("D3.18 rank 2", ports([1, 2], [1, 2], [1, 2]), "rank of src", "given 2", "3 to 5"),
    row("D3.18 rank 6", ports(*[[1, 2, 3, 3, 3, 3]] * 3), "rank of src", "given 6", "3 to 5"),
    row(
        "D3.19",
        output([1, 2, 6, 6]),
        "diff_src",
        "given [1, 2, 6, 6]",
        "expected [1, 2, 3, 3], that of src",
    ),
    row("D3.20", ports(dtypes=(None, "f16")), "src f32", "diff_dst f16"),
    row("D3.21 dtype", sizes_input("f32"), "sizes", "given f32", "expected s32", json_only=True),
    row("D3.21 rank", sizes_input(shape=(1, 2)), "sizes", "[1, 2]", "expected [2]", json_only=True),
    row("D3.21 length", sizes_input(shape=(3,)), "sizes", "given [3]", "expected [2]", json_only=True),
    row(
        "D3.23",
        attrs(data_format=LEFT_OUT),
        "axis C",
        "src 3, diff_dst 6",
        "data_format is not given: its default is NXC",
    ),
    row("D3.24", ports([1, 2, 0, 3]), "src axis H", "given 0", "positive"),
]

D4 = [
    row("D4.1 rank 3", ports([1, 2, 6]), "rank of grads", "given 3", "expected 4", "InterpolateBackward"),
    row("D4.1 rank 5", ports([1, 2, 6, 6, 6]), "rank of grads", "given 5", "InterpolateBackward"),
    row("D4.2", inputs(1), "missing original_image"),
    row(
        "D4.3",
        attrs(align_corners=True, half_pixel_centers=True),
        "align_corners and half_pixel_centers",
    ),
    row("D4.4", ports([2, 2, 6, 6]), "axis N", "grads 2", "original_image 1"),
    row("D4.5", ports([1, 3, 6, 6]), "axis C (axis 1 of NCHW)", "grads 3", "original_image 2"),
    row("D4.5 NHWC", (NHWC, ports([1, 6, 6, 3], [1, 3, 3, 2])), "axis C (axis 3 of NHWC)", "grads 3"),
    row("D4.6 ND", attrs(format="ND"), '"ND"', "NCHW, NHWC"),
    row("D4.6 NC1HWC0", attrs(format="NC1HWC0"), '"NC1HWC0"', "NCHW, NHWC"),
    row("D4.7", (NHWC, ports([1, 6, 6, 2])), "[1, 6, 6, 2]", "[1, 2, 3, 3]"),
    row("D4.8", output([1, 2, 6, 6]), "shape of y", "given [1, 2, 6, 6]", "expected [1, 2, 3, 3]"),
    row("D4.9 grads", ports([1, 2, 0, 6]), "grads axis H", "given 0", "positive"),
    row("D4.9 image", ports(None, [1, 2, 3, 0]), "original_image axis W", "given 0", "positive"),
    row("D4.10", ports(dtypes=("f16",)), "f16 and f32", "only f32 grads go with an image of another"),
    row("D4.11", ports(dtypes=(None, None, "f16")), "dtype of y", "given f16", "f32", json_only=True),
    row("D4.12 f64", ports(dtypes=("f64",) * 3), "grads", "given f64", "f32, f16, bf16"),
    row("D4.12 s32", ports(dtypes=("s32",) * 3), "grads", "given s32", "f32, f16, bf16"),
    row("D4.13 one", attrs(scales=[2.0]), "scales", "given 1", "expected 2"),
    row("D4.13 three", attrs(scales=[2.0, 2.0, 2.0]), "scales", "given 3", "expected 2"),
    row("D4.17 NaN", attrs(scales=[float("nan"), 2.0]), "scales", "given nan", "finite"),
    row("D4.17 inf", attrs(scales=[2.0, float("inf")]), "scales", "given inf", "finite"),
    row("D4.18", attrs(alignCorners=True), "alignCorners", "did you mean align_corners?"),
    row("D4u.19 output", attrs(outputSize=[6]), "outputSize", "given 1", "expected 2"),
    row("D4u.19 input", attrs(inputSize=[3, 3]), "inputSize", "given 2", "expected 4"),
    row("D4u.20", attrs(outputSize=[5, 6]), "outputSize axis H", "given 5", "expected 6, that of gradOut"),
    row(
        "D4u.21",
        (NHWC, ports([1, 6, 6, 2], [1, 3, 3, 2])),
        "axis C",
        "inputSize 3, gradOut 2",
        "tensor's own format order",
        "NHWC",
    ),
]

ROWS = [*D0, *D1, *D2, *D3, *D4]


def line_of(document: Doc) -> str:
    """The diagnostic of a document's text; it is one line, with a place inside the text."""
    text = text_of(document)
    with pytest.raises(GradcError) as caught:
        import_json(text, "g.json")
    assert caught.value.exit_code == 4
    line = str(caught.value)
    match = re.fullmatch(r"g\.json:(\d+):(\d+): error: (.*)", line)
    assert match, line
    assert _is_a_begin(text.splitlines(), int(match[1]), int(match[2]))
    return match[3]


def _is_a_begin(lines: list[str], row: int, column: int) -> bool:
    """Whether a value begins at a place of a JSON text."""
    before, here = lines[row - 1][: column - 1], lines[row - 1][column - 1 :]
    return (not before or before.endswith(" ")) and here[0] in '{["-0123456789tfn'


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_bases_are_valid(base: Doc):
    import_json(text_of(base), "g.json").verify()
    graph_of(base).module()


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.row)
def test_json(case: Row):
    line = line_of(case.document())
    for name in case.names:
        assert name in line, line


@pytest.mark.sweep
@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.row)
def test_dict(case: Row):
    """The same message without a place: there is no text."""
    with pytest.raises(GradcError) as caught:
        import_document(case.document())
    assert str(caught.value) == f"error: {line_of(case.document())}"


@pytest.mark.sweep
@pytest.mark.parametrize("case", [c for c in ROWS if c not in D0 and not c.json_only], ids=lambda c: c.row)
def test_builder(case: Row):
    """The same message at the caller's line; a graph built in Python has no op ids."""
    with pytest.raises(GradcError) as caught:
        graph_of(case.document())
    match = re.fullmatch(r"(.*):(\d+):1: error: (.*)", str(caught.value))
    assert match
    assert match[1] == __file__
    assert match[3] == line_of(case.document()).replace(" id 0]", "]")


def graph_of(document: Doc) -> Graph:
    """The document's first op through the builder."""
    first = document["graph"][0]
    g = Graph()
    values = [g.input(f"t{t['id']}", t["dtype"], dims(t["shape"])) for t in first["inputs"]]
    given = {name: entry["value"] for name, entry in first["attrs"].items()}
    if first["kind"].startswith("Conv"):
        given["auto_pad_rule"] = "library"
    if first["kind"] == "UpsampleBilinear2dBackward":
        given["gradOut"] = values.pop()
    declared = first["outputs"][0]["shape"]
    method = getattr(g, BUILDER_METHODS[first["kind"]])
    result = None if declared == [UNKNOWN] else dims(declared)
    g.output(method(*values, name=first["name"], result_shape=result, **given))
    return g


def dims(shape: list[int]) -> list[int | None]:
    return [None if dim == UNKNOWN else dim for dim in shape]


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("graph: yes", "1:1", "Expecting value"),
        ('{"graph": [\n {"id": 0,', "2:11", "the text ends here"),
        ('{"graph":\n [}', "2:3", "Expecting value"),
        ("", "1:1", "the text ends here"),
        ('{"version": "3.0.0"\n "graph": []}', "2:2", "','"),
    ],
)
def test_not_json(text: str, place: str, reason: str):
    """Row D0.1."""
    with pytest.raises(GradcError) as caught:
        import_json(text, "g.json")
    line = str(caught.value)
    assert line.startswith(f"g.json:{place}: error: not JSON")
    assert reason in line


@pytest.mark.parametrize("length", range(1, 1300, 61))
def test_truncated(length: int):
    text = text_of(CONV)
    with pytest.raises(GradcError) as caught:
        import_json(text[:length], "g.json")
    assert re.fullmatch(r"g\.json:\d+:\d+: error: not JSON.*", str(caught.value))


def test_sizes_constant_disagrees():
    """Row D3.22; a JSON document holds no constants."""
    import numpy as np

    g = Graph()
    src, diff_dst = g.input("src", "f32", (1, 2, 3, 3)), g.input("diff_dst", "f32", (1, 2, 6, 6))
    sizes = g.constant(np.array([5, 6], np.int32))
    with pytest.raises(GradcError, match=r"sizes input axis H: given 5, expected 6, that of diff_dst"):
        g.interpolate_backward(src, diff_dst, sizes, mode="linear", data_format="NCX")


def test_unsupported_kind_is_no_bad_input():
    with pytest.raises(
        UnsupportedError,
        match=r"1 of 1 ops: 1 Wildcard \(id 0\); docs/mixed_graphs.md lists the supported kinds",
    ) as caught:
        import_document(changed(CONV, first_op(kind="Wildcard")))
    assert caught.value.exit_code == 3


def remarks_of(document: Doc) -> list[Diagnostic]:
    module = import_json(text_of(document), "g.json")
    module.verify()
    return list(collect_remarks(list(module.walk())))


@dataclass(frozen=True)
class Noted:
    row: Row
    severity: str
    strict: bool = False


NOTED = [
    Noted(
        row("D1.31", attrs(output_padding=[2, 0]), "output_padding axis H", "given 2", "0"), "remark", True
    ),
    Noted(
        row(
            "D2.6",
            (attrs(groups=2), ports(None, [1, 4, 3, 3])),
            "[1, 4, 3, 3]",
            "page's layout",
            "[2, 2, 3, 3]",
        ),
        "remark",
    ),
    Noted(row("D3.4", attrs(mode="trilinear"), "trilinear", "rank 4", "2 spatial axes"), "warning", True),
    Noted(
        row("D3.6", attrs(scales=[2, 2]), "sizes [6, 6]", "scales [2.0, 2.0]", "sizes wins"), "warning", True
    ),
    Noted(
        row(
            "D3.25",
            attrs(mode="nearest", coordinate_transformation_mode="align_corners"),
            "align_corners",
            "half up",
        ),
        "remark",
    ),
    Noted(row("D4.14", attrs(scales=[2.0, 0.0]), "H uses 1/2", "W uses the ratio of the sizes"), "remark"),
    Noted(row("D4.15", attrs(scales=[3.0, 2.0]), "H: 3", "6/3 = 2", "follow the given scale"), "warning"),
    Noted(row("D4.16", attrs(scales=[2.0, 2.0], align_corners=True), "ignored", "align_corners"), "remark"),
    Noted(row("D4.17", attrs(scales=[-1.0, 2.0]), "H: -1", "negative", "unset"), "remark"),
]


@pytest.mark.parametrize("case", NOTED, ids=lambda case: case.row.row)
def test_remarks(case: Noted):
    found = remarks_of(case.row.document())
    matching = [r for r in found if all(name in r.message for name in case.row.names)]
    assert matching, [str(r) for r in found]
    assert (matching[0].severity, matching[0].strict) == (case.severity, case.strict)
    assert re.match(r"g\.json:\d+:\d+: ", str(matching[0]))


LEGAL = {
    "D1.7": (CONV, dst_shape_input(), "tensor<1x2x?x?xf32>"),
    "D1.32 twelve zeros": (CONV, attrs(output_padding=[0] * 12, dst_shape=[0] * 12), "tensor<1x2x5x5xf32>"),
    "D2.19": (
        CONV_TRANSPOSE,
        (lambda doc: (attrs(auto_pad="SAME_UPPER")(doc), output([UNKNOWN])(doc))),
        "tensor<1x2x3x3xf32>",
    ),
    "D2.20 none": (CONV_TRANSPOSE, attrs(auto_pad="none"), "tensor<1x2x3x3xf32>"),
}


@pytest.mark.parametrize("case", LEGAL.values(), ids=LEGAL)
def test_legal(case: tuple[Doc, Change, str]):
    base, change, result = case
    module = import_json(text_of(changed(base, change)), "g.json")
    module.verify()
    assert f"-> {result}" in str(module)


def test_no_remark_on_the_bases():
    assert [str(r) for base in BASES.values() for r in remarks_of(base)] == []


def test_every_row_is_here():
    """The numbers of each table, but for those that only the driver can meet (D4.22: a target)."""
    counts = {"D0": 18, "D1": 33, "D2": 24, "D3": 25, "D4": 21}
    elsewhere = {"D0.1", "D3.22"}
    named = [*(c.row for c in ROWS), *(n.row.row for n in NOTED), *LEGAL]
    found = {name.split()[0].replace("D4u", "D4") for name in named} | elsewhere
    assert found == {f"{group}.{i}" for group, count in counts.items() for i in range(1, count + 1)}


def outcome(text: str) -> str:
    """The diagnostic of a text, or '' where it is imported."""
    try:
        import_json(text, "g.json").verify()
    except GradcError as error:
        return str(error)
    return ""


@pytest.mark.sweep
def test_a_broken_document_is_never_a_traceback():
    """Every value of a document replaced by values of other types: a located line or a module."""
    strange: list[Any] = [
        None,
        True,
        -1,
        1.5,
        "x",
        [],
        {},
        [None],
        [[1]],
        {"type": "s64", "value": None},
        2**70,
    ]
    base = two_convolutions()
    base["input_ports"], base["output_ports"] = [0, 1, 3], [4]
    cases = list(itertools.product(paths_of(base), strange))
    assert len(cases) > 800
    taken, lines = some(cases), set()
    for path, value in taken:
        doc = copy.deepcopy(base)
        place: Any = doc
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        lines.add(outcome(json.dumps(doc)))
    assert len(lines) > len(taken) / 5
    assert [
        line
        for reported in lines
        for line in reported.splitlines()
        if not re.fullmatch(r"g\.json:1:\d+: error: .*|error: \d+ more errors are not shown", line)
    ] == []


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [p for key, entry in entries for p in ((*path, key), *paths_of(entry, (*path, key)))]
