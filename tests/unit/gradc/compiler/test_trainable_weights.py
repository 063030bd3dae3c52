"""The rule on trainable weights, and the names that exporters replaced."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.trained_files import model, node, with_program

from gradc.compiler.driver import load
from gradc.compiler.parameter_names import is_generated
from gradc.compiler.trainable_weights import Weight, find_weights, lost_parameters


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def weights_of(source: onnx.ModelProto) -> dict[str, Weight]:
    return find_weights(load(source, for_gradients=()))


def trainable(source: onnx.ModelProto) -> set[str]:
    return {name for name, weight in weights_of(source).items() if weight.is_trainable}


def reason(source: onnx.ModelProto, name: str) -> str:
    weight = weights_of(source)[name]
    return f"{'yes' if weight.is_trainable else 'no'}: {weight.reason}"


def test_statistics_and_bounds_are_not_trainable():
    arrays = {name: random(4) for name in ("scale", "shift", "m", "v")} | {
        "low": np.float32(0),
        "high": np.float32(6),
    }
    source = model(
        [
            node("BatchNormalization", "x scale shift m v", "a", "bn"),
            node("Clip", "a low high", "y", "c"),
        ],
        arrays,
    )
    assert trainable(source) == {"scale", "shift"}
    assert reason(source, "v") == "no: running variance of BatchNormalization bn"
    assert reason(source, "high") == "no: bound of Clip c"
    assert reason(source, "shift") == "yes: bias of BatchNormalization bn"


@pytest.mark.parametrize(
    "between",
    [
        [node("Transpose", "w", "v")],
        [node("Identity", "w", "u"), node("Transpose", "u", "v")],
        [node("Reshape", "w s", "v")],
        [node("Cast", "w", "u", to=TensorProto.DOUBLE), node("Cast", "u", "v", to=TensorProto.FLOAT)],
        [node("Split", "w", "v u", num_outputs=2, axis=1)],
        [node("Concat", "w w", "v", axis=1)],
    ],
)
def test_a_weight_is_followed_through_moves(between: list[onnx.NodeProto]):
    source = model([*between, node("MatMul", "x v", "y", "m")], {"w": random(4, 4), "s": np.array([4, 4])})
    assert reason(source, "w") == "yes: weight of MatMul m"
    assert trainable(source) == {"w"}


def test_a_constant_next_to_data_is_no_weight_of_what_reads_both():
    nodes = [
        node("Concat", "x val_3", "a", axis=1),
        node("MatMul", "a w", "y"),
    ]
    assert trainable(model(nodes, {"val_3": random(1, 2), "w": random(6, 2)}, (1, 4))) == {"w"}


def test_a_weight_in_a_loop_counts_and_the_initial_state_does_not():
    body = onnx.parser.parse_graph("b (int64 i, bool c, float[1,4] h) => (bool d, float[1,4] k) "
        "{ d = Identity (c) p = MatMul (h, w) k = Add (p, x) }")  # fmt: skip
    loop = helper.make_node("Loop", ["n", "", "val_0"], ["y"], name="l", body=body)
    source = model(
        [loop], {"n": np.array(3), "val_0": np.zeros((1, 4), np.float32), "w": random(4, 4)}, (1, 4)
    )
    assert trainable(source) == {"w"}


@pytest.mark.parametrize("op", ["Add", "Mul"])
@pytest.mark.parametrize("name", ["pos_embed", "model.a.b", "gamma", "layer/bias/ReadVariableOp:0"])
def test_a_name_of_a_parameter_makes_it_one(op: str, name: str):
    assert trainable(model([node(op, f"x {name}", "y")], {name: random(1, 4)})) == {name}


@pytest.mark.parametrize("op", ["Add", "Mul"])
@pytest.mark.parametrize(
    "name",
    ["val_7", "onnx::Add_12", "/a/Constant_1_output_0", "12", "expand_3", "Mul_4", "a.inv_freq", "k/y:0"],
)
def test_constants_of_formulas_are_not_trainable(op: str, name: str):
    assert trainable(model([node(op, f"x {name}", "y")], {name: random(1, 4)})) == set()


def test_one_element_needs_a_word():
    source = model(
        [node("Mul", "x half", "a"), node("Mul", "a logit_scale", "y")],
        {"half": np.float32(0.5), "logit_scale": np.float32(2)},
    )
    assert trainable(source) == {"logit_scale"}


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_sinusoidal_positions_are_not_trainable(layout: str):
    angles = np.arange(6)[:, None] / 10000 ** (np.arange(2) / 2)
    parts = [np.sin(angles), np.cos(angles)]
    table = np.stack(parts, -1).reshape(6, 4) if layout == "interleaved" else np.concatenate(parts, 1)
    nodes = [node("Add", "x pe", "y")]
    assert trainable(model(nodes, {"pe": table.astype(np.float32)[None]}, (1, 6, 4))) == set()
    assert trainable(model(nodes, {"pe": random(1, 6, 4)}, (1, 6, 4))) == {"pe"}


def test_an_embedding_whose_padding_row_is_zero_is_trainable():
    table = random(6, 4) / 50
    table[0] = 0
    nodes = [node("Cast", "x", "i", to=TensorProto.INT64), node("Gather", "onnx::Gather_1 i", "y", "g")]
    source = model(nodes, {"onnx::Gather_1": table}, (3,))
    assert reason(source, "onnx::Gather_1") == "yes: embedding table of Gather g"


def test_quantized_weights_are_no_floats_and_scales_no_weights():
    nodes = [node("DequantizeLinear", "q s", "w", "d"), node("MatMul", "x w", "y")]
    source = model(nodes, {"q": np.ones((4, 2), np.int8), "s": np.float32(0.1)})
    assert trainable(source) == set()
    assert reason(source, "q") == "no: s8, not floats"
    assert reason(source, "s") == "no: quantization scale of DequantizeLinear d"


def test_groups_in_older_opsets_have_their_scale_behind_the_normalization():
    nodes = [
        node("Reshape", "x s", "a"),
        node("InstanceNormalization", "a val_1 val_2", "b", "/gn/InstanceNormalization"),
        node("Reshape", "b t", "c"),
        node("Mul", "c onnx::Mul_3", "d", "/gn/Mul"),
        node("Add", "d onnx::Add_4", "y", "/gn/Add"),
    ]
    arrays = {
        "s": np.array([1, 2, 8]),
        "t": np.array([1, 4, 4]),
        "val_1": np.ones(2, np.float32),
        "val_2": np.zeros(2, np.float32),
        "onnx::Mul_3": random(4, 1),
        "onnx::Add_4": random(4, 1),
    }
    found = weights_of(model(nodes, arrays, (1, 4, 4)))
    names = {name: list(one.source.names) for name, one in found.items() if one.is_trainable}
    assert names == {"onnx::Mul_3": ["gn.weight"], "onnx::Add_4": ["gn.bias"]}


def test_paths_of_nodes_tell_the_names():
    nodes = [
        node("MatMul", "x onnx::MatMul_9", "a", "/layers/layers.0/attn/MatMul"),
        node("Add", "layers.0.attn.in_proj_bias a", "b", "/layers/layers.0/attn/Add"),
        node("MatMul", "b onnx::MatMul_10", "y", "/layers/layers.0/out/MatMul"),
    ]
    arrays = {
        "onnx::MatMul_9": random(4, 4),
        "layers.0.attn.in_proj_bias": random(4),
        "onnx::MatMul_10": random(4, 2),
    }
    found = weights_of(model(nodes, arrays))
    assert list(found["onnx::MatMul_9"].source.names) == ["layers.0.attn.in_proj_weight"]
    assert list(found["onnx::MatMul_10"].source.names) == ["layers.0.out.weight"]
    assert found["onnx::MatMul_10"].source.stored == "transposed"
    assert not found["layers.0.attn.in_proj_bias"].source.names


def test_two_products_in_a_module_have_no_traced_name():
    nodes = [
        node("MatMul", "x onnx::MatMul_9", "a", "/attn/MatMul"),
        node("MatMul", "a onnx::MatMul_10", "y", "/attn/MatMul_1"),
    ]
    found = weights_of(model(nodes, {"onnx::MatMul_9": random(4, 4), "onnx::MatMul_10": random(4, 2)}))
    assert all(one.is_trainable and not one.source.names for one in found.values())


def test_the_program_of_the_exporter_decides():
    nodes = [
        node("MatMul", "x val_3", "a", "n0"),
        node("Concat", "expand a", "c", "n1", axis=1),
        node("Mul", "c window", "d", "n2"),
        node("MatMul", "d val_9", "y", "n3"),
    ]
    arrays = {
        "val_3": random(4, 4),
        "expand": random(1, 2, 4),
        "window": random(4),
        "val_9": random(4, 2),
    }
    source = with_program(
        model(nodes, arrays, (1, 3, 4)),
        {"f.weight": "PARAMETER", "token": "PARAMETER", "window": "BUFFER"},
        {
            "n0": ("linear.default](args = (%x, %p_f_weight, None)", "['', 'f', 'linear']"),
            "n1": ("cat.default](args = ([%expand, %a], 1)", "['', 'cat']"),
            "n2": ("mul.Tensor](args = (%c, %b_window)", "['', 'mul']"),
            "n3": ("stft.default](args = (%d, 4)", "['', 'stft']"),
        },
    )
    found = weights_of(source)
    assert {n: list(one.source.names) for n, one in found.items() if one.is_trainable} == {
        "val_3": ["f.weight"],
        "expand": ["token"],
    }
    assert found["expand"].source.stored == "folded"
    assert reason(source, "window") == "no: a buffer of the module"
    assert reason(source, "val_9") == "no: weight of MatMul n3, but no parameter of the module"
    module = load(source, for_gradients=())
    assert lost_parameters(module, find_weights(module)) == []


@pytest.mark.parametrize(
    ("scopes", "inputs", "names"),
    [
        (("a", "a"), ["a.b.table"], []),
        (("a", "c"), ["a.b.table"], ["a.b.table"]),
        (("a", "c"), ["a.b.table", "a.table"], ["a.table"]),
        (("a", "c"), ["a.b.table", "a.b.other"], []),
        (("", "c"), ["a.b.table"], []),
    ],
)
def test_a_computed_parameter_is_the_only_one_of_its_module(
    scopes: tuple[str, str], inputs: list[str], names: list[str]
):
    nodes = [node("Add", "x index", "a", "n0"), node("Add", "a where", "y", "n1")]
    calls = [(f"add.Tensor](args = (%x, %{name})", name) for name in ("index", "where")]
    paths = [f"['', {scope!r}, 'add']" if scope else "['', 'add']" for scope in scopes]
    source = with_program(
        model(nodes, {"index": random(1, 4), "where": random(2, 4)}, (2, 4)),
        dict.fromkeys(inputs, "PARAMETER"),
        {name: (call, path) for name, (call, _), path in zip(("n0", "n1"), calls, paths, strict=True)},
    )
    assert list(weights_of(source)["index"].source.names) == names


@pytest.mark.parametrize(("names", "traced"), [(("expand", "where"), "expand"), (("add", "where"), "")])
def test_of_two_claims_the_expanded_one_counts(names: tuple[str, str], traced: str):
    nodes = [node("Add", f"x {names[0]}", "a", "n0"), node("Add", f"a {names[1]}", "y", "n1")]
    source = with_program(
        model(nodes, {names[0]: random(1, 4), names[1]: random(2, 4)}, (2, 4)),
        {"token": "PARAMETER"},
        {
            name: (f"add.Tensor](args = (%x, %{other})", "['', 'add']")
            for name, other in zip(("n0", "n1"), names, strict=True)
        },
    )
    found = {name: list(one.source.names) for name, one in weights_of(source).items()}
    assert found == {name: ["token"] if name == traced else [] for name in names}


def test_two_tokens_of_a_module_are_trainable_without_names():
    source = with_program(
        model(
            [node("Concat", "expand expand_1 x", "y", "n", axis=0)],
            {"expand": random(1, 4), "expand_1": random(1, 4)},
            (2, 4),
        ),
        {"token": "PARAMETER", "other": "PARAMETER"},
        {"n": ("cat.default](args = ([%expand, %expand_1, %x],)", "['', 'cat']")},
    )
    found = weights_of(source)
    assert {name: (one.is_trainable, list(one.source.names)) for name, one in found.items()} == {
        "expand": (True, []),
        "expand_1": (True, []),
    }


@pytest.mark.parametrize(("name", "names"), [("expand_2", ["token"]), ("where", [])])
def test_an_expanded_parameter_may_be_of_a_module_around(name: str, names: list[str]):
    source = with_program(
        model([node("Concat", f"x {name}", "y", "n", axis=0)], {name: random(1, 4)}, (2, 4)),
        {"token": "PARAMETER", "a.other": "PARAMETER"},
        {"n": (f"cat.default](args = ([%x, %{name}],)", "['', 'blocks', 'blocks.0', 'cat']")},
    )
    assert list(weights_of(source)[name].source.names) == names


def test_a_convolution_with_its_normalization_is_folded():
    call = "_native_batch_norm_legit_no_training.default](args = (%conv2d, %p_n_weight, %p_n_bias)"
    source = with_program(
        model([node("Conv", "x c.weight c.weight_bias", "y", "n")], {}, (1, 2, 4, 4)),
        {"c.weight": "PARAMETER", "n.weight": "PARAMETER", "n.bias": "PARAMETER"},
        {"n": (call, "['', 'n', 'norm']")},
    )
    arrays = {"c.weight": random(3, 2, 1, 1), "c.weight_bias": random(3)}
    source.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    found = {name: (list(one.source.names), one.source.stored) for name, one in weights_of(source).items()}
    assert found == {"c.weight": ([], "folded"), "c.weight_bias": (["n.bias"], "folded")}


def test_a_mask_that_is_folded_is_no_bias_of_its_module():
    nodes = [node("Exp", "x", "a"), node("Add", "a onnx::Add_3", "y", "/attn/Add")]
    assert trainable(model(nodes, {"onnx::Add_3": random(4, 4)}, (4, 4))) == set()


def test_equal_parameters_that_became_one_keep_their_names():
    nodes = [
        node("LayerNormalization", "x a.weight", "p", "n0"),
        node("LayerNormalization", "p a.weight", "q", "n1"),
        node("LayerNormalization", "q c.weight", "y", "n2"),
    ]
    source = with_program(
        model(nodes, {"a.weight": np.ones(4, np.float32), "c.weight": random(4)}),
        dict.fromkeys(("a.weight", "b.weight", "c.weight", "lost"), "PARAMETER"),
        {
            "n0": ("layer_norm.default](args = (%x, [4], %p_a_weight)", "['', 'a', 'layer_norm']"),
            "n1": ("layer_norm.default](args = (%p, [4], %p_b_weight)", "['', 'b', 'layer_norm_1']"),
            "n2": ("layer_norm.default](args = (%q, [4], %p_c_weight)", "['', 'c', 'layer_norm_2']"),
        },
    )
    found = weights_of(source)
    sources = {name: (list(one.source.names), one.source.stored) for name, one in found.items()}
    assert sources == {"a.weight": (["b.weight"], "merged"), "c.weight": ([], "")}
    module = load(source, for_gradients=())
    assert lost_parameters(module, find_weights(module)) == ["lost"]


@pytest.mark.parametrize("name", ["/cell/Constant_2_output_0", "state"])
def test_the_first_factor_of_a_weight_is_data(name: str):
    """The initial state of an unrolled cell is a constant that is multiplied by a weight."""
    nodes = [node("Gemm", f"{name} cell.weight", "a", "n0", transB=1), node("Add", "x a", "y", "n1")]
    weights = weights_of(
        model(nodes, {name: np.zeros((1, 3), np.float32), "cell.weight": random(4, 3)}, (1, 4))
    )
    assert weights["cell.weight"].is_trainable
    is_named = name == "state"
    assert (weights[name].is_trainable, weights[name].is_doubtful) == (is_named, not is_named)


def test_the_second_name_of_a_tied_parameter_is_not_lost():
    """torch.export passes a tied parameter under one name to all of its readers."""
    nodes = [node("Gather", "head.weight ids", "h", "n0"), node("MatMul", "h t", "y", "n1")]
    nodes.insert(1, node("Transpose", "head.weight", "t", perm=[1, 0]))
    source = with_program(
        model(nodes, {"head.weight": random(6, 4), "ids": np.array([1, 2])}),
        dict.fromkeys(("head.weight", "embedding.weight", "lost.weight"), "PARAMETER"),
        {
            "n0": ("embedding.default](args = (%p_head_weight, %ids)", "['', 'embedding', 'embedding']"),
            "n1": ("linear.default](args = (%h, %p_head_weight)", "['', 'head', 'linear']"),
        },
    )
    module = load(source, for_gradients=())
    assert lost_parameters(module, find_weights(module)) == ["lost.weight"]


@pytest.mark.parametrize("text", ["['a'", "[1]", "x" * 5, "['a']" * 3])
def test_broken_annotations_tell_nothing(text: str):
    source = model([node("MatMul", "x val_1", "y", "n")], {"val_1": random(4, 2)})
    source = with_program(source, {"w": "PARAMETER"}, {"n": ("linear.default](args = (%x, %p_w)", text)})
    assert list(weights_of(source)["val_1"].source.names) == ["w"]


@pytest.mark.parametrize("name", ["conv.weight", "cls_token", "w", "b", "pe", "layer_scale", "embeddings"])
def test_names_that_people_choose(name: str):
    assert not is_generated(name)


def test_a_parameter_of_the_program_is_trainable_in_any_role():
    source = model([node("Pow", "x e", "y", "n1")], {"e": np.float32(1.5)})
    assert reason(source, "e") == "no: exponent of Pow n1"
    assert weights_of(source)["e"].is_doubtful
    program = with_program(
        source, {"e": "PARAMETER"}, {"n1": ("pow.Tensor_Tensor](args = (%x, %p_e)", "['']")}
    )
    assert reason(program, "e") == "yes: a parameter, read by Pow n1"


def test_a_sinusoidal_parameter_is_doubtful():
    """Libraries store such tables as parameters without a gradient."""
    angles = np.arange(8)[:, None] / 10 ** np.linspace(0, 2, 2)
    table = np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32)
    source = model([node("Add", "x positions", "y", "n1")], {"positions": table}, (8, 4))
    assert not weights_of(source)["positions"].is_doubtful
    call = {"n1": ("add.Tensor](args = (%x, %p_positions)", "['']")}
    weight = weights_of(with_program(source, {"positions": "PARAMETER"}, call))["positions"]
    assert not weight.is_trainable
    assert weight.is_doubtful


def test_a_tied_weight_that_the_exporter_stored_twice_is_trainable_in_both_places():
    w = random(4, 4)
    nodes = [node("MatMul", "x w", "h", "n1"), node("MatMul", "h val_2", "y", "n2")]
    calls = {
        "n1": ("matmul.default](args = (%x, %p_w)", "['']"),
        "n2": ("linear.default](args = (%h, %p_w)", "['']"),
    }
    arrays = {"w": w, "val_2": np.ascontiguousarray(w.T)}
    assert trainable(with_program(model(nodes, arrays), {"w": "PARAMETER"}, calls)) == {"w", "val_2"}
    other = with_program(model(nodes, {"w": w, "val_2": w + 1}), {"w": "PARAMETER"}, calls)
    assert trainable(other) == {"w"}


@pytest.mark.parametrize("op", ["Exp", "Softplus", "Softmax"])
def test_a_parameter_may_be_mapped_first(op: str):
    source = model([node(op, "layer.a_log", "a"), node("Mul", "x a", "y")], {"layer.a_log": random(4)})
    assert trainable(source) == {"layer.a_log"}


@pytest.mark.parametrize(
    ("table", "is_doubtful"),
    [
        (random(4, 8), True),
        (np.tril(np.ones((8, 8), np.float32)), False),
        (np.arange(32, dtype=np.float32).reshape(4, 8), False),
        (-np.outer(2.0 ** -np.arange(4), np.arange(8)).astype(np.float32), False),
    ],
    ids=["random", "mask", "positions", "slopes"],
)
def test_an_irregular_table_without_a_name_may_be_a_parameter(table: np.ndarray, is_doubtful: bool):
    source = model([node("Add", "x onnx::Add_7", "y", "n1")], {"onnx::Add_7": table}, table.shape)
    weight = weights_of(source)["onnx::Add_7"]
    assert (weight.is_trainable, weight.is_doubtful) == (False, is_doubtful)


@pytest.mark.parametrize(("prefix", "trains"), [("/n/", False), ("n.", True)])
def test_a_norm_without_parameters_has_constants_of_the_exporter(prefix: str, trains: bool):
    scale, bias = (f"{prefix}{name}" for name in ("Constant_output_0", "Constant_1_output_0"))
    arrays = {scale: np.ones(4, np.float32), bias: np.zeros(4, np.float32)}
    source = model([node("LayerNormalization", f"x {scale} {bias}", "y", "n")], arrays)
    assert trainable(source) == ({scale, bias} if trains else set())
