"""Every argument of the Python interface, given all kinds of wrong values: an error of ours that names it as
Python spells it, or something sensible; never an exception of somebody else's."""

from __future__ import annotations

import inspect
import pickle  # noqa: TID251 - what users do with a result; nothing of gradc's reads one
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from dialects.onednn.spec_classes import KINDS, spec_class
from dialects.support.attributes import documented_attributes
from gradc.builder.graph import Graph
from gradc.builder.spec_methods import SpecMethods


@dataclass
class Spelled:
    """A path that says any object of itself."""

    path: Any

    def __fspath__(self) -> Any:
        return self.path


WRONG: Mapping[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "1.5": 1.5,
    "text": "x",
    "empty": "",
    "NUL": "a\0b",
    "list": [],
    "nested": [[None]],
    "dict": {},
    "keys": {1: 2},
    "object": object(),
    "nan": float("nan"),
    "inf": float("inf"),
    "-1": -1,
    "0": 0,
    "huge": 10**30,
    "bytes": b"x",
    "set": {1},
    "function": len,
    "numpy int": np.int64(3),
    "numpy negative": np.int8(-3),
    "numpy flag": np.bool_(True),
    "numpy float": np.float32(1.5),
    "array": np.ones((2, 2)),
    "objects": np.array([object()]),
    "path": Path("/no/such/file"),
    "path of bytes": Spelled(b"/no/such/file"),
    "path of a number": Spelled(3),
    "surrogate": "\ud800",
    "complex": 1j,
    "no axis": np.array(3),
    "no elements": np.zeros(0),
}


def graph() -> Graph:
    g = Graph()
    dy, w = g.input("dy", "f32", [1, 2, 4]), g.input("w", "f32", [2, 3, 3])
    settings = {"strides": [1], "pads_begin": [0], "pads_end": [0], "dilations": [1]}
    form = {"data_format": "NCX", "weights_format": "OIX"}
    g.output(g.convolution_backward_data(dy, w, [1, 3, 6], **settings, **form), "dx")
    return g


INPUTS = {"dy": np.ones((1, 2, 4), np.float32), "w": np.ones((2, 3, 3), np.float32)}


@pytest.fixture(scope="module")
def compiled() -> gradc.Compiled:
    return gradc.compile(graph(), threads=1)


@pytest.fixture(scope="module")
def reported() -> gradc.Report:
    pytest.importorskip("jinja2", reason="pip install -e '.[dev]' brings what draws reports")
    return gradc.report(graph(), run=False, threads=1)


def refused(call: Callable[[], Any], names: str | None) -> None:
    """The call is meaningful, or one line says what is wrong with the argument, if it has a name."""
    try:
        call()
    except gradc.GradcError as error:
        text = str(error)
        assert all(line.isprintable() for line in text.splitlines())
        assert "--" not in text.replace("--limit", "").replace("gradc inspect --values", "")
        assert names is None or names in text, text


def parameters(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "attributes")]


METHODS = {spec_class(kind).SPEC.method: spec_class(kind) for kind in KINDS}
ROW_METHODS = [getattr(SpecMethods, name) for name in METHODS]
GOOD = {"s64": 0, "s64[]": [1, 1], "f32": 1.0, "f32[]": [1.0], "bool": True}
NAMED = {"shape": [3, 3], "order": [1, 0], "pads_begin": [0, 0], "pads_end": [0, 0], "groups": 1}


def required_attributes(method: str) -> dict[str, Any]:
    """A value of the right type for each attribute without a default."""
    found = {
        name: known.spec for name, known in documented_attributes(METHODS[method]).items() if known.required
    }
    return {
        name: NAMED.get(name, spec.words[0] if spec.words else GOOD[spec.tag]) for name, spec in found.items()
    }


def operands(g: Graph, method: str) -> dict[str, Any]:
    """A tensor for each port, of four axes for what has windows."""
    cls = METHODS[method]
    attributes = documented_attributes(cls)
    shape = [2, 3, 3, 3] if {"strides", "scales"} & attributes.keys() else [3, 3]
    found: dict[str, Any] = dict.fromkeys({*cls.PORTS} - attributes.keys(), g.input("x", "f32", shape))
    vectors = dict.fromkeys(("gamma", "beta", "bias", "mean", "variance"), g.input("v", "f32", [3]))
    scalars = dict.fromkeys(("seed", "offset"), g.input("s", "s64", []))
    found |= {port: value for port, value in (vectors | scalars).items() if port in found}
    found |= {"probability": g.input("p", "f32", []), "cond": g.input("c", "boolean", shape)}
    integers = g.input("q", "u8", shape)
    by_method = {
        "convolution_backward_weights": {"weights_shape": [1, 1, 3, 3]},
        "conv_transpose_backward_weights": {"weights_shape": [1, 1, 3, 3]},
        "convolution": {"bias": None},
        "conv_transpose": {"bias": None},
        "interpolate": {"sizes": [4, 4]},
        "concat": {"src": [found.get("src_i")] * 2},
        "quantize": {"result_dtype": "u8"},
        "dynamic_quantize": {"result_dtype": "u8", "scales": g.input("one", "f32", [1]), "zps": None},
        "dequantize": {"src": integers},
        "dynamic_dequantize": {"src": integers, "scales": g.input("many", "f32", [1]), "zps": None},
        "type_cast": {"result_dtype": "bf16"},
    }
    return found | by_method.get(method, {})


