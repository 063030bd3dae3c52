"""OpenVINO's CPU device. It runs f32 models in bf16 by default on CPUs that have it, so f32 is asked for."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import ml_dtypes
import numpy as np
from onnx import ModelProto
from support.runtimes.runner import Feeds


class OpenvinoCpu:
    name: ClassVar[str] = "openvino"

    def missing(self) -> str | None:
        return None if find_spec("openvino") else "OpenVINO is not installed: pip install -e '.[openvino]'"

    def run(self, model: ModelProto, feeds: Feeds) -> list[list[np.ndarray]]:
        openvino: Any = import_module("openvino")
        core = openvino.Core()
        read = core.read_model(model.SerializeToString())
        compiled = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        # an input that nothing reads has no port: its frontend leaves it out
        known = {name for port in compiled.inputs for name in port.names}
        found = []
        for arrays in feeds:
            results = compiled({name: array for name, array in arrays.items() if name in known})
            found.append([_as_declared(openvino, port, results[port]) for port in compiled.outputs])
        return found


def _as_declared(openvino: Any, port: Any, array: np.ndarray) -> np.ndarray:
    """A copy; numpy has no bf16, in whose place OpenVINO gives its bits as f16."""
    bits = array.view(ml_dtypes.bfloat16) if port.element_type == openvino.Type.bf16 else array
    return bits.copy()
