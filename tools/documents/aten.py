"""Table of the ATen ops that `lower-aten` lowers, from the rules: docs/torch.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from passes.lower_aten import rules
from passes.lower_aten.call import Rule
from passes.lower_aten.table import KNOWN

HEADER = "| group | ops |\n|---|---|"


def table() -> str:
    """Return a row for each file of rules, and the number of ops."""
    rows = [f"| {title} | {', '.join(_names(group))} |" for title, group in _groups()]
    packets = {name.partition(".")[0] for name in KNOWN}
    count = (
        f"{len(packets)} ops in {len(KNOWN)} overloads. Overloads other than `default` are in parentheses."
    )
    return "\n".join((HEADER, *rows, "", count))


def _groups() -> Iterator[tuple[str, Mapping[str, Rule]]]:
    """Yield the subject of each file of rules, and its rules."""
    for found in iter_modules(rules.__path__):
        module = import_module(f"{rules.__name__}.{found.name}")
        group: Mapping[str, Rule] = getattr(module, "RULES", {})
        if group:
            yield (module.__doc__ or found.name).split("\n")[0].removesuffix("."), group


def _names(group: Mapping[str, Rule]) -> Iterator[str]:
    """Yield each op once, with its overloads."""
    overloads: dict[str, list[str]] = defaultdict(list)
    for name in group:
        packet, _, overload = name.partition(".")
        overloads[packet].append(overload)
    for packet, names in sorted(overloads.items()):
        yield f"`{packet}`" if names == ["default"] else f"`{packet}` ({', '.join(sorted(names))})"
