"""Training forms of a source before it is differentiated: batch statistics and Dropout."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from dialects.support.diagnostics import Diagnostic
from dialects.support.entry import entry_function
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer, run_passes
from gradc.derivatives.request import CONSTANT, GradientRequest


def training_passes(user_request: GradientRequest, options: Options) -> Sequence[ModulePass]:
    """Return the passes for `batchnorm` and `dropout`."""
    found: list[ModulePass] = []
    if user_request.batchnorm is not None:
        from passes.training.batch_norm import BatchNormEvalPass, BatchNormTrainPass

        inputs = user_request.weights != CONSTANT
        is_training = user_request.batchnorm == "train"
        found.append(BatchNormTrainPass(inputs=inputs) if is_training else BatchNormEvalPass())
    if user_request.dropout in ("hashed", "off"):
        from passes.training.dropout import DropDropoutPass, HashDropoutPass

        target = options.resolve_target()
        is_hashed = user_request.dropout == "hashed"
        found.append(HashDropoutPass(target.name, target.opset) if is_hashed else DropDropoutPass())
    return found


def apply_training(
    module: ModuleOp, user_request: GradientRequest, options: Options, observer: Observer | None = None
) -> list[Diagnostic]:
    """Apply `batchnorm` and `dropout` to a module of ONNX ops, in place; return remarks on what the file
    lacks for them."""
    passes = training_passes(user_request, options)
    if not passes:
        return []
    function, remarks = entry_function(module), list[Diagnostic]()
    if user_request.batchnorm == "train":
        from passes.training.batch_norm import batch_norm_remarks

        remarks += batch_norm_remarks(function)
    if user_request.dropout == "hashed":
        from passes.training.dropout import dropout_remarks

        remarks += dropout_remarks(function)
    run_passes(module, passes, options, observer, start=module.clone())
    return remarks
