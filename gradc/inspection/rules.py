"""Table of the ONNX ops that have a derivative, with reasons for the others."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence

from dialects.onnx.signatures import SIGNATURES
from dialects.support.diagnostics import Diagnostic, UsageError, sentence, suggest
from dialects.support.option_names import option
from passes.autodiff.activity.non_differentiable import REFUSED, ZERO_BY_DEFINITION
from passes.autodiff.rules import contributed
from passes.autodiff.table import REGION_RULES, RULES
from passes.decompositions.registry import Reason, decomposition_of, table_of

BY_DECOMPOSITION = "by its decomposition"


def rules() -> Iterator[tuple[str, str]]:
    """Yield each op, sorted by name, with the kind of its derivative or the reason for none."""
    for name in sorted(SIGNATURES):
        yield name, _derivative_of(name)


def _derivative_of(name: str) -> str:
    if name in RULES or name in REGION_RULES:
        return "has a rule"
    if decomposition_of(name, Reason.GRADIENT) is not None:
        return BY_DECOMPOSITION
    if name in ZERO_BY_DEFINITION:
        return f"zero: {ZERO_BY_DEFINITION[name]}"
    return f"refused: {REFUSED[name]}" if name in REFUSED else "refused: no rule yet"


def as_text(patterns: Sequence[str] = ()) -> str:
    """Return a line per op, or per op that matches a pattern. Raises UsageError for one without a match."""
    known = dict(rules())
    found = list(known.items()) if not patterns else _matching(patterns, known | _of_other_domains())
    width = max(len(name) for name, _ in found)
    return "\n".join(f"{name:{width}}  {what}" for name, what in found)


def _matching(patterns: Sequence[str], known: Mapping[str, str]) -> list[tuple[str, str]]:
    for pattern in patterns:
        if not fnmatch.filter(known, pattern):
            text = sentence(option("list_rules"), pattern or "''", "an op, or a pattern such as *Pool")
            hint = suggest(pattern, known)
            raise UsageError(Diagnostic("error", f"{text}; {hint}" if hint else text))
    return [
        (name, what) for name, what in known.items() if any(fnmatch.fnmatchcase(name, p) for p in patterns)
    ]


def _of_other_domains() -> dict[str, str]:
    """Return the ops of other domains that have a derivative or a reason for none."""
    refused = {title: f"refused: {why}" for title, why in contributed.REFUSED.items()}
    ruled = dict.fromkeys(contributed.RULES, "has a rule")
    return dict.fromkeys(table_of(Reason.OTHER_DOMAIN), BY_DECOMPOSITION) | refused | ruled
