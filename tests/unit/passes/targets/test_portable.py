"""The target `portable`: the CPU's forms, without those that other runtimes lack or compute wrongly."""

from __future__ import annotations

import contextlib
from collections import Counter
from functools import cache

import numpy as np
import pytest
from click import Choice
from onnx import ModelProto, TensorProto, helper
from support.generate import CANONICAL, KINDS, seeded
from support.pipeline import Expected, apply, lowered
from support.problems import Problem
from support.runtimes.cases import ResizeCase
from support.tiers import some
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
import gradc
from dialects.evaluate import evaluate
from dialects.onnx import ops as onnx
from dialects.onnx.numpy import KERNELS
from dialects.onnx.numpy.pointwise import elementwise
from dialects.support.diagnostics import UnsupportedError
from gradc.cli.options import source_options
from gradc.model.exporter import export
from gradc.runtime.session import ep_of
from passes import pipelines
from passes.resize.sampling_matrix import NARROW_STEP
from passes.strategies.conv.conv_to_conv_transpose import ConvToConvTranspose
from passes.targets import TARGETS
from passes.targets.spec import spec_of
from passes.targets.target import Target

PORTABLE = Target("portable")


UNKNOWN = """
func.func @main(%dy: tensor<1x2x?xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x?xf32> {
  %dx = grad.conv_backward_data %dy, %w {strides = [2], dilations = [1], pads_begin = [1], pads_end = [0],
    groups = 1, residue = [0], layout = "NCX"} : (tensor<1x2x?xf32>, tensor<2x3x3xf32>) -> tensor<1x3x?xf32>
  func.return %dx : tensor<1x3x?xf32>
}
"""


def parsed(text: str) -> ModuleOp:
    return Parser(dialects.context(), text, "graph.mlir").parse_module()


def graph() -> gradc.Graph:
    """A 3x3 convolution of stride 2 with pads 1 and 0, on a source of 6x6."""
    g = gradc.Graph()
    diff_dst = g.input("diff_dst", "f32", [1, 4, 3, 3])
    weights = g.input("weights", "f32", [4, 2, 3, 3])
    result = g.convolution_backward_data(
        diff_dst,
        weights,
        [1, 2, 6, 6],
        strides=[2, 2],
        pads_begin=[1, 1],
        pads_end=[0, 0],
        dilations=[1, 1],
        data_format="NCX",
        weights_format="OIX",
    )
    g.output(result, "diff_src")
    return g


def names(module: ModuleOp) -> Counter[str]:
    return Counter(op.onnx_name() for op in module.walk() if isinstance(op, onnx.OnnxOp))


@cache
def problem(seed: int) -> Problem:
    return seeded([21, seed], kinds=(*KINDS, *CANONICAL), most_ops=2)


class TestKernels:
    def test_what_is_shunned_is_refused_with_its_reason(self):
        reason = spec_of("portable").excluded_ops["Col2Im"]
        for opset in (18, 20):
            target = Target("portable", opset)
            assert target.lacks(onnx.Col2ImOp, "f32") == f"Col2Im is avoided on portable: {reason}"
            assert target.lacks(onnx.ScatterNDOp, "f32") is None, "a product stands for it"
        assert Target().lacks(onnx.Col2ImOp, "f32") is None

    def test_the_kernels_are_the_cpu_s(self):
        assert set(PORTABLE.spec.excluded_ops) == {"Col2Im", "ScatterND"}
        assert PORTABLE.kernels == Target().kernels

    def test_symmetric_pads_have_a_reason(self):
        assert Target().spec.symmetric_pads is None
        for target in ("cuda", "portable"):
            assert "asymmetric pads" in (spec_of(target).symmetric_pads or "")


