"""Base class of peers: other implementations of the gradients, called as their users would."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dialects.support import shapes
from gradc.problems import Problem


class NotAvailable(Exception):
    """A peer that is not installed or does not start, with the reason."""


class NotSupported(Exception):
    """A problem that a peer or a strategy does not support, with the reason."""


@dataclass(frozen=True, eq=False)
class Contestant:
    """One implementation of one problem with bound inputs.

    `run` only computes; `result` returns the array of the last run, in the problem's layout and dtype.
    """

    name: str
    run: Callable[[], object]
    result: Callable[[], np.ndarray]


class Peer(ABC):
    """An implementation with a number of threads; the constructor raises NotAvailable."""

    name: ClassVar[str]

    @abstractmethod
    def __init__(self, threads: int): ...

    @property
    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def prepare(self, problem: Problem, seed: int) -> Contestant:
        """Return the problem with random inputs. Raises NotSupported."""


def check_static(problem: Problem) -> None:
    """Raise unless all sizes are static and positive."""
    for shape in (problem.diff_dst, problem.diff_src):
        if not shapes.is_static(shape) or 0 in shape:
            raise NotSupported("empty or dynamic sizes")
