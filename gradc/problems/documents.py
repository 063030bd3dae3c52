"""Problems as oneDNN Graph documents, as frameworks pass them to oneDNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dialects.support import layouts, shapes
from dialects.support.shapes import Shape
from gradc.problems.base import Problem
from gradc.problems.conv import ConvBackwardDataProblem, ConvTransposeBackwardDataProblem
from gradc.problems.resize import ResizeBackwardProblem

DTYPES = ("f32", "bf16", "f16")
UNKNOWN = -(2**63)

Attributes = dict[str, tuple[str, Any]]
"""Name -> type word and value."""


def document_of(problem: Problem) -> dict[str, Any] | None:
    """Return a document of one op, or None: tensor 0 is diff_dst, 1 the weights or src, 2 diff_src.

    f64, steps and coordinate rules that InterpolateBackward lacks, dynamic sizes of diff_src, and resized
    axes other than all spatial ones have no document.
    """
    if problem.dtype not in DTYPES:
        return None
    match problem:
        case ConvBackwardDataProblem():
            return _conv(problem, "ConvolutionBackwardData", "OIX", with_shape=True)
        case ConvTransposeBackwardDataProblem():
            return _conv(problem, "ConvTransposeBackwardData", "IOX", with_shape=False)
        case ResizeBackwardProblem():
            return _resize(problem)
        case _:
            return None


def _conv(
    problem: ConvBackwardDataProblem | ConvTransposeBackwardDataProblem,
    kind: str,
    weights_format: str,
    with_shape: bool,
) -> dict[str, Any] | None:
    if with_shape and not shapes.is_static(problem.diff_src[2:]):
        return None
    names = ("strides", "pads_begin", "pads_end", "dilations")
    attributes: Attributes = {name: ("s64[]", list(getattr(problem, name))) for name in names}
    attributes["groups"] = ("s64", problem.groups)
    attributes["data_format"] = ("string", problem.layout)
    attributes["weights_format"] = ("string", weights_format)
    if with_shape:
        attributes["dst_shape"] = ("s64[]", _dims(_laid_out(problem, problem.diff_src)))
    is_constant = problem.weights_are == "constant"
    weights = _tensor(1, problem.dtype, problem.weights, "constant" if is_constant else "variable")
    inputs = [_data(problem, 0, problem.diff_dst), weights]
    return _document(kind, attributes, inputs, _data(problem, 2, problem.diff_src))


def _resize(problem: ResizeBackwardProblem) -> dict[str, Any] | None:
    rank = len(problem.diff_dst)
    if problem.axes != tuple(range(2, rank)) or rank not in (3, 4, 5):
        return None
    rule = _rule(problem)
    if rule is None:
        return None
    attributes: Attributes = {name: ("string", word) for name, word in rule.items()}
    attributes["sizes"] = ("s64[]", _dims(problem.diff_dst[2:]))
    attributes["data_format"] = ("string", problem.layout)
    inputs = [_data(problem, 1, problem.diff_src), _data(problem, 0, problem.diff_dst)]
    return _document("InterpolateBackward", attributes, inputs, _data(problem, 2, problem.diff_src))


def _rule(problem: ResizeBackwardProblem) -> dict[str, str] | None:
    """Return the attributes of the sampling rule; `nearest_rounding` is a gradc extension."""
    modes = problem.coordinate_modes
    if problem.interpolation == "nearest_floor":
        rule = {"mode": "nearest", "nearest_rounding": "pytorch_nearest"}
        return rule if "asymmetric" in modes else None
    if not modes or modes[0] == "asymmetric":
        return None
    rule = {"coordinate_transformation_mode": modes[0]}
    match problem.interpolation:
        case "linear":
            return rule | {"mode": "linear"}
        case "nearest_half_up":
            return rule | {"mode": "nearest"}
        case _:
            return rule | {"mode": "nearest", "nearest_rounding": "onnx_prefer_floor"}


def _laid_out(problem: Problem, shape: Shape) -> Shape:
    return layouts.reorder(shape, "NCX", problem.layout)


def _dims(shape: Shape) -> list[int]:
    return [dim if isinstance(dim, int) else UNKNOWN for dim in shape]


def _data(problem: Problem, identifier: int, shape: Shape) -> dict[str, Any]:
    return _tensor(identifier, problem.dtype, _laid_out(problem, shape), "variable")


def _tensor(identifier: int, dtype: str, shape: Shape, property_type: str) -> dict[str, Any]:
    dims = _dims(shape)
    return {
        "id": identifier,
        "dtype": dtype,
        "shape": dims,
        "stride": _strides(dims),
        "layout_type": "strided",
        "property_type": property_type,
    }


def _strides(dims: Sequence[int]) -> list[int]:
    """Return dense strides, unknown for axes left of an unknown size."""
    strides, step = [], 1
    for dim in reversed(dims):
        strides.append(step)
        step = UNKNOWN if UNKNOWN in (dim, step) else step * max(dim, 1)
    return strides[::-1]


def _document(
    kind: str, attributes: Attributes, inputs: list[dict[str, Any]], output: dict[str, Any]
) -> dict[str, Any]:
    op = {
        "id": 0,
        "name": "problem",
        "kind": kind,
        "attrs": {name: {"type": tag, "value": value} for name, (tag, value) in attributes.items()},
        "inputs": inputs,
        "outputs": [output],
    }
    return {"version": "3.7.0", "engine_kind": "cpu", "fpmath_mode": "strict", "graph": [op]}
