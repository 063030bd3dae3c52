"""`gradc inspect`: what is in a graph."""

import json
from pathlib import Path

import pytest
from support.cli import run_gradc
from support.documents import CONV, CONV_TRANSPOSE, INTERPOLATE, RESIZE, UPSAMPLE, attrs, changed, text_of

import gradc
from dialects import source_ops
from dialects.support.attributes import documented_attributes
from gradc.inspection.inspection import as_json, as_text, inspect

EXAMPLES = Path(__file__).parents[4] / "examples"
DOCUMENTS = [CONV, CONV_TRANSPOSE, INTERPOLATE, RESIZE, UPSAMPLE]


def found(source) -> dict:
    return json.loads(as_json(inspect(source)))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d["graph"][0]["kind"])
class TestOps:
    def test_the_op_is_the_documents(self, document):
        (given,) = document["graph"]
        (op,) = found(document)["ops"]
        assert (op["kind"], op["name"]) == (given["kind"], given["name"])
        for side in ("inputs", "outputs"):
            shown = [(t["name"], t["dtype"], t["shape"]) for t in op[side]]
            assert shown == [(f"t{t['id']}", t["dtype"], t["shape"]) for t in given[side]]

    def test_attributes_are_those_given_and_the_defaults(self, document):
        (given,) = document["graph"]
        (op,) = found(document)["ops"]
        documented = documented_attributes(source_ops()[given["kind"]])
        for attribute in op["attributes"]:
            name, value = attribute["name"], attribute["value"]
            if name in given["attrs"]:
                assert (value, attribute["given"]) == (given["attrs"][name]["value"], True)
            elif name != "auto_pad_rule":
                default = documented[name].spec.default
                assert (value, attribute["given"]) == (
                    list(default) if isinstance(default, tuple) else default,
                    False,
                )
        shown = {a["name"] for a in op["attributes"]}
        assert {n for n, d in documented.items() if d.spec.default is not None} <= shown

    def test_text_and_json_say_the_same(self, document):
        text = as_text(inspect(document))
        (op,) = found(document)["ops"]
        for attribute in op["attributes"]:
            assert f"  {attribute['name']} = " in text
        assert text.endswith("supported: yes")


class TestGraph:
    def test_shapes_are_lists_of_sizes_names_and_null(self):
        graph = found(EXAMPLES / "resize_dynamic.mlir")
        assert [t["shape"] for t in graph["inputs"]] == [["N", 3, None, None], ["N", 3, "H", "W"]]
        assert [t["shape"] for t in graph["outputs"]] == [["N", 3, "H", "W"]]
        assert graph["ops"][0]["position"].endswith("resize_dynamic.mlir:4:3")

    def test_a_real_graph(self):
        graph = found(EXAMPLES / "decoder_backward.json")
        assert [t["name"] for t in graph["inputs"]] == ["t0", "t1", "t3", "t5", "t7", "t9"]
        assert [t["name"] for t in graph["outputs"]] == ["t10"]
        assert graph["refusal"] == ""
        produced = {t["name"] for op in graph["ops"] for t in op["outputs"]}
        read = {t["name"] for op in graph["ops"] for t in op["inputs"]}
        assert read - produced == {t["name"] for t in graph["inputs"]}

    def test_remarks(self):
        assert found(changed(CONV, attrs(output_padding=[1, 1])))["remarks"]
        assert found(CONV)["remarks"] == []

    def test_what_is_not_supported_says_why(self):
        """A GELU of f64: onnxruntime has no Erf for it."""
        g = gradc.Graph()
        g.output(g.gelu(g.input("x", "f64", ["N", 4])), "y")
        with pytest.raises(gradc.UnsupportedError) as caught:
            gradc.compile(g)
        graph = inspect(g)
        assert graph.refusal == str(caught.value)
        assert as_text(graph).splitlines()[-1] == f"supported: no, {caught.value}"
        assert len(graph.ops) == 1

    def test_the_graph_is_left_alone(self):
        module = gradc.compiler.driver.load(CONV)
        before = gradc.graph.printing.module_text(module)
        inspect(module)
        assert gradc.graph.printing.module_text(module) == before


class TestCommand:
    def test_json(self, tmp_path):
        path = tmp_path / "conv.json"
        path.write_text(text_of(CONV), encoding="utf-8")
        result = run_gradc("inspect", path, "--json")
        assert (result.code, result.err) == (0, "")
        assert list(json.loads(result.out)) == ["inputs", "outputs", "ops", "remarks", "refusal"]

    def test_booleans_are_spelled_as_documented(self, tmp_path):
        path = tmp_path / "resize.json"
        path.write_text(text_of(RESIZE), encoding="utf-8")
        assert "align_corners = false  (default)" in run_gradc("inspect", path).out

    def test_a_bad_graph(self, tmp_path):
        path = tmp_path / "conv.json"
        path.write_text(text_of(changed(CONV, attrs(groups=0))), encoding="utf-8")
        result = run_gradc("inspect", path)
        assert (result.code, result.out) == (4, "")
        assert "groups: given 0" in result.line
