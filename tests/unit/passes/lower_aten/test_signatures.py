"""The generated signatures against the schemas of the installed torch."""

from __future__ import annotations

import pytest

from dialects.aten.schema import parse
from dialects.aten.signatures import SIGNATURES
from passes.lower_aten.table import KNOWN

torch = pytest.importorskip("torch")

from tools.aten_signatures import schema_of, signature  # noqa: E402


def test_every_rule_has_a_signature():
    assert SIGNATURES.keys() == KNOWN


SINCE = {"_fused_rms_norm.default": (2, 9), "_fused_rms_norm_backward.default": (2, 9)}
"""Ops that older versions of torch lack, or have for another device -> the first version."""


def kinds(text):
    """Return the kinds of the arguments, and the results: names differ between versions of torch."""
    parsed = parse(text)
    return [argument.kind for argument in parsed.arguments], parsed.results


def test_signatures_are_torch_s():
    """Captures bind arguments by position: one that a version of torch adds or moves would be lost."""
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    known = [name for name in KNOWN if SINCE.get(name, version) <= version]
    found = {name: signature(schema_of(name)) for name in known}
    assert {name: text for name, text in found.items() if kinds(text) != kinds(SIGNATURES[name])} == {}
