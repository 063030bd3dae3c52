"""GridSample as sums of weighted taps, for data that onnxruntime's kernel does not sample."""

from __future__ import annotations

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.shapes import has_rank, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder
from passes.decompositions.registry import Results
from passes.decompositions.sampling import taps

IMAGE_RANK = 4
VOLUME_RANK = 5


def is_unsupported_grid(op: OnnxOp) -> bool:
    """Return whether the data is neither an image nor a volume, or a volume with mode cubic: quirk
    grid-sample-of-cubic-volumes."""
    assert isinstance(op, onnx.GridSampleOp)
    if not has_rank(op.X):
        return False
    rank = len(shape_of(op.X))
    return rank != IMAGE_RANK and (rank != VOLUME_RANK or op.call().attribute("mode", "linear") == "cubic")


def grid_sample(f: Primal, e: Builder) -> Results:
    return taps.grid_sample(f, e)
