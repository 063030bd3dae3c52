"""`gradc.compile`: its signature, its sources, its options, what it returns, its errors."""

import copy
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.cli import run_gradc
from support.documents import (
    CONV,
    CONV_TRANSPOSE,
    INTERPOLATE,
    RESIZE,
    UPSAMPLE,
    Doc,
    attrs,
    changed,
    first_op,
    ports,
    text_of,
    two_convolutions,
)
from support.tiers import some
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.parser import Parser

import dialects
import gradc
from dialects.evaluate import evaluate
from gradc.compiler.driver import load
from gradc.graph.printing import module_text
from gradc.model.exporter import check

EXAMPLES = Path(__file__).parents[4] / "examples"
WINDOW = {"strides": [2, 2], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
NCX = {"data_format": "NCX", "weights_format": "OIX"}
ALL = {
    "conv": CONV,
    "conv_transpose": CONV_TRANSPOSE,
    "interpolate": INTERPOLATE,
    "resize": RESIZE,
    "upsample": UPSAMPLE,
    "two": two_convolutions(),
}
IOX = {"data_format": "NCX", "weights_format": "IOX"}


def data(model) -> bytes:
    return model.SerializeToString(deterministic=True)


def conv_graph(dtype: str = "f32", size: object = None, **attributes) -> gradc.Graph:
    """diff_src [1, 2, 5, 5] of diff_dst [1, 4, 3, 3]; `size` replaces the dst_shape attribute."""
    g = gradc.Graph()
    dy, w = g.input("dy", dtype, [1, 4, 3, 3]), g.input("w", dtype, [4, 2, 3, 3])
    shape = g.input("size", "s32", [4]) if size == "input" else [1, 2, 5, 5]
    dx = g.convolution_backward_data(dy, w, shape, **WINDOW | NCX | attributes)
    g.output(dx, "dx")
    return g


def two_ops() -> gradc.Graph:
    """A convolution's gradient of a resize's gradient, both of them outputs."""
    g = gradc.Graph()
    src, dy = g.input("src", "f32", [1, 4, 3, 3]), g.input("dy", "f32", [1, 4, 6, 6])
    w = g.input("w", "f32", [4, 2, 3, 3])
    small = g.interpolate_backward(src, dy, [6, 6], mode="linear", data_format="NCX", name="small")
    g.output(g.convolution_backward_data(small, w, [1, 2, 5, 5], **WINDOW | NCX), "dx")
    g.output(small)
    return g


def parsed(text: str) -> ModuleOp:
    return Parser(dialects.context(), text).parse_module()


def normal(shape, dtype=np.float32, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def op_types(compiled) -> list[str]:
    return [node.op_type for node in compiled.model.graph.node]


class TestSignature:
    def test_it_is_the_documented_one(self):
        parameters = inspect.signature(gradc.compile).parameters
        defaults = {p.name: p.default for p in parameters.values() if p.default is not p.empty}
        assert next(iter(parameters)) == "source"
        assert defaults == {
            "target": "cpu",
            "opset": None,
            "constants": None,
            "strategy": "auto",
            "auto_pad_rule": None,
            "strict": False,
            "threads": None,
            "tune": False,
            "tuning_file": None,
            "tune_budget": 60.0,
            "shapes": None,
            "limits": None,
            "strict_ieee": False,
            "drop_unused_inputs": False,
            "checked": False,
            "rename": None,
            "static_shapes": None,
            "rebatch": None,
            "record_pipeline": False,
        }
        assert list(parameters)[1:] == list(defaults)
        assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values())

    def test_run(self):
        parameters = inspect.signature(gradc.Compiled.run).parameters
        assert [(p.name, p.default) for p in parameters.values()][1:] == [
            ("inputs", inspect.Parameter.empty),
            ("ep", None),
            ("threads", None),
            ("runtime", None),
        ]

    def test_the_public_names(self):
        for name in gradc.__all__:
            assert getattr(gradc, name) is not None
        assert set(gradc.__all__) == set(dir(gradc))
        with pytest.raises(AttributeError):
            _ = gradc.no_such_name  # pyright: ignore[reportAttributeAccessIssue]


class TestSources:
    def test_every_form_of_a_document_is_one_model(self, tmp_path):
        path = tmp_path / "conv.json"
        path.write_text(text_of(CONV), encoding="utf-8")
        by_path = gradc.compile(str(path)).model
        assert data(gradc.compile(path).model) == data(by_path)
        by_dict = gradc.compile(CONV).model
        for model in (by_path, by_dict):
            for node in model.graph.node:
                del node.metadata_props[:]
        assert data(by_dict) == data(by_path)

    @pytest.mark.parametrize("name", sorted(ALL))
    def test_a_dict_is_left_alone(self, name):
        document = copy.deepcopy(ALL[name])
        first = data(gradc.compile(document).model)
        assert document == ALL[name]
        assert data(gradc.compile(document).model) == first

    def test_a_module_is_left_alone(self):
        module = conv_graph().module()
        before = module_text(module)
        first = data(gradc.compile(module, constants={"w": normal((4, 2, 3, 3))}).model)
        assert module_text(module) == before
        assert data(gradc.compile(module, constants={"w": normal((4, 2, 3, 3))}).model) == first

    def test_a_graph_is_left_alone_and_can_grow(self):
        g = two_ops()
        first = data(gradc.compile(g).model)
        assert data(gradc.compile(g).model) == first
        g.output(g.input("more", "f32", [2]), "copy")
        assert [i.name for i in gradc.compile(g).inputs] == ["src", "dy", "w", "more"]

    @pytest.mark.parametrize("source", [None, b"graph.json", 3])
    def test_no_source(self, source):
        with pytest.raises(gradc.UsageError, match=r"^error: source: given .*, expected a path, a JSON doc"):
            gradc.compile(source)

    def test_a_list_of_no_paths(self):
        with pytest.raises(gradc.UsageError, match=r"given a list with int, expected a list of paths"):
            gradc.compile([1])

    def test_a_module_that_is_no_graph(self):
        context = dialects.context()
        context.allow_unregistered = True
        body = '%y = "math.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32> func.return %y : tensor<2xf32>'
        text = f"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{ {body} }}"
        with pytest.raises(gradc.GradcError, match=r"does not compile 1 of 1 ops: 1 math\.exp") as caught:
            gradc.compile(Parser(context, text).parse_module())
        assert str(caught.value).startswith("error: ")

    def test_a_module_of_two_functions(self):
        module = ModuleOp([])
        for name in ("first", "second"):
            (function,) = conv_graph().module().ops
            function.detach()
            function.properties["sym_name"] = StringAttr(name)
            module.body.block.add_op(function)
        with pytest.raises(gradc.GradcError, match="given @first, @second, expected exactly one"):
            gradc.compile(module)

    def test_a_module_without_inputs_or_tensors(self):
        with pytest.raises(gradc.GradcError, match='type of input "x": given i32, expected a tensor'):
            gradc.compile(parsed("func.func @main(%x: i32) -> i32 { func.return %x : i32 }"))
        with pytest.raises(gradc.GradcError, match="functions in the module: given none"):
            gradc.compile(ModuleOp([]))
        with pytest.raises(gradc.GradcError, match="the graph has no outputs"):
            gradc.compile(parsed("func.func @main(%x: tensor<2xf32>) { func.return }"))

    @pytest.mark.parametrize("name", ["missing.json", "", "model.onnx"])
    def test_a_path_that_is_no_graph(self, name, tmp_path):
        with pytest.raises(gradc.GradcError) as caught:
            gradc.compile(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


class TestCompiled:
    def test_it_is_printed_in_a_line(self):
        """Not with its model, which may have millions of weights."""
        text = repr(gradc.compile(conv_graph(), opset=20))
        assert re.fullmatch(r"<gradc\.Compiled dy: f32 .* -> .*; \d+ nodes?, cpu, opset 20>", text), text

    def test_inputs_outputs_and_model(self):
        compiled = gradc.compile(two_ops())
        check(compiled.model)
        shown = [(t.name, t.dtype, t.shape) for t in compiled.inputs]
        assert shown == [
            ("src", "f32", (1, 4, 3, 3)),
            ("dy", "f32", (1, 4, 6, 6)),
            ("w", "f32", (4, 2, 3, 3)),
        ]
        shown = [(t.name, t.dtype, t.shape) for t in compiled.outputs]
        assert shown == [("dx", "f32", (1, 2, 5, 5)), ("small", "f32", (1, 4, 3, 3))]
        assert {o.domain for o in compiled.model.opset_import} == {""}

    def test_names_and_unknown_dims(self):
        g = gradc.Graph()
        dy = g.input("dy", "f32", ["N", 4, None, "W"])
        dx = g.conv_transpose_backward_data(dy, g.input("w", "f32", [2, 4, 3, 3]), **WINDOW | IOX)
        g.output(dx, "dx")
        compiled = gradc.compile(g)
        assert compiled.inputs[0].shape == ("N", 4, None, "W")
        assert compiled.outputs[0].shape[:2] == ("N", 2)

    def test_an_input_that_nothing_reads_stays_one(self):
        g = gradc.Graph()
        src, dy = g.input("src", "f32", [1, 2, 3, 3]), g.input("dy", "f32", [1, 2, 6, 6])
        g.output(g.interpolate_backward(src, dy, [6, 6], mode="nearest", data_format="NCX"), "dx")
        compiled = gradc.compile(g)
        assert [i.name for i in compiled.model.graph.input] == ["src", "dy"]
        assert not any("src" in node.input for node in compiled.model.graph.node)
        fed = {"src": normal((1, 2, 3, 3)), "dy": normal((1, 2, 6, 6))}
        (want,) = evaluate(compiled.source, [fed["src"], fed["dy"]])
        np.testing.assert_allclose(compiled.run(fed)["dx"], want, rtol=1e-6)

        (remark,) = compiled.remarks
        assert "input src is unused but still required" in str(remark)

    @pytest.mark.parametrize("batch", [2, "N", None])
    def test_or_is_left_out_on_request(self, batch):
        """`z` is read by no op, `src` for a size that `dy` says as well; the values of neither matter."""
        g = gradc.Graph()
        src, dy = g.input("src", "f32", [batch, 2, 3, 3]), g.input("dy", "f32", [batch, 2, 6, 6])
        g.input("z", "bf16", [batch])
        g.output(g.interpolate_backward(src, dy, [6, 6], mode="nearest", data_format="NCX"), "dx")
        compiled = gradc.compile(g, drop_unused_inputs=True)
        assert ([i.name for i in compiled.inputs], compiled.remarks) == (["dy"], ())
        assert compiled.dropped_inputs == ("src", "z")
        least = {"dy": normal((2, 2, 6, 6))}
        whole_ = {"src": normal((2, 2, 3, 3)), "z": np.ones(2, ml_dtypes.bfloat16), **least}
        got, want = compiled.run(least)["dx"], compiled.reference(whole_)["dx"]
        np.testing.assert_allclose(got, want, rtol=1e-6)
        np.testing.assert_array_equal(compiled.run(whole_)["dx"], got)
        if batch is None:
            with pytest.raises(gradc.GradcError, match=r"missing inputs: .*src.*z"):
                compiled.reference(least)
        else:
            np.testing.assert_array_equal(compiled.reference(least)["dx"], want)

    def test_the_names_of_mlir_text_survive_the_passes(self):
        compiled = gradc.compile(EXAMPLES / "conv_backward.mlir")
        assert [i.name for i in compiled.inputs] == ["diff_dst", "weights"]
        assert [o.name for o in compiled.outputs] == ["diff_src"]

    def test_save(self, tmp_path):
        compiled = gradc.compile(conv_graph())
        compiled.save(tmp_path / "a.onnx")
        compiled.save(str(tmp_path / "b.onnx"))
        assert (
            (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes() == data(compiled.model)
        )
        with pytest.raises(gradc.GradcError, match="there is no folder"):
            compiled.save(tmp_path / "none" / "c.onnx")
        assert sorted(os.listdir(tmp_path)) == ["a.onnx", "b.onnx"]

    @pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
    def test_run(self, dtype):
        word = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}[np.dtype(dtype).name]
        compiled = gradc.compile(conv_graph(word))
        dy, w = normal((1, 4, 3, 3), dtype), normal((4, 2, 3, 3), dtype, 1)
        for ep, threads in ((None, None), ("cpu", None), (None, 1), ("cpu", 2)):
            result = compiled.run({"w": w, "dy": dy}, ep=ep, threads=threads)
            assert list(result) == ["dx"]
            assert result["dx"].dtype == dtype
            (want,) = evaluate(compiled.source, [dy, w])
            tolerance = 2e-6 if word == "f32" else 1e-2
            np.testing.assert_allclose(
                result["dx"].astype(float), want.astype(float), rtol=tolerance, atol=tolerance
            )

    def test_the_reference_is_the_source_executed(self):
        compiled = gradc.compile(conv_graph())
        dy, w = normal((1, 4, 3, 3)), normal((4, 2, 3, 3), seed=1)
        (want,) = evaluate(compiled.source, [dy, w])
        got = compiled.reference({"w": w, "dy": dy})
        assert list(got) == ["dx"]
        np.testing.assert_array_equal(got["dx"], want)

    @pytest.mark.parametrize(
        ("inputs", "message"),
        [
            ({}, "missing inputs: expected dy: f32"),
            ({"dz": 1}, "unknown input: given dz, expected dy, w"),
            ([1], "inputs: given list, expected a mapping from names to arrays"),
        ],
    )
    def test_the_reference_refuses_as_run_does(self, inputs, message):
        compiled = gradc.compile(conv_graph())
        for execute in (compiled.run, compiled.reference):
            with pytest.raises(gradc.GradcError, match=message):
                execute(inputs)

    def test_bfloat16_from_an_npz_may_be_fed_as_it_comes(self):
        compiled = gradc.compile(conv_graph("bf16"))
        dy, w = normal((1, 4, 3, 3), ml_dtypes.bfloat16), normal((4, 2, 3, 3), ml_dtypes.bfloat16)
        want = compiled.run({"dy": dy, "w": w})["dx"]
        got = compiled.run({"dy": dy.view("V2"), "w": w.view("V2")})["dx"]
        np.testing.assert_array_equal(got.view(np.uint16), want.view(np.uint16))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"inputs": {}}, "missing inputs: expected dy: f32"),
            ({"inputs": [1]}, "inputs: given list, expected a mapping from names to arrays"),
            ({"inputs": {1: 2}}, "inputs: given dict, expected a mapping from names to arrays"),
            ({"inputs": {}, "ep": "tpu"}, "ep: given 'tpu', expected one of cpu, cuda"),
            ({"inputs": {}, "threads": 0}, "threads: given 0, expected a whole number, 1 or more"),
        ],
    )
    def test_run_refuses(self, arguments, message):
        with pytest.raises(gradc.GradcError, match=message):
            gradc.compile(conv_graph()).run(**arguments)


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"target": "gpu"}, "target: given 'gpu', expected one of cpu, cuda, portable"),
            ({"target": None}, "target: given None"),
            ({"opset": 12}, "opset: given 12, expected 13 to"),
            ({"opset": "18"}, "opset: given '18', expected a whole number"),
            ({"opset": 1000}, "opset: given 1000, expected 13 to"),
            (
                {"strategy": "conv-to-matmull"},
                "strategy: given conv-to-matmull, .* did you mean conv-to-matmul",
            ),
            ({"strategy": None}, "strategy: given None"),
            ({"threads": 0}, "threads: given 0, expected a whole number, 1 or more"),
            ({"threads": "2"}, "threads: given '2', expected a whole number, 1 or more"),
            ({"auto_pad_rule": "page"}, "auto_pad_rule: given 'page', expected one of documented, library"),
        ],
    )
    def test_what_makes_no_sense_is_usage(self, options, message):
        with pytest.raises(gradc.UsageError, match=message) as caught:
            gradc.compile(conv_graph(), **options)
        assert caught.value.exit_code == 2

    @pytest.mark.parametrize("opset", [13, 17, 20])
    def test_opset(self, opset):
        assert gradc.compile(conv_graph(), opset=opset).model.opset_import[0].version == opset

    def test_the_default_opset(self):
        assert gradc.compile(conv_graph()).model.opset_import[0].version == 18

    @pytest.mark.parametrize(("dtype", "first"), [("s8", 18), ("f8_e4m3", 19), ("f8_e5m2", 19), ("u4", 21)])
    def test_the_default_opset_has_the_dtypes_of_the_graph(self, dtype, first):
        graph = gradc.Graph()
        scales = graph.input("scales", "f32", (1,))
        codes = graph.input("codes", dtype, (3, 4))
        if dtype == "u4":
            graph.output(graph.dynamic_dequantize(codes, scales))
        else:
            graph.output(graph.dequantize(codes, scales=[0.5]))
        assert gradc.compile(graph).model.opset_import[0].version == first
        if first > 18:
            with pytest.raises(gradc.GradcError, match="opset=18"):
                gradc.compile(graph, opset=18)

    def test_target(self):
        assert "Col2Im" not in op_types(gradc.compile(conv_graph(), target="cuda"))

    @pytest.mark.parametrize("spelled", ["conv-to-matmul", "conv_to_matmul"])
    def test_a_forced_strategy(self, spelled):
        compiled = gradc.compile(conv_graph(), strategy=spelled)
        assert "MatMul" in op_types(compiled)
        assert "ConvTranspose" not in op_types(compiled)
        fed = {"dy": normal((1, 4, 3, 3)), "w": normal((4, 2, 3, 3))}
        want = gradc.compile(conv_graph()).run(fed)["dx"]
        np.testing.assert_allclose(compiled.run(fed)["dx"], want, atol=1e-5)

    def test_a_forced_strategy_gives_its_reason(self):
        with pytest.raises(gradc.UnsupportedError, match="conv-to-conv does not apply: stride 2 on axis H"):
            gradc.compile(conv_graph(), strategy="conv-to-conv")
        with pytest.raises(gradc.UnsupportedError, match="strategy resize-to-matmul lowers"):
            gradc.compile(conv_graph(), strategy="resize-to-matmul")

    def test_a_forced_strategy_leaves_other_ops_alone(self):
        fed = {"src": normal((1, 4, 3, 3)), "dy": normal((1, 4, 6, 6)), "w": normal((4, 2, 3, 3))}
        want = gradc.compile(two_ops()).run(fed)
        for strategy in ("conv-to-matmul", "resize-to-matmul", "conv-to-conv-transpose"):
            got = gradc.compile(two_ops(), strategy=strategy).run(fed)
            for name, array in want.items():
                np.testing.assert_allclose(got[name], array, atol=1e-5)

    def test_strict(self):
        graph = conv_graph(output_padding=[1, 1], pads_begin=[1, 1])
        (remark, *_) = gradc.compile(graph).remarks
        assert "output_padding" in str(remark)
        assert remark.severity in ("remark", "warning")
        with pytest.raises(gradc.GradcError, match=r"error: .*output_padding"):
            gradc.compile(graph, strict=True)
        assert gradc.compile(conv_graph(), strict=True).remarks == ()


