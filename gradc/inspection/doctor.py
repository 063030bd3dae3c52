"""Report of `gradc doctor`: installed packages, runtimes and CPU, with installation advice."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict, dataclass

from gradc.files.json_text import json_text
from gradc.terminal.tables import PLAIN, POOR, Look
from gradc.util.extras import install
from gradc.util.installed import PACKAGES, RUNTIMES, package_version
from gradc.util.machine import this_machine
from gradc.util.version import __version__

REPORT = ("jinja2", "pillow", "pygraphviz")
"""Additional packages of `gradc report`."""


@dataclass(frozen=True)
class Finding:
    """One line of the report; `advice` is how to install a missing item."""

    what: str
    value: str
    advice: str = ""


def examine() -> list[Finding]:
    return [
        Finding("gradc", __version__),
        Finding("Python", platform.python_version(), _python_advice()),
        *(_package(name) for name in PACKAGES),
        *_runtime(),
        _report(),
        *_cpu(),
    ]


def _python_advice() -> str:
    return "" if sys.version_info >= (3, 11) else "gradc needs Python 3.11 or newer"


def _package(name: str) -> Finding:
    found = package_version(name)
    return Finding(name, found or "missing", "" if found else f"pip install {name}")


def _runtime() -> list[Finding]:
    installed = {name: found for name in RUNTIMES if (found := package_version(name))}
    if not installed:
        advice = f"{install('cpu')}, or for NVIDIA GPUs {install('cuda')}"
        return [Finding("onnxruntime", "missing: models compile but cannot run", advice)]
    both = len(installed) > 1
    conflict = "uninstall both, then install one: they provide the same module" if both else ""
    shown = ", ".join(f"{found} ({name})" for name, found in installed.items())
    return [Finding("onnxruntime", shown, conflict), *_abilities()]


def _report() -> Finding:
    versions = {name: package_version(name) for name in REPORT}
    if not all(versions.values()):
        missing = ", ".join(name for name, found in versions.items() if not found)
        return Finding("gradc report", f"missing: {missing}", install("report"))
    return Finding("gradc report", ", ".join(f"{name} {found}" for name, found in versions.items()))


def _abilities() -> list[Finding]:
    """Return providers and opsets of the runtime, or the reason why they are unknown."""
    try:
        return [*_providers(), *_opset()]
    except Exception as error:
        reason = " ".join(str(error).split())
        return [Finding("execution providers", f"unknown: {reason}", "install what is missing above first")]


def _providers() -> list[Finding]:
    from gradc.runtime.session import available_providers

    providers = available_providers()
    cuda = "CUDAExecutionProvider" in providers
    advice = "" if cuda else f"for CUDA: pip uninstall onnxruntime; {install('cuda')}"
    return [Finding("execution providers", ", ".join(providers), advice)]


def _opset() -> list[Finding]:
    from gradc.runtime.session import DEFAULT_OPSET, OLDEST_OPSET, newest_opset

    return [Finding("opsets", f"{OLDEST_OPSET} to {newest_opset()}, default {DEFAULT_OPSET}")]


def _cpu() -> list[Finding]:
    machine = this_machine()
    features = "unknown on this operating system"
    if machine.features is not None:
        features = ", ".join(machine.features) or "none of note"
    return [
        Finding("CPU", f"{platform.machine()}, {machine.cpu}, {machine.cores} cores"),
        Finding("CPU features", features),
    ]


def as_text(findings: list[Finding], look: Look = PLAIN) -> str:
    width = max(len(f.what) for f in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.what:<{width}}  {finding.value}")
        if finding.advice:
            lines.append(look.with_style(f"{'':<{width}}  -> {finding.advice}", POOR))
    return "\n".join(lines)


def as_json(findings: list[Finding]) -> str:
    return json_text([asdict(finding) for finding in findings])
