"""ATen ops against PyTorch: one op, lowered and run, or all ops that a sample of op_db calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

import dialects
import gradc
from dialects.aten.ops import aten, is_known, op_class
from dialects.shapes.forms import Form, name
from dialects.support.diagnostics import UnsupportedError
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import tensor_type
from passes.lower_aten import LowerAtenPass

torch: Any = pytest.importorskip("torch")

from gradc.importers.torch.captured import TensorType_  # noqa: E402
from gradc.importers.torch.elements import array_of, as_real, dtype_name  # noqa: E402
from gradc.importers.torch.module import real_type, viewed  # noqa: E402
from gradc.importers.torch.torch_internals import (  # noqa: E402
    is_dropped,
    schema_arguments,
    solve_factors_transpose,
)

TOLERANCES = {"f64": 1e-9, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}
"""Largest error by dtype, relative to the number plus 1."""


def overload(op: str) -> Any:
    """Return torch's overload of a name: `mm.default`."""
    packet, _, which = op.partition(".")
    return getattr(getattr(torch.ops.aten, packet), which)


def scalar_overload(op: str, args: Sequence[Any]) -> str:
    """Return `add.Scalar` for `add.Tensor` of a number, as traces contain it."""
    packet, _, which = op.partition(".")
    takes_number = which == "Tensor" and len(args) > 1 and not isinstance(args[1], torch.Tensor | list)
    return f"{packet}.Scalar" if takes_number and is_known(f"{packet}.Scalar") else op


