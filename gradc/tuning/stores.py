"""Storage of measurements: a cache for this machine, or one file that can be shipped.

The cache is a folder with a small file per measurement, written atomically: concurrent processes never read
partial files, and the later of two equal measurements wins.
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from platformdirs import user_cache_dir

from dialects.support.diagnostics import Diagnostic, GradcError, violation
from dialects.support.option_names import option
from gradc.files.reading import read_bytes, read_error
from gradc.files.writing import StrPath, write_atomically
from gradc.tuning.records import Setting, Tuning
from passes.targets.target import MOST_THREADS, Target

FOLDER_VARIABLE = "GRADC_CACHE_DIR"
FORMAT = 1
AT = " at "
"""Separator between a problem with dynamic sizes and the sizes that were measured."""

MAX_SHOWN = 300
"""Maximum characters of a problem in an error."""

ValueT = TypeVar("ValueT")


class Store(ABC):
    """Tunings by problem string."""

    @abstractmethod
    def read(self, problem: str) -> Tuning | None: ...

    @abstractmethod
    def write(self, problem: str, tuning: Tuning) -> None: ...

    def remarks(self) -> Iterator[Diagnostic]:
        """Yield remarks for the user about the store's use."""
        yield from ()


NOWHERE = Path(os.devnull)
"""The cache folder of a user without a home: nothing can be stored."""


def cache_folder() -> Path:
    """Return the cache folder: $GRADC_CACHE_DIR, else the platform's user cache."""
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given)
    try:
        found = Path(user_cache_dir("gradc", appauthor=False))
    except RuntimeError:
        return NOWHERE
    return found if found.is_absolute() else NOWHERE


@dataclass
class Cache(Store):
    """Measurements of this machine. Unreadable ones are ignored, with a remark."""

    setting: Setting
    folder: Path = field(default_factory=cache_folder)
    fault: str = ""

    def read(self, problem: str) -> Tuning | None:
        return self.read_value(problem, Tuning.of_json)

    def write(self, problem: str, tuning: Tuning) -> None:
        self.write_value(problem, tuning.json())

    def __post_init__(self) -> None:
        if self.folder == NOWHERE:
            self._note(f"this user has no home folder; {FOLDER_VARIABLE} names another place")

    def read_value(self, what: str, decode: Callable[[Any], ValueT]) -> ValueT | None:
        """Return the decoded JSON value of a key, None without one; `decode` raises ValueError."""
        path = self._path(what)
        try:
            return decode(self._value(what, read_bytes(path)))
        except FileNotFoundError:
            return None
        except GradcError as error:
            self._note(error.diagnostic.message)
            return None
        except (OSError, ValueError, RecursionError) as error:
            self._note(f"{path}: {getattr(error, 'strerror', None) or error}")
            return None

    def write_value(self, what: str, value: Any) -> None:
        content = {"format": FORMAT, "key": self.setting.key(what), "value": value}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path(what), json.dumps(content, indent=1).encode())
        except OSError as error:
            self._note(f"{self.folder}: {error.strerror}")
        except GradcError as error:
            self._note(error.diagnostic.message)

    def remarks(self) -> Iterator[Diagnostic]:
        if self.fault:
            yield Diagnostic("remark", f"measurements that cannot be read or kept are ignored: {self.fault}")

    def _path(self, what: str) -> Path:
        key = json.dumps(self.setting.key(what), sort_keys=True)
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _value(self, what: str, data: bytes) -> Any:
        content = json.loads(data)
        known = {"format": FORMAT, "key": self.setting.key(what)}
        if not isinstance(content, dict) or {k: content.get(k) for k in known} != known:
            raise ValueError("not a measurement of this problem on this machine")
        return content.get("value")

    def _note(self, fault: str) -> None:
        """Record the first fault only."""
        self.fault = self.fault or fault


@dataclass
class TuningFile(Store):
    """Tunings for one target and number of threads, from any machine.

    An invalid file raises GradcError.
    """

    path: StrPath
    target: str
    threads: int
    tunings: dict[str, Tuning]

    def read(self, problem: str) -> Tuning | None:
        """Return the tuning of a problem; with dynamic sizes, one measured at any sizes."""
        at = (name for name in sorted(self.tunings) if name.startswith(f"{problem}{AT}"))
        return self.tunings.get(problem) or self.tunings.get(next(at, ""))

    def write(self, problem: str, tuning: Tuning) -> None:
        """Write a tuning, and keep those that other processes wrote."""
        if os.path.exists(self.path):
            self.tunings = load_file(self.path).tunings | self.tunings
        self.tunings[problem] = tuning
        write_atomically(self.path, self._content())

    def check(self, target: Target) -> None:
        """Raise GradcError unless the tunings are for this target."""
        expected = {"target": target.name, "threads": target.threads}
        for name, wanted in expected.items():
            if (own := getattr(self, name)) != wanted:
                hint = f"name another {option('tuning_file')} for each"
                raise violation(f"{name} of {os.fspath(self.path)}", given=own, expected=wanted, hint=hint)

    def _content(self) -> bytes:
        tunings = {problem: self.tunings[problem].json() for problem in sorted(self.tunings)}
        content = {"format": FORMAT, "target": self.target, "threads": self.threads, "tunings": tunings}
        return (json.dumps(content, indent=1) + "\n").encode()


def load_file(path: StrPath) -> TuningFile:
    """Load a tuning file. Raises GradcError that names the path and the invalid entry."""
    try:
        content = json.loads(read_bytes(path))
    except OSError as error:
        raise read_error(
            path, error, f"{option('tune', True)} makes it" if isinstance(error, FileNotFoundError) else ""
        ) from None
    except GradcError:
        raise
    except (ValueError, RecursionError) as error:
        raise violation(f"{os.fspath(path)} is not a tuning file: {error}") from None
    return _parse(path, content)


def _parse(path: StrPath, content: Any) -> TuningFile:
    name = os.fspath(path)
    if not isinstance(content, dict) or set(content) != {"format", "target", "threads", "tunings"}:
        expected = "an object with format, target, threads and tunings"
        raise violation(f"{name} is not a tuning file", expected=expected)
    if content["format"] != FORMAT:
        raise violation(f"format of {name}", given=content["format"], expected=FORMAT)
    target, threads, tunings = content["target"], content["threads"], content["tunings"]
    countable = type(threads) is int and 1 <= threads <= MOST_THREADS
    if not isinstance(target, str) or not countable or not isinstance(tunings, dict):
        raise violation(f"{name} is not a tuning file", expected="a target, a number of threads, and tunings")
    read = {problem: _tuning(name, problem, value) for problem, value in tunings.items()}
    return TuningFile(path, target, threads, read)


def _tuning(path: str, problem: str, value: Any) -> Tuning:
    try:
        return Tuning.of_json(value)
    except ValueError as error:
        raise violation(f"{path}: tuning of {_shorten(problem)}: {error}") from None


def _shorten(text: str) -> str:
    """Shorten an invalid problem for an error message."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}.."
