"""oneDNN Graph documents: what becomes of ids, orders, unknown sizes and written-out defaults."""

import copy
import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
from support.documents import (
    CONV,
    CONV_ATTRS,
    CONV_TRANSPOSE,
    INTERPOLATE,
    LEFT_OUT,
    RESIZE,
    UNKNOWN,
    UPSAMPLE,
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
from xdsl.dialects.builtin import ModuleOp

from dialects import source_ops
from dialects.support.diagnostics import GradcError, UnsupportedError, position_of, subject_of
from dialects.support.documented_op import DocumentedOp
from dialects.support.entry import entry_function, input_names, output_names
from gradc.importers.mlir.parser import import_mlir
from gradc.importers.onednn.op_kinds import PUBLIC_KINDS
from gradc.importers.onednn.reader import import_document, import_documents, import_json

ROOT = Path(__file__).resolve().parents[4]
SHARED = Path(os.environ.get("GRADC_SHARED", ROOT.parent / "shared"))
CASES = SHARED / "cases" / "onednn"


def imported(doc: Doc) -> ModuleOp:
    module = import_json(text_of(doc), "g.json")
    module.verify()
    return module


def ops_of(module: ModuleOp) -> list[DocumentedOp]:
    return [op for op in module.walk() if isinstance(op, DocumentedOp)]


def names_of(doc: Doc) -> tuple[tuple[str, ...], tuple[str, ...]]:
    function = entry_function(imported(doc))
    return input_names(function), output_names(function)


def error_of(doc: Doc) -> str:
    with pytest.raises(GradcError) as caught:
        import_document(doc)
    return str(caught.value)


def test_module_of_one_op():
    """dst_shape twelve zeros away, words in the documented case, the library's auto_pad rule."""
    doc = changed(CONV, attrs(auto_pad="None", output_padding=[0] * 12, partition_id="3", backend="dnnl"))
    assert str(imported(doc)).splitlines()[1:4] == [
        '  func.func @main(%t0: tensor<1x4x3x3xf32> {gradc.name = "t0"}, %t1: tensor<4x2x3x3xf32> '
        '{gradc.name = "t1"}) -> (tensor<1x2x5x5xf32> {gradc.name = "t2"}) {',
        '    %t2 = onednn.convolution_backward_data %t0, %t1 {auto_pad_rule = "library", strides = [2, 2], '
        'pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1], groups = 1, data_format = "NCX", '
        'weights_format = "OIX", dst_shape = [1, 2, 5, 5], auto_pad = "none", source.id = "0"} : '
        "(tensor<1x4x3x3xf32>, tensor<4x2x3x3xf32>) -> tensor<1x2x5x5xf32>",
        "    func.return %t2 : tensor<1x2x5x5xf32>",
    ]


def test_place_and_name():
    text = text_of(two_convolutions())
    first, second = ops_of(import_json(text, "dir/g.json"))
    place = position_of(second)
    assert place is not None
    assert place.file == "dir/g.json"
    rest = "\n".join(
        [text.splitlines()[place.line - 1][place.column - 1 :], *text.splitlines()[place.line :]]
    )
    assert json.JSONDecoder().raw_decode(rest)[0]["name"] == "second"
    assert subject_of(first) == 'ConvolutionBackwardData "conv" id 0'


def test_a_nameless_op():
    doc = copy.deepcopy(CONV)
    del doc["graph"][0]["name"]
    assert subject_of(ops_of(imported(doc))[0]) == 'ConvolutionBackwardData "ConvolutionBackwardData_0" id 0'


@pytest.mark.parametrize("base", [CONV, CONV_TRANSPOSE])
def test_library_rule_unless_the_document_has_one(base: Doc):
    assert ops_of(imported(base))[0].value("auto_pad_rule") == "library"
    doc = changed(base, attrs(auto_pad_rule="documented"))
    assert ops_of(imported(doc))[0].value("auto_pad_rule") == "documented"


@pytest.mark.parametrize("base", [CONV, CONV_TRANSPOSE, INTERPOLATE, RESIZE, UPSAMPLE])
def test_every_compiled_kind_and_its_text(base: Doc):
    module = imported(base)
    assert ops_of(module)[0].__class__ is source_ops()[base["graph"][0]["kind"]]
    assert str(import_mlir(str(module), "g.mlir")) == str(module)
    assert str(import_document(base)) == str(module)


@pytest.mark.parametrize("version", ["0.6.0", "3.0.0", "3.13.0"])
def test_versions(version: str):
    """Old documents have addresses for ids, and no ports."""
    renamed = renumbered(changed(two_convolutions(), top(version=version)), lambda i: i + 2**32 * 31)
    assert names_of(renamed) == tuple(tuple(f"t{i + 2**32 * 31}" for i in ids) for ids in ((0, 1, 3), (4,)))


def test_bad_version():
    assert "version" in error_of(changed(CONV, top(version="new")))
    assert "version" in error_of(changed(CONV, top(version=3)))


@pytest.mark.parametrize("mode", ["strict", "bf16", "f16", "any", "tf32", "STRICT"])
def test_fpmath_modes_are_accepted(mode: str):
    doc = changed(CONV, top(fpmath_mode=mode, fpmath_mode_apply_to_int="true", engine_kind="gpu"))
    assert str(imported(doc)) == str(imported(CONV))


def renumbered(doc: Doc, rename) -> Doc:
    doc = copy.deepcopy(doc)
    for node in doc["graph"]:
        for record in (*node["inputs"], *node["outputs"]):
            record["id"] = rename(record["id"])
    return doc


def diamond() -> Doc:
    """Tensor 10 is read twice; 12 and 14 are left, 10 is listed as an output as well."""
    same = CONV_ATTRS | {"strides": [1, 1], "dst_shape": [1, 2, 5, 5]}

    def step(identifier: int, source: int, target: int) -> Doc:
        operands = [tensor(source, [1, 2, 5, 5]), tensor(identifier + 20, [2, 2, 3, 3])]
        return op(identifier, "ConvolutionBackwardData", same, operands, [tensor(target, [1, 2, 5, 5])])

    steps = [step(1, 5, 10), step(2, 10, 12), step(3, 10, 13), step(4, 13, 14)]
    return document(*steps, input_ports=[22, 5], output_ports=[14, 10])


def test_ports_give_the_order():
    assert names_of(diamond()) == (("t22", "t5", "t21", "t23", "t24"), ("t14", "t10", "t12"))


def test_without_ports_the_first_use_gives_it():
    doc = diamond()
    del doc["input_ports"], doc["output_ports"]
    assert names_of(doc) == (("t5", "t21", "t22", "t23", "t24"), ("t12", "t14"))


@pytest.mark.parametrize("seed", range(10))
def test_any_order_of_ops(seed: int):
    doc = diamond() | {"input_ports": [5, 21, 22, 23, 24, 24, 5, 99], "output_ports": [12, 14]}
    shuffled = copy.deepcopy(doc)
    random.Random(seed).shuffle(shuffled["graph"])
    expected, found = imported(doc), imported(shuffled)
    assert names_of(doc) == names_of(shuffled)
    assert dataflow(found) == dataflow(expected)


def dataflow(module: ModuleOp) -> set[tuple]:
    return {(op.name, *(o.name_hint for o in op.operands), op.results[0].name_hint) for op in ops_of(module)}


@pytest.mark.parametrize("seed", range(5))
def test_any_ids(seed: int):
    """The module with ids put back is the same text."""
    rng = random.Random(seed)
    doc = diamond()
    ids = {t["id"] for node in doc["graph"] for t in (*node["inputs"], *node["outputs"])}
    new = dict(zip(sorted(ids), rng.sample(range(10**6, 2 * 10**6), len(ids)), strict=True))
    other = renumbered(doc, new.__getitem__)
    for key in ("input_ports", "output_ports"):
        other[key] = [new[i] for i in doc[key]]
    old = {f"t{b}": f"t{a}" for a, b in new.items()}
    text = re.sub(r"\bt\d{7}\b", lambda match: old[match[0]], str(imported(other)))
    assert text == str(imported(doc))


def test_end_makes_outputs():
    doc = two_convolutions()
    doc["graph"].append(op(9, "End", {}, [tensor(2, [1, 2, 5, 5])], []))
    assert names_of(doc) == (("t0", "t1", "t3"), ("t2", "t4"))
    del doc["graph"][2]["outputs"]
    assert names_of(doc)[1] == ("t2", "t4")
    doc["graph"][2]["outputs"] = [tensor(50, [1])]
    assert '[End "op_9" id 9] number of outputs: given 1, expected 0' in error_of(doc)


def test_end_of_an_input():
    doc = two_convolutions()
    doc["graph"].append(op(9, "End", {}, [tensor(0, [1, 4, 3, 3])], []))
    function = entry_function(imported(doc))
    assert input_names(function) == ("t0", "t1", "t3")
    assert len(output_names(function)) == 2


def test_unknown_sizes():
    """Unknown dims stay dynamic; the output may be of unknown rank."""
    doc = changed(CONV, ports([UNKNOWN, 4, UNKNOWN, 3], None, [UNKNOWN]))
    assert "-> tensor<?x2x5x5xf32>" in str(imported(changed(doc, attrs(dst_shape=[UNKNOWN, 2, 5, 5]))))
    doc = changed(INTERPOLATE, ports([UNKNOWN, 2, UNKNOWN, 3], [UNKNOWN, 2, 6, 6], [UNKNOWN]))
    assert "-> tensor<?x2x?x3xf32>" in str(imported(doc))


def test_declared_shape_is_a_source():
    doc = changed(CONV, attrs(dst_shape=LEFT_OUT))
    assert "-> tensor<1x2x5x5xf32>" in str(imported(doc))


@pytest.mark.parametrize("shape", [[4], [UNKNOWN]])
@pytest.mark.parametrize("dims", [[1, 2, 5, 5], [1, 2, UNKNOWN, 5], [UNKNOWN]])
def test_a_run_time_dst_shape_precedes_the_declared_sizes(shape: list[int], dims: list[int]):
    change = (inputs(2, tensor(7, shape, "s32")), output(dims), attrs(dst_shape=LEFT_OUT))
    module = imported(changed(CONV, *change))
    assert "-> tensor<1x2x?x?xf32>" in str(module)
    assert input_names(entry_function(module)) == ("t0", "t1", "t7")


def test_declared_batch_and_channels_are_held_against_the_op():
    change = (inputs(2, tensor(7, [4], "s32")), output([1, 3, 5, 5]), attrs(dst_shape=LEFT_OUT))
    assert "shape of diff_src: given [1, 3, ?, ?], expected [1, 2, ?, ?]" in error_of(changed(CONV, *change))


def test_consumers_see_the_inferred_type():
    doc = changed(two_convolutions(), inputs(2, tensor(7, [4], "s32")))
    first, second = ops_of(imported(doc))
    assert second.operands[0].type == first.results[0].type
    assert "tensor<1x2x?x?xf32>" in str(second.operands[0].type)


def test_undefined_dtypes():
    """The result's dtype follows from the op; an input's is needed."""
    assert "-> tensor<1x2x5x5xf32>" in str(imported(changed(CONV, ports(dtypes=(None, None, "undef")))))
    line = error_of(changed(CONV, ports(dtypes=("undef",))))
    assert "dtype of tensor 0 (diff_dst): given undef" in line


def test_strides_are_physical():
    channel_last = changed(CONV)
    channel_last["graph"][0]["inputs"][0] |= {"stride": [36, 1, 12, 4], "layout_type": "strided"}
    channel_last["graph"][0]["inputs"][1] |= {"stride": [UNKNOWN], "property_type": "constant"}
    assert str(imported(channel_last)) == str(imported(CONV))


def test_optional_keys():
    doc = changed(RESIZE)
    del doc["graph"][0]["attrs"], doc["version"], doc["engine_kind"], doc["fpmath_mode"]
    for record in (*doc["graph"][0]["inputs"], *doc["graph"][0]["outputs"]):
        for key in ("stride", "layout_type", "property_type"):
            del record[key]
    assert "cann.resize_bilinear_v2_grad %t0, %t1 {source.id" in str(imported(doc))


@pytest.mark.parametrize("value", [0, 1, False, True])
def test_booleans(value: int):
    entry = {"type": "bool", "value": value}
    doc = changed(RESIZE, first_op(attrs={"align_corners": entry}))
    assert ops_of(imported(doc))[0].value("align_corners") is bool(value)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("graph",), {}, "graph of the document: given {}, expected an array"),
        (("graph", 0), 5, "element 0 of graph: given 5, expected an op record"),
        (("graph", 0, "id"), "0", 'id of element 0 of graph: given "0", expected a non-negative integer'),
        (("graph", 0, "id"), None, "id of element 0 of graph: given null"),
        (("graph", 0, "kind"), 7, "kind of element 0 of graph: given 7, expected a string"),
        (("graph", 0, "name"), 7, "name of element 0 of graph: given 7, expected a string"),
        (("graph", 0, "attrs"), [], "attrs of the op: given [], expected an object"),
        (("graph", 0, "inputs"), {}, "inputs of the op: given {}, expected an array"),
        (("graph", 0, "outputs"), 1, "outputs of the op: given 1, expected an array"),
        (("graph", 0, "attrs", "groups"), 1, "attribute groups: given 1, expected an object with the keys"),
        (("graph", 0, "attrs", "groups"), {"type": "s64"}, "attribute groups has no key value"),
        (("graph", 0, "attrs", "groups"), {"value": 1}, "attribute groups has no key type"),
        (("graph", 0, "attrs", "groups", "value"), 1.0, "attribute groups: given 1.0, expected type s64"),
        (("graph", 0, "inputs", 0), "x", "element 0 of inputs (diff_dst)"),
        (("graph", 0, "inputs", 0, "id"), 1.5, "id of tensor record of diff_dst: given 1.5"),
        (("graph", 0, "inputs", 0, "shape"), 4, "shape of tensor 0 (diff_dst): given 4, expected an array"),
        (("graph", 0, "inputs", 0, "shape", 1), "4", "shape of tensor 0 (diff_dst), element 1"),
        (("graph", 0, "inputs", 0, "dtype"), 1, "dtype of tensor 0 (diff_dst): given 1, expected a string"),
        (("graph", 0, "inputs", 0, "layout_type"), "tiled", "strided, undef, any, opaque"),
        (("graph", 0, "inputs", 0, "property_type"), "const", "undef, variable, constant, host_scalar"),
        (("input_ports",), 3, "input_ports of the document: given 3, expected an array"),
        (("output_ports",), ["2"], "output_ports of the document, element 0"),
        (("engine_kind",), "npu", 'engine_kind of the document: given "npu", expected one of cpu, gpu'),
    ],
)
def test_ill_typed_keys(path, value, named: str):
    doc = copy.deepcopy(CONV) | {"input_ports": [0, 1], "output_ports": [2]}
    place = doc
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert named in error_of(doc)


