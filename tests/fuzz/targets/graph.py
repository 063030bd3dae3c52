"""The whole path: generated graphs of several ops, any target, opset and strategy, several runs of a model.

A case is a JSON envelope: the source's lines, how it is compiled, and the inputs of each run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np
from support.documents import text_of
from support.generate import CANONICAL, KINDS, seeded
from support.problem_documents import constants_of, document_of, feeds_of
from support.problems import Problem

from dialects.support.diagnostics import GradcError, UnsupportedError
from dialects.support.dtypes import by_name, of_numpy
from fuzz import words
from fuzz.mutate import documents, json_tree, mlir_tokens
from fuzz.oracle import Finding, check_placed
from fuzz.targets.base import Target, checked, is_small
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.graph.printing import module_text
from gradc.runtime.session import newest_opset

TARGETS = ("cpu", "cpu", "portable", "cuda")
OLDEST = 13


class GraphTarget(Target):
    name: ClassVar = "graph"
    suffix: ClassVar = ".case.json"

    def seeds(self) -> list[bytes]:
        return []

    def made(self, random: Random, pool: Sequence[bytes]) -> bytes:
        """A valid graph, or one in four times one that is almost valid."""
        as_json = random.random() < 0.4
        kinds = tuple(KINDS) if as_json else (*KINDS, *CANONICAL)
        dtypes = ("f32", "f32", "f16", "bf16") if as_json else ("f32", "f32", "f16", "bf16", "f64")
        problem = seeded(random.getrandbits(62), most_ops=4, kinds=kinds, dtypes=dtypes)
        case: dict[str, Any] = {
            "target": random.choice(TARGETS),
            "opset": random.choice((OLDEST, 14, 16, 18, 18, random.randint(OLDEST, newest_opset()))),
            "strategy": random.choice(_strategies(problem)) if random.random() < 0.6 else "auto",
            "strict": random.random() < 0.05,
        }
        case |= _in_json(problem) if as_json else _in_mlir(problem)
        if random.random() < 0.25:
            case |= {"source": _changed(random, case), "runs": [], "constants": {}}
        return (json.dumps(case, indent=1) + "\n").encode()

    def run(self, path: Path) -> str:
        case = json.loads(path.read_bytes())
        source = _source_of(case, path)
        source.write_text("\n".join(case["source"]), encoding="utf-8", errors="replace")
        options = Options(case["target"], case["opset"], case["strategy"], None, case["strict"], 1)
        module = load(source)
        if not is_small(module):
            return "too large to run"
        constants = {name: _array(given) for name, given in case["constants"].items()}
        compiled = compile_module(module, options, constants)
        runs = [{name: _array(given) for name, given in run.items()} for run in case["runs"]] or [None]
        return f"{case['target']} {[checked(compiled, run) for run in runs][-1]}"

    def check(self, error: GradcError, path: Path) -> None:
        """A valid graph is refused only where a kernel or a strategy is missing, or by --strict."""
        case = json.loads(path.read_bytes())
        if str(error).startswith("error: strategy "):
            return  # that it is for none of the graph's ops concerns the command line
        check_placed(error, _source_of(case, path))
        if case["runs"] and not isinstance(error, UnsupportedError) and not case["strict"]:
            raise Finding(f"a valid graph is refused: {error.diagnostic.message}")


def _source_of(case: Mapping[str, Any], path: Path) -> Path:
    return path.with_name(f"source.{case['form']}")


def _strategies(problem: Problem) -> list[str]:
    """Those that could be for an op of the graph."""
    kinds = {node.op.name.partition(".")[2] for node in problem.nodes}
    sorts = {"conv" if kind.startswith("conv") else "resize" for kind in kinds}
    return [name for name in words.strategy_names() if name.startswith((*sorts, "window"))]


def _in_json(problem: Problem) -> dict[str, Any]:
    runs = [feeds_of(problem, run) for run in range(problem.runs)]
    return {
        "form": "json",
        "source": text_of(document_of(problem)).split("\n"),
        "constants": _described(constants_of(problem)),
        "runs": [_described(run) for run in runs],
    }


def _in_mlir(problem: Problem) -> dict[str, Any]:
    names = [value.name for value in problem.inputs]
    runs = [dict(zip(names, problem.feeds(run), strict=True)) for run in range(problem.runs)]
    return {
        "form": "mlir",
        "source": module_text(problem.module()).split("\n"),
        "constants": {},
        "runs": [_described(run) for run in runs],
    }


def _described(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Integers by value; of other arrays dtype and shape, whose values are random."""
    return {name: _describe(array) for name, array in arrays.items()}


def _describe(array: np.ndarray) -> dict[str, Any]:
    dtype = of_numpy(array.dtype)
    assert dtype is not None
    expected_message: dict[str, Any] = {"dtype": dtype.name, "shape": list(array.shape)}
    return expected_message | ({"values": array.ravel().tolist()} if array.dtype.kind == "i" else {})


def _array(expected_message: Mapping[str, Any]) -> np.ndarray:
    dtype = by_name(expected_message["dtype"])
    assert dtype is not None
    if "values" in expected_message:
        return np.array(expected_message["values"], dtype.numpy).reshape(expected_message["shape"])
    rng = np.random.default_rng([len(expected_message["shape"]), *expected_message["shape"]])
    return rng.standard_normal(expected_message["shape"]).astype(dtype.numpy)


def _changed(random: Random, case: Mapping[str, Any]) -> list[str]:
    """The source with a change or two."""
    text = "\n".join(case["source"])
    if case["form"] == "json":
        changed = json_tree.write(documents.mutated(random, json_tree.read(text.encode()))).decode()
    else:
        changed = mlir_tokens.mutated(random, text, text)
    return changed.split("\n")
