"""Forms of functions of torch that read no values and use one algorithm at all sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gradc.importers.torch import branches, refusals
from gradc.importers.torch.algebra_forms import distances_of_pairs, least_squares
from gradc.importers.torch.batch_norm import cumulative_statistics
from gradc.importers.torch.frames import frequencies, half_frequencies, istft, stft
from gradc.importers.torch.recurrent import FUNCTIONS, recurrent
from gradc.importers.torch.refused_calls import refused_calls
from gradc.importers.torch.torch_internals import (
    FunctionMode,
    aten,
    fake_constant,
    one_algorithm,
    torch,
    user_location,
)


class OneForm(FunctionMode):
    """Use one algorithm where torch picks one by size (`cdist` multiplies matrices from 26 rows on), and one
    without checks of values."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.Tensor.__repr__, torch.Tensor.__format__):
            return _text(args[0])
        if func is torch.cdist and len(args) < 4:
            kwargs["compute_mode"] = "donot_use_mm_for_euclid_dist"
        form = FORMS.get(func)
        if func is torch.Tensor.backward:
            with self:
                return _backward(*args, **kwargs)
        if func in HIGHER_ORDER:
            with self:
                return HIGHER_ORDER[func](*args, **kwargs)
        found = NotImplemented if form is None else form(*args, **kwargs)
        return func(*args, **kwargs) if found is NotImplemented else found


def _backward(tensor: Any, gradient: Any = None, *others: Any, **named: Any) -> None:
    """Run `Tensor.backward` by the function that keeps modes active for checkpointed functions."""
    torch.autograd.backward(tensor, gradient, *others, **named)


@contextmanager
def one_form() -> Iterator[None]:
    """Run functions of torch by one algorithm at all sizes, and without kernels that torch picks by size."""
    with one_algorithm(), cumulative_statistics(), refused_calls(), OneForm():
        yield


_TEXTS = itertools.count()


def _text(tensor: Any) -> str:
    """Return a text for a tensor without values. No two have the same end and length: what a function
    computes of a text, other than to print it, differs between calls, and is found by that."""
    number = next(_TEXTS)
    return f"<tensor of shape {tuple(tensor.shape)} that is captured, text {number}{'.' * (number % 97)}>"


def _covariance(rows: Any, *, correction: int = 1, **others: Any) -> Any:
    """Return `torch.cov`, which compares numbers in tensors."""
    if others:
        return NotImplemented
    rows = rows if rows.dim() > 1 else rows.reshape(1, -1)
    centered = rows - rows.mean(1, keepdim=True)
    return (centered @ centered.T / (rows.shape[1] - correction)).squeeze()


def _correlation(rows: Any) -> Any:
    """Return `torch.corrcoef`, which compares numbers in tensors."""
    if rows.dim() != 2:
        return NotImplemented
    found = _covariance(rows).reshape(rows.shape[0], rows.shape[0])
    deviations = found.diagonal().sqrt()
    return (found / deviations[:, None] / deviations).clamp(-1, 1).squeeze()


