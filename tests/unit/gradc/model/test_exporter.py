"""From onnx ops to a ModelProto: names, types, provenance, validity, determinism."""

import os
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.parser import Parser

import dialects
from dialects.onnx import ops
from dialects.support import dtypes, entry, shapes
from dialects.support.diagnostics import GradcError, Position, UnsupportedError, location
from gradc.model import exporter, saving, validity
from gradc.runtime.session import Session, newest_opset


def parse(text: str) -> ModuleOp:
    module = Parser(dialects.context(), textwrap.dedent(text)).parse_module()
    module.verify()
    return module


def export(source: str | ModuleOp, opset: int = 18, **metadata: str) -> onnx.ModelProto:
    module = parse(source) if isinstance(source, str) else source
    return exporter.export(module, opset=opset, metadata=metadata)


def run(model: onnx.ModelProto, **inputs: np.ndarray) -> dict[str, np.ndarray]:
    return Session(model).run(inputs)


def module_of(inputs, body) -> ModuleOp:
    """A module of one function @main: `body` takes the arguments and returns the results."""
    function = FuncOp("main", FunctionType.from_lists(inputs, []))
    with ImplicitBuilder(function.body) as args:
        ReturnOp(*body(*args))
    entry.update_function_type(function)
    return ModuleOp([function])


CHAIN = """
    func.func @chain(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %w = onnx.Constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %s = onnx.Add %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      %0 = onnx.Neg %s : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = onnx.Neg %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
      func.return %1 : tensor<2x3xf32>
    }
"""


class TestNames:
    def test_nodes_and_tensors_without_locations(self):
        graph = export(CHAIN).graph
        assert graph.name == "chain"
        assert [i.name for i in graph.input] == ["x"]
        assert [t.name for t in graph.initializer] == ["w"]
        assert [(n.op_type, n.name, *n.input, *n.output) for n in graph.node] == [
            ("Add", "Add", "x", "w", "s"),
            ("Neg", "Neg", "s", "Neg_out"),
            ("Neg", "Neg_1", "Neg_out", "result0"),
        ]

    def test_nodes_are_called_after_their_location(self):
        module = parse(CHAIN)
        for op in entry.entry_function(module).body.block.ops:
            op.location = location("conv0", Position("/some/folder/graph.json", 7, 3))
        for value in entry.entry_function(module).walk():
            for result in value.results:
                result.name_hint = None
        graph = export(module).graph
        assert [n.name for n in graph.node] == ["conv0", "conv0_1", "conv0_2"]
        assert [t.name for t in graph.initializer] == ["conv0_const"]
        assert [n.output[0] for n in graph.node] == ["conv0_out", "conv0_1_out", "result0"]

    def test_public_names_are_never_taken_by_tensors(self):
        module = parse("""
            func.func @f(%x: tensor<2xf32>, %Neg_out: tensor<2xf32>) -> tensor<2xf32> {
              %y = onnx.Constant dense<2.0> : tensor<2xf32>
              %0 = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
              %1 = onnx.Mul %0, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
              %2 = onnx.Add %1, %Neg_out : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
              func.return %2 : tensor<2xf32>
            }
        """)
        entry.set_names(entry.entry_function(module), ["encoder/x:0", "Neg_out"], ["y"])
        model = export(module)
        names = [o for n in model.graph.node for o in n.output]
        names += [v.name for v in (*model.graph.input, *model.graph.initializer)]
        assert len(set(names)) == len(names)
        assert [i.name for i in model.graph.input] == ["encoder/x:0", "Neg_out"]
        assert [o.name for o in model.graph.output] == ["y"]
        a, b = np.array([1, 2], np.float32), np.array([10, 20], np.float32)
        np.testing.assert_array_equal(run(model, **{"encoder/x:0": a, "Neg_out": b})["y"], [8, 16])

    def test_a_constant_leaves_the_name_to_the_node(self):
        """A pass writes both in the place of one op, and gives both its name."""
        module = parse(CHAIN)
        constant, add, *_ = entry.entry_function(module).body.block.ops
        constant.results[0].name_hint = add.results[0].name_hint
        constant.location = add.location = location("sum", None)
        graph = export(module).graph
        assert [t.name for t in graph.initializer] == ["s_const"]
        assert graph.node[0].output[0] == "s"

    def test_names_of_the_runtimes_optimiser_are_left_to_it(self):
        """onnxruntime calls shapes that it adds so without looking whether a value has that name."""
        model = export("""
            func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>) -> (tensor<2x3x5xf32>, tensor<4x6xf32>) {
              %gemm_input_shape = onnx.Constant dense<[4, 6]> : tensor<2xi64>
              %gemm_output_shape = onnx.Constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
              %0 = onnx.MatMul %x, %w : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
              %1 = onnx.Add %0, %gemm_output_shape : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
              %2 = onnx.Reshape %x, %gemm_input_shape : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<4x6xf32>
              func.return %1, %2 : tensor<2x3x5xf32>, tensor<4x6xf32>
            }
        """)
        assert [t.name for t in model.graph.initializer] == [
            "gemm_input_shape_1",
            "gemm_output_shape_1",
        ]
        ones = {"x": np.ones((2, 3, 4), np.float32), "w": np.ones((4, 5), np.float32)}
        np.testing.assert_array_equal(run(model, **ones)["result0"][0, 0], [5, 6, 7, 8, 9])


