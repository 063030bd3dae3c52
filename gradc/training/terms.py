"""The terms of a loss as users give them: one loss, or several by the values that they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from dialects.support.entry import declared_types, output_names, return_op
from dialects.support.interfaces import set_type
from dialects.support.shapes import has_rank
from gradc.derivatives.request import Names
from gradc.losses import Loss, as_loss
from gradc.training.options import names_of
from gradc.util import arguments
from passes.autodiff.activity.active_values import is_float
from passes.autodiff.named_values import values_by_name
from passes.training.attach_loss import Term, label_names


def terms_of(given: Any, of: Names, function: FuncOp) -> list[Term]:
    """Return the terms of the loss of a function. Raises UsageError for what is no loss."""
    if not isinstance(given, Mapping):
        loss = as_loss(given)
        return [Term(names_of(of) or tuple(loss.reads(_float_outputs(function))), loss)]
    if of:
        raise arguments.invalid("of", of, "no names with a mapping, whose keys they are")
    pairs = [(name, *_with_weight(one)) for name, one in cast("Mapping[str, Any]", given).items()]
    if not pairs:
        raise arguments.invalid("loss", given, "at least one loss")
    return [
        _term(tuple(name.split(",")), loss, weight, function, len(pairs) > 1) for name, loss, weight in pairs
    ]


def _with_weight(given: Any) -> tuple[Loss, float]:
    if isinstance(given, tuple | list):
        loss, weight = cast("Sequence[Any]", given)
        return as_loss(loss), float(weight)
    return as_loss(given), 1.0


def _term(of: tuple[str, ...], loss: Loss, weight: float, function: FuncOp, several: bool) -> Term:
    values = values_by_name(function)
    types = [values[name].type for name in of if name in values]
    labels = loss.bind(of).labels([type_ for type_ in types if isinstance(type_, TensorType)])
    return Term(of, loss, weight, label_names(of, list(labels), several=several))


def take_declared_ranks(function: FuncOp) -> None:
    """Give results of unknown rank the types that the file declares: shapes that the file computes are known
    only after simplification."""
    values = return_op(function).arguments
    for value, declared in zip(values, declared_types(function.res_attrs, values), strict=True):
        if declared is None or not has_rank(declared) or has_rank(value):
            continue
        if isinstance(value.owner, Operation):
            set_type(value, declared)


def _float_outputs(function: FuncOp) -> list[str]:
    values = zip(output_names(function), return_op(function).arguments, strict=True)
    found = [name for name, value in values if is_float(value)]
    if not found:
        raise arguments.invalid("of", None, "a value of floats; the model returns none")
    return found
