"""Drafts: a file without a name, a hidden one, and what dead writers left."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gradc.files import atomic

LEFT = ".gradc-0123456789abcdef.tmp"


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def write(path: Path, data: bytes) -> None:
    with atomic.draft(path.parent) as draft:
        draft.file.write(data)
        draft.publish(path)


@pytest.fixture(params=["nameless", "no such files", "no links"])
def system(request, monkeypatch):
    """Systems that differ in what they offer."""
    if request.param == "no such files":
        monkeypatch.setattr(atomic, "_open_nameless", lambda folder: None)
    if request.param == "no links":
        monkeypatch.setattr(atomic, "_link", lambda file, target: False)
    return request.param


@pytest.mark.usefixtures("system")
class TestEverywhere:
    @pytest.mark.parametrize("old", [None, b"old and longer"])
    def test_publishing(self, tmp_path, old):
        path = tmp_path / "a"
        if old is not None:
            path.write_bytes(old)
        write(path, b"new")
        assert path.read_bytes() == b"new"
        assert names(tmp_path) == ["a"]
        assert path.stat().st_nlink == 1

    def test_not_published(self, tmp_path):
        with atomic.draft(tmp_path) as draft:
            draft.file.write(b"x")
        assert names(tmp_path) == []

    def test_failure_after_writing(self, tmp_path, monkeypatch):
        def full(number):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        (tmp_path / "a").write_bytes(b"old")
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            write(tmp_path / "a", b"new")
        assert (tmp_path / "a").read_bytes() == b"old"
        assert names(tmp_path) == ["a"]

    def test_permissions(self, tmp_path):
        (tmp_path / "old").write_bytes(b"")
        (tmp_path / "old").chmod(0o604)
        before = os.umask(0o027)
        try:
            write(tmp_path / "old", b"x")
            write(tmp_path / "new", b"x")
        finally:
            os.umask(before)
        modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("old", "new")]
        assert modes == [0o604, 0o640]

    def test_what_a_dead_writer_left_goes_and_nothing_else(self, tmp_path):
        others = [".gradc-0123456789abcdeg.tmp", f"{LEFT}x", "0123456789abcdef.tmp"]
        for name in (LEFT, *others):
            (tmp_path / name).write_bytes(b"half")
        write(tmp_path / "a", b"")
        assert names(tmp_path) == sorted(["a", *others])

    def test_what_a_living_writer_writes_stays(self, tmp_path):
        with atomic.draft(tmp_path) as first:
            first.file.write(b"first")
            write(tmp_path / "b", b"second")
            first.publish(tmp_path / "a")
        assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"first", b"second"]
        assert names(tmp_path) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="the system has no files without a name")
def test_nothing_is_to_be_seen_while_writing(tmp_path):
    with atomic.draft(tmp_path) as draft:
        if draft.hidden is not None:
            pytest.skip("the file system has no files without a name")
        draft.file.write(b"x" * 100_000)
        draft.file.flush()
        assert names(tmp_path) == []


def test_a_link_that_is_called_like_a_hidden_file_is_not_followed(tmp_path):
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / LEFT).symlink_to("mine")
    write(tmp_path / "a", b"")
    assert names(tmp_path) == [LEFT, "a", "mine"]


KILLED_WHILE_HIDDEN = """
import os, signal, sys
from pathlib import Path
from gradc.files import atomic
atomic._open_nameless = lambda folder: None
with atomic.draft(Path(sys.argv[1])) as draft:
    draft.file.write(b"half")
    draft.file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_write_removes_what_a_killed_one_left(tmp_path):
    code = subprocess.run([sys.executable, "-c", KILLED_WHILE_HIDDEN, str(tmp_path)], check=False).returncode
    assert code == -9
    (left,) = names(tmp_path)
    assert atomic.HIDDEN.fullmatch(left)
    write(tmp_path / "a", b"whole")
    assert names(tmp_path) == ["a"]
