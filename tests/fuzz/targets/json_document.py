"""oneDNN Graph documents: the bytes of a file, to the numbers of the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

from support.documents import CONV, CONV_TRANSPOSE, INTERPOLATE, RESIZE, UPSAMPLE, text_of, two_convolutions
from support.generate import seeded
from support.problem_documents import document_of

from dialects.support.diagnostics import GradcError
from fuzz.mutate import documents, json_tree, octets
from fuzz.oracle import check_placed
from fuzz.targets.base import Target, run_source
from gradc.compiler.options import Options

WRITTEN = (CONV, CONV_TRANSPOSE, INTERPOLATE, RESIZE, UPSAMPLE, two_convolutions())


class JsonTarget(Target):
    name: ClassVar = "json"
    suffix: ClassVar = ".json"

    def seeds(self) -> list[bytes]:
        generated = [document_of(seeded([31, number], most_ops=4)) for number in range(20)]
        return [text_of(doc).encode() for doc in (*WRITTEN, *generated)]

    def made(self, random: Random, pool: Sequence[bytes]) -> bytes:
        return made_document(random, random.choice(pool), random.choice(pool))

    def run(self, path: Path) -> str:
        return run_source(path, Options(threads=1))

    def check(self, error: GradcError, path: Path) -> None:
        check_placed(error, path)


def made_document(random: Random, data: bytes, other: bytes) -> bytes:
    """A document, mostly one that is wrong in what it says, else in its form or its bytes."""
    tree = json_tree.read(data)
    kind = random.random()
    if tree is None or kind < 0.1:
        return octets.spliced(random, data, other) if kind < 0.02 else octets.mutated(random, data)
    if kind < 0.65:
        tree = documents.mutated(random, tree)
    if kind > 0.55:
        tree = json_tree.mutated(random, tree)
    return json_tree.write(tree)[: octets.MOST_BYTES]
