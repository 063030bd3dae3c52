"""Charts of docs/speed: `python -m tools.documents.plots`, with matplotlib.

Each suite has the chart of `gradc bench --plot`. Each op has a chart with a row per problem and a mark per
strategy at its time; a ring marks gradc's choice. Colors are legible on white and black backgrounds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from io import BytesIO
from typing import Any

from dialects import source_ops
from gradc.bench.plot import plot
from gradc.files.writing import write_atomically
from tools.documents import speed
from tools.documents.speed import Race

GREY = "#808890"
COLOURS = ("#3b82d0", "#e0701f", "#2fa05a", "#d64550", "#9467bd", "#a07050", "#d66cb5", "#8a9a20", "#20a5b5")
MARKS = "osD^vPX<>ph"
"""More marks than colours, so that pairs of both repeat late."""

ROW = 0.3
"""Height of a row in inches."""

NETWORKS = "docs/speed/networks.json"
NETWORKS_CHART = "docs/speed/networks.svg"
PEERS = ("torch", "torch.compile", "onnx-ad")
PANELS = {"constant weights": "gradient of the input", "by weights": "gradients of all weights"}
"""Kind of a race of `gradc bench --suite networks` -> title of its panel."""


def names_of(races: Sequence[Race]) -> list[str]:
    """Return the timed strategies, in registration order."""
    return list(dict.fromkeys(name for race in races for name in race.seconds))


def fingerprint(races: Sequence[Race]) -> str:
    """Return a hash of the plotted numbers, stored in the picture to detect stale ones."""
    text = json.dumps([[race.title, race.layout, race.chosen, race.seconds] for race in races])
    return hashlib.sha256(text.encode()).hexdigest()


def draw(kind: str, races: Sequence[Race]) -> bytes:
    """Return an SVG; it is reproducible."""
    import_module("matplotlib").rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "gradc", "font.family": "sans-serif", "font.size": 9}
    )
    figure: Any = import_module("matplotlib.figure").Figure(
        figsize=(9, 1.4 + ROW * len(races)), layout="constrained"
    )
    axes: Any = figure.subplots()
    names = names_of(races)
    for number, name in enumerate(names):
        _marks(axes, name, COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)], races)
    for row, race in enumerate(races):
        if race.chosen in race.seconds:
            axes.plot(
                race.seconds[race.chosen] * 1e3, row, "o", color="none", markeredgecolor=GREY, markersize=13
            )
    _frame(axes, races)
    legend = figure.legend(loc="outside lower center", ncols=4, frameon=False)
    for text in legend.get_texts():
        text.set_color(GREY)
    buffer = BytesIO()
    metadata = {"Date": None, "Creator": None, "Title": f"{kind}: the time of each strategy"}
    metadata["Identifier"] = fingerprint(races)
    figure.savefig(buffer, format="svg", transparent=True, metadata=metadata)
    return buffer.getvalue()


def _marks(axes: Any, name: str, colour: str, mark: str, races: Sequence[Race]) -> None:
    points = [(race.seconds[name] * 1e3, row) for row, race in enumerate(races) if name in race.seconds]
    axes.plot(*zip(*points, strict=True), mark, color=colour, markersize=6, label=name, markeredgewidth=0)


def _frame(axes: Any, races: Sequence[Race]) -> None:
    axes.set_xscale("log")
    axes.set_yticks(range(len(races)), [f"{race.title}, {race.layout}" for race in races])
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("milliseconds, logarithmic; the ring is the choice of gradc", color=GREY)
    axes.grid(axis="both", color=GREY, alpha=0.25, linewidth=0.6)
    axes.tick_params(colors=GREY, which="both")
    for spine in axes.spines.values():
        spine.set_visible(False)


def networks_fingerprint(found: Mapping[str, Any]) -> str:
    """Return the digest of the numbers in the chart of whole networks; the SVG contains it."""
    text = json.dumps([found["threads"], *([kind, _bars(found, kind)] for kind in PANELS)])
    return hashlib.sha256(text.encode()).hexdigest()


def draw_networks(found: Mapping[str, Any]) -> bytes:
    """Return an SVG chart of whole networks: the time of each peer over that of gradc."""
    import_module("matplotlib").rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "gradc", "font.family": "sans-serif", "font.size": 9}
    )
    figure: Any = import_module("matplotlib.figure").Figure(figsize=(9, 4.2), layout="constrained")
    panels: Any = figure.subplots(1, len(PANELS), sharey=True)
    for axes, (kind, title) in zip(panels, PANELS.items(), strict=True):
        _panel(axes, title, _bars(found, kind))
    handles, labels = panels[0].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    for text in legend.get_texts():
        text.set_color(GREY)
    buffer = BytesIO()
    metadata = {"Date": None, "Creator": None, "Title": "forward and backward of whole networks"}
    metadata["Identifier"] = networks_fingerprint(found)
    figure.savefig(buffer, format="svg", transparent=True, metadata=metadata)
    return buffer.getvalue()


def _bars(found: Mapping[str, Any], kind: str) -> dict[str, dict[str, float | None]]:
    """Network -> peer -> its time over gradc's, None if the peer did not run it."""
    return {
        race["name"]: {
            peer: next((finish["ratio"] for finish in race["finishes"] if finish["name"] == peer), None)
            for peer in PEERS
        }
        for race in found["models"]
        if race["kind"] == kind
    }


def _panel(axes: Any, title: str, bars: Mapping[str, Mapping[str, float | None]]) -> None:
    height = 0.8 / len(PEERS)
    for number, peer in enumerate(PEERS):
        shift = (number - (len(PEERS) - 1) / 2) * height
        points = [(row + shift, ratio - 1) for row, one in enumerate(bars.values()) if (ratio := one[peer])]
        if points:
            centres, widths = zip(*points, strict=True)
            axes.barh(centres, widths, height, left=1, color=COLOURS[number], label=peer)
    axes.axvline(1, color=GREY, linewidth=1.4, label="gradc")
    axes.set_xscale("log", base=2)
    axes.set_xlim(0.8, 24)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(bars)), list(bars))
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_title(title, fontsize=9, color=GREY)
    axes.set_xlabel("time / time of gradc", color=GREY)
    axes.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
    axes.tick_params(colors=GREY, which="both")
    for spine in axes.spines.values():
        spine.set_visible(False)


def main() -> None:
    for suite in speed.SUITES:
        plot(speed.report(f"docs/speed/{suite}.json"), str(speed.ROOT / f"docs/speed/{suite}.svg"))
    write_atomically(speed.ROOT / NETWORKS_CHART, draw_networks(speed.report(NETWORKS)))
    races = speed.races(speed.report(speed.STRATEGIES))
    for kind in source_ops():
        write_atomically(speed.ROOT / f"docs/speed/{kind}.svg", draw(kind, races[kind]))


if __name__ == "__main__":
    main()
