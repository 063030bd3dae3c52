"""Element types and values of torch's tensors as gradc's names and numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from dialects.support.dtypes import known_dtype, of_numpy
from gradc.importers.torch.torch_internals import torch

_NAMES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "s64",
    "int32": "s32",
    "int16": "s16",
    "int8": "s8",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "boolean",
    "complex64": "c64",
    "complex128": "c128",
    "float8_e4m3fn": "f8_e4m3",
    "float8_e5m2": "f8_e5m2",
}
"""Name of a torch dtype -> name in `dialects.support.dtypes`."""

COMPLEX = {"c64": "f32", "c128": "f64"}
"""Complex element types -> that of their parts."""


def dtype_name(dtype: Any) -> str:
    """Return gradc's name of a torch dtype, else torch's own name, which no op supports."""
    word = str(dtype).removeprefix("torch.")
    return _NAMES.get(word, word)


def array_of(tensor: Any) -> np.ndarray:
    """Return a copy of a tensor's values as an array of the same element type; a complex one as its parts
    along a last axis."""
    dense = as_real(tensor.detach().cpu().resolve_conj().resolve_neg().contiguous())
    target = known_dtype(dtype_name(dense.dtype)).numpy
    if dense.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        bits = torch.int16 if dense.dtype == torch.bfloat16 else torch.uint8
        return dense.view(bits).numpy().view(target).copy()
    return dense.numpy(force=True).astype(target)


def as_real(tensor: Any) -> Any:
    """Return the parts of a complex tensor along a last axis; others as they are."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def torch_dtype(name: str) -> Any:
    """Return the torch dtype of gradc's name."""
    word = next((word for word, known in _NAMES.items() if known == name), name)
    return getattr(torch, word)


def tensor_of(array: np.ndarray, dtype: str = "") -> Any:
    """Return a tensor with a copy of an array's values, of the same element type; a complex one from its
    parts."""
    if dtype in COMPLEX:
        return torch.view_as_complex(torch.from_numpy(np.array(array)))
    found = of_numpy(array.dtype)
    if found is not None and found.name in ("bf16", "f8_e4m3", "f8_e5m2"):
        bits = np.int16 if found.name == "bf16" else np.uint8
        return torch.from_numpy(array.view(bits).copy()).view(torch_dtype(found.name))
    return torch.from_numpy(np.array(array))
