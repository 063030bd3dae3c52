"""Folders and disks that cannot be written to: one clear line, and nothing half behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.cli import Result, run_gradc
from support.documents import CONV, text_of
from support.forkserver import ForkServer, Surroundings

import gradc
from gradc.files import npz

WEIGHTS = np.ones((64, 64, 3, 3), np.float32)
"""147 kB: a model with them does not fit where CONV does."""

resource = pytest.importorskip("resource", reason="the system has no limits on files")


@pytest.fixture
def conv(tmp_path) -> Path:
    path = tmp_path / "conv.json"
    path.write_text(text_of(CONV), encoding="utf-8")
    return path


@pytest.fixture
def large(tmp_path) -> list[str]:
    """A graph with its weights, and where the model goes."""
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", [1, 64, 4, 4]), g.input("w", "f32", [64, 64, 3, 3])
    window = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
    formats = {"data_format": "NCX", "weights_format": "OIX"}
    g.output(g.convolution_backward_data(dy, w, (1, 64, 4, 4), **window, **formats), "dx")
    (tmp_path / "g.mlir").write_text(str(g.module()))
    npz.write_npz(tmp_path / "w.npz", {"w": WEIGHTS})
    (tmp_path / "out").mkdir()
    return [str(tmp_path / "g.mlir"), "--constants", str(tmp_path / "w.npz")]


def run(*args: str, limit: int, **environment: str) -> Result:
    """`gradc` in a process that can write no more than `limit` bytes to a file: as on a full disk, but
    for the reason."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-m", "gradc.cli.main", *args],
        env=os.environ | environment,
        capture_output=True,
        preexec_fn=limited,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr.decode())


def run_limited(server: ForkServer, *args: str, limit: int) -> Result:
    """The same in a fork, for limits that the streams do not reach."""
    ended = server.run("gradc", *args, within=Surroundings(file_bytes=limit))
    return Result(ended.code, ended.out.encode(), ended.err)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


class TestAFullDisk:
    def test_a_new_model(self, large, tmp_path, server):
        out = tmp_path / "out" / "m.onnx"
        result = run_limited(server, "compile", *large, "-o", str(out), limit=50_000)
        assert (result.code, result.out) == (4, "")
        assert result.line == f"error: cannot write {out}: File too large"
        assert names(tmp_path / "out") == []

    def test_a_model_that_is_there_stays(self, large, tmp_path, server):
        out = tmp_path / "out" / "m.onnx"
        out.write_bytes(b"old")
        assert run_limited(server, "compile", *large, "-o", str(out), limit=50_000).code == 4
        assert out.read_bytes() == b"old"
        assert names(tmp_path / "out") == ["m.onnx"]

    def test_results(self, large, tmp_path, server):
        out = tmp_path / "out" / "out.npz"
        result = run_limited(server, "run", *large, "-o", str(out), limit=1000)
        assert result.code == 4
        assert result.err.splitlines()[-1] == f"error: cannot write {out}: File too large"
        assert names(tmp_path / "out") == []

    def test_a_cache_costs_a_remark_and_no_model(self, conv, tmp_path):
        """What fills the disk is the first measurement, of some 1000 bytes."""
        out, cache = tmp_path / "m.onnx", tmp_path / "cache"
        arguments = ["compile", str(conv), "-o", str(out), "--tune", "--tune-budget", "5"]
        result = run(*arguments, limit=800, GRADC_CACHE_DIR=str(cache))
        assert result.err.splitlines()[0].endswith("File too large")
        assert "remark: measurements that cannot be read or kept are ignored: cannot write" in result.err
        assert names(cache) == []


class TestFolders:
    @pytest.mark.parametrize("at", ["file", "file/below"])
    def test_a_cache_that_is_a_file(self, at, conv, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("GRADC_CACHE_DIR", str(tmp_path / at))
        result = run_gradc("compile", conv, "-o", tmp_path / "m.onnx", "--tune", "--tune-budget", "5")
        assert result.code == 0
        assert result.line.startswith("remark: measurements that cannot be read or kept are ignored: ")
        onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"))

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_read_only_folder(self, conv, tmp_path):
        (tmp_path / "out").mkdir(mode=0o555)
        out = tmp_path / "out" / "m.onnx"
        result = run_gradc("compile", conv, "-o", out)
        assert (result.code, result.line) == (4, f"error: cannot write {out}: Permission denied")

    @pytest.mark.skipif(sys.platform != "linux", reason="a folder that nobody may write to")
    def test_a_folder_that_takes_no_files(self, conv):
        result = run_gradc("compile", conv, "-o", "/proc/m.onnx")
        assert result.code == 4
        assert result.line.startswith("error: cannot write /proc/m.onnx: ")

    def test_no_files_but_those_that_were_asked_for(self, conv, tmp_path, monkeypatch):
        """Nothing else in the current folder, in that for temporary files, or in the home."""
        places = {name: tmp_path / name for name in ("work", "tmp", "home")}
        for place in places.values():
            place.mkdir()
        monkeypatch.chdir(places["work"])
        environment = {"TMPDIR": str(places["tmp"]), "HOME": str(places["home"])}
        monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
        for args in (["compile", str(conv), "-o", "m.onnx"], ["run", "m.onnx"], ["verify", str(conv)]):
            assert run(*args, limit=10**9, **environment).code == 0
        assert [names(place) for place in places.values()] == [["m.onnx"], [], []]
