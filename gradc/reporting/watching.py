"""Observer that records the effect of each pass on the IR."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from gradc.compiler.pass_runner import Stage
from gradc.graph.printing import elided_text
from gradc.reporting.changes import changes
from gradc.reporting.data import Missing, PassRecord

LARGEST = 2500
"""Maximum ops of a module whose text is shown in a report."""


@dataclass
class Watch:
    """An observer. The first of its `records` is the source, as a pass READ that took no time."""

    records: list[PassRecord] = field(default_factory=list)
    before: ModuleOp | None = None
    text: str = ""

    def __call__(self, stage: Stage) -> None:
        name = READ if stage.after is None else stage.after.name
        if not _is_small(stage.module):
            self._count(name, stage)
            return
        text = elided_text(stage.module)
        changed = text != self.text
        lines = changes(self.before, stage.module) if changed else ()
        self.records.append(PassRecord(name, stage.seconds, changed, lines))
        if changed:
            self.before, self.text = stage.module.clone(), text

    def _count(self, name: str, stage: Stage) -> None:
        count = sum(1 for _ in stage.module.walk())
        why = Missing(f"{count:,} ops, more than the {LARGEST:,} up to which the text is shown")
        self.records.append(PassRecord(name, stage.seconds, True, why))
        self.before, self.text = None, ""


READ = "as read"


def _is_small(module: ModuleOp) -> bool:
    return all(number < LARGEST for number, _ in enumerate(module.walk()))