@pytest.mark.parametrize("key", ["id", "kind", "inputs", "outputs"])
def test_missing_op_keys(key: str):
    doc = copy.deepcopy(CONV)
    del doc["graph"][0][key]
    assert f"has no key {key}" in error_of(doc)


@pytest.mark.parametrize("key", ["id", "dtype", "shape"])
def test_missing_tensor_keys(key: str):
    doc = copy.deepcopy(CONV)
    del doc["graph"][0]["inputs"][1][key]
    line = error_of(doc)
    assert f"has no key {key}" in line
    assert "weights" in line
    assert '[ConvolutionBackwardData "conv" id 0]' in line


def test_misspelt_keys():
    doc = copy.deepcopy(RESIZE)
    doc["graph"][0]["attributes"] = doc["graph"][0].pop("attrs")
    assert "unknown key attributes" in error_of(doc)
    assert "did you mean attrs?" in error_of(doc)
    assert import_document(changed(RESIZE, top(comment="mine"), first_op(note=1)))


def test_number_of_outputs():
    doc = copy.deepcopy(CONV)
    doc["graph"][0]["outputs"] *= 2
    assert "number of outputs: given 2, expected 1" in error_of(doc)


def test_records_that_differ_in_dtype():
    doc = two_convolutions()
    doc["graph"][1]["inputs"][0]["dtype"] = "f16"
    line = error_of(doc)
    assert "tensor 2 differs" in line
    assert 'given f16 [1, 2, 5, 5] by op 1 "second", expected f32 [1, 2, 5, 5] as by op 0 "conv"' in line