OF_COMPILE = [name for name in parameters(gradc.compile) if name != "source"]


@pytest.mark.sweep
@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
class TestWrongValues:
    @pytest.mark.sweep
    @pytest.mark.parametrize("name", OF_COMPILE)
    def test_of_compile(self, name: str, value: Any):
        given = {"threads": 1, "tune_budget": 0, name: value}
        is_file = name in ("constants", "tuning_file") and isinstance(value, str | Path | Mapping | list)
        refused(lambda: gradc.compile(graph(), **given), None if is_file else name)

    @pytest.mark.parametrize("name", ["wrt", "of"])
    def test_names_of_a_gradient(self, name: str, value: Any):
        g = Graph()
        g.output(g.reduce_sum(g.input("t", "f32", [3]), axes=[0]), "y")
        refused(
            lambda: gradc.grad(g, threads=1, check=False, **{name: value}),
            None if isinstance(value, str) else name,
        )

    @pytest.mark.sweep
    @pytest.mark.parametrize("name", [name for name in parameters(gradc.report) if name not in OF_COMPILE])
    def test_of_report(self, name: str, value: Any):
        given = {"source": graph(), "run": False, "threads": 1, name: value}
        refused(lambda: gradc.report(**given), None if name in ("source", "inputs") else name)

    def test_of_limits(self, value: Any):
        for name in parameters(gradc.Limits):
            refused(lambda name=name: gradc.Limits(**{name: value}), name.replace("_", "-"))

    def test_source(self, value: Any):
        refused(lambda: gradc.compile(value), None)

    def test_sources_in_a_list(self, value: Any):
        refused(lambda: gradc.compile([value]), None)

    def test_of_a_run(self, value: Any, compiled: gradc.Compiled):
        refused(lambda: compiled.run(value), None)
        refused(lambda: compiled.reference(value), None)
        refused(lambda: compiled.run(INPUTS, ep=value), "ep")
        refused(lambda: compiled.run(INPUTS, threads=value), "threads")
        refused(lambda: compiled.session(value), "ep")
        refused(lambda: compiled.session(threads=value), "threads")

    def test_arrays(self, value: Any, compiled: gradc.Compiled):
        refused(lambda: compiled.run(INPUTS | {"dy": value}), "dy")
        refused(lambda: compiled.reference(INPUTS | {"dy": value}), "dy")
        refused(lambda: gradc.compile(graph(), constants={"w": value}), "w")
        refused(lambda: graph().constant(value), "constant")

    def test_paths(self, value: Any, compiled: gradc.Compiled, monkeypatch, tmp_path: Path):
        monkeypatch.chdir(tmp_path)
        refused(lambda: compiled.save(value), None)
        refused(lambda: graph().save(value), None)

    def test_path_of_a_report(self, value: Any, monkeypatch, tmp_path: Path, reported: gradc.Report):
        monkeypatch.chdir(tmp_path)
        refused(lambda: reported.save(value), None)

    def test_of_a_graph(self, value: Any):
        for call in (
            lambda: Graph(value),
            lambda: Graph().input(value, "f32", [1]),
            lambda: Graph().input("x", value, [1]),
            lambda: Graph().input("x", "f32", value),
            lambda: Graph().input("x", "f32", [value]),
            lambda: graph().constant(np.ones(1), value),
            lambda: graph().output(value),
            lambda: (g := Graph()).output(g.input("x", "f32", [1]), value),
        ):
            refused(call, None)

    @pytest.mark.sweep
    @pytest.mark.parametrize(
        "method",
        [
            Graph.convolution_backward_data,
            Graph.conv_transpose_backward_data,
            Graph.interpolate_backward,
            Graph.resize_bilinear_v2_grad,
            Graph.upsample_bilinear2d_backward,
        ],
        ids=lambda method: method.__name__,
    )
    def test_of_an_op(self, method: Callable[..., Any], value: Any):
        for name in parameters(method):
            g = Graph()
            x = g.input("x", "f32", [1, 2, 4, 4])
            tensors = ("diff_dst", "weights", "src", "grads", "original_image", "gradOut")
            good: dict[str, Any] = dict.fromkeys(tensors, x)
            good |= {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
            good |= {"mode": "linear", "outputSize": [4, 4], "inputSize": [1, 2, 4, 4], "sizes": [4, 4]}
            known = {n: v for n, v in good.items() if n in parameters(method)}
            refused(lambda g=g, name=name, known=known: method(g, **known | {name: value}), None)

    @pytest.mark.sweep
    def test_of_the_rows(self, value: Any):
        for method in ROW_METHODS:
            names = [name for name in parameters(method) if name != "unknown"]
            attributes = required_attributes(method.__name__)
            for name in names:
                g = Graph()
                known = operands(g, method.__name__)
                known = {n: v for n, v in known.items() if n in names} | attributes
                message = None if name in ("result_shape", "result_dtype") else name
                refused(lambda g=g, method=method, wrong=known | {name: value}: method(g, **wrong), message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("threads", True, "threads: given True, expected a whole number, 1 or more"),
        ("threads", 1.5, "threads: given 1.5, expected a whole number"),
        ("threads", "2", "threads: given '2', expected a whole number"),
        ("tuning_file", 5, "tuning_file: given 5, expected a path"),
        ("strict_ieee", "x", "strict_ieee: given 'x', expected True or False"),
        ("opset", 12, "opset: given 12, expected 13 to"),
        ("opset", 18.0, "opset: given 18.0, expected a whole number"),
        ("strategy", "nothing", "strategy: given nothing, expected auto or"),
        ("tune_budget", "x", "tune_budget: given 'x', expected seconds, 0 or more"),
        ("shapes", {"dy": [1.5]}, "shapes of dy: given 1.5, expected a whole number, 1 or more"),
    ],
)
def test_what_is_said(name: str, value: Any, message: str):
    with pytest.raises(gradc.UsageError) as raised:
        gradc.compile(graph(), **{name: value})
    assert message in str(raised.value)


