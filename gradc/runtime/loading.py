"""Loading of a model into onnxruntime: a file, a message, or a message with separate weights."""

from __future__ import annotations

import contextlib
import functools
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialects.support.diagnostics import Diagnostic, GradcError, UnsupportedError
from gradc.files import writing
from gradc.model import saving
from gradc.model.split_model import ModelParts, split_model
from gradc.runtime.refusals import convert_errors
from gradc.runtime.values import ort_value_of

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto

_DATA_FOLDER = "session.model_external_initializers_file_folder_path"

MESSAGE_BYTES = 2**26
"""Maximum bytes of weights of an in-memory model that is passed as a message. The message is one copy of
them, onnxruntime's parsed model another."""

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def load(
    runtime: Any,
    model: ModelProto | ModelParts | writing.StrPath,
    options: Any,
    provider: str,
    kept: dict[str, Any],
    within: Sequence[str],
) -> Any:
    """Return an InferenceSession of a model, with the values `within` as further outputs."""
    make = functools.partial(_make_session, runtime, options=options, provider=provider)
    if isinstance(model, str | os.PathLike):
        from gradc.model.external_data import resolve_model_path  # imports onnx
        from gradc.model.intermediate_outputs import content_with

        path = resolve_model_path(model)
        with convert_errors(f"onnxruntime cannot load {os.fspath(model)}", GradcError):
            if not within:
                return make(_source_of(path))
            options.add_session_config_entry(_DATA_FOLDER, str(path.parent))
            return make(content_with(path, within))
    if within:
        from gradc.model.intermediate_outputs import parts_with

        model = parts_with(model if isinstance(model, ModelParts) else split_model(model), within)
    with convert_errors("onnxruntime cannot load the model", None):
        return make(_serialize(runtime, model, options, kept))


def _source_of(path: Path) -> str | bytes:
    """Return a path that onnxruntime accepts, else the content of the file."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return path.read_bytes()
    return str(path)


def _serialize(runtime: Any, model: ModelProto | ModelParts, options: Any, kept: dict[str, Any]) -> bytes:
    """Return the bytes of a model. Weights that are too large for a message are passed in memory: `kept`
    holds them and must live as long as the session."""
    most = min(MESSAGE_BYTES, saving.PROTO_LIMIT)
    if not isinstance(model, ModelParts):
        if saving.weight_bytes(model) <= most:
            return model.SerializeToString()
        model = split_model(model)
    if model.weight_bytes <= most:
        return b"".join(model.pieces())
    slim, large = saving.with_pointers(model)
    for tensor in large:
        content = model.weights[tensor.name]
        value = ort_value_of(runtime, tensor.name, tensor.data_type, tuple(tensor.dims), content)
        if value is None:
            tensor.raw_data = content
            continue
        saving.point(tensor, "memory", 0, len(content))
        kept[tensor.name] = value
    options.add_external_initializers(list(kept), list(kept.values()))
    return slim.SerializeToString()


def _make_session(runtime: Any, source: str | bytes, *, options: Any, provider: str) -> Any:
    if provider == PROVIDERS["cpu"]:
        return runtime.InferenceSession(source, options, providers=[provider])
    _preload(runtime)
    # TF32 keeps ten bits of the mantissa; f32 gradients need all of them.
    cuda = (provider, {"use_tf32": "0"})
    return runtime.InferenceSession(source, options, providers=[cuda, PROVIDERS["cpu"]])


def _preload(runtime: Any) -> None:
    """Load the CUDA libraries of the nvidia wheels, without printing to stdout."""
    if hasattr(runtime, "preload_dlls"):
        with contextlib.redirect_stdout(io.StringIO()):
            runtime.preload_dlls()


def check_started(session: Any, provider: str) -> None:
    """Raise if CUDA did not start; onnxruntime silently falls back to the CPU."""
    if provider not in session.get_providers():
        hint = 'its CUDA and cuDNN libraries: pip install "onnxruntime-gpu[cuda,cudnn]"'
        text = f"{provider} did not start; it needs an NVIDIA GPU with its driver, and {hint}"
        raise UnsupportedError(Diagnostic("error", text))
