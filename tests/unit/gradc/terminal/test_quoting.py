"""The quoted line under a diagnostic: which line, where the caret stands, what fits the width."""

from __future__ import annotations

import linecache
import os
import threading
from pathlib import Path

import pytest
from rich.cells import cell_len
from support.documents import CONV, attrs, changed, first_op, ports, text_of

from dialects.support.diagnostics import Diagnostic, GradcError, Position
from gradc.builder.graph import Graph
from gradc.files import reading
from gradc.importers import import_file
from gradc.importers.onednn.reader import import_json
from gradc.terminal.quoting import GUTTER, quote


@pytest.fixture
def quoted(tmp_path):
    """The quote of a place in a file that has this text."""
    path = tmp_path / "g.mlir"

    def make(text: str | bytes, line: int, column: int, width: int = 80) -> list[str]:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        place = Position(str(path), line, column)
        return quote(Diagnostic("error", "wrong", position=place), width).split("\n")

    return make


def column_of(row: str) -> int:
    """Where the caret stands, in columns of the terminal."""
    return cell_len(row[: row.index("^")])


class TestCaret:
    def test_a_word_is_underlined(self, quoted):
        assert quoted("a\n  %dx = onednn.nothing %x\n", 2, 9) == [
            "    2 |   %dx = onednn.nothing %x",
            "      |         ^~~~~~~~~~~~~~",
        ]

    def test_a_string_is_underlined(self, quoted):
        assert quoted('{"value": "NC HW"}', 1, 11)[1] == "      |           ^~~~~~~"

    def test_another_character_is_marked_alone(self, quoted):
        assert quoted("f(x) = [1, 2]", 1, 6)[1] == "      |      ^"

    def test_a_list_is_marked_whole(self, quoted):
        assert quoted("f(x) = [1, 2], y", 1, 8)[1] == "      |        ^~~~~~"
        assert quoted("f(x) = [[1], 2], y", 1, 8)[1] == "      |        ^"

    def test_behind_the_end(self, quoted):
        assert quoted('{"graph": ', 1, 11) == ['    1 | {"graph":', "      |           ^"]

    def test_a_tab_is_four_columns(self, quoted):
        assert quoted("\t\tdx = 1", 1, 3) == ["    1 |         dx = 1", "      |         ^~"]

    @pytest.mark.parametrize("name", ["図形", "e\u0301te\u0301", "\U0001f600\U0001f600"])
    def test_wide_and_combining_characters(self, quoted, name: str):
        text, caret = quoted(f'"{name}": wrong', 1, len(name) + 5)
        assert column_of(caret) == cell_len(text[: text.index("wrong")])

    def test_controls_are_escaped(self, quoted):
        text, caret = quoted('"\x1b[31m\u202e": wrong', 1, 11)
        assert text == '    1 | "\\x1b[31m\\u202e": wrong'
        assert column_of(caret) == text.index("wrong")

    def test_bytes_that_are_no_text(self, quoted):
        text, _ = quoted(b'"\xff": wrong', 1, 6)
        assert text == '    1 | "\ufffd": wrong'

    def test_a_byte_order_mark_and_windows_ends(self, quoted):
        assert quoted("\ufeffa\r\nbad\r\n".encode(), 2, 1) == ["    2 | bad", "      | ^~~"]
        assert quoted("\ufeffbad\r\n".encode(), 1, 1) == ["    1 | bad", "      | ^~~"]


class TestWidth:
    @pytest.mark.sweep
    @pytest.mark.parametrize("width", [40, 80, 200])
    @pytest.mark.parametrize("at", [1, 2, 30, 500, 970, 999])
    @pytest.mark.parametrize("letter", ["x", "図", "\x1b", "\u0301"])
    def test_a_long_line_is_cut_around_the_caret(self, quoted, width: int, at: int, letter: str):
        line = letter * (at - 1) + "[" + letter * (1000 - at)
        text, caret = quoted(line, 1, at, width)
        assert cell_len(text) <= width
        assert cell_len(caret) <= width
        assert column_of(caret) == cell_len(text[: text.index("[")])
        assert "..." in text

    def test_a_long_token_is_underlined_as_far_as_it_is_shown(self, quoted):
        text, caret = quoted('"' + "x" * 1000 + '"', 1, 1)
        assert text.endswith("x...")
        assert cell_len(caret) == cell_len(text) - 3

    def test_what_fits_is_whole(self, quoted):
        line = "x" * (80 - GUTTER)
        assert quoted(line, 1, 40)[0] == f"    1 | {line}"

    def test_a_line_of_ten_megabytes_takes_no_time(self, quoted):
        text, _ = quoted("a, " * 4_000_000, 1, 6_000_001)
        assert cell_len(text) <= 80