def test_numbers_of_numpy_are_numbers():
    flags = dict.fromkeys(("strict", "strict_ieee", "tune"), np.bool_(False))
    c = gradc.compile(graph(), opset=np.int32(18), threads=np.int64(1), tune_budget=np.float32(1), **flags)
    assert type(c.options.opset) is int
    assert type(c.options.threads) is int
    assert c.options.strict is False
    c.run(INPUTS, threads=np.int8(1))
    assert len(c._sessions) == 1
    assert gradc.Limits(ops=np.int64(7)) == gradc.Limits(ops=7)


class Requiring:
    """As torch's tensors are that require a gradient."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy()")


class TestArrays:
    def calls(self, compiled: gradc.Compiled, given: Any) -> list[Callable[[], Any]]:
        return [
            lambda: compiled.run(INPUTS | {"dy": given}),
            lambda: compiled.reference(INPUTS | {"dy": given}),
            lambda: gradc.compile(graph(), constants={"dy": given}),
            lambda: graph().constant(given),
        ]

    def test_a_tensor_that_requires_a_gradient(self, compiled: gradc.Compiled):
        for call in self.calls(compiled, Requiring()):
            with pytest.raises(gradc.GradcError, match="detach"):
                call()

    def test_a_mask_is_not_dropped(self, compiled: gradc.Compiled):
        masked = np.ma.MaskedArray(INPUTS["dy"], mask=np.arange(8).reshape(1, 2, 4) == 3)
        for call in self.calls(compiled, masked):
            with pytest.raises(gradc.GradcError, match="mask would be lost"):
                call()
        whole = np.ma.MaskedArray(INPUTS["dy"])
        np.testing.assert_array_equal(compiled.run(INPUTS | {"dy": whole})["dx"], compiled.run(INPUTS)["dx"])


class Typed:
    dtype = "none"


@pytest.mark.parametrize("dtype", [{"x": [1]}, ("f4", [1, "x"]), Typed()], ids=["dict", "tuple", "object"])
def test_a_dtype_that_numpy_refuses(dtype: Any):
    with pytest.raises(gradc.GradcError, match="dtype"):
        gradc.Graph().input("x", dtype, [2])


class TestSessions:
    @pytest.mark.parametrize("inputs", [None, "dy", b"dy", 3, [1], {1: 2}, np.zeros(3)], ids=repr)
    @pytest.mark.parametrize("run", ["run", "bound"])
    def test_inputs_that_are_no_mapping(self, compiled: gradc.Compiled, run: str, inputs: Any):
        with pytest.raises(gradc.UsageError, match="inputs"):
            getattr(compiled.session(), run)(inputs)

    @pytest.mark.parametrize("only", [True, "dx", b"dx", [3], np.zeros(2)], ids=repr)
    def test_outputs_that_are_no_names(self, compiled: gradc.Compiled, only: Any):
        with pytest.raises(gradc.UsageError, match="only"):
            compiled.session().run(INPUTS, only)

    @pytest.mark.parametrize("only", [(), ["nothing"]])
    def test_no_outputs(self, compiled: gradc.Compiled, only: Any):
        assert compiled.session().run(INPUTS, only) == {}


class TestPickles:
    @pytest.mark.parametrize("runs", [0, 1])
    def test_a_compiled_graph(self, runs: int):
        c = gradc.compile(graph(), threads=1)
        expected = gradc.compile(graph(), threads=1).run(INPUTS)["dx"]
        for _ in range(runs):
            c.run(INPUTS), c.reference(INPUTS), c.inputs, c.outputs, repr(c)
        again = pickle.loads(pickle.dumps(c))
        assert again.model == c.model
        np.testing.assert_array_equal(again.run(INPUTS)["dx"], expected)
        np.testing.assert_array_equal(again.reference(INPUTS)["dx"], c.reference(INPUTS)["dx"])


EDITS: Mapping[str, Callable[[Any], Any]] = {
    "no nodes": lambda model: model.graph.ClearField("node"),
    "another op": lambda model: setattr(model.graph.node[0], "op_type", "Nothing"),
    "another input": lambda model: setattr(model.graph.input[0], "name", "z"),
    "no inputs": lambda model: model.graph.ClearField("input"),
    "no graph": lambda model: model.ClearField("graph"),
    "another dtype": lambda model: setattr(model.graph.input[0].type.tensor_type, "elem_type", 11),
    "no opset": lambda model: model.ClearField("opset_import"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_model_is_the_editors_fault(edit: Callable[[Any], Any], tmp_path: Path):
    c = gradc.compile(graph(), threads=1)
    edit(c.model)
    with pytest.raises(gradc.GradcError):
        c.run(INPUTS)
    c.save(tmp_path / "edited.onnx")


RESCALED: Mapping[str, Callable[[Any], Any]] = {
    "an op": lambda model: setattr(model.graph.node[-1], "op_type", "Sub"),
    "a small weight": lambda model: setattr(
        model.graph.initializer[0], "raw_data", np.float32([-2.5]).tobytes()
    ),
}


@pytest.mark.parametrize("edit", RESCALED.values(), ids=RESCALED)
@pytest.mark.parametrize("asked_before", [False, True])
def test_an_edit_after_a_run_is_run(edit: Callable[[Any], Any], asked_before: bool):
    g = gradc.Graph()
    g.output(g.add(g.input("x", "f32", [2]), g.constant(np.float32([2.5]))), "y")
    c = gradc.compile(g, threads=1)
    model = c.model if asked_before else None
    first = c.session()
    np.testing.assert_array_equal(c.run({"x": np.ones(2, np.float32)})["y"], [3.5, 3.5])
    assert c.session() is first
    edit(c.model if model is None else model)
    np.testing.assert_array_equal(c.run({"x": np.ones(2, np.float32)})["y"], [-1.5, -1.5])
    again = pickle.loads(pickle.dumps(c))
    np.testing.assert_array_equal(again.run({"x": np.ones(2, np.float32)})["y"], [-1.5, -1.5])
    assert len(c._sessions) == 1


@pytest.mark.parametrize("at", ["graph", "input", "dim", "op", "constant", "output", "name_template"])
def test_a_name_that_no_model_can_hold(at: str):
    """Half of a character has no spelling in UTF-8, which is the text of ONNX."""
    names = dict.fromkeys(("graph", "input", "dim", "op", "constant", "output"), "a") | {at: "\ud800"}
    with pytest.raises(gradc.GradcError, match=r"given '.*\\ud800.?'"):
        _gradient_of(names)


def _gradient_of(names: Mapping[str, str]) -> gradc.Compiled:
    g = Graph(names["graph"])
    x = g.relu(g.input(names["input"], "f32", [names["dim"], 3]), name=names["op"])
    g.output(g.add(x, g.constant(np.ones(3, np.float32), names["constant"])), names["output"] + "b")
    return gradc.grad(g, cotangents=True, name_template="{what}_{name}" + names.get("name_template", ""))


def test_a_vjp_without_cotangents():
    assert gradc.vjp(graph(), cotangents=True).cotangents
    with pytest.raises(gradc.GradcError, match=r"cotangents: given False, expected True, .*grad"):
        gradc.vjp(graph(), cotangents=False)
