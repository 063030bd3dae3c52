"""legalize-onnx: check that the result is ONNX that the target runs at its opset.

C1 every op of the function, and of the regions in it, is of the `onnx` dialect, except the return.
C2 every op exists in the opset with its attributes and inputs.
C3 every op has a kernel on the target for its dtypes, or is decomposed by the runtime. Opaque nodes are not
   checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from dialects.onnx.base import OnnxOp
from dialects.onnx.control import YieldOp
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp
from dialects.onnx.opset_range import opset_range
from dialects.onnx.opsets import OLDEST
from dialects.support.diagnostics import UnsupportedError, error_at
from dialects.support.dtypes import name_of
from dialects.support.error_list import Errors
from dialects.support.option_names import advice, option
from dialects.support.shapes import element_type_of
from passes.targets.target import Target, TargetPass


@dataclass(frozen=True)
class LegalizeOnnxPass(TargetPass):
    name = "legalize-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        errors = Errors()
        for inner in op.walk():
            if not isinstance(inner, ModuleOp | FuncOp | ReturnOp | YieldOp):
                errors.attempt(check, inner, self.env)
        errors.check()


def check(op: Operation, target: Target) -> None:
    """Check C1 to C3. Raises UnsupportedError, located at the op."""
    if isinstance(op, NodeOp):
        return
    if not isinstance(op, OnnxOp):
        raise error_at(op, f"{op.name} was not lowered to ONNX", kind=UnsupportedError)
    first, last = opset_range(op)
    if target.opset < first or (last is not None and target.opset >= last):
        legal = f"{first} and newer" if last is None else f"{first} to {last - 1}"
        raise error_at(
            op,
            f"{op.onnx_name()} in this form",
            given=option("opset", target.opset),
            expected=legal,
            hint=_younger_dtypes(op, target.opset),
            kind=UnsupportedError,
        )
    reason = None if isinstance(op, ConstantOp) else target.lacks_kernel(op)
    if reason and not target.leaves_to_runtime(op):
        raise error_at(op, reason, kind=UnsupportedError, hint=remedy(op, target))


FIRST_OPSETS: Mapping[str, int] = MappingProxyType({"f8_e4m3": 19, "f8_e5m2": 19, "s4": 21, "u4": 21})
"""First opset of each dtype newer than the oldest supported opset."""


def _younger_dtypes(op: OnnxOp, opset: int) -> str:
    """Return which dtypes of the op's tensors an opset lacks, if any."""
    tensors = [v for v in (*op.operands, *op.results) if isinstance(v.type, TensorType)]
    names = dict.fromkeys(name_of(element_type_of(value)) for value in tensors)
    lacking = [
        f"{name} from opset {FIRST_OPSETS[name]}" for name in names if FIRST_OPSETS.get(name, 0) > opset
    ]
    return f"ONNX has {' and '.join(lacking)} on" if lacking else ""


def remedy(op: OnnxOp, target: Target) -> str:
    """Suggest a setting that supports the op: an older opset of the target, or else onnxruntime's CPU."""
    older = range(target.opset - 1, max(OLDEST, opset_range(op)[0]) - 1, -1)
    for opset in older:
        former = replace(target, opset=opset)
        if former.lacks_kernel(op) is None:
            return advice("opset", "has one", opset)
        if former.expands(op) and not target.expands(op):
            return advice("opset", "does without", opset)
    wider = target.spec.restricts
    if wider is not None and replace(target, name=wider).lacks_kernel(op) is None:
        return advice("target", "writes it, for onnxruntime alone", wider)
    return ""
