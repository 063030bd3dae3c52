"""Atomic file writing, also if the writing process is killed.

The content goes to an unnamed file (Linux's O_TMPFILE), which the kernel drops with the process, and is
linked to its name when complete. To replace a file takes a rename, so it has a hidden name between two
system calls. Systems without unnamed files (also some network file systems) use the hidden name throughout.

A writer locks its hidden file; the kernel drops the lock with the process, and the next write into the
folder removes hidden files that are not locked.
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
"""Folder of open files, through which an unnamed one is linked."""


@dataclass
class Draft:
    """A file being written; `hidden` is its temporary name, set before the file exists."""

    folder: Path
    hidden: Path | None = None
    file: BinaryIO = field(init=False)

    def publish(self, target: Path) -> None:
        """Name the file `target`, replacing an existing file and keeping its permissions.

        `target` is in the draft's folder, and no link. Raises OSError and then leaves `target` unchanged.
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
        """Give an unnamed file a hidden name, by a copy if the system allows no link."""
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
        """Open an unnamed file, or a hidden one if the system has none."""
        nameless = _open_nameless(self.folder)
        if nameless is None:
            self._open_hidden()
        else:
            self.file = nameless

    def _open_hidden(self) -> None:
        """Create and lock a hidden file; retry if another process removed it before the lock."""
        while True:
            self.hidden = _hidden_path(self.folder)
            self.file = open(self.hidden, "x+b")  # noqa: SIM115
            _lock(self.file.fileno())
            if self.hidden.exists():
                return
            self.file.close()

    def discard(self) -> None:
        """Close the file and remove its hidden name; also works after an interrupted `open`."""
        if hasattr(self, "file"):
            with contextlib.suppress(OSError):
                self.file.close()
        if self.hidden is not None:
            self.hidden.unlink(missing_ok=True)


@contextlib.contextmanager
def draft(folder: Path) -> Iterator[Draft]:
    """Yield a file to write in a folder; it is removed at the end unless it was published."""
    sweep(folder, HIDDEN)
    found = Draft(folder)
    try:
        found.open()
        yield found
    finally:
        found.discard()


@contextlib.contextmanager
def restore_on_error(path: Path) -> Iterator[None]:
    """Restore a file if the block fails, or remove it if there was none.

    A file system without links keeps what the block wrote.
    """
    former = _hidden_path(path.parent)
    existed = path.is_file()
    with contextlib.ExitStack() as stack:
        if existed:
            held = stack.enter_context(open(path, "rb"))
            _lock(held.fileno())  # else another process would remove the second name
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
    """Remove the files of a folder that match `names` and are not locked by a writer, except `kept`."""
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
    """Open an unnamed file; return None if the system or the file system has none."""
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
    """Lock a file. If the file system has no locks, `sweep` removes nothing either."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_EX)


def _link(file: BinaryIO, target: Path) -> bool:
    """Link an unnamed file to a path; return whether that succeeded."""
    number = file.fileno()
    try:
        # src_dir_fd has no effect on an absolute path, but makes Python call linkat, which follows links
        os.link(f"{OPEN_FILES}/{number}", target, src_dir_fd=number, follow_symlinks=True)
    except OSError:
        return False
    return True
