"""What the derivative of each op of ONNX is good for, tried out: types, sizes of run time, and once more.

Each op stands in one of its small problems. Its gradient is compiled and run on onnxruntime, and held against
numpy in float64.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from support.float64 import evaluate_in_float64
from support.vjp_problems import Problem, module_of, problems
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

import gradc
from dialects.support.diagnostics import GradcError, UnsupportedError
from dialects.support.dtypes import by_name
from dialects.support.entry import entry_function, input_names, output_names, return_op
from gradc.crash_reports.crash import InternalError
from gradc.importers.onnx import import_onnx
from gradc.runtime.session import newest_released_opset
from passes.autodiff.activity.active_values import is_float
from passes.differentiate import Request, differentiate

DTYPES: Mapping[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f64": np.float64,
}
BOUNDS = {"f32": 1e-3, "f16": 4e-2, "bf16": 3e-1, "f64": 1e-5}
"""What a gradient may differ by, over its largest element."""

ELEMENTS = {"f32": "float", "f16": "float16", "bf16": "bfloat16", "f64": "double"}

HEAD = '<ir_version: 10, opset_import: ["": 21]>'
CONTROL: Mapping[str, tuple[str, str]] = {
    "If": (
        """y = If (c) <then_branch = a () => (D[A] p) { p = Sin (x) },
            else_branch = b () => (D[A] q) { q = Exp (x) }>""",
        "bool c",
    ),
    "Loop": (
        """t, y = Loop (n, c, x) <body = b (int64 i, bool go, D[A] s) => (bool on, D[A] next, D[A] kept)
            { on = Identity (go) next = Sin (s) kept = Mul (s, s) }>""",
        "int64 n, bool c",
    ),
    "Scan": (
        """y, t = Scan <num_scan_inputs = 1, body = b (D[A] s, D[A] z) => (D[A] next, D[A] kept)
            { next = Mul (s, z) kept = Sin (next) }> (x, w)""",
        "D[T, A] w",
    ),
    **{
        op: (f"t = SplitToSequence <axis = 0> (x, m) {node}", "int64[1] m, int64 k")
        for op, node in (
            ("SplitToSequence", "y = SequenceAt (t, k)"),
            ("SequenceAt", "p = SequenceAt (t, k) y = Sin (p)"),
            ("SequenceErase", "p = SequenceInsert (t, x) q = SequenceErase (p, k) y = SequenceAt (q, k)"),
            ("SequenceInsert", "p = SequenceInsert (t, x, k) y = ConcatFromSequence <axis = 0> (p)"),
            ("SequenceConstruct", "z = Sin (x) p = SequenceConstruct (z, x) y = SequenceAt (p, k)"),
            ("ConcatFromSequence", "p = ConcatFromSequence <axis = 0> (t) y = Sin (p)"),
            (
                "SequenceMap",
                """p = SequenceMap (t) <body = b (D[A] s) => (D[A] r) { r = Sin (s) }>
                y = ConcatFromSequence <axis = 0> (p)""",
            ),
        )
    },
}
"""Op with graphs of its own -> a node that reads x, and what else it reads. D is an element type."""

YES, NOT_IN_ONNX = "yes", "-"


def ops() -> list[str]:
    return sorted({*CONTROL, *(problem.op for problem in problems())})


def probe(op: str) -> dict[str, str]:
    """Column -> `yes`, `-` where ONNX has no such thing, or why not."""
    found = {dtype: _typed(op, dtype) for dtype in DTYPES}
    return {**found, "run-time sizes": _sizes(op), "integers": _integers(op), "twice": _twice(op)}


def _of(op: str) -> list[Problem]:
    return [problem for problem in problems() if problem.op == op]


def _typed(op: str, dtype: str) -> str:
    if op in CONTROL:
        return _tried(*_control(op, dtype, "3"), dtype)
    return _tried(*_static(op, dtype), dtype)


def _static(op: str, dtype: str) -> tuple[ModuleOp | None, list[np.ndarray]]:
    first = next(p for p in _of(op) if p.sizes == "static")
    return _made(first, dtype)


def _made(problem: Problem, dtype: str) -> tuple[ModuleOp | None, list[np.ndarray]]:
    """None where ONNX has the op in no such type."""
    if problem.op == "Cast":
        known = by_name(dtype)
        assert known is not None
        problem = replace(problem, attributes={"to": known.mlir})
    try:
        module, inputs = module_of(problem, DTYPES[dtype])
        module.verify()
    except (GradcError, VerifyException, KeyError):
        return None, []
    return module, inputs


def _sizes(op: str) -> str:
    if op in CONTROL:
        return _tried(*_control(op, "f32", "A"), "f32")
    return _first([_tried(*_made(p, "f32"), "f32") for p in _of(op) if p.sizes == "unknown" and not p.given])


def _integers(op: str) -> str:
    """Whether what says places, axes or sizes may be an input."""
    known = [
        p for p in _of(op) if any(isinstance(o, np.ndarray) and o.dtype.kind in "iu" for o in p.operands)
    ]
    if op in CONTROL or not known:
        return NOT_IN_ONNX
    given = [replace(p, given=True, sizes="unknown") for p in known if p.sizes == "static"]
    return _first([_tried(*_made(p, "f32"), "f32") for p in given])


def _twice(op: str) -> str:
    module, inputs = _control(op, "f32", "3") if op in CONTROL else _static(op, "f32")
    if module is None:
        return NOT_IN_ONNX
    results = evaluate_in_float64(module, inputs)
    rng = np.random.default_rng(1)
    try:
        _differentiate(module)
    except UnsupportedError as error:
        return error.diagnostic.message
    cotangents = [rng.normal(size=r.shape).astype(np.float32) for r in results if r.dtype == np.float64]
    return _tried(module, [*inputs, *cotangents], "f32")


def _first(found: Sequence[str]) -> str:
    """yes if any is."""
    return YES if YES in found else next((one for one in found if one != NOT_IN_ONNX), NOT_IN_ONNX)


def _control(op: str, dtype: str, size: str) -> tuple[ModuleOp | None, list[np.ndarray]]:
    node, further = CONTROL[op]
    made = {"Loop": "K, A", "If": "3", "Scan": "3"}.get(op, "K")
    text = f"{HEAD} g (D[A] x, {further}) => (D[{made}] y) {{ {node} }}"
    text = re.sub(r"\bA\b", size, text).replace("D[", f"{ELEMENTS[dtype]}[")
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(0)
    x = rng.normal(size=3).astype(DTYPES[dtype])
    others: Mapping[str, list[Any]] = {
        "If": [np.array(True)],
        "Loop": [np.array(2), np.array(True)],
        "Scan": [rng.normal(size=(2, 3)).astype(DTYPES[dtype])],
    }
    inputs = [x, *others.get(op, [np.array([3]), np.array(0)])]
    try:
        return import_onnx(model), inputs
    except GradcError:  # no sequences of bf16
        return None, []


def _differentiate(module: ModuleOp) -> None:
    function = entry_function(module)
    values = return_op(function).arguments
    of = [name for name, value in zip(output_names(function), values, strict=True) if is_float(value)]
    wrt = [name for name, value in zip(input_names(function), function.args, strict=True) if is_float(value)]
    differentiate(module, Request(of=of, wrt=wrt, cotangents=True, allow_unused=True))


OPSETS = (None, 20, 23, 24, 26, 27, 28)


def _compiled(module: ModuleOp) -> gradc.Compiled:
    """At the oldest opset that has all of it, of those that the runtime has."""
    why: list[GradcError] = []
    for opset in OPSETS:
        if opset is not None and opset > newest_released_opset():
            break
        try:
            return gradc.compile(module, opset=opset)
        except UnsupportedError as error:
            why.append(error)
    raise why[0]


def _reason(error: Exception) -> str:
    return (
        error.diagnostic.message if isinstance(error, GradcError) else "onnxruntime does not load the model"
    )


def _tried(module: ModuleOp | None, inputs: Sequence[np.ndarray], dtype: str) -> str:
    """Why the gradient of a function does not run, or is not what numpy has in float64."""
    if module is None:
        return NOT_IN_ONNX
    try:
        results = evaluate_in_float64(module, inputs)
        _differentiate(module)
        compiled = _compiled(module)
    except (GradcError, InternalError) as error:
        return _reason(error)
    rng, numpy = np.random.default_rng(0), DTYPES[dtype]
    cotangents = [rng.normal(size=r.shape).astype(numpy) for r in results if r.dtype == np.float64]
    given = [*inputs, *cotangents]
    want = evaluate_in_float64(module, given)
    names = input_names(entry_function(module))
    assert len(names) == len(given)
    try:
        got = compiled.run({i.name: a for i, a in zip(compiled.inputs, given, strict=True)})
    except (GradcError, InternalError) as error:
        return _reason(error)
    for (name, found), exact in zip(got.items(), want, strict=True):
        scale = np.abs(exact).max(initial=0.0) + 1e-2
        off = np.abs(found.astype(np.float64) - exact).max(initial=0.0)
        if found.shape != exact.shape or off > BOUNDS[dtype] * scale:
            return f"{name} is off by {off / scale:.1g} of its size"
    return YES
