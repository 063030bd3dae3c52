"""The arrows between the layers: xdsl, numpy, ml_dtypes <- dialects <- passes <- gradc."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARRAYS = {"xdsl", "numpy", "ml_dtypes"}
MAY_IMPORT = {
    "dialects": {*ARRAYS, "dialects"},
    "passes": {*ARRAYS, "dialects", "passes"},
    "gradc": {*ARRAYS, "dialects", "passes", "gradc", "click", "platformdirs", "rich"},
}
PEERS = "gradc/bench/peers/"
ONNX = ("dialects/onnx/schema.py", "gradc/model/", "gradc/importers/onnx/", PEERS)
SAFETENSORS = ("gradc/files/safetensors.py",)
THREADPOOLS = ("gradc/compiler/gradient_check.py",)
RUNTIME = ("gradc/runtime/session.py",)
FILES = [path for layer in MAY_IMPORT for path in sorted((ROOT / layer).rglob("*.py"))]


def imports(path: Path) -> Iterator[str]:
    """The dotted names that a file imports; a relative import is reported with its dots."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name)
def test_imports_follow_the_arrows(path: Path):
    layer = name(path).partition("/")[0]
    allowed = MAY_IMPORT[layer] | set(sys.stdlib_module_names)
    allowed |= {"onnx", "google"} if name(path).startswith(ONNX) else set()
    allowed |= {"onnxruntime"} if name(path) in RUNTIME else set()
    allowed |= {"safetensors"} if name(path) in SAFETENSORS else set()
    allowed |= {"threadpoolctl"} if name(path) in THREADPOOLS else set()
    allowed |= {"torch", "onnx_ad"} if name(path).startswith(PEERS) else set()
    allowed |= {"matplotlib"} if name(path) == "gradc/bench/plot.py" else set()
    assert {found for found in imports(path) if found.partition(".")[0] not in allowed} == set()


def pass_modules() -> dict[str, Path]:
    """The files directly in passes/ that hold a pass: a class with a name, derived from one of passes."""
    return {
        f"passes.{path.stem}": path
        for path in sorted((ROOT / "passes").glob("*.py"))
        if any(map(is_pass, ast.walk(ast.parse(path.read_text(encoding="utf-8")))))
    }


def is_pass(node: ast.AST) -> bool:
    if not isinstance(node, ast.ClassDef):
        return False
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    names = {t.id for line in node.body if isinstance(line, ast.Assign) for t in line.targets}
    return bool(bases & {"ModulePass", "TargetPass"}) and "name" in names


def test_passes_do_not_import_each_other():
    modules = pass_modules()
    assert len(modules) >= 9
    for path in modules.values():
        found = set(imports(path)) & set(modules)
        assert found == set(), name(path)
