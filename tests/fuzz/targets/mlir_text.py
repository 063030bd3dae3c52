"""MLIR text: the bytes of a file, to the numbers of the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

from support.generate import CANONICAL, KINDS, seeded

from dialects.support.diagnostics import GradcError
from fuzz.mutate import mlir_tokens, octets
from fuzz.oracle import check_placed
from fuzz.targets.base import Target, run_source
from gradc.compiler.driver import lower
from gradc.compiler.options import Options
from gradc.graph.printing import module_text

DTYPES = ("f32", "f16", "bf16", "f64")


class MlirTarget(Target):
    name: ClassVar = "mlir"
    suffix: ClassVar = ".mlir"

    def seeds(self) -> list[bytes]:
        """Source ops, canonical ops and onnx ops."""
        problems = [seeded([32, i], most_ops=3, kinds=(*KINDS, *CANONICAL)) for i in range(20)]
        texts = [module_text(problem.module()) for problem in problems]
        return [text.encode() for text in (*texts, *map(_lowered, texts[:3]))]

    def made(self, random: Random, pool: Sequence[bytes]) -> bytes:
        data, other = random.choice(pool), random.choice(pool)
        if random.random() < 0.1:
            return octets.mutated(random, data)
        text = mlir_tokens.mutated(random, data.decode(errors="replace"), other.decode(errors="replace"))
        return text.encode(errors="replace")[: octets.MOST_BYTES]

    def run(self, path: Path) -> str:
        return run_source(path, Options(threads=1))

    def check(self, error: GradcError, path: Path) -> None:
        check_placed(error, path)


def _lowered(text: str) -> str:
    from gradc.importers.mlir.parser import import_mlir

    module = import_mlir(text, "seed.mlir")
    lower(module, Options(threads=1))
    return module_text(module)
