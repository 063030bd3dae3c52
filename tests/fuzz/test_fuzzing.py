"""The fuzzer finds what it is there to find, and gives each finding as a file that shows it again."""

from __future__ import annotations

import ctypes
import itertools
import os
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import ClassVar

import numpy as np
import onnx.parser
import pytest
from click.testing import CliRunner
from support.documents import CONV, attrs, changed, ports, text_of
from support.tiers import some

from dialects.support.diagnostics import Diagnostic, GradcError, Position
from fuzz import command, originals
from fuzz.driver import Campaign, Tally
from fuzz.findings import EACH, Findings
from fuzz.mutate import archives, documents, json_tree, mlir_tokens
from fuzz.oracle import Verdict, alike, check_placed
from fuzz.process import prepare
from fuzz.targets import TARGETS
from fuzz.targets.base import Target, is_small
from fuzz.targets.json_document import JsonTarget
from fuzz.worker import step
from gradc.compiler.driver import load
from gradc.runtime.session import Session

pytest.importorskip("onnxruntime")


class Misbehaving(Target):
    """What a case says is what happens."""

    name = "json"
    suffix = ".txt"

    def seeds(self) -> list[bytes]:
        return []

    def made(self, random: Random, pool: Sequence[bytes]) -> bytes:
        return b"fine"

    def run(self, path: Path) -> str:
        match path.read_text():
            case "loop":
                while True:
                    time.sleep(0)
            case "native":
                ctypes.PyDLL(None).sleep(1000)  # holds the interpreter's lock
            case "die":
                os.abort()
            case "raise":
                raise KeyError("k")
            case "unplaced":
                raise GradcError(Diagnostic("error", "no"))
        return "fine"

    def check(self, error: GradcError, path: Path) -> None:
        check_placed(error, path)


def misbehave(
    name: str, seed: int, start: int, corpus: Sequence[bytes], folder: Path, to: Connection
) -> None:
    """`worker.work` with the target that misbehaves."""
    prepare(folder)
    target, seen = Misbehaving(), set[str]()
    for index in itertools.count(start):
        step(target, corpus[index] if index < len(corpus) else b"fine", index, folder, to, seen)


def found(tmp_path: Path, *cases: bytes) -> tuple[Tally, dict[str, bytes]]:
    """The tally of a campaign over some cases, and its findings: kind -> bytes."""

    class Enough(Exception):
        pass

    def reported(tally: Tally) -> None:
        if tally.cases >= len(cases) + 2:
            raise Enough

    findings = Findings(tmp_path)
    campaign = Campaign(Misbehaving, 0, cases, findings, limit=2.0, work=misbehave, reported=reported)
    with pytest.raises(Enough):
        campaign.run(120)
    paths = (tmp_path / "json").glob("*.txt")
    kept = {path.name.partition("-")[0]: path.read_bytes() for path in paths if path.suffixes == [".txt"]}
    return campaign.tally, kept


class TestDriver:
    def test_what_is_found(self, tmp_path: Path):
        tally, kept = found(tmp_path, b"fine", b"raise", b"unplaced", b"die", b"loop", b"native")
        assert kept.pop("hang") in (b"loop", b"native")
        assert kept == {"exception": b"raise", "diagnostic": b"unplaced", "crash": b"die"}
        assert tally.kinds["hang"] == 2
        assert tally.kinds["accepted"] == 3

    def test_where_it_hangs(self, tmp_path: Path):
        found(tmp_path, b"loop")
        (note,) = (tmp_path / "json").glob("*.txt.txt")
        assert "test_fuzzing.py" in note.read_text()

    def test_nothing_is_found(self, tmp_path: Path):
        tally, kept = found(tmp_path, b"fine")
        assert kept == {}
        assert tally.kinds.total() == tally.kinds["accepted"] == 3

    def test_alike_findings_are_kept_a_few_times(self, tmp_path: Path):
        findings = Findings(tmp_path)
        for number in range(EACH + 2):
            findings.add("json", ".json", b"%d" % number, Verdict("exception", "KeyError: here"))
        assert len(findings) == EACH + 2
        assert len(list((tmp_path / "json").glob("*.json"))) == EACH


