"""The named pipelines, as strings, with a line of why for each pass."""

from __future__ import annotations

from passes.kernels.target import Target

CANONICALIZE = (
    "materialize-constants",  # one constant op from here on
    "infer-types",  # every later pass may rely on what types can know
    "resolve-auto-pad",  # no later pass sees auto_pad, dst_shape or output_padding of known sizes
)

LOWER = (
    "canonicalize-layout",  # ONNX's weights; after the dtypes, so that casts meet at the ops
    "convert-cann-to-grad",
    "convert-onednn-to-grad",  # from here on nothing is optional
    "simplify",  # run-time size arithmetic that is known after all folds before strategies ask
)


PADS = ("convert-onednn-to-grad",)
"""The passes of LOWER that may put zeros where weights meet them."""


def canonicalize() -> str:
    return ",".join(CANONICALIZE)


def lower(target: Target, strategy: str = "auto") -> str:
    """From source dialects to ONNX for a target."""
    return f"{to_grad(target, strategy)},{from_grad(target, strategy)}"


def to_grad(target: Target, strategy: str = "auto") -> str:
    """From source dialects to canonical gradients: all that comes before a strategy is chosen."""
    return ",".join(
        (
            *CANONICALIZE,
            f"legalize-types{_options(target)}",  # gradients in f32 before they become several ops
            *(f"{name}{_ieee(target)}" if name in PADS else name for name in LOWER),
            f"assign-layout{_options(target, strategy)}",  # before strategies: the prices depend on it
        )
    )


def from_grad(target: Target, strategy: str = "auto") -> str:
    """From canonical gradients to ONNX."""
    options = _options(target)
    return ",".join(
        (
            f"select-strategy{_options(target, strategy)}",
            "name-sizes",  # so that what is computed of unknown sizes is one where it is equal
            "simplify",  # constant weights are flipped, transposed, widened at compile time
            *(() if target.strict_ieee else (f"fast-forms{options}",)),  # after all differentiation
            f"expand-ops{options}",  # before the types: what is written instead may have the half type
            f"legalize-types{options}",  # what the strategies wrote in a half type
            *(() if target.strict_ieee else (f"keep-blocked{options}",)),  # counts what will run
            f"share-weights{options}",  # after the last pass that folds constants
            f"legalize-onnx{options}",  # the end contract
        )
    )


def _ieee(target: Target) -> str:
    return "{strict_ieee=true}" if target.strict_ieee else ""


def _options(target: Target, strategy: str = "") -> str:
    """Of a pass that chooses strategies, for so many threads, or of one that knows of none."""
    ieee = " strict_ieee=true" if target.strict_ieee else ""
    choice = f" threads={target.threads}{ieee} strategy={strategy}" if strategy else ""
    return f"{{target={target.name} opset={target.opset}{choice}}}"
