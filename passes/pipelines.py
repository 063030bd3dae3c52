"""The named pipelines, as strings, with a line of why for each pass."""

from __future__ import annotations

from passes.target import Target

CANONICALIZE = (
    "materialize-constants",  # one constant op from here on
    "infer-types",  # every later pass may rely on what types can know
    "resolve-auto-pad",  # no later pass sees auto_pad, dst_shape or output_padding of known sizes
)

LOWER = (
    "canonicalize-layout",  # channels first; after the dtypes, so that casts meet at the ops
    "convert-cann-to-grad",
    "convert-onednn-to-grad",  # from here on nothing is optional
    "simplify",  # run-time size arithmetic that is known after all folds before strategies ask
)


def canonicalize() -> str:
    return ",".join(CANONICALIZE)


def lower(target: Target, strategy: str = "auto") -> str:
    """From source dialects to ONNX for a target."""
    return f"{to_grad(target)},{from_grad(target, strategy)}"


def to_grad(target: Target) -> str:
    """From source dialects to canonical gradients: all that comes before a strategy is chosen."""
    legalize = f"legalize-types{_options(target)}"  # gradients in f32 before they become several ops
    return ",".join((*CANONICALIZE, legalize, *LOWER))


def from_grad(target: Target, strategy: str = "auto") -> str:
    """From canonical gradients to ONNX."""
    options = _options(target)
    select = f"target={target.name} opset={target.opset} threads={target.threads} strategy={strategy}"
    return ",".join(
        (
            f"select-strategy{{{select}}}",
            "simplify",  # constant weights are flipped, transposed, widened at compile time
            f"legalize-types{options}",  # what the strategies wrote in a half type
            f"legalize-onnx{options}",  # the end contract
        )
    )


def _options(target: Target) -> str:
    return f"{{target={target.name} opset={target.opset}}}"
