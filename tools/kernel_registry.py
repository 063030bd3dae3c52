"""Generator of `passes/kernel_tables/cpu.json` from the runtime's registry.

A model of an opset runs on every supported runtime that has released the opset. So the table has the kernels
of the oldest supported runtime (`python -m tools.kernel_registry --anew`), and for later opsets those
of the first runtime that released them (`python -m tools.kernel_registry` adds the installed one's).
`words` and `fails` are not in a registry: they are kept, and a test runs them.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence

from dialects.onnx.ops import OPS
from dialects.onnx.opsets import OLDEST
from dialects.onnx.schema import NEWEST
from dialects.support.dtypes import ONNX_DTYPES
from gradc.runtime.session import kernels_in_registry, newest_released_opset, runtime_version
from passes.kernel_tables import cpu_sources, failing_types, kernel_table, newest_opset, serves, word_types

_BY_NUMBER = sorted(ONNX_DTYPES, key=lambda dtype: dtype.number)

OPEN_ENDED = 2**31 - 1

Row = tuple[int, int | None, Mapping[str, str]]


def cpu_kernels() -> dict[str, list[Row]]:
    """Return op -> (since, until, dtypes of each type variable), for gradc's ops and opsets."""
    names = {op.onnx_name() for op in OPS}
    found: dict[str, list[Row]] = defaultdict(list)
    for kernel in kernels_in_registry("CPUExecutionProvider"):
        since, last = kernel.version_range
        if kernel.op_name in names and last >= OLDEST:
            types = {v: _words(t) for v, t in sorted(kernel.type_constraints.items())}
            found[kernel.op_name].append((since, None if last == OPEN_ENDED else last, types))
    return {name: _merge(rows) for name, rows in sorted(found.items())}


def _words(types: list[str]) -> str:
    return " ".join(dtype.name for dtype in _BY_NUMBER if f"tensor({dtype.onnx})" in types)


def _merge(rows: list[Row]) -> list[Row]:
    """Merge rows with equal version ranges that differ in one type variable."""
    joined: dict[tuple, set[str]] = defaultdict(set)
    for since, until, types in rows:
        variables = tuple(types)
        key = (since, until, variables if len(variables) < 2 else tuple(types.items()))
        joined[key] |= set(types[variables[0]].split()) if len(variables) == 1 else set()
    merged = []
    for (since, until, what), words in joined.items():
        one = len(what) == 1 and isinstance(what[0], str)
        merged.append((since, until, {what[0]: " ".join(sorted(words))} if one else dict(what)))
    return sorted(merged, key=lambda row: (row[0], json.dumps(row[2])))


def extend(
    known: Mapping[str, Sequence[Row]], newest: int, added: Mapping[str, Sequence[Row]]
) -> dict[str, list[Row]]:
    """Return the known rows up to the opset `newest`, and added ones for newer schemas."""
    found = {name: [row for row in rows if row[0] <= newest] for name, rows in known.items()}
    for op in OPS:
        name = op.onnx_name()
        newer = [revision for revision in op.REVISIONS if revision > newest]
        for since, until, types in added.get(name, ()):
            if any(serves(since, until, revision) for revision in newer):
                found.setdefault(name, []).append((max(since, newest + 1), until, types))
    return dict(sorted(found.items()))


def as_text(anew: bool = False) -> str:
    """Return the table as text: the current one extended, or only the installed runtime's (`anew`)."""
    runtime = f"onnxruntime {runtime_version()}, CPUExecutionProvider, registered kernels"
    released = min(newest_released_opset(), NEWEST)
    if anew:
        return _format({released: runtime}, cpu_kernels())
    newest = newest_opset()
    sources = cpu_sources()
    if released > newest:
        sources = {**sources, released: runtime}
    return _format(sources, extend(kernel_table("cpu"), newest, cpu_kernels()))


def _format(sources: Mapping[int, str], kernels: Mapping[str, Sequence[Row]]) -> str:
    rows = [
        f"  {json.dumps(name)}: [\n" + ",\n".join(f"   {json.dumps(row)}" for row in found) + "\n  ]"
        for name, found in kernels.items()
    ]
    named = ",\n".join(f'  "{opset}": {json.dumps(source)}' for opset, source in sorted(sources.items()))
    words = ",\n".join(f"  {json.dumps(name)}: {json.dumps(w)}" for name, w in word_types("cpu").items())
    fails = ",\n".join(f"  {json.dumps(name)}: {json.dumps(f)}" for name, f in failing_types("cpu").items())
    named += f'\n }},\n "words": {{\n{words}\n }},\n "fails": {{\n{fails}'
    return f'{{\n "sources": {{\n{named}\n }},\n "kernels": {{\n' + ",\n".join(rows) + "\n }\n}"


if __name__ == "__main__":
    print(as_text(anew="--anew" in sys.argv[1:]))