def test_self_cycle():
    doc = changed(CONV_TRANSPOSE)
    doc["graph"][0]["outputs"] = [doc["graph"][0]["inputs"][0]]
    assert 'the ops form a cycle: 0 -> 0 ("deconv" -> "deconv")' in error_of(doc)


def test_public_kinds():
    """oneDNN 3.13 has 88; gradc's own are among the source ops, not among these."""
    assert len(set(PUBLIC_KINDS)) == len(PUBLIC_KINDS) == 88
    assert set(source_ops()) - set(PUBLIC_KINDS) == {"ResizeBilinearV2Grad", "UpsampleBilinear2dBackward"}


@pytest.mark.parametrize("kind", sorted({*PUBLIC_KINDS} - {*source_ops(), "End"}))
def test_kinds_that_are_not_compiled(kind: str):
    with pytest.raises(UnsupportedError, match=rf"\[{kind} \"x\" id 0\].*{kind}"):
        import_document(document(op(0, kind, {}, [], [], "x")))
    with pytest.raises(
        GradcError, match=rf"given {kind.swapcase()}, expected {kind}; kinds are case"
    ) as caught:
        import_document(document(op(0, kind.swapcase(), {}, [], [], "x")))
    assert caught.value.exit_code == 4


@pytest.mark.sweep
@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not here")
def test_documents_of_the_library():
    """Those of compiled kinds are imported, and come back from their text; others are unsupported."""
    compiled, paths = 0, some(sorted(CASES.glob("*-*.json")), 4)
    for path in paths:
        text = path.read_bytes()
        kinds = {node["kind"] for node in json.loads(text)["graph"]}
        if not kinds <= set(source_ops()) | {"End"}:
            with pytest.raises(UnsupportedError):
                import_json(text, path.name)
            continue
        module = import_json(text, path.name)
        module.verify()
        assert str(import_mlir(str(module), path.name)) == str(module)
        compiled += 1
    assert compiled > len(paths) / 10


