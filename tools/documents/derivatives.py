"""Table of the derivatives of ONNX ops: supported dtypes and sizes, requirements, and kinks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from gradc.inspection.rules import rules
from passes.autodiff.activity.non_differentiable import REFUSED, ZERO_BY_DEFINITION
from passes.autodiff.conventions import KINKS, STATIC_REQUIREMENTS, UNSUPPORTED_VARIANTS
from passes.autodiff.residuals import RESIDUALS, residuals_text

PROBES = Path(__file__).resolve().parents[2] / "docs" / "ops" / "derivatives.json"
"""Op -> column -> `yes`, `-` if ONNX has no such case, or the reason: results of
tests/docs/probe_derivatives.py on onnxruntime."""

DTYPES = ("f32", "f16", "bf16", "f64")
TRIED = (*DTYPES, "run-time sizes", "integers", "twice")


def table() -> str:
    """Return a row for each differentiable op."""
    columns = ("op", "by", "keeps", *TRIED, "known when it is written", "not", "at kinks")
    head = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return "\n".join([*head, *_rows()])


def _rows() -> Iterator[str]:
    probes = _probes()
    for name, how in rules():
        if name not in ZERO_BY_DEFINITION and name not in REFUSED:
            by = "a rule" if how.startswith("has") else "its ops"
            tried = ("no" if (found := probes[name][one]) not in ("yes", "-") else found for one in TRIED)
            said = (
                STATIC_REQUIREMENTS.get(name, ""),
                UNSUPPORTED_VARIANTS.get(name, ""),
                KINKS.get(name, ""),
            )
            kept = residuals_text(name) if name in RESIDUALS else "what its body does"
            yield f"| {' | '.join((name, by, kept, *tried, *said))} |"


def _probes() -> Mapping[str, Mapping[str, str]]:
    return json.loads(PROBES.read_text(encoding="utf-8"))


def no() -> str:
    """Return the reasons of each `no`, with their ops."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, columns in _probes().items():
        for column in TRIED:
            if columns[column] not in ("yes", "-"):
                reasons.setdefault((column, columns[column]), []).append(name)
    rows = [f"| {what} | {', '.join(names)} | {why} |" for (what, why), names in sorted(reasons.items())]
    return "\n".join(["| what | ops | why |", "|---|---|---|", *rows])


def none() -> str:
    """Return the ops without a derivative, by reason."""
    reasons: dict[str, list[str]] = {}
    for why, names in (("0", ZERO_BY_DEFINITION), ("refused", REFUSED)):
        for name in sorted(names):
            reasons.setdefault(f"{why}: {names[name]}", []).append(name)
    rows = [f"| {why} | {', '.join(names)} |" for why, names in reasons.items()]
    return "\n".join(["| derivative | ops |", "|---|---|", *rows])
