"""Sessions on OpenVINO and tract. Only this module imports them, on first use."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import (
    Diagnostic,
    UnsupportedError,
    UsageError,
    printable,
    sentence,
    violation,
)
from dialects.support.option_names import advice, option
from gradc.files import writing
from gradc.graph.run_time_sizes import DynamicSizes
from gradc.graph.tensors import validate_inputs
from gradc.model.split_model import ModelParts
from gradc.model.tensors import input_infos, output_infos
from gradc.runtime import RUNTIMES
from gradc.util import arguments
from gradc.util.extras import install

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto
    from gradc.runtime.session import Session


def runtime_argument(given: Any) -> str:
    """Check the argument `runtime`; None is onnxruntime."""
    return RUNTIMES[0] if given is None else arguments.one_of("runtime", given, RUNTIMES)


def check_runtime(runtime: str, ep: Any) -> None:
    """Raise UsageError for an execution provider, which only onnxruntime has."""
    if ep is not None and runtime in SESSIONS:
        text = f"{option('ep')} is onnxruntime's, and {option('runtime')} is {runtime}; give one of them"
        raise UsageError(Diagnostic("error", text))


class OtherSession(ABC):
    """A model on another runtime than onnxruntime, ready to run on the CPU in f32.

    Inputs of a run are checked against `sizes`, by default those embedded in the model. Raises
    UnsupportedError if the runtime is not installed or cannot load the model, and GradcError for an invalid
    file.
    """

    title: ClassVar[str]
    extra: ClassVar[str]
    """gradc's extra that installs the runtime, and the name of its Python module."""

    def __init__(
        self,
        model: ModelProto | ModelParts | writing.StrPath,
        threads: int | None = None,
        sizes: DynamicSizes | None = None,
    ):
        self._module = _import(self)
        proto, source = _message_and_source(model)
        self._sizes = sizes or _sizes_in(proto)
        self.inputs = tuple(input_infos(proto))
        self.outputs = tuple(output_infos(proto))
        try:
            self._load(source, threads)
        except Exception as error:
            text = f"{self.title} cannot load the model: {_one_line(error)}"
            hint = advice("target", "avoids forms that it lacks", self.extra)
            raise UnsupportedError(Diagnostic("error", sentence(text, hint=hint))) from error

    @property
    def graph(self) -> ModuleOp | None:
        """The graph that inputs are checked against, None without one."""
        return None if self._sizes is None else self._sizes.source

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run and return copies of the outputs by name. bfloat16 is ml_dtypes' on both sides.

        Raises GradcError naming an input that is missing or does not fit, and for errors of the runtime.
        """
        given = arguments.arrays("inputs", inputs)
        arrays = (
            validate_inputs(self.inputs, given)
            if self._sizes is None
            else self._sizes.inputs_in_model_order(self.inputs, given)
        )
        try:
            values = self._run({name: np.asarray(array, order="C") for name, array in arrays.items()})
        except Exception as error:
            raise violation(f"{self.title} cannot run the model: {_one_line(error)}") from error
        return {info.name: value for info, value in zip(self.outputs, values, strict=True)}

    @abstractmethod
    def _load(self, model: bytes | Path, threads: int | None) -> None: ...

    @abstractmethod
    def _run(self, inputs: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        """Return copies of the outputs in order."""


class OpenvinoSession(OtherSession):
    """A model on OpenVINO's CPU device, in f32: its default on some CPUs is bf16."""

    title: ClassVar[str] = "OpenVINO"
    extra: ClassVar[str] = "openvino"

    def _load(self, model: bytes | Path, threads: int | None) -> None:
        core = self._module.Core()
        options: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
        if threads is not None:
            options["INFERENCE_NUM_THREADS"] = threads
        self._compiled = core.compile_model(core.read_model(model), "CPU", options)

    def _run(self, inputs: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        """An unused input has no port."""
        known = {name for port in self._compiled.inputs for name in port.names}
        results = self._compiled({name: array for name, array in inputs.items() if name in known})
        return [self._as_declared(port, results[port]) for port in self._compiled.outputs]

    def _as_declared(self, port: Any, array: np.ndarray) -> np.ndarray:
        """Return a copy; OpenVINO returns the bits of a bf16 as f16."""
        is_bf16 = port.element_type == self._module.Type.bf16
        return (array.view(ml_dtypes.bfloat16) if is_bf16 else array).copy()


class TractSession(OtherSession):
    """A model on tract, which takes inputs by position and one thread."""

    title: ClassVar[str] = "tract"
    extra: ClassVar[str] = "tract"

    def _load(self, model: bytes | Path, threads: int | None) -> None:
        with tempfile.TemporaryDirectory(prefix="gradc-tract-") as folder:
            if isinstance(model, bytes):
                path = Path(folder) / "model.onnx"
                path.write_bytes(model)
            else:
                path = model
            loaded = self._module.onnx().load(path)
        self._names = [loaded.input_name(number) for number in range(loaded.input_count())]
        self._runnable = loaded.into_model().into_runnable()

    def _run(self, inputs: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        return [t.to_numpy().copy() for t in self._runnable.run([inputs[name] for name in self._names])]


SESSIONS: Mapping[str, type[OtherSession]] = {"openvino": OpenvinoSession, "tract": TractSession}


def session_of_file(
    path: writing.StrPath, ep: Any, threads: int | None, runtime: str | None
) -> Session | OtherSession:
    """Return the session of a model file on a runtime."""
    from gradc.runtime.session import Session, threads_argument

    runtime = runtime_argument(runtime)
    if runtime not in SESSIONS:
        return Session(path, ep=ep, threads=threads)
    check_runtime(runtime, ep)
    return SESSIONS[runtime](path, threads_argument(threads))


def _import(session: OtherSession) -> Any:
    try:
        return import_module(session.extra)
    except ImportError as error:
        text = f"{session.title} cannot be imported ({error}); {install(session.extra)}"
        raise UnsupportedError(Diagnostic("error", text)) from error


def _message_and_source(model: ModelProto | ModelParts | writing.StrPath) -> tuple[ModelProto, bytes | Path]:
    """Return the message, and its bytes or the file to load; the message of a file has no external data."""
    if isinstance(model, str | os.PathLike):
        from gradc.model.external_data import message_of_file  # imports onnx

        return message_of_file(model)
    message = model.whole() if isinstance(model, ModelParts) else model
    return message, message.SerializeToString()


def _sizes_in(proto: ModelProto) -> DynamicSizes | None:
    from gradc.runtime.embedded_graph import sizes_of

    return sizes_of({entry.key: entry.value for entry in proto.metadata_props})


def _one_line(error: Exception) -> str:
    """Return the message without the runtime's stack backtrace and source positions."""
    return printable(" ".join(str(error).partition("Stack backtrace")[0].split()))
