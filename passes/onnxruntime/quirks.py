"""Forms of ops that onnxruntime's CPU provider rejects, crashes on, or computes otherwise than ONNX.

`tests/unit/passes/onnxruntime/test_quirks.py` runs a model that shows each entry: after an upgrade of
onnxruntime, it names the entries that are gone, whose remedies can go too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp


@dataclass(frozen=True, kw_only=True)
class Quirk:
    """A fact about onnxruntime.

    what: the form of `ops`.
    behavior: what onnxruntime does with it.
    seen: the versions with which it was seen.
    remedy: the file that avoids the form, or tests for it, and names the entry.
    holds: tests whether an op may have the form; `expand-ops` decomposes such an op. None if the remedy is
        another one.
    """

    ops: tuple[type[OnnxOp], ...]
    what: str
    behavior: str
    seen: tuple[str, ...]
    remedy: str
    holds: Callable[[OnnxOp], bool] | None = None


def _test(path: str) -> Callable[[OnnxOp], bool]:
    """Return a function of a module of missing_kernels, imported when it is first called."""
    module, _, name = path.partition(".")

    def holds(op: OnnxOp) -> bool:
        found = import_module(f"passes.decompositions.missing_kernels.{module}")
        return getattr(found, name)(op)

    return holds


def _has_no_hidden_size(op: OnnxOp) -> bool:
    """Return whether a recurrent op leaves it to be inferred; `simplify` sets it for static shapes."""
    return "hidden_size" not in op.onnx_attributes()


QUIRKS: Mapping[str, Quirk] = {
    "affine-grid-of-size-1": Quirk(
        ops=(onnx.AffineGridOp,),
        what="align_corners and an axis of size 1",
        behavior="the coordinate of the axis is 1, not -1",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/affine_grid.py",
        holds=_test("affine_grid.may_have_size_1"),
    ),
    "batch-normalization-in-place": Quirk(
        ops=(onnx.BatchNormalizationOp,),
        what="training, in place",
        behavior="a running statistic that is no output overwrites its operand, which equal constants share",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/normalizations.py",
        holds=_test("normalizations.may_overwrite"),
    ),
    "boolean-extreme-of-nothing": Quirk(
        ops=(onnx.ReduceMaxOp, onnx.ReduceMinOp),
        what="booleans along an empty axis",
        behavior="fails at run time",
        seen=("1.31", "1.32"),
        remedy="passes/targets/cpu.py",
    ),
    "einsum-of-an-empty-batch": Quirk(
        ops=(onnx.EinsumOp,),
        what="a batched product with a batch of 0",
        behavior="ends the process",
        seen=("1.31", "1.32"),
        remedy="passes/autodiff/common/products.py",
    ),
    "expand-to-nothing": Quirk(
        ops=(onnx.ExpandOp,),
        what="an axis from 1 to 0",
        behavior="the op is removed as if it kept the shape",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/empty_expand.py",
    ),
    "grid-sample-of-cubic-volumes": Quirk(
        ops=(onnx.GridSampleOp,),
        what="a volume with mode cubic, or data of another rank than 4 and 5",
        behavior="fails at run time",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/grid_sample.py",
        holds=_test("grid_sample.is_unsupported_grid"),
    ),
    "half-spectrum-of-another-size": Quirk(
        ops=(onnx.DFTOp,),
        what="inverse, onesided, with another number of bins than dft_length // 2 + 1",
        behavior="other numbers for most lengths",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/inverse_dft.py",
        holds=_test("inverse_dft.has_other_bins"),
    ),
    "hard-swish-in-f64": Quirk(
        ops=(onnx.HardSwishOp,),
        what="f64, with a factor in f32",
        behavior="1/6 is rounded to f32",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/pointwise.py",
        holds=_test("pointwise.is_in_f64"),
    ),
    "inverse-dft-in-f64": Quirk(
        ops=(onnx.DFTOp,),
        what="f64, inverse, with a factor in f32",
        behavior="1/n is rounded to f32, unless n is a power of two",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/inverse_dft.py",
        holds=_test("inverse_dft.is_inverse_in_f64"),
    ),
    "lrn-of-even-size": Quirk(
        ops=(onnx.LRNOp,),
        what="an even size, or no image",
        behavior="does not load",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/lrn.py",
        holds=_test("lrn.is_unsupported_lrn"),
    ),
    "no-hidden-size": Quirk(
        ops=(onnx.GRUOp, onnx.LSTMOp, onnx.RNNOp),
        what="no hidden_size",
        behavior="does not load, although ONNX allows inferring it from the weights",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/recurrent.py",
        holds=_has_no_hidden_size,
    ),
    "recurrent-in-f64": Quirk(
        ops=(onnx.GRUOp, onnx.LSTMOp),
        what="f64",
        behavior="the registered kernel fails at run time",
        seen=("1.31", "1.32"),
        remedy="passes/kernel_tables/__init__.py",
    ),
    "small-sigmoids": Quirk(
        ops=(onnx.SigmoidOp,),
        what="a result below 1e-4 in f32",
        behavior="its error is 1e-8 instead of a rounding of it, and the result is 0 below -18",
        seen=("1.31", "1.32"),
        remedy="passes/lower_aten/small_values.py",
    ),
    "transposed-matrix-by-vector": Quirk(
        ops=(onnx.MatMulOp,),
        what="a Transpose by a vector",
        behavior="the op that both are fused into ignores the transposition",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/matrix_vector.py",
    ),
    "function-body-of-nothing": Quirk(
        ops=(onnx.GroupNormalizationOp,),
        what="no elements",
        behavior="a Reshape of the inlined body has both -1 and 0",
        seen=("1.31", "1.32"),
        remedy="passes/kernel_tables/__init__.py",
    ),
    "bounds-before-quantization": Quirk(
        ops=(onnx.ReluOp,),
        what="a QuantizeLinear to an 8-bit float or 4-bit integer behind it",
        behavior="the op is dropped, as if the codes had its bound",
        seen=("1.31", "1.32"),
        remedy="passes/expand_ops.py",
    ),
    "inf-in-f8-e5m2": Quirk(
        ops=(onnx.QuantizeLinearOp,),
        what="8-bit floats e5m2 with saturate = 0",
        behavior="the first numbers beyond the range, and inf, give NaN",
        seen=("1.31", "1.32"),
        remedy="passes/lower_onednn/quant.py",
    ),
    "names-of-the-optimizer": Quirk(
        ops=(onnx.MatMulOp,),
        what="a value with a name of the optimizer's own, such as gemm_input_shape",
        behavior="does not load where the optimizer adds a constant of that name",
        seen=("1.31", "1.32"),
        remedy="gradc/model/names.py",
    ),
    "pad-with-axes-behind-a-transpose": Quirk(
        ops=(onnx.PadOp,),
        what="axes, behind a Transpose",
        behavior="the pads are permuted as if they were of all axes: does not run, or pads other axes",
        seen=("1.31", "1.32"),
        remedy="passes/simplify/pads.py",
    ),
    "pad-before-average-pool": Quirk(
        ops=(onnx.AveragePoolOp,),
        what="a constant Pad before it, as wide as the kernel",
        behavior="the Pad is fused into its pads, and the model does not load",
        seen=("1.31",),
        remedy="passes/lower_onednn/pool.py",
    ),
    "pads-as-wide-as-the-kernel": Quirk(
        ops=(onnx.AveragePoolOp, onnx.MaxPoolOp),
        what="pads as wide as the kernel",
        behavior="does not load",
        seen=("1.31", "1.32"),
        remedy="passes/lower_onednn/pool.py",
    ),
    "product-of-an-empty-batch": Quirk(
        ops=(onnx.MatMulOp,),
        what="a matrix by an empty batch",
        behavior="rejects broadcasting 1 against 0",
        seen=("1.31",),
        remedy="passes/builder/tensors.py",
    ),
    "recurrent-of-an-empty-batch": Quirk(
        ops=(onnx.GRUOp, onnx.LSTMOp),
        what="an empty batch, and a GRU without steps",
        behavior="ends the process",
        seen=("1.31", "1.32"),
        remedy="gradc/graph/run_time_sizes.py",
    ),
    "resize-of-unchanged-sizes": Quirk(
        ops=(onnx.ResizeOp,),
        what="scales that change no size",
        behavior="copies, whatever the scales",
        seen=("1.31", "1.32"),
        remedy="gradc/importers/onnx/resizes.py",
    ),
    "signs-of-low-halves": Quirk(
        ops=(onnx.MaxOp, onnx.MinOp),
        what="int64 beyond 2^31",
        behavior="low halves of numbers with equal high halves are compared as signed",
        seen=("1.31",),
        remedy="passes/resize/sampling_matrix.py",
    ),
    "softplus-in-f64": Quirk(
        ops=(onnx.SoftplusOp,),
        what="f64",
        behavior="log(1 + exp(x)): inf from 710 on, 0 up to -37",
        seen=("1.31", "1.32"),
        remedy="passes/decompositions/missing_kernels/pointwise.py",
        holds=_test("pointwise.is_in_f64"),
    ),
    "sum-of-squares-in-one-pass": Quirk(
        ops=(onnx.ReduceL1Op, onnx.ReduceL2Op),
        what="f32, many terms",
        behavior="ReduceL2, and ReduceL1 for some axes, sum term by term: a million have an error of 5e-4",
        seen=("1.31", "1.32"),
        remedy="passes/lower_onednn/op_specs.py",
    ),
    "sum-over-first-axes": Quirk(
        ops=(onnx.ReduceSumOp,),
        what="f32, many terms along the first axes",
        behavior="sums one row after the other: a million have an error of 4e-4",
        seen=("1.31", "1.32"),
        remedy="passes/builder/long_sums.py",
    ),
    "transposed-factor-of-an-empty-batch": Quirk(
        ops=(onnx.MatMulOp,),
        what="a Transpose of an empty batch by a matrix",
        behavior="the op that both are fused into fails",
        seen=("1.31",),
        remedy="passes/builder/tensors.py",
    ),
}
"""Facts by name."""

TESTED = ("1.31", "1.32")
"""Versions with which every entry was tested; `seen` lists those of them that have the fact."""

CPU_QUIRKS: Mapping[type[OnnxOp], Sequence[Quirk]] = {
    op: [quirk for quirk in QUIRKS.values() if quirk.holds is not None and op in quirk.ops]
    for named in QUIRKS.values()
    if named.holds is not None
    for op in named.ops
}
"""Op -> the forms of it that `expand-ops` decomposes for the CPU provider."""
