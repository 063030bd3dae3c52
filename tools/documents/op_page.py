"""Page of a source op, from its class, its canonical form and the measurements."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation
from xdsl.irdl import OptOperandDef

from dialects import source_ops
from dialects.support.diagnostics import GradcError
from dialects.support.documented_op import DocumentedOp
from gradc.builder.graph import Graph
from gradc.compiler.driver import to_gradients
from gradc.compiler.options import Options
from passes.strategies import by_name
from passes.strategies.base import Strategy
from tools.documents import speed
from tools.documents.markdown import about_run
from tools.documents.prose import OpText, escape_markdown, op_text, paragraphs, table
from tools.support_table import PROBES, attributes_of

NOUN = {True: "at run time", False: "at compile time"}


def formula(kind: str) -> str:
    """Return summary, formula, ports and constraints."""
    op = source_ops()[kind]
    text = op_text(op)
    parts = [*_paragraphs_of(text), _ports(op), *map(escape_markdown, text.paragraphs), _constraints(text)]
    return "\n\n".join(parts)


def _paragraphs_of(text: OpText) -> Iterator[str]:
    yield escape_markdown(text.summary)
    if text.formula:
        yield f"> `{text.formula}`"
    if text.remainder:
        yield escape_markdown(text.remainder)


def _ports(op: type[DocumentedOp]) -> str:
    definitions = dict(op.get_irdl_definition().operands)
    rows = []
    for port, (_, definition) in zip(op.PORTS, definitions.items(), strict=True):
        rows.append((f"`{port}`", "input, optional" if isinstance(definition, OptOperandDef) else "input"))
    return table(("port", "kind"), [*rows, *((f"`{name}`", "result") for name in op.RESULTS)])


def _constraints(text: OpText) -> str:
    return table(
        ("constraint", "condition"),
        [(name, escape_markdown(rule)) for name, rule in text.constraints.items()],
    )


def attributes(kind: str) -> str:
    return table(("attribute", "type", "values", "default"), attributes_of(kind))


def canonical(kind: str) -> str:
    """Return the canonical ops of a small graph of the op, with static and with dynamic sizes."""
    parts = []
    for op, when in canonical_ops(kind).items():
        text = op_text(op)
        sizes = " or ".join(NOUN[dynamic] for dynamic in when)
        parts += [
            f"### {op.name}",
            f"With sizes known {sizes}.",
            *_paragraphs_of(text),
            *map(escape_markdown, text.paragraphs),
        ]
        parts += [_constraints(text)] if text.constraints else []
    return "\n\n".join(parts)


def canonical_ops(kind: str) -> dict[type[Operation], list[bool]]:
    """Return each `grad` op of a kind, with whether graphs with static (False) or dynamic sizes (True) use
    it."""
    found: dict[type[Operation], list[bool]] = {}
    for dynamic in (False, True):
        graph = Graph()
        graph.output(PROBES[kind](graph, "f32", 2, dynamic), "out")
        module = graph.module()
        try:
            to_gradients(module, Options(threads=1))
        except GradcError:
            continue
        for op in dict.fromkeys(type(op) for op in module.walk() if op.name.startswith("grad.")):
            found.setdefault(op, []).append(dynamic)
    return found


def strategies(kind: str) -> str:
    """Return the strategies of the op, with their results in the measured problems."""
    measured = speed.report(speed.STRATEGIES)
    races = speed.races(measured).get(kind)
    if not races:
        known = [(strategy.name, idea(strategy)) for strategy in strategies_for(kind)]
        note = "Not measured: `docs/speed/ops.txt` has no problem of it."
        return f"{table(('strategy', 'idea'), known)}\n\n{note}"
    rows = [
        (
            f"[{strategy.name}](../strategies.md#{strategy.name})",
            idea(strategy),
            *speed.standing(strategy.name, races),
        )
        for strategy in strategies_for(kind)
    ]
    return "\n\n".join(
        (
            table(("strategy", "idea", "fastest in", "times the fastest"), rows),
            "*Fastest in*: of the measured problems that it takes. *Times the fastest*: how many times "
            "as long as the fastest it takes, the geometric mean.",
            f"![the time of each strategy, per problem](../speed/{kind}.svg)",
            f"{len(races)} problems, f32, {measured['settings']['threads']} thread. {about_run(measured)} "
            f"Measured by `{speed.COMMAND}`.",
        )
    )


def strategies_for(kind: str) -> list[Strategy]:
    found: dict[str, Strategy] = {}
    for op in canonical_ops(kind):
        found |= {s.name: s for s in _strategies_of(op)}
    return list(found.values())


def _strategies_of(op: type[Operation]) -> list[Strategy]:
    return [strategy for strategy in by_name().values() if issubclass(op, strategy.ops)]


def idea(strategy: Strategy) -> str:
    return escape_markdown(paragraphs(type(strategy))[0])
