"""Files: which importer, and files that cannot be read."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.documents import CONV, text_of

from dialects.support.diagnostics import GradcError
from gradc.importers import IMPORTERS, import_file, importer
from gradc.importers.onednn.reader import import_json

JSON = text_of(CONV)
MLIR = str(import_json(JSON, "g.json"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.json", JSON),
        ("g.JSON", JSON),
        ("g.json", "\ufeff" + JSON),
        ("g.mlir", MLIR),
        ("g", JSON),
        ("g.txt", "\n \t" + JSON),
        ("g", "\ufeff\n" + JSON),
        ("g", MLIR),
        ("g.txt", "// text\n" + MLIR),
        ("g.mlir", "\ufeff" + MLIR),
    ],
)
def test_by_suffix_else_by_content(tmp_path: Path, name: str, text: str):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert str(import_file(path)) == MLIR
    assert str(import_file(str(path))) == MLIR


@pytest.mark.parametrize("text", [JSON, MLIR])
def test_stdin(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert str(import_file("-")) == MLIR


@pytest.mark.parametrize("form", IMPORTERS)
def test_every_form_has_its_importer(form: str):
    """It takes a text, the name of its file and a rule, and says what is wrong with an empty graph."""
    with pytest.raises(GradcError):
        importer(form)("{}", f"g.{form}", None)


def line_of(path) -> str:
    with pytest.raises(GradcError) as caught:
        import_file(path)
    assert caught.value.exit_code == 4
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("folder.json").mkdir()
    Path("empty.json").write_text(" \n")
    assert line_of("missing.json") == "error: cannot read missing.json: No such file or directory"
    assert line_of("folder.json") == "error: cannot read folder.json: Is a directory"
    assert line_of("./empty.json") == "./empty.json:1:1: error: the file is empty"
    assert line_of("a\0b").startswith("error: cannot read a")


def test_paths_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("sub/g.json").write_text('{"graph": []}')
    assert line_of("sub/../sub/g.json").startswith(
        "sub/../sub/g.json:1:11: error: graph of the document is empty"
    )
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"{]")))
    assert line_of("-").startswith("<stdin>:1:2: error: not JSON")
