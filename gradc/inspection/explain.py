"""Explanation of strategy selection: the priced strategies of each gradient, and the choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation

from dialects.grad.conv import TakeWindowOp
from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import ConstantOp
from dialects.support import shapes
from dialects.support.diagnostics import Diagnostic, UnsupportedError, diagnostic_at, name_of, position_of
from dialects.support.documented_op import CHOICE
from gradc.compiler.driver import to_gradients
from gradc.compiler.options import Options
from gradc.files.json_text import json_text
from gradc.problems import OPS
from gradc.problems.flops import flops
from gradc.terminal.numbers import with_prefix
from gradc.terminal.tables import GOOD, PLAIN, REMARK, Look, table
from gradc.tuning.cases import Case, GivenShapes, cases
from gradc.tuning.measuring import PEAK, lower_problem, measure_peak
from gradc.tuning.records import Setting, Tuning, is_positive
from gradc.tuning.stores import Cache
from gradc.tuning.tuner import Tuner
from passes.strategies import strategies_of
from passes.strategies.base import Strategy
from passes.strategies.choice import choose, find_strategy, unused_choices
from passes.targets.target import Target
from passes.vectorize.rows import ROW_BY_ROW

WHY = {
    "predicted": "predicted to be fastest",
    "untuned": "predicted to be fastest; another was measured to be faster, which tuning goes by",
    "measured": "measured to be fastest",
    "named": f"named by the op's attribute {CHOICE}",
    "forced": "forced for all ops that it can write",
    "shared": "fastest between ops that share its layout; its time alone includes the reordering",
    "layout": "fastest of those that keep the layout of its neighbours",
}
"""Reason of a choice -> its text."""


@dataclass(frozen=True)
class StrategyReport:
    """Predicted and measured seconds of a strategy, or the reason why it does not apply."""

    name: str
    predicted: float | None
    measured: float | None
    refusal: str | None


@dataclass(frozen=True)
class Source:
    """Name and position of a source op, '' if unknown."""

    name: str
    position: str


@dataclass(frozen=True)
class GradientReport:
    """The ops of one problem, which have the same lowering.

    `why` is one of WHY, or the error if there is no choice. `nodes` counts the nodes of the choice for this
    problem alone, `constant_elements` those of its constants, known weights included. `peak_fraction` is the
    measured flop rate relative to the machine's peak.
    """

    problem: str
    ops: list[Source]
    strategies: list[StrategyReport]
    choice: str | None
    why: str
    nodes: dict[str, int]
    constant_elements: int
    flops: int | None
    peak_fraction: float | None


@dataclass(frozen=True)
class Explanation:
    """Report on all gradients. `peak_flops` is the measured flop/s of an f32 matrix product, None if
    unknown."""

    target: str
    opset: int
    threads: int
    peak_flops: float | None
    gradients: list[GradientReport]
    remarks: list[str]


def explain(
    module: ModuleOp,
    options: Options,
    shapes: GivenShapes,
    tuner: Tuner | None = None,
    wants_peak: bool = False,
) -> Explanation:
    """Explain a source module, which is modified. Raises GradcError for an invalid graph.

    Measurements are the tuner's; without one, cached ones are shown but change no choice. `shapes` are input
    shapes by name, for measurements and flops.
    """
    naming = {op.location for op in module.walk() if CHOICE in op.attributes}
    remarks = list(to_gradients(module, options))
    target, forced = options.resolve_target(), find_strategy(options.strategy)
    found = cases(module, target, shapes)
    named = {op: op.attributes[CHOICE] for case in found for op in case.ops if CHOICE in op.attributes}
    cache = _cache(target)
    tunings, cache_remarks = _read_all(found, cache) if tuner is None else tuner.tune(module, target, forced)
    peak = None if cache is None else _peak(target, wants_peak, tunings, cache)
    view = _View(target, forced, named, naming, tunings, tuner is not None, peak)
    gradients = [view.gradient(part) for case in found for part in _by_name(case, named)]
    unknown = [op for op in module.walk() if strategies_of(op) and type(op) not in (*OPS, TakeWindowOp)]
    lines = [str(remark) for remark in (*remarks, *cache_remarks, *unused_choices(module, target))]
    lines += [str(diagnostic_at(op, "remark", _NO_PROBLEM.format(op.name))) for op in unknown]
    lines += [str(diagnostic_at(op, "remark", _ROW_BY_ROW)) for op in _row_by_row(module)]
    return Explanation(target.name, target.opset, target.threads, peak, gradients, lines)


_NO_PROBLEM = "gradc/problems has no kind for {}: it compiles, and can be neither explained nor timed"


_ROW_BY_ROW = "computed row by row, in a Scan: this use of the op cannot be vectorized"


def _row_by_row(module: ModuleOp) -> Iterator[Operation]:
    """Yield the ops that a vectorization left to a Scan over the rows."""
    for op in module.walk():
        if ROW_BY_ROW in op.attributes and (first := op.regions[0].block.first_op) is not None:
            yield first


def _cache(target: Target) -> Cache | None:
    """Return the cache of this machine; None without onnxruntime, which measurements need."""
    try:
        return Cache(Setting.of(target))
    except UnsupportedError:
        return None


def _read_all(found: Sequence[Case], cache: Cache | None) -> tuple[dict[str, Tuning], list[Diagnostic]]:
    if cache is None:
        return {}, []
    tunings = {case.key: tuning for case in found if (tuning := cache.read(case.key))}
    return tunings, list(cache.remarks())


def _peak(target: Target, wanted: bool, tunings: Mapping[str, Tuning], cache: Cache) -> float | None:
    """Return the machine's peak flop/s if it is wanted or there are times of this machine to compare."""
    here = any(tuning.measured_on == str(cache.setting) for tuning in tunings.values())
    if not (wanted or here):
        return None
    known = cache.read_value(PEAK, _positive)
    if known is None:
        known = measure_peak(target)
        cache.write_value(PEAK, known)
    return known


