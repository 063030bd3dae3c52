"""Failures, and whether another module fails in the same way."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import Diagnostic, GradcError, UsageError, usage
from gradc.compiler.compiled import Compiled
from gradc.compiler.options import Options
from gradc.crash_reports.crash import heading, one_line
from gradc.crash_reports.recipes import PASSES, Recipe
from gradc.files.writing import write_atomically
from gradc.graph.printing import module_text
from gradc.inspection.verify_ops import verify
from gradc.model.exporter import export_parts
from gradc.reduction.replay import fault_of
from gradc.verification.samples import random_inputs
from gradc.verification.verify import OutputError

PLACE = "{}"


class Failure(Protocol):
    def holds(self, module: ModuleOp) -> bool:
        """Return whether a module, which may be modified, fails in the same way."""
        ...

    def heading(self) -> str:
        """Return the comments of the reduced module that explain how to reproduce the failure."""
        ...

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Crash:
    """An internal error in the step, and of the type, that the recipe names."""

    recipe: Recipe
    message: str

    def holds(self, module: ModuleOp) -> bool:
        try:
            found = fault_of(module, self.recipe)
        except (GradcError, MemoryError):
            return False
        return found is not None and found.kind == (self.recipe.step, self.recipe.error)

    def heading(self) -> str:
        return heading(self.recipe, self.message)

    def __str__(self) -> str:
        return f"internal error in {self.recipe.step}: {self.recipe.error}: {self.message}"


@dataclass(frozen=True)
class Mismatch:
    """An output that `gradc verify` finds wrong; `command` reproduces it."""

    options: Options
    seed: int
    ep: Any
    command: str

    def holds(self, module: ModuleOp) -> bool:
        try:
            rows = self.rows(module)
        except Exception:
            return False
        return not all(row.ok for row in rows)

    def rows(self, module: ModuleOp) -> list[OutputError]:
        """Return the errors of outputs and ops, as `gradc verify` does; an internal error leaves no file."""
        source = module.clone()
        fault = fault_of(module, Recipe(PASSES, "", pipeline=self.options.pipeline))
        if fault is not None:
            raise fault.error
        parts = export_parts(module, opset=self.options.resolve_target().opset, metadata={})
        compiled = Compiled(parts, (), source, module, self.options)
        inputs = random_inputs(source, self.seed)
        return verify(compiled, inputs, compiled.session(self.ep).run(inputs), ep=self.ep)

    def heading(self) -> str:
        return f"// wrong numbers: {self.command}\n"

    def __str__(self) -> str:
        return "wrong numbers by gradc verify"


@dataclass(frozen=True)
class Command:
    """A user's command that exits with 0 for a module; {} is replaced by its file."""

    command: str
    seconds: float

    def __post_init__(self) -> None:
        if PLACE not in self.command or not self._words("file"):
            expected = f"a command with {PLACE} for the file"
            raise usage("--interesting", self.command, expected)

    def holds(self, module: ModuleOp) -> bool:
        with tempfile.TemporaryDirectory(prefix="gradc-reduce-") as folder:
            path = Path(folder) / "graph.mlir"
            write_atomically(path, module_text(module).encode())
            try:
                done = subprocess.run(
                    self._words(str(path)),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=self.seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return False
            except OSError as error:
                text = f"--interesting: cannot run {self.command}: {error.strerror}"
                raise UsageError(Diagnostic("error", text)) from None
        return done.returncode == 0

    def _words(self, path: str) -> list[str]:
        try:
            return [word.replace(PLACE, path) for word in shlex.split(self.command)]
        except ValueError as error:
            raise UsageError(Diagnostic("error", f"--interesting: {one_line(error)}")) from None

    def heading(self) -> str:
        return f"// interesting: {self.command.replace(PLACE, 'THIS_FILE')}\n"

    def __str__(self) -> str:
        return f"{self.command} exits with code 0"
