"""What all tests share: the helpers in tests/support, and how many examples a property tries.

GRADC_EXAMPLES=N tries N times as many, with fresh random choices. Beside other workers numpy's products take
one thread each.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

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