def _positive(value: Any) -> float:
    if not is_positive(value):
        raise ValueError("expected flops a second")
    return float(value)


def _by_name(case: Case, named: Mapping[Operation, Attribute]) -> list[Case]:
    """Split a case by the strategies that the source names for its ops."""
    groups: dict[Attribute | None, list[Operation]] = {}
    for op in case.ops:
        groups.setdefault(named.get(op), []).append(op)
    return [replace(case, ops=ops) for ops in groups.values()]


@dataclass(frozen=True)
class _View:
    """Data for the report of a gradient: the strategies that ops name, the locations of such source ops, and
    whether the tunings are decisive (`tuned`) or only shown."""

    target: Target
    forced: Strategy | None
    named: Mapping[Operation, Attribute]
    naming: Set[Attribute]
    tunings: Mapping[str, Tuning]
    tuned: bool
    peak: float | None

    def gradient(self, case: Case) -> GradientReport:
        choice, why = self._choice(case)
        tuning = self.tunings.get(case.key)
        seconds = tuning.seconds if tuning else {}
        work = None if case.sizes is None else flops(case.sizes)
        nodes, constants = _lowered_counts(case, choice, self.target) if choice else ({}, 0)
        taken = seconds.get(choice) if choice else None
        return GradientReport(
            problem=str(case.problem),
            ops=[Source(name_of(op), str(position_of(op) or "")) for op in case.ops],
            strategies=[
                StrategyReport(c.strategy.name, c.cost, seconds.get(c.strategy.name), c.refusal)
                for c in case.candidates
            ],
            choice=choice,
            why=why,
            nodes=nodes,
            constant_elements=constants,
            flops=work,
            peak_fraction=work / taken / self.peak if work and taken and self.peak else None,
        )

    def _choice(self, case: Case) -> tuple[str | None, str]:
        op = case.ops[0]
        try:
            choice = choose(op, self.forced, self.target).name
        except UnsupportedError as error:
            return None, error.diagnostic.message
        if self.forced is not None and isinstance(op, self.forced.ops):
            return choice, "forced"
        if self.named.get(op) == StringAttr(choice):
            return choice, "named" if op.location in self.naming else "layout"
        if self.tuned and case.key in self.tunings:
            return choice, "measured"
        if not _is_cheapest(choice, case):
            return choice, "shared"
        return choice, "predicted" if _is_measured_best(choice, self.tunings.get(case.key)) else "untuned"


