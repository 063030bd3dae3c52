"""onnxruntime's CPU provider, from Python."""

from __future__ import annotations

from importlib.util import find_spec
from typing import ClassVar

import numpy as np
from onnx import ModelProto
from support.runtimes.runner import Feeds

from gradc.runtime.session import Session


class OnnxruntimeCpu:
    name: ClassVar[str] = "onnxruntime"

    def missing(self) -> str | None:
        return None if find_spec("onnxruntime") else "onnxruntime is not installed: pip install onnxruntime"

    def run(self, model: ModelProto, feeds: Feeds) -> list[list[np.ndarray]]:
        session = Session(model, threads=1)
        return [list(session.run(arrays).values()) for arrays in feeds]
