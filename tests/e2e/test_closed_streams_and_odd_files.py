"""What the commands do where a stream is closed or full, and with files that are no files or have hostile
names: one line and an exit code of a user's mistake; no traceback, and nothing waits for ever."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from support.forkserver import Ended, ForkServer, Surroundings

import gradc
from gradc.crash_reports.recipes import Recipe

GRAPH = """func.func @main(%dy: tensor<1x2x4xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x6xf32> {
  %dx = onednn.convolution_backward_data %dy, %w {
    strides = [1], pads_begin = [0], pads_end = [0], dilations = [1],
    data_format = "NCX", weights_format = "OIX", dst_shape = [1, 3, 6]
  } : (tensor<1x2x4xf32>, tensor<2x3x3xf32>) -> tensor<1x3x6xf32>
  return %dx : tensor<1x3x6xf32>
}
"""

READ = {
    "graph": "g.mlir",
    "model": "m.onnx",
    "constants": "w.npz",
    "inputs": "in.npz",
    "tuning": "t.json",
    "problems": "p.txt",
    "reproducer": "r.mlir",
    "interesting": "g.mlir",
}
WRITTEN = {
    "onnx": "out.onnx",
    "npz": "out.npz",
    "html": "out.html",
    "mlir": "out.mlir",
    "json": "out.json",
    "svg": "out.svg",
}

COMMANDS = {
    "compile": "gradc compile <graph> -o >onnx --constants <constants --tuning-file <tuning --threads 1",
    "emit": "gradc compile <graph> --emit mlir -o >mlir",
    "run": "gradc run <graph> --inputs <inputs -o >npz",
    "model": "gradc run <model> --inputs <inputs",
    "verify": "gradc verify <graph> --inputs <inputs",
    "inspect": "gradc inspect <graph>",
    "inspect --json": "gradc inspect <graph> --json",
    "explain": "gradc explain <graph> --tuning-file <tuning --threads 1",
    "report": "gradc report <graph> -o >html --inputs <inputs",
    "reduce": "gradc reduce <graph> -o >mlir --interesting cat~{}",
    "bench": "gradc bench <problems> --peers none --budget 0 --json >json",
    "bench graph": "gradc bench <graph> --peers none --budget 0",
    "doctor": "gradc doctor",
    "completion": "gradc completion bash",
    "help": "gradc --help",
    "tune": "gradc compile <graph> -o >onnx --tune --tune-budget 0",
    "opt": "gradc-opt <graph> -o >mlir",
    "replay": "gradc-opt --replay <reproducer>",
    "passes": "gradc-opt --list-passes",
}
"""Words that begin with < are files that are read, those with > files that are written."""


def words_of(command: str, files: Mapping[str, str]) -> list[str]:
    def word(spelled: str) -> str:
        slot = spelled.strip("<>")
        return files.get(slot) or (READ | WRITTEN)[slot] if spelled[0] in "<>" else spelled

    return [word(spelled).replace("~", " ") for spelled in COMMANDS[command].split()]


def slots(of: Iterable[str]) -> list[tuple[str, str]]:
    """Each command with each of its files."""
    return [
        (name, word.strip("<>"))
        for name, command in COMMANDS.items()
        for word in command.split()
        if word[0] in "<>" and word.strip("<>") in of
    ]


def each(names: str, first: Iterable[tuple[str, ...]], second: Iterable[str]) -> pytest.MarkDecorator:
    """All pairs of cases; of these every twelfth, by its name, every day, the others with `-m heavy`."""
    pairs = [(*case, other) for case in first for other in second]
    heavy = (pytest.mark.heavy,)
    params = [pytest.param(*pair, marks=heavy if crc32(repr(pair).encode()) % 12 else ()) for pair in pairs]
    return pytest.mark.parametrize(names, params)


ALL = [(name,) for name in COMMANDS]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a good file of each kind."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / READ["graph"]).write_text(GRAPH)
    gradc.compile(folder / READ["graph"]).save(folder / READ["model"])
    w, dy = np.ones((2, 3, 3), np.float32), np.ones((1, 2, 4), np.float32)
    np.savez(folder / READ["constants"], w=w)
    np.savez(folder / READ["inputs"], w=w, dy=dy)
    tuning = {"format": 1, "target": "cpu", "threads": 1, "tunings": {}}
    (folder / READ["tuning"]).write_text(json.dumps(tuning))
    (folder / READ["problems"]).write_text("resize_backward,f32,NCX,diff_dst=1x1x8,diff_src=1x1x4\n")
    recipe = Recipe("passes", "pass infer-types", pipeline="infer-types").line()
    (folder / READ["reproducer"]).write_text(f"// gradc crash reproducer\n{recipe}\n{GRAPH}")
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path, dirs_exist_ok=True)
    return tmp_path


HARMLESS = (0, 2, 3, 4)


def assert_told(ended: Ended, *, codes: tuple[int, ...] = HARMLESS, heard: bool = True) -> None:
    reported = f"{ended.code}\n{ended.out[-500:]}\n{ended.err[-3000:]}"
    assert ended.code in codes, reported
    assert "Traceback" not in ended.err, reported
    assert "internal error" not in ended.err, reported
    assert "Exception ignored" not in ended.err, reported
    errors = [line for line in ended.err.splitlines() if "error: " in line.lower()]
    assert len(errors) == (1 if ended.code and heard else 0), reported
    assert all(c.isprintable() or c == "\n" for c in ended.err), reported


class TestStreams:
    STREAMS = {
        "closed stdin": Surroundings(closed=(0,)),
        "closed stdout": Surroundings(closed=(1,)),
        "closed stderr": Surroundings(closed=(2,)),
        "all closed": Surroundings(closed=(0, 1, 2)),
        "full stdout": Surroundings(streams={1: "/dev/full"}),
        "full stderr": Surroundings(streams={2: "/dev/full"}),
        "all full": Surroundings(streams={1: "/dev/full", 2: "/dev/full"}),
    }

    @each("command, stream", ALL, STREAMS)
    def test_each(self, command: str, stream: str, folder: Path, server: ForkServer):
        given = self.STREAMS[stream]
        within = Surroundings(given.closed, given.streams, folder=str(folder))
        assert_told(
            server.run(*words_of(command, {}), within=within),
            heard="stderr" not in stream and "all" not in stream,
        )

    @each("command, slot, stream", [c for c in slots(["graph"]) if c[0] != "bench graph"], ["closed stdin"])
    def test_graph_from_stdin(self, command: str, slot: str, stream: str, folder: Path, server: ForkServer):
        given = self.STREAMS[stream]
        within = Surroundings(given.closed, given.streams, folder=str(folder))
        ended = server.run(*words_of(command, {slot: "-"}), within=within)
        assert_told(ended, codes=(4,))
        assert "stdin" in ended.err

    @each("command, slot, stream", slots(WRITTEN), ["closed stdout", "full stdout", "all full"])
    def test_output_to_stdout(self, command: str, slot: str, stream: str, folder: Path, server: ForkServer):
        given = self.STREAMS[stream]
        within = Surroundings(given.closed, given.streams, folder=str(folder))
        ended = server.run(*words_of(command, {slot: "-"}), within=within)
        assert_told(ended, codes=(4,), heard=stream != "all full")


NAMES = {
    "bytes": os.fsdecode(b"caf\xe9"),
    "newline": "a\nb",
    "escape": "a\x1b[31mb",
    "dash": "-dash",
    "space": " a b ",
}


class TestNames:
    @each("command, slot, name", slots(READ | WRITTEN), NAMES)
    def test_good_files(self, command: str, slot: str, name: str, folder: Path, server: ForkServer):
        usual = (READ | WRITTEN)[slot]
        path = os.path.join(".", NAMES[name] + os.path.splitext(usual)[1])
        if slot in READ:
            shutil.copy(folder / usual, folder / path)
        ended = server.run(*words_of(command, {slot: path}), within=Surroundings(folder=str(folder)))
        assert_told(ended, codes=(0,))

    @each("command, slot, name", slots(READ), NAMES)
    def test_bad_files(self, command: str, slot: str, name: str, folder: Path, server: ForkServer):
        path = os.path.join(".", NAMES[name] + os.path.splitext(READ[slot])[1])
        (folder / path).write_bytes(b"\x80bad")
        ended = server.run(*words_of(command, {slot: path}), within=Surroundings(folder=str(folder)))
        assert_told(ended, codes=(3, 4) if slot != "interesting" else (0, 4))

    @each("command, slot, name", slots(READ), NAMES)
    def test_missing_files(self, command: str, slot: str, name: str, folder: Path, server: ForkServer):
        path = os.path.join(".", NAMES[name] + os.path.splitext(READ[slot])[1])
        ended = server.run(*words_of(command, {slot: path}), within=Surroundings(folder=str(folder)))
        assert_told(ended, codes=(2, 4))


class TestNoFiles:
    ODD = (
        "fifo",
        "folder",
        "/dev/zero",
        "/dev/full",
        "/dev/null",
        "/proc/self/mem",
        "",
        "long",
        "below",
        "missing/file",
        "loop",
        "socket",
        "~",
    )

    def odd(self, kind: str, folder: Path, suffix: str) -> str:
        path = folder / f"odd{suffix}"
        match kind:
            case "fifo":
                os.mkfifo(path)
            case "folder":
                path.mkdir()
            case "loop":
                path.symlink_to(path)
            case "socket":
                socket.socket(socket.AF_UNIX).bind(str(path))
            case "long":
                return "n" * 300 + suffix
            case "below":
                return f"{READ['graph']}/x{suffix}"
            case _:
                return kind
        return path.name

    @each("command, slot, kind", slots(READ), ODD)
    def test_read(self, command: str, slot: str, kind: str, folder: Path, server: ForkServer):
        path = self.odd(kind, folder, os.path.splitext(READ[slot])[1])
        within = Surroundings(folder=str(folder))
        words = [path if word == "?" else word for word in words_of(command, {slot: "?"})]
        ended = server.run(*words, within=within)
        assert_told(ended, codes=(2, 3, 4))

    @each("command, slot, kind", slots(WRITTEN), ODD)
    def test_written(self, command: str, slot: str, kind: str, folder: Path, server: ForkServer):
        path = self.odd(kind, folder, os.path.splitext(WRITTEN[slot])[1])
        words = [path if word == "?" else word for word in words_of(command, {slot: "?"})]
        ended = server.run(*words, within=Surroundings(folder=str(folder)))
        assert_told(ended)


class TestEnvironment:
    GIVEN = {
        "gone": Surroundings(gone=True),
        "no home": Surroundings(variables={"HOME": None, "GRADC_CACHE_DIR": None, "XDG_CACHE_HOME": None}),
        "home is no folder": Surroundings(
            variables={"HOME": "/dev/null", "GRADC_CACHE_DIR": None, "XDG_CACHE_HOME": None}
        ),
        "cache is a file": Surroundings(variables={"GRADC_CACHE_DIR": "/dev/null"}),
        "cache cannot be written": Surroundings(variables={"GRADC_CACHE_DIR": "/proc/nothing"}),
        "cache of a name": Surroundings(variables={"GRADC_CACHE_DIR": os.fsdecode(b"caf\xe9")}),
        "no temporary folder": Surroundings(variables={"TMPDIR": "/dev/null"}),
    }

    @each("command, given", ALL, GIVEN)
    def test_each(self, command: str, given: str, folder: Path, server: ForkServer):
        found = self.GIVEN[given]
        files = {}
        if found.gone:
            (folder / "gone").mkdir()
            files = {slot: str(folder / name) for slot, name in (READ | WRITTEN).items()}
        within = Surroundings(
            folder=str(folder / "gone" if found.gone else folder), gone=found.gone, variables=found.variables
        )
        assert_told(server.run(*words_of(command, files), within=within))