@pytest.mark.parametrize("text", ["false", "12", '"graph"', "null"])
def test_a_document_that_is_no_object_has_a_place(text: str):
    with pytest.raises(GradcError, match=r"^x\.json:1:1: error: the document: given "):
        import_json(text, "x.json")


@pytest.mark.parametrize("name", ["\ud800", "a\udfff"])
def test_half_a_character_is_no_name(name: str):
    """JSON can spell it; no model can hold it."""
    doc = changed(CONV, first_op(name=name))
    with pytest.raises(GradcError, match="expected text that UTF-8 can spell") as caught:
        import_json(text_of(doc), "x.json")
    assert str(caught.value).startswith("x.json:8:12: error: name of element 0 of graph: ")
    with pytest.raises(GradcError, match="UTF-8"):
        import_document(doc)


def test_what_is_wrong_besides_kinds_is_told_with_them():
    """Words that are no kinds, kinds that are not compiled, and attributes, of several parts of a graph."""

    def part(*kinds: str, first: int) -> dict[str, Any]:
        tensors = [{"id": i, "dtype": "f32", "shape": [2, 2]} for i in range(first, first + len(kinds) + 1)]
        ops = [
            {"id": first + i, "name": kind, "kind": kind, "attrs": {}, "inputs": [x], "outputs": [y]}
            for i, (kind, x, y) in enumerate(zip(kinds, tensors, tensors[1:], strict=False))
        ]
        return {"version": "3.13.0", "graph": ops}

    one, two = part("Reluu", "Wildcard", "LeakyReLU", first=0), part("reLU", first=10)
    one["graph"][2]["attrs"] = {"alpha": {"type": "f32", "value": "x"}}
    with pytest.raises(GradcError) as caught:
        import_documents([one, two])
    reported = [diagnostic.message for diagnostic in caught.value.diagnostics]
    assert caught.value.exit_code == 4
    assert [re.split("[,;]", text)[0] for text in reported] == [
        "kind: given Reluu",
        "gradc does not compile 1 of 3 ops: 1 Wildcard (id 1)",
        "kind: given reLU",
        "attribute alpha: given 'x'",
    ]