class TestOracle:
    @pytest.fixture
    def target(self) -> JsonTarget:
        return JsonTarget()

    def test_right_numbers(self, target: JsonTarget, tmp_path: Path):
        verdict = target.judged(text_of(CONV).encode(), tmp_path)
        assert verdict.kind == "accepted", verdict

    def test_wrong_numbers(self, target: JsonTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        run = Session.run
        monkeypatch.setattr(Session, "run", lambda *a: {k: v * 1.001 for k, v in run(*a).items()})
        verdict = target.judged(text_of(CONV).encode(), tmp_path)
        assert verdict.is_finding
        assert verdict.kind == "numbers"

    @pytest.mark.parametrize("dtype", ["bf16", "f16"])
    def test_wrong_numbers_of_a_half_type(self, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """What roundings may do to sums that cancel is no excuse for this."""
        run = Session.run
        monkeypatch.setattr(Session, "run", lambda *a: {k: v * v.dtype.type(1.1) for k, v in run(*a).items()})
        document = changed(CONV, ports(dtypes=(dtype, dtype, dtype)))
        assert JsonTarget().judged(text_of(document).encode(), tmp_path).kind == "numbers"

    def test_a_fault_inside(self, target: JsonTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        def fail(*_: object) -> None:
            raise KeyError("k")

        monkeypatch.setattr("passes.simplify.SimplifyPass.apply", fail)
        verdict = target.judged(text_of(CONV).encode(), tmp_path)
        assert verdict.kind == "exception"
        assert verdict.label.startswith("KeyError: test_fuzzing.py fail")

    def test_a_refusal(self, target: JsonTarget, tmp_path: Path):
        verdict = target.judged(text_of(changed(CONV, attrs(groups=3))).encode(), tmp_path)
        assert verdict.kind == "refused", verdict

    @pytest.mark.parametrize(
        "place", [None, Position("other.json", 1, 1), Position("", 9, 1), Position("", 1, 9)]
    )
    def test_a_refusal_without_its_place(self, tmp_path: Path, place: Position | None):
        class Unplaced(JsonTarget):
            def run(self, path: Path) -> str:
                where = Position(place.file or str(path), place.line, place.column) if place else None
                raise GradcError(Diagnostic("error", "no", position=where))

        assert Unplaced().judged(b"{}\n", tmp_path).kind == "diagnostic"

    def test_large_graphs_are_not_run(self):
        assert is_small(load(CONV))
        shapes = [1000, 4, 30, 30], None, [1000, 2, 59, 59]
        assert not is_small(load(changed(CONV, ports(*shapes), attrs(dst_shape=shapes[2]))))
        far = attrs(strides=[5000, 5000], pads_begin=[0, 0], pads_end=[0, 0], dst_shape=[1, 2, 3, 3])
        assert not is_small(load(changed(CONV, far, ports([1, 4, 1, 1], None, [1, 2, 3, 3]))))

    def test_alike(self):
        assert alike('axis H: given 7, expected "a"') == alike('axis H: given [1, 2], expected "b"')
        assert alike("given 7, expected 8; did you mean x?") != alike("given 7; did you mean x?")


class TestMutators:
    def test_a_seed_decides(self):
        for name, make in TARGETS.items():
            target, pool = make(), make().seeds()
            cases = [[target.made(Random(f"{name}{i}"), pool) for i in range(20)] for _ in range(2)]
            assert cases[0] == cases[1], name
            assert len(set(cases[0])) > 5, name

    def test_json_keeps_what_it_does_not_change(self):
        text = b'{"a":[1,2.5,"\\u00e9",null,true,{}],"a":[],"b":-9223372036854775808}'
        assert json_tree.write(json_tree.read(text)) == text

    def test_documents_stay_documents(self):
        tree = json_tree.read(text_of(CONV).encode())
        others = [documents.mutated(Random(seed), tree) for seed in range(200)]
        read = [json_tree.read(json_tree.write(other)) for other in others]
        assert read.count(None) < 20  # a number that is no JSON
        assert read.count(tree) < 40
        assert tree == json_tree.read(text_of(CONV).encode())

    def test_tokens_are_the_whole_text(self):
        for data in TARGETS["mlir"]().seeds():
            text = data.decode()
            assert "".join(mlir_tokens.TOKEN.findall(text)) == text

    def test_archives_are_read_back(self, tmp_path: Path):
        arrays = {"a": np.arange(6, dtype=np.float32), "b": np.zeros((0, 2), np.int64)}
        (tmp_path / "a.npz").write_bytes(archives.written(arrays))
        with np.load(tmp_path / "a.npz") as back:
            assert {name: back[name].tolist() for name in back} == {k: v.tolist() for k, v in arrays.items()}

    @pytest.mark.sweep(parts=1)
    @pytest.mark.parametrize("name", TARGETS)
    def test_some_cases_of_each_target(self, name: str, tmp_path: Path):
        """A few that are right, a few that are refused, and none that is neither."""
        target = TARGETS[name]()
        pool = target.seeds()
        verdicts = [
            target.judged(target.made(Random(f"{name}/{i}"), pool), tmp_path) for i in some(range(25), 4)
        ]
        verdicts += [target.judged(data, tmp_path) for data in pool[:3]]
        assert [v for v in verdicts if v.is_finding] == []
        assert "accepted" in {v.kind for v in verdicts}


class TestCommand:
    def test_replay(self, tmp_path: Path):
        case = tmp_path / "json" / "x.json"
        case.parent.mkdir()
        case.write_text(text_of(CONV))
        result = CliRunner().invoke(command.main, ["--replay", str(case)])
        assert result.exit_code == 0
        assert result.output.startswith("accepted: ")
        case.rename(tmp_path / "x.json")
        assert CliRunner().invoke(command.main, ["--replay", str(tmp_path / "x.json")]).exit_code == 2
        named = CliRunner().invoke(command.main, ["--replay", str(tmp_path / "x.json"), "--target", "json"])
        assert named.exit_code == 0

    def test_a_short_run(self, tmp_path: Path):
        arguments = ["--target", "tuning-file", "--seconds", "6", "--seed", "1", "--findings", str(tmp_path)]
        result = CliRunner().invoke(command.main, arguments)
        assert result.exit_code == 0, result.output
        assert result.output.splitlines()[0] == "seed 1"
        assert not list(tmp_path.iterdir())


class TestOriginals:
    """Models as they are given, which may take onnxruntime down, or run for ever."""

    HEAD = '<ir_version: 8, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) '
    MODELS: ClassVar = {
        "runs": "{ y = Exp (x) }",
        "dies": """{ s = SequenceConstruct (x, x) e = Constant <value_ints: ints = []> ()
            y = SequenceAt (s, e) }""",
        "for-ever": """{ n = Constant <value = int64 {9000000000000}> () b = Constant <value = bool {1}> ()
            y = Loop (n, b, x) <body = l (int64 i, bool go, float[2] v) => (bool on, float[2] w) {
                on = Identity (go) w = Exp (v) }> }""",
        "refused": "{ y = Exp (x, x) }",
    }

    def message(self, name: str, folder: Path) -> str:
        path = folder / f"{name}.onnx"
        path.write_bytes(onnx.parser.parse_model(self.HEAD + self.MODELS[name]).SerializeToString())
        try:
            (array,) = originals.runner().run(path, {"x": np.zeros(2, np.float32)}).values()
        except originals.NotRun as error:
            return str(error)
        return str(array.tolist())

    def test_ends(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        assert self.message("runs", tmp_path) == "[1.0, 1.0]"
        assert self.message("refused", tmp_path) == "onnxruntime does not run it"
        assert self.message("runs", tmp_path) == "[1.0, 1.0]"
        with monkeypatch.context() as patched:
            patched.setattr(originals, "LIMIT", 1.0)
            assert self.message("for-ever", tmp_path) == "onnxruntime does not end"
        assert self.message("runs", tmp_path) == "[1.0, 1.0]"

    def test_death(self, tmp_path: Path):
        """What onnxruntime reads there is memory that is not its own, so that it may also refuse."""
        assert self.message("dies", tmp_path) in (
            "onnxruntime dies of it",
            "onnxruntime does not run it",
            "[0.0, 0.0]",
        )
        assert self.message("runs", tmp_path) == "[1.0, 1.0]"
