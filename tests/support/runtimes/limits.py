"""What a runtime is known not to do, as data: see limits.json.

A limit names the runtime, the cases (a glob over their names, and where `feature` is given one of
`Case.features`), what the failure says (a regular expression) and the reason. Every case of a limit must
fail, and say so: what a newer runtime has learned is found, and the limit goes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from support.runtimes.cases import Case


@dataclass(frozen=True)
class Limit:
    runtime: str
    cases: str
    says: str
    reason: str
    feature: str | None = None

    def holds_for(self, runtime: str, case: Case) -> bool:
        if self.runtime != runtime or not fnmatchcase(case.name, self.cases):
            return False
        return self.feature is None or self.feature in case.features


LIMITS = tuple(
    Limit(**row) for row in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
)


def limit_of(runtime: str, case: Case) -> Limit | None:
    return next((limit for limit in LIMITS if limit.holds_for(runtime, case)), None)
