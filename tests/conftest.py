"""What all tests share: the helpers in tests/support, and how many examples a property tries.

GRADC_EXAMPLES=N tries N times as many, with fresh random choices. With several workers, numpy's products take
one thread each.

A test function with many cases is a sweep. A run of all tests takes a quarter of its cases, another one with
each commit, and `--whole` all. Tests named on the command line run whole. `--slice 2/3` runs the second of
three parts of whatever is selected.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if "PYTEST_XDIST_WORKER" in os.environ:  # before anything imports numpy, which reads it once
    os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parent))

from support import parts
from support.examples import EXAMPLES

PARTS_OF_SWEEPS = 4

settings.register_profile(
    "gradc",
    deadline=None,
    derandomize=EXAMPLES == 1,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("gradc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slice", metavar="K/N", help="run the Kth of N parts of the tests")
    parser.addoption("--whole", action="store_true", help="run all cases of sweeps")
    parser.addoption("--sweeps", metavar="K/N", help="run the Kth of N parts of each sweep")


def pytest_configure(config: pytest.Config) -> None:
    """Choose a part of the sweeps by the commit, where no tests are named; workers inherit the choice."""
    is_everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if is_everything and not (config.option.whole or config.option.slice or config.option.sweeps):
        config.option.sweeps = parts.of_commit(PARTS_OF_SWEEPS)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = list(items)
    if config.option.slice:
        chosen = parts.part(chosen, config.option.slice)
    if config.option.sweeps:
        chosen = parts.part_of_sweeps(chosen, config.option.sweeps)
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen
