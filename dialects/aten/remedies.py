"""Remedies for ATen ops without a lowering: what the user can write in their place."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_OUTSIDE = "compute it outside of the function, and pass the result as an argument"
_NOISE = "pass the noise as an argument"

_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "bernoulli": _NOISE,
        "fractional_max_pool2d": "use max_pool2d or adaptive_max_pool2d",
        "fractional_max_pool3d": "use max_pool3d or adaptive_max_pool3d",
        "histc": "count by comparisons and sums",
        "linalg_eig": "torch.linalg.eigh for a symmetric matrix; else compute it outside of the function",
        "linalg_ldl_factor_ex": "torch.linalg.cholesky or torch.linalg.lu",
        "multinomial": _NOISE,
        "native_dropout": "put the module in eval(), or pass the mask as an argument",
        "normal": _NOISE,
        "rand": _NOISE,
        "randint": _NOISE,
        "randn": _NOISE,
        "randperm": "pass the permutation as an argument",
    }
)

_PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "_upsample_bicubic2d_aa": "antialias=False, or average windows before",
        "_upsample_bilinear2d_aa": "antialias=False, or average windows before",
        "_thnn_fused_": "torch.backends.cudnn.flags(enabled=False), or the module on the CPU",
        "_cudnn_": "the module on the CPU",
        "_sparse_": "dense tensors",
        "quantized_": "the module in floats",
    }
)


def remedy_of(name: str) -> str:
    """Return what to write in place of an op, such as `_ctc_loss.Tensor`; empty if nothing is known."""
    packet = name.partition(".")[0]
    by_prefix = next((text for prefix, text in _PREFIXES.items() if packet.startswith(prefix)), "")
    return _REMEDIES.get(packet, by_prefix)
