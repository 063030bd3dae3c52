"""The installed runtime's own list of kernels, in the form of `passes/kernels/cpu.json`.

python -m gradc.kernel_registry > passes/kernels/cpu.json
"""

from __future__ import annotations

import json
from collections import defaultdict

from dialects.onnx.ops import OPS
from dialects.onnx.opsets import OLDEST
from gradc.runtime import registered_kernels, runtime_version
from gradc.tensors import ELEMENT_TYPES

OPEN_ENDED = 2**31 - 1

Row = tuple[int, int | None, dict[str, str]]


def cpu_kernels() -> dict[str, list[Row]]:
    """Op -> (since, until, dtypes of each type variable), for gradc's ops and opsets."""
    names = {op.onnx_name() for op in OPS}
    found: dict[str, list[Row]] = defaultdict(list)
    for kernel in registered_kernels("CPUExecutionProvider"):
        since, last = kernel.version_range
        if kernel.op_name in names and last >= OLDEST:
            types = {v: _words(t) for v, t in sorted(kernel.type_constraints.items())}
            found[kernel.op_name].append((since, None if last == OPEN_ENDED else last, types))
    return {name: _merged(rows) for name, rows in sorted(found.items())}


def _words(types: list[str]) -> str:
    return " ".join(e.name for e in ELEMENT_TYPES if f"tensor({e.runtime})" in types)


def _merged(rows: list[Row]) -> list[Row]:
    """One row per version range where the kernels differ in one type variable only."""
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


def as_text() -> str:
    rows = [
        f"  {json.dumps(name)}: [\n" + ",\n".join(f"   {json.dumps(row)}" for row in found) + "\n  ]"
        for name, found in cpu_kernels().items()
    ]
    source = f"onnxruntime {runtime_version()}, CPUExecutionProvider, registered kernels"
    return f'{{\n "source": {json.dumps(source)},\n "kernels": {{\n' + ",\n".join(rows) + "\n }\n}"


if __name__ == "__main__":
    print(as_text())