class TestOutputs:
    """What is returned is not always the result of a node that can have the output's name."""

    def check(self, text: str, expected: dict[str, list[float]], identities: int):
        model = export(text)
        assert sum(n.op_type == "Identity" for n in model.graph.node) == identities
        found = run(model, x=np.array([1, 2], np.float32))
        assert list(found) == list(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)

    def test_an_input(self):
        self.check(
            """
            func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { func.return %x : tensor<2xf32> }
            """,
            {"x_1": [1, 2]},
            identities=1,
        )

    def test_a_constant_and_one_twice(self):
        self.check(
            """
            func.func @f(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
              %c = onnx.Constant dense<[5.0, 6.0]> : tensor<2xf32>
              func.return %c, %c : tensor<2xf32>, tensor<2xf32>
            }
            """,
            {"c": [5, 6], "c_1": [5, 6]},
            identities=2,
        )

    def test_the_same_value_twice_and_read_as_well(self):
        self.check(
            """
            func.func @f(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
              %a = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
              %b = onnx.Abs %a : (tensor<2xf32>) -> tensor<2xf32>
              func.return %a, %a, %b : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
            }
            """,
            {"a": [-1, -2], "a_1": [-1, -2], "b": [1, 2]},
            identities=1,
        )

    def test_none(self):
        with pytest.raises(GradcError, match="the graph has no outputs"):
            export("func.func @f(%x: tensor<2xf32>) { func.return }")

    def test_unread_inputs_stay_and_unread_constants_go(self):
        model = export("""
            func.func @f(%x: tensor<2xf32>, %unread: tensor<?x3xf32, ["N", ""]>) -> tensor<2xf32> {
              %c = onnx.Constant dense<[5.0, 6.0]> : tensor<2xf32>
              %a = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
              func.return %a : tensor<2xf32>
            }
        """)
        assert [i.name for i in model.graph.input] == ["x", "unread"]
        assert not model.graph.initializer


