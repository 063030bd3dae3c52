"""Each rule reads the operands and results that the table of derivatives lists, no more and no less."""

from __future__ import annotations

import pytest
from support.residuals import has_residuals, residuals

from tools.documents.derivatives import known_residuals


def test_every_rule_is_listed():
    """`python tests/docs/probe_derivatives.py OP` adds one."""
    assert list(known_residuals()) == has_residuals()


@pytest.mark.sweep
@pytest.mark.parametrize("op", has_residuals())
def test_a_rule_reads_what_is_listed(op: str):
    assert residuals(op) == known_residuals()[op]