def bind(op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return the arguments of the dialect's op, in its order, with torch's defaults."""
    schema = overload(op)._schema.arguments
    given = dict(kwargs)
    for argument, value in zip(schema, args, strict=False):
        given[argument.name] = value
    defaults = {argument.name: argument.default_value for argument in schema if argument.has_default_value()}
    merged = {**defaults, **given}
    declared = schema_arguments(overload(op))  # names differ between versions of torch
    names = [name for name, kind, *_ in declared if not is_dropped(name, kind)]
    kinds = [argument.kind for argument in op_class(op).SIGNATURE.arguments]
    return [_plain(kind, merged.get(name)) for name, kind in zip(names, kinds, strict=True)]


def _plain(kind: str, value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    if isinstance(value, torch.Tensor) and not kind.startswith("Tensor"):
        return value.item()
    if kind in ("Tensor", "Tensor?") and isinstance(value, int | float):
        return torch.tensor(value)
    if kind.endswith("[]") and not isinstance(value, list | tuple) and value is not None:
        return [value]
    return list(value) if isinstance(value, list | tuple) else value


FACTORED = ("_linalg_det.default", "_linalg_slogdet.default")
"""Ops whose factors depend on the strides of a matrix; captures call them with contiguous ones, and
`_linalg_solve_ex` so that the factors are those of the matrix itself."""


def results_of(op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return torch's results of an op, flat; None for one that a mask of outputs leaves out."""
    if op in FACTORED:
        args = [args[0].contiguous()]
    if op == "_linalg_solve_ex.default" and solve_factors_transpose():
        args = [args[0].mT.contiguous().mT, *args[1:]]
    made = overload(op)(*args, **kwargs)
    return list(made) if isinstance(made, list | tuple) else [made]


@dataclass
class OneOp:
    """A module of one ATen op, and the arrays of its operands."""

    op: str
    arguments: list[Any]
    results: list[tuple[str, tuple[Form, ...]] | None]
    """Dtype and sizes of each result; None for one that a mask of outputs leaves out."""
    shapes: list[tuple[Form, ...]] | None = None
    """Sizes of the operands, if some are dynamic; the function has one more argument of N elements."""
    operands: list[Any] = field(default_factory=list[Any])

    def module(self) -> ModuleOp:
        """Return the module, whose function returns all results."""
        self.operands = [value for value in _flat(self.arguments) if _is_tensor(value)]
        shapes = self.shapes or [tuple(tensor.shape) for tensor in self.operands]
        kinds = [
            TensorType_(dtype_name(tensor.dtype), shape)
            for tensor, shape in zip(self.operands, shapes, strict=True)
        ]
        block = Block(arg_types=[_mlir(real_type(kind)) for kind in kinds])
        values: Iterator[SSAValue] = iter(
            [
                viewed("view_as_complex", value, kind, block)
                for value, kind in zip(block.args, kinds, strict=True)
            ]
        )
        if self.shapes is not None:
            block.insert_arg(_mlir(TensorType_("f32", (name("N"),))), len(kinds))
        made = aten(
            self.op,
            [_replaced(argument, values) for argument in self.arguments],
            [_type_of(result) for result in self.results],
        )
        block.add_op(made)
        pairs = zip(made.results, self.results, strict=True)
        returned = [
            viewed("view_as_real", value, TensorType_(*result), block)
            for value, result in pairs
            if result is not None
        ]
        block.add_op(ReturnOp(*returned))
        kind = FunctionType.from_lists(
            [value.type for value in block.args], [value.type for value in returned]
        )
        return ModuleOp([FuncOp("main", kind, Region(block))])

    def compile(self) -> gradc.Compiled:
        """Lower and compile the op. Raises UnsupportedError if its rule refuses it."""
        module = self.module()
        module.verify()
        LowerAtenPass().apply(dialects.context(), module)
        module.verify()
        return gradc.compile(module)


def _type_of(result: tuple[str, tuple[Form, ...]] | None) -> Attribute:
    """Return the type of a result; an absent one has that of captures, f32[0]."""
    return _mlir(TensorType_(*(("f32", (0,)) if result is None else result)))


def _mlir(kind: TensorType_) -> Attribute:
    return tensor_type(known_dtype(kind.dtype).mlir, kind.shape)


def _result_of(tensor: Any) -> tuple[str, tuple[Form, ...]] | None:
    return None if tensor is None else (dtype_name(tensor.dtype), tuple(tensor.shape))


def run(compiled: gradc.Compiled, operands: Sequence[Any]) -> list[np.ndarray]:
    """Run the model on tensors; unused operands were dropped or are fed."""
    inputs = {info.name: array_of(tensor) for info, tensor in zip(compiled.inputs, operands, strict=True)}
    return list(compiled.run(inputs).values())


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _flat(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        yield from value if isinstance(value, list) else (value,)


def _replaced(argument: Any, values: Iterator[SSAValue]) -> Any:
    if isinstance(argument, list):
        return [next(values) if _is_tensor(each) else each for each in argument]
    return next(values) if _is_tensor(argument) else argument


SUMS = (
    "addmm.default",
    "baddbmm.default",
    "bmm.default",
    "convolution.default",
    "convolution_backward.default",
    "linalg_matrix_exp.default",
    "mm.default",
)
"""Ops of sums of products, which cancel: errors are relative to the sums of the products' magnitudes."""

BY_SIZE = ("mul.Tensor", "pow.Scalar", "pow.Tensor_Scalar", "pow.Tensor_Tensor")
"""Ops whose complex results have parts that cancel: their errors, torch's too, are relative to the absolute
value."""


def _magnitude(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_magnitude(each) for each in value]
    is_number = isinstance(value, (int, float, complex, torch.Tensor)) and not isinstance(value, bool)
    return abs(value) if is_number else value


def magnitudes_of(op: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[np.ndarray | None]:
    """Return the sums of the magnitudes of the products that each result of a multilinear op adds."""
    sums = results_of(op, _magnitude(args), {name: _magnitude(value) for name, value in kwargs.items()})
    return [None if each is None else array_of(each).astype(np.float64) for each in sums]


def _size(result: Any) -> np.ndarray | None:
    """Return the absolute values of a complex result."""
    complex_result = result is not None and result.is_complex()
    return array_of(result.abs()).astype(np.float64) if complex_result else None


def difference(
    actual: np.ndarray,
    expected: Any,
    tolerance: float | None = None,
    magnitude: np.ndarray | float | None = None,
) -> str:
    """Return in what a result differs from torch's; empty if it does not.

    Errors are relative to 1 + `magnitude`, by default of the result's elements.
    """
    dtype, array = dtype_name(as_real(expected).dtype), array_of(expected)
    if actual.dtype != array.dtype or actual.shape != array.shape:
        return f"{actual.dtype}{list(actual.shape)}, expected {array.dtype}{list(array.shape)}"
    if dtype not in TOLERANCES:
        wrong = actual != array
        return f"{actual[wrong][:3]}, expected {array[wrong][:3]}" if wrong.any() else ""
    bound = TOLERANCES[dtype] if tolerance is None else tolerance
    a, b = actual.astype(np.float64), array.astype(np.float64)
    scale = np.abs(b) if magnitude is None else np.where(np.isfinite(magnitude), magnitude, np.abs(b))
    with np.errstate(all="ignore"):
        close = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= bound * (scale + 1))
    return "" if close.all() else f"{a[~close][:3]}, expected {b[~close][:3]} ({(~close).sum()} of {a.size})"


def _without_signs(op: str, results: Sequence[Any]) -> list[Any]:
    """Return what an op determines of its results: of vectors that are known up to their signs, products."""
    made = [one if _is_tensor(one) else torch.from_numpy(one) for one in results]
    if op == "_linalg_eigh.default" and made[1].numel():
        values, vectors = made
        return [values, vectors * values.unsqueeze(-2) @ vectors.mT, vectors.mT @ vectors]
    if op == "_linalg_svd.default" and made[0].numel():
        u, values, v = made
        count = values.shape[-1]
        product = u[..., :count] * values.unsqueeze(-2) @ v[..., :count, :]
        return [values, product, u.mT @ u, v @ v.mT]
    return list(results)


SIGNLESS = ("_linalg_eigh.default", "_linalg_svd.default")


def check(op: str, *args: Any, tolerance: float | None = None, **kwargs: Any) -> gradc.Compiled:
    """Compare an op on concrete arguments with torch. Raises AssertionError or UnsupportedError."""
    expected = results_of(op, args, kwargs)
    op = scalar_overload(op, args)
    arguments = bind(op, args, kwargs)
    one = OneOp(op, arguments, [_result_of(each) for each in expected])
    compiled = one.compile()
    sizes = [_size(one) if op in BY_SIZE else None for one in expected]
    magnitudes = magnitudes_of(op, args, kwargs) if op in SUMS else sizes
    wanted = [pair for pair in zip(expected, magnitudes, strict=True) if pair[0] is not None]
    actual = run(compiled, one.operands)
    if op in SIGNLESS and not any(each.is_complex() for each in expected):
        wanted = [(each, None) for each in _without_signs(op, expected)]
        actual = [array_of(torch.as_tensor(each)) for each in _without_signs(op, actual)]
    assert len(actual) == len(wanted)
    for index, (mine, (torchs, magnitude)) in enumerate(zip(actual, wanted, strict=True)):
        if magnitude is not None and torchs.is_complex():
            magnitude = magnitude[..., None]
        found = difference(mine, torchs, tolerance, magnitude)
        assert not found, f"{op}, result {index}: {found}"
    return compiled


def check_sizes(op: str, make: Callable[[int], Sequence[Any]], sizes: Sequence[int] = (0, 1, 3)) -> None:
    """Compare an op with one dynamic dim N at several sizes with torch.

    `make(n)` returns the arguments at N = n. Each size and int is taken as a * N + b, from N = 7 and 11.
    """
    first, second = (bind(op, make(n), {}) for n in (7, 11))
    results = [results_of(op, make(n), {}) for n in (7, 11)]
    operands = [[value for value in _flat(each) if _is_tensor(value)] for each in (first, second)]
    one = OneOp(
        op,
        [_fit(a, b) for a, b in zip(first, second, strict=True)],
        [(dtype_name(a.dtype), _fit_shape(a, b)) for a, b in zip(*results, strict=True)],
        [_fit_shape(a, b) for a, b in zip(*operands, strict=True)],
    )
    compiled = one.compile()
    for n in sizes:
        made = make(n)
        tensors = [value for value in _flat(bind(op, made, {})) if _is_tensor(value)]
        tensors.append(torch.zeros(n))
        for mine, torchs in zip(run(compiled, tensors), results_of(op, made, {}), strict=True):
            found = difference(mine, torchs)
            assert not found, f"{op} at N = {n}: {found}"


def _fit_shape(a: Any, b: Any) -> tuple[Form, ...]:
    return tuple(_fit(x, y) for x, y in zip(a.shape, b.shape, strict=True))


def _fit(a: Any, b: Any) -> Any:
    if isinstance(a, list):
        return [_fit(x, y) for x, y in zip(a, b, strict=True)]
    if type(a) is not int or a == b:
        return a
    factor, rest = divmod(b - a, 4)
    assert rest == 0, f"{a} and {b} are no affine function of 7 and 11"
    return name("N") * factor + (a - 7 * factor)


# Samples of op_db


@dataclass
class Tally:
    """Counts of the calls of one ATen op."""

    right: int = 0
    refused: dict[str, int] = field(default_factory=dict[str, int])
    wrong: list[str] = field(default_factory=list[str])


def check_call(call: Call, tally: Tally) -> None:
    """Check one call, and count it."""
    try:
        check(call.op, *call.args, **call.kwargs)
    except UnsupportedError as error:
        tally.refused[error.diagnostic.message] = tally.refused.get(error.diagnostic.message, 0) + 1
    except Exception as error:  # counted
        tally.wrong.append(f"{call} -> {type(error).__name__}: {str(error)[:300]}")
    else:
        tally.right += 1


@dataclass(frozen=True)
class Call:
    """A call of an ATen op in a trace, with the arguments that it had."""

    op: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def __str__(self) -> str:
        parts = [_text(value) for value in self.args]
        parts += [f"{name}={_text(value)}" for name, value in self.kwargs.items()]
        return f"{self.op}({', '.join(parts)})"


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(each) for each in value)}]"  # lists of tensors are not nested
    return f"{dtype_name(value.dtype)}{list(value.shape)}" if _is_tensor(value) else repr(value)


