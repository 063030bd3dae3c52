"""onnxruntime-web's wasm provider in headless Chromium."""

from __future__ import annotations

import atexit
import base64
import functools
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from onnx import ModelProto
from support.runtimes import browser
from support.runtimes.runner import Feeds

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
FLOATS = {"float32": "<f4", "float16": "<f2", "float64": "<f8"}
INTEGERS = {f"{sign}{8 * size}": f"<{sign[0]}{size}" for sign in ("int", "uint") for size in (1, 2, 4, 8)}
TYPES = {**FLOATS, **INTEGERS, "bool": "|b1"}


class OnnxruntimeWeb:
    name: ClassVar[str] = "onnxruntime-web"

    def missing(self) -> str | None:
        return browser.missing()

    def run(self, model: ModelProto, feeds: Feeds) -> list[list[np.ndarray]]:
        """Raises RuntimeError with what onnxruntime-web says."""
        given = [{name: _to_page(array) for name, array in arrays.items()} for arrays in feeds]
        reply = _page().execute_async_script(SCRIPT, _text(model.SerializeToString()), given)
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return [[_of_page(tensor) for tensor in tensors] for tensors in reply["outputs"]]


@functools.cache
def _page() -> Any:
    """An empty page of one browser, which is closed when the process ends."""
    stack = ExitStack()
    driver, address = stack.enter_context(browser.opened())
    atexit.register(stack.close)
    driver.get(f"{address}/package.json")
    return driver


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _to_page(array: np.ndarray) -> Mapping[str, Any]:
    data = np.ascontiguousarray(array).tobytes()
    return {"type": array.dtype.name, "dims": list(array.shape), "data": _text(data)}


def _of_page(tensor: Mapping[str, Any]) -> np.ndarray:
    data = np.frombuffer(base64.b64decode(tensor["data"]), TYPES[tensor["type"]])
    return data.reshape([int(size) for size in tensor["dims"]])
