"""The kinds that a oneDNN Graph document may hold, and what gradc has for each."""

from __future__ import annotations

from dialects import source_ops
from dialects.support.diagnostics import Diagnostic, GradcError, Position, UnsupportedError, nearest, sentence
from dialects.support.documented_op import DocumentedOp

END = "End"
"""The kind without outputs: it marks its inputs as outputs of the graph."""

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


def op_class(kind: str, subject: str, position: Position | None) -> type[DocumentedOp] | None:
    """The op class of a kind, None for `End`.

    Raises UnsupportedError for a kind of oneDNN that gradc does not compile, GradcError for a word
    that is no kind.
    """
    compiled = source_ops()
    if kind in compiled:
        return compiled[kind]
    if kind == END:
        return None
    if kind in PUBLIC_KINDS:
        message = f"gradc does not compile {kind} yet; it compiles {', '.join(compiled)}"
        raise UnsupportedError(Diagnostic("error", message, subject, position))
    known = dict.fromkeys((*compiled, *PUBLIC_KINDS))
    spelling = {name.lower(): name for name in known}.get(kind.lower())
    if spelling is not None:
        message = sentence("kind", kind, spelling, "kinds are case-sensitive")
    else:
        hint = nearest(kind, known) or f"gradc compiles {', '.join(compiled)}"
        message = sentence("kind", kind, "a kind of oneDNN Graph or CANN", hint)
    raise GradcError(Diagnostic("error", message, subject, position))
