"""Options and settings of all tests; tests/README.md explains the tiers.

GRADC_EXAMPLES=N tries N times as many, with fresh random choices. With several workers, numpy's products take
one thread each.
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

from support import forkserver, scratch, tiers
from support.examples import EXAMPLES
from support.forkserver import ForkServer

SCRATCH = scratch.enter()
settings.register_profile(
    "gradc",
    deadline=None,
    derandomize=EXAMPLES == 1,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("gradc")


@pytest.fixture(scope="session")
def server() -> ForkServer:
    """A process that has gradc loaded and forks one command after the other."""
    return forkserver.shared()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run all cases of sweeps")
    parser.addoption("--turn", type=int, metavar="N", help="run the quick tier's Nth part of sweeps")
    parser.addoption("--slice", metavar="K/N", help="run the Kth of N slices of the selected tests")


def pytest_configure(config: pytest.Config) -> None:
    """Select the quick tier if no tests are named; workers inherit the choice."""
    is_everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if is_everything and not config.option.whole and config.option.turn is None:
        config.option.turn = tiers.turn_of_commit()
    tiers.Tier.turn = config.option.turn


def pytest_unconfigure() -> None:
    scratch.leave(SCRATCH)


@pytest.hookimpl(trylast=True)  # behind -m and -k, so that a part of a sweep is one of what they select
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = list(items)
    if tiers.Tier.turn is not None:
        chosen = tiers.quick_part(chosen, tiers.Tier.turn)
    if config.option.slice:
        chosen = tiers.slice_of(chosen, config.option.slice)
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen
