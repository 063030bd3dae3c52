"""Passes: one file or package each, composed by pipeline strings."""

from __future__ import annotations

from importlib import import_module
from typing import TypeVar

AUTODIFF_PASSES = {
    "stop-gradient": "stop_gradient",
    "normalize-loops": "preparation",
    "normalize-sequences": "preparation",
    "normalize-branches": "preparation",
    "pin-values": "pin_values",
    "stable-forms": "preparation",
    "scan-outputs": "preparation",
    "guard-masked-branches": "preparation",
    "vjp": "vjp_pass",
    "unpin-values": "unpin_values",
    "sink-negations": "sink_negations",
}
"""Passes of a differentiation, with their files in passes/autodiff/."""

VECTORIZE_PASSES = {
    "vectorize": "vectorize_pass",
    "jacobian": "jacobian_pass",
    "per-sample": "samples_pass",
}
"""Passes that compute all rows of an axis in one run, with their files in passes/vectorize/."""

TRAINING_PASSES = {
    "batchnorm-train": "batch_norm",
    "batchnorm-eval": "batch_norm",
    "hash-dropout": "dropout",
    "drop-dropout": "dropout",
    "attach-loss": "attach_loss",
    "lora": "lora",
    "recompute": "recompute",
}
"""Passes that prepare a model for training, with their files in passes/training/."""

PASS_NAMES = (
    "materialize-constants",
    "infer-types",
    "name-sizes",
    "unpack-sequences",
    "fold-affine",
    "qdq-to-float",
    "resolve-auto-pad",
    "canonicalize-layout",
    "legalize-types",
    "erase-stop-gradients",
    "lower-aten",
    "lower-cann",
    "lower-onednn",
    "assign-layout",
    "select-strategy",
    "simplify",
    "onnxruntime-peepholes",
    "expand-ops",
    "keep-nchwc",
    "share-weights",
    "legalize-onnx",
    *TRAINING_PASSES,
    *AUTODIFF_PASSES,
    *VECTORIZE_PASSES,
)
"""Passes; others than those of the tables above are in the file or package of their name."""

STRATEGIES_BY_PACKAGE: dict[str, tuple[str, ...]] = {
    "conv": (
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
    ),
    "conv_weights": (
        "weights-to-taps",
        "weights-to-columns",
        "weights-to-windows",
        "weights-to-unfolded",
        "weights-to-conv",
        "weights-to-tap-sums",
        "weights-nxc-to-columns",
        "weights-to-exact-taps",
    ),
    "resize": (
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
    ),
    "pool": (
        "max-pool-to-tiles",
        "max-pool-to-axes",
        "max-pool-to-scatter",
        "avg-pool-to-tiles",
        "avg-pool-to-pool",
        "avg-pool-to-conv-transpose",
        "avg-pool-to-upsampled-conv",
        "avg-pool-to-axes",
    ),
    "general": (
        # ops with one strategy
        "window-to-slice",
    ),
}
"""Strategies by their package in `strategies/`, each in the file of its name or one of FAMILIES, and each a
pass of that name.

The first of equally priced candidates is chosen.
"""

FAMILIES: dict[str, tuple[str, ...]] = {
    "weights_by_products": (
        "weights-to-taps",
        "weights-to-columns",
        "weights-to-windows",
        "weights-nxc-to-columns",
        "weights-to-exact-taps",
    ),
    "resize_by_form": (
        "resize-to-matmul",
        "resize-to-banded-matmul",
        "resize-to-block-matmul",
        "resize-to-plane-conv",
        "resize-to-reduce-sum",
        "resize-to-gathered-sum",
    ),
    "avg_pool_by_conv": ("avg-pool-to-conv-transpose", "avg-pool-to-upsampled-conv"),
}
"""Files of several strategies."""

STRATEGY_NAMES = tuple(name for names in STRATEGIES_BY_PACKAGE.values() for name in names)

T = TypeVar("T")


def class_of(package: str, name: str, base: type[T]) -> type[T]:
    """Return the subclass of `base` with that `name` in the module of that name, or of its family.

    Raises LookupError if the module has none.
    """
    file = next((file for file, names in FAMILIES.items() if name in names), name.replace("-", "_"))
    return class_in(f"{package}.{file}", name, base)


def class_in(path: str, name: str, base: type[T]) -> type[T]:
    """Return the subclass of `base` with that `name` in a module. Raises LookupError if it has none."""
    module = import_module(path)
    for found in vars(module).values():
        if isinstance(found, type) and issubclass(found, base) and vars(found).get("name") == name:
            return found
    raise LookupError(f'{module.__file__} has no {base.__name__} with name = "{name}"')
