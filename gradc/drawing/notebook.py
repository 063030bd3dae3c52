"""Jupyter's display of graphs and compiled graphs: plain tables in the notebook's colors.

It needs only gradc itself; with the extra `report`, a small graph is also drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import chain

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import Diagnostic, name_of
from gradc.graph.tensors import TensorInfo, shape_text, tensor_info
from passes.targets.target import Target

MAX_DRAWN_NODES = 60
"""Maximum nodes of a compiled graph that is drawn; larger ones need a report."""

STRATEGY = "gradc.strategy"

STYLE = """
.gradc-shown { font-family: system-ui, sans-serif; line-height: 1.5; max-width: 60rem; }
.gradc-shown table { border-collapse: collapse; margin: .3rem 0 .8rem; }
.gradc-shown :is(th, td) { text-align: left; padding: .15rem 1.2rem .15rem 0; vertical-align: top; }
.gradc-shown th { font-weight: 500; opacity: .7; }
.gradc-shown :is(tr, th, td) { background: none; }
.gradc-shown p { margin: .3rem 0; }
"""


def html_of_compiled(
    module: ModuleOp,
    inputs: Sequence[TensorInfo],
    outputs: Sequence[TensorInfo],
    target: Target,
    remarks: Iterable[Diagnostic],
) -> str:
    """Return the tables and the picture of a compiled graph."""
    from gradc.drawing.frames import picture_frame

    nodes = [op for op in module.walk() if isinstance(op, OnnxOp) and not isinstance(op, ConstantOp)]
    picture = picture_frame(module, "model") if len(nodes) <= MAX_DRAWN_NODES else ""
    parts = (
        f"<p><strong>{len(nodes)} ONNX nodes</strong> for {target.name}, opset {target.opset}: "
        f"{_counts(Counter(op.onnx_name() for op in nodes))}</p>",
        _edge(inputs, outputs),
        _table(("gradient", "strategy", "nodes"), _strategies(nodes)),
        *map(_remark, remarks),
        picture,
    )
    return _wrap(parts)


def html_of_graph(
    inputs: Mapping[str, SSAValue], outputs: Mapping[str, SSAValue], ops: Iterable[Operation]
) -> str:
    """Return the tables of a graph under construction."""
    infos = [[tensor_info(name, value) for name, value in edge.items()] for edge in (inputs, outputs)]
    rows = [
        (getattr(op, "KIND", op.name), name_of(op), ", ".join(_type(value) for value in op.results))
        for op in ops
    ]
    return _wrap((_edge(*infos), _table(("op", "name", "result"), rows)))


def _wrap(parts: Iterable[str]) -> str:
    return f'<div class="gradc-shown"><style>{STYLE}</style>{"".join(parts)}</div>'


def _counts(kinds: Mapping[str, int]) -> str:
    return escape(", ".join(f"{count} {kind}" for kind, count in Counter(kinds).most_common()) or "none")


def _edge(inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo]) -> str:
    sides = chain((("in", info) for info in inputs), (("out", info) for info in outputs))
    rows = [(side, info.name, info.dtype, shape_text(info.shape)) for side, info in sides]
    return _table(("", "name", "type", "shape"), rows)


def _strategies(nodes: Sequence[OnnxOp]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each gradient and each strategy that wrote nodes for it."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for op in nodes:
        strategy = op.attributes.get(STRATEGY)
        if isinstance(strategy, StringAttr):
            found.setdefault((name_of(op), strategy.data), Counter())[op.onnx_name()] += 1
    for (name, strategy), kinds in found.items():
        yield name or "unnamed", strategy, ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())


def _remark(remark: Diagnostic) -> str:
    return f"<p>{escape(str(remark))}</p>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    if not body:
        return ""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _type(value: SSAValue) -> str:
    info = tensor_info("", value)
    return f"{info.dtype} {shape_text(info.shape)}".rstrip()
