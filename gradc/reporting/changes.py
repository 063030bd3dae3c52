"""Line differences between the module before and after a pass.

Lines are aligned without value names, as passes rename values. A line whose operands come from elsewhere
counts as changed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from xdsl.dialects.builtin import ModuleOp

from gradc.graph.printing import elided_text

Mark = Literal["same", "added", "removed"]
Pair = tuple[int, int]

MAX_COMPARISONS = 250_000
"""Maximum product of line (or word) counts for a full comparison."""

MIN_SIMILARITY = 0.5
"""Fraction of words that two lines must share to have their differences marked."""

LEAST_FOLDED = 4

VALUE = re.compile(r"%[\w$.-]+")
WORD = re.compile(r"%?[\w$.-]+|\s+|.", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """Part of a line; `changed` if its words differ from those of the aligned line."""

    text: str
    changed: bool


@dataclass(frozen=True)
class Line:
    mark: Mark
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True)
class Stretch:
    """Consecutive lines; `fold` if they are far from any change."""

    lines: tuple[Line, ...]
    folded: bool


def changes(before: ModuleOp | None, after: ModuleOp) -> tuple[Line, ...]:
    """Return the lines of both modules, without large constants; all unchanged without a `before`."""
    return text_changes(None if before is None else elided_text(before), elided_text(after))


def text_changes(before: str | None, after: str) -> tuple[Line, ...]:
    """Compare the texts of modules that `gradc.graph.printing.elided_text` returns, as `changes` does."""
    new = after.strip().splitlines()
    if before is None:
        return tuple(_plain("same", line) for line in new)
    old = before.strip().splitlines()
    kept = _unchanged_lines(old, new)
    renamed, _ = _renamings(old, new, kept)
    return tuple(_lines(old, new, kept, renamed))


def fold(lines: Sequence[Line], context: int = 3) -> tuple[Stretch, ...]:
    """Group the lines; those more than `context` lines from a change are folded."""
    near = [False] * len(lines)
    for index, line in enumerate(lines):
        if line.mark != "same":
            first, last = max(0, index - context), index + context + 1
            near[first:last] = [True] * len(near[first:last])
    stretches: list[Stretch] = []
    for start, end in _runs(near):
        hidden = not near[start] and end - start >= LEAST_FOLDED
        stretch = tuple(lines[start:end])
        if stretches and not hidden and not stretches[-1].folded:
            stretches[-1] = Stretch((*stretches[-1].lines, *stretch), False)
        else:
            stretches.append(Stretch(stretch, hidden))
    return tuple(stretches)


def _runs(flags: Sequence[bool]) -> Iterator[Pair]:
    start = 0
    for end in range(1, len(flags) + 1):
        if end == len(flags) or flags[end] != flags[start]:
            yield start, end
            start = end


def _plain(mark: Mark, text: str) -> Line:
    return Line(mark, (Part(text, False),))


def _unchanged_lines(old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """Return the unchanged lines of both texts, in order."""
    bare_old, bare_new = ([VALUE.sub("%", line) for line in lines] for lines in (old, new))
    pairs = _align(bare_old, bare_new)
    return [pair for pair, moved in zip(pairs, _reads_differ(old, new, pairs), strict=True) if not moved]


def _align(a: Sequence[str], b: Sequence[str]) -> list[Pair]:
    """Align equal lines in order (patience diff): those at both ends of each stretch, then those that occur
    once, recursively between them."""
    found: list[Pair] = []
    stretches = [(0, len(a), 0, len(b))]
    while stretches:
        i, i_end, j, j_end = stretches.pop()
        while i < i_end and j < j_end and a[i] == b[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        while i < i_end and j < j_end and a[i_end - 1] == b[j_end - 1]:
            i_end, j_end = i_end - 1, j_end - 1
            found.append((i_end, j_end))
        if i == i_end or j == j_end:
            continue
        anchors = _anchors(a, b, i, i_end, j, j_end)
        found += anchors or _match(a, b, i, i_end, j, j_end)
        for next_i, next_j in (*anchors, (i_end, j_end)) if anchors else ():
            stretches.append((i, next_i, j, next_j))
            i, j = next_i + 1, next_j + 1
    return sorted(found)


def _match(a: Sequence[str], b: Sequence[str], i: int, i_end: int, j: int, j_end: int) -> Iterator[Pair]:
    """Yield equal lines of a stretch without unique lines, unless it is too long."""
    if (i_end - i) * (j_end - j) > MAX_COMPARISONS:
        return
    for block in SequenceMatcher(None, a[i:i_end], b[j:j_end], autojunk=False).get_matching_blocks():
        yield from ((i + block.a + k, j + block.b + k) for k in range(block.size))


def _anchors(a: Sequence[str], b: Sequence[str], i: int, i_end: int, j: int, j_end: int) -> list[Pair]:
    """Return the longest increasing sequence of the lines that occur once on each side."""
    once_a, once_b = Counter(a[i:i_end]), Counter(b[j:j_end])
    where = {b[k]: k for k in range(j, j_end) if once_b[b[k]] == 1}
    pairs = [(k, where[a[k]]) for k in range(i, i_end) if once_a[a[k]] == 1 and a[k] in where]
    return _increasing(pairs)


def _increasing(pairs: Sequence[Pair]) -> list[Pair]:
    """Return a longest subsequence of pairs that increases in both numbers."""
    tops: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, (_, second) in enumerate(pairs):
        pile = bisect_left(tops, second)
        previous.append(ends[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(second)
            ends.append(index)
        else:
            tops[pile], ends[pile] = second, index
    found, index = [], ends[-1] if ends else -1
    while index >= 0:
        found.append(pairs[index])
        index = previous[index]
    return found[::-1]


def _reads_differ(old: Sequence[str], new: Sequence[str], pairs: Sequence[Pair]) -> Iterator[bool]:
    """Yield for each pair of lines whether they read different values.

    A value that no line of the other module defines does not count; the line that defines it does.
    """
    forth, back = _renamings(old, new, pairs)
    for i, j in pairs:
        yield any(
            forth.get(one, other) != other or back.get(other, one) != one
            for one, other in zip(VALUE.findall(old[i]), VALUE.findall(new[j]), strict=True)
        )


def _renamings(
    old: Sequence[str], new: Sequence[str], pairs: Sequence[Pair]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the new names of the values that aligned lines define, and the inverse map."""
    forth: dict[str, str] = {}
    for i, j in pairs:
        count = _definition_count(old[i])
        forth |= dict(zip(VALUE.findall(old[i])[:count], VALUE.findall(new[j])[:count], strict=True))
    return forth, {other: one for one, other in forth.items()}


