"""oneDNN Graph documents written by hand: valid bases, and changes to them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

Doc = dict[str, Any]
Change = Callable[[Doc], object]

UNKNOWN = -(2**63)
LEFT_OUT = object()


def tensor(identifier: int, shape: list[int], dtype: str = "f32") -> Doc:
    stride = [UNKNOWN] if shape == [UNKNOWN] else [1] * len(shape)
    keys = {"id": identifier, "dtype": dtype, "shape": shape, "stride": stride}
    return keys | {"layout_type": "strided", "property_type": "undef"}


def encoded(name: str, value: Any) -> Doc:
    """An attribute with the type tag that its value suggests."""
    tag = "string" if isinstance(value, str) else "f32" if name in ("scalesH", "scalesW") else "s64"
    if isinstance(value, bool):
        return {"type": "bool", "value": int(value)}
    if isinstance(value, list):
        tag = "f32[]" if name == "scales" else "s64[]"
    return {"type": tag, "value": value}


def op(identifier: int, kind: str, attrs: Doc, inputs: list[Doc], outputs: list[Doc], name: str = "") -> Doc:
    return {
        "id": identifier,
        "name": name or f"op_{identifier}",
        "kind": kind,
        "attrs": {key: encoded(key, value) for key, value in attrs.items()},
        "inputs": inputs,
        "outputs": outputs,
    }


def document(*ops: Doc, **top: Any) -> Doc:
    head = {"version": "3.7.0", "engine_kind": "cpu", "fpmath_mode": "strict"}
    return head | top | {"graph": list(ops)}


def text_of(doc: Doc) -> str:
    return json.dumps(doc, indent=1)


def changed(base: Doc, *changes: Change) -> Doc:
    doc = copy.deepcopy(base)
    for change in changes:
        change(doc)
    return doc


WINDOW = {"strides": [2, 2], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}

CONV_ATTRS = WINDOW | {"groups": 1, "data_format": "NCX", "weights_format": "OIX"}
CONV = document(
    op(
        0,
        "ConvolutionBackwardData",
        CONV_ATTRS | {"dst_shape": [1, 2, 5, 5]},
        [tensor(0, [1, 4, 3, 3]), tensor(1, [4, 2, 3, 3])],
        [tensor(2, [1, 2, 5, 5])],
        "conv",
    )
)
CONV_TRANSPOSE = document(
    op(
        0,
        "ConvTransposeBackwardData",
        CONV_ATTRS | {"weights_format": "IOX"},
        [tensor(0, [1, 4, 5, 5]), tensor(1, [2, 4, 3, 3])],
        [tensor(2, [1, 2, 3, 3])],
        "deconv",
    )
)
INTERPOLATE = document(
    op(
        0,
        "InterpolateBackward",
        {"mode": "linear", "sizes": [6, 6], "data_format": "NCX"},
        [tensor(0, [1, 2, 3, 3]), tensor(1, [1, 2, 6, 6])],
        [tensor(2, [1, 2, 3, 3])],
        "up",
    )
)
RESIZE = document(
    op(
        0,
        "ResizeBilinearV2Grad",
        {"format": "NCHW"},
        [tensor(0, [1, 2, 6, 6]), tensor(1, [1, 2, 3, 3])],
        [tensor(2, [1, 2, 3, 3])],
        "resize",
    )
)
UPSAMPLE = document(
    op(
        0,
        "UpsampleBilinear2dBackward",
        {"outputSize": [6, 6], "inputSize": [1, 2, 3, 3]},
        [tensor(0, [1, 2, 6, 6])],
        [tensor(2, [1, 2, 3, 3])],
        "upsample",
    )
)


def two_convolutions() -> Doc:
    """Op 0 makes tensor 2 (1, 2, 5, 5); op 1 reads it and makes tensor 4 (1, 3, 9, 9)."""
    second = op(
        1,
        "ConvolutionBackwardData",
        CONV_ATTRS | {"dst_shape": [1, 3, 9, 9]},
        [tensor(2, [1, 2, 5, 5]), tensor(3, [2, 3, 3, 3])],
        [tensor(4, [1, 3, 9, 9])],
        "second",
    )
    return document(*copy.deepcopy(CONV["graph"]), second)


def attrs(**values: Any) -> Change:
    """Set attributes of op 0; LEFT_OUT takes one away."""

    def change(doc: Doc) -> None:
        held = doc["graph"][0]["attrs"]
        for name, value in values.items():
            held.pop(name, None)
            if value is not LEFT_OUT:
                held[name] = encoded(name, value)

    return change


def ports(*shapes: list[int] | None, dtypes: tuple[str | None, ...] = ()) -> Change:
    """New shapes and dtypes of op 0's inputs and then its output; None leaves one as it is."""

    def change(doc: Doc) -> None:
        first = doc["graph"][0]
        records = [*first["inputs"], *first["outputs"]]
        for record, shape in zip(records, shapes, strict=False):
            if shape is not None:
                record.update(tensor(record["id"], shape, record["dtype"]))
        for record, dtype in zip(records, dtypes, strict=False):
            record["dtype"] = dtype or record["dtype"]

    return change


def inputs(count: int, *more: Doc | None) -> Change:
    """Keep the first `count` inputs of op 0 and add some."""

    def change(doc: Doc) -> None:
        first = doc["graph"][0]
        first["inputs"] = [*first["inputs"][:count], *more]

    return change


def output(shape: list[int]) -> Change:
    return lambda doc: doc["graph"][0]["outputs"][0].update(tensor(2, shape))


def first_op(**values: Any) -> Change:
    return lambda doc: doc["graph"][0].update(values)


def top(**values: Any) -> Change:
    return lambda doc: doc.update(values)
