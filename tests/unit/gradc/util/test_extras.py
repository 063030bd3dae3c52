"""What is told to install: packages that an index has, as pyproject.toml names them."""

import platform
import re
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from gradc.util import extras

ROOT = Path(__file__).parents[4]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("extra", DECLARED["optional-dependencies"])
def test_the_packages_are_those_of_the_project(extra, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    wanted = {re.split(r"[\[><=;]", entry)[0] for entry in DECLARED["optional-dependencies"][extra]}
    assert {re.split(r"[\[><=;]", entry)[0] for entry in extras.packages(extra)} == wanted


def test_those_of_another_operating_system_are_left_out(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    found = extras.install("peers")
    assert "torch" in found
    assert "onednn" not in found


def test_without_metadata(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "requires", missing)
    assert extras.install("cpu") == "pip install '.[cpu]' in the checkout of gradc"


def test_nothing_tells_to_install_gradc_from_an_index():
    files = [path for top in ("gradc", "passes", "dialects", "docs") for path in (ROOT / top).rglob("*.*")]
    texts = [path for path in [*files, ROOT / "README.md"] if path.suffix in {".py", ".md", ".html"}]
    reported = re.compile(r"""pip install [^\n]*(?:\bgradc\[|install ["']?gradc\b(?!-))""")
    assert [str(path) for path in texts if reported.search(path.read_text(encoding="utf-8"))] == []
