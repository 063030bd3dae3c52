"""Remedies for ATen ops without a lowering: what the user can write in their place."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_OUTSIDE = "compute it outside of the function, and pass the result as an argument"
_NOISE = "pass the noise as an argument"

_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "_ctc_loss": "end the function at the log-probabilities, and compute this loss outside of it",
        "_linalg_eigh": _OUTSIDE,
        "_linalg_svd": _OUTSIDE,
        "_pdist_forward": "torch.cdist(x, x), then the elements above the diagonal",
        "_pdist_backward": "torch.cdist(x, x), then the elements above the diagonal",
        "bernoulli": _NOISE,
        "fractional_max_pool2d": "use max_pool2d or adaptive_max_pool2d",
        "fractional_max_pool3d": "use max_pool3d or adaptive_max_pool3d",
        "geqrf": _OUTSIDE,
        "histc": "count by comparisons and sums",
        "linalg_eig": _OUTSIDE,
        "linalg_householder_product": _OUTSIDE,
        "linalg_ldl_factor_ex": "torch.linalg.cholesky or torch.linalg.lu",
        "linalg_lstsq": "torch.linalg.solve of the normal equations",
        "linalg_matrix_exp": "a fixed number of terms of the series",
        "linalg_pinv": "torch.linalg.solve of the normal equations",
        "linalg_qr": "R by torch.linalg.cholesky of a.mT @ a, Q by torch.linalg.solve_triangular",
        "multinomial": _NOISE,
        "native_dropout": "put the module in eval(), or pass the mask as an argument",
        "normal": _NOISE,
        "ormqr": _OUTSIDE,
        "rand": _NOISE,
        "randint": _NOISE,
        "randn": _NOISE,
        "randperm": "pass the permutation as an argument",
        "searchsorted": "sum the comparisons with all boundaries",
        "bucketize": "sum the comparisons with all boundaries",
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