class TestConvolution:
    def test_a_forced_form_is_refused_with_the_reason(self):
        with pytest.raises(UnsupportedError, match="Col2Im is avoided on portable: tract, TVM, IREE"):
            gradc.compile(graph(), target="portable", strategy="conv-to-col2im")

    def test_a_mask_of_the_kernel_s_sizes_is_refused(self):
        """OpenVINO multiplies the weights by it."""
        g = gradc.Graph()
        dy = g.input("dy", "f32", [1, 2, 1, 1])
        dx = g.avg_pool_backward(
            dy,
            [1, 2, 2, 3],
            kernel=[2, 3],
            strides=[2, 3],
            pads_begin=[0, 0],
            pads_end=[0, 0],
            exclude_pad=False,
            data_format="NCX",
        )
        g.output(dx, "dx")
        with pytest.raises(UnsupportedError, match="OpenVINO would fold it into the weights"):
            gradc.compile(g, strategy="avg-pool-to-upsampled-conv")

    def test_asymmetric_pads_become_a_slice(self):
        def made(target: str) -> tuple[list[list[int]], int]:
            model = gradc.compile(graph(), target=target, strategy=ConvToConvTranspose.name).model
            nodes = [node for node in model.graph.node if node.op_type == "ConvTranspose"]
            pads = [list(a.ints) for node in nodes for a in node.attribute if a.name == "pads"]
            return pads, sum(node.op_type == "Slice" for node in model.graph.node)

        assert made("cpu") == ([[1, 1, 0, 0]], 0)
        assert made("portable") == ([[0, 0, 0, 0]], 1)

    def test_unknown_sizes_are_sliced_from_their_ends(self):
        made = apply(parsed(UNKNOWN), pipelines.lower(PORTABLE, ConvToConvTranspose.name))
        assert {"ConvTranspose", "Slice"} <= set(names(made))
        for size in (1, 2, 9):
            feeds = [
                np.arange(2 * size, dtype=np.float32).reshape(1, 2, size),
                np.ones((2, 3, 3), np.float32),
            ]
            (got,), (want,) = evaluate(made, feeds), evaluate(parsed(UNKNOWN), feeds)
            np.testing.assert_array_equal(got, want)


def resize(scale: float, x: int | None = None) -> gradc.Graph:
    """ResizeBilinearV2Grad of one column; X may be known, Y is not."""
    g = gradc.Graph()
    grads = g.input("grads", "f32", [1, 1, None, 1])
    image = g.input("image", "f32", [1, 1, x, 1])
    scales = [scale, 1.0]
    g.output(g.resize_bilinear_v2_grad(grads, image, half_pixel_centers=True, scales=scales), "dx")
    return g


class TestNarrowIntegers:
    """OpenVINO keeps 32 bits of an s64 and divides in f32."""

    @pytest.mark.parametrize("scale", [0.0, 1.0, 2.0, 0.25, 1.7])
    def test_a_step_of_small_numbers_is_taken(self, scale: float):
        gradc.compile(resize(scale), target="portable")

    @pytest.mark.parametrize("scale", [0.6000000238418579, 0.11111111])
    def test_any_other_is_refused_with_the_reason(self, scale: float):
        with pytest.raises(UnsupportedError, match=r"OpenVINO .* step of \d+ / \d+ needs more: give sizes"):
            gradc.compile(resize(scale), target="portable")
        gradc.compile(resize(scale))

    def test_a_known_size_is_part_of_the_step(self):
        gradc.compile(resize(0.0, NARROW_STEP), target="portable")
        with pytest.raises(UnsupportedError, match=rf"step of {NARROW_STEP + 1} / \? needs more"):
            gradc.compile(resize(0.0, NARROW_STEP + 1), target="portable")

    @pytest.mark.parametrize("mode", ["half_pixel_centers", "align_corners"])
    def test_quotients_are_right_where_division_is_in_f32(self, mode: str, monkeypatch: pytest.MonkeyPatch):
        """And those of the CPU are not, for this size."""
        case = ResizeCase("narrow", target="portable", size=(5000, 4099), mode=mode)
        other = ResizeCase("wide", target="cpu", size=(4099, 5000), mode="half_pixel_centers")
        want = [case.expected, other.expected]
        monkeypatch.setitem(KERNELS, "Div", elementwise(rounded_divide))
        want[0].check_module(case.module, "portable")
        with pytest.raises(AssertionError, match="differ"):
            want[1].check_module(other.module, "cpu")


