"""Constants from an .npz file, bound to the weights of fixed graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

import numpy as np
from support.documents import CONV

from dialects.support.diagnostics import GradcError
from fuzz.mutate import archives, octets
from fuzz.oracle import check_names_file
from fuzz.targets.base import Target, checked
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.files.npz import read_npz

NAMES = ("t0", "t1", "t9")
"""diff_dst, weights, and what the graph has not."""


class NpzTarget(Target):
    name: ClassVar = "npz"
    suffix: ClassVar = ".npz"

    def seeds(self) -> list[bytes]:
        return [archives.written(arrays) for arrays in (_weights(), _weights() | _data(), {})]

    def made(self, random: Random, pool: Sequence[bytes]) -> bytes:
        if random.random() < 0.3:
            return octets.mutated(random, random.choice(pool))
        if random.random() < 0.05:
            return octets.spliced(random, random.choice(pool), random.choice(pool))
        arrays = random.choice((_weights(), _weights() | _data()))
        return archives.made(random, NAMES, arrays)[: octets.MOST_BYTES]

    def run(self, path: Path) -> str:
        """Numbers are checked where the constants are ordinary: 0 times infinity is up to the lowering, and
        the bound is relative, which products of subnormal numbers cannot keep."""
        compiled = compile_module(load(CONV), Options(threads=1), str(path))
        if not all(map(_is_ordinary, read_npz(path).values())):
            return "constants that are not ordinary"
        return checked(compiled)

    def check(self, error: GradcError, path: Path) -> None:
        check_names_file(error, path)


def _is_ordinary(array: np.ndarray) -> bool:
    sizes = np.abs(array.astype(np.float64))
    return bool(np.all((sizes == 0) | ((sizes > 1e-30) & (sizes < 1e30))))


def _weights() -> Mapping[str, np.ndarray]:
    return {"t1": np.linspace(-1, 1, 72, dtype=np.float32).reshape(4, 2, 3, 3)}


def _data() -> Mapping[str, np.ndarray]:
    return {"t0": np.linspace(-1, 1, 36, dtype=np.float32).reshape(1, 4, 3, 3)}
