"""Results of captured functions: tensors and numbers of trees; in other objects tensors would be lost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from support.captured_graphs import capture  # noqa: E402

from dialects.support.diagnostics import GradcError  # noqa: E402


@dataclass
class Pair:
    first: Any


class Color(Enum):
    RED = 1


@pytest.mark.parametrize(
    ("result", "part"),
    [
        (lambda x: None, "the function returns no tensor"),
        (lambda x: {"text": "a"}, "the function returns no tensor"),
        (lambda x: (x, Pair(x)), "a result of the function is a Pair"),
        (lambda x: (x, {x.sin()}), "a result of the function is a set"),
        (lambda x: (each for each in x), "a result of the function is a generator"),
        (lambda x: (x, torch.arange(2).numpy), "a result of the function is a builtin_function_or_method"),
        (lambda x: torch.nn.Linear, "a result of the function is a type"),
    ],
)
def test_results_in_which_tensors_are_lost_are_refused(result: Any, part: str):
    line = result.__code__.co_firstlineno
    with pytest.raises(GradcError, match=part) as caught:
        capture(result, (torch.ones(3),))
    assert f"{__file__}:{line}:" in str(caught.value)


def test_results_without_tensors_are_left_out():
    def function(x: Any) -> Any:
        return {"none": None, "text": "a", "color": Color.RED, "dtype": x.dtype, "size": x.shape, "y": x * 2}

    graph = capture(function, (torch.ones(3),))
    assert "y" in [output.name for output in graph.outputs]
