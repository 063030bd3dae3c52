"""The passes, one per file; pipelines are strings."""

from __future__ import annotations

from importlib import import_module
from typing import TypeVar

PASS_NAMES = (
    "materialize-constants",
    "infer-types",
    "name-sizes",
    "unpack-sequences",
    "fold-affine",
    "differentiate",
    "resolve-auto-pad",
    "canonicalize-layout",
    "legalize-types",
    "convert-cann-to-grad",
    "convert-onednn-to-grad",
    "assign-layout",
    "select-strategy",
    "simplify",
    "fast-forms",
    "expand-ops",
    "keep-blocked",
    "share-weights",
    "legalize-onnx",
)
"""Pass names; the file name has underscores for dashes."""

STRATEGY_NAMES = (
    "conv-to-conv",
    "conv-to-conv2d",
    "conv-to-rows",
    "conv-to-conv-transpose",
    "conv-to-phase-convs",
    "conv-to-joined-groups",
    "conv-to-upsampled-conv",
    "conv-to-matmul",
    "conv-nxc-to-matmul",
    "conv-nxc-to-row-sums",
    "conv-to-col2im",
    "conv-to-tap-sums",
    "resize-to-matmul",
    "resize-to-banded-matmul",
    "resize-to-block-matmul",
    "resize-to-conv",
    "resize-to-plane-conv",
    "resize-to-pool",
    "resize-to-reduce-sum",
    "resize-to-gather",
    "resize-to-gathered-sum",
    "resize-to-ordered-sums",
    "resize-by-axis",
    "resize-axes-last",
    "resize-to-upsample",
    "resize-dynamic-to-matmul",
    "resize-dynamic-to-gathered-sum",
    "window-to-slice",
    "weights-to-taps",
    "weights-to-columns",
    "weights-to-windows",
    "weights-to-unfolded",
    "weights-to-conv",
    "weights-to-tap-sums",
    "weights-nxc-to-columns",
    "weights-to-exact-taps",
    "max-pool-to-tiles",
    "max-pool-to-axes",
    "max-pool-to-scatter",
    "avg-pool-to-tiles",
    "avg-pool-to-pool",
    "avg-pool-to-conv-transpose",
    "avg-pool-to-upsampled-conv",
    "avg-pool-to-axes",
)
"""Strategy names, which are also pass names, by file in `strategies/`. Of equal prices the first is
chosen."""

T = TypeVar("T")


def class_of(package: str, name: str, base: type[T]) -> type[T]:
    """Return the class with that `name` in the file of that name. Raises LookupError."""
    module = import_module(f"{package}.{name.replace('-', '_')}")
    for found in vars(module).values():
        if isinstance(found, type) and issubclass(found, base) and vars(found).get("name") == name:
            return found
    raise LookupError(f'{module.__file__} has no {base.__name__} with name = "{name}"')
