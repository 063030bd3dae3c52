"""oneDNN peer: the Graph library, called with the problem's document."""

from __future__ import annotations

from math import prod

from gradc.bench.peers.base import Contestant, NotSupported, Peer, check_static
from gradc.bench.peers.onednn_graph import Graph, Library, OnednnError
from gradc.problems import (
    ConvBackwardDataProblem,
    ConvTransposeBackwardDataProblem,
    Problem,
    ResizeBackwardProblem,
)
from gradc.problems.documents import document_of


class OnednnPeer(Peer):
    """oneDNN; constant weights are declared constant, so that the library may reorder them once."""

    name = "onednn"

    def __init__(self, threads: int):
        self._library = Library(threads)

    @property
    def version(self) -> str:
        return self._library.version

    def prepare(self, problem: Problem, seed: int) -> Contestant:
        check_static(problem)
        reason = _refusal(problem)
        document = document_of(problem)
        if reason or document is None:
            raise NotSupported(reason or "oneDNN has no such op")
        arrays = problem.feeds(seed) | problem.constants(seed)
        # only the shape of src matters, not its values
        second = arrays.get("weights", arrays["diff_dst"].ravel()[:1].repeat(_src_elements(problem)))
        tensors = document["graph"][0]["inputs"]
        second = second.reshape(next(t["shape"] for t in tensors if t["id"] == 1))
        try:
            graph = Graph(self._library, document, {0: arrays["diff_dst"], 1: second})
            graph.run()
        except OnednnError as error:
            raise NotSupported(str(error)) from None
        return Contestant(self.name, graph.run, lambda: graph.result)


def _src_elements(problem: Problem) -> int:
    return prod(dim for dim in problem.diff_src if isinstance(dim, int))


def _refusal(problem: Problem) -> str | None:
    """Return the reason not to call the library; it crashes or is wrong for some problems."""
    if problem.dtype not in ("f32", "bf16"):
        return f"no {problem.dtype} on a CPU"
    match problem:
        case ConvBackwardDataProblem() if problem.groups > 1:
            return "no groups in ConvolutionBackwardData"
        case ConvTransposeBackwardDataProblem():
            dilated = any(d > 1 < k for d, k in zip(problem.dilations, problem.weights[2:], strict=True))
            return "dilations of ConvTransposeBackwardData are ignored" if dilated else None
        case ResizeBackwardProblem() if "half_pixel" not in problem.coordinate_modes:
            return "half_pixel coordinates only"
        case ResizeBackwardProblem() if problem.interpolation not in ("linear", "nearest_half_up"):
            return f"no {problem.interpolation}"
        case _:
            return None
