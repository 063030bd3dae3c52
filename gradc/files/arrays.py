"""Files of named arrays: .npz, or .safetensors by their suffix."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from dialects.support.diagnostics import violation
from dialects.support.error_list import Errors
from gradc.files.npz import read_npz
from gradc.files.safetensors import is_safetensors, read_safetensors
from gradc.files.writing import StrPath


def read_arrays(path: StrPath) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name. Raises GradcError naming the path."""
    return read_safetensors(path) if is_safetensors(path) else read_npz(path)


def read_files(paths: StrPath | Iterable[StrPath]) -> dict[str, np.ndarray]:
    """Return the arrays of one file or of several by name. Raises GradcError for a name that is in two."""
    if isinstance(paths, str | os.PathLike):
        return read_arrays(paths)
    found: dict[str, np.ndarray] = {}
    owners: dict[str, str] = {}
    errors = Errors()
    for path in paths:
        for name, array in read_arrays(path).items():
            owner = owners.setdefault(name, os.fspath(path))
            if name in found:
                what = f'array "{name}" is in {owner} and in {os.fspath(path)}'
                errors.found.append(violation(what, expected="each name in one file"))
            found[name] = array
    errors.check()
    return found