class TestTypes:
    def test_static_symbolic_and_unknown_dims(self):
        type_ = shapes.tensor_type(dtypes.DTYPES[0].mlir, ("batch", 3, None, 0))
        graph = export(module_of([type_], lambda x: [ops.NegOp(x)])).graph
        for value in (*graph.input, *graph.output):
            dims = value.type.tensor_type.shape.dim
            assert [d.WhichOneof("value") for d in dims] == ["dim_param", "dim_value", None, "dim_value"]
            assert (dims[0].dim_param, dims[1].dim_value, dims[3].dim_value) == ("batch", 3, 0)

    @pytest.mark.sweep
    @pytest.mark.parametrize("dtype", dtypes.DTYPES, ids=lambda d: d.name)
    @pytest.mark.parametrize("shape", [(), (2, 3), (0, 3)])
    def test_constants_of_every_dtype(self, dtype, shape):
        """onnx's own reader of tensors gives back the array that the constant was made from."""
        size = int(np.prod(shape))
        array = (np.arange(size) % 3).reshape(shape).astype(dtype.numpy)
        model = export(module_of([], lambda: [ops.IdentityOp(ops.ConstantOp(array))]), opset=21)
        back = numpy_helper.to_array(model.graph.initializer[0])
        assert back.dtype == dtype.numpy
        assert back.shape == shape
        np.testing.assert_array_equal(back, array)

    def test_splats_are_spread_and_booleans_are_zero_or_one(self):
        model = export("""
            func.func @f() -> (tensor<2x2xbf16>, tensor<3xi1>) {
              %a = onnx.Constant dense<1.5> : tensor<2x2xbf16>
              %b = onnx.Constant dense<true> : tensor<3xi1>
              func.return %a, %b : tensor<2x2xbf16>, tensor<3xi1>
            }
        """)
        assert [t.raw_data for t in model.graph.initializer] == [
            np.full((2, 2), 1.5, ml_dtypes.bfloat16).tobytes(),
            b"\x01\x01\x01",
        ]

    def test_attributes(self):
        """Through onnx's own reader: element type, ints, string, tensor, and an absent operand."""
        x = TensorType(dtypes.DTYPES[0].mlir, [1, 2, 5, 5])

        def body(x):
            w = ops.ConstantOp(np.ones((3, 2, 3, 3), np.float32))
            conv = ops.ConvOp(x, w, strides=[2, 1], pads=[1, 0, 1, 0], group=1)
            cast = ops.CastOp(conv, to=dtypes.DTYPES[2].mlir)
            shape = ops.ConstantOp(np.array([2], np.int64))
            fill = ops.ConstantOfShapeOp(shape, value=np.array([7], np.int32))
            pads = ops.ConstantOp(np.array([1, 1], np.int64))
            axes = ops.ConstantOp(np.array([3], np.int64))
            padded = ops.PadOp(x, pads, None, axes, mode="edge")
            return [cast, fill, padded]

        model = export(module_of([x], body))
        nodes = {n.op_type: n for n in model.graph.node}
        read = onnx.helper.get_attribute_value
        attributes = {k: {a.name: read(a) for a in n.attribute} for k, n in nodes.items()}
        assert attributes["Conv"] == {"group": 1, "pads": [1, 0, 1, 0], "strides": [2, 1]}
        assert attributes["Cast"] == {"to": onnx.TensorProto.FLOAT16}
        np.testing.assert_array_equal(numpy_helper.to_array(attributes["ConstantOfShape"]["value"]), [7])
        assert attributes["Pad"] == {"mode": b"edge"}
        assert nodes["Pad"].input[2] == ""
        assert len(nodes["Conv"].input) == 2
        array = np.arange(50, dtype=np.float32).reshape(1, 2, 5, 5)
        outputs = run(model, **{model.graph.input[0].name: array})
        cast, fill, padded = outputs.values()
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(array[0].sum(0), ((1, 1), (0, 0))), (3, 3))
        expected = windows.sum((-1, -2))[::2].astype(np.float16)
        np.testing.assert_array_equal(cast, np.broadcast_to(expected, (1, 3, 3, 3)))
        np.testing.assert_array_equal(fill, np.array([7, 7], np.int32))
        np.testing.assert_array_equal(padded, np.pad(array, ((0, 0),) * 3 + ((1, 1),), mode="edge"))


class TestProvenance:
    def test_node_metadata(self):
        module = parse(CHAIN)
        add = next(o for o in module.walk() if o.name == "onnx.Add")
        add.location = location("conv0", Position("/some/folder/graph.json", 7, 3))
        nodes = export(module).graph.node
        assert {p.key: p.value for p in nodes[0].metadata_props} == {
            "gradc.op": "conv0",
            "gradc.source": "graph.json:7:3",
        }
        assert not nodes[1].metadata_props

    def test_model_metadata(self):
        model = export(CHAIN, pipeline="a,b", gradc="0.1")
        assert [(p.key, p.value) for p in model.metadata_props] == [("gradc", "0.1"), ("pipeline", "a,b")]
        assert model.producer_name == "gradc"
        assert model.producer_version
        assert [(o.domain, o.version) for o in model.opset_import] == [("", 18)]

    def test_ir_version_is_the_oldest_that_has_the_opset(self):
        assert export(CHAIN, 18).ir_version == 8
        assert export(CHAIN, 13).ir_version == 7


