"""Conversion of arrays to onnxruntime's values and back; dtypes that numpy lacks go as integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from dialects.support import dtypes
from dialects.support.diagnostics import Diagnostic, UnsupportedError
from gradc.graph.tensors import TensorInfo
from gradc.model.tensors import dtype_of_runtime, onnx_number


def info_of(arg: Any) -> TensorInfo:
    shape = tuple(dim if isinstance(dim, int) else (dim or None) for dim in arg.shape)
    return TensorInfo(arg.name, dtype_of_runtime(arg.type), shape)


def ort_value(runtime: Any, info: TensorInfo, array: np.ndarray, device: str = "cpu") -> Any:
    """Return an OrtValue over the array's buffer, which it keeps alive; a copy on another device."""
    data = np.asarray(array, order="C")
    if info.dtype in _HALF_BYTES:
        return _pack(runtime, info, data)
    if info.dtype not in _AS_INTEGERS:
        try:
            return runtime.OrtValue.ortvalue_from_numpy(data, device)
        except RuntimeError as error:
            text = f"onnxruntime takes no {info.dtype} from outside a model"
            raise UnsupportedError(Diagnostic("error", text, f'input "{info.name}"')) from error
    number = onnx_number(info.dtype)
    return runtime.OrtValue.ortvalue_from_numpy_with_onnx_type(data.view(_AS_INTEGERS[info.dtype]), number)


def ort_value_of(runtime: Any, name: str, number: int, shape: tuple[int, ...], content: bytes) -> Any:
    """Return an OrtValue over the content of an initializer, which it keeps alive; None if onnxruntime has no
    values of its type (ONNX number)."""
    dtype = dtypes.by_number(number)
    if dtype is None or dtype.name not in _EXTERNAL_DTYPES:
        return None
    array = np.frombuffer(content, dtype.numpy).reshape(shape)
    return ort_value(runtime, TensorInfo(name, dtype.name, shape), array)


_AS_INTEGERS = {"bf16": np.uint16, "f8_e4m3": np.uint8, "f8_e5m2": np.uint8}
"""Dtypes that numpy lacks -> integers of the same size."""

_HALF_BYTES = ("s4", "u4")
_QUARTER_BYTES = ("s2", "u2")

_EXTERNAL_DTYPES = {*(dtype.name for dtype in dtypes.DTYPES), "s16", "u16", "u32", "u64"} - {*_HALF_BYTES}
"""Dtypes of external initializers that onnxruntime accepts in memory."""


def _pack(runtime: Any, info: TensorInfo, data: np.ndarray) -> Any:
    """Pack two elements per byte, the first in the low bits."""
    value = runtime.OrtValue.ortvalue_from_shape_and_type(data.shape, onnx_number(info.dtype))
    bits = data.astype(np.int8).view(np.uint8).ravel() & 15
    even = np.pad(bits, (0, bits.size % 2))
    if even.size:
        np.asarray(_Buffer(value, even.size // 2))[:] = even[::2] | even[1::2] << 4
    return value


def _unpack(value: Any, dtype: np.dtype, is_signed: bool) -> np.ndarray:
    count = int(np.prod(value.shape()))
    if count == 0:
        return np.empty(0, dtype)
    packed = np.asarray(_Buffer(value, -(-count // 2)))
    bits = np.stack([packed & 15, packed >> 4], -1).ravel()[:count].astype(np.int8)
    return ((bits ^ 8) - 8 if is_signed else bits).astype(dtype)


class _Buffer:
    """An OrtValue's memory in numpy's array interface, kept alive by the arrays over it.

    All dtypes are read as bytes: the runtime's `.numpy()` does not support bfloat16.
    """

    def __init__(self, value: Any, nbytes: int):
        self.value = value
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (value.data_ptr(), False),
        }


def to_numpy(info: TensorInfo, value: Any) -> np.ndarray:
    if info.dtype in _QUARTER_BYTES:
        text = f"onnxruntime gives no {info.dtype} out of a model"
        raise UnsupportedError(Diagnostic("error", text, f'output "{info.name}"'))
    dtype = dtypes.by_name(info.dtype)
    if dtype is None or dtype.numpy.hasobject:  # strings
        return value.numpy()
    assert value.device_name().lower() == "cpu", value.device_name()
    shape = value.shape()
    if info.dtype in _HALF_BYTES:
        return _unpack(value, dtype.numpy, info.dtype == "s4").reshape(shape)
    nbytes = int(np.prod(shape)) * dtype.numpy.itemsize
    if nbytes == 0:
        return np.empty(shape, dtype.numpy)
    return np.asarray(_Buffer(value, nbytes)).view(dtype.numpy).reshape(shape)


def on_cpu(value: Any) -> Any:
    return value if value.device_name().lower() == "cpu" else type(value).ortvalue_from_numpy(value.numpy())
