"""A file that appears whole or not at all, also when the process that writes it is killed.

The content goes to a file without a name (Linux's O_TMPFILE), which the kernel drops with the process,
and gets its name when it is complete. To replace a file takes a rename, and so a hidden name for the
instant between two system calls. Where there are no files without a name (other systems, some network
file systems) the hidden name is there for as long as the writing takes.

A hidden file whose writer is dead is removed by the next write into its folder. A writer that lives
holds a lock on its file, which the kernel drops with the process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

HIDDEN = re.compile(r"\.gradc-[0-9a-f]{16}\.tmp")

OPEN_FILES = "/proc/self/fd"
"""Where an open file without a name can be reached, to give it one."""


@dataclass
class Draft:
    """A file that is being written; `hidden` is its name, from before it has it."""

    folder: Path
    hidden: Path | None = None
    file: BinaryIO = field(init=False)

    def publish(self, target: Path) -> None:
        """Give the file its name, in place of what has it now, whose permissions it takes over.

        `target` is in the draft's folder, and no link. Raises OSError; then `target` is as it was.
        """
        self.file.flush()
        os.fsync(self.file.fileno())
        exists = target.exists()
        if not exists and self.hidden is None and _link(self.file, target):
            return
        if self.hidden is None:
            self._name()
        assert self.hidden is not None
        if exists:
            self.hidden.chmod(stat.S_IMODE(target.stat().st_mode))
        if fcntl is None:
            self.file.close()  # Windows renames no open file
        os.replace(self.hidden, target)
        self.hidden = None

    def _name(self) -> None:
        """Give a file without a name a hidden one, by a copy where the system allows no link."""
        self.hidden = _hidden_path(self.folder)
        if _link(self.file, self.hidden):
            return
        self.file.seek(0)
        with self.file as nameless:
            self._open_hidden()
            shutil.copyfileobj(nameless, self.file)
        self.file.flush()
        os.fsync(self.file.fileno())

    def open(self) -> None:
        """Without a name where there are such files."""
        nameless = _open_nameless(self.folder)
        if nameless is None:
            self._open_hidden()
        else:
            self.file = nameless

    def _open_hidden(self) -> None:
        """A new file, locked; another process may take it for abandoned until it is, and remove it."""
        while True:
            self.hidden = _hidden_path(self.folder)
            self.file = open(self.hidden, "x+b")  # noqa: SIM115
            _lock(self.file.fileno())
            if self.hidden.exists():
                return
            self.file.close()

    def discard(self) -> None:
        """Close it; a name that it still has goes. Wherever opening it was interrupted."""
        if hasattr(self, "file"):
            with contextlib.suppress(OSError):
                self.file.close()
        if self.hidden is not None:
            self.hidden.unlink(missing_ok=True)


@contextlib.contextmanager
def draft(folder: Path) -> Iterator[Draft]:
    """A file to write in a folder. It is gone when the block ends, unless it was published."""
    sweep(folder, HIDDEN)
    found = Draft(folder)
    try:
        found.open()
        yield found
    finally:
        found.discard()


@contextlib.contextmanager
def restoring(path: Path) -> Iterator[None]:
    """Put a file back as it was if the block fails; where there was none, remove what the block made.

    A file system without links keeps what the block made.
    """
    former = _hidden_path(path.parent)
    existed = path.is_file()
    with contextlib.ExitStack() as stack:
        if existed:
            held = stack.enter_context(open(path, "rb"))
            _lock(held.fileno())  # else another process could take the second name for abandoned
            with contextlib.suppress(OSError):
                os.link(path, former)
        try:
            yield
        except BaseException:
            if former.exists():
                os.replace(former, path)
            elif not existed:
                path.unlink(missing_ok=True)
            raise
        finally:
            former.unlink(missing_ok=True)


def sweep(folder: Path, names: re.Pattern[str], kept: str = "") -> None:
    """Remove the files of a folder with such names that no living process is writing."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name != kept and names.fullmatch(entry.name):
                _remove_if_abandoned(entry.path)


def _remove_if_abandoned(path: str) -> None:
    assert fcntl is not None
    with contextlib.suppress(OSError):
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        finally:
            os.close(number)


def _open_nameless(folder: Path) -> BinaryIO | None:
    """None where the system or the file system has no such files."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir(OPEN_FILES):
        return None
    try:
        number = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            return None
        raise
    _lock(number)
    return open(number, "w+b")


def _hidden_path(folder: Path) -> Path:
    return folder / f".gradc-{secrets.token_hex(8)}.tmp"


def _lock(number: int) -> None:
    """Where the file system has no locks, nobody can take the file for abandoned."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_EX)


def _link(file: BinaryIO, target: Path) -> bool:
    """Whether a file without a name could be given this one."""
    number = file.fileno()
    try:
        # src_dir_fd has no effect on an absolute path, but makes Python call linkat, which follows links
        os.link(f"{OPEN_FILES}/{number}", target, src_dir_fd=number, follow_symlinks=True)
    except OSError:
        return False
    return True
