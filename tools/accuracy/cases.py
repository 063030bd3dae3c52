"""Accuracy cases of every strategy, their error bounds and their errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from dialects.grad.avg_pool import AvgPoolBackwardOp
from dialects.grad.max_pool import MaxPoolBackwardOp
from dialects.grad.resize import ResizeBackwardDynamicOp, ResizeBackwardOp
from dialects.grad.sampling import AxisSampling, size_step
from dialects.support.diagnostics import UnsupportedError
from dialects.support.dtypes import HALVES
from gradc.bench.suite import cases_of_text
from gradc.builder.graph import Graph
from gradc.compiler.driver import compile_module, to_gradients
from gradc.compiler.options import Options
from gradc.verification.errors import Errors, errors
from gradc.verification.exact import exact, term_magnitudes
from gradc.verification.samples import random_inputs
from passes.strategies import strategies_of
from tools.support_table import PROBES

PROBLEMS = """
conv_backward_data,DTYPE,NCX|NXC,diff_dst=2x32x14x14,weights=32x16x3x3,pads=1x1:1x1,weights_are=input
conv_backward_data,DTYPE,NCX,diff_dst=1x256x7x7,weights=256x32x3x3,pads=1x1:1x1,weights_are=input
conv_backward_data,DTYPE,NCX|NXC,diff_dst=1x256x7x7,weights=256x64x1x1,weights_are=input
conv_backward_data,DTYPE,NCX|NXC,diff_dst=1x32x9x9,weights=32x16x4x4,strides=2x2,pads=1x1:1x1,weights_are=input
conv_backward_data,DTYPE,NCX,diff_dst=1x32x14x14,weights=32x1x3x3,strides=2x2,pads=1x1:1x1,groups=32,weights_are=input
conv_backward_data,DTYPE,NCX|NXC,diff_dst=1x32x9x9,weights=32x8x3x3,strides=2x2,pads=1x1:1x1,groups=4,weights_are=input
conv_transpose_backward_data,DTYPE,NCX,diff_dst=1x32x9x9,weights=32x8x3x3,pads=1x1:1x1,groups=4,weights_are=input
conv_backward_data,DTYPE,NCX,diff_dst=1x32x50,weights=32x16x5,pads=4:4,dilations=2,weights_are=input
conv_backward_data,DTYPE,NCX,diff_dst=1x8x6x6x6,weights=8x8x3x3x3,pads=1x1x1:1x1x1,weights_are=input
conv_transpose_backward_data,DTYPE,NCX|NXC,diff_dst=1x32x18x18,weights=16x32x4x4,strides=2x2,pads=1x1:1x1,weights_are=input
conv_transpose_backward_data,DTYPE,NCX|NXC,diff_dst=1x256x7x7,weights=64x256x1x1,weights_are=input
conv_transpose_backward_data,DTYPE,NCX,diff_dst=1x32x50,weights=16x32x5,pads=2:2,weights_are=input
conv_transpose_backward_data,DTYPE,NCX,diff_dst=1x8x8x8x8,weights=8x8x2x2x2,strides=2x2x2,weights_are=input
conv_transpose_backward_data,DTYPE,NCX,diff_dst=1x8x6x6x6,weights=8x8x3x3x3,pads=1x1x1:1x1x1,weights_are=input
conv_backward_weights,DTYPE,NCX|NXC,diff_dst=2x16x14x14,src=2x8x14x14,kernel=3x3,pads_begin=1x1,pads_end=1x1
conv_backward_weights,DTYPE,NCX,diff_dst=2x16x9x9,src=2x8x18x18,kernel=2x2,strides=2x2,groups=4
conv_backward_weights,DTYPE,NCX,diff_dst=1x16x12x12,src=1x32x12x12,kernel=1x1
conv_backward_weights,DTYPE,NCX,diff_dst=2x16x14x14,src=2x16x14x14,kernel=3x3,pads_begin=1x1,pads_end=1x1,groups=16
max_pool_backward,DTYPE,NCX|NXC,diff_dst=2x8x7x7,src=2x8x14x14,kernel=2x2,strides=2x2
max_pool_backward,DTYPE,NCX|NXC,diff_dst=2x8x7x7,src=2x8x14x14,kernel=3x3,strides=2x2,pads_begin=1x1
avg_pool_backward,DTYPE,NCX|NXC,diff_dst=2x8x7x7,kernel=2x2,strides=2x2
avg_pool_backward,DTYPE,NCX|NXC,diff_dst=2x8x14x14,kernel=3x3,pads_begin=1x1,pads_end=1x1
avg_pool_backward,DTYPE,NCX|NXC,diff_dst=2x8x7x7,kernel=3x3,strides=2x2,pads_begin=1x1,pads_end=1x1,residue=1x1
resize_backward,DTYPE,NCX|NXC,diff_dst=1x8x32x32,diff_src=1x8x16x16
resize_backward,DTYPE,NCX,diff_dst=1x8x48x48,diff_src=1x8x16x16,coordinates=align_corners
resize_backward,DTYPE,NCX,diff_dst=1x8x20x20,diff_src=1x8x40x40
resize_backward,DTYPE,NCX,diff_dst=1x8x20x20,diff_src=1x8x30x30
resize_backward,DTYPE,NCX,diff_dst=1x4x320x8,diff_src=1x4x2x4
resize_backward,DTYPE,NCX,diff_dst=1x8x300,diff_src=1x8x199
resize_backward,DTYPE,NCX|NXC,diff_dst=1x8x32x32,diff_src=1x8x8x8,interpolation=nearest_floor,coordinates=corner
resize_backward,DTYPE,NCX,diff_dst=1x8x30,diff_src=1x8x20,interpolation=nearest_half_down
resize_backward,DTYPE,NXC,diff_dst=1x8x20x30,diff_src=1x8x9x18,interpolation=nearest_half_up
resize_backward_dynamic,DTYPE,NCX|NXC,diff_dst=?x8x?x?
resize_backward_dynamic,DTYPE,NCX,diff_dst=1x8x?,interpolation=nearest_floor,coordinates=corner
"""
"""Small problems for tests, with sums of one to some thousand terms."""

EXTRA_ROUNDINGS = 4
"""Roundings per term besides those of the sum: its product, its weight on two axes or its pool's size, and
one addition that joins two partial sums."""


@dataclass(frozen=True)
class Bound:
    """Error bound in ulps of the terms, for a sum of `terms` products in a dtype.

    Worst: each addition rounds a partial sum by at most half a unit of f32 (f64), in any order, and a number
    of magnitude m has units above 2^-24 m (2^-53 m): as many ulps as roundings (Higham, Accuracy and
    Stability of Numerical Algorithms, 2002, sections 3.1 and 4.2). The float64 reference has the same error,
    which doubles the bound for f64. A half type is accumulated in f32 and rounded once: half an ulp plus
    those of f32, each 2^-13 (f16) or 2^-16 (bf16) ulps of the half type.

    p99: roundings go up and down equally often, so the square root of their number replaces it (Higham and
    Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019).
    """

    dtype: str
    terms: int

    @property
    def worst(self) -> float:
        return self._of(self.terms + EXTRA_ROUNDINGS)

    @property
    def p99(self) -> float:
        return self._of(sqrt(self.terms + EXTRA_ROUNDINGS))

    def _of(self, roundings: float) -> float:
        if self.dtype in HALVES:
            return 0.5 + roundings * {"f16": 2.0**-13, "bf16": 2.0**-16}[self.dtype]
        return roundings * (2 if self.dtype == "f64" else 1)


@dataclass(frozen=True)
class Case:
    """A graph of one gradient, with its weights as inputs."""

    what: str
    dtype: str
    module: ModuleOp
    inputs: Mapping[str, np.ndarray]

    @cached_property
    def gradients(self) -> list[Operation]:
        """The canonical gradients of the graph."""
        module = self.module.clone()
        to_gradients(module, Options(threads=1))
        return [op for op in module.walk() if strategies_of(op)]

    @cached_property
    def exact(self) -> np.ndarray:
        (result,) = exact(self.module, list(self.inputs.values()))
        return result

    @cached_property
    def magnitude(self) -> np.ndarray:
        if any(isinstance(op, MaxPoolBackwardOp) for op in self.gradients):  # src only determines positions
            inputs = {**self.inputs, "diff_dst": np.abs(self.inputs["diff_dst"])}
            (result,) = exact(self.module, list(inputs.values()))
            return result
        (result,) = term_magnitudes(self.module, list(self.inputs.values()))
        return result

    @cached_property
    def terms(self) -> int:
        """The maximum number of terms in a sum."""
        (op,) = (op for op in self.gradients if op.name != "grad.take_window")
        if isinstance(op, ResizeBackwardOp):
            return prod(map(_most_read, op.samplings))
        if isinstance(op, ResizeBackwardDynamicOp):
            return prod(map(_most_read, self._runtime_samplings(op)))
        if isinstance(op, MaxPoolBackwardOp | AvgPoolBackwardOp):
            return prod(math.ceil(window.extent / window.stride) for window in op.windows)
        ones = [a if a.dtype.kind in "iu" else np.ones_like(a) for a in self.inputs.values()]
        (count,) = term_magnitudes(self.module, ones)
        return round(float(count.max()))

    def _runtime_samplings(self, op: ResizeBackwardDynamicOp) -> Iterator[AxisSampling]:
        shape = self.inputs["diff_dst"].shape
        for axis, x in zip(op.axes, self.inputs["input_sizes"], strict=True):
            y, rule = shape[axis], op.coordinates
            step = size_step("half_pixel", int(x), y)
            yield AxisSampling(int(x), y, step, op.interpolation, rule)

    def errors(self, strategy: str, strict_ieee: bool) -> Errors | None:
        """Return the errors of the graph compiled with a strategy, None if it is refused."""
        options = Options(strategy=strategy, threads=1, strict_ieee=strict_ieee)
        try:
            compiled = compile_module(self.module.clone(), options)
        except UnsupportedError:
            return None
        (got,) = compiled.run(self.inputs).values()
        return errors(got, self.exact, self.magnitude)


def _most_read(sampling: AxisSampling) -> int:
    return int(np.count_nonzero(sampling.matrix(), axis=0).max())


def cases(dtype: str) -> Iterator[Case]:
    """Yield the problems above, and a convolution whose result has a dynamic size."""
    for found in cases_of_text(PROBLEMS.replace("DTYPE", dtype), "cases"):
        yield Case(str(found.problem), dtype, found.problem.module(), found.problem.feeds())
    graph = Graph()
    graph.output(PROBES["ConvolutionBackwardData"](graph, dtype, 2, True), "diff_src")
    module = graph.module()
    yield Case("ConvolutionBackwardData with dst_shape", dtype, module, random_inputs(module, 0))
