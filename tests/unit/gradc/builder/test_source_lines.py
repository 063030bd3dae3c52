"""The place of a mistake is the user's own line, whatever stands between it and gradc."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc

LINES = Path(__file__).read_text().splitlines()


def place_of(call: Callable[[], Any]) -> tuple[str, str]:
    """The file and the words of the line that a GradcError names."""
    with pytest.raises(gradc.GradcError) as caught:
        call()
    place = caught.value.diagnostic.position
    assert place is not None
    return place.file, LINES[place.line - 1] if place.file == __file__ else ""


def in_a_context_manager():
    @contextlib.contextmanager
    def graph() -> Iterator[gradc.Graph]:
        yield gradc.Graph()

    with graph() as g:
        gradc.compile(g)  # here


def on_leaving():
    with contextlib.ExitStack() as stack:
        stack.callback(gradc.Graph().module)


def decorated():
    @contextlib.contextmanager
    def nothing() -> Iterator[None]:
        yield

    @nothing()
    def build():
        gradc.Graph().module()  # here

    build()


def cached():
    @functools.lru_cache
    def build():
        return gradc.Graph().module()  # here

    build()


def partly():
    wanted = functools.partial(gradc.Graph().input, "x", "q")
    wanted((1,))  # here


def in_a_comprehension():
    return [gradc.Graph().input(name, "q", (1,)) for name in "ab"]  # here


def mapped():
    return list(map(gradc.Graph().input, ["x"], ["q"], [(1,)]))  # here


def vectorized():
    return np.vectorize(lambda name: gradc.Graph().input(name, "q", (1,)))(["a"])  # here


def sorted_by():
    sorted("ab", key=lambda name: gradc.Graph().input(name, "q", (1,)).shape)  # here


@pytest.mark.parametrize(
    "call",
    [
        in_a_context_manager,
        decorated,
        cached,
        partly,
        in_a_comprehension,
        mapped,
        vectorized,
        sorted_by,
    ],
)
def test_the_line_here(call: Callable[[], Any]):
    file, line = place_of(call)
    assert (file, line.endswith("# here")) == (__file__, True)


def test_python_s_own_lines_are_nobodys():
    assert place_of(on_leaving)[0] == __file__


def test_in_a_thread_that_nobody_of_the_user_s_calls():
    """Where the graph was begun, if it is about the whole of it; else no place rather than a wrong one."""
    with ThreadPoolExecutor(1) as pool:
        g = gradc.Graph()  # here
        file, line = place_of(pool.submit(gradc.compile, g).result)
        assert (file, line.endswith("# here")) == (__file__, True)
        with pytest.raises(gradc.GradcError, match=r"^error: \[input \"x\"\] dtype"):
            pool.submit(g.input, "x", "q", (1,)).result()


@pytest.mark.parametrize("name", ["<ipython-input-1-5f2c>", "/tmp/ipykernel_7/1.py", "<stdin>", "<string>"])
@pytest.mark.parametrize("scope", [{}, {"__name__": None}, {"__name__": "gradc"}])
def test_code_without_a_file(name: str, scope: dict[str, Any]):
    """A notebook's cell, a line at the prompt: it is the file's name that counts, not the module's."""
    code = compile("gradc.Graph().module()", name, "exec")
    assert place_of(lambda: exec(code, {"gradc": gradc} | scope))[0] == name
