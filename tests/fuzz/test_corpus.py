"""Every case of the corpus ends as it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.corpus import files
from fuzz.targets import TARGETS

pytest.importorskip("onnxruntime")

CASES = [(name, path) for name in TARGETS for path in files(name)]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}/{path.name}" for name, path in CASES])
def test_case(name: str, case: Path, tmp_path: Path):
    verdict = TARGETS[name]().judged(case.read_bytes(), tmp_path)
    assert not verdict.is_finding, f"{verdict.label}\n{verdict.detail}"


def test_every_target_has_cases():
    assert {name for name, _ in CASES} == set(TARGETS)