def _is_cheapest(choice: str, case: Case) -> bool:
    """Return whether no other strategy is predicted to be faster by the problem alone."""
    times = {c.strategy.name: c.cost for c in case.candidates if c.cost is not None}
    return choice not in times or times[choice] <= min(times.values())


def _is_measured_best(choice: str, tuning: Tuning | None) -> bool:
    """Return whether no other strategy was measured to be faster."""
    seconds = tuning.seconds if tuning else {}
    return choice not in seconds or seconds[choice] <= min(seconds.values())


def _lowered_counts(case: Case, strategy: str, target: Target) -> tuple[dict[str, int], int]:
    """Return the nodes by op to which the problem is lowered, and the elements of their constants."""
    ops = [op for op in lower_problem(case.problem, strategy, target).walk() if isinstance(op, OnnxOp)]
    constants = [op for op in ops if isinstance(op, ConstantOp)]
    nodes = Counter(op.onnx_name() for op in ops if not isinstance(op, ConstantOp))
    elements = sum(prod(shapes.static(shapes.shape_of(op.output)) or ()) for op in constants)
    return dict(nodes.most_common()), elements


NOTHING = "nothing to choose: no op of the graph can be written in several ways"


def as_json(found: Explanation) -> str:
    return json_text(asdict(found))


def as_text(found: Explanation, look: Look = PLAIN) -> str:
    return "\n".join(_lines(found, look))


def _lines(found: Explanation, look: Look) -> Iterator[str]:
    peak = f", peak {with_prefix(found.peak_flops)}flop/s" if found.peak_flops else ""
    threads = "1 thread" if found.threads == 1 else f"{found.threads} threads"
    yield f"target {found.target}, opset {found.opset}, {threads}{peak}"
    for gradient in found.gradients:
        yield ""
        yield look.with_style(gradient.problem, "bold")
        yield from (f"  {line}" for line in _gradient_lines(gradient, replace(look, width=look.width - 2)))
    if not found.gradients and not found.remarks:
        yield NOTHING
    if found.remarks:
        yield ""
        yield from (look.with_style(remark, REMARK) for remark in found.remarks)


def _gradient_lines(gradient: GradientReport, look: Look) -> Iterator[str]:
    for op in gradient.ops:
        yield " ".join(filter(None, (f'"{op.name}"' if op.name else "", op.position))) or "no position"
    yield from _table(gradient, look).splitlines()
    if gradient.choice is None:
        yield gradient.why
        return
    nodes = ", ".join(f"{count} {kind}" for kind, count in gradient.nodes.items())
    built = f"; {gradient.constant_elements:,} elements of constants" if gradient.constant_elements else ""
    yield f"{gradient.choice} ({WHY[gradient.why]}): {nodes or 'no nodes'}{built}"
    if gradient.flops:
        part = gradient.peak_fraction
        yield f"{with_prefix(gradient.flops)}flop" + (f", {part:.0%} of the peak" if part is not None else "")


def _table(gradient: GradientReport, look: Look) -> str:
    measured = any(row.measured is not None for row in gradient.strategies)
    header = ("", "strategy", "predicted", "measured", "")
    rows = [
        (
            "*" if row.name == gradient.choice else "",
            row.name,
            _time(row.predicted),
            _time(row.measured),
            row.refusal or "",
        )
        for row in gradient.strategies
    ]
    columns = [0, 1, 2, 3, 4] if measured else [0, 1, 2, 4]
    shown = [[row[column] for column in columns] for row in (header, *rows)]
    chosen = {i: GOOD for i, row in enumerate(gradient.strategies) if row.name == gradient.choice}
    return table(shown[0], shown[1:], (2, 3) if measured else (2,), look, chosen)


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.3f} ms"
