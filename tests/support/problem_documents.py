"""A random problem as a oneDNN Graph document, its constants beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.documents import UNKNOWN, Doc, document, op, tensor
from support.problems import Node, Problem, Value

from dialects.support.attributes import documented_attributes

RULE = "auto_pad_rule"


def document_of(problem: Problem) -> Doc:
    """The document: op i is node i, and the tensors are counted as `identifiers` does.

    Names of unknown sizes are lost. A constant is an input of property type `constant`.
    """
    ids = identifiers(problem)

    def record(value: Value) -> Doc:
        found = tensor(ids[value.name], [_dim(d) for d in value.declared], value.dtype)
        return found | {"property_type": "constant" if value.name in problem.constants else "variable"}

    ops = [
        op(i, node.op.KIND, _attributes(node), [record(v) for v in node.operands], [record(node.result)])
        for i, node in enumerate(problem.nodes)
    ]
    ports = {
        "input_ports": [ids[value.name] for value in problem.inputs],
        "output_ports": [ids[value.name] for value in problem.outputs],
    }
    return document(*ops, **ports)


def identifiers(problem: Problem) -> dict[str, int]:
    """Tensor id by the name of a value: inputs, then constants, then results."""
    results = [node.result.name for node in problem.nodes]
    names = [*(value.name for value in problem.inputs), *problem.constants, *results]
    return {name: number for number, name in enumerate(names)}


def constants_of(problem: Problem) -> dict[str, np.ndarray]:
    """The constants by the names that the document gives them."""
    ids = identifiers(problem)
    return {f"t{ids[name]}": array for name, (_, array) in problem.constants.items()}


def feeds_of(problem: Problem, run: int) -> dict[str, np.ndarray]:
    """The inputs of a run by the names that the document gives them."""
    ids = identifiers(problem)
    return {f"t{ids[value.name]}": problem.given[value.name][run] for value in problem.inputs}


def outputs_of(problem: Problem) -> list[str]:
    """The names of the outputs, in the problem's order."""
    ids = identifiers(problem)
    return [f"t{ids[value.name]}" for value in problem.outputs]


def _attributes(node: Node) -> dict[str, Any]:
    """A document means the library's rule where it names none; a problem means the documented one."""
    known = documented_attributes(node.op)
    rule = {RULE: known[RULE].spec.default} if RULE in known else {}
    return rule | dict(node.attributes)


def _dim(dim: Any) -> int:
    return dim if isinstance(dim, int) else UNKNOWN
