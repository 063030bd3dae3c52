"""A problem written as a document, to be written otherwise, and run."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from support.documents import Doc, encoded
from support.pipeline import Expected
from support.problem_documents import constants_of, document_of, feeds_of, outputs_of
from support.problems import Problem

from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from gradc.importers.onednn.reader import import_document

Arrays = dict[str, np.ndarray]


@dataclass
class Written:
    """A document with its constants and the inputs of each run, by name. `outputs` are names in order."""

    document: Doc
    constants: Arrays
    feeds: list[Arrays]
    outputs: list[str]

    @classmethod
    def of(cls, problem: Problem) -> Written:
        feeds = [feeds_of(problem, run) for run in range(problem.runs)]
        return cls(document_of(problem), constants_of(problem), feeds, outputs_of(problem))

    def copy(self) -> Written:
        return copy.deepcopy(Written(self.document, self.constants, self.feeds, self.outputs))

    @property
    def ops(self) -> list[Doc]:
        return self.document["graph"]

    def value(self, op: Doc, name: str, default: Any = None) -> Any:
        """An attribute's value as it is written."""
        return op["attrs"][name]["value"] if name in op["attrs"] else default

    def write(self, op: Doc, name: str, value: Any) -> None:
        op["attrs"][name] = encoded(name, value)

    def records(self, identifier: int) -> list[Doc]:
        """All records of a tensor."""
        every = [record for op in self.ops for record in (*op["inputs"], *op["outputs"])]
        return [record for record in every if record["id"] == identifier]

    def move(self, identifier: int, order: Sequence[int]) -> None:
        """Another order of a tensor's axes: in its records, its constant, its inputs."""
        for record in self.records(identifier):
            record["shape"] = [record["shape"][axis] for axis in order]
        for arrays in (self.constants, *self.feeds):
            if (name := f"t{identifier}") in arrays:
                arrays[name] = np.ascontiguousarray(arrays[name].transpose(order))

    def rename(self, tensors: dict[int, int]) -> None:
        """Other ids for the tensors, everywhere."""
        every = [record for op in self.ops for record in (*op["inputs"], *op["outputs"])]
        for record in every:
            record["id"] = tensors[record["id"]]
        for ports in ("input_ports", "output_ports"):
            self.document[ports] = [tensors[number] for number in self.document[ports]]
        names = {f"t{old}": f"t{new}" for old, new in tensors.items()}
        self.constants = {names[name]: array for name, array in self.constants.items()}
        self.feeds = [{names[name]: array for name, array in feed.items()} for feed in self.feeds]
        self.outputs = [names[name] for name in self.outputs]

    @cached_property
    def compiled(self) -> Compiled:
        return compile_module(import_document(self.document), Options(threads=1), self.constants)

    def run(self, number: int) -> list[np.ndarray]:
        """The outputs of a run on onnxruntime."""
        found = self.compiled.run(self.feeds[number])
        return [found[name] for name in self.outputs]


def runs(problem: Problem, *written: Written) -> list[list[list[np.ndarray]]]:
    """What each way of writing a problem gives, `[way][run][output]`; each agrees with the reference."""
    expected = Expected(problem)
    found = [[way.run(run) for run in range(problem.runs)] for way in written]
    for number, way in enumerate(found):
        for run, arrays in enumerate(way):
            expected.check(run, arrays, f"way {number}")
    return found