def _definition_count(line: str) -> int:
    """Return how many of the leading values of a line it defines."""
    if line.lstrip().startswith("func.func"):
        return len(VALUE.findall(line))
    makes, equals, _ = line.partition(" = ")
    return len(VALUE.findall(makes)) if equals and makes.lstrip().startswith("%") else 0


def _lines(
    old: Sequence[str], new: Sequence[str], kept: Sequence[Pair], renamed: Mapping[str, str]
) -> Iterator[Line]:
    i = j = 0
    for next_i, next_j in (*kept, (len(old), len(new))):
        yield from _replacement_lines(old[i:next_i], new[j:next_j], renamed)
        if next_j < len(new):
            yield _plain("same", new[next_j])
        i, j = next_i + 1, next_j + 1


def _replacement_lines(
    removed: Sequence[str], added: Sequence[str], renamed: Mapping[str, str]
) -> Iterator[Line]:
    marked_old: dict[int, Line] = {}
    marked_new: dict[int, Line] = {}
    for i, j in _same_ops(removed, added):
        marked_old[i], marked_new[j] = _mark_words(removed[i], added[j], renamed)
    yield from (marked_old.get(i) or _plain("removed", line) for i, line in enumerate(removed))
    yield from (marked_new.get(j) or _plain("added", line) for j, line in enumerate(added))


def _same_ops(removed: Sequence[str], added: Sequence[str]) -> Iterator[Pair]:
    """Yield each removed line with the next similar added one."""
    by_op: dict[str, list[int]] = {}
    for j, line in enumerate(added):
        by_op.setdefault(_op(line), []).append(j)
    for i, line in enumerate(removed):
        candidates = by_op.get(_op(line), [])
        if candidates and _is_similar(line, added[candidates[0]]):
            yield i, candidates.pop(0)


def _is_similar(old: str, new: str) -> bool:
    one, other = WORD.findall(old), WORD.findall(new)
    if len(one) * len(other) > MAX_COMPARISONS:
        return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= MIN_SIMILARITY


def _op(line: str) -> str:
    words = VALUE.sub("", line).replace("=", " ").split()
    return next((word for word in words if "." in word), "")


def _mark_words(old: str, new: str, renamed: Mapping[str, str]) -> tuple[Line, Line]:
    """Return both lines with differing words marked; a renamed value is not a difference."""
    one, other = WORD.findall(old), WORD.findall(new)
    names = dict(renamed)
    if (count := _definition_count(old)) == _definition_count(new):
        names |= dict(zip(VALUE.findall(old)[:count], VALUE.findall(new)[:count], strict=True))
    removed: list[Part] = []
    added: list[Part] = []
    matcher = SequenceMatcher(None, [names.get(word, word) for word in one], other, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        changed = tag != "equal"
        removed += [Part("".join(one[i:i_end]), changed)] if i < i_end else []
        added += [Part("".join(other[j:j_end]), changed)] if j < j_end else []
    return Line("removed", tuple(removed)), Line("added", tuple(added))
