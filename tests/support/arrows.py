"""Which file imports which, and whether packages and files are in order.

Every import counts: in functions, for type checkers only, and by name (`import_module("gradc.x")`, a
string that is the dotted name of a file; that of a package may stand for its data).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from support.sources import tree

NAMED = re.compile(r"(?P<module>\w+(\.\w+)+)(:\w+)?")


@dataclass(frozen=True)
class Arrow:
    """An import; `source` and `target` are the dotted names of files, `__init__` of a package's."""

    source: str
    target: str
    place: str


def arrows_of(root: Path, layers: Sequence[str]) -> list[Arrow]:
    """The imports between the files of some packages."""
    paths = {name_of(path, root): path for layer in layers for path in sorted((root / layer).rglob("*.py"))}
    return [
        Arrow(source, target, f"{path.relative_to(root).as_posix()}:{line}")
        for source, path in paths.items()
        for target, line in imports(path, paths.keys())
        if target != source
    ]


def name_of(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts)


def imports(path: Path, known: Collection[str]) -> Iterator[tuple[str, int]]:
    """The files that a file imports, and where."""
    found: dict[tuple[str, int], None] = {}
    for node in ast.walk(tree(path)):
        for candidates in imported(node):
            target = next((name for name in candidates if name in known), None)
            if target is not None:
                found[target, getattr(node, "lineno", 0)] = None
    yield from found


def imported(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """For each thing that a node imports the files that it may be, or be in."""
    if isinstance(node, ast.Import):
        yield from (files_of(alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        yield from ((*files_of(f"{module}.{alias.name}"), *files_of(module)) for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        named = NAMED.fullmatch(node.value)
        yield from [] if named is None else [(named["module"],)]


def files_of(module: str) -> tuple[str, str]:
    return module, f"{module}.__init__"


def package_of(file: str, packages: Sequence[str]) -> str:
    """The package with the longest name that begins the file's; '' where none does."""
    held = [package for package in packages if file == package or file.startswith(f"{package}.")]
    return max(held, key=len, default="")


def upward(arrows: Sequence[Arrow], packages: Sequence[str]) -> list[str]:
    """What is wrong with the arrows between packages, which are in order from the bottom up."""
    level = {package: number for number, package in enumerate(packages)}
    found = []
    for arrow in arrows:
        source, target = package_of(arrow.source, packages), package_of(arrow.target, packages)
        for file, package in ((arrow.source, source), (arrow.target, target)):
            if not package:
                found.append(f"{arrow.place}: {file} is in no package")
        if source and target and level[source] < level[target]:
            found.append(f"{arrow.place}: imports {arrow.target}, but package {source} is below {target}")
    return found


def circle(arrows: Sequence[Arrow]) -> list[str]:
    """The arrows of a circle of files, one after the other; none if there is no circle."""
    after: dict[str, dict[str, Arrow]] = {}
    for arrow in arrows:
        after.setdefault(arrow.source, {}).setdefault(arrow.target, arrow)
    while leaves := {target for found in after.values() for target in found} - after.keys():
        after = _without(after, leaves)
    if not after:
        return []
    path = [next(iter(after))]
    while path[-1] not in path[:-1]:
        path.append(next(iter(after[path[-1]])))
    path = path[path.index(path[-1]) :]
    return [f"{after[a][b].place}: {a} imports {b}" for a, b in pairwise(path)]


def _without(after: Mapping[str, dict[str, Arrow]], leaves: Collection[str]) -> dict[str, dict[str, Arrow]]:
    """Without the arrows to what imports nothing."""
    kept = {
        source: {target: arrow for target, arrow in found.items() if target not in leaves}
        for source, found in after.items()
    }
    return {source: found for source, found in kept.items() if found}
