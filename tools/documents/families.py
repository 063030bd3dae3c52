"""Pages of op families: a table of the ops that are declared by specs, and their ONNX nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation

from dialects.onednn.op_spec import OpSpec
from dialects.onednn.spec_classes import FAMILIES, result_formula, spec_class
from dialects.onnx.base import OnnxConstant, OnnxOp
from dialects.support.attributes import AttributeSpec, documented_attributes
from gradc.compiler.driver import compile
from tools.documents.prose import table
from tools.support_specs import example_rank, probe

HEADER = ("op", "result", "attributes", "dtypes", "in ONNX, f32, opset 18")


def family(name: str) -> str:
    """Return the common description of a family, and a row for each op."""
    base, specs = FAMILIES[name]
    ports = ", ".join(f"`{port}`" for port in base.PORTS)
    shapes, first, constraints = base.CONSTRAINTS.partition("C1 ")
    head = f"{base.SUMMARY} Inputs {ports}; output `{'`, `'.join(base.RESULTS)}`. {shapes}".rstrip()
    return f"{head}\n\nConstraints: {first}{constraints}\n\n{table(HEADER, map(_line, specs))}"


def _line(spec: OpSpec) -> Sequence[str]:
    attributes = documented_attributes(spec_class(spec.kind)).values()
    shown = ", ".join(f"`{d.name}` {_attribute_text(d.spec)}" for d in attributes) or "none"
    dtypes = ", ".join(dtype for dtype in spec.dtypes if dtype != "f64")
    formula = result_formula(spec_class(spec.kind), spec)
    return f"`{spec.kind}`", formula, shown, dtypes, ", ".join(_nodes(spec.kind))


def _attribute_text(spec: AttributeSpec) -> str:
    if spec.default is None:
        return f"{spec.tag}, required"
    words = " or ".join(spec.words) or spec.tag
    default = str(spec.default).lower() if isinstance(spec.default, bool) else spec.default
    return f"{words}, default {list(default) if isinstance(default, tuple) else default}"


def _nodes(kind: str) -> Iterator[str]:
    compiled = compile(probe(kind, spec_class(kind).SPEC.dtypes[0], example_rank(kind), False))
    ops: Iterator[Operation] = compiled.module.walk()
    named = (op.onnx_name() for op in ops if isinstance(op, OnnxOp) and not isinstance(op, OnnxConstant))
    return iter(dict.fromkeys(named))
