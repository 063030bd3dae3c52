"""Default opset of a model."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, UnrankedTensorType

from dialects.onnx.base import OnnxOp
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import IdentityOp
from dialects.onnx.opset_range import opset_range
from dialects.onnx.opsets import OLDEST
from dialects.support import entry
from dialects.support.diagnostics import GradcError
from dialects.support.dtypes import name_of
from gradc.compiler.options import Options
from gradc.model.exported_domains import is_of_opset
from passes.targets.target import DEFAULT_OPSET


def with_opset(options: Options, module: ModuleOp) -> Options:
    """Return the options with an opset if the default one does not serve: an imported model needs its own
    opset or one with all its ops, any other source the oldest with its dtypes."""
    if options.opset is not None:
        return options
    own = module.attributes.get(entry.OPSET)
    is_model = isinstance(own, IntegerAttr)
    wanted = _of_model(module, own.value.data) if is_model else max(DEFAULT_OPSET, _first_of_dtypes(module))
    return options if wanted == DEFAULT_OPSET else replace(options, opset=min(wanted, _newest()))


def _of_model(module: ModuleOp, own: int) -> int:
    """Return the newest of the default opset, the model's own, and the oldest that has all ops.

    The default is left out if only older opsets have the form of an opaque standard node. Newer models keep
    their opset, because kernels and rules change between opsets even if forms do not.
    """
    nodes = [op for op in module.walk() if isinstance(op, NodeOp) and op.is_standard]
    needed = max((_first(op) for op in module.walk() if isinstance(op, OnnxOp)), default=OLDEST)
    needed = max([needed, *(op.version.value.data for op in nodes if op.version is not None)])
    wanted = max(DEFAULT_OPSET, own, needed)
    older = max(OLDEST, own, needed)
    changes = [node for node in nodes if not is_of_opset(node, wanted)]
    return older if changes and all(is_of_opset(node, older) for node in changes) else wanted


def _first_of_dtypes(module: ModuleOp) -> int:
    """Return the oldest opset that has the dtypes of all tensors of a module."""
    values = (value for op in module.walk() for value in (*op.operands, *op.results))
    types = {value.type for value in values}
    tensors = [type_ for type_ in types if isinstance(type_, TensorType | UnrankedTensorType)]
    return max((_first_of_dtype(name_of(type_.element_type)) for type_ in tensors), default=OLDEST)


@cache
def _first_of_dtype(dtype: str) -> int:
    admitting = [version.since for version in IdentityOp.VERSIONS if dtype in version.types["V"].split()]
    return min(admitting, default=OLDEST)


def _first(op: OnnxOp) -> int:
    """Return the oldest opset of an op; the last pass rejects an op that no opset has."""
    try:
        return opset_range(op)[0]
    except GradcError:
        return DEFAULT_OPSET


def _newest() -> int:
    from gradc.runtime.session import newest_opset

    return newest_opset()
