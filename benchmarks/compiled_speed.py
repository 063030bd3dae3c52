"""Compare ONNX models with what `gradc compile` makes of them: run time and the ops that onnxruntime fuses.

    python benchmarks/compiled_speed.py MODEL_OR_FOLDER ... [--seconds 4] [--json FILE]

`export_models.py` writes a collection to a folder. A model and its compiled form race as in `gradc bench
MODEL`, with one thread. The ratio is the time of the original over that of the compiled model: the median
over bursts, with quartiles. `fused` counts the fused ops in onnxruntime's optimized graph, `lost` those of
which the compiled model has fewer.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import onnx
from support.fused_ops import ALL, fused_ops, optimized_ops

import gradc
from gradc.bench.races.models import RaceSettings, race_model
from gradc.bench.report import geometric_mean
from gradc.terminal.tables import look, table

FLOOR = 0.97
"""The lowest ratio that is no regression."""


@dataclass(frozen=True)
class Row:
    """The comparison of one model with its compiled form."""

    model: str
    ratio: float
    quartiles: tuple[float, float]
    milliseconds: float
    error: float
    nodes: tuple[int, int]
    fused: tuple[int, int]
    lost: str

    @property
    def cells(self) -> list[str]:
        low, high = self.quartiles
        mark = "" if self.ratio >= FLOOR else " slower"
        numbers = [f"{self.ratio:.3f}{mark}", f"{low:.2f}..{high:.2f}", f"{self.milliseconds:.2f}"]
        counts = [f"{before} {after}" for before, after in (self.nodes, self.fused)]
        return [self.model, *numbers, f"{self.error:.0e}", *counts, self.lost]


def compare(path: Path, seconds: float) -> Row:
    """Race a model. Raises ValueError if the results differ or the original does not run."""
    found = race_model(str(path), RaceSettings(threads=1, budget=seconds / 2, seed=0, peers=["original"]))
    compiled, original = found.finishes
    if found.failure or compiled.seconds is None or original.ratio is None or original.spread is None:
        raise ValueError(found.failure or original.note)
    before = optimized_ops(onnx.load(path), ALL)
    after = optimized_ops(gradc.compile(path, threads=1).model, ALL)
    lost = fused_ops(before) - fused_ops(after)
    return Row(
        path.stem,
        original.ratio,
        original.spread,
        1e3 * compiled.seconds,
        compiled.error or 0.0,
        (before.total(), after.total()),
        (fused_ops(before).total(), fused_ops(after).total()),
        ", ".join(f"{count} {op.rpartition('.')[2]}" for op, count in lost.items()),
    )


def models_in(given: Sequence[Path]) -> Iterator[Path]:
    for path in given:
        yield from sorted(path.glob("*.onnx")) if path.is_dir() else (path,)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=4, help="of alternated runs for each model")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table's numbers")
    options = parser.parse_args()
    rows: list[Row] = []
    for path in models_in(options.models):
        try:
            rows.append(compare(path, options.seconds))
            print("  ".join(rows[-1].cells), file=sys.stderr, flush=True)
        except Exception as error:  # a model that the runtime or the drawing of inputs cannot take
            print(f"{path.stem}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr, flush=True)
    header = ["model", "ratio", "quartiles", "ms", "error", "nodes", "fused", "lost"]
    print(table(header, [row.cells for row in rows], range(1, 7), look(sys.stdout)))
    if rows:
        slower = sum(row.ratio < FLOOR for row in rows)
        mean = geometric_mean([row.ratio for row in rows])
        print(f"{len(rows)} models, geometric mean {mean:.3f}, {slower} below {FLOOR}")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return int(any(row.ratio < FLOOR or row.lost for row in rows))


if __name__ == "__main__":
    sys.exit(main())
