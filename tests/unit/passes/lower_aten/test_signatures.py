"""The generated signatures against the schemas of the installed torch."""

from __future__ import annotations

import pytest

from dialects.aten.signatures import SIGNATURES
from passes.lower_aten.table import RULES

pytest.importorskip("torch")

from tools.aten_signatures import schema_of, signature


def test_every_rule_has_a_signature():
    assert SIGNATURES.keys() == RULES.keys()


def test_signatures_are_torch_s():
    """An argument that a version of torch adds or renames would be lost otherwise."""
    wrong = {
        name: signature(schema_of(name)) for name in RULES if signature(schema_of(name)) != SIGNATURES[name]
    }
    assert wrong == {}
