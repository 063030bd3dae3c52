"""Checks in a model, which fails at run time for sizes that its source graph would reject.

1. The verifiers' conditions on unknown sizes become nodes on the shapes of the model's inputs and on the
   inputs that are sizes, from which those of source ops' results follow. Dims of one name have one size.
2. If a condition does not hold, a Reshape of one element to an impossible shape fails. Its name gives the op
   and the conditions, in the order of the entries of that shape, which are 1 if one holds.
3. The result of the checks, a zero, is added to the shape to which each input of dynamic shape is reshaped
   (its own), or else to an input of sizes. So no runtime removes the checks or starts computing earlier:
   onnxruntime crashes on a convolution without positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType, i32, i64
from xdsl.ir import BlockArgument, Operation, SSAValue, Use

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.support.constants import constant_value
from dialects.support.diagnostics import UnsupportedError, error_at, location, position_of, subject_of
from dialects.support.documented_op import DocumentedOp
from dialects.support.entry import entry_function, input_names
from dialects.support.interfaces import inferred_types, set_type
from dialects.support.shapes import Shape, dim_names, element_type_of, is_static, shape_of, with_sizes
from passes.builder.op_builder import OpBuilder
from passes.builder.operands import set_operand
from passes.infer_types import infer_types
from passes.legalize_onnx import check
from passes.size_checks.conditions import CONDITIONS, collect_rows, is_vector_of_sizes
from passes.size_checks.expressions import Expressions
from passes.size_checks.rows import Row, Size, elements, equal, guard, positive
from passes.targets.target import Target

UNKNOWN_SIZE = "a size that is no expression of the input sizes"

RESHAPES = (onnx.ReshapeOp, onnx.SqueezeOp, onnx.UnsqueezeOp)


def write_checks(module: ModuleOp, source: ModuleOp, target: Target) -> None:
    """Add the checks of a source to the ONNX module compiled from it.

    Raises UnsupportedError at an op whose sizes do not follow from the inputs', or for a missing kernel.
    """
    inferred = source.clone()
    infer_types(inferred)
    for op in _Writer(module, inferred, target.spec.narrow_integers is not None).write():
        check(op, target)


class _Writer:
    def __init__(self, module: ModuleOp, source: ModuleOp, narrow: bool):
        function, self._source = entry_function(module), entry_function(source)
        self._block = function.body.block
        self._uses = {argument: list(argument.uses) for argument in self._block.args}
        inputs = dict(zip(input_names(function), self._block.args, strict=True))
        names = zip(input_names(self._source), self._source.args, strict=True)
        self._values: dict[SSAValue, SSAValue] = {value: inputs[name] for name, value in names}
        self._emit = OpBuilder(narrow=narrow)
        self._known = Expressions(self._emit)
        self._sizes: dict[SSAValue, tuple[Size | None, ...]] = {}
        self._names: dict[str, Size] = {}
        """Size of each name in a type."""
        self._zeros: list[SSAValue] = []
        self._held: set[Row] = set()

    def write(self) -> Sequence[Operation]:
        """Add the checks; return the new ops."""
        for name, value in zip(input_names(self._source), self._source.args, strict=True):
            sizes = self._sizes[value] = self._input_sizes(self._values[value])
            self._guard(None, self._match_declared(name, shape_of(value), sizes, None))
        for op in self._source.body.block.ops:
            if isinstance(op, DocumentedOp):
                self._check(op)
        gated = _inputs_to_guard(self._uses) if self._zeros else ()
        if not gated:
            return ()
        self._insert(gated)
        return self._emit.ops

    def _input_sizes(self, value: SSAValue) -> tuple[Size, ...]:
        shape = shape_of(value)
        if is_static(shape):
            return tuple(dim for dim in shape if isinstance(dim, int))
        found = elements(self._emit(onnx.ShapeOp(value)))
        return tuple(dim if isinstance(dim, int) else size for dim, size in zip(shape, found, strict=True))

    def _match_declared(
        self, what: str, shape: Shape, sizes: Sequence[Size | None], op: DocumentedOp | None
    ) -> list[Row]:
        """Return rows: a size equals the declared number, and all sizes of a name are equal."""
        rows: list[Row] = []
        for axis, (dim, size) in enumerate(zip(dim_names(shape), sizes, strict=True)):
            if dim is None or (size is None and isinstance(dim, str) and dim not in self._names):
                continue
            if size is None:
                assert op is not None, "an input has its sizes"
                raise error_at(
                    op, f"a check of axis {axis} of {what}", given=UNKNOWN_SIZE, kind=UnsupportedError
                )
            if isinstance(dim, str):
                rows += equal(f"{dim} at axis {axis} of {what}", size, self._names.setdefault(dim, size))
            else:
                rows += equal(f"axis {axis} of {what}", size, dim)
        return rows

    def _check(self, op: DocumentedOp) -> None:
        operands = [self._operand_sizes(op, index) for index in range(len(op.operands))]
        if all(isinstance(size, int) for sizes in operands for size in sizes):
            for result, inferred in zip(op.results, inferred_types(op), strict=True):
                assert inferred is not None
                self._sizes[result] = tuple(d if isinstance(d, int) else None for d in shape_of(inferred))
            return
        rows, results = self._conditions(op, operands)
        for result, role, sizes in zip(op.results, op.RESULTS, results, strict=True):
            self._sizes[result] = sizes
            rows += self._match_declared(role, shape_of(result), sizes, op)
        self._guard(op, rows)
        if type(op) in CONDITIONS:
            # Results of such ops are as legal as the operands: no axis is empty, except the batch.
            found = (size for sizes in results for size in sizes if size is not None)
            self._held |= {row for size in found for row in positive("", size)}

    def _conditions(
        self, op: DocumentedOp, operands: Sequence[tuple[Size, ...]]
    ) -> tuple[list[Row], Sequence[tuple[Size | None, ...]]]:
        written = CONDITIONS.get(type(op))
        if written is None:
            declared = [self._with_names(shape_of(result)) for result in op.results]
            return collect_rows(op, operands, declared, self._known)
        rows, sizes = written(op, operands, self._emit)
        return rows, [sizes]

    def _with_names(self, shape: Shape) -> Shape:
        """Return a declared shape with the sizes of the inputs' names."""
        return with_sizes(shape, {name: self._known.form(size) for name, size in self._names.items()})

    def _operand_sizes(self, op: DocumentedOp, index: int) -> tuple[Size, ...]:
        """Return the sizes of a data operand, or the elements of an operand that is sizes."""
        value = op.operands[index]
        if is_vector_of_sizes(op, index):
            constant = constant_value(value)
            if constant is not None:
                return tuple(constant.ravel().tolist())
            return elements(self._emit.as_int64(self._evaluate(op, value)))
        if value in self._sizes:
            sizes = tuple(size for size in self._sizes[value] if size is not None)
            if len(sizes) == len(shape_of(value)):
                return sizes
            raise error_at(
                op, f"a check of sizes of {op.port(index)}", given=UNKNOWN_SIZE, kind=UnsupportedError
            )
        if constant_value(value) is None:
            raise self._unknown(op, value)
        return tuple(dim for dim in shape_of(value) if isinstance(dim, int))

    def _evaluate(self, reader: DocumentedOp, value: SSAValue) -> SSAValue:
        """Copy the source ops that compute a vector of sizes."""
        pending, found = [value], dict[Operation, None]()
        while pending:
            owner = pending.pop().owner
            if not isinstance(owner, Operation):
                continue
            if isinstance(owner, DocumentedOp):
                raise self._unknown(reader, owner.results[0])
            found[owner] = None
            pending += owner.operands
        for op in self._source.body.block.ops:
            if op in found and op.results[0] not in self._values:
                copy = op.clone(self._values)
                self._emit.ops.append(copy)
                self._values |= dict(zip(op.results, copy.results, strict=True))
        return self._values[value]

    def _unknown(self, reader: DocumentedOp, value: SSAValue):
        assert isinstance(value.owner, Operation)
        return error_at(
            reader,
            "cannot check sizes that do not follow from the inputs",
            given=f"those of the results of {subject_of(value.owner)}",
            expected="inputs and results of gradient ops",
            kind=UnsupportedError,
        )

    def _guard(self, op: Operation | None, rows: Sequence[Row]) -> None:
        rows = [row for row in dict.fromkeys(rows) if row not in self._held]
        if not rows:
            return
        self._held |= set(rows)
        what = "inputs" if op is None else subject_of(op)
        name = f"{what}: sizes contradict where this shape is not 1: {', '.join(row.label for row in rows)}"
        zero, failing = guard(rows, self._emit)
        failing.location = location(name, None if op is None else position_of(op))
        self._zeros.append(zero)

    def _insert(self, gated: Sequence[BlockArgument]) -> None:
        zero = self._zeros[0]
        for other in self._zeros[1:]:
            zero = self._emit.add(zero, other)
        values = [(argument, self._add_dependence(argument, zero)) for argument in gated]
        self._drop_dead([value for _, value in values])
        begin = self._block.first_op
        assert begin is not None
        self._block.insert_ops_before(self._emit.ops, begin)
        for argument, value in values:
            for use in self._uses[argument]:
                set_operand(use.operation, use.index, value)

    def _drop_dead(self, read: Sequence[SSAValue]) -> None:
        kept: list[Operation] = []
        for op in reversed(self._emit.ops):
            if any(result.uses or result in read for result in op.results):
                kept.append(op)
            else:
                op.erase()
        self._emit.ops = kept[::-1]

    def _add_dependence(self, value: BlockArgument, zero: SSAValue) -> SSAValue:
        """Return the value, made to depend on the zero: by a Slice for static shapes, and in front of a
        Reshape to one, with which a runtime would fuse another Reshape."""
        type_ = value.type
        assert isinstance(type_, TensorType)
        if type_.element_type in (i32, i64):
            return self._emit(onnx.AddOp(value, self._emit(onnx.CastOp(zero, to=type_.element_type))))
        if is_static(shape_of(value)) or any(map(_is_reshaped, self._uses[value])):
            start = self._emit.add(self._emit.ints([0]), zero)
            found = onnx.SliceOp(value, start, self._emit.ints([TO_THE_END]), self._emit.ints([0]))
        else:
            shape = self._emit.add(self._emit(onnx.ShapeOp(value)), zero)
            found = onnx.ReshapeOp(value, shape)
        set_type(self._emit(found), type_)
        return found.results[0]


def _inputs_to_guard(uses: Mapping[BlockArgument, Sequence[Use]]) -> Sequence[BlockArgument]:
    """Return the inputs that wait for the checks: those of dynamic shape; else sizes, else the smallest."""
    read = [argument for argument, found in uses.items() if found]
    sizes = [a for a in read if isinstance(element_type_of(a), IntegerType) and len(shape_of(a)) == 1]
    data = [argument for argument in read if argument not in sizes]
    open_ = [argument for argument in data if not is_static(shape_of(argument))]
    return open_ or sizes[:1] or sorted(filter(shape_of, data), key=_elements)[:1]


def _elements(value: SSAValue) -> int:
    return prod(dim for dim in shape_of(value) if isinstance(dim, int))


def _is_reshaped(use: Use) -> bool:
    return isinstance(use.operation, RESHAPES) and is_static(shape_of(use.operation.results[0]))