def same_upper(rule: str | None, x: int, y: int, kernel: int = 4) -> Doc:
    """A document of a strided convolution, `same_upper`, under its own rule if one is given."""
    own = {"auto_pad_rule": rule} if rule else {}
    return changed(
        CONV,
        attrs(auto_pad="SAME_UPPER", dst_shape=[1, 2, x, x], **own),
        ports([1, 4, y, y], [4, 2, kernel, kernel], [1, 2, x, x]),
    )


SAME_TEXT = """
func.func @main(%dy: tensor<1x4x{y}x{y}xf32>, %w: tensor<4x2x{k}x{k}xf32>) -> tensor<1x2x{x}x{x}xf32> {{
  %dx = onednn.convolution_backward_data %dy, %w {{strides = [2, 2], pads_begin = [0, 0], pads_end = [0, 0],
    dilations = [1, 1], data_format = "NCX", weights_format = "OIX", auto_pad = "same_upper"{rule}}}
    : (tensor<1x4x{y}x{y}xf32>, tensor<4x2x{k}x{k}xf32>) -> tensor<1x2x{x}x{x}xf32>
  func.return %dx : tensor<1x2x{x}x{x}xf32>
}}
"""


def same_forms(rule: str | None, x: int, y: int, tmp_path: Path, kernel: int = 4) -> list[object]:
    """One problem as a dict, a JSON file, MLIR text and a module; the last two say their rule."""
    json_file, text_file = tmp_path / "same.json", tmp_path / "same.mlir"
    json_file.write_text(json.dumps(same_upper(rule, x, y, kernel)), encoding="utf-8")
    shown = f', auto_pad_rule = "{rule}"' if rule else ""
    text = SAME_TEXT.format(x=x, y=y, k=kernel, rule=shown)
    text_file.write_text(text, encoding="utf-8")
    return [same_upper(rule, x, y, kernel), json_file, text_file, parsed(text)]


