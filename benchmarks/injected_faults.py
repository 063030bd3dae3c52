"""Sensitivity of the gradient check: inject faults into the compiler and print the outcomes.

    python benchmarks/injected_faults.py [--clean | --each] [FAULT or MODEL ...]
    python benchmarks/injected_faults.py --random FIRST LAST

Prints one line for each fault and model: the relative change of the gradient, the verdict of the check,
whether it names the right op, CPU seconds and the message. `--each` injects each fault in its smallest model
only, `--clean` checks the models without a fault. `--random` makes one op of each random graph of some seeds
wrong by one per cent.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.injected_faults import CAUGHT, Fault, Outcome, outcome, pairs, slips, undecided
from support.proof_models import MODELS, proof_model

WORDS = {True: "yes", False: "no", None: "-"}


def row(one: Outcome) -> str:
    message = " ".join(one.message.split())[:300]
    numbers = f"{one.change:8.1e}  {one.verdict:12}  {WORDS[one.right_op]:4} {one.seconds:6.2f}"
    return f"{one.fault:48} {one.model:22} {numbers}  {message}"


def size(model: str) -> int:
    return len(proof_model(model).model.graph.node)


def chosen_faults(asked: Sequence[str], each: bool) -> list[tuple[Fault, str]]:
    chosen = [(f, m) for f, m in pairs() if not asked or f.name in asked or m in asked]
    return [(f, m) for f, m in chosen if not each or m == min(f.models, key=size)]


def random_faults(first: int, last: int) -> list[tuple[Fault, str]]:
    return [found[seed % len(found)] for seed in range(first, last) if (found := slips(seed))]


def table(chosen: Sequence[tuple[Fault, str]]) -> None:
    print(f"{'fault':48} {'model':22} {'change':>8}  {'verdict':12}  {'op':4} {'CPU s':>6}  message")
    found: list[Outcome] = []
    conventions = {fault.name for fault, _ in chosen if fault.convention}
    for fault, model in chosen:
        found.append(outcome(fault, model))
        print(row(found[-1]), flush=True)
    visible = [one for one in found if one.is_visible and one.fault not in conventions]
    kinds = {one.fault for one in visible}
    caught = {kind for kind in kinds if all(o.verdict == CAUGHT for o in visible if o.fault == kind)}
    print(f"\n{len(visible)} settings of {len(kinds)} kinds change a gradient by more than 1e-4")
    print(f"verdicts: {dict(Counter(one.verdict for one in visible))}; {len(caught)} kinds caught everywhere")
    named = Counter(one.right_op for one in visible if one.verdict == CAUGHT)
    print(f"op to blame: {named[True]} named, {named[False]} not, {named[None]} faults of no op")
    print(f"{sum(one.seconds for one in found):.0f} s of CPU")


def clean(asked: Sequence[str]) -> None:
    for name in asked or MODELS:
        begin = time.process_time()
        compiled = proof_model(name).gradient(check=True)
        seconds, remarks = time.process_time() - begin, undecided(compiled)
        print(f"{name:22} {seconds:6.2f}  {compiled.proof}  {'; '.join(remarks)}", flush=True)


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    if "--clean" in sys.argv:
        clean(names)
    elif "--random" in sys.argv:
        table(random_faults(*map(int, names)))
    else:
        table(chosen_faults(names, "--each" in sys.argv))
