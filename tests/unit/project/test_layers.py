"""The arrows between the layers: xdsl, numpy, ml_dtypes <- dialects <- passes <- gradc."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from support.sources import ONE_WORKER, tree

pytestmark = ONE_WORKER
ROOT = Path(__file__).resolve().parents[3]
ARRAYS = {"xdsl", "numpy", "ml_dtypes"}
MAY_IMPORT = {
    "dialects": {*ARRAYS, "dialects"},
    "passes": {*ARRAYS, "dialects", "passes"},
    "gradc": {*ARRAYS, "dialects", "passes", "gradc", "click", "platformdirs", "rich"},
}
PEERS = "gradc/bench/peers/"
ONNX = (
    "dialects/onnx/schema.py",
    "gradc/model/",
    "gradc/importers/onnx/",
    "gradc/compiler/function_bodies.py",  # ONNX defines these bodies as protos
    PEERS,
)
SAFETENSORS = ("gradc/files/safetensors.py",)
THREADPOOLS = ("gradc/derivatives/check.py",)
RUNTIME = ("gradc/runtime/session.py", "gradc/training/trainer.py", "gradc/bench/races/steps.py")
FILES = [path for layer in MAY_IMPORT for path in sorted((ROOT / layer).rglob("*.py"))]


def imports(path: Path) -> Iterator[str]:
    """The dotted names that a file imports; a relative import is reported with its dots."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def foreign(path: Path) -> set[str]:
    """The imports that a file may not have."""
    layer = name(path).partition("/")[0]
    allowed = MAY_IMPORT[layer] | set(sys.stdlib_module_names)
    allowed |= {"onnx", "google"} if name(path).startswith(ONNX) else set()
    allowed |= {"onnxruntime"} if name(path) in RUNTIME else set()
    allowed |= {"safetensors"} if name(path) in SAFETENSORS else set()
    allowed |= {"threadpoolctl"} if name(path) in THREADPOOLS else set()
    allowed |= {"torch", "onnx_ad"} if name(path).startswith(PEERS) else set()
    allowed |= {"matplotlib"} if name(path) == "gradc/bench/plot.py" else set()
    return {found for found in imports(path) if found.partition(".")[0] not in allowed}


def test_imports_follow_the_arrows():
    assert len(FILES) > 500
    assert {name(path): found for path in FILES if (found := foreign(path))} == {}


def pass_classes() -> dict[Path, set[str]]:
    """Files of passes/ with the names of the pass classes that they define."""
    found = {
        path: {n.name for n in ast.walk(tree(path)) if is_pass(n)}
        for path in sorted((ROOT / "passes").rglob("*.py"))
    }
    return {path: names for path, names in found.items() if names}


def is_pass(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    if not isinstance(node, ast.ClassDef):
        return False
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    names = {t.id for line in node.body if isinstance(line, ast.Assign) for t in line.targets}
    return bool(bases & {"ModulePass", "TargetPass"}) and "name" in names


def test_passes_run_each_other_by_name_only():
    """A pass may call functions of another one, but a pipeline names the passes that run."""
    classes = pass_classes()
    every = set().union(*classes.values())
    assert len(classes) >= 15
    for path in classes:
        nodes = ast.walk(tree(path))
        imported = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert imported & every == set(), name(path)
