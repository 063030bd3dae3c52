"""Registry of the rules of ATen ops for complex tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from xdsl.ir import SSAValue

from dialects.aten.ops import AtenOp
from dialects.shapes.forms import Form
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.complex_numbers.call import ComplexCall, ComplexRule, by_parts, call_with, real_part
from passes.lower_aten.complex_numbers.formulas import FORMULAS
from passes.lower_aten.complex_numbers.pair import Pair
from passes.lower_aten.rules import (
    compare,
    complex_parts,
    creation,
    index,
    order,
    pad,
    pointwise,
    reduce,
    shape,
    slices,
    spectra,
)
from passes.lower_aten.shapes import expand_to
from passes.size_checks.expressions import Expressions

_INDEXED = (
    *("index.Tensor", "_unsafe_index.Tensor", "index_put.default", "_unsafe_index_put.default"),
    *("index_select.default", "index_add.default", "index_copy.default"),
    *("index_fill.int_Scalar", "index_fill.int_Tensor", "gather.default", "scatter.src", "scatter.value"),
    *("scatter_add.default", "masked_fill.Scalar", "masked_fill.Tensor", "take.default", "put.default"),
)
_CREATIONS = tuple(name for name in creation.RULES if not name.startswith(("one_hot", "tril_", "triu_")))
_REDUCTIONS = ("sum.default", "sum.dim_IntList", "mean.default", "mean.dim")
_CHOICES = ("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
_NORMS = ("linalg_vector_norm.default", *(name for name in reduce.RULES if name.startswith("norm.")))


def _rules_of(rules: Mapping[str, Rule], names: tuple[str, ...] | None = None) -> dict[str, ComplexRule]:
    """Return rules of ops that do the same to real and imaginary parts."""
    return {name: by_parts(rules[name]) for name in names or rules}


def _of_size(rule: Rule) -> ComplexRule:
    """Return the rule of an op that computes with the absolute values of `self`."""

    def complex_rule(f: Any, e: Builder) -> Value | Any:
        return rule(call_with(f, self=f.self.size()), e)

    return complex_rule


COMPLEX_RULES: Mapping[str, ComplexRule] = MappingProxyType(
    {
        **_rules_of(shape.RULES),
        **_rules_of(slices.RULES),
        **_rules_of(pad.RULES),
        **_rules_of(creation.RULES, _CREATIONS),
        **{name: real_part(creation.RULES[name]) for name in creation.ONES},
        **_rules_of(index.RULES, _INDEXED),
        **_rules_of(reduce.RULES, _REDUCTIONS),
        **_rules_of(compare.RULES, _CHOICES),
        **_rules_of(order.RULES, ("cumsum.default",)),
        **_rules_of(pointwise.RULES, ("neg.default",)),
        **{name: _of_size(reduce.RULES[name]) for name in _NORMS},
        **FORMULAS,
        **complex_parts.RULES,
        **spectra.RULES,
    }
)
"""ATen op with overload -> its rule where an operand or a result is complex."""


def lower_complex(
    op: AtenOp, e: Builder, sizes: Expressions, pairs: Mapping[SSAValue, Pair]
) -> list[Value | Pair | None]:
    """Return the results of an op with complex operands or results; parts have the shape of their result.

    Raises UnsupportedError for an op without a rule.
    """
    f = ComplexCall(op, e, sizes, pairs)
    rule = COMPLEX_RULES.get(op.aten_name)
    if rule is None:
        hint = "write it by real and imaginary parts, torch.view_as_real(z).unbind(-1)"
        raise f.refusal("no lowering of complex tensors to ONNX", hint=hint)
    made = rule(f, e)
    values = [made] if isinstance(made, Value | Pair) else list(made)
    return [_broadcast(f, value, f.shape_of(index)) for index, value in enumerate(values)]


def _broadcast(f: Call, value: Value | Pair | None, shape: Sequence[Form]) -> Value | Pair | None:
    return value.map(lambda part: expand_to(f, part, shape)) if isinstance(value, Pair) else value