class TestFollowing:
    TEXT = '{"graph": [\n {\n  "id": 0,\n  "name": "a",\n  "kind": "b",\n  "more": 1\n }]}'

    def test_lines_after_a_bracket(self, quoted):
        assert quoted(self.TEXT, 2, 2) == [
            "    2 |  {",
            "      |  ^",
            '    3 |   "id": 0,',
            '    4 |   "name": "a",',
            '    5 |   "kind": "b",',
        ]

    def test_a_bracket_with_its_content_is_enough(self, quoted):
        assert len(quoted('{"graph": [{"id": 0}]}\nmore', 1, 11)) == 2


class TestSources:
    def line(self, file: object, line: int = 1) -> str:
        return quote(Diagnostic("error", "wrong", position=Position(str(file), line, 1)), 80)

    def test_without_a_place(self):
        assert quote(Diagnostic("error", "wrong"), 80) == ""

    def test_none_that_is_gone(self, tmp_path):
        assert self.line(tmp_path / "none.json") == ""
        assert self.line("a\0b") == ""
        assert self.line(tmp_path) == ""

    @pytest.mark.parametrize("line", [0, 2, 3, 10**9])
    def test_no_line_that_is_empty_or_not_there(self, tmp_path, line: int):
        path = tmp_path / "g.mlir"
        path.write_text("text\n  \n")
        assert self.line(path, line) == ""

    def test_none_that_is_huge(self, tmp_path):
        path = tmp_path / "g.json"
        path.write_text("{\n" + " " * reading.QUOTABLE)
        assert self.line(path) == ""

    def test_a_changed_file_is_read_again(self, tmp_path):
        path = tmp_path / "g.mlir"
        for text in ("before", "after"):
            path.write_text(text)
            os.utime(path, ns=(0, len(text)))
            assert text in self.line(path)

    def test_a_pipe_is_not_waited_for(self, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        assert self.line(path) == ""

    def test_what_came_through_a_pipe_was_kept(self, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_text, args=("func.func @f() { wrong }",), daemon=True)
        writer.start()
        with pytest.raises(GradcError) as caught:
            import_file(path)
        writer.join(10)
        assert "wrong" in quote(caught.value.diagnostic, 80)

    def test_a_statement_in_python(self):
        graph = Graph()
        with pytest.raises(GradcError) as caught:
            graph.input("x", "f33", [1])  # this very line
        text, caret, *more = quote(caught.value.diagnostic, 120).split("\n")
        assert not more
        statement = 'graph.input("x", "f33", [1])  # this very line'
        assert text.endswith(f" | {' ' * 12}{statement}")
        assert caret == "      | " + " " * 12 + "^" + "~" * (len(statement) - 1)

    def test_a_cell_of_a_notebook(self, monkeypatch):
        lines = ["import gradc\n", "wrong()\n"]
        monkeypatch.setitem(linecache.cache, "<cell 1>", (13, None, lines, "<cell 1>"))
        assert self.line("<cell 1>", 2) == "    2 | wrong()\n      | ^~~~~~~"


def culprit(document: dict, tmp_path: Path) -> str:
    """What is underlined of a JSON document, with one value a line."""
    path = tmp_path / "g.json"
    path.write_text(text_of(document), encoding="utf-8")
    with pytest.raises(GradcError) as caught:
        import_json(path.read_text(encoding="utf-8"), str(path))
    text, caret, *_ = quote(caught.value.diagnostic, 200).split("\n")
    return text[caret.index("^") :][: caret.count("~") + 1]


def row_of(document: dict, tmp_path: Path) -> str:
    """The line of a JSON document that is quoted."""
    path = tmp_path / "g.json"
    path.write_text(text_of(document), encoding="utf-8")
    with pytest.raises(GradcError) as caught:
        import_json(path.read_text(encoding="utf-8"), str(path))
    return path.read_text(encoding="utf-8").splitlines()[caught.value.diagnostic.position.line - 1].strip()


@pytest.mark.parametrize(
    ("change", "marked"),
    [
        (attrs(groups=0), "0"),
        (attrs(data_format="NCHW"), '"NCHW"'),
        (first_op(kind="ConvolutionBackwardDate"), '"ConvolutionBackwardDate"'),
        (first_op(name="\ud800"), '"\\ud800"'),
        (first_op(id="x"), '"x"'),
        (attrs(strides=[0, 1]), "["),
        (attrs(strids=[1, 1]), '"strids"'),
    ],
)
def test_the_value_that_is_wrong_is_marked(change, marked: str, tmp_path: Path):
    assert culprit(changed(CONV, change), tmp_path) == marked


def test_the_tensor_that_is_named_first(tmp_path: Path):
    """The rank of the weights: it is their shape that is marked."""
    assert row_of(changed(CONV, ports(None, [1, 4, 2, 3, 3])), tmp_path) == '"shape": ['


def test_one_line_is_the_error_itself(tmp_path: Path):
    path = tmp_path / "g.mlir"
    path.write_text("func.func @f() { wrong }")
    with pytest.raises(GradcError) as caught:
        import_file(path)
    assert "\n" not in str(caught.value)
