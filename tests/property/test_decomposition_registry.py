"""Declared decompositions: their functions exist, and declared operands are all that a function needs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Block

from dialects.support.diagnostics import GradcError
from dialects.support.shapes import UnknownRank, tensor_type
from passes.autodiff.common.primal import Primal
from passes.builder.values import Builder
from passes.decompositions.registry import Decomposition, Operand, Reason, table_of

DECLARED = [one for reason in Reason for one in table_of(reason).values()]
CONTRIBUTED = list(table_of(Reason.OTHER_DOMAIN).values())


@pytest.mark.parametrize("reason", list(Reason))
def test_functions_exist(reason: Reason):
    for one in table_of(reason).values():
        assert one.reason is reason
        assert len(inspect.signature(one.body).parameters) == 2, one.op


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("x", Operand("x", False, False, None)),
        ("x:3?", Operand("x", True, False, 3)),
        ("xs*", Operand("xs", False, True, None)),
    ],
)
def test_operand_syntax(text: str, operand: Operand):
    assert Operand.parse(text) == operand


def test_operands_are_those_of_onnxruntime():
    """onnxruntime's schemas count the operands; a decomposition may require fewer."""
    from onnxruntime.capi import onnxruntime_pybind11_state as native

    schemas = {f"{one.domain}.{one.name}": one for one in native.get_all_operator_schema()}
    compared = [one for one in CONTRIBUTED if one.op in schemas]
    assert len(compared) > 70
    for one in compared:
        schema = schemas[one.op]
        names = [operand.name for operand in one.operands]
        assert names[: len(schema.inputs)] == [known.name for known in schema.inputs], one.op
        required = sum(not operand.is_optional for operand in one.operands)
        assert required <= schema.min_input, one.op


def attributes_of(one: Decomposition) -> dict[str, object]:
    """Attributes without which most functions refuse, for any op."""
    if one.op.endswith("LSTM"):
        return {"hidden_size": 2}
    return {
        **dict.fromkeys(("num_heads", "kv_num_heads", "q_num_heads", "N", "K", "size", "groups", "k"), 2),
        "block_size": 16,
        "bits": 4,
        "channels": 2,
        "axis": 0,
        "kernel_shape": [1, 1],
        "quant_type": 0,
        "mrope_section": [1, 1, 0],
        "coefficients": [1.0] * 4,
        "intercepts": [0.5],
        "gradc.block": 8,
        "scales": [1.0, 1.0, 2.0, 2.0],
        "classlabels_ints": [0, 1],
        "imputed_value_floats": [1.0],
        **({"quant_type": "int"} if one.op.endswith("QMoE") else {}),
    }


def draws(one: Decomposition, rng: np.random.Generator) -> Iterator[list[Attribute | None]]:
    """Types of operands: too few, absent ones, and any ranks."""
    for count in range(len(one.operands) + 2):
        for _ in range(8):
            ranks = rng.integers(0, 6, count).tolist()
            yield [tensor_type(f32, [2] * rank) if rng.integers(5) else None for rank in ranks]


@pytest.mark.parametrize("one", CONTRIBUTED, ids=lambda one: one.op)
def test_other_operands_are_errors(one: Decomposition):
    """A wrong count or rank is an error that names it, never an exception of the function."""
    rng = np.random.default_rng(sum(map(ord, one.op)))
    for types in draws(one, rng):
        block = Block(arg_types=[type_ for type_ in types if type_ is not None])
        values = iter(block.args)
        e = Builder()
        operands = [None if type_ is None else e(next(values)) for type_ in types]
        with suppress(GradcError, UnknownRank):
            one.body(Primal(e, one.match_operands(operands), attributes_of(one), [None] * 5), e)
        e.emit.discard()
