"""The named pipelines as strings, with the reason for each pass."""

from __future__ import annotations

from passes.targets.target import Target

CANONICALIZE = (
    "materialize-constants",  # a single constant op from here on
    "infer-types",  # later passes rely on inferred types
    "resolve-auto-pad",  # removes auto_pad, dst_shape and output_padding of static sizes
)

LOWER = (
    "canonicalize-layout",  # ONNX's weights; after the dtypes, so that casts meet at the ops
    "lower-cann",
    "lower-onednn",  # from here on nothing is optional
    "simplify",  # folds static size arithmetic before strategies are selected
)


DIFFERENTIATE = (
    "stop-gradient",  # first: no pass may merge what is computed before and after a stop
    "unpack-sequences",
    "normalize-loops",
    "normalize-sequences",
    "qdq-to-float",  # for straight-through estimates only
    "normalize-branches",
    "pin-values",  # from here to unpin-values the function returns what is differentiated, kept, and by what
    "name-sizes",
    "simplify",
    "unpack-sequences{simplify=true}",  # positions may be constant now
    "stable-forms",
    "fold-affine",  # not for strict IEEE
    "name-sizes",
    "unpack-sequences",
    "normalize-loops",  # branches may be known now
    "scan-outputs",
    "name-sizes",
    "guard-masked-branches",
    "vjp",
    "unpin-values",
)

PADS = ("lower-onednn",)
"""Passes of LOWER that may pad data which is multiplied by weights."""


def canonicalize() -> str:
    return ",".join(CANONICALIZE)


def differentiate(*, straight_through: bool, strict_ieee: bool) -> str:
    """Return the pipeline from a function of ONNX ops to its gradient."""
    left_out = {"qdq-to-float": not straight_through, "fold-affine": strict_ieee}
    return ",".join(name for name in DIFFERENTIATE if not left_out.get(name))


def lower(target: Target, strategy: str = "auto") -> str:
    """Return the pipeline from source dialects to ONNX for a target."""
    return f"{to_grad(target, strategy)},{from_grad(target, strategy)}"


def to_grad(target: Target, strategy: str = "auto") -> str:
    """Return the pipeline from source dialects to canonical gradients, before strategy selection."""
    return ",".join(
        (
            *CANONICALIZE,
            "erase-stop-gradients",  # all derivatives are written
            f"legalize-types{_options(target)}",  # gradients in f32 before they become several ops
            *(f"{name}{_ieee(target)}" if name in PADS else name for name in LOWER),
            f"assign-layout{_options(target, strategy)}",  # before strategies: the prices depend on it
        )
    )


def from_grad(target: Target, strategy: str = "auto") -> str:
    """Return the pipeline from canonical gradients to ONNX."""
    options = _options(target)
    return ",".join(
        (
            f"select-strategy{_options(target, strategy)}",
            "name-sizes",  # so that computations on equal unknown sizes are merged
            "simplify",  # constant weights are flipped, transposed, widened at compile time
            *(
                () if target.strict_ieee else (f"onnxruntime-peepholes{options}",)
            ),  # after all differentiation
            f"expand-ops{options}",  # before the types: decompositions may have the half type
            f"legalize-types{options}",  # lowered ops in a half type
            *(() if target.strict_ieee else (f"keep-nchwc{options}",)),  # counts what will run
            f"share-weights{options}",  # after the last pass that folds constants
            f"legalize-onnx{options}",  # the end contract
        )
    )


def _ieee(target: Target) -> str:
    return "{strict_ieee=true}" if target.strict_ieee else ""


def _options(target: Target, strategy: str = "") -> str:
    """Return the options of a pass; with `strategy`, of one that selects strategies."""
    ieee = " strict_ieee=true" if target.strict_ieee else ""
    choice = f" threads={target.threads}{ieee} strategy={strategy}" if strategy else ""
    return f"{{target={target.name} opset={target.opset}{choice}}}"
