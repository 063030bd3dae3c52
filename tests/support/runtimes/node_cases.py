"""ONNX's cases of single ops and their gradients, written for `portable`, with onnxruntime's results."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail
from support.onnx_node_cases import Case, array_of, cases
from support.runtimes.onnxruntime_cpu import OnnxruntimeCpu
from support.runtimes.onnxruntime_web import TYPES

import gradc
from dialects.support.diagnostics import GradcError, UnsupportedError
from dialects.support.dtypes import by_number
from gradc.compiler.compiled import Compiled
from passes.targets.spec import spec_of

OPENVINO_INNER = frozenset(("f4_e2m1", "f8_e4m3", "f8_e5m2", "f8_e8m0", "s4", "u4"))
"""Dtypes that OpenVINO's Python interface has within a model alone."""

Arrays = Mapping[str, np.ndarray]

WEB_OPSET = 26
"""The newest opset that onnxruntime-web 1.30 loads; a form that no older opset has keeps its own."""

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)

RANDOM = (
    "test_bernoulli*",
    "test_training_dropout",
    "test_training_dropout_mask",
    "test_training_dropout_default*",
)
"""Cases of whose results only the shapes are compared."""


@dataclass(frozen=True)
class Written:
    """A compiled model. Its name is CASE/inputs/forward, with `constants` for inputs, and `gradient`."""

    name: str
    model: ModelProto
    feeds: Arrays
    expected: Sequence[np.ndarray]


@dataclass(frozen=True)
class NodeLimit:
    """Models that a runtime does not run right: globs over their names, what it says, and the reason."""

    runtime: str
    cases: Sequence[str]
    says: str
    reason: str


LIMITS = tuple(
    NodeLimit(**row)
    for row in json.loads(Path(__file__).with_name("node_limits.json").read_text(encoding="utf-8"))
)


def limit_of(runtime: str, name: str) -> NodeLimit | None:
    own = (limit for limit in LIMITS if limit.runtime == runtime)
    return next((limit for limit in own if any(fnmatchcase(name, glob) for glob in limit.cases)), None)


@cache
def by_name() -> dict[str, Case]:
    return {case.name: case for found in cases().values() for case in found}


@lru_cache(maxsize=1)
def written(name: str) -> tuple[Written, ...]:
    """Return the models of a case that gradc writes and onnxruntime runs."""
    return tuple(_written(by_name()[name]))


def _written(case: Case) -> Iterator[Written]:
    for form, model, feeds in _forms(case):
        compiled = _compile(gradc.compile, model)
        if compiled is not None:
            yield from _expected(f"{case.name}/{form}/forward", compiled, feeds)
        wrt, of = (_floats(infos) for infos in (model.graph.input, model.graph.output))
        if not wrt or not of:
            continue
        compiled = _compile(gradc.vjp, model, wrt=wrt, of=of, check=False, allow_unused=True)
        if compiled is not None:
            cotangents = _cotangents(case, compiled)
            yield from _expected(f"{case.name}/{form}/gradient", compiled, {**feeds, **cotangents})


def _forms(case: Case) -> Iterator[tuple[str, ModelProto, Arrays]]:
    """The model of a case with its inputs, and with all inputs but the first as constants."""
    arrays, _ = case.data_sets[0]
    names = [info.name for info in case.model.graph.input]
    feeds = {name: array_of(array) for name, array in zip(names, arrays, strict=True)}
    yield "inputs", case.model, feeds
    if len(feeds) < 2:
        return
    model, first = copy.deepcopy(case.model), names[0]
    del model.graph.input[1:]
    model.graph.initializer.extend(numpy_helper.from_array(feeds[name], name) for name in names[1:])
    yield "constants", model, {first: feeds[first]}


def _floats(infos: Any) -> list[str]:
    return [info.name for info in infos if info.type.tensor_type.elem_type in FLOATS]


