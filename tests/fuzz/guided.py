"""A worker whose changes are guided by coverage: atheris (libFuzzer) calls, the mutators are the same.

Nothing of gradc may be imported before atheris can instrument it, so all imports are inside.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from fuzz.process import prepare

INSTRUMENTED = (
    "dialects",
    "passes",
    "gradc.compiler.driver",
    "gradc.graph.constants",
    "gradc.files.writing",
    "gradc.importers",
    "gradc.inspection.inspection",
    "gradc.problems",
    "gradc.tuning",
)

OPTIONS = ("-handle_usr1=0", "-handle_int=0", "-rss_limit_mb=0", "-max_len=200000", "-len_control=0")


def is_installed() -> bool:
    try:
        import atheris  # noqa: F401
    except ImportError:
        return False
    return True


def work(name: str, seed: int, start: int, corpus: Sequence[bytes], folder: Path, to: Connection) -> None:
    """`worker.work`, with libFuzzer in place of a seeded choice of what is changed."""
    prepare(folder)
    import atheris

    with atheris.instrument_imports(include=list(INSTRUMENTED), enable_loader_override=False):
        from fuzz.targets import TARGETS
    from fuzz.worker import step

    target = TARGETS[name]()
    counted, seen = itertools.count(start), set[str]()

    def one(data: bytes) -> None:
        step(target, data, next(counted), folder, to, seen)

    def changed(data: bytes, most: int, number: int) -> bytes:
        return target.made(Random(number), [data])[:most]

    with tempfile.TemporaryDirectory(dir=folder) as cases:
        for index, data in enumerate((*corpus, *target.seeds())):
            Path(cases, str(index)).write_bytes(data)
        arguments = [
            "fuzz",
            f"-seed={(seed + start) % 2**32}",
            f"-artifact_prefix={folder}/",
            *OPTIONS,
            cases,
        ]
        atheris.Setup(arguments, one, custom_mutator=changed)
        atheris.Fuzz()
