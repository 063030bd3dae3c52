"""What a peer is: another implementation of the gradients, as a framework's user would call it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dialects.support import shapes
from gradc.problems import Problem


class NotAvailable(Exception):
    """A peer that is not installed or does not start; the text says why."""


class NotSupported(Exception):
    """A problem that a peer, or a strategy, does not have; the text says why."""


@dataclass(frozen=True, eq=False)
class Contestant:
    """One implementation of one problem, with its inputs in place.

    `run` computes and does nothing else; `result` is the array that the last run made, in the
    problem's layout and dtype.
    """

    name: str
    run: Callable[[], object]
    result: Callable[[], np.ndarray]


class Peer(ABC):
    """An implementation with its thread count; the constructor raises NotAvailable."""

    name: ClassVar[str]

    @abstractmethod
    def __init__(self, threads: int): ...

    @property
    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def prepare(self, problem: Problem, seed: int) -> Contestant:
        """The problem with the inputs of a seed; raises NotSupported."""


def check_static(problem: Problem) -> None:
    """Raise unless all sizes are known and positive."""
    for shape in (problem.diff_dst, problem.diff_src):
        if not shapes.is_static(shape) or 0 in shape:
            raise NotSupported("sizes that are empty or that only run time knows")
