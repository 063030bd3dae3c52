"""Check of a run's sizes against the graph, before the run.

Dims of inputs may be dynamic, and inputs may hold sizes. Each set of actual sizes gives a static graph, which
is inferred and verified, so that a run gets the same errors as a static graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, ModuleOp, TensorType, f64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from dialects.onnx.base import OnnxConstant, OnnxOp
from dialects.onnx.node import NodeOp
from dialects.onnx.ops import ConstantOp, GRUOp, IfOp, LSTMOp
from dialects.support import entry, shapes
from dialects.support.constants import constant_value
from dialects.support.diagnostics import GradcError, error_at, kind_of
from dialects.support.interfaces import InfersTypes, collect_remarks, refine_results, set_type
from dialects.support.limits import Limits, using
from dialects.support.op_cache_key import MOST_SIZES
from dialects.support.shapes import Shape, element_type_of, shape_of, tensor_type
from gradc.graph.checks import verify
from gradc.graph.constants import bind_constants
from gradc.graph.tensors import TensorInfo, check_names, tensor_info, validate_inputs
from passes.builder.rewriting import rewrite
from passes.simplify.patterns import InlineConstantIf

if TYPE_CHECKING:
    from dialects.onednn.structure import IdentityDropoutOp

MOST_CHECKED = 2**10
"""Sets of checked sizes that are cached before all are dropped."""


_ABORTING = (GRUOp, LSTMOp)
"""Ops at which onnxruntime ends the process if X has no elements: quirk recurrent-of-an-empty-batch."""


def _aborts(op: GRUOp | LSTMOp, shape: Shape) -> bool:
    steps, batch = shape[:2] if not op.onnx_attributes().get("layout", 0) else (shape[1], shape[0])
    is_written = element_type_of(op.X) == f64  # as a Scan, since there is no kernel that runs
    return not is_written and (batch == 0 or (isinstance(op, GRUOp) and steps == 0))


class DynamicSizes:
    """Checks of the sizes of runs against a source module, once per set of sizes.

    Imported models are not checked here, but by the runtime. `strict` (contradictions are errors instead of
    remarks) and `limits` are those of the compilation.
    """

    def __init__(self, source: ModuleOp, strict: bool = False, limits: Limits | None = None):
        self.source, self._strict, self._limits = source, strict, limits
        function = entry.entry_function(source)
        arguments = dict(zip(entry.input_names(function), function.args, strict=True))
        checked = {} if entry.OPSET in source.attributes else arguments
        self._open = [name for name, value in checked.items() if _is_dynamic(value)]
        self._sizes = [name for name, value in checked.items() if _may_be_sizes(value)]
        self._infos = [tensor_info(name, value) for name, value in arguments.items()]
        self._dropping = dict(_probabilities(arguments))
        self._checked: set[object] = set()
        self._may_abort = any(isinstance(op, _ABORTING) for op in source.walk())

    @property
    def are_dynamic(self) -> bool:
        """True if any size, or a dropout probability that has to be 0, is dynamic."""
        return bool(self._open or self._sizes or self._dropping)

    def inputs_in_model_order(
        self, infos: Sequence[TensorInfo], inputs: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return the arrays in the order of a model's inputs `infos`.

        Raises GradcError for an input that does not fit, or at an op that cannot have these sizes.
        """
        check_names(infos, inputs)
        known = [info for info in self._infos if info.name in inputs]
        arrays = validate_inputs(known, {info.name: inputs[info.name] for info in known})
        self.check(arrays)
        for name, op in self._dropping.items():
            if name in arrays and arrays[name].any():
                from dialects.onednn.structure import nonzero_probability

                raise nonzero_probability(op, float(arrays[name].flat[0]))
        if self._may_abort and not all(np.size(array) for array in arrays.values()):
            self._check_aborting(arrays)
        return validate_inputs(infos, inputs)

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Raise GradcError, located at an op of the source, if the graph cannot have the arrays' sizes."""
        given = {name: arrays[name].shape for name in self._open if name in arrays}
        sizes = {n: arrays[n] for n in self._sizes if n in arrays and arrays[n].size <= MOST_SIZES}
        key = (*given.items(), *((name, array.tobytes()) for name, array in sizes.items()))
        if not key or key in self._checked:
            return
        self._check(given, sizes)
        if len(self._checked) >= MOST_CHECKED:
            self._checked.clear()
        self._checked.add(key)

    def _check_aborting(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Raise for recurrent ops that would end onnxruntime's process with these shapes."""
        with using(self._limits):
            try:
                module = specialize(self.source, {name: np.shape(a) for name, a in arrays.items()}, {})
            except GradcError:  # left to the runtime: imported models are not checked
                return
        for op in module.walk():
            if isinstance(op, _ABORTING) and shapes.has_rank(op.X) and _aborts(op, shape_of(op.X)):
                what = "onnxruntime cannot run this op on an empty batch, nor a GRU without steps: shape of X"
                raise error_at(op, what, given=shapes.show(shape_of(op.X)), expected="no 0")

    def _check(self, given: Mapping[str, tuple[int, ...]], sizes: Mapping[str, np.ndarray]) -> None:
        with using(self._limits):
            module = specialize(self.source, given, sizes)
        remarks = collect_remarks(list(module.walk())) if self._strict else ()
        for remark in remarks:
            if remark.strict:
                raise GradcError(remark.with_severity("error"))


def _probabilities(arguments: Mapping[str, SSAValue]) -> Iterator[tuple[str, IdentityDropoutOp]]:
    """Yield the inputs that are the probability of a Dropout, with that op."""
    for name, value in arguments.items():
        for use in value.uses:
            if not use.operation.name.startswith("onednn."):
                continue
            from dialects.onednn.structure import IdentityDropoutOp  # slow to import, for other graphs

            if isinstance(use.operation, IdentityDropoutOp) and use.operation.probability is value:
                yield name, use.operation


def specialize(
    source: ModuleOp,
    given: Mapping[str, tuple[int, ...]],
    sizes: Mapping[str, np.ndarray],
    *,
    regions: bool = False,
) -> ModuleOp:
    """Return a copy of the source with the given input shapes, and with the inputs of `sizes` as constants.

    Without `regions` the copy is verified and its regions are opaque, since an untaken branch may be invalid
    for these sizes; with `regions`, an If of known condition is replaced by its branch. Raises GradcError if
    the graph is invalid.
    """
    module = source.clone()
    function = entry.entry_function(module)
    arguments = dict(zip(entry.input_names(function), function.args, strict=True))
    known: dict[str, int] = {}
    for name, shape in given.items():
        if shapes.has_rank(arguments[name]):
            named = shapes.dim_names(shape_of(arguments[name]))
            known |= {d: n for d, n in zip(named, shape, strict=True) if isinstance(d, str)}
        set_type(arguments[name], tensor_type(element_type_of(arguments[name]), shape))
    bind_constants(module, sizes)
    is_new = True
    while is_new:
        for op in list(function.body.block.ops):
            _refine(op if regions else _without_regions(op), known)
        is_new = regions and rewrite(module, (InlineConstantIf(),), (IfOp,))
    entry.update_function_type(function)
    if not regions:
        verify(module)
    return module


def _without_regions(op: Operation) -> Operation:
    """Replace an op that has regions by an opaque op of the same result types."""
    if not op.regions:
        return op
    opaque = NodeOp("", kind_of(op), op.operands, op.result_types)
    opaque.location = op.location
    Rewriter.replace_op(op, opaque)
    return opaque


def _refine(op: Operation, known: Mapping[str, int]) -> None:
    """Infer the op's result types again, and fold results that may be sizes."""
    tensors = {i: shape_of(r) for i, r in enumerate(op.results) if isinstance(r.type, TensorType)}
    if isinstance(op, InfersTypes):
        try:
            refine_results(op)
        except GradcError as error:
            raise error.at_op(op) from None
    for index, declared in tensors.items():
        _check_names(op, index, declared, shape_of(op.results[index]), known)
    if isinstance(op, OnnxOp) and not isinstance(op, OnnxConstant) and any(map(_may_be_sizes, op.results)):
        _fold(op)


def _check_names(
    op: Operation, index: int, declared: Shape, inferred: Shape, known: Mapping[str, int]
) -> None:
    """Check that a declared dim named like an input's dim has its size. A slice's size, such as N - 3, is 0
    where it would be negative."""
    found = shapes.with_sizes(declared, known)
    named = tuple(max(size, 0) if isinstance(size, int) else size for size in found)
    if not shapes.compatible(named, inferred):
        role = op.result_role(index) if isinstance(op, InfersTypes) else f"result {index}"
        raise error_at(op, f"shape of {role}", given=shapes.show(named), expected=shapes.show(inferred))


def _fold(op: OnnxOp) -> None:
    values = [v for v in op.fold() or () if isinstance(v, DenseIntOrFPElementsAttr)]
    if [value.type for value in values] != [result.type for result in op.results]:
        return
    block = op.parent_block()
    assert block is not None
    for result, value in zip(op.results, values, strict=True):
        constant = ConstantOp(value)
        constant.location = op.location
        block.insert_op_before(constant, op)
        result.replace_all_uses_with(constant.output)


def _is_dynamic(value: SSAValue) -> bool:
    return shapes.has_rank(value) and not shapes.is_static(shape_of(value))


def _may_be_sizes(value: SSAValue) -> bool:
    """Return whether inference may read the value's elements: a short, used vector of integers."""
    is_tensor = isinstance(value.type, TensorType)
    if (
        not is_tensor
        or not isinstance(element_type_of(value), IntegerType)
        or constant_value(value) is not None
    ):
        return False
    shape = shape_of(value)
    fewest = prod(dim for dim in shape if isinstance(dim, int))
    return len(shape) < 2 and fewest <= MOST_SIZES and bool(value.uses)
