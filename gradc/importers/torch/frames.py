"""Short-time Fourier transforms by windows of an axis, of which torch views the frames with strides and reads
values of the window; and the frequencies of transforms."""

from __future__ import annotations

from typing import Any

from gradc.importers.torch.torch_internals import aten, torch


def stft(
    signal: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """Return `torch.stft`."""
    is_complex = signal.is_complex() or (window is not None and window.is_complex())
    if align_to_window is not None or return_complex is None:
        return NotImplemented
    rows = signal if signal.dim() > 1 else signal.unsqueeze(0)
    if center:
        half = n_fft // 2
        rows = torch.nn.functional.pad(rows.unsqueeze(0), [half, half], pad_mode).squeeze(0)
    frames = rows.unfold(1, n_fft, n_fft // 4 if hop_length is None else hop_length)
    if window is not None or win_length is not None:
        frames = frames * _whole_window(signal, window, win_length, n_fft)
    is_half = not is_complex if onesided is None else onesided
    transform = torch.fft.rfft if is_half else torch.fft.fft
    found = transform(frames, norm="ortho" if normalized else "backward").transpose(1, 2)
    found = found if signal.dim() > 1 else found.squeeze(0)
    return found if return_complex else torch.view_as_real(found)


def frequencies(n: int, d: float = 1.0, **options: Any) -> Any:
    """Return `torch.fft.fftfreq`, by one expression of the number of points."""
    positions = torch.arange(n, **{"dtype": torch.get_default_dtype(), **options})
    return torch.where(positions < n - n // 2, positions, positions - n) * (1.0 / (n * d))


def half_frequencies(n: int, d: float = 1.0, **options: Any) -> Any:
    """Return `torch.fft.rfftfreq`."""
    positions = torch.arange(n // 2 + 1, **{"dtype": torch.get_default_dtype(), **options})
    return positions * (1.0 / (n * d))


def _whole_window(signal: Any, window: Any, length: int | None, n_fft: int) -> Any:
    """Return the window with zeros on both sides."""
    length = n_fft if length is None else length
    if window is None:
        window = torch.ones(length, dtype=signal.real.dtype)
    before = (n_fft - length) // 2
    return torch.nn.functional.pad(window, [before, n_fft - length - before])


def istft(
    spectrum: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """Return `torch.istft`, without its test that windows cover the signal."""
    if return_complex or not spectrum.is_complex() or (window is not None and window.is_complex()):
        return NotImplemented
    rows = spectrum if spectrum.dim() > 2 else spectrum.unsqueeze(0)
    hop = n_fft // 4 if hop_length is None else hop_length
    is_half = rows.shape[1] != n_fft if onesided is None else onesided
    norm = "ortho" if normalized else "backward"
    bins = rows.transpose(1, 2)
    frames = torch.fft.irfft(bins, n_fft, norm=norm) if is_half else torch.fft.ifft(bins, norm=norm).real
    whole = _whole_window(frames, window, win_length, n_fft)
    size = n_fft + hop * (frames.shape[1] - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else size - start
    summed = aten.unfold_backward(frames * whole, [frames.shape[0], size], 1, n_fft, hop)
    squares = whole.square().expand(1, frames.shape[1], n_fft)
    weights = aten.unfold_backward(squares, [1, size], 1, n_fft, hop)
    found = summed[:, start:end] / weights[:, start:end]
    found = torch.nn.functional.pad(found, [0, max(end - size, 0)])
    return found if spectrum.dim() > 2 else found.squeeze(0)
