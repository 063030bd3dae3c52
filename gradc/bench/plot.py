"""The ratios of a report as a picture: a row of dots for each group, with its floor and its mean."""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from math import log2
from pathlib import Path
from typing import Any

from dialects.support.diagnostics import Diagnostic, UnsupportedError
from gradc import files
from gradc.bench.report import Report, threads_of

COLOURS = {"torch": "#d95f02", "onednn": "#1b70b3", "onnx-ad": "#7a6fb0"}
DPI = 150
ROW = 0.42
"""Inches."""


def check_available() -> None:
    try:
        import_module("matplotlib")
    except ImportError:
        text = '--plot needs matplotlib; pip install "gradc[peers]"'
        raise UnsupportedError(Diagnostic("error", text)) from None


def plot(report: Report, path: str) -> None:
    """Write a PNG or SVG, whole or not at all. Each dot is a case, coloured by its best peer."""
    groups = report.groups
    figure: Any = import_module("matplotlib.figure").Figure(
        figsize=(9, 1.6 + ROW * max(len(groups), 1)), layout="constrained"
    )
    axes: Any = figure.subplots()
    axes.set_xscale("log", base=2)
    for row, mean in enumerate(groups):
        _row(axes, row, mean, [r for r in report.results if r.group == mean.group])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(groups)), [f"{mean.group} ({mean.cases})" for mean in groups])
    axes.invert_yaxis()
    axes.set_xlabel("times as fast as the best peer")
    ratios = [r.ratio for r in report.results if r.ratio is not None]
    _ticks(axes, min([0.5, *ratios]), max([2.0, *ratios]))
    axes.grid(axis="x", alpha=0.3)
    axes.set_title(f"gradc on onnxruntime, {threads_of(report)}", fontsize=10)
    _legend(figure, axes)
    buffer = BytesIO()
    figure.savefig(buffer, format=Path(path).suffix[1:].lower(), dpi=DPI)
    files.write_whole(path, buffer.getvalue())


def _row(axes: Any, row: int, mean: Any, results: list[Any]) -> None:
    for result in results:
        if result.best is not None:
            colour = COLOURS.get(result.best.name, "grey")
            axes.plot(result.best.ratio, row, "o", color=colour, markersize=5, alpha=0.7, markeredgewidth=0)
    axes.plot([mean.target.floor] * 2, [row - 0.35, row + 0.35], color="crimson", linewidth=1.4)
    axes.plot([mean.target.mean] * 2, [row - 0.35, row + 0.35], color="grey", linestyle=":")
    axes.plot(mean.mean, row, "D", color="none", markeredgecolor="black", markersize=8)


def _ticks(axes: Any, low: float, high: float) -> None:
    """Powers of two, written as numbers."""
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
