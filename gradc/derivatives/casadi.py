"""Derivatives as CasADi reads them: the siblings fwd_f.onnx, adj_f.onnx and jac_f.onnx of a model f.onnx.

`GraphBuilder("f.onnx").create()` of CasADi 3.8 evaluates f.onnx and looks for derivatives in these files.
Their names and shapes are those of `Function.forward`, `reverse` and `jacobian`:
https://web.casadi.org/docs/#function-objects. A tensor of rank 2 is a matrix; one of another rank is a column
of its elements. Matrices are stored by columns.

    fwd_f   inputs fwd_<in> [r, c*nfwd], results fwd_<out> [r, c*nfwd]: seeds of matrices [r, c] side by side
    adj_f   inputs adj_<out>, results adj_<in>, in the same form with nadj
    jac_f   results jac_<out>_<in> [elements of out, elements of in]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from dialects.onnx import ops as onnx
from dialects.support import entry
from dialects.support.diagnostics import suggest, usage
from dialects.support.option_names import option
from dialects.support.shapes import element_type_of, has_rank, shape_of, static_shape, tensor_type
from gradc.compiler.compiled import Compiled, Derivative
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.results import results_of, set_results_of
from gradc.derivatives.row_requests import CASADI
from gradc.model.value_infos import with_text_dims
from gradc.verification.gradient_spec import Written
from gradc.verification.written_casadi import MATRIX, WrittenCasadi, vector_order
from passes.autodiff.vjp_pass import check_names
from passes.builder.locations import place_by_operands
from passes.builder.operands import replace_uses
from passes.builder.values import Builder, Value

PREFIXES = {"grad": "adj", "jvp": "fwd", "jacobian": "jac"}
"""Kind of a derivative -> CasADi's prefix."""

Shapes = Sequence[Sequence[int]]


def finish_for_casadi(
    derivation: Derivation,
    written: Written,
    derivatives: Sequence[Derivative],
    seeds: Mapping[str, str],
    gradients: Mapping[str, str] | None = None,
) -> Compiled:
    """Finish a derivative with CasADi's names and shapes. `seeds`: value -> its input of rows.

    Raises UsageError unless CasADi's function has the values, with known sizes.
    """
    values = _Values.of(derivation)
    prefix = PREFIXES[derivatives[0].kind]
    inputs = {input_: f"{prefix}_{name}" for name, input_ in seeds.items()}
    shapes: dict[str, Shapes] = {inputs[input_]: [values.shape(name)] for name, input_ in seeds.items()}
    results = {one.result: f"{prefix}_{'_'.join(_parts(one))}" for one in derivatives}
    shapes |= {results[one.result]: [values.shape(name) for name in _parts(one)] for one in derivatives}
    values.check_outputs([name for one in derivatives for name in one.of])
    values.check_inputs([name for one in derivatives for name in one.wrt])
    names = {**inputs, **results}
    derivation.rename(inputs, results)
    function = entry.entry_function(derivation.module)
    check_names([*inputs.values(), *results.values()], list(values.inputs))
    _shape_inputs(function, {name: shapes[name][0] for name in inputs.values()})
    _shape_results(function, {name: shapes[name] for name in results.values()})
    written = written.renamed(names)
    written = WrittenCasadi(written.gradients, written.cotangents, one=written, shapes=shapes)
    renamed = [replace(one, result=results[one.result]) for one in derivatives]
    seeds, gradients = (
        {name: names.get(old, old) for name, old in part.items()}
        for part in (seeds, written.gradients if gradients is None else gradients)
    )
    return derivation.finish(written, renamed, seeds, gradients)


def _parts(one: Derivative) -> Sequence[str]:
    """Return the values whose axes a derivative has."""
    return {"jvp": one.of, "grad": one.wrt}.get(one.kind, (*one.of, *one.wrt))