def _compile(function: Callable[..., Compiled], model: ModelProto, **options: Any) -> Compiled | None:
    (own,) = (entry.version for entry in model.opset_import if not entry.domain)
    for opset in (WEB_OPSET, None) if own > WEB_OPSET else (None,):
        try:
            return function(model, target="portable", opset=opset, **options)
        except UnsupportedError:
            continue
    return None


def _cotangents(case: Case, compiled: Compiled) -> Arrays:
    outputs = [info.name for info in case.model.graph.output]
    results = dict(zip(outputs, map(array_of, case.data_sets[0][1]), strict=True))
    draw = np.random.default_rng(0)
    return {
        name: draw.standard_normal(results[of].shape).astype(results[of].dtype)
        for of, name in compiled.cotangents.items()
    }


def _expected(name: str, compiled: Compiled, arrays: Arrays) -> Iterator[Written]:
    feeds = {info.name: arrays[info.name] for info in compiled.inputs}
    try:
        (results,) = OnnxruntimeCpu().run(compiled.model, [feeds])
    except (GradcError, Fail):  # dtypes that it has within a model alone, a locale, forms without a kernel
        return
    yield Written(name, compiled.model, feeds, results)


def lacking(runtime: str, model: ModelProto) -> set[str]:
    """Return the ops and dtypes of a model that a runtime lacks, by its target or by its runner."""
    ops, numbers = set[str](), set[int]()
    _visit(model.graph, ops, numbers)
    dtypes = [by_number(number) for number in numbers]
    if runtime == "onnxruntime-web":
        return {dtype.name for dtype in dtypes if dtype and dtype.numpy.name not in TYPES}
    spec = spec_of(runtime)
    names = {dtype.name for dtype in dtypes if dtype}
    found = ops & set(spec.excluded_ops) | names & set(spec.excluded_dtypes)
    return found | (_outside(model) & OPENVINO_INNER if runtime == "openvino" else set())


def _outside(model: ModelProto) -> set[str]:
    """Return the dtypes of a model's inputs and outputs."""
    infos = (*model.graph.input, *model.graph.output)
    dtypes = [by_number(info.type.tensor_type.elem_type) for info in infos]
    return {dtype.name for dtype in dtypes if dtype}


def _visit(graph: GraphProto, ops: set[str], numbers: set[int]) -> None:
    numbers |= {info.type.tensor_type.elem_type for info in (*graph.input, *graph.output, *graph.value_info)}
    numbers |= {tensor.data_type for tensor in graph.initializer}
    for node in graph.node:
        ops.add(node.op_type)
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype", "output_dtype"):
                numbers.add(attribute.i)
            if attribute.type == AttributeProto.GRAPH:
                _visit(attribute.g, ops, numbers)


def assert_right(found: Sequence[np.ndarray], one: Written) -> None:
    """Compare with onnxruntime, up to roundings; -inf and the lowest number of f32 are alike."""
    assert len(found) == len(one.expected), f"{len(found)} results, expected {len(one.expected)}"
    case = one.name.partition("/")[0]
    shapes_only = any(fnmatchcase(case, glob) for glob in RANDOM)
    for index, (array, expected) in enumerate(zip(found, one.expected, strict=True)):
        given, wanted = (f"{each.dtype}{list(each.shape)}" for each in (array, expected))
        assert given == wanted, f"{one.name}: result {index} is {given}, expected {wanted}"
        if not shapes_only:
            _assert_close(array, expected, f"{one.name}: result {index}")


def _assert_close(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    if expected.dtype.kind in "OSUiub":
        np.testing.assert_array_equal(found, expected, what)
        return
    lowest = -float(np.finfo(np.float32).max)
    a, b = (np.maximum(array.astype(np.float64), lowest) for array in (found, expected))
    finite = np.abs(b[np.isfinite(b) & (b > lowest)])
    tolerance = 1e-2 if expected.dtype.itemsize < 4 else 1e-4
    np.testing.assert_allclose(a, b, tolerance, tolerance * max(1, finite.max(initial=0)), err_msg=what)
