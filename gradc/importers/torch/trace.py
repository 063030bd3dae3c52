"""Traces: the ATen ops that a function runs below autograd, and their replay without mutations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

from dialects.support.diagnostics import GradcError
from gradc.importers.torch import refusals
from gradc.importers.torch import torch_internals as internals
from gradc.importers.torch.arguments import Arguments
from gradc.importers.torch.function_forms import one_form
from gradc.importers.torch.known_values import KnownValues
from gradc.importers.torch.torch_internals import aten, torch


@dataclass(frozen=True)
class Slot:
    """A tensor in the arguments of a record."""

    index: int


@dataclass
class Record:
    op: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[int | None, ...]
    location: str


@dataclass
class Trace:
    """Records in order. `tensors` are the fake (or closed-over) tensors by index; the first are the inputs.
    `lifted` are the closed-over tensors, by index, with the location where each is first read."""

    tensors: list[Any] = field(default_factory=list[Any])
    records: list[Record] = field(default_factory=list[Record])
    lifted: dict[int, str] = field(default_factory=dict[int, str])
    indices: dict[int, int] = field(default_factory=dict[int, int])
    is_real: bool = False
    failed: str = ""
    """Where an op raised an exception, which the function caught."""

    fakes: dict[int, Any] = field(default_factory=dict[int, Any])
    gradients: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]])

    def add(self, tensor: Any) -> int:
        index = self.indices.get(id(tensor))
        if index is None:
            index = self.indices[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        return index

    def fake_of(self, tensor: Any) -> Any:
        """Return a fake tensor, in a trace of real tensors a copy, of the same index as a lifted one."""
        index = self.indices[id(tensor)]
        if index not in self.lifted:
            return tensor
        if index not in self.fakes:
            fake = (
                tensor.detach().clone()
                if self.is_real
                else torch.empty(tuple(tensor.shape), dtype=tensor.dtype)
            )
            self.fakes[index] = fake
            self.indices[id(fake)] = index
        return self.fakes[index]

    def find(self, tensor: Any, location: str = "") -> int:
        """Return the index of a tensor; a tensor that no op of the trace made is lifted."""
        index = self.indices.get(id(tensor))
        if index is not None:
            return index
        if internals.is_fake(tensor):
            raise refusals.stale_tensor(location)
        index = self.add(tensor)
        self.lifted[index] = location
        if tensor.is_leaf and tensor.requires_grad:
            self.gradients.append((tensor, tensor.grad))
        return index


class Recorder(internals.DispatchMode):
    """Dispatch mode that records each op below autograd; ops in `table` are decomposed."""

    def __init__(self, trace: Trace, table: Mapping[Any, Callable[..., Any]], locate: bool):
        super().__init__()
        self.trace = trace
        self.table = table
        self.locate = locate
        self.location = ""
        self.refused: GradcError | None = None
        self.for_shape: dict[int, Any] = {}
        self.known = KnownValues()
        self.default_dtype = torch.get_default_dtype()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = internals.without_meta_device(args, kwargs or {})
        if func.namespace == "prim":
            return func(*args, **kwargs)
        if any(map(self._is_for_shape, internals.pytree.tree_leaves((args, kwargs)))):
            return self._run_for_shape(func, args, kwargs)
        decomposed = self._decompose(func, args, kwargs)
        if decomposed is not NotImplemented:
            return decomposed
        if self.locate:
            with self:
                answered = self.known.answer(func, args, kwargs)
            if answered is not NotImplemented:
                return answered
        location = internals.user_location() if self.locate else self.location
        try:
            self._check(func, args, location)
        except GradcError as error:
            self.refused = error
            raise
        slots = self._slots((args, kwargs), location)
        if func is not aten.lift_fresh.default:
            args, kwargs = internals.pytree.tree_map(self._fake, (args, kwargs))
        try:
            result = OWN_RESULTS.get(func, func)(*args, **kwargs)
        except Exception:
            self.trace.failed = location
            raise
        results = [self._result(leaf) for leaf in internals.pytree.tree_leaves(result)]
        if any(index is not None for index in results):
            self.trace.records.append(Record(func, slots[0], slots[1], tuple(results), location))
        if self.locate:
            self.known.note(func, args, kwargs, result)
        return result

    def _check(self, func: Any, args: Any, location: str) -> None:
        """Raise the error of an op that no graph can have."""
        if torch.get_default_dtype() is not self.default_dtype:
            raise refusals.default_dtype(location)
        _check(func, args, location)

    def _is_for_shape(self, leaf: Any) -> bool:
        """Return whether a tensor is on the meta device, or was computed from such tensors."""
        return isinstance(leaf, torch.Tensor) and (leaf.device.type == "meta" or id(leaf) in self.for_shape)

    def _run_for_shape(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an op, of which only the shape of the result is needed, without a record."""

        def on_cpu(leaf: Any) -> Any:
            is_meta = isinstance(leaf, torch.Tensor) and leaf.device.type == "meta"
            return torch.empty(tuple(leaf.shape), dtype=leaf.dtype) if is_meta else leaf

        args, kwargs = internals.pytree.tree_map(on_cpu, (args, kwargs))
        result = func(*args, **kwargs)
        tensors = [leaf for leaf in internals.pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        self.for_shape.update((id(tensor), tensor) for tensor in tensors)
        return result

    def _decompose(self, func: Any, args: Any, kwargs: Any) -> Any:
        decomposition = self.table.get(func)
        if decomposition is not None:
            with self:
                found = decomposition(*args, **kwargs)
            if found is not NotImplemented:
                return found
        if internals.composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        return NotImplemented

    def _slots(self, tree: Any, location: str) -> Any:
        def slot(leaf: Any) -> Any:
            return Slot(self.trace.find(leaf, location)) if isinstance(leaf, torch.Tensor) else leaf

        return internals.pytree.tree_map(slot, tree)

    def _fake(self, leaf: Any) -> Any:
        """Return a fake tensor for a closed-over one, which an op in place would change otherwise."""
        if not isinstance(leaf, torch.Tensor) or internals.is_fake(leaf):
            return leaf
        return self.trace.fake_of(leaf)

    def _result(self, leaf: Any) -> int | None:
        return self.trace.add(leaf) if isinstance(leaf, torch.Tensor) else None


def _check(func: Any, args: Any, location: str) -> None:
    """Raise the error of an op whose result, or its shape, depends on values or on chance."""
    name = internals.base_name(func)
    if internals.has_tag(func, "nondeterministic_seeded"):
        raise refusals.random_numbers(name, location, internals.module_being_run())
    if name.startswith("_foreach_") and internals.mutates(func):
        raise refusals.change_of_list(name, location)
    if internals.has_tag(func, "data_dependent_output"):
        if not args or internals.fake_constant(args[0]) is None:
            raise refusals.value_decides(name, location)
        return
    if not internals.has_tag(func, "dynamic_output_shape") or func in OWN_RESULTS:
        return
    if name == "index" and not any(_is_mask(index) for index in args[1]):
        return
    raise refusals.value_decides(name, location)


def _ctc_results(log_probs: Any, targets: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
    """Return fake results of `_ctc_loss`: torch's states are as many as the longest target has, which depends
    on values, and the lowering's as many as the targets have room for."""
    time, batch = log_probs.shape[:2]
    return log_probs.new_empty(batch), log_probs.new_empty(batch, time, 2 * targets.shape[-1] + 1)


def _like_log_probs(_: Any, log_probs: Any, *__: Any, **___: Any) -> Any:
    return log_probs.new_empty(tuple(log_probs.shape))


OWN_RESULTS: Mapping[Any, Callable[..., Any]] = {
    aten._ctc_loss.Tensor: _ctc_results,
    aten._ctc_loss_backward.Tensor: _like_log_probs,
}
"""Ops whose results have other shapes than torch's -> a function of fake results of the lowering's shapes."""


def _is_mask(index: Any) -> bool:
    return index is not None and index.dtype in (torch.bool, torch.uint8)


def call_captured(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call the user's function; `user_location` looks for the user's frames within this call."""
    return function(*args, **kwargs)


def _legit_batch_norm(*args: Any, **_: Any) -> Any:
    """Run `native_batch_norm` as the op that declares its mutation of the running statistics."""
    source, weight, bias, mean, variance, training, momentum, epsilon = args
    if not training:
        return aten._native_batch_norm_legit_no_training(
            source, weight, bias, mean, variance, momentum, epsilon
        )
    if mean is None:
        return aten._native_batch_norm_legit.no_stats(source, weight, bias, training, momentum, epsilon)
    return aten._native_batch_norm_legit(source, weight, bias, mean, variance, training, momentum, epsilon)


MAX_REAL = 512
"""Sizes up to which tensors with values are traced."""


def _factors_of_matrix(op: Any) -> Callable[..., Any]:
    """Return the decomposition of an op that factors the transpose of a matrix that is contiguous.

    Others it factors as they are, and the derivative depends on that. Captured ops, which have no strides,
    are of contiguous matrices.
    """

    def decompose(matrix: Any) -> Any:
        if matrix.is_contiguous():
            return NotImplemented
        *results, _, _ = op(matrix.contiguous())
        factors, pivots, _ = aten.linalg_lu_factor_ex(matrix)
        return *results, factors, pivots

    return decompose


def _solve(matrix: Any, given: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """Run `_linalg_solve_ex` so that it returns the factors of the matrix, as newer versions do."""
    is_transposed = internals.solve_factors_transpose() and matrix.shape[-1] > 1
    if not (is_transposed and matrix.is_contiguous()):
        return NotImplemented
    result, _, _, info = aten._linalg_solve_ex(matrix.mT.contiguous().mT, given, left=left)
    factors, pivots, _ = aten.linalg_lu_factor_ex(matrix.mT)
    return result, factors, pivots, info


FIRST_TABLE: Mapping[Any, Callable[..., Any]] = {
    aten.native_batch_norm.default: _legit_batch_norm,
    aten._linalg_det.default: _factors_of_matrix(aten._linalg_det),
    aten._linalg_slogdet.default: _factors_of_matrix(aten._linalg_slogdet),
    aten._linalg_solve_ex.default: _solve,
}
"""Ops whose schema does not show what they do: `native_batch_norm` changes operands that it does not mark."""


def trace_function(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    build: Callable[[], tuple[Any, Any]],
    mode: Any = None,
) -> tuple[Trace, Any]:
    """Run a function under a fake mode and return what it ran, and what it returned.

    `inputs` are fake tensors, real ones without a mode; `build` returns the arguments, in which they stand.
    """
    trace = Trace(is_real=mode is None)
    for tensor in inputs:
        trace.add(tensor)
    args, kwargs = build()
    recorder = Recorder(trace, FIRST_TABLE, locate=True)
    try:
        with one_form(), mode or nullcontext(), recorder:
            result = call_captured(function, args, kwargs)
            result = internals.pytree.tree_map(_as_tensor, result)
    except GradcError:
        raise
    except Exception as error:
        raise recorder.refused or refusals.failure_in_torch(
            error, internals.location_of_error(error)
        ) from error
    finally:
        for tensor, gradient in trace.gradients:
            tensor.grad = gradient
    if recorder.refused is not None:
        raise recorder.refused
    return trace, result


def _as_tensor(leaf: Any) -> Any:
    """Return a scalar tensor for a Python number that is a result."""
    return torch.full((), leaf) if isinstance(leaf, bool | int | float) else leaf


def _copy_to(target: Any, source: Any, _: bool = False) -> Any:
    """Return `source` in the shape and type of `target`."""
    found = source.to(target.dtype) if source.dtype != target.dtype else source
    return aten.clone(found) if found.shape == target.shape else found.expand(target.shape)


def _put_by_mask(target: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Return `index_put` by one boolean mask as a selection."""
    given = [index for index in indices if index is not None]
    if len(given) != 1 or not _is_mask(given[0]) or indices[0] is None:
        return NotImplemented
    mask = given[0]
    rest = target.dim() - mask.dim()
    if values.numel() == 1:
        values = values.reshape(())
    elif values.dim() > rest:
        return NotImplemented
    mask = mask.reshape(*mask.shape, *[1] * rest).to(torch.bool)
    values = values.to(target.dtype)
    return torch.where(mask, target + values if accumulate else values, target)


REPLAY_TABLE: Mapping[Any, Callable[..., Any]] = {
    aten.copy.default: _copy_to,
    aten.index_put.default: _put_by_mask,
}
"""Decompositions that torch has in no form, or in one for which a boolean mask is data."""


def _functional(op: Any) -> Any:
    return aten.clone.default if op in (aten.lift_fresh.default, aten.lift.default) else op


def replay(
    trace: Trace,
    inputs: Sequence[int],
    wanted: Sequence[int],
    table: Mapping[Any, Callable[..., Any]],
    mode: Any,
) -> tuple[Trace, list[int], dict[int, int]]:
    """Run a trace again with autograd off, without mutations and decomposed by `table`.

    Returns the new trace, whose first tensors are those of `inputs`; the indices in it of the tensors
    `wanted`; and for each position of `inputs` that the trace changes in place the index of its new value.
    """
    new = Trace()
    recorder = Recorder(new, {**table, **REPLAY_TABLE}, locate=False)
    with one_form(), mode:
        fakes = [_fresh(trace.tensors[index]) for index in inputs]
    for fake in fakes:
        new.add(fake)

    def run(*tensors: Any) -> list[Any]:
        values: dict[int, Any] = dict(zip(inputs, tensors, strict=True))

        def value(leaf: Any) -> Any:
            return values[leaf.index] if isinstance(leaf, Slot) else leaf

        for record in trace.records:
            recorder.location = record.location
            args, kwargs = internals.pytree.tree_map(value, (record.args, record.kwargs))
            result = _functional(record.op)(*args, **kwargs)
            for index, leaf in zip(record.results, internals.pytree.tree_leaves(result), strict=True):
                if index is not None:
                    values[index] = leaf
        return [values[index] for index in wanted]

    functional = torch.func.functionalize(run, remove="mutations")
    try:
        with one_form(), torch.no_grad(), mode, recorder:
            results = functional(*fakes)
    except GradcError:
        raise
    except Exception as error:
        raise refusals.failure_in_torch(error, recorder.location) from error
    updates = {
        _index(record.args[0]): _index(record.args[1])
        for record in new.records
        if _is_write_back(record, len(fakes))
    }
    new.records = [record for record in new.records if not _is_write_back(record, len(fakes))]
    return new, [new.find(tensor) for tensor in results], updates


def _fresh(tensor: Any) -> Any:
    """Return a fake tensor of the same shape and type that shares no memory."""
    return torch.empty(tuple(tensor.shape), dtype=tensor.dtype)


def _index(slot: Any) -> int:
    assert isinstance(slot, Slot)
    return slot.index


def _is_write_back(record: Record, inputs: int) -> bool:
    """Return whether a record is the copy of a new value to an input that ends a functionalised run."""
    return record.op is aten.copy_.default and _index(record.args[0]) < inputs


def trace_arguments(
    sizes: Mapping[str, int], function: Callable[..., Any], arguments: Arguments, mode: Any
) -> tuple[list[Any], Trace, Any]:
    """Return the inputs, the trace and the result; real tensors are used where fake ones fail."""
    with mode:
        fakes = arguments.fakes(sizes)
    try:
        return fakes, *trace_function(function, fakes, lambda: arguments.build(fakes), mode)
    except refusals.CaptureFailure as error:
        if not isinstance(error, refusals.FrozenValues) and max(sizes.values(), default=0) <= MAX_REAL:
            with suppress(refusals.CaptureFailure):
                reals = arguments.reals(sizes)
                return reals, *trace_function(function, reals, lambda: arguments.build(reals))
        raise
