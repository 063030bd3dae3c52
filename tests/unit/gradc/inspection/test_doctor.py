"""`gradc doctor`: it reports on what is there, whatever is missing."""

import json
import sys
from importlib import metadata
from importlib.metadata import PackageNotFoundError, version

import numpy
import onnxruntime
import pytest
from support.cli import run_gradc

from gradc.inspection import doctor
from gradc.runtime import session as runtime
from gradc.util import extras, machine


def without(monkeypatch, *missing: str, also: dict[str, str] | None = None) -> None:
    """Installed packages are others than they are."""
    added = also or {}

    def request(name: str) -> str:
        if name in added:
            return added[name]
        if name in missing:
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", request)


def report() -> dict[str, tuple[str, str]]:
    return {finding.what: (finding.value, finding.advice) for finding in doctor.examine()}


def test_what_is_here():
    found = report()
    assert found["numpy"] == (numpy.__version__, "")
    assert found["Python"][0] == ".".join(map(str, sys.version_info[:3]))
    assert onnxruntime.__version__ in found["onnxruntime"][0]
    assert "CPUExecutionProvider" in found["execution providers"][0]
    assert found["opsets"][0] == f"13 to {runtime.newest_opset()}, default 18"
    assert "cores" in found["CPU"][0]
    assert found["CPU features"][0]


def test_cuda_and_how_to_get_it(monkeypatch):
    monkeypatch.setattr(runtime, "available_providers", lambda: ["CPUExecutionProvider"])
    assert 'pip install "onnxruntime-gpu[cuda,cudnn]' in report()["execution providers"][1]
    monkeypatch.setattr(
        runtime, "available_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"]
    )
    assert report()["execution providers"][1] == ""


def test_no_runtime(monkeypatch):
    without(monkeypatch, "onnxruntime", "onnxruntime-gpu")
    found = report()
    assert found["onnxruntime"][0].startswith("missing")
    assert 'pip install "onnxruntime>=' in found["onnxruntime"][1]
    assert "execution providers" not in found


def test_two_runtimes(monkeypatch):
    without(monkeypatch, also={"onnxruntime": "1.23", "onnxruntime-gpu": "1.22"})
    value, advice = report()["onnxruntime"]
    assert value == "1.23 (onnxruntime), 1.22 (onnxruntime-gpu)"
    assert advice.startswith("uninstall both")


def test_a_runtime_that_does_not_start(monkeypatch):
    """Such as one whose shared libraries are missing, or one without numpy beside it."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    value, advice = report()["execution providers"]
    assert value.startswith("unknown: ")
    assert "onnxruntime cannot be imported" in value
    assert advice


@pytest.mark.parametrize("name", doctor.PACKAGES)
def test_a_missing_package(name, monkeypatch):
    without(monkeypatch, name)
    assert report()[name] == ("missing", f"pip install {name}")


def test_what_a_report_needs(monkeypatch):
    without(monkeypatch, also={"jinja2": "3.1.6", "pillow": "12.0", "pygraphviz": "2.0.4"})
    assert report()["gradc report"] == ("jinja2 3.1.6, pillow 12.0, pygraphviz 2.0.4", "")
    without(monkeypatch, "pygraphviz", also={"jinja2": "3.1.6", "pillow": "12.0"})
    assert report()["gradc report"] == ("missing: pygraphviz", extras.install("report"))


def test_an_operating_system_without_proc(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "cpuinfo")
    assert report()["CPU features"][0] == "unknown on this operating system"


def test_the_command():
    text = run_gradc("doctor")
    assert (text.code, text.err) == (0, "")
    rows = json.loads(run_gradc("doctor", "--json").out)
    assert all(list(row) == ["what", "value", "advice"] for row in rows)
    for row in rows:
        assert f"{row['what']} " in text.out
        assert row["value"] in text.out
