"""Names and types of a graph's inputs and outputs, and the check of arrays against them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx.types import word_of
from dialects.support import dtypes, shapes
from dialects.support.diagnostics import Diagnostic, GradcError, sentence, suggest, violation
from dialects.support.error_list import Errors, combine
from gradc.util.arguments import array


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a model."""

    name: str
    """Its name."""

    dtype: str
    """oneDNN's name (`f32`, `bf16`, `s32`, ...), that of a container (`seq(f32)`), or onnxruntime's for any
    other type."""

    shape: shapes.NamedShape | None
    """The dims: a size, a name (equal names, equal sizes) or None; None for containers and unknown ranks."""

    @property
    def is_tensor(self) -> bool:
        """False for sequences, optionals and maps."""
        return "(" not in self.dtype

    @property
    def dims(self) -> shapes.NamedShape:
        """The dims; none if the rank is unknown."""
        return self.shape or ()

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype} {shape_text(self.shape)}".rstrip()


def shape_text(shape: shapes.NamedShape | None) -> str:
    return "" if shape is None else shapes.show(shape)


def tensor_info(name: str, value: SSAValue) -> TensorInfo:
    """Return the info of a value that is an input or output called `name`."""
    shape = shapes.dim_names(shapes.shape_of(value)) if shapes.has_rank(value) else None
    return TensorInfo(name, word_of(value.type), shape)


def as_dtype(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return the array, as bfloat16 if an .npz file turned that into numpy's `V2`."""
    if dtype == "bf16" and array.dtype == np.dtype("V2"):
        return array.view(ml_dtypes.bfloat16)
    return array


def validate_inputs(infos: Sequence[TensorInfo], given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays in the order of the infos; GradcError if one is missing, unknown or does not fit."""
    check_names(infos, given)
    tensors = [info for info in infos if info.is_tensor]
    arrays = {i.name: as_dtype(_array(i, given[i.name]), i.dtype) for i in tensors}
    errors = Errors()
    for info in tensors:
        errors.attempt(_check_array, info, arrays[info.name])
    errors.check()
    _check_symbols(tensors, arrays)
    return {i.name: arrays[i.name] if i.is_tensor else given[i.name] for i in infos}


def check_names(infos: Sequence[TensorInfo], given: Iterable[str]) -> None:
    """Raise GradcError if an input is missing or unknown."""
    given = tuple(given)
    known = [info.name for info in infos]
    expected = ", ".join(known) or "no inputs"
    errors = [
        violation("unknown input", given=name, expected=expected, hint=suggest(name, known))
        for name in given
        if name not in known
    ]
    if errors:
        raise combine(errors)
    missing = [str(info) for info in infos if info.name not in given]
    if missing:
        raise violation("missing inputs", expected="; ".join(missing))


def _array(info: TensorInfo, given: Any) -> np.ndarray:
    try:
        return array(given)
    except ValueError as error:
        raise _input_error(info, f"no array: {error}") from None


def _check_array(info: TensorInfo, array: np.ndarray) -> None:
    expected = dtypes.by_name(info.dtype)
    if expected is None:
        raise _input_error(info, f"gradc cannot feed dtype {info.dtype}")
    if array.dtype != expected.numpy:
        word = dtypes.of_numpy(array.dtype)
        given = word.name if word else array.dtype
        raise _input_error(info, "dtype", given, info.dtype, f"numpy's {expected.numpy.name}")
    if not info.shape:
        return  # () is a scalar or an unknown rank: onnxruntime reports both alike
    if array.ndim != len(info.shape):
        raise _input_error(info, f"rank of shape {shapes.show(array.shape)}", array.ndim, len(info.shape))
    if not shapes.compatible(array.shape, info.shape):
        raise _input_error(info, "shape", shapes.show(array.shape), shapes.show(info.shape))


def _check_symbols(infos: Sequence[TensorInfo], arrays: Mapping[str, np.ndarray]) -> None:
    """Check that dims of the same name have the same size."""
    seen: dict[str, tuple[int, str]] = {}
    for info in infos:
        for axis, dim in enumerate(info.dims):
            if not isinstance(dim, str):
                continue
            size = arrays[info.name].shape[axis]
            expected, where = seen.setdefault(dim, (size, f'axis {axis} of "{info.name}"'))
            if size != expected:
                what = f"dim {dim} at axis {axis}"
                raise _input_error(info, what, size, f"{expected} as at {where}")


def _input_error(
    info: TensorInfo, what: str, given: object = None, expected: object = None, hint: str = ""
) -> GradcError:
    text = sentence(what, given, expected, hint)
    return GradcError(Diagnostic("error", text, f'input "{info.name}"'))
