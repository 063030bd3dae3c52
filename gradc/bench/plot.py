"""Chart of a benchmark: the ratios of each group as dots, with its lower bound and its mean."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from math import log2
from pathlib import Path
from typing import Any

from dialects.support.diagnostics import Diagnostic, UnsupportedError
from gradc.bench.floors import Group
from gradc.bench.report import threads_of
from gradc.terminal.outputs import write_output
from gradc.util.extras import install

COLOURS = {"torch": "#d95f02", "onednn": "#1b70b3", "onnx-ad": "#7a6fb0"}
DPI = 150
ROW = 0.42
"""Height of a row in inches."""


def check_available() -> None:
    try:
        import_module("matplotlib")
    except ImportError:
        text = f"--plot needs matplotlib; {install('peers')}"
        raise UnsupportedError(Diagnostic("error", text)) from None


def fingerprint(found: Mapping[str, Any]) -> str:
    """Return a hash of the plotted numbers, stored in an SVG to detect stale charts."""
    cases = [[case["group"], case["ratio"], case["best_peer"]] for case in found["cases"]]
    text = json.dumps([threads_of(found["settings"]["threads"]), found["groups"], cases])
    return hashlib.sha256(text.encode()).hexdigest()


def plot(found: Mapping[str, Any], path: str) -> None:
    """Write a PNG or SVG atomically; SVGs are reproducible. Each dot is a case, in the color of its best
    peer."""
    import_module("matplotlib").rcParams.update({"svg.hashsalt": "gradc"})
    groups = found["groups"]
    figure: Any = import_module("matplotlib.figure").Figure(
        figsize=(9, 1.6 + ROW * max(len(groups), 1)), layout="constrained"
    )
    axes: Any = figure.subplots()
    axes.set_xscale("log", base=2)
    for row, mean in enumerate(groups):
        _row(axes, row, mean, [case for case in found["cases"] if case["group"] == mean["group"]])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(groups)), [f"{Group(**mean['group'])} ({mean['cases']})" for mean in groups])
    axes.invert_yaxis()
    axes.set_xlabel("times as fast as the best peer")
    ratios = [case["ratio"] for case in found["cases"] if case["ratio"] is not None]
    _ticks(axes, min([0.5, *ratios]), max([2.0, *ratios]))
    axes.grid(axis="x", alpha=0.3)
    axes.set_title(f"gradc on onnxruntime, {threads_of(found['settings']['threads'])}", fontsize=10)
    _legend(figure, axes)
    kind = Path(path).suffix[1:].lower()
    metadata = {"Date": None, "Creator": None, "Identifier": fingerprint(found)} if kind == "svg" else {}
    buffer = BytesIO()
    figure.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
    write_output(path, buffer.getvalue(), "a picture")


def _row(axes: Any, row: int, mean: Mapping[str, Any], cases: list[Any]) -> None:
    for case in cases:
        if case["ratio"] is not None:
            colour = COLOURS.get(case["best_peer"], "grey")
            axes.plot(case["ratio"], row, "o", color=colour, markersize=5, alpha=0.7, markeredgewidth=0)
    floor, wanted = mean["target"]["floor"], mean["target"]["mean"]
    axes.plot([floor] * 2, [row - 0.35, row + 0.35], color="crimson", linewidth=1.4)
    axes.plot([wanted] * 2, [row - 0.35, row + 0.35], color="grey", linestyle=":")
    axes.plot(mean["mean"], row, "D", color="none", markeredgecolor="black", markersize=8)


def _ticks(axes: Any, low: float, high: float) -> None:
    """Set ticks at powers of two, formatted as numbers."""
    exponents = range(int(log2(low)) - 1, int(log2(high)) + 2)
    axes.set_xlim(low / 1.2, high * 1.2)
    axes.set_xticks([2.0**e for e in exponents], [f"{2.0**e:g}" for e in exponents])
    axes.minorticks_off()
    axes.set_xlim(low / 1.2, high * 1.2)


def _legend(figure: Any, axes: Any) -> None:
    for name, colour in COLOURS.items():
        axes.plot([], [], "o", color=colour, label=f"best peer {name}")
    axes.plot([], [], "D", color="none", markeredgecolor="black", label="geometric mean")
    axes.plot([], [], color="crimson", label="floor")
    axes.plot([], [], color="grey", linestyle=":", label="mean wanted")
    figure.legend(loc="outside lower center", ncols=6, frameon=False, fontsize=8)