@dataclass(frozen=True)
class _Values:
    """The inputs and outputs of the function that CasADi evaluates."""

    inputs: Mapping[str, SSAValue]
    outputs: Mapping[str, SSAValue]

    @classmethod
    def of(cls, derivation: Derivation) -> _Values:
        function = entry.entry_function(derivation.primal)
        named = zip(entry.input_names(function), function.args, strict=True)
        defaults = entry.defaults(function)
        return cls({name: value for name, value in named if name not in defaults}, results_of(function))

    def shape(self, name: str) -> Sequence[int]:
        value = self.inputs.get(name, self.outputs.get(name))
        if value is None:
            known = {**self.inputs, **self.outputs}
            raise usage(_family(), name, "inputs and outputs of the model", suggest(name, known))
        shape = static_shape(value) if has_rank(value) else None
        if shape is None:
            hint = f"{option('static_shapes')} gives sizes"
            raise usage(_family(), f"{name} of unknown size", "static shapes", hint)
        return shape

    def check_outputs(self, of: Sequence[str]) -> None:
        if missing := [name for name in self.outputs if name not in of]:
            raise usage(_family(), f"{option('of')} without {', '.join(missing)}", "all outputs of the model")

    def check_inputs(self, wrt: Sequence[str]) -> None:
        if others := [name for name in wrt if name not in self.inputs]:
            raise usage(_family(), f"{option('wrt')} {', '.join(others)}", "inputs of the model")


def _family() -> str:
    return option("family", CASADI)


def _shape_inputs(function: FuncOp, shapes: Mapping[str, Sequence[int]]) -> None:
    """Replace inputs of rows by inputs that have them side by side."""
    e, block = Builder(), function.body.block
    named = dict(zip(entry.input_names(function), function.args, strict=True))
    for name, shape in shapes.items():
        old = named[name]
        count, height, width = shape_of(old)[0], *_matrix(shape)
        assert count is not None
        new = block.insert_arg(tensor_type(element_type_of(old), (height, count * width)), old.index)
        new.name_hint = old.name_hint
        rows = _rows(e, e(new), shape).assume_shape(shape_of(old))
        replace_uses(old, rows.value)
        block.erase_arg(old)
    first = block.first_op
    assert first is not None
    place_by_operands(e.emit.ops, block, "seeds")
    Rewriter.insert_op(e.emit.ops, InsertPoint.before(first))
    entry.update_function_type(function)


def _shape_results(function: FuncOp, shapes: Mapping[str, Shapes]) -> None:
    """Put the rows of results side by side, and make matrices of blocks."""
    e, results = Builder(), results_of(function)
    shaped = {
        name: _columns(e, e(results[name]), *own) if len(own) == 1 else _matrix_of(e, e(results[name]), *own)
        for name, own in shapes.items()
    }
    set_results_of(function, {**results, **{name: value.value for name, value in shaped.items()}}, e)
    entry.declare_results(
        function, {name: with_text_dims(value.value.type) for name, value in shaped.items()}
    )


def _matrix(shape: Sequence[int]) -> tuple[int, int]:
    """Return the size of CasADi's matrix for a tensor."""
    return (shape[0], shape[1]) if len(shape) == MATRIX else (prod(shape), 1)


def _rows(e: Builder, columns: Value, shape: Sequence[int]) -> Value:
    if len(shape) == MATRIX:
        return columns.apply(onnx.ReshapeOp, e.ints([shape[0], -1, shape[1]])).transpose([1, 0, 2])
    return columns.transpose([1, 0]).apply(onnx.ReshapeOp, e.ints([-1, *shape]))


def _columns(e: Builder, rows: Value, shape: Sequence[int]) -> Value:
    count = rows.shape[0]
    assert count is not None
    if len(shape) == MATRIX:
        found = rows.transpose([1, 0, 2]).apply(onnx.ReshapeOp, e.ints([shape[0], -1]))
    else:
        found = rows.apply(onnx.ReshapeOp, e.ints([-1, prod(shape)])).transpose([1, 0])
    height, width = _matrix(shape)
    return found.assume_shape((height, count * width))


def _matrix_of(e: Builder, block: Value, of: Sequence[int], wrt: Sequence[int]) -> Value:
    order = [*vector_order(of), *(len(of) + axis for axis in vector_order(wrt))]
    return block.transpose(order).apply(onnx.ReshapeOp, e.ints([prod(of), prod(wrt)]))
