"""Benchmark cases: built-in suites, random problems, problem strings, files of them, and graphs.

A file of problem strings has one per line. `#` begins a comment; a line with only a comment labels the
problems after it. `a|b` in a field gives two problems.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib.resources import files as resources
from itertools import product
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

import dialects
from dialects.support import dtypes, entry, shapes
from dialects.support.diagnostics import Diagnostic, Position, UsageError, suggest, violation
from dialects.support.limits import check, check_tensor
from gradc.bench.floors import group_of
from gradc.bench.random_problems import problems
from gradc.bench.run import Case
from gradc.compiler.driver import load
from gradc.files.reading import read_bytes, suggest_file
from gradc.graph.constants import bind_constants
from gradc.problems import KINDS, OPS, Problem, parse_problem, problem_of
from passes import pipelines
from passes.registry import all_passes

SUITES = ("quick", "full")
DRAWN, DRAWN_CASES = "drawn", 60


def suite(name: str, seed: int = 0) -> list[Case]:
    """Return the cases of a built-in suite; `drawn` has random ones for each seed, which nothing is tuned to.

    The prices of the cost model were fitted to problems of seed 1.
    """
    if name == DRAWN:
        return [Case(problem, DRAWN) for problem in sorted(problems(seed, DRAWN_CASES), key=_place)]
    text = (resources("gradc.bench") / "suites" / f"{name}.txt").read_text(encoding="utf-8")
    return cases_of_text(text, f"{name}.txt")


def _place(problem: Problem) -> tuple[str, str]:
    return str(group_of(problem)), str(problem)


def cases_of(argument: str) -> list[Case]:
    """Return the cases of a problem string or a file: oneDNN JSON, MLIR text, or problem strings."""
    if os.path.exists(argument):
        return _cases_of_file(argument)
    if "," in argument or argument in KINDS:
        return [Case(problem) for problem in _alternatives(argument, None)]
    example = "a problem string is text such as resize_backward,f32,NCX,diff_src=1x8x7x7,diff_dst=1x8x14x14"
    hint = suggest(argument, KINDS) or suggest_file(argument) or example
    text = f"{argument} is neither a file nor a problem string; {hint}"
    raise UsageError(Diagnostic("error", text))


def cases_of_text(text: str, name: str) -> list[Case]:
    """Return the cases of lines of problem strings; `name` is the file in errors."""
    found, label = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        before, mark, comment = line.partition("#")
        if not before.strip():
            label = comment.strip() if mark else label
            continue
        column = len(before) - len(before.lstrip()) + 1
        place = Position(name, number, column)
        found += [Case(problem, label) for problem in _alternatives(before.strip(), place)]
    return found


def _alternatives(text: str, place: Position | None) -> Iterator[Problem]:
    """Return the problems of a text with `a|b` in some fields."""
    fields = []
    for field in text.split(","):
        name, equals, value = field.rpartition("=")
        fields.append([name + equals + choice for choice in value.split("|")])
    check("ops", prod(map(len, fields)), "problems of one line")
    return (parse_problem(",".join(chosen), place) for chosen in product(*fields))


def _cases_of_file(path: str) -> list[Case]:
    if path.lower().endswith((".json", ".mlir")):
        return [Case(problem, os.path.basename(path)) for problem in problems_of_source(path)]
    try:
        found = cases_of_text(read_bytes(path).decode(), path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise violation(f"cannot read {path}: {reason}") from None
    if not found:
        raise violation(f"{path} has no problem strings")
    return found


def problems_of_source(path: str) -> list[Problem]:
    """Return the gradients of a source graph; weights that a document declares constant are constant."""
    module = load(path)
    bind_constants(module, _constant_inputs(path, module))
    spec = ",".join((*pipelines.CANONICALIZE, *pipelines.LOWER))
    for pass_ in PassPipeline.parse_spec(all_passes(), spec).passes:
        pass_.apply(dialects.context(), module)
    found = [problem_of(op) for op in module.walk() if type(op) in OPS]
    if not found:
        raise violation(f"{path} has no gradient op")
    return found


def _constant_inputs(path: str, module: ModuleOp) -> dict[str, np.ndarray]:
    """Return zeros for the inputs of a JSON document whose property_type is constant."""
    if not path.lower().endswith(".json"):
        return {}
    ops = json.loads(read_bytes(path))["graph"]
    tensors = [tensor for op in ops for tensor in op["inputs"]]
    constant = {f"t{t['id']}" for t in tensors if t["property_type"].lower() == "constant"}
    function = entry.entry_function(module)
    found = {}
    for name, argument in zip(entry.input_names(function), function.args, strict=True):
        shape = shapes.static(shapes.shape_of(argument))
        dtype = dtypes.of_mlir(shapes.element_type_of(argument))
        if name in constant and shape is not None and dtype is not None:
            check_tensor(shape, "constant-elements", f"elements of {name}")
            found[name] = np.zeros(shape, dtype.numpy)
    return found
