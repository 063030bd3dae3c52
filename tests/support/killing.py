"""Kill `gradc` commands at random moments, and keep what each leaves in the folder that it writes to.

    killing.py FOLDER SNAPSHOTS KILLS LIMIT FRESH ARGUMENTS...

A run of its own, because it forks: each child has everything imported, so that a kill costs one
compilation. `{i}` in an argument is 0 and 1 by turns. LIMIT is that of the weights in a model file;
with FRESH = 1 every child finds an empty folder. Prints how many were killed before they were done.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from gradc.cli import main as cli
from gradc.model import saving


def child(arguments: list[str], turn: int) -> int:
    number = os.fork()
    if number == 0:
        try:
            cli.main([argument.replace("{i}", str(turn % 2)) for argument in arguments])
        finally:
            os._exit(0)
    return number


def main(folder: Path, snapshots: Path, kills: int, limit: int, fresh: bool, arguments: list[str]) -> int:
    saving.save_model.__defaults__ = (limit, None)
    with contextlib.suppress(SystemExit):
        cli.main([argument.replace("{i}", "0") for argument in arguments])  # imports what there is to import
    os.waitpid(child(arguments, 0), 0)  # the first takes longer
    start = time.perf_counter()
    os.waitpid(child(arguments, 0), 0)
    whole = time.perf_counter() - start
    rng, killed = random.Random(0), 0
    for turn in range(kills):
        if fresh:
            shutil.rmtree(folder)
            folder.mkdir()
        number = child(arguments, turn)
        # writing comes last: most of the kills are aimed at it
        late = rng.choice([rng.random(), rng.uniform(0.7, 1.1), rng.uniform(0.85, 1.0)])
        time.sleep(whole * (late if turn else 0.5))
        os.kill(number, signal.SIGKILL)
        killed += os.waitpid(number, 0)[1] == signal.SIGKILL
        shutil.copytree(folder, snapshots / str(turn))
    os.waitpid(child(arguments, 0), 0)
    return killed


if __name__ == "__main__":
    to, kept, count, most, empty, *rest = sys.argv[1:]
    print(main(Path(to), Path(kept), int(count), int(most), empty == "1", rest))
