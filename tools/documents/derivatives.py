"""Table of the derivatives of ONNX ops: supported dtypes and sizes, requirements, and kinks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from gradc.inspection.rules import rules
from passes.autodiff.activity.non_differentiable import REFUSED, ZERO_BY_DEFINITION
from passes.autodiff.conventions import KINKS, STATIC_REQUIREMENTS, UNSUPPORTED_VARIANTS

PROBES = Path(__file__).resolve().parents[2] / "docs" / "ops" / "derivatives.json"
"""Op -> column -> `yes`, `-` if ONNX has no such case, or the reason: results of
tests/docs/probe_derivatives.py on onnxruntime."""

RESIDUALS = PROBES.with_name("residuals.json")
"""Op -> operand -> the operands and results that its gradient reads, from the same program."""

DTYPES = ("f32", "f16", "bf16", "f64")
TRIED = (*DTYPES, "run-time sizes", "integers", "twice")
"""Columns of the probes."""

TITLES = {"run-time sizes": "dynamic sizes", "integers": "integer inputs"}
"""Column of the probes -> its title on the page, if that differs."""


def table() -> str:
    """Return a row for each differentiable op."""
    tried = (TITLES.get(column, column) for column in TRIED)
    columns = ("op", "derivative", *tried, "must be static", "not supported", "at kinks", "keeps")
    head = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return "\n".join([*head, *_rows()])


def _rows() -> Iterator[str]:
    probes = _probes()
    residuals = known_residuals()
    for name, how in rules():
        if name not in ZERO_BY_DEFINITION and name not in REFUSED:
            how = "VJP rule" if how.startswith("has") else "decomposition"
            tried = ("no" if (found := probes[name][one]) not in ("yes", "-") else found for one in TRIED)
            facts = (
                STATIC_REQUIREMENTS.get(name, ""),
                UNSUPPORTED_VARIANTS.get(name, ""),
                KINKS.get(name, ""),
            )
            kept = _residuals_text(residuals[name]) if name in residuals else "residuals of its body"
            yield f"| {' | '.join((name, how, *tried, *facts, kept))} |"


def known_residuals() -> Mapping[str, Mapping[str, str]]:
    return json.loads(RESIDUALS.read_text(encoding="utf-8"))


def _residuals_text(kept: Mapping[str, str]) -> str:
    """Return the residuals of an op, for each operand if they differ."""
    texts = {operand: names.replace(" ", ", ") for operand, names in kept.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{operand}: {text or '-'}" for operand, text in texts.items())


def _probes() -> Mapping[str, Mapping[str, str]]:
    return json.loads(PROBES.read_text(encoding="utf-8"))


def no() -> str:
    """Return the reasons of each `no`, with their ops."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, columns in _probes().items():
        for column in TRIED:
            if columns[column] not in ("yes", "-"):
                reasons.setdefault((column, columns[column]), []).append(name)
    rows = [
        f"| {TITLES.get(column, column)} | {', '.join(names)} | {why} |"
        for (column, why), names in sorted(reasons.items())
    ]
    return "\n".join(["| column | ops | reason |", "|---|---|---|", *rows])


def none() -> str:
    """Return the ops whose derivative is zero or not implemented, by reason."""
    reasons: dict[str, list[str]] = {}
    for why, names in (("0", ZERO_BY_DEFINITION), ("not implemented", REFUSED)):
        for name in sorted(names):
            reasons.setdefault(f"{why}: {names[name]}", []).append(name)
    rows = [f"| {why} | {', '.join(names)} |" for why, names in reasons.items()]
    return "\n".join(["| derivative | ops |", "|---|---|", *rows])
