"""Nothing in the tree reads or writes pickles: a pickle from a stranger is a program."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dialects.support.diagnostics import GradcError
from gradc.files.npz import read_npz

ROOT = Path(__file__).resolve().parents[3]
OURS = ("dialects", "passes", "gradc", "benchmarks", "examples", "docs")
FILES = [path for folder in OURS for path in sorted((ROOT / folder).rglob("*.py"))]
PICKLES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
LOADERS = ("load", "read_array")
WRITERS = ("save", "write_array")


def faults(text: str) -> Iterator[str]:
    """What a Python source has to do with pickles."""
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Call):
            yield from call_faults(node)
        yield from (f"import of {n}" for n in names if n.partition(".")[0] in PICKLES)


def call_faults(node: ast.Call) -> Iterator[str]:
    """`allow_pickle` is False wherever numpy asks, and is given where its default may change."""
    callee = ast.unparse(node.func)
    allowed = {k.arg: ast.unparse(k.value) for k in node.keywords}.get("allow_pickle")
    root, _, name = callee.rpartition(".")
    of_numpy = root in ("np", "numpy", "np.lib.format", "numpy.lib.format")
    if allowed not in (None, "False") or (of_numpy and name in (*LOADERS, *WRITERS) and allowed is None):
        yield f"{callee} with allow_pickle={allowed}"
    if name in ("read_pickle", "to_pickle", "dump_pickle") or callee.startswith("torch.load"):
        yield callee


def test_no_pickle():
    assert len(FILES) > 500
    found = {path: list(faults(path.read_text(encoding="utf-8"))) for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "import os, dill.source",
        "from pickle import loads",
        "from multiprocessing import pickle",
        "np.load(path)",
        "numpy.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=allowed)",
        "np.save(path, array)",
        "np.lib.format.read_array(file)",
        "frame.read_pickle(path)",
        "torch.load(path)",
    ],
)
def test_what_would_be_found(text):
    assert len(list(faults(text))) == 1


@pytest.mark.parametrize("text", ["np.load(path, allow_pickle=False)", "onnx.load(path)", "json.load(file)"])
def test_what_is_no_fault(text):
    assert list(faults(text)) == []


class Trap:
    """Unpickling it leaves a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_pickle_in_an_archive_is_not_executed(tmp_path):
    sprung = tmp_path / "sprung"
    np.savez(tmp_path / "a.npz", x=np.array([Trap(sprung)], object))
    with pytest.raises(GradcError, match='cannot read array "x"'):
        read_npz(tmp_path / "a.npz")
    assert not sprung.exists()


def test_a_pickle_in_place_of_an_archive_is_not_executed(tmp_path):
    sprung = tmp_path / "sprung"
    (tmp_path / "a.npz").write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(GradcError, match=r"it is not an \.npz file"):
        read_npz(tmp_path / "a.npz")
    assert not sprung.exists()
