"""Higher-order ops: both branches of `torch.cond` with a choice between their results, and `scan` step by
step. No op of a branch has side effects, so that the result and its derivatives are those of one branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.importers.torch import refusals
from gradc.importers.torch import torch_internals as internals
from gradc.importers.torch.torch_internals import torch


class _Gate(torch.autograd.Function):
    """An operand of a branch, whose gradient is 0 if the branch is not taken: never NaN."""

    @staticmethod
    def forward(tensor: Any, is_taken: Any) -> Any:
        return tensor.view_as(tensor)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        (is_taken,) = ctx.saved_tensors
        return torch.where(is_taken, cotangents[0], 0), None


class _WithoutDerivative(torch.autograd.Function):
    """A result whose derivative is refused at the line of the call."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, location: str) -> Any:
        ctx.location = location
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        raise refusals.derivative_of_closed_over(ctx.location)


class _Reads(internals.DispatchMode):
    """Collects the tensors that ops read, but did not make."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, Any] = {}
        self.read: dict[int, Any] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for leaf in internals.pytree.tree_leaves((args, kwargs or {})):
            if isinstance(leaf, torch.Tensor) and id(leaf) not in self.made:
                self.read[id(leaf)] = leaf
        result = func(*args, **(kwargs or {}))
        self.made.update((id(leaf), leaf) for leaf in internals.pytree.tree_leaves(result))
        return result


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any]
) -> Any:
    """Return `torch.cond`: both branches are computed, and a choice for each result."""
    if not isinstance(pred, torch.Tensor):
        return true_fn(*operands) if pred else false_fn(*operands)
    location = internals.user_location()
    is_taken = pred.reshape(()).to(torch.bool)
    yes, spec, closes_over = _run_branch(true_fn, is_taken, operands)
    no, other, also_closes_over = _run_branch(false_fn, is_taken.logical_not(), operands)
    if spec != other or [_kind(one) for one in yes] != [_kind(one) for one in no]:
        raise refusals.branches_differ(location)
    chosen = [torch.where(is_taken, a, b) for a, b in zip(yes, no, strict=True)]
    if closes_over or also_closes_over:
        chosen = [_refuse_derivative(one, location) for one in chosen]
    return internals.pytree.tree_unflatten(chosen, spec)


def _run_branch(branch: Callable[..., Any], is_taken: Any, operands: Sequence[Any]) -> tuple[Any, Any, bool]:
    """Return the results of a branch, their structure, and whether it reads other tensors with a gradient."""
    gated = internals.pytree.tree_map(lambda leaf: _gate(leaf, is_taken), tuple(operands))
    reads = _Reads()
    given = internals.pytree.tree_leaves(gated)
    reads.made.update((id(leaf), leaf) for leaf in given)
    with reads:
        made = branch(*gated)
    leaves, spec = internals.pytree.tree_flatten(made)
    closes_over = any(leaf.requires_grad for leaf in reads.read.values())
    return leaves, spec, closes_over


def _gate(leaf: Any, is_taken: Any) -> Any:
    is_smooth = isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex())
    return _Gate.apply(leaf, is_taken) if is_smooth else leaf


def _refuse_derivative(tensor: Any, location: str) -> Any:
    return _WithoutDerivative.apply(tensor, location) if tensor.requires_grad else tensor


def _kind(tensor: Any) -> Any:
    return (tensor.dtype, tuple(tensor.shape)) if isinstance(tensor, torch.Tensor) else type(tensor)


def scan(
    combine_fn: Callable[..., Any], init: Sequence[Any], xs: Sequence[Any], additional: Sequence[Any] = ()
) -> Any:
    """Return `scan` along the first axis, one step after the other: carried tensors, then stacked results."""
    carried, rows = list(init), list[list[Any]]()
    for step in range(xs[0].shape[0]):
        made = combine_fn(*carried, *(x[step] for x in xs), *additional)
        carried, results = list(made[: len(carried)]), list(made[len(carried) :])
        rows.append(results)
    if not rows:
        raise refusals.empty_scan(internals.user_location())
    return [*carried, *(torch.stack(column) for column in zip(*rows, strict=True))]


def while_loop(*_: Any, **__: Any) -> Any:
    raise refusals.while_loop(internals.user_location())
