"""ONNX's cases of single ops and their gradients, written for `portable`, on other runtimes.

Each model is right, or fails as declared: the runtime lacks an op or dtype of it, which its target says,
or `node_limits.json` has its message and the reason. What a newer runtime has learned fails a test.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from support.runtimes.isolated import Isolated
from support.runtimes.node_cases import LIMITS, Written, assert_right, by_name, lacking, limit_of, written
from support.runtimes.onnxruntime_web import OnnxruntimeWeb
from support.runtimes.openvino_cpu import OpenvinoCpu
from support.runtimes.runner import Runner, require
from support.runtimes.tract_cpu import TractCpu

RUNNERS = (Isolated(OpenvinoCpu()), OnnxruntimeWeb(), Isolated(TractCpu(), seconds=10))


def check(runner: Runner, one: Written) -> None:
    (found,) = runner.run(one.model, [one.feeds])
    assert_right(found, one)


@pytest.mark.heavy
@pytest.mark.parametrize("runner", RUNNERS, ids=lambda runner: runner.name)
@pytest.mark.parametrize("case", by_name())
def test_node_case(case: str, runner: Runner):
    require(runner.missing())
    for one in written(case):
        lacks = lacking(runner.name, one.model)
        limit = None if lacks else limit_of(runner.name, one.name)
        if not lacks and limit is None:
            check(runner, one)
            continue
        with pytest.raises((AssertionError, RuntimeError)) as raised:
            check(runner, one)
        assert limit is None or re.search(limit.says, str(raised.value)), raised.value


def test_limits_are_of_cases_and_runners():
    for limit in LIMITS:
        assert limit.runtime in {runner.name for runner in RUNNERS}
        assert limit.reason
        for glob in limit.cases:
            assert any(fnmatchcase(name, glob.partition("/")[0]) for name in by_name()), glob
