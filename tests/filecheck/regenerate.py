"""Writes the CHECK lines of function bodies anew, for a reader to judge:

    python tests/filecheck/regenerate.py FILE..

Only for files whose functions begin and end at column 0 and are checked in full; `git diff` then
shows what a change does to every pass.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

RUN = re.compile(
    r"^// RUN: (gradc-opt [^|]*?)\s*(?:\|.*)?\| filecheck %s(?: --check-prefix=(\w+))?$", re.MULTILINE
)
FUNCTION = re.compile(r"^  func\.func @(\w+)\((.*?)^  }", re.MULTILINE | re.DOTALL)


def checks(prefix: str, command: str, path: Path, types: bool) -> dict[str, list[str]]:
    """Function name -> its CHECK lines, from what a RUN line's first command prints."""
    done = subprocess.run(command.replace("%s", str(path)), shell=True, text=True, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr)
    found = {}
    for name, text in FUNCTION.findall(done.stdout):
        head, *body = (line.strip() for line in text.splitlines() if line.strip())
        result = re.findall(r"\) (-> .*) {$", head) if types else []
        found[name] = [
            f"// {prefix}-LABEL: func.func @{name}(",
            *(f"// {prefix}-SAME: {type_}" for type_ in result),
            *(f"// {prefix}-NEXT: {line}" for line in body),
        ]
    return found


def regenerate(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    runs = {prefix or "CHECK": command for command, prefix in reversed(RUN.findall(source))}
    wanted = {
        prefix: checks(prefix, command, path, f"{prefix}-SAME" in source) for prefix, command in runs.items()
    }
    kept = [line for line in source.split("\n") if not re.match(rf"// ({'|'.join(runs)})(-\w+)?:", line)]
    lines: list[str] = []
    name = ""
    for line in kept:
        lines.append(line)
        if start := re.match(r"func\.func @(\w+)", line):
            name = start[1]
        if line == "}":
            lines += [check for found in wanted.values() for check in found[name]]
    path.write_text("\n".join(lines), encoding="utf-8")


for argument in sys.argv[1:]:
    regenerate(Path(argument))