def _gaussian_nll(
    given: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Return `gaussian_nll_loss`, which checks that variances are not negative."""
    if isinstance(var, float):
        var = torch.full_like(given, var)
    var = var if var.shape == given.shape or var.dim() == given.dim() else var.unsqueeze(-1)
    bounded = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (bounded.log() + (given - target).square() / bounded)
    loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
    return {"mean": loss.mean, "sum": loss.sum}.get(reduction, lambda: loss)()


def _weight_norm(direction: Any, length: Any, dim: int = 0) -> Any:
    """Return the weight of `weight_norm`, which has a kernel of its own for the first and last axis."""
    return direction * (length / torch.norm_except_dim(direction, 2, dim))


def _fill_diagonal(matrix: Any, value: Any, wrap: bool = False) -> Any:
    """Fill the diagonal of a matrix in place; torch writes to a view with strides."""
    if matrix.dim() != 2 or wrap:
        return NotImplemented
    matrix.diagonal().fill_(value)
    return matrix


def _combinations(vector: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """Return the pairs of a vector by indices; torch selects them by a mask."""
    if r != 2:
        return NotImplemented
    size = vector.shape[0]
    first, second = torch.triu_indices(size, size, 0 if with_replacement else 1).unbind(0)
    return torch.stack([vector[first], vector[second]], 1)


def _masked_select(tensor: Any, mask: Any) -> Any:
    """Return `masked_select` as an index, whose gradient is one, too."""
    return tensor[mask] if tensor.shape == mask.shape else NotImplemented


class _FakeQuantized(torch.autograd.Function):
    """Values rounded to multiples of a scale within a range; the gradient passes where none is limited."""

    @staticmethod
    def forward(ctx: Any, given: Any, scale: Any, zero: Any, least: int, most: int) -> Any:
        steps = torch.round(given * (1 / scale)) + zero
        ctx.save_for_backward((steps >= least) & (steps <= most))
        return (steps.clamp(least, most) - zero) * scale

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        (within,) = ctx.saved_tensors
        return cotangents[0] * within, None, None, None, None


def _fake_quantize(given: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """Return `fake_quantize_per_tensor_affine`; torch has one op for it and its mask."""
    return _FakeQuantized.apply(given, scale, zero_point, quant_min, quant_max)


def _fake_quantize_channels(
    given: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int
) -> Any:
    """Return `fake_quantize_per_channel_affine`, with a scale for each index of an axis."""
    sizes = [1] * given.dim()
    sizes[axis] = -1
    return _FakeQuantized.apply(given, scale.reshape(sizes), zero_point.reshape(sizes), quant_min, quant_max)


def _rrelu(
    given: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Any:
    """Return `rrelu` of evaluation, which has the mean slope; torch has one op for it and random slopes."""
    if training:
        return NotImplemented
    return torch.nn.functional.leaky_relu(given, (lower + upper) / 2, inplace)


def _multi_margin(
    given: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, *others: Any, **more: Any
) -> Any:
    """Return `multi_margin_loss` of a batch; the gradient of torch's own op has no decomposition."""
    reduction = more.pop("reduction", "mean")
    if any(one is not None for one in (*others, *more.values())) or given.dim() != 2:
        return NotImplemented
    labels = target.unsqueeze(1)
    terms = (margin - given.gather(1, labels) + given).clamp(min=0) ** p
    terms = terms if weight is None else terms * weight[target].unsqueeze(1)
    losses = terms.scatter(1, labels, 0.0).sum(1) / given.shape[1]
    return {"mean": losses.mean, "sum": losses.sum}.get(reduction, lambda: losses)()


def _index_reduce(
    tensor: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Return `index_reduce` as the `scatter_reduce` of whole rows."""
    rows = _row_indices(dim, index, source)
    return tensor.scatter_reduce(dim, rows, source, reduce, include_self=include_self)


def _index_reduce_in_place(
    tensor: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    rows = _row_indices(dim, index, source)
    return tensor.scatter_reduce_(dim, rows, source, reduce, include_self=include_self)


def _differences(given: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return `torch.diff`, which takes fewer differences of axes that are shorter."""
    ends = [part for part in (prepend, given, append) if part is not None]
    found = torch.cat(ends, dim) if len(ends) > 1 else given
    if found.dtype is torch.bool or n < 1:
        return NotImplemented
    for _ in range(n):
        size = found.shape[dim]
        found = found.narrow(dim, min(size, 1), max(size - 1, 0)) - found.narrow(dim, 0, max(size - 1, 0))
    return found


def _ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, *others: Any, **named: Any
) -> Any:
    """Return `ctc_loss` with lengths in tensors: torch has an op of its own for lists."""
    lengths = [input_lengths, target_lengths]
    if all(isinstance(one, torch.Tensor) for one in lengths):
        return NotImplemented
    given = [one if isinstance(one, torch.Tensor) else torch.tensor(one) for one in lengths]
    return torch.nn.functional.ctc_loss(log_probs, targets, *given, *others, **named)


def _row_indices(dim: int, index: Any, source: Any) -> Any:
    axes = [1] * source.dim()
    axes[dim] = -1
    return index.reshape(axes).expand_as(source)


def _addcdiv_in_place(tensor: Any, dividend: Any, divisor: Any, *, value: Any = 1) -> Any:
    """Run `addcdiv_` with a tensor as its number, which torch would read."""
    return tensor.add_(dividend / divisor * value) if isinstance(value, torch.Tensor) else NotImplemented


def _addcmul_in_place(tensor: Any, one: Any, other: Any, *, value: Any = 1) -> Any:
    return tensor.add_(one * other * value) if isinstance(value, torch.Tensor) else NotImplemented


def _add_in_place(tensor: Any, other: Any, *, alpha: Any = 1) -> Any:
    return tensor.add_(other * alpha) if isinstance(alpha, torch.Tensor) else NotImplemented


def _item(tensor: Any, index: Any) -> Any:
    """Return `tensor[index]` with integer tensors of no axes in the index, whose values torch reads."""
    entries = index if isinstance(index, tuple) else (index,)
    if not any(map(_is_scalar, entries)) or any(isinstance(entry, bool) for entry in entries):
        return NotImplemented
    covered = sum(map(_axes_of, entries))
    axis, rest, found = 0, list[Any](), tensor
    for entry in entries:
        if _is_scalar(entry):
            found = aten.index(found, [None] * axis + [entry])
            continue
        rest.append(entry)
        axis += tensor.dim() - covered if entry is Ellipsis else _axes_of(entry)
    return found[tuple(rest)] if rest else found


def _set_item(tensor: Any, index: Any, value: Any) -> Any:
    """Write `tensor[index] = value` with such an index beside whole axes."""
    entries = index if isinstance(index, tuple) else (index,)
    if not any(map(_is_scalar, entries)) or not all(_is_scalar(one) or one == slice(None) for one in entries):
        return NotImplemented
    if not isinstance(value, torch.Tensor):
        value = torch.tensor(value, dtype=tensor.dtype)
    indices = [entry if _is_scalar(entry) else None for entry in entries]
    return aten.index_put_(tensor, indices, value.to(tensor.dtype))


def _is_scalar(entry: Any) -> bool:
    """Return whether an entry of an index is an integer in a tensor, and no literal."""
    if not isinstance(entry, torch.Tensor) or entry.dim() or fake_constant(entry) is not None:
        return False
    return entry.dtype in (torch.int64, torch.int32, torch.int16, torch.int8)


def _address(tensor: Any) -> int:
    raise refusals.address_of_tensor(user_location())


def _axes_of(entry: Any) -> int:
    """Return how many axes an entry of an index covers."""
    if entry is None or entry is Ellipsis:
        return 0
    return entry.dim() if isinstance(entry, torch.Tensor) and entry.dtype is torch.bool else 1


HIGHER_ORDER: Mapping[Any, Callable[..., Any]] = {
    torch.ops.higher_order.cond: branches.cond,
    torch.ops.higher_order.scan: branches.scan,
    torch.ops.higher_order.while_loop: branches.while_loop,
}
"""Op of functions -> its form, whose functions have the forms of this file, too."""

FORMS: Mapping[Any, Callable[..., Any]] = {
    **{function: recurrent(kind) for kind, function in FUNCTIONS.items()},
    torch.cov: _covariance,
    torch.Tensor.cov: _covariance,
    torch.corrcoef: _correlation,
    torch.Tensor.corrcoef: _correlation,
    torch.nn.functional.gaussian_nll_loss: _gaussian_nll,
    torch._weight_norm: _weight_norm,
    torch.Tensor.fill_diagonal_: _fill_diagonal,
    torch.fake_quantize_per_tensor_affine: _fake_quantize,
    torch.fake_quantize_per_channel_affine: _fake_quantize_channels,
    torch.combinations: _combinations,
    torch.linalg.lstsq: least_squares,
    torch.nn.functional.ctc_loss: _ctc_loss,
    torch.diff: _differences,
    torch.Tensor.diff: _differences,
    torch.pdist: distances_of_pairs,
    torch.nn.functional.pdist: distances_of_pairs,
    torch.fft.fftfreq: frequencies,
    torch.fft.rfftfreq: half_frequencies,
    torch.stft: stft,
    torch.istft: istft,
    torch.Tensor.stft: stft,
    torch.Tensor.istft: istft,
    torch.masked_select: _masked_select,
    torch.Tensor.masked_select: _masked_select,
    torch.nn.functional.rrelu: _rrelu,
    torch.nn.functional.multi_margin_loss: _multi_margin,
    torch.index_reduce: _index_reduce,
    torch.Tensor.index_reduce: _index_reduce,
    torch.Tensor.index_reduce_: _index_reduce_in_place,
    torch.Tensor.addcdiv_: _addcdiv_in_place,
    torch.Tensor.addcmul_: _addcmul_in_place,
    torch.Tensor.add_: _add_in_place,
    torch.Tensor.__getitem__: _item,
    torch.Tensor.data_ptr: _address,
    torch.Tensor.__setitem__: _set_item,
}
"""Function of torch -> its form, which returns NotImplemented for arguments that it does not cover."""
