"""The runner of document blocks: right blocks pass, each kind of wrong one fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

pytest.importorskip("sybil", reason="pip install -e '.[dev]' brings sybil")

from support.pages import ROOT, Mismatch, Page, blocks_of, pages
from support.pages.matching import contains, equals


@pytest.fixture
def run(tmp_path):
    def run(text: str, name: str = "page.md", root: Path = ROOT) -> Page:
        path = tmp_path / "pages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        scratch = tmp_path / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        page = Page(path, scratch, root)
        for example in page.examples():
            example.evaluate()
        return page

    return run


RIGHT = {
    "python in one namespace": """
        ```python
        x = 1
        ```
        ```python
        assert x == 1
        ```
        """,
    "sh with the examples": """
        ```sh
        test -f examples/conv_backward.mlir   # a comment
        touch made
        ```
        ```sh
        test -f made
        ```
        """,
    "console": """
        ```console
        $ echo one; echo two >&2; echo three
        one
        ...
        three
        $ printf 'took %d ms' 17
        took ... ms
        $ echo a \\
            b
        a b
        $ false
        $ echo $?
        1
        $ true
        ```
        """,
    "a new file": """
        <!-- file: sub/a.json -->
        ```json
        {"a": 1}
        ```
        ```console
        $ cat sub/a.json
        {"a": 1}
        ```
        """,
    "a file of the repository": """
        <!-- file: dialects/__init__.py -->
        ```python
        """
    + (ROOT / "dialects/__init__.py").read_text(encoding="utf-8").splitlines()[0]
    + """
        ```
        """,
    "output, further in": """
        <!-- output: printf 'a\\n  b\\n    c\\n' -->
        ```text
        b
          c
        ```
        """,
    "printed": """
        ```python
        print("it is", 3)
        ```
        <!-- printed: -->
        ```text
        it is ...
        ```
        """,
    "setup": """
        <!-- setup: touch graph.json -->
        ```sh
        test -f graph.json
        ```
        """,
    "in a list": """
        * An item:

          <!-- file: a.txt -->
          ```text
          text
          ```

          ```console
          $ cat a.txt
          text
          ```
        """,
    "what Sphinx makes": """
        ```{toctree}
        page
        ```
        """,
}

WRONG = {
    "python that fails": ("python", "assert 1 == 2", ""),
    "python that is none": ("python", "x = = 1", ""),
    "sh that fails": ("sh", "false\ntrue", ""),
    "sh with a variable that is not set": ("sh", "echo $NOT_SET_ANYWHERE", ""),
    "sh that fails in a pipe": ("sh", "false | cat", ""),
    "console with another line": ("console", "$ echo a\nb", ""),
    "console with a line less": ("console", "$ printf 'a\\nb\\n'\na", ""),
    "console with a line more": ("console", "$ echo a\na\nb", ""),
    "console of nothing": ("console", "$ echo a", ""),
    "console with an exit code not told": ("console", "$ false\n$ true", ""),
    "console that ends early": ("console", "$ exit 0\n$ echo a\na", ""),
    "console without a command": ("console", "a", ""),
    "output that is not printed": ("text", "b", "<!-- output: echo a -->"),
    "output with a gap": ("text", "a\nc", "<!-- output: printf 'a\\nb\\nc\\n' -->"),
    "output of nothing": ("text", "", "<!-- output: echo a -->"),
    "not printed": ("text", "b", "<!-- printed: -->"),
    "not in the file": ("toml", "[no.such.table]", "<!-- file: pyproject.toml -->"),
    "a file outside": ("text", "a", "<!-- file: ../a.txt -->"),
    "a line that is not there": ("text", "a", "<!-- insert: examples/conv_backward.mlir after: nowhere -->"),
    "a line that is there twice": (
        "sh",
        "a",
        "<!-- setup: printf 'a\\na\\n' > f -->\n<!-- insert: f after: a -->",
    ),
    "a setup that fails": ("sh", "true", "<!-- setup: false -->"),
    "a command that CI does not run": ("sh", "true", "<!-- command: nothing -->"),
    "a language that says nothing": ("mlir", "func.func @f()", ""),
    "no language": ("", "gradc", ""),
    "a directive around code": ("{code-block} python", "x", ""),
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_right_blocks(text, run):
    assert not run(text).left_out


@pytest.mark.parametrize(("language", "source", "comment"), WRONG.values(), ids=WRONG)
def test_wrong_blocks(language, source, comment, run):
    with pytest.raises((AssertionError, SyntaxError)):
        run(f"{comment}\n```{language}\n{source}\n```\n")


def test_what_a_block_needs(run):
    text = "<!-- needs: {} -->\n```python\nassert False\n```\n"
    assert run(text.format("no_such_module")).left_out == ["line 2 needs no_such_module"]
    with pytest.raises(AssertionError):
        run(text.format("numpy"))


def test_a_wrong_block_is_placed(run):
    with pytest.raises(ZeroDivisionError) as caught:
        run("text\n\n```python\nx = 1\n1 / 0\n```\n")
    assert caught.traceback[-1].lineno + 1 == 5


class TestGuides:
    """Pages in docs/extending, on a repository of two files."""

    @pytest.fixture
    def grown(self, run, tmp_path):
        root = tmp_path / "pages"
        (root / "gradc").mkdir(parents=True)
        (root / "gradc/rows.py").write_text("ROWS = [\n    'a',\n]\n", encoding="utf-8")
        return lambda text: run(text, "docs/extending/page.md", root)

    def test_files_and_lines_are_added_to_a_copy(self, grown, tmp_path):
        grown(
            """
            <!-- insert: gradc/rows.py after: 'a', -->
            ```python
                'b',
            ```
            <!-- file: gradc/new.py -->
            ```python
            from gradc.rows import ROWS
            print(ROWS)
            ```
            ```console
            $ python -m gradc.new
            ['a', 'b']
            ```
            """
        )
        assert "b" not in (tmp_path / "pages/gradc/rows.py").read_text(encoding="utf-8")

    def test_an_added_line_is_as_far_in_as_it_is_shown(self, grown):
        grown(
            """
            * In a list, too:

              <!-- insert: gradc/rows.py after: 'a', -->
              ```python
                  'b',
              ```

            ```console
            $ grep -c "^    'b',$" gradc/rows.py
            1
            ```
            """
        )

    def test_no_python_in_this_process(self, grown):
        with pytest.raises(AssertionError, match="another gradc"):
            grown("```python\npass\n```\n")


class TestMatching:
    @pytest.mark.parametrize(
        ("shown", "printed", "same"),
        [
            ("a", "a\n", True),
            ("a", "a  \n", True),
            ("a", " a\n", False),
            ("...", "", True),
            ("...\nz", "a\nb\nz\n", True),
            ("a...", "ab\n", True),
            ("a...", "ab\nc\n", False),
            ("[a.c]", "[abc]\n", False),
            ("a\n\nb", "a\n\nb\n", True),
        ],
    )
    def test_lines(self, shown, printed, same):
        assert equals(shown.splitlines(), printed) is same

    def test_contained_lines_keep_their_depth(self):
        assert contains(["a", "  b"], "x\n    a\n      b\n")
        assert not contains(["a", "  b"], "x\n    a\n    b\n")


def test_regenerating(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        "* a\n\n  ```console\n  $ echo new\n  old\n  $ echo 12 ms\n  ... ms\n  ```\n\n"
        "<!-- output: printf 'x\\ny\\n' -->\n```text\nz\n```\n",
        encoding="utf-8",
    )
    script = ROOT / "tests/docs/regenerate.py"
    subprocess.run([sys.executable, str(script), str(path)], check=True)
    assert path.read_text(encoding="utf-8") == (
        "* a\n\n  ```console\n  $ echo new\n  new\n  $ echo 12 ms\n  ... ms\n  ```\n\n"
        "<!-- output: printf 'x\\ny\\n' -->\n```text\nx\ny\n```\n"
    )


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_code_is_indented_instead_of_fenced(path):
    tokens = MarkdownIt().parse(path.read_text(encoding="utf-8"))
    assert [token.content for token in tokens if token.type == "code_block"] == []


def test_every_page_is_seen():
    seen = {path.relative_to(ROOT).as_posix() for path in pages()}
    assert {"README.md", "SECURITY.md", "docs/tuning.md", "examples/web/README.md"} <= seen
    assert blocks_of(ROOT / "README.md")


def test_a_mismatch_says_what_would_do(run):
    with pytest.raises(Mismatch) as caught:
        run("```console\n$ echo a\nb\n```\n")
    assert caught.value.source == "$ echo a\na"
