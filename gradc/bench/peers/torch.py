"""PyTorch peer: the ATen kernels that its autograd calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np

from dialects.support import shapes
from gradc.bench.peers.base import Contestant, NotAvailable, NotSupported, Peer, check_static
from gradc.problems import (
    ConvBackwardDataProblem,
    ConvTransposeBackwardDataProblem,
    Problem,
    ResizeBackwardProblem,
)
from gradc.util.extras import install

LINEAR = {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"}


class TorchPeer(Peer):
    """PyTorch. NXC data is channels_last tensors; convolutions allocate their result, as in autograd."""

    name = "torch"

    def __init__(self, threads: int):
        try:
            self._torch: Any = import_module("torch")
        except ImportError as error:
            raise NotAvailable(f"{error}; {install('peers')}") from None
        self._torch.set_num_threads(threads)

    @property
    def version(self) -> str:
        return self._torch.__version__

    def prepare(self, problem: Problem, seed: int) -> Contestant:
        check_static(problem)
        match problem:
            case ConvBackwardDataProblem():
                call = self._conv(problem, seed)
            case ConvTransposeBackwardDataProblem():
                call = self._conv_transpose(problem, seed)
            case ResizeBackwardProblem():
                call = self._resize(problem, seed)
            case _:
                raise NotSupported(f"{problem.KIND} has no kernel")
        held: list[Any] = []

        def run() -> None:
            with self._torch.inference_mode():
                held[:] = [_dense(call(), problem.layout)]

        return Contestant(self.name, run, lambda: self._to_numpy(held[0]))

    def _conv(self, problem: ConvBackwardDataProblem, seed: int) -> Callable[[], Any]:
        """Prepare a convolution; asymmetric pads are those of a padded input, whose gradient is a crop."""
        dy, weights = self._operands(problem, seed)
        padding, extra = _split_pads(problem.pads_begin, problem.pads_end)
        sizes = shapes.static(problem.diff_src)
        assert sizes is not None
        padded = [*sizes[:2], *(x + b + e for x, (b, e) in zip(sizes[2:], extra, strict=True))]
        x = self._empty(padded, problem.layout, dy.dtype)
        window = (problem.strides, padding, problem.dilations)
        backward = self._torch.ops.aten.convolution_backward
        crop = _pad_list(extra, -1)

        def call() -> Any:
            dx, _, _ = backward(
                dy, x, weights, None, *window, False, [0] * len(padding), problem.groups, [True, False, False]
            )
            return self._torch.constant_pad_nd(dx, crop) if any(crop) else dx

        return call

    def _conv_transpose(self, problem: ConvTransposeBackwardDataProblem, seed: int) -> Callable[[], Any]:
        dy, weights = self._operands(problem, seed)
        padding, extra = _split_pads(problem.pads_begin, problem.pads_end)
        sizes = shapes.static(problem.diff_src)
        assert sizes is not None
        x = self._empty(sizes, problem.layout, dy.dtype)
        enlarge = _pad_list(extra, 1)
        kernels = zip(problem.weights[2:], problem.dilations, strict=True)
        extents = [(k - 1) * d + 1 for k, d in kernels]
        rests = [
            y + b + e + 2 * p - extent - s * (n - 1)
            for y, (b, e), p, extent, s, n in zip(
                dy.shape[2:], extra, padding, extents, problem.strides, sizes[2:], strict=True
            )
        ]
        window = (problem.strides, padding, problem.dilations)
        backward = self._torch.ops.aten.convolution_backward

        def call() -> Any:
            given = self._torch.constant_pad_nd(dy, enlarge) if any(enlarge) else dy
            mask = [True, False, False]
            return backward(given, x, weights, None, *window, True, rests, problem.groups, mask)[0]

        return call

    def _resize(self, problem: ResizeBackwardProblem, seed: int) -> Callable[[], Any]:
        n = len(problem.diff_dst) - 2
        if problem.axes != tuple(range(2, n + 2)) or n not in LINEAR:
            raise NotSupported("torch resizes all of one to three spatial axes")
        name, options = _resize_kernel(problem, n)
        dy = self._data(problem.feeds(seed)["diff_dst"], problem.layout)
        sizes = shapes.static(problem.diff_src)
        assert sizes is not None
        dx = self._empty(sizes, problem.layout, dy.dtype)
        backward = getattr(self._torch.ops.aten, name).grad_input
        arguments = (dy, list(dy.shape[2:]), list(sizes), *options, *(None,) * n)
        return lambda: backward(*arguments, grad_input=dx)

    def _operands(
        self, problem: ConvBackwardDataProblem | ConvTransposeBackwardDataProblem, seed: int
    ) -> tuple[Any, Any]:
        arrays = problem.feeds(seed) | problem.constants(seed)
        weights = self._tensor(arrays["weights"])
        if problem.layout == "NXC" and problem.spatial_rank > 1:
            last = "channels_last" if problem.spatial_rank == 2 else "channels_last_3d"
            weights = weights.contiguous(memory_format=getattr(self._torch, last))
        return self._data(arrays["diff_dst"], problem.layout), weights

    def _data(self, array: np.ndarray, layout: str) -> Any:
        """Return a channels-first view of an array in a layout."""
        tensor = self._tensor(array)
        return tensor if layout == "NCX" else tensor.movedim(-1, 1)

    def _empty(self, shape: Sequence[int], layout: str, dtype: Any) -> Any:
        """Return a channels-first tensor with the memory order of a layout."""
        if layout == "NCX":
            return self._torch.empty(list(shape), dtype=dtype)
        batch, channels, *spatial = shape
        return self._torch.empty([batch, *spatial, channels], dtype=dtype).movedim(-1, 1)

    def _tensor(self, array: np.ndarray) -> Any:
        if array.dtype == ml_dtypes.bfloat16:
            return self._torch.from_numpy(array.view(np.int16)).view(self._torch.bfloat16)
        return self._torch.from_numpy(array)

    def _to_numpy(self, tensor: Any) -> np.ndarray:
        if tensor.dtype == self._torch.bfloat16:
            return tensor.view(self._torch.int16).numpy().view(ml_dtypes.bfloat16)
        return tensor.numpy()


def _dense(tensor: Any, layout: str) -> Any:
    """Convert a channels-first tensor to the layout; copies only if its memory order differs."""
    return (tensor if layout == "NCX" else tensor.movedim(1, -1)).contiguous()


def _split_pads(begin: Sequence[int], end: Sequence[int]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return symmetric pads, and the rest of each side."""
    common = [min(b, e) for b, e in zip(begin, end, strict=True)]
    return common, [(b - p, e - p) for b, e, p in zip(begin, end, common, strict=True)]


def _pad_list(extra: Sequence[tuple[int, int]], sign: int) -> list[int]:
    """Return pads in torch's order, the last axis first."""
    return [sign * side for pair in reversed(extra) for side in pair]


def _resize_kernel(problem: ResizeBackwardProblem, n: int) -> tuple[str, tuple[bool, ...]]:
    """Return the name of the kernel, and its align_corners argument, if any."""
    modes = problem.coordinate_modes
    match problem.interpolation:
        case "linear" if "half_pixel" in modes:
            return f"{LINEAR[n]}_backward", (False,)
        case "linear" if "align_corners" in modes:
            return f"{LINEAR[n]}_backward", (True,)
        case "nearest_floor" if "asymmetric" in modes:
            return f"upsample_nearest{n}d_backward", ()
        case "nearest_half_up" if "half_pixel" in modes:
            return f"_upsample_nearest_exact{n}d_backward", ()
        case _:
            raise NotSupported("torch has no such coordinate or rounding rule")
