"""The page of derivatives says what was tried, and what was tried is still so."""

from __future__ import annotations

import json

import pytest
from support.derivative_probes import ops, probe

from passes.autodiff.table import REGION_RULES, RULES
from passes.decompositions.registry import Reason, table_of
from tools.documents import derivatives

KNOWN = json.loads(derivatives.PROBES.read_text(encoding="utf-8"))


def test_every_op_that_has_a_derivative_is_tried():
    """`python tests/docs/probe_derivatives.py OP` tries one."""
    assert set(KNOWN) == set(ops()) == {*RULES, *table_of(Reason.GRADIENT), *REGION_RULES}
    for columns in KNOWN.values():
        assert list(columns) == list(derivatives.TRIED)


def test_every_derivative_runs_with_numbers_of_32_bits_twice_and_at_sizes_of_run_time():
    for column in ("f32", "f16", "bf16", "run-time sizes", "integers", "twice"):
        assert [name for name, found in KNOWN.items() if found[column] not in ("yes", "-")] == []


def test_what_is_no_has_its_reason_on_the_page():
    page = derivatives.no()
    for name, columns in KNOWN.items():
        for why in columns.values():
            assert why in ("yes", "-") or (why in page and name in page)


@pytest.mark.sweep(parts=4)
@pytest.mark.parametrize("op", ["Gelu", "If", "LSTM", "Slice"])
def test_a_few_are_as_they_were_found(op: str):
    assert probe(op) == KNOWN[op]


@pytest.mark.heavy
@pytest.mark.parametrize("op", ops())
def test_all_are_as_they_were_found(op: str):
    assert probe(op) == KNOWN[op]
