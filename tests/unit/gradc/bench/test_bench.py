"""The benchmark around the timing: where cases come from, who is judged how, what is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from support.cli import run_gradc
from support.documents import CONV, INTERPOLATE, changed, document, text_of, two_convolutions

from dialects.support import shapes
from dialects.support.diagnostics import GradcError, UnsupportedError
from gradc.bench import command, run
from gradc.bench.floors import CONV as CONV_TARGETS
from gradc.bench.floors import group_of, target_of
from gradc.bench.peers import base
from gradc.bench.peers.base import Contestant, NotSupported, Peer
from gradc.bench.random_problems import problems
from gradc.bench.report import Report, as_data, as_json, as_text, geometric_mean, group_means
from gradc.bench.run import GRADC, Case, Outcome, Result, Settings, run_case
from gradc.bench.suite import DRAWN_CASES, SUITES, cases_of, cases_of_text, suite
from gradc.problems import KINDS, Problem, parse_problem
from gradc.problems.derived import DerivedProblem
from gradc.problems.documents import document_of
from gradc.terminal.tables import Look
from gradc.tuning.measure import ROUNDS, Samples
from tools.documents import markdown

SMALL = "conv_backward_data,f32,NCX,diff_dst=1x4x5x5,weights=4x3x3x3"
NXC = SMALL.replace("NCX", "NXC")
RESIZE = "resize_backward,f32,NCX,diff_dst=1x4x6x6,diff_src=1x4x3x3"


# --- cases -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUITES)
def test_suites(name: str):
    cases = suite(name)
    problems = [case.problem for case in cases]
    assert len({str(problem) for problem in problems}) == len(problems)
    assert all(case.label for case in cases)
    for problem in problems:
        sizes = shapes.static(problem.diff_src)
        assert sizes is not None
        assert 0 < prod(sizes) < 2**25
        assert parse_problem(str(problem)) == problem
    groups = {group_of(problem) for problem in problems}
    without_peers = {kind for kind, cls in KINDS.items() if issubclass(cls, DerivedProblem)}
    kinds = set(KINDS) - {"resize_backward_dynamic"} - without_peers
    missing = kinds - {group.op for group in groups}
    assert not missing, f"missing: {', '.join(sorted(missing))} in gradc/bench/suites/{name}.txt"
    for kind in kinds:
        assert {g.layout for g in groups if g.op == kind} == {"NCX", "NXC"}
    assert {"f32", "bf16", "f16"} == {group.dtype for group in groups}
    assert {(g.layout, g.weights) for g in groups if g.weights} == {
        (layout, weights) for layout in ("NCX", "NXC") for weights in ("constant", "input")
    }
    assert {len(problem.diff_dst) for problem in problems} == {3, 4, 5}


def test_drawn_cases_are_others_for_each_seed():
    texts = {seed: [str(case.problem) for case in suite("drawn", seed)] for seed in (0, 2)}
    assert [len(set(found)) for found in texts.values()] == [DRAWN_CASES, DRAWN_CASES]
    assert texts[0] == [str(case.problem) for case in suite("drawn", 0)]
    assert not set(texts[0]) & set(texts[2])
    groups = [str(group_of(parse_problem(text))) for text in texts[0]]
    assert groups == sorted(groups)
    assert {"resize_backward NCX f32", "resize_backward NXC f32"} < set(groups)


def test_a_seed_draws_the_cases_that_are_run(monkeypatch):
    monkeypatch.setattr("gradc.bench.suite.DRAWN_CASES", 1)
    result = run_gradc(
        "bench", "--suite", "drawn", "--seed", "3", "--peers", "none", "--budget", "0", "--json", "-"
    )
    assert result.code == 0, result.err
    report = json.loads(result.out)
    assert report["settings"]["seed"] == 3
    assert [case["problem"] for case in report["cases"]] == [str(next(problems(3, 1)))]


def test_alternatives_and_labels():
    text = f"# First # of all\n\n{SMALL},weights_are=constant|input  # why\n  # Second\n{RESIZE}\n"
    found = cases_of_text(text.replace("f32,NCX", "f32|f16,NCX"), "x.txt")
    assert [case.label for case in found] == ["First # of all"] * 4 + ["Second"] * 2
    assert {str(case.problem) for case in found[:4]} == {
        SMALL.replace("f32", dtype) + weights
        for dtype in ("f32", "f16")
        for weights in ("", ",weights_are=input")
    }


def test_an_error_in_a_file_is_placed(tmp_path):
    path = tmp_path / "cases.txt"
    path.write_text(f"# ok\n{SMALL}\n   {SMALL},stride=2x2\n")
    with pytest.raises(GradcError) as caught:
        cases_of(str(path))
    assert str(caught.value).startswith(f"{path}:3:{4 + len(SMALL) + 1}: error: unknown field stride")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("nothing.txt", "error: nothing.txt is neither a file nor a problem string"),
        ("resize_backwards", "did you mean resize_backward"),
        ("conv_backward_data,f32", "layout is missing"),
        ("resize_backward", "dtype is missing"),
    ],
)
def test_arguments_that_are_no_cases(argument: str, message: str):
    with pytest.raises(GradcError, match="error: ") as caught:
        cases_of(argument)
    assert message in str(caught.value)


def test_files_without_cases(tmp_path):
    empty, binary = tmp_path / "empty.txt", tmp_path / "binary.txt"
    empty.write_text("# nothing\n")
    binary.write_bytes(b"\xff\xfe\x00")
    for path, message in (
        (empty, "has no problem strings"),
        (binary, "not UTF-8"),
        (tmp_path, "cannot read"),
    ):
        with pytest.raises(GradcError, match=message):
            cases_of(str(path))


def test_documents(tmp_path):
    path = tmp_path / "graph.json"
    constant = changed(
        two_convolutions(), lambda d: d["graph"][1]["inputs"][1].update(property_type="constant")
    )
    for content, expected in (
        (CONV, [("constant", False)]),
        (constant, [("constant", False), ("constant", True)]),
    ):
        path.write_text(text_of(content))
        found = cases_of(str(path))
        assert [case.label for case in found] == ["graph.json"] * len(expected)
        weights = [getattr(case.problem, "weights_are", "") for case in found]
        assert weights == [word if is_constant else "input" for word, is_constant in expected]
    path.write_text(text_of(document(*INTERPOLATE["graph"])))
    (case,) = cases_of(str(path))
    assert str(case.problem) == "resize_backward,f32,NCX,diff_dst=1x2x6x6,diff_src=1x2x3x3"


def test_a_document_in_half_precision_and_the_other_layout(tmp_path):
    path = tmp_path / "graph.json"
    problem = parse_problem(NXC.replace("f32", "bf16"))
    path.write_text(json.dumps(document_of(problem)))
    (case,) = cases_of(str(path))
    assert case.problem == problem


# --- judging -----------------------------------------------------------------------------------------


class FakePeer(Peer):
    """A peer whose result is the true one after a change."""

    name = "fake"
    version = "1"  # pyright: ignore[reportAssignmentType]

    def __init__(self, threads: int = 1, change: Callable[[np.ndarray], np.ndarray] = lambda a: a):
        self.change = change

    def prepare(self, problem: Problem, seed: int) -> Contestant:
        from dialects.evaluate import evaluate

        (true,) = evaluate(problem.module(seed), list(problem.feeds(seed).values()))
        return Contestant(self.name, lambda: None, lambda: self.change(true.copy()))


class Refusing(FakePeer):
    def prepare(self, problem: Problem, seed: int) -> Contestant:
        raise NotSupported("not this one")


class Failing(FakePeer):
    def prepare(self, problem: Problem, seed: int) -> Contestant:
        raise RuntimeError("out of\nluck")


def _timed(lengths: dict[str, float]):
    """`alternate` with lengths of runs by name, 1 for the rest."""

    def fake(contestants, budget):
        return {c.name: Samples(((lengths.get(c.name, 1.0),) * 2,) * ROUNDS) for c in contestants}

    return fake


@pytest.fixture
def lengths(monkeypatch) -> dict[str, float]:
    given: dict[str, float] = {}
    monkeypatch.setattr(run, "alternate", _timed(given))
    return given


def judged(peer: Peer, text: str = SMALL, strategy: str = "auto") -> Result:
    return run_case(Case(parse_problem(text)), Settings(1, strategy), [peer])


def test_a_peer_that_is_right_is_timed(lengths):
    lengths["fake"] = 3.0
    found = judged(FakePeer())
    assert (found.failure, found.ratio, found.is_below) == ("", 3.0, False)
    assert found.best is not None
    assert found.best.spread == (3.0, 3.0)
    assert found.gradc.seconds == 1.0
    assert found.chosen.startswith("conv-")


@pytest.mark.parametrize("text", [SMALL, NXC, RESIZE])
def test_a_peer_that_is_wrong_has_no_ratio(lengths, text: str):
    def change(array: np.ndarray) -> np.ndarray:
        array[-1, 0, 0, 0] += 1
        return array

    found = judged(FakePeer(change=change), text)
    assert (found.ratio, found.failure) == (None, "")
    assert found.peers[0].note.startswith("wrong: off by")
    assert found.gradc.seconds is not None


def test_a_difference_outside_of_the_judged_part_is_a_failure(lengths):
    text = "conv_backward_data,f32,NCX,diff_dst=2x4x5x5,weights=4x3x3x3"

    def change(array: np.ndarray) -> np.ndarray:
        array[0, 0, 0, 0] += 1
        return array

    found = judged(FakePeer(change=change), text)
    assert found.failure.startswith("gradc and fake differ by")


@pytest.mark.parametrize(("peer", "note"), [(Refusing(), "not this one"), (Failing(), "failed: out of luck")])
def test_a_peer_that_cannot_is_no_failure(lengths, peer: Peer, note: str):
    found = judged(peer)
    assert (found.ratio, found.failure, found.is_below) == (None, "", False)
    assert found.peers[0].note == note


def test_a_wrong_result_of_ours_has_no_ratio(lengths, monkeypatch):
    right = run._ours

    def wrong(name, *args):
        contestant = right(name, *args)
        return replace(contestant, result=lambda: contestant.result() * 2)

    monkeypatch.setattr(run, "_ours", wrong)
    found = judged(FakePeer())
    assert found.ratio is None
    assert found.failure.startswith("gradc is wrong: off by")
    assert found.gradc.seconds is None


def test_all_strategies(lengths):
    lengths |= {f"{GRADC}:conv-to-col2im": 0.5, "fake": 0.8}
    found = judged(FakePeer(), strategy="all")
    by_name = {o.name: o for o in found.outcomes}
    duplicate = by_name[f"{GRADC}:{found.chosen}"]
    assert (duplicate.ratio, duplicate.seconds) == (1.0, 1.0)
    assert by_name[f"{GRADC}:conv-to-phase-convs"].seconds is None
    assert "no axis has a stride" in by_name[f"{GRADC}:conv-to-phase-convs"].note
    assert found.best_strategy is by_name[f"{GRADC}:conv-to-col2im"]
    assert found.best is by_name["fake"]
    assert found.is_below
    text = as_text(Report(Settings(1), {}, [found]))
    assert "below its floor 0.9; gradc:conv-to-col2im takes 0.50 of the time" in text
    assert "auto is within 10 % of the fastest strategy in 0 of 1 cases" in text


def test_a_forced_strategy_that_refuses():
    with pytest.raises(UnsupportedError, match="conv-to-phase-convs does not apply"):
        judged(FakePeer(), strategy="conv-to-phase-convs")
    found = command._result(Case(parse_problem(SMALL)), Settings(1, "conv-to-phase-convs"), [])
    assert "conv-to-phase-convs does not apply" in found.failure


# --- reporting -----------------------------------------------------------------------------------------


def result(text: str, ratio: float | None, failure: str = "") -> Result:
    peer = Outcome("fake", "", 2e-3, ratio, None if ratio is None else (ratio * 0.9, ratio * 1.1))
    return Result(
        Case(parse_problem(text), "label"), (Outcome(GRADC, "", 1e-3, 1.0, (1, 1)), peer), "s", failure
    )


RESULTS = [
    result(SMALL, 0.5),
    result(SMALL + ",pads=1x1:1x1", 8.0),
    result(NXC, 1.0),
    result(RESIZE, None),
    result(RESIZE.replace("f32", "f16"), None, "gradc is wrong"),
    result(SMALL + ",weights_are=input", 0.85),
]


def test_group_means():
    means = {str(mean.group): mean for mean in group_means(RESULTS)}
    assert list(means) == [
        "conv_backward_data NCX constant weights f32",
        "conv_backward_data NCX run-time weights f32",
        "conv_backward_data NXC constant weights f32",
    ]
    first = means["conv_backward_data NCX constant weights f32"]
    assert (first.cases, first.worst, first.below) == (2, 0.5, 1)
    assert first.mean == pytest.approx(2.0)
    assert first.target == CONV_TARGETS["NCX"]
    assert means["conv_backward_data NCX run-time weights f32"].below == 0
    assert geometric_mean([2, 8]) == pytest.approx(4)


def test_targets():
    assert target_of(parse_problem(SMALL)) == (0.9, 1.5)
    assert target_of(parse_problem(NXC)) == (0.85, 1.3)
    assert target_of(parse_problem(NXC + ",weights_are=input")) == (0.8, 1.0)
    assert target_of(parse_problem(RESIZE)) == (0.9, 4.0)
    assert target_of(parse_problem(RESIZE.replace("NCX", "NXC"))) == (0.9, 2.0)


def test_the_text_has_it_all():
    text = as_text(Report(Settings(2), {"fake": "1.0", "other": "missing (why)"}, RESULTS))
    assert "2 threads; peers: fake 1.0, other missing (why)" in text
    rows = {line.split()[-1]: line for line in text.splitlines() if "diff_dst=" in line}
    assert all(str(r.case.problem) in text for r in RESULTS)
    assert len([line for line in text.splitlines() if "diff_dst=" in line]) == len(RESULTS)
    assert "FAILED: gradc is wrong" in text
    assert text.count("below its floor") == 2  # the case and its group
    assert rows["0.9"].split()[0] == "0.50"
    assert "mean too low" in next(
        line for line in text.splitlines() if line.startswith("conv_backward_data NXC")
    )
    assert not text.isspace()
    assert "\x1b" not in text


def test_the_json_has_it_all():
    request = Report(Settings(2), {"fake": "1.0"}, RESULTS)
    found = json.loads(as_json(request))
    assert set(found) == {"date", "machine", "versions", "settings", "groups", "cases"}
    assert found["settings"]["threads"] == 2
    assert [case["ratio"] for case in found["cases"]] == [r.ratio for r in RESULTS]
    assert [case["below_floor"] for case in found["cases"]] == [r.is_below for r in RESULTS]
    assert found["cases"][4]["failure"] == "gradc is wrong"
    assert found["cases"][0]["contestants"][1]["spread"] == [0.45, 0.55]
    assert found["groups"][0]["mean"] == pytest.approx(2.0)
    assert found["groups"][0]["group"]["op"] == "conv_backward_data"


def test_a_terminal_shows_the_same():
    out = as_text(Report(Settings(1), {}, RESULTS), Look(300, "standard"))
    for line in out.splitlines():
        if "diff_dst=1x4x5x5,weights=4x3x3x3  " in line and "0.50" in line:
            assert "\x1b[33m" in line
        if "FAILED" in line:
            assert "\x1b[31m" in line
    assert "FAILED" in out


@pytest.mark.parametrize(("name", "magic"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_the_plot(tmp_path, name: str, magic: bytes):
    pytest.importorskip("matplotlib")
    from gradc.bench.plot import plot

    found = as_data(Report(Settings(1), {}, RESULTS))
    plot(found, str(tmp_path / name))
    first = (tmp_path / name).read_bytes()
    assert first.startswith(magic)
    plot(found, str(tmp_path / name))
    assert (tmp_path / name).read_bytes() == first
    plot(as_data(Report(Settings(1), {}, [])), str(tmp_path / name))


# --- the command ---------------------------------------------------------------------------------------


def test_the_command(tmp_path, lengths):
    path = tmp_path / "bench.json"
    found = run_gradc("bench", SMALL, RESIZE, "--peers", "none", "--threads", 1, "--json", path)
    assert found.code == 0
    assert [line.startswith(f"wrote {path}: JSON") for line in found.written] == [True]
    assert not found.lines
    assert "1 thread; peers: none" in found.out
    assert [case["problem"] for case in json.loads(path.read_text())["cases"]] == [SMALL, RESIZE]


def test_what_was_measured_before_an_interruption_is_kept(tmp_path, lengths, monkeypatch):
    path, measure = tmp_path / "bench.json", command._result

    def interrupted(case: Case, *others) -> Result:
        if str(case.problem) == RESIZE:
            raise KeyboardInterrupt
        return measure(case, *others)

    monkeypatch.setattr(command, "_result", interrupted)
    request = ("--peers", "none", "--threads", 1, "--json", path)
    found = run_gradc("bench", SMALL, RESIZE, *request)
    assert found.code == 130
    assert "interrupted: 1 of 2 cases were measured" in found.err
    assert SMALL in found.out
    assert [case["problem"] for case in json.loads(path.read_text())["cases"]] == [SMALL]
    path.unlink()
    assert run_gradc("bench", RESIZE, *request).code == 130
    assert not path.exists()


def test_a_wrong_result_is_exit_code_1(lengths, monkeypatch):
    monkeypatch.setattr(run, "_error", lambda c, true: true.error(c.name, np.zeros(1), peer=False))
    found = run_gradc("bench", SMALL, "--peers", "none", "--threads", 1)
    assert found.code == 1
    assert "FAILED: gradc is wrong" in found.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((SMALL, "--peers", "troch"), 2, "did you mean torch?"),
        ((SMALL, "--peers", ""), 2, "--peers: given nothing"),
        ((SMALL, "--plot", "x.jpg"), 2, "--plot: given x.jpg, expected a name in .png or .svg"),
        ((SMALL, "--threads", 4096), 2, "--threads: given 4096, expected at most"),
        ((SMALL, "--strategy", "fastest"), 2, "--strategy: given fastest"),
        (("--suite", "none"), 2, "no case"),
        ((SMALL + ",stride=2x2",), 4, "did you mean strides"),
        (("nothing.json",), 2, "neither a file nor a problem string"),
    ],
)
def test_mistakes_are_told_before_anything_runs(arguments, code: int, message: str):
    found = run_gradc("bench", *arguments)
    assert (found.code, found.out) == (code, "")
    assert message in found.line


def test_a_peer_that_is_missing(lengths, monkeypatch):
    def missing(name: str, threads: int) -> Peer:
        raise base.NotAvailable("no module")

    monkeypatch.setattr(command, "open_peer", missing)
    found = run_gradc("bench", SMALL, "--peers", "torch", "--threads", 1)
    assert (found.code, found.line) == (2, "error: peer torch: no module")
    found = run_gradc("bench", SMALL, "--threads", 1)
    assert found.code == 0
    assert "torch missing (no module)" in found.out


def test_a_table_gets_its_numbers_from_files():
    text = markdown.table(
        [json.loads(as_json(Report(Settings(threads), {"fake": "1.0"}, RESULTS))) for threads in (2, 1)]
    )
    rows = [line for line in text.splitlines() if line.startswith("| conv")]
    first = "| conv_backward_data NCX constant weights f32 | {} | 2 | 2.00 | 0.50 | 1 (floor 0.9) |"
    assert rows[:2] == [first.format(1), first.format(2)]
    assert len(rows) == 6
