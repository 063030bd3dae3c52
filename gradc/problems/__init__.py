"""Problem strings: one canonical gradient as a line of text, for benchmarks, tuning keys, test ids and bug
reports.

    conv_backward_data,f32,NXC,diff_dst=1x64x28x28,weights=64x32x3x3,strides=2x2,pads=1x1:1x1,residue=1x1
    conv_transpose_backward_data,bf16,NCX,diff_dst=?x64x56x56,weights=32x64x2x2,strides=2x2
    resize_backward,f32,NCX,diff_dst=1x64x112x112,diff_src=1x64x56x56,interpolation=nearest_floor
    resize_backward_dynamic,f32,NCX,diff_dst=1x64x?x?

Kind, dtype, layout, then fields in any order. Sizes and axes are those of the channels-first shape, in either
layout; a dynamic size is `?`. Weights are (O, C / groups, K...) for the gradient of a convolution and (C, O /
groups, K...) for a transposed one, as in the canonical ops; the other fields are their attributes. Defaults
are omitted: strides, dilations and groups 1, pads (begin:end) and residue 0, `weights_are=constant` (else
`input`), all spatial axes, `interpolation=linear`, `coordinates=half_pixel` (else `corner`; `align_corners`
means `corner` with its steps), `steps` X / Y.
"""

from gradc.problems.base import Problem
from gradc.problems.conv import ConvBackwardDataProblem, ConvTransposeBackwardDataProblem
from gradc.problems.kinds import KINDS, OPS, parse_problem, problem_of
from gradc.problems.resize import ResizeBackwardDynamicProblem, ResizeBackwardProblem

__all__ = [
    "KINDS",
    "OPS",
    "ConvBackwardDataProblem",
    "ConvTransposeBackwardDataProblem",
    "Problem",
    "ResizeBackwardDynamicProblem",
    "ResizeBackwardProblem",
    "parse_problem",
    "problem_of",
]
