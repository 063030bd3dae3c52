"""What newer versions of ops brought, at older opsets: in older forms that compute the same, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, helper, numpy_helper

import gradc
from dialects.support.diagnostics import UnsupportedError
from gradc.inspection.inspection import inspect

RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.uniform(0.1, 2, shape).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


X = floats(2, 3)
CUBE = floats(2, 1, 3)
IMAGE = floats(1, 2, 4, 6)
SQUARE = floats(1, 2, 9, 9)
BYTES = [np.array(values) for values in ([250, 3, 100, 7], [9, 2, 200, 3])]
ROWS = np.array([[1], [1], [2]])
PLACES = np.array([[0, 1, 0], [0, 2, 1]])
POOL = {"kernel_shape": [3, 2], "dilations": [2, 3]}

Case = tuple[str, int, list[np.ndarray | None], dict[str, Any]]

WRITTEN: dict[str, Case] = {
    **{
        f"{op} of no axes, noop {noop}, keepdims {keeps}": (
            op, 20, [X, whole()], {"noop_with_empty_axes": noop, "keepdims": keeps}
        )
        for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
        for noop in (0, 1)
        for keeps in (0, 1)
    },
    "ReduceProd without axes": ("ReduceProd", 20, [X], {"noop_with_empty_axes": 1}),
    "ReduceMax of truth values": ("ReduceMax", 20, [X > 1, whole(1)], {"keepdims": 0}),
    "ReduceMin of truth values": ("ReduceMin", 20, [X > 1, whole(1)], {}),
    **{
        f"{op} of {dtype}": (op, 14, [array.astype(dtype) for array in BYTES], {})
        for op in ("Add", "Sub", "Mul", "Div")
        for dtype in ("uint8", "int8", "uint16", "int16")
    },
    "Resize of axes by sizes": (
        "Resize", 18, [IMAGE, None, None, whole(3, 8)], {"axes": [3, 2], "mode": "linear"}
    ),
    "Resize of axes by scales": ("Resize", 18, [IMAGE, None, np.float32([2, 0.5])], {"axes": [2, 3]}),
    "Resize of a region": (
        "Resize",
        18,
        [IMAGE, np.float32([0.1, 0.2, 0.8, 0.9]), None, whole(8, 3)],
        {"axes": [3, 2], "mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
    ),
    **{
        f"Resize {policy}": (
            "Resize",
            18,
            [IMAGE, None, None, whole(8, 9)],
            {"axes": [2, 3], "mode": "linear", "keep_aspect_ratio_policy": policy},
        )
        for policy in ("not_larger", "not_smaller")
    },
    **{
        f"Resize {mode} {name}": (
            "Resize", 19, [IMAGE, None, None, whole(1, 2, 3, 8)], {"mode": mode, **given}
        )
        for mode in ("linear", "cubic")
        for name, given in {
            "antialias": {"antialias": 1},
            "half_pixel_symmetric": {"coordinate_transformation_mode": "half_pixel_symmetric"},
        }.items()
    },
    "Resize antialias of axes": (
        "Resize", 18, [IMAGE, None, np.float32([0.5] * 2)], {"axes": [3, 2], "antialias": 1, "mode": "linear"}
    ),
    "AveragePool with dilations": ("AveragePool", 19, [SQUARE], {**POOL, "strides": [2, 1]}),
    **{
        f"AveragePool with dilations, pads count {counted}": (
            "AveragePool", 19, [SQUARE], {**POOL, "pads": [1, 1, 0, 1], "count_include_pad": counted}
        )
        for counted in (0, 1)
    },
    **{
        f"AveragePool with dilations, {pads}, ceil {ceil}, count {counted}": (
            "AveragePool",
            19,
            [SQUARE],
            {**POOL, "strides": [2, 2], **given, "ceil_mode": ceil, "count_include_pad": counted},
        )
        for counted in (0, 1)
        for pads, given, ceil in (
            ("no pads", {}, 1),
            ("pads", {"pads": [1, 0, 1, 1]}, 1),
        )
    },
    "LpPool with dilations, ceil": ("LpPool", 18, [SQUARE], {**POOL, "strides": [2, 2], "ceil_mode": 1}),
    "Reshape to no elements": ("Reshape", 14, [floats(0, 6), whole(3, 0)], {"allowzero": 1}),
    **{
        f"BitwiseNot of {dtype}": ("BitwiseNot", 18, [np.array([0, 5, 77]).astype(dtype)], {})
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
    },
    "AveragePool with dilations of 1": ("AveragePool", 19, [SQUARE], {**POOL, "dilations": [1, 1]}),
    "LpPool with dilations": ("LpPool", 18, [SQUARE], {**POOL, "p": 3, "pads": [1, 1, 0, 0]}),
    "Pad that wraps": ("Pad", 19, [X, whole(1, 9, 2, 5)], {"mode": "wrap"}),
    "Pad that wraps an axis": ("Pad", 19, [X, whole(2, 1), None, whole(-1)], {"mode": "wrap"}),
    **{
        f"ScatterND {how}": ("ScatterND", 18, [floats(4, 3), ROWS, floats(3, 3)], {"reduction": how})
        for how in ("add", "mul", "max", "min")
    },
    **{
        f"ScatterElements {how}": (
            "ScatterElements", 18, [floats(4, 3), PLACES, floats(2, 3)], {"reduction": how, "axis": axis}
        )
        for axis, how in enumerate(("add", "mul", "max", "min"), -2)
        if axis < 2
    },
}  # fmt: skip
"""Of constants: op, the opset that has the form, operands, attributes. The first operand is an input."""

OF_RUN_TIME: dict[str, Case] = {
    "ReduceMean": ("ReduceMean", 18, [X, whole(1)], {}),
    **{
        f"{op} over {axes}, keepdims {keeps}, noop {noop}": (
            op,
            18,
            [CUBE, whole(*axes)],
            {"keepdims": keeps, "noop_with_empty_axes": noop},
        )
        for op, axes, keeps, noop in (
            ("ReduceMax", (1,), 1, 0),
            ("ReduceMin", (2, -3), 0, 0),
            ("ReduceProd", (-1,), 0, 0),
            ("ReduceMax", (), 0, 0),
            ("ReduceMin", (), 1, 0),
            ("ReduceProd", (), 0, 1),
        )
    },
    "ReduceMax of truth values": ("ReduceMax", 20, [X > 1, whole(1)], {}),
    "Resize by sizes": ("Resize", 18, [IMAGE, None, None, whole(8, 3)], {"axes": [2, 3], "mode": "linear"}),
    "ScatterND add": ("ScatterND", 16, [floats(4, 3), ROWS, floats(3, 3)], {"reduction": "add"}),
    "ScatterElements add": (
        "ScatterElements",
        16,
        [floats(4, 3), PLACES, floats(2, 3)],
        {"reduction": "add"},
    ),
}

OF_RUN_TIME |= {
    **{
        f"Pad that wraps by {pads} of run time": ("Pad", 19, [X, whole(*pads)], {"mode": "wrap"})
        for pads in ((1, 0, 0, 1), (0, 5, 3, 0), (-1, 2, 0, -1), (0, -2, 2, 4))
    },
    **{
        f"ScatterND {how} of {dtype}": (
            "ScatterND",
            18,
            [floats(4, 3).astype(dtype), ROWS, (3 * floats(3, 3)).astype(dtype)],
            {"reduction": how},
        )
        for how in ("mul", "max", "min")
        for dtype in ("float32", "int64")
    },
    **{
        f"ScatterElements {how}": (
            "ScatterElements", 18, [floats(4, 3), PLACES, floats(2, 3)], {"reduction": how, "axis": 1}
        )
        for how in ("mul", "max", "min")
    },
    **{
        f"Reshape of {given} to {wanted} of run time": (
            "Reshape", 14, [floats(*given), whole(*wanted)], {"allowzero": 1}
        )
        for given, wanted in (
            ((2, 6), (3, 4)), ((2, 6), (3, -1)), ((0, 6), (3, 0)), ((0, 6), (0, 2)), ((0, 6), (6, 0, 3))
        )
    },
    "ScatterND max of no updates": (
        "ScatterND", 18, [floats(4, 3), np.zeros((0, 1), np.int64), floats(0, 3)], {"reduction": "max"}
    ),
    **{
        f"{op} of {dtype}": (
            op, 18, [np.array(given).astype(dtype) for given in ([[12, -5, 77, -128]], [[10], [3], [-1]])], {}
        )
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    },
}  # fmt: skip

WRITTEN |= {
    "Pad that cuts and wraps": ("Pad", 19, [X, whole(0, -1, 1, 3)], {"mode": "wrap"}),
    "Col2Im": ("Col2Im", 18, [floats(1, 10, 5), whole(5, 5), whole(1, 5)], {}),
    "Col2Im of strides": (
        "Col2Im", 18, [floats(2, 12, 4), whole(5, 6), whole(2, 3)], {"strides": [2, 2], "pads": [0, 0, 0, 0]}
    ),
    "Col2Im of dilations and pads": (
        "Col2Im",
        18,
        [floats(1, 4, 15), whole(4, 5), whole(2, 2)],
        {"dilations": [2, 2], "pads": [1, 1, 0, 1]},
    ),
}  # fmt: skip

GRID = RNG.uniform(-1.5, 1.5, (1, 3, 3, 2)).astype(np.float32)
SIGNAL = floats(2, 6, 2)
BOXES = [np.array([[0.1, 0.2, 2, 3], [1, 0, 3.5, 2]], np.float32), whole(0, 0)]

WRITTEN |= {
    f"DFT of {length} {how}, {parts}": ("DFT", 20, [SIGNAL[..., :parts], length], how)
    for parts, how in (
        (2, {}), (1, {}), (2, {"inverse": 1}), (1, {"onesided": 1}), (2, {"inverse": 1, "onesided": 1})
    )
    for length in ((None, np.array(11)) if len(how) == 2 else (None, np.array(5), np.array(9)))
}  # fmt: skip

OF_RUN_TIME |= {
    **{
        f"GridSample {mode}, {border}, {corners}": (
            "GridSample",
            16,
            [IMAGE, GRID],
            {"mode": mode, "padding_mode": border, "align_corners": corners},
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for border in ("zeros", "border", "reflection")
        for corners in (0, 1)
    },
    "RoiAlign": ("RoiAlign", 16, [IMAGE, *BOXES], {"output_height": 2, "output_width": 3}),
    "RoiAlign by samples": (
        "RoiAlign",
        16,
        [IMAGE, *BOXES],
        {"output_height": 2, "sampling_ratio": 2, "coordinate_transformation_mode": "output_half_pixel"},
    ),
    "DeformConv": (
        "DeformConv",
        19,
        [IMAGE, floats(3, 2, 2, 2), floats(1, 8, 4, 6), floats(3)],
        {"pads": [1, 0, 0, 1]},
    ),
    **{
        f"Pad {mode} of axes of run time": ("Pad", 18, [X, whole(1, 0), None, whole(-1)], {"mode": mode})
        for mode in ("constant", "edge", "reflect")
    },
    "Pad of two axes of run time": (
        "Pad",
        18,
        [X, whole(1, 2, 0, -1), np.array(7, np.float32), whole(1, 0)],
        {},
    ),
}

WRITTEN |= {
    f"CumProd of {dtype}, {how}": ("CumProd", 26, [floats(3, 4, 2).astype(dtype), np.array(axis)], how)
    for dtype in ("float32", "float64", "float16", "int64")
    for axis, how in (
        (1, {}), (-1, {"reverse": 1}), (0, {"exclusive": 1}), (2, {"exclusive": 1, "reverse": 1})
    )
}  # fmt: skip

REFUSED: dict[str, Case] = {
    "Col2Im of sizes of run time": ("Col2Im", 18, [floats(1, 10, 5), whole(5, 5), whole(1, 5)], {}),
}


def model(case: Case, constant: bool) -> tuple[ModelProto, dict[str, np.ndarray]]:
    op, opset, operands, attributes = case
    given = {f"x{i}": array for i, array in enumerate(operands) if array is not None}
    fed = {"x0": given["x0"]} if constant else given
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in fed.items()
    ]
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(operands)]
    weights = [numpy_helper.from_array(array, name) for name, array in given.items() if name not in fed]
    node = helper.make_node(op, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9), fed


def check(case: Case, opset: int, constant: bool) -> None:
    source, feeds = model(case, constant)
    found = gradc.compile(source, opset=opset).run(feeds)["y"]
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = np.asarray(session.run(None, feeds)[0])
    assert found.dtype == expected.dtype
    largest = np.abs(expected.astype(float)).max(initial=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * largest)


@pytest.mark.sweep
@pytest.mark.parametrize("name", WRITTEN)
def test_constants(name: str):
    """At the oldest opset, and at the one before that which brought the form."""
    for opset in {13, WRITTEN[name][1] - 1}:
        check(WRITTEN[name], opset, constant=True)


@pytest.mark.parametrize(("auto_pad", "pads"), [("SAME_UPPER", [2, 1, 2, 2]), ("SAME_LOWER", [2, 2, 2, 1])])
@pytest.mark.parametrize("counted", [0, 1])
def test_same_pads_of_dilated_windows(auto_pad: str, pads: list[int], counted: int):
    """onnxruntime takes pads of windows without dilations, and another shape than ONNX infers."""
    given: dict[str, Any] = {"kernel_shape": [3, 4], "dilations": [2, 1], "strides": [2, 2]}
    given["count_include_pad"] = counted
    source, feeds = model(("AveragePool", 19, [SQUARE], {**given, "auto_pad": auto_pad}), constant=True)
    explicit, _ = model(("AveragePool", 19, [SQUARE], {**given, "pads": pads}), constant=True)
    session = ort.InferenceSession(explicit.SerializeToString(), providers=["CPUExecutionProvider"])
    found = gradc.compile(source, opset=13).run(feeds)["y"]
    np.testing.assert_allclose(found, np.asarray(session.run(None, feeds)[0]), rtol=1e-5)


@pytest.mark.sweep
@pytest.mark.parametrize("name", OF_RUN_TIME)
def test_run_time_operands(name: str):
    check(OF_RUN_TIME[name], 13, constant=False)
    source, _ = model(OF_RUN_TIME[name], constant=False)
    assert all(node.handled for node in inspect(source, target="cpu", opset=13).lacks or [])


@pytest.mark.parametrize("name", REFUSED)
def test_what_older_opsets_cannot_say_is_refused(name: str):
    source, _ = model(REFUSED[name], constant=False)
    with pytest.raises(UnsupportedError, match="in this form: given opset=13, expected"):
        gradc.compile(source, opset=13)
    assert [node.handled for node in inspect(source, target="cpu", opset=13).lacks or []] == [False]
