"""The CPU and its features, which decide how fast a kernel is."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CPU_FEATURES = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile", "asimd", "bf16", "sve")
_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Machine:
    """A CPU's name, logical cores and CPU_FEATURES; `features` is None if the system lists none."""

    cpu: str
    cores: int
    features: tuple[str, ...] | None

    def __str__(self) -> str:
        return f"{self.cpu}, {self.cores} cores, {' '.join(self.features or ()) or 'no features known'}"


def this_machine() -> Machine:
    return Machine(_cpu_name(), os.cpu_count() or 1, cpu_features())


def cpu_features() -> tuple[str, ...] | None:
    """Return the CPU_FEATURES that the system lists, or None if it has no list."""
    if not _CPUINFO.exists():
        return None
    words = set(_read_cpuinfo().split())
    return tuple(name for name in CPU_FEATURES if name in words)


def _read_cpuinfo() -> str:
    return _CPUINFO.read_text(encoding="utf-8", errors="replace")


def _cpu_name() -> str:
    return next(_model_names(), "") or platform.processor() or platform.machine()


def _model_names() -> Iterator[str]:
    if not _CPUINFO.exists():
        return
    for line in _read_cpuinfo().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            yield " ".join(value.split())
