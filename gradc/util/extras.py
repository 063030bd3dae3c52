"""Installation commands for gradc's extras. They list the packages, since no index has gradc."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from dialects.support.diagnostics import Diagnostic, UsageError


def install(extra: str) -> str:
    """Return the command that installs the packages of an extra."""
    found = packages(extra)
    if not found:
        return f"pip install '.[{extra}]' in the checkout of gradc"
    return f"pip install {' '.join(map(_quote, found))}"


def packages(extra: str) -> list[str]:
    """Return an extra's requirements for this operating system; none if gradc is not installed."""
    try:
        declared = requires("gradc") or []
    except PackageNotFoundError:
        return []
    parts = [entry.partition(";") for entry in declared]
    return [name.strip() for name, _, marker in parts if _is_required(marker, extra)]


def _is_required(marker: str, extra: str) -> bool:
    system = re.search(r"""platform_system == ['"](\w+)['"]""", marker)
    here = system is None or system[1] == platform.system()
    return here and re.search(rf"""extra == ['"]{extra}['"]""", marker) is not None


def _quote(requirement: str) -> str:
    return f'"{requirement}"'


def check_torch() -> None:
    """Raise UsageError with the command that installs torch if it is not installed."""
    if find_spec("torch") is None:
        raise UsageError(Diagnostic("error", f"gradc.torch needs torch: {install('torch')}"))
