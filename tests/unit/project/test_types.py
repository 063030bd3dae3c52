"""What the type checker is told: strict on the dialects and passes, and where not, a reason."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LAX = re.compile(r"^# pyright: (standard|basic)$", re.MULTILINE)


def files() -> list[Path]:
    return [path for folder in ("dialects", "passes") for path in (ROOT / folder).rglob("*.py")]


def test_the_checker_is_strict_on_dialects_and_passes():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["basedpyright"]
    assert settings["strict"] == ["dialects", "passes"]
    assert not settings.get("exclude")
    assert not [name for name in settings if name.startswith("report")]


@pytest.mark.parametrize(
    "path", [path for path in files() if LAX.search(path.read_text(encoding="utf-8"))], ids=lambda p: p.name
)
def test_a_file_that_is_not_strict_says_why(path: Path):
    first, reason, *_ = path.read_text(encoding="utf-8").splitlines()
    assert LAX.match(first)
    assert re.fullmatch(r"# \(.{20,}\)", reason)


def test_only_tables_and_numpy_are_not_strict():
    lax = {path.relative_to(ROOT) for path in files() if LAX.search(path.read_text(encoding="utf-8"))}
    tables = {Path("passes/lower_onednn/op_specs.py"), Path("passes/decompositions/contrib/activations.py")}
    tables |= {Path(f"dialects/onednn/{name}.py") for name in ("pointwise", "reduce", "softmax")}
    tables |= {Path("dialects/support/columns.py")}
    others = {
        path
        for path in lax - tables
        if path.parent not in (Path("dialects/grad/reference"), Path("dialects/onnx/numpy"))
    }
    assert not others
