"""tract, from Python. It takes inputs by their number, and gives every tensor the type that it has itself."""

from __future__ import annotations

import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from onnx import ModelProto
from support.runtimes.runner import Feeds


class TractCpu:
    name: ClassVar[str] = "tract"

    def missing(self) -> str | None:
        return None if find_spec("tract") else "tract is not installed: pip install -e '.[tract]'"

    def run(self, model: ModelProto, feeds: Feeds) -> list[list[np.ndarray]]:
        """Raises RuntimeError with what tract says."""
        tract: Any = import_module("tract")
        try:
            with tempfile.TemporaryDirectory(prefix="gradc-tract-") as folder:
                path = Path(folder) / "model.onnx"
                path.write_bytes(model.SerializeToString())
                loaded = tract.onnx().load(path)
            names = [loaded.input_name(number) for number in range(loaded.input_count())]
            runnable = loaded.into_model().into_runnable()
            return [_run(runnable, [arrays[name] for name in names]) for arrays in feeds]
        except tract.TractError as error:
            raise RuntimeError(str(error).partition("Stack backtrace")[0]) from error


def _run(runnable: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    return [tensor.to_numpy().copy() for tensor in runnable.run([np.asarray(a, order="C") for a in arrays])]
