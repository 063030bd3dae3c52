"""Lowerings of Fourier transforms, and exports of functions with them, against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from gradc.torch import export  # noqa: E402
from passes.lower_aten.rules.spectra import MOST_BY_MATRIX  # noqa: E402
from tests.support.aten_samples import check  # noqa: E402

F32, F64 = torch.float32, torch.float64


def draw(*shape, dtype=F64, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64).to(dtype)


def spectrum(*shape, seed=0):
    return torch.complex(draw(*shape, seed=seed), draw(*shape, seed=seed + 1))


SIZES = (1, 2, 3, 8, 15, 2 * MOST_BY_MATRIX, 15 * 27, 509)
"""Sizes by one matrix, by two stages, and a prime number by the op DFT."""


@pytest.mark.parametrize("size", SIZES)
def test_sizes(size):
    x, z, bins = draw(3, size), spectrum(3, size), size // 2 + 1
    check("_fft_r2c.default", x, [1], 0, True)
    check("_fft_r2c.default", x, [1], 0, False)
    check("_fft_c2c.default", z, [1], 0, True)
    check("_fft_c2c.default", z, [1], 2, False)
    check("_fft_c2r.default", spectrum(3, bins), [1], 2, size)


@pytest.mark.sweep(parts=7)
@pytest.mark.parametrize("dim", [[0], [1], [2], [0, 1], [1, 2], [2, 0], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("normalization", [0, 1, 2])
def test_axes_and_normalizations(dim, normalization):
    x, z = draw(3, 4, 5), spectrum(3, 4, 5)
    check("_fft_r2c.default", x, dim, normalization, True)
    check("_fft_r2c.default", x, dim, normalization, False)
    for forward in (True, False):
        check("_fft_c2c.default", z, dim, normalization, forward)
    check("_fft_c2r.default", z, dim, normalization, 2 * z.shape[dim[-1]] - 1)


NORMS = ("backward", "ortho", "forward")

FUNCTIONS = {
    "power": lambda x: torch.fft.rfft(x).abs().square().sum(),
    "convolution": lambda x: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(x.flip(-1)), n=x.shape[-1]),
    "derivative": lambda x: (
        torch.fft.ifft(torch.fft.fft(x) * 2j * torch.pi * torch.fft.fftfreq(x.shape[-1], dtype=x.dtype)).real
    ),
    "planes": lambda x: torch.fft.irfftn(torch.fft.rfftn(x, norm="ortho") * 2, s=x.shape, norm="ortho"),
    "phase": lambda x: torch.fft.fft2(x + 3, norm="forward").angle().cos(),
    "shifted": lambda x: (
        torch.fft.fftshift(torch.fft.fft(x)).imag * torch.view_as_real(torch.fft.fft(x))[..., 1]
    ),
    "hermitian": lambda x: torch.fft.hfft(torch.fft.ihfft(x), n=x.shape[-1]),
    "resized": lambda x: torch.fft.rfft(x, n=12).abs() + torch.fft.rfft(x, n=12).real.exp(),
}


@pytest.mark.sweep
@pytest.mark.parametrize("opset", [18, 20])
@pytest.mark.parametrize("sizes", ["fixed", "dynamic"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_gradients(name, sizes, opset):
    """In float64 at other sizes, too; torch's own gradient is the reference."""
    function = FUNCTIONS[name]

    def both(x):
        found = function(x)
        return found, torch.autograd.grad(found.sin().sum(), x)[0]

    shapes = ({0: "rows", **({} if name == "resized" else {1: "points"})},) if sizes == "dynamic" else None
    export(both, (draw(4, 9).requires_grad_(),), dynamic_shapes=shapes, opset=opset)


@pytest.mark.parametrize("target", ["cpu", "portable"])
def test_targets(target):
    export(lambda x: torch.fft.rfft2(x).abs(), (draw(4, 6, dtype=F32),), target=target)


SHORT_TIME = {
    "default": {},
    "window": {"window": torch.hann_window(8, dtype=F64)},
    "short window": {"window": torch.hann_window(6, dtype=F64), "win_length": 6},
    "no center": {"center": False, "hop_length": 3},
    "normalized": {"normalized": True, "window": torch.hamming_window(8, dtype=F64)},
    "whole": {"onesided": False, "pad_mode": "constant"},
}


@pytest.mark.sweep(parts=6)
@pytest.mark.parametrize("name", SHORT_TIME)
def test_short_time_transforms(name):
    options = SHORT_TIME[name]

    def loss(x, y):
        a, b = (torch.stft(each, 8, return_complex=True, **options).abs() for each in (x, y))
        found = (a - b).square().mean()
        return found, torch.autograd.grad(found, x)[0]

    args = (draw(2, 40).requires_grad_(), draw(2, 40, seed=1))
    export(loss, args, dynamic_shapes=({0: "rows", 1: "points"},) * 2)
    export(lambda x: torch.stft(x, 8, return_complex=False, **options), (draw(40),))


INVERSES = {name: SHORT_TIME[name] for name in ("default", "window", "normalized", "whole", "short window")}


@pytest.mark.sweep(parts=5)
@pytest.mark.parametrize("name", INVERSES)
@pytest.mark.parametrize("length", [None, 39])
def test_inverse_short_time_transforms(name, length):
    options = {key: value for key, value in INVERSES[name].items() if key != "pad_mode"}
    z = torch.stft(draw(2, 40), 8, return_complex=True, **INVERSES[name])
    export(lambda z: torch.istft(z, 8, length=length, **options), (z,))
