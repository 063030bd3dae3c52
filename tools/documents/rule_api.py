"""Reference of `gradc.ops` as Markdown, from docstrings and signatures."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence

from dialects.onnx.ops import op_class
from gradc import ops
from tools.documents.api import members
from tools.documents.prose import table
from tools.ops_stub import functions_of_ops

MEMBERS: Mapping[type, Sequence[str]] = {
    ops.Primal: (
        "operands", "results", "attributes", "x", "y", "operand", "value", "wants", "is_read",
    ),
    ops.Value: (
        "dtype", "shape", "rank", "cast", "where", "equals", "transpose", "swap_last_axes", "unsqueeze",
        "squeeze", "sum_axes", "at_least", "at_most", "clip_to", "square", "abs", "exp", "log", "sqrt", "erf",
        "tanh", "sigmoid", "softplus", "sign",
    ),
    ops.Builder: ("constant", "ints", "scalar", "shape", "fill_like", "concat"),
}  # fmt: skip
"""The stable members of each class, in the order of the page."""

OPERATORS = (
    ("`a + b`, `a - b`, `a * b`, `a / b`, `a ** b`, `-a`", "Add, Sub, Mul, Div, Pow, Neg"),
    ("`a @ b`", "MatMul"),
    ("`a > b`, `a >= b`, `a < b`, `a <= b`, `a & b`", "Greater, GreaterOrEqual, Less, LessOrEqual, And"),
    ("`x[1:, ..., None, -1]`", "Slice, Squeeze and Unsqueeze; `ops.Gather` takes indices that are values"),
)


def classes() -> str:
    return "\n\n".join(_classes())


def _classes() -> Iterator[str]:
    for cls, names in MEMBERS.items():
        title = "Builder" if cls is ops.Builder else cls.__name__
        yield f"### {title}"
        yield " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())
        if cls is ops.Value:
            yield table(("expression", "ops"), OPERATORS)
        known = {member.strip("`").partition("(")[0]: (member, text) for member, text in members(cls)}
        yield table(("member", "meaning"), [known[name] for name in names])


def functions() -> str:
    """Return the table of the functions for ops."""
    rows = [(f"`{name}`", *_row(name)) for name in functions_of_ops()]
    return table(("function", "operands", "results", "attributes"), rows)


def _row(name: str) -> tuple[str, str, str]:
    signature = op_class(name).SIGNATURE
    operands, results = (
        ", ".join(f"{port.name}{port.option[:1]}" for port in ports).replace("*", "\\*")
        for ports in (signature.operands, signature.results)
    )
    attributes = ", ".join(a.name + ("" if a.required else "?") for a in signature.attributes)
    return operands, results, attributes
