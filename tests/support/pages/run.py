"""One page: its working directory and how each kind of block is run."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from support.pages.markdown import Block, parsed
from support.pages.matching import Mismatch, contains, equals
from support.pages.shell import Folder, Step, steps
from sybil import Document, Example
from sybil.evaluators.python import PythonEvaluator
from sybil.region import Lexeme

ROOT = Path(__file__).resolve().parents[3]
COPIED = (
    "dialects",
    "passes",
    "gradc",
    "tools",
    "tests",
    "examples",
    "benchmarks",
    "docs",
    "pyproject.toml",
    "README.md",
    "SECURITY.md",
)
MADE = shutil.ignore_patterns("__pycache__", "node_modules", ".*_cache", ".hypothesis", "models", "build")
# What Sphinx makes of such a block is checked by Sphinx.
DIRECTIVES = ("toctree", "image", "figure", "note", "tip", "warning", "eval-rst", "include", "list-table")


def pages() -> list[Path]:
    """Every page whose blocks are run: all but the reference of Python, whose blocks are signatures."""
    written = [ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")]
    written += (path for path in (ROOT / "examples").rglob("README.md") if "node_modules" not in path.parts)
    return sorted(set(written) - {ROOT / "docs/reference/api.md"})


def is_here(name: str) -> bool:
    return bool(importlib.util.find_spec(name) or shutil.which(name))


class Page:
    """A page in a working directory of its own, below `scratch`."""

    def __init__(self, path: Path, scratch: Path, root: Path = ROOT):
        self.root = root
        self.grows = (root / "docs" / "extending") in path.parents
        self.left_out: list[str] = []
        self.printed = ""
        work = scratch / "work"
        self._fill(work)
        for name in ("cache", "tmp", "site"):
            (scratch / name).mkdir()
        self.folder = Folder(work, self._environment(scratch, work if self.grows else root))
        self.document: Document = parsed(path, self.evaluate)
        self.document.namespace["__name__"] = "__main__"

    def _fill(self, work: Path) -> None:
        work.mkdir()
        for name in COPIED if self.grows else ("examples",):
            source = self.root / name
            if source.is_dir():
                shutil.copytree(source, work / name, ignore=MADE)
            elif source.exists():
                shutil.copy(source, work / name)

    def _environment(self, scratch: Path, importable: Path) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "GRADC_"))}
        return kept | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}",
            "PYTHONPATH": f"{importable}{os.pathsep}{scratch / 'site'}",
            "SITE": str(scratch / "site"),
            "REPOSITORY": str(self.root),
            "GRADC_CACHE_DIR": str(scratch / "cache"),
            "TMPDIR": str(scratch / "tmp"),
            "COLUMNS": "110",
            "NO_COLOR": "1",
            "LC_ALL": "C.UTF-8",
        }

    def examples(self) -> Iterator[Example]:
        return self.document.examples()

    def evaluate(self, example: Example) -> None:
        """Raises AssertionError (Mismatch where other output would do) if a block is not what it says."""
        block: Block = example.parsed
        missing = block.comments.get("needs")
        if missing and not is_here(missing):
            self.left_out.append(f"line {example.line} needs {missing}")
            return
        if "setup" in block.comments:
            self.folder.must(block.comments["setup"])
        for word in ("file", "output", "printed", "insert", "command"):
            if word in block.comments:
                getattr(self, f"_{word}")(block, block.comments[word])
                return
        self._run(block, example)

    def _run(self, block: Block, example: Example) -> None:
        if block.language == "python":
            self._python(block, example)
        elif block.language == "sh":
            self.folder.must(block.source)
        elif block.language == "console":
            self._console(block)
        else:
            known = block.language.startswith("{") and block.language.strip("{").split("}")[0] in DIRECTIVES
            assert known, f"a block of {block.language or 'no language'!r} needs a comment: what is it?"

    def _python(self, block: Block, example: Example) -> None:
        assert not self.grows, "here python blocks are files: these tests run another gradc than the page's"
        message = io.StringIO()
        example.parsed = Lexeme(block.source, 0, 0)
        with (
            contextlib.chdir(self.folder.path),
            mock.patch.dict(os.environ, self.folder.environment),
            contextlib.redirect_stdout(message),
        ):
            PythonEvaluator()(example)
        self.printed = message.getvalue()

    def _console(self, block: Block) -> None:
        todo = steps(block.lines)
        done = self.folder.session([step.command for step in todo])
        followers = [step.command for step in todo[1:]] + [""]
        for step, (code, printed), follower in zip(todo, done, followers, strict=True):
            reported = follower.strip() == "echo $?"
            assert code == 0 or reported, f"$ {step.command}\nexit code {code}, not told:\n{printed}"
        wrong = [
            f"$ {step.command}\nprints\n{printed}"
            for step, (_, printed) in zip(todo, done, strict=True)
            if not equals(step.shown, printed)
        ]
        if wrong:
            fresh = [
                step if equals(step.shown, printed) else Step(step.command, printed.rstrip("\n").splitlines())
                for step, (_, printed) in zip(todo, done, strict=True)
            ]
            raise Mismatch("\n".join(wrong), "\n".join(map(str, fresh)))

    def _output(self, block: Block, command: str) -> None:
        code, printed = self.folder.bash(command)
        if not block.lines or not contains(block.lines, printed):
            raise Mismatch(f"$ {command}\nexit code {code}, prints\n{printed}", printed.rstrip("\n"))

    def _printed(self, block: Block, _: str) -> None:
        if not equals(block.lines, self.printed):
            raise Mismatch(f"the block before printed\n{self.printed}", self.printed.rstrip("\n"))

    def _file(self, block: Block, name: str) -> None:
        original = self.root / name
        if original.is_file():
            text = original.read_text(encoding="utf-8")
            assert contains(block.lines, text), f"{name} does not contain this:\n{block.source}"
            return
        target = self._inside(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.source, encoding="utf-8")
        if block.source.startswith("#!"):
            target.chmod(0o755)

    def _insert(self, block: Block, where: str) -> None:
        name, _, line = where.partition(" after: ")
        target = self._inside(name)
        lines = target.read_text(encoding="utf-8").splitlines()
        places = [number for number, text in enumerate(lines) if text.strip() == line.strip()]
        assert len(places) == 1, f"{name} has {len(places)} lines {line.strip()!r}"
        lines[places[0] + 1 : places[0] + 1] = block.lines
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _command(self, block: Block, name: str) -> None:
        run = (self.root / ".ci/run").read_text(encoding="utf-8").splitlines()
        assert any(line.split()[:2] == ["run_readme", name] for line in run), name
        for part in block.source.strip().split(" && "):
            if part.startswith(".venv/bin/gradc"):
                self.folder.must(part.removeprefix(".venv/bin/"))

    def _inside(self, name: str) -> Path:
        target = self.folder.path / name
        assert target.resolve().is_relative_to(self.folder.path.resolve()), f"{name} is outside"
        return target