class TestAutoPadRule:
    """4x4 kernels at stride 2: X = 9, Y = 3 is legal by the page alone (the library wants Y = 5)."""

    def test_a_document_has_the_librarys_rule_and_text_the_pages(self, tmp_path):
        as_dict, json_file, text_file, module = same_forms(None, 9, 3, tmp_path)
        for source in (as_dict, json_file):
            with pytest.raises(gradc.GradcError, match=r"axis H"):
                gradc.compile(source)
        for source in (text_file, module):
            gradc.compile(source)

    @pytest.mark.parametrize("own", [None, "library", "documented"])
    def test_a_forced_rule_precedes_every_ops_own(self, own, tmp_path):
        for source in same_forms(own, 9, 3, tmp_path):
            compiled = gradc.compile(source, auto_pad_rule="documented")
            assert compiled.outputs[0].shape == (1, 2, 9, 9)
            with pytest.raises(gradc.GradcError, match=r"axis H"):
                gradc.compile(source, auto_pad_rule="library")

    def test_it_decides_the_pads(self, tmp_path):
        """X = 8, Y = 4, K = 3 (odd total 1): the library pads the end, the page the begin."""
        for rule, pads in (("library", [0, 0, 1, 1]), ("documented", [1, 1, 0, 0])):
            compiled = gradc.compile(same_upper(None, 8, 4, kernel=3), auto_pad_rule=rule)
            (node,) = (n for n in compiled.model.graph.node if n.op_type == "ConvTranspose")
            (given,) = (a.ints for a in node.attribute if a.name == "pads")
            assert list(given) == pads
            assert f"the {rule} rule gives" in " ".join(map(str, compiled.remarks))

    @pytest.mark.parametrize("own", [None, "library", "documented"])
    @pytest.mark.parametrize("forced", [None, "library", "documented"])
    def test_only_the_rule_that_the_graph_states_goes_without_a_remark(self, own, forced, tmp_path):
        for source in same_forms(own, 10, 5, tmp_path, kernel=3):
            remarks = " ".join(map(str, gradc.compile(source, auto_pad_rule=forced).remarks))
            stated = own is not None and forced in (None, own)
            assert remarks.count("rule would give") == (0 if stated else 2)

    @pytest.mark.parametrize("own", [None, "library"])
    def test_text_keeps_what_was_stated(self, own):
        """A document read, printed and read again."""
        module = load(same_upper(own, 10, 5, kernel=3))
        again = load(parsed(str(module)))
        remarks = " ".join(map(str, gradc.compile(again).remarks))
        assert remarks.count("rule would give") == (0 if own else 2)

    @pytest.mark.parametrize("rule", [None, "library", "documented"])
    def test_nor_is_it_remarked_where_only_run_time_knows_the_sizes(self, rule):
        g = gradc.Graph()
        dy, w = g.input("dy", "f32", [1, 4, None, None]), g.input("w", "f32", [4, 2, 3, 3])
        size = g.input("size", "s32", [4])
        kwargs = {"auto_pad": "same_upper", "auto_pad_rule": rule}
        g.output(g.convolution_backward_data(dy, w, size, **WINDOW | NCX | kwargs), "dx")
        remarks = " ".join(map(str, gradc.compile(g).remarks))
        assert remarks.count("the pads follow at run time") == (2 if rule is None else 0)

    @pytest.mark.parametrize("rounding", [None, "exact", "onnx_prefer_floor"])
    def test_so_does_the_rounding_of_nearest(self, rounding):
        expected_message = {} if rounding is None else {"nearest_rounding": rounding}
        open_ = attrs(mode="nearest", coordinate_transformation_mode="align_corners", **expected_message)
        remarks = " ".join(map(str, gradc.compile(changed(INTERPOLATE, open_)).remarks))
        assert ("leaves the rounding open" in remarks) == (rounding is None)

    def test_a_graph(self):
        kwargs = {"auto_pad": "same_upper", "result_shape": [1, 2, 9, 9]}
        g = gradc.Graph()
        dy, w = g.input("dy", "f32", [1, 4, 3, 3]), g.input("w", "f32", [4, 2, 4, 4])
        g.output(g.convolution_backward_data(dy, w, **WINDOW | NCX | kwargs), "dx")
        gradc.compile(g, auto_pad_rule="documented")
        with pytest.raises(gradc.GradcError, match="axis H"):
            gradc.compile(g, auto_pad_rule="library")

    def test_ops_without_pads_do_not_mind(self):
        for document in (INTERPOLATE, RESIZE):
            gradc.compile(document, auto_pad_rule="library")


