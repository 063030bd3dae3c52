"""Measurements on disk: the tuning file of a user, and an entry of the cache."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from support.documents import INTERPOLATE, two_convolutions

from dialects.support.diagnostics import GradcError
from fuzz import words
from fuzz.mutate import json_tree, octets
from fuzz.oracle import Finding, check_names_file
from fuzz.targets.base import Target, checked
from gradc.compiler.driver import compile, compile_module, load, to_gradients
from gradc.compiler.options import Options
from gradc.tuning.cases import Case, cases
from gradc.tuning.records import Setting, Tuning
from gradc.tuning.stores import Cache
from gradc.tuning.tuner import Tuner
from gradc.util.machine import Machine

OPTIONS = Options(threads=1)
SETTING = Setting("cpu", 18, 1, Machine("a processor", 4, ("avx2",)), "1.0", "0")


class TuningFileTarget(Target):
    """Compiles with `--tuning-file`: a file that is wrong is refused by name."""

    name: ClassVar = "tuning-file"
    suffix: ClassVar = ".json"

    def seeds(self) -> list[bytes]:
        found = _cases(two_convolutions())
        tunings = {case.key: _tuning(case, pick).json() for pick, case in enumerate(found)}
        head = {"format": 1, "target": "cpu", "threads": 1}
        return [_text(head | {"tunings": tunings}), _text(head | {"tunings": {}})]

    def made(self, random: Random, pool: Sequence[bytes]) -> bytes:
        return _made(random, random.choice(pool))

    def run(self, path: Path) -> str:
        return checked(compile(two_convolutions(), tuning_file=path))

    def check(self, error: GradcError, path: Path) -> None:
        check_names_file(error, path)


class TuningCacheTarget(Target):
    """Compiles with one entry of the cache: whatever it holds, the graph is compiled."""

    name: ClassVar = "tuning-cache"
    suffix: ClassVar = ".json"

    def seeds(self) -> list[bytes]:
        value = _tuning(self._case, 0).json()
        return [_text({"format": 1, "key": SETTING.key(self._case.key), "value": value})]

    def made(self, random: Random, pool: Sequence[bytes]) -> bytes:
        return _made(random, random.choice(pool))

    def run(self, path: Path) -> str:
        with TemporaryDirectory() as folder:
            cache = Cache(SETTING, Path(folder))
            cache.write(self._case.key, _tuning(self._case, 0))
            (kept,) = Path(folder).iterdir()
            kept.write_bytes(path.read_bytes())
            compiled = compile_module(load(INTERPOLATE), OPTIONS, tuner=Tuner(cache))
        return checked(compiled)

    def check(self, error: GradcError, path: Path) -> None:
        raise Finding(f"a cache that refuses: {error.diagnostic.message}")

    @cached_property
    def _case(self) -> Case:
        return _cases(INTERPOLATE)[0]


def _cases(document: Any) -> list[Case]:
    module = load(document)
    to_gradients(module, OPTIONS)
    return cases(module, OPTIONS.resolve_target(), {})


def _tuning(case: Case, pick: int) -> Tuning:
    """A tuning that chooses the strategy `pick` of the applicable ones."""
    seconds = {name: 1e-3 * (1 + (number != pick)) for number, name in enumerate(case.applicable)}
    return Tuning(case.applicable[pick % len(case.applicable)], seconds, "a machine")


def _text(content: Any) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


def _made(random: Random, data: bytes) -> bytes:
    tree = json_tree.read(data)
    if tree is None or random.random() < 0.2:
        return octets.mutated(random, data)
    if random.random() < 0.5:
        _another_choice(random, tree)
    if random.random() < 0.8:
        tree = json_tree.mutated(random, tree)
    return json_tree.write(tree)[: octets.MOST_BYTES]


def _another_choice(random: Random, tree: Any) -> None:
    """Every choice becomes another strategy, which was measured or not."""
    for holder, index in json_tree.places(tree):
        record = holder[index]
        if not isinstance(record, json_tree.Pairs) or record.get("choice") is None:
            continue
        name = random.choice((*words.strategy_names(), "auto", "nonsense", ""))
        record.set("choice", name)
        seconds = record.get("seconds")
        if isinstance(seconds, json_tree.Pairs) and random.random() < 0.8:
            seconds.set(name, 1e-6)
