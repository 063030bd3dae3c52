"""Compare ONNX models with what `gradc compile` makes of them: run time and the ops that onnxruntime fuses.

    python benchmarks/compiled_speed.py MODEL_OR_FOLDER ... [--seconds 4] [--json FILE]

`export_models.py` writes a collection to a folder. Original and compiled model run alternately in one
process, with one thread, on the same random inputs, and their results are compared. The ratio is the time of
the original over that of the compiled model: the median, over rounds, of the ratio of the least times in a
round, with quartiles. `fused` counts the fused ops in onnxruntime's optimized graph, `lost` those of which
the compiled model has fewer.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.fused_ops import fused_ops

import gradc
from gradc.terminal.tables import look, table

FLOOR = 0.97
"""The lowest ratio that is no regression."""

FEWEST_ROUNDS, RUNS_OF_A_ROUND = 9, 5

Feeds = dict[str, np.ndarray]


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


def optimize(model: bytes) -> tuple[ort.InferenceSession, Counter[str]]:
    """Return a session with one thread, and the ops of its optimized graph."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "optimized.onnx"
        options.optimized_model_filepath = str(path)
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        nodes = onnx.load(path, load_external_data=False).graph.node
    return session, Counter(f"{node.domain}.{node.op_type}".lstrip(".") for node in nodes)


def feeds_of(session: ort.InferenceSession) -> Feeds:
    """Return random inputs; unknown sizes are 1, integers small."""
    random = np.random.default_rng(0)
    feeds: Feeds = {}
    for info in session.get_inputs():
        shape = [dim if isinstance(dim, int) else 1 for dim in info.shape]
        if info.type == "tensor(int64)":
            is_mask = "mask" in info.name
            feeds[info.name] = np.ones(shape, np.int64) if is_mask else random.integers(3, 400, shape)
        elif info.type == "tensor(float)":
            feeds[info.name] = random.standard_normal(shape, np.float32)
        else:
            raise ValueError(f"an input of {info.type}")
    return feeds


def largest_error(before: Sequence[Any], after: Sequence[Any]) -> float:
    """Return the largest difference of any result, relative to the largest value of that result."""
    errors = [0.0]
    for one, other in zip(before, after, strict=True):
        if isinstance(one, np.ndarray) and one.size and one.dtype.kind in "fiu":
            one, other = one.astype(np.float64), other.astype(np.float64)
            errors.append(float(np.abs(one - other).max() / max(float(np.abs(one).max()), 1e-30)))
    return max(errors)


def least_time(run: Callable[[], object], count: int) -> float:
    """Return the least seconds of some runs."""
    times: list[float] = []
    for _ in range(count):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return min(times)


def alternate(runs: Sequence[Callable[[], object]], seconds: float) -> list[tuple[float, float]]:
    """Return the least times of both in each round; the order alternates."""
    for run in runs:
        run()
    rounds: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while len(rounds) < FEWEST_ROUNDS or time.perf_counter() < end:
        order = (0, 1) if len(rounds) % 2 else (1, 0)
        times = {index: least_time(runs[index], RUNS_OF_A_ROUND) for index in order}
        rounds.append((times[0], times[1]))
    return rounds


def compare(path: Path, seconds: float) -> Row:
    original = path.read_bytes()
    compiled = gradc.compile(path, threads=1).model.SerializeToString()
    (first, before), (second, after) = optimize(original), optimize(compiled)
    feeds = feeds_of(first)
    error = largest_error(first.run(None, feeds), second.run(None, feeds))
    rounds = alternate([lambda: first.run(None, feeds), lambda: second.run(None, feeds)], seconds)
    ratios = [one / other for one, other in rounds]
    low, _, high = quantiles(ratios, n=4)
    lost = fused_ops(before) - fused_ops(after)
    return Row(
        path.stem,
        median(ratios),
        (low, high),
        1e3 * min(other for _, other in rounds),
        error,
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
        mean = float(np.exp(np.mean([np.log(row.ratio) for row in rows])))
        slower = sum(row.ratio < FLOOR for row in rows)
        print(f"{len(rows)} models, geometric mean {mean:.3f}, {slower} below {FLOOR}")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return int(any(row.ratio < FLOOR or row.lost for row in rows))


if __name__ == "__main__":
    sys.exit(main())
