"""What is packed, and how it presents itself; .ci/packages installs it and runs an example."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from setuptools import find_packages

import gradc

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
RELATIVE = re.compile(r"\]\((?!https?:|#)")
LAYERS = ("dialects", "passes", "gradc")
URL = "https://example.org/gradc"


@pytest.fixture(scope="module")
def setup():
    spec = importlib.util.spec_from_file_location("gradc_setup", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_version():
    assert PROJECT["project"]["version"] == gradc.__version__
    assert f"\n## {gradc.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_what_is_packed():
    """Every package but tools, which no packed module imports (test_packages.py)."""
    packed = set(find_packages(str(ROOT), **PROJECT["tool"]["setuptools"]["packages"]["find"]))
    folders = [path.parent for layer in LAYERS for path in (ROOT / layer).rglob("__init__.py")]
    ours = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert {"gradc", "gradc.cli", "gradc.bench.peers", "passes.resize.axis_forms", "dialects.onnx"} <= packed
    assert packed == ours


def test_what_is_run_is_packed():
    for name, target in PROJECT["project"]["scripts"].items():
        module, _, function = target.partition(":")
        assert callable(getattr(import_module(module), function)), name


@pytest.mark.parametrize("package", ["dialects", "passes", "gradc"])
def test_types_are_shipped(package):
    assert (ROOT / package / "py.typed").read_bytes() == b""
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"][package]


def test_the_license():
    assert PROJECT["project"]["license"] == "Apache-2.0"
    for name in PROJECT["project"]["license-files"]:
        assert "Version 2.0, January 2004" in (ROOT / name).read_text(encoding="utf-8")
    assert not [c for c in PROJECT["project"]["classifiers"] if c.startswith("License ::")]


def test_the_index_page_leads_nowhere_that_is_not_there(setup):
    """Without a URL of the repository, pictures are their words."""
    page = setup.index_page(README, None)
    assert RELATIVE.search(README)
    assert not RELATIVE.search(page)
    assert "![" not in page
    assert "A picture in the repository: Time of forward and backward" in page
    assert "<!--" not in page


def test_with_a_url_pictures_and_links_are_whole(setup):
    page = setup.index_page(README, f"{URL}/")
    assert not RELATIVE.search(page)
    assert f"]({URL}/raw/HEAD/docs/speed/networks.svg)" in page
    assert f"]({URL}/blob/HEAD/docs/tutorial.md)" in page
    anchor = re.search(r"\]\((docs/gradients\.md#[^)]*)\)", README)
    assert anchor is not None
    assert f"]({URL}/blob/HEAD/{anchor[1]})" in page


def test_the_rest_of_the_page_is_the_readme(setup):
    def bare(text: str) -> str:
        return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"<!-- .* -->\n", "", text))

    page = setup.index_page(README, None)
    assert re.sub(r"\*\(A picture in the repository: (.*)\.\)\*", r"\1", page) == bare(README)


def test_pre_commit_runs_what_ci_runs():
    hooks = re.findall(r"entry: (.*)", (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    generated = {line for line in ci if line.endswith(" --check")}
    assert len(generated) == 4
    assert generated <= set(hooks)
    assert [hook for hook in hooks if not any(line == hook or line == f"{hook} ." for line in ci)] == []