class TestDeterminism:
    CODE = (
        "import sys, hashlib, gradc\n"
        "for path in sys.argv[1:]:\n"
        "    model = gradc.compile(path).model\n"
        "    print(hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest())\n"
    )

    @pytest.mark.sweep
    def test_hash_seeds_and_folders(self, tmp_path):
        """The same file from elsewhere, under another spelling of its path, is the same model."""
        names = ["conv_backward.mlir", "resize_dynamic.mlir"]
        runs = [
            (seed, folder, paths)
            for seed, folder, paths in (
                ("1", EXAMPLES, names),
                ("2", EXAMPLES.parent, [f"examples/{name}" for name in names]),
                ("3", tmp_path, [str(EXAMPLES / name) for name in names]),
            )
        ]
        found = {
            subprocess.run(
                [sys.executable, "-c", self.CODE, *paths],
                cwd=folder,
                env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(EXAMPLES.parent)},
                capture_output=True,
                check=True,
                text=True,
            ).stdout
            for seed, folder, paths in (runs[0], *some(runs[1:]))
        }
        assert len(found) == 1

    @pytest.mark.parametrize("name", sorted(ALL))
    def test_twice_in_one_process(self, name):
        assert data(gradc.compile(ALL[name]).model) == data(gradc.compile(ALL[name]).model)


class TestErrorsAreTheCommandLines:
    BAD = {
        "kind.json": text_of(changed(CONV, first_op(kind="ConvolutionBackwardDatas"))),
        "stride.json": text_of(changed(CONV, attrs(strides=[0, 2]))),
        "wildcard.json": text_of(changed(CONV, first_op(kind="Wildcard"))),
        "truncated.json": text_of(CONV)[:100],
        "empty.json": "",
        "syntax.mlir": "func.func @main(",
        "groups.json": text_of(changed(CONV_TRANSPOSE, attrs(groups=3))),
    }

    @pytest.mark.parametrize("name", sorted(BAD))
    def test_the_text_is_the_line(self, name, tmp_path):
        path, out = tmp_path / name, tmp_path / "out.onnx"
        path.write_text(self.BAD[name], encoding="utf-8")
        with pytest.raises(gradc.GradcError) as caught:
            gradc.compile(path)
        result = run_gradc("compile", path, "-o", out)
        assert result.line == str(caught.value)
        assert result.code == caught.value.exit_code == (3 if name == "wildcard.json" else 4)
        assert result.line.startswith(f"{path}:")
        assert not out.exists()
