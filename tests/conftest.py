"""What all tests share: the helpers in tests/support, and how many examples a property tries.

GRADC_EXAMPLES=N tries N times as many, with fresh random choices. With several workers, numpy's products take
one thread each. `--slice 2/3` runs the second of three parts of the tests, chosen by a hash of their names.
"""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if "PYTEST_XDIST_WORKER" in os.environ:  # before anything imports numpy, which reads it once
    os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parent))

from support.examples import EXAMPLES

settings.register_profile(
    "gradc",
    deadline=None,
    derandomize=EXAMPLES == 1,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("gradc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slice", metavar="K/N", default="1/1", help="run the Kth of N parts of the tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part, parts = map(int, config.getoption("--slice").split("/"))
    if not 1 <= part <= parts:
        raise pytest.UsageError(f"--slice {part}/{parts}: expected 1 to {parts}")
    if parts == 1:
        return
    is_in_part = [zlib.crc32(item.nodeid.encode()) % parts == part - 1 for item in items]
    config.hook.pytest_deselected(items=[i for i, own in zip(items, is_in_part, strict=True) if not own])
    items[:] = [item for item, own in zip(items, is_in_part, strict=True) if own]