class TestOpsets:
    @pytest.mark.sweep
    @pytest.mark.parametrize("opset", range(13, newest_opset() + 1))
    def test_runs_at_every_opset(self, opset):
        model = export(CHAIN, opset)
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(run(model, x=x)["result0"], x + np.array([1, 2, 3]))

    def test_an_op_that_needs_a_newer_opset(self):
        x = TensorType(dtypes.DTYPES[0].mlir, [1, 9, 4])

        def body(x):
            sizes = [ops.ConstantOp(np.array(s, np.int64)) for s in ([4, 4], [3, 3])]
            op = ops.Col2ImOp(x, *sizes, pads=[0, 0, 0, 0])
            op.location = location("conv0", Position("graph.json", 7, 3))
            return [op]

        with pytest.raises(UnsupportedError) as error:
            export(module_of([x], body), opset=17)
        assert str(error.value) == (
            'graph.json:7:3: error: [onnx.Col2Im "conv0"] onnx.Col2Im with these types and attributes: '
            "given opset=17, expected opset 18 or newer"
        )
        assert error.value.exit_code == 3
        export(module_of([x], body), opset=18)


class TestCheck:
    def test_a_wrong_result_type_is_our_fault(self):
        module = parse(CHAIN)
        function = entry.entry_function(module)
        wrong = TensorType(dtypes.DTYPES[0].mlir, [2, 4])
        entry.return_op(function).arguments[0]._type = wrong  # pyright: ignore
        with pytest.raises(AssertionError, match=r"not valid: .*dimension"):
            export(module)

    def test_an_op_of_another_dialect_is_our_fault(self):
        module = parse("""
            func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
              %c = arith.constant dense<1.0> : tensor<2xf32>
              func.return %c : tensor<2xf32>
            }
        """)
        with pytest.raises(AssertionError, match=r"arith\.constant"):
            export(module)

    def test_models_with_large_weights_are_checked_without_them(self):
        x = TensorType(dtypes.DTYPES[0].mlir, [2, 400])
        w = np.ones((400, 3), np.float32)
        model = export(module_of([x], lambda x: [ops.MatMulOp(x, ops.ConstantOp(w))]))
        before = model.SerializeToString()
        exporter.check(model, limit=8)
        assert model.SerializeToString() == before
        model.graph.node[0].input[1] = "nobody"
        with pytest.raises(AssertionError, match="nobody"):
            exporter.check(model, limit=8)

    def test_external_data_of_an_exported_model(self, tmp_path):
        w = np.arange(1200, dtype=np.float32).reshape(400, 3)
        x = TensorType(dtypes.DTYPES[0].mlir, [2, 400])
        model = export(module_of([x], lambda x: [ops.MatMulOp(x, ops.ConstantOp(w))]))
        saving.save_model(model, tmp_path / "m.onnx", limit=1000)
        (data,) = tmp_path.glob("m.onnx.*.data")
        assert data.stat().st_size == w.nbytes
        session = Session(tmp_path / "m.onnx")
        given = np.ones((2, 400), np.float32)
        (found,) = session.run({session.inputs[0].name: given}).values()
        np.testing.assert_array_equal(found, given @ w)


def test_bytes_do_not_depend_on_the_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
        import hashlib
        import dialects
        from xdsl.parser import Parser
        from gradc.model.exporter import export
        module = Parser(dialects.context(), {textwrap.dedent(CHAIN)!r}).parse_module()
        model = export(module, opset=18, metadata={{k: k for k in {{"b", "a", "c"}}}})
        print(hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest())
        """)
    )
    digests = set()
    for seed in ("0", "1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_elements_of_long_vectors_are_not_followed():
    """onnx takes 140 bytes for each, also of floats that need no memory before the model runs."""
    text = """module { func.func @f(%x: tensor<1xf32>) -> tensor<1099511627776xf32> {
        %n = onnx.Constant dense<1099511627776> : tensor<1xi64>
        %y = onnx.Expand %x, %n : (tensor<1xf32>, tensor<1xi64>) -> tensor<1099511627776xf32>
        func.return %y : tensor<1099511627776xf32> } }"""
    assert validity.has_long_vector(parse(text))
