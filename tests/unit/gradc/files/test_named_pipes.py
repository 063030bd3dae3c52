"""Pipes with a name: one that somebody writes to is read, another is not waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dialects.support.diagnostics import GradcError
from gradc.files import reading


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reading, "PIPE_TIMEOUT", 0.2)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_one_that_nobody_writes_to(pipe: Path):
    with pytest.raises(GradcError, match="a pipe that no process opened for writing"):
        reading.read_bytes(pipe)


def test_one_whose_writer_takes_its_time(pipe: Path):
    program = f"import time; f = open({str(pipe)!r}, 'w'); time.sleep(1); f.write('late'); f.close()"
    with subprocess.Popen([sys.executable, "-c", program]):
        reading.PIPE_TIMEOUT = 10.0
        assert reading.read_bytes(pipe) == b"late"


def test_none_where_a_file_is_wanted(pipe: Path):
    with pytest.raises(GradcError, match="not a regular file"):
        reading.open_file(pipe, regular=True)
