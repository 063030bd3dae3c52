"""onnx-ad peer: the forward ONNX model, differentiated as a graph, on the same onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np

from dialects.support import layouts, shapes
from gradc.bench.peers.base import Contestant, NotAvailable, NotSupported, Peer, check_static
from gradc.model.tensors import onnx_number
from gradc.problems import (
    ConvBackwardDataProblem,
    ConvTransposeBackwardDataProblem,
    Problem,
    ResizeBackwardProblem,
)
from gradc.runtime.session import Session
from gradc.util.extras import install

ROUNDING = {
    "nearest_half_up": "round_prefer_ceil",
    "nearest_half_down": "round_prefer_floor",
    "nearest_floor": "floor",
}
OPSET, IR_VERSION = 18, 8


class OnnxAdPeer(Peer):
    """onnx-ad's adjoint part of the model, for one seed. NXC data passes the Transposes that an NXC model has
    around a channels-first op."""

    name = "onnx-ad"

    def __init__(self, threads: int):
        try:
            import onnx
            import onnx_ad
        except ImportError as error:
            raise NotAvailable(f"{error}; {install('peers')}") from None
        self._onnx: Any = onnx
        self._ad: Any = onnx_ad
        self._threads = threads

    @property
    def version(self) -> str:
        return self._ad.__version__

    def prepare(self, problem: Problem, seed: int) -> Contestant:
        check_static(problem)
        if problem.dtype == "bf16":
            raise NotSupported("onnxruntime has no bf16 kernels for the adjoint")
        if isinstance(problem, ConvBackwardDataProblem) and not _keeps_pads(problem):
            raise NotSupported("asymmetric pads are lost: ConvTranspose chooses its own for an output_shape")
        forward = self._forward(problem, seed)
        try:
            adjoint = self._ad.reverse(forward, inputs=["x"], layout="onnx")
            model = self._only_gradient(adjoint)
            session = Session(model, threads=self._threads)
        except Exception as error:
            raise NotSupported(" ".join(str(error).split())[:200]) from error
        feeds = problem.feeds(seed)
        given = {"adj_y": feeds["diff_dst"][..., None], "w": feeds.get("weights")}
        for info in session.inputs:
            if info.name not in given:
                raise NotSupported(f"the adjoint reads {info.name}")
        bound = session.bound({info.name: given[info.name] for info in session.inputs})
        return Contestant(self.name, bound, lambda: bound.results()["adj_x"][..., 0])

    def _only_gradient(self, model: Any) -> Any:
        """Return the nodes that adj_x depends on, without the rest of the primal."""
        graph = model.graph
        needed, kept = {"adj_x"}, []
        for node in reversed(graph.node):
            if needed & set(node.output):
                kept.append(node)
                needed |= set(node.input)
        outputs = [o for o in graph.output if o.name == "adj_x"]
        inputs = [i for i in graph.input if i.name in needed]
        for held, wanted in ((graph.node, kept[::-1]), (graph.output, outputs), (graph.input, inputs)):
            copies = [type(item).FromString(item.SerializeToString()) for item in wanted]
            del held[:]
            held.extend(copies)
        return model

    def _forward(self, problem: Problem, seed: int) -> Any:
        """Return the ONNX model to differentiate: x (diff_src) to y (diff_dst)."""
        helper = self._onnx.helper
        match problem:
            case ConvBackwardDataProblem():
                node = self._conv(problem, "Conv")
            case ConvTransposeBackwardDataProblem():
                node = self._conv(problem, "ConvTranspose")
            case ResizeBackwardProblem():
                node = self._resize(problem)
            case _:
                raise NotSupported("dynamic sizes")
        numpy_helper = self._onnx.numpy_helper
        tensors = {"sizes": np.array(problem.diff_dst, np.int64)}
        if (weights := problem.constants(seed).get("weights")) is not None:
            tensors["w"] = weights
        n = len(problem.diff_dst) - 2
        nodes = [node]
        if problem.layout == "NXC":
            first = helper.make_node(
                "Transpose", ["x"], ["x_first"], perm=layouts.permutation("NXC", "NCX", n)
            )
            last = helper.make_node(
                "Transpose", ["y_first"], ["y"], perm=layouts.permutation("NCX", "NXC", n)
            )
            nodes = [first, node, last]
        used = {name for node in nodes for name in node.input}
        inputs = [self._info("x", problem, problem.diff_src)]
        if "w" in used and "w" not in tensors:
            assert isinstance(problem, ConvBackwardDataProblem | ConvTransposeBackwardDataProblem)
            inputs.append(helper.make_tensor_value_info("w", onnx_number(problem.dtype), problem.weights))
        initializers = [numpy_helper.from_array(a, name) for name, a in tensors.items() if name in used]
        outputs = [self._info("y", problem, problem.diff_dst)]
        graph = helper.make_graph(nodes, "forward", inputs, outputs, initializers)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def _info(self, name: str, problem: Problem, shape: shapes.Shape) -> Any:
        laid_out = layouts.reorder(shape, "NCX", problem.layout)
        return self._onnx.helper.make_tensor_value_info(name, onnx_number(problem.dtype), laid_out)

    def _conv(self, problem: ConvBackwardDataProblem | ConvTransposeBackwardDataProblem, op_type: str) -> Any:
        extra = {}
        if isinstance(problem, ConvTransposeBackwardDataProblem):
            extra["output_padding"] = _output_padding(problem)
        return self._onnx.helper.make_node(
            op_type,
            [_inner("x", problem), "w"],
            [_inner("y", problem)],
            strides=problem.strides,
            dilations=problem.dilations,
            pads=(*problem.pads_begin, *problem.pads_end),
            group=problem.groups,
            kernel_shape=problem.weights[2:],
            **extra,
        )

    def _resize(self, problem: ResizeBackwardProblem) -> Any:
        if not problem.coordinate_modes:
            raise NotSupported("steps that do not follow from the sizes")
        attributes = {"coordinate_transformation_mode": problem.coordinate_modes[0], "mode": "linear"}
        if problem.interpolation in ROUNDING:
            attributes |= {"mode": "nearest", "nearest_mode": ROUNDING[problem.interpolation]}
            if "asymmetric" in problem.coordinate_modes:
                attributes["coordinate_transformation_mode"] = "asymmetric"
        inputs = [_inner("x", problem), "", "", "sizes"]
        return self._onnx.helper.make_node("Resize", inputs, [_inner("y", problem)], **attributes)


def _inner(name: str, problem: Problem) -> str:
    return name if problem.layout == "NCX" else f"{name}_first"


def _keeps_pads(problem: ConvBackwardDataProblem) -> bool:
    """Return whether onnxruntime's split of the pads, the larger half at the start, is the right one."""
    rows = zip(problem.pads_begin, problem.pads_end, problem.residue, strict=True)
    totals = [(pb, pb + pe - r) for pb, pe, r in rows]
    return all(pb == total - total // 2 for pb, total in totals)


def _output_padding(problem: ConvTransposeBackwardDataProblem) -> list[int]:
    """Return the output padding: Y - (s (X - 1) + Ke - pb - pe)."""
    rows = zip(
        shapes.static(problem.diff_dst[2:]) or (),
        shapes.static(problem.diff_src[2:]) or (),
        problem.weights[2:],
        problem.strides,
        problem.dilations,
        problem.pads_begin,
        problem.pads_end,
        strict=True,
    )
    return [y - (s * (x - 1) + (k - 1) * d + 1 - pb - pe) for y, x, k, s, d, pb, pe in rows]
