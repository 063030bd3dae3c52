"""Commands of a page, run by bash."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

SECONDS = 300

_MARK = "== the end of a command of this page =="


@dataclass(frozen=True)
class Folder:
    """Where commands run: a directory and the environment."""

    path: Path
    environment: dict[str, str]

    def bash(self, script: str) -> tuple[int, str]:
        """Exit code and what it prints, stderr among it."""
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
        )
        return done.returncode, done.stdout.decode()

    def must(self, script: str) -> str:
        """What a script prints that has to end well."""
        code, printed = self.bash(f"set -euo pipefail\n{script}")
        assert code == 0, f"exit code {code}:\n{script}\n{printed}"
        return printed

    def session(self, commands: list[str]) -> list[tuple[int, str]]:
        """Exit code and output of each command; they share a shell, and `$?` is that of the one before."""
        steps = [f"{command}\ncode=$?; printf '\\n{_MARK}%d\\n' $code; (exit $code)" for command in commands]
        _, printed = self.bash("\n".join(steps))
        parts = re.split(rf"\n{_MARK}(\d+)\n", printed)
        found = [(int(code), text) for text, code in zip(parts[0::2], parts[1::2], strict=False)]
        assert len(found) == len(commands), f"the shell ended early:\n{printed}"
        return found


@dataclass(frozen=True)
class Step:
    """A command of a console block and what the block shows of its output."""

    command: str
    shown: list[str]

    def __str__(self) -> str:
        return "\n".join([f"$ {self.command}", *self.shown])


def steps(lines: list[str]) -> list[Step]:
    """A command begins with `$ ` and goes on after a backslash at the end of a line."""
    found: list[Step] = []
    for line in lines:
        if line.startswith("$ "):
            found.append(Step(line[2:], []))
            continue
        assert found, f"a console block begins with a line '$ command', not with {line!r}"
        last = found[-1]
        if last.command.endswith("\\") and not last.shown:
            found[-1] = Step(f"{last.command}\n{line}", [])
        else:
            last.shown.append(line)
    return found