def calls_of_sample(function: Callable[..., Any], sample: Any, *, backward: bool) -> list[Call]:
    """Return the ATen calls of a sample: of the function, and of its gradient where it has one.

    The trace is decomposed to core ATen, except for ops that have a lowering.
    """
    from torch._decomp import core_aten_decompositions
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.utils._pytree import tree_flatten, tree_unflatten

    leaves, tree = tree_flatten((sample.input, sample.args, sample.kwargs))
    at = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def traced(*tensors: Any) -> Any:
        filled = list(leaves)
        for index, tensor in zip(at, tensors, strict=True):
            filled[index] = tensor
        first, args, kwargs = tree_unflatten(filled, tree)
        made = tree_flatten(function(first, *args, **kwargs))[0]
        outputs = [each for each in made if isinstance(each, torch.Tensor)]
        wanted = [each for each in tensors if each.requires_grad]
        smooth = [each for each in outputs if each.requires_grad]
        if not backward or not wanted or not smooth:
            return outputs
        seeds = [
            torch.linspace(0.5, 1.5, each.numel(), dtype=each.dtype).reshape(each.shape) for each in smooth
        ]
        return outputs, torch.autograd.grad(smooth, wanted, seeds, allow_unused=True)

    tensors = [leaves[index].detach().requires_grad_(leaves[index].requires_grad) for index in at]
    first = make_fx(traced, pre_dispatch=False)(*tensors)
    detached = [tensor.detach() for tensor in tensors]
    known = {op: rule for op, rule in core_aten_decompositions().items() if not is_known(_short(op))}
    with torch.no_grad():
        graph = make_fx(torch.func.functionalize(first), decomposition_table=known)(*detached)
    return list(_record(graph, detached))


def _short(op: Any) -> str:
    return str(op).removeprefix("aten.")


def _record(graph: Any, tensors: Sequence[Any]) -> Iterator[Call]:
    """Run a traced graph, and return its calls."""
    calls: list[Call] = []

    class Recorder(torch.fx.Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if str(target).startswith("aten."):
                calls.append(Call(_short(target), tuple(args), dict(kwargs)))
            return super().call_function(target, args, kwargs)

    with torch.no_grad():
        Recorder(graph).run(*tensors)
    return iter(calls)
