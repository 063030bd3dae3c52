"""numpy semantics of Fourier transforms: the last axis holds real and possibly imaginary parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dialects.onnx.call import Call, axis_of
from dialects.onnx.operands import optional, scalar, value
from dialects.support.diagnostics import violation

Kernel = Callable[[Call], Sequence[np.ndarray]]


def dft(call: Call) -> list[np.ndarray]:
    data = value(call, 0)
    axis = axis_of(scalar(call, 2, -2), data.ndim)
    inverse, onesided = (bool(call.attribute(name, 0)) for name in ("inverse", "onesided"))
    given = data.shape[axis]
    length = scalar(call, 1, 2 * (given - 1) if inverse and onesided else given)
    if inverse and onesided:
        return [np.fft.irfft(_complex(data), length, axis)[..., None]]
    return [_fft(_complex(data), length, axis, inverse=inverse, onesided=onesided)]


def _complex(data: np.ndarray) -> np.ndarray:
    if data.shape[-1] not in (1, 2):
        raise violation("parts of a number", given=data.shape[-1], expected="1 or 2")
    return data[..., 0] + (1j * data[..., 1] if data.shape[-1] == 2 else 0j)


def _fft(z: np.ndarray, length: int, axis: int, *, inverse: bool, onesided: bool) -> np.ndarray:
    found = (np.fft.ifft if inverse else np.fft.fft)(z, length, axis)
    if onesided:
        found = found[(slice(None),) * axis + (slice(length // 2 + 1),)]
    return np.stack([found.real, found.imag], -1)


def stft(call: Call) -> list[np.ndarray]:
    """Transform frames of the signal, each times the window."""
    signal, step, window = value(call, 0), scalar(call, 1, 1), optional(call, 2)
    whole = signal.shape[1] if window is None else window.shape[0]
    length = scalar(call, 3, whole)
    count = (signal.shape[1] - length) // step + 1
    z = _complex(signal if signal.ndim == 3 else signal[..., None])
    frames = np.stack([z[:, i * step : i * step + length] for i in range(count)], 1)
    scaled = frames if window is None else frames * window
    onesided = bool(call.attribute("onesided", 1))
    return [_fft(scaled, length, 2, inverse=False, onesided=onesided)]


KERNELS: dict[str, Kernel] = {"DFT": dft, "STFT": stft}
