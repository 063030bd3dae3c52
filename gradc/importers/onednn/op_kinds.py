"""Op kinds of oneDNN Graph documents, and the ops that gradc has for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dialects import source_kinds, source_op
from dialects.support.diagnostics import (
    MIXED_GRAPHS,
    Diagnostic,
    GradcError,
    Position,
    UnsupportedError,
    sentence,
    suggest,
)
from dialects.support.documented_op import DocumentedOp
from dialects.support.error_list import OpReference, combine, first_of_each_kind, summarize_by_kind

END = "End"
"""The kind that marks its inputs as graph outputs; it has no outputs."""

_PUBLIC = """
    Abs AbsBackward Add AvgPool AvgPoolBackward BatchNormForwardTraining BatchNormInference
    BatchNormTrainingBackward BiasAdd BiasAddBackward Clamp ClampBackward Concat Convolution
    ConvolutionBackwardData ConvolutionBackwardWeights ConvTranspose ConvTransposeBackwardData
    ConvTransposeBackwardWeights Dequantize Divide Dropout DynamicDequantize DynamicQuantize Elu
    EluBackward End Exp GELU GELUBackward GenIndex GreaterEqual GroupNorm HardSigmoid
    HardSigmoidBackward HardSwish HardSwishBackward Interpolate InterpolateBackward LayerNorm
    LayerNormBackward LeakyReLU Log LogSoftmax LogSoftmaxBackward MatMul Maximum MaxPool
    MaxPoolBackward Minimum Mish MishBackward Multiply Pow PReLU PReLUBackward Quantize Reciprocal
    ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReLU ReLUBackward Reorder
    RMSNorm Round Select Sigmoid SigmoidBackward SoftMax SoftMaxBackward SoftPlus SoftPlusBackward
    Sqrt SqrtBackward Square SquaredDifference StaticReshape StaticTranspose Subtract Tanh
    TanhBackward TypeCast Wildcard
"""
PUBLIC_KINDS = tuple(_PUBLIC.split())
"""oneDNN 3.13's public op kinds."""


FORMER_NAMES: Mapping[str, str] = MappingProxyType({"BiasAddBackprop": "BiasAddBackward"})
"""Former names of kinds, found in old dumps (such as 3.0.0) -> current names."""


def current_name(kind: str) -> str:
    return FORMER_NAMES.get(kind, kind)


ELSEWHERE = f"{MIXED_GRAPHS} lists the supported kinds, and the further ops of MLIR text"


def op_class(kind: str, subject: str, position: Position | None) -> type[DocumentedOp] | None:
    """Return the op class of a kind, None for `End`.

    Raises UnsupportedError for a kind of oneDNN that gradc does not compile, GradcError for an unknown kind.
    """
    if (error := unsupported_error([OpReference(kind, subject, position)], 1)) is not None:
        raise error
    return source_op(kind)


def unsupported_error(found: Sequence[OpReference], total: int) -> GradcError | None:
    """Return the error for unsupported or unknown kinds in a document of `total` ops, else None.

    An unknown word gives a GradcError, kinds of oneDNN that gradc does not compile an UnsupportedError.
    """
    compiled = set(source_kinds())
    known = {*compiled, *PUBLIC_KINDS}
    unknown = [f for f in found if f.kind not in known]
    errors = [_unknown(finding) for finding in first_of_each_kind(unknown)]
    left = [f for f in found if f.kind in known and f.kind not in compiled and f.kind != END]
    if left:
        message = f"gradc does not compile {summarize_by_kind(left, total)}; {ELSEWHERE}"
        errors.append(UnsupportedError(Diagnostic("error", message, left[0].subject, left[0].position)))
    return combine(errors) if errors else None


def _unknown(finding: OpReference) -> GradcError:
    kind, compiled = finding.kind, source_kinds()
    known = dict.fromkeys((*compiled, *PUBLIC_KINDS))
    spelling = {name.lower(): name for name in known}.get(kind.lower())
    if spelling is not None:
        message = sentence("kind", kind, spelling, "kinds are case-sensitive")
    else:
        hint = suggest(kind, known) or f"{MIXED_GRAPHS} lists the supported kinds"
        message = sentence("kind", kind, "a kind of oneDNN Graph or CANN", hint)
    return GradcError(Diagnostic("error", message, finding.subject, finding.position))