def rounded_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b by way of f32 for integers, as OpenVINO divides."""
    if a.dtype.kind == "f":
        return a / b
    return (a.astype(np.float32) / b.astype(np.float32)).astype(a.dtype)


def lowered_or_none(problem: Problem) -> ModuleOp | None:
    """None where the steps of unknown sizes are refused."""
    with contextlib.suppress(UnsupportedError):
        return lowered(problem, PORTABLE)
    with pytest.raises(UnsupportedError, match="needs more: give sizes in place of scales"):
        lowered(problem, PORTABLE)
    return None


@pytest.mark.sweep
def test_random_problems_avoid_what_is_not_portable():
    seen: Counter[str] = Counter()
    seeds = some(range(70), 5)
    for seed in seeds:
        module = lowered_or_none(problem(seed))
        if module is None:
            seen["refused"] += 1
            continue
        model = export(module, opset=PORTABLE.opset, metadata={})
        for node in model.graph.node:
            if node.op_type == "ConvTranspose":
                (pads,) = (list(a.ints) for a in node.attribute if a.name == "pads")
                assert pads[: len(pads) // 2] == pads[len(pads) // 2 :]
        found = names(module)
        assert not set(found) & {"Col2Im", "ScatterND", "ScatterElements"}
        seen += found
        Expected(problem(seed)).check_runtime(module, PORTABLE)
    assert seen["ConvTranspose"] > len(seeds) / 14
    assert seen["refused"] < len(seeds) / 10


def test_prices_are_the_cpu_s():
    """Where no form is shunned, both targets are written alike."""
    alike = 0
    for seed in range(20):
        static = seeded([21, seed], dynamics=("static",), most_ops=2)
        here, there = (lowered(static, Target(name, threads=2)) for name in ("cpu", "portable"))
        alike += str(here) == str(there)
    assert alike > 10


def test_the_choices_of_the_command_line_are_the_targets():
    (option,) = (o for o in source_options(lambda: None).__click_params__ if o.name == "target")
    assert isinstance(option.type, Choice)
    assert tuple(option.type.choices) == TARGETS


def test_portable_models_run_on_the_cpu_provider():
    assert [ep_of(target) for target in TARGETS] == ["cpu", "cuda", "cpu", "cpu", "cpu"]
    compiled = gradc.compile(graph(), target="portable")
    assert "target=portable" in compiled.options.pipeline


def test_what_is_not_portable_names_the_target_that_has_it():
    """A sum stands for a product with a matrix, a maximum does not."""
    with pytest.raises(UnsupportedError, match="target=cpu writes it, for onnxruntime"):
        gradc.compile(written("max"), target="portable")
    assert gradc.compile(written("max"), target="cpu")


def written(reduction: str) -> ModelProto:
    nodes = [helper.make_node("ScatterND", ["x", "places", "new"], ["y"], reduction=reduction)]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 3]),
        helper.make_tensor_value_info("places", TensorProto.INT64, [4, 1]),
        helper.make_tensor_value_info("new", TensorProto.FLOAT, [4, 3]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, 3])]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.parametrize("shape", [(5, 3), (5, 0), (7,), (4, 3, 2)])
@pytest.mark.parametrize("names", [False, True])
def test_the_gradient_of_a_gather_at_run_time_places(shape: tuple[int, ...], names: bool):
    dims = [f"d{i}" if names else size for i, size in enumerate(shape)]
    nodes = [helper.make_node("Gather", ["x", "places"], ["y"])]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, dims),
        helper.make_tensor_value_info("places", TensorProto.INT64, ["k", 2]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["k", 2, *dims[1:]])]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), ir_version=8)
    portable, here = (gradc.vjp(model, wrt="x", target=name) for name in ("portable", "cpu"))
    rng = np.random.default_rng(0)
    for count in (6, 0, 1):
        places = rng.integers(-shape[0], shape[0], (count, 2))
        feeds = {"x": rng.normal(size=shape), "cotangent_y": rng.normal(size=(count, 2, *shape[1:]))}
        feeds = {"places": places, **{name: array.astype(np.float32) for name, array in feeds.items()}}
        made, want = (one.run(feeds)["grad_x"] for one in (portable, here))
        np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-6)
    assert "ScatterND" not in {node.op_type for node in portable.model.graph.node}
