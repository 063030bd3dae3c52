"""Strategies chosen by measurement: what is measured, chosen, kept and said. No test looks at a clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generate import CANONICAL, seeded
from support.pipeline import apply
from support.tuning import Bench
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

import gradc
from dialects.support.diagnostics import Diagnostic, violation
from dialects.support.documented_op import CHOICE
from dialects.support.entry import entry_function, return_op, set_names, update_function_type
from gradc.problems import OPS, Problem, parse_problem, problem_of
from gradc.tuning import measuring
from gradc.tuning.cases import Case, cases
from gradc.tuning.measuring import measure
from gradc.tuning.records import Tuning
from gradc.tuning.stores import Store
from gradc.tuning.tuner import TIE, Tuner, fastest
from passes import pipelines
from passes.strategies.choice import candidates, find_strategy
from passes.targets.target import Target

TARGET = Target(threads=2)
CONV = "conv_backward_data,f32,NCX,diff_dst=1x4x6x6,weights=4x3x3x3,pads=1x1:1x1"
LARGER = "conv_backward_data,f32,NCX,diff_dst=1x64x28x28,weights=64x32x3x3,pads=1x1:1x1"
UNKNOWN = "conv_backward_data,f32,NCX,diff_dst=?x4x?x?,weights=4x3x3x3,pads=1x1:1x1"
RESIZE = "resize_backward,f32,NCX,diff_dst=1x3x8x8,diff_src=1x3x4x4"


@dataclass
class Memory(Store):
    """A store that forgets nothing but is gone with the test."""

    tunings: dict[str, Tuning] = field(default_factory=dict)

    def read(self, problem: str) -> Tuning | None:
        return self.tunings.get(problem)

    def write(self, problem: str, tuning: Tuning) -> None:
        self.tunings[problem] = tuning


def tuner(bench: Bench | None, store: Store | None = None, **options: Any) -> Tuner:
    clock = {"clock": bench.clock} if bench else {}
    return Tuner(store or Memory(), bench, "here", **clock, **options)


def module_of(*problems: str) -> ModuleOp:
    """The canonical ops of several problems in one function."""
    module, *others = (parse_problem(problem).module() for problem in problems)
    block = entry_function(module).body.block
    for other in others:
        taken = entry_function(other).body.block
        for argument in taken.args:
            argument.replace_all_uses_with(block.insert_arg(argument.type, len(block.args)))
        for op in list(taken.ops)[:-1]:
            op.detach()
            block.insert_op_before(op, return_op(entry_function(module)))
    function = entry_function(module)
    update_function_type(function)
    set_names(function, [f"x{index}" for index in range(len(block.args))], ["dx"])
    module.verify()
    return module


def gradients(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if type(op) in OPS]


def choices(module: ModuleOp) -> list[str | None]:
    found = [op.attributes.get(CHOICE) for op in gradients(module)]
    return [attribute.data if isinstance(attribute, StringAttr) else None for attribute in found]


def texts(remarks: list[Diagnostic]) -> list[str]:
    assert all(remark.severity == "remark" for remark in remarks)
    return [remark.message for remark in remarks]


class TestFastest:
    def test_the_least_time(self):
        assert fastest({"a": 2.0, "b": 1.0, "c": 3.0}, ["c", "a", "b"]) == "b"

    def test_among_equals_the_predicted_one(self):
        assert fastest({"a": TIE * 0.999, "b": 1.0}, ["a", "b"]) == "a"
        assert fastest({"a": TIE * 1.001, "b": 1.0}, ["a", "b"]) == "b"

    @settings(deadline=None)
    @given(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(1e-9, 1e3), min_size=1), st.randoms())
    def test_never_slower_than_a_tie(self, seconds: dict[str, float], random: Any):
        names = [*seconds, "never measured"]
        random.shuffle(names)
        assert seconds[fastest(seconds, names)] <= TIE * min(seconds.values())


class TestTune:
    def test_every_op_with_a_choice_gets_the_fastest(self):
        module = module_of(CONV, RESIZE)
        tunings, remarks = tuner(Bench(lambda name: {"conv-to-col2im": 1.0}.get(name, 9.0))).tune(
            module, TARGET
        )
        conv, resize = gradients(module)
        assert conv.attributes[CHOICE] == StringAttr("conv-to-col2im")
        assert resize.attributes[CHOICE] == StringAttr(candidates(resize, TARGET)[0].strategy.name)
        assert set(tunings) == {CONV, RESIZE}
        assert remarks == []
        module.verify()

    def test_only_what_applies_is_measured(self):
        bench = Bench()
        module = module_of(CONV + ",strides=2x2")
        tunings, _ = tuner(bench).tune(module, TARGET)
        (op,) = gradients(module)
        applicable = {c.strategy.name for c in candidates(op, TARGET) if c.refusal is None}
        assert set(tunings[bench.measured_keys[0]].seconds) == applicable
        assert "conv-to-conv" not in applicable

    def test_the_same_problem_is_measured_once(self):
        bench = Bench()
        module = module_of(CONV, RESIZE, CONV, CONV)
        tuner(bench).tune(module, TARGET)
        assert sorted(bench.measured_keys) == [CONV, RESIZE]
        assert None not in choices(module)
        assert len(set(choices(module))) == 2

    def test_what_was_measured_is_not_measured_again(self):
        store, bench = Memory(), Bench()
        first, second = module_of(CONV, RESIZE), module_of(CONV, RESIZE)
        tuner(bench, store).tune(first, TARGET)
        assert store.tunings[CONV].measured_on == "here"
        before = list(bench.measured_keys)
        _, remarks = tuner(bench, store).tune(second, TARGET)
        assert bench.measured_keys == before
        assert choices(first) == choices(second)
        assert remarks == []

    def test_the_slowest_first(self):
        bench = Bench()
        tuner(bench).tune(module_of(CONV, LARGER), TARGET)
        predicted = {case.key: case.predicted_seconds for case in cases(module_of(CONV, LARGER), TARGET, {})}
        assert bench.measured_keys == sorted(predicted, key=lambda key: -predicted[key])

    def test_a_choice_that_is_there_stays(self):
        module, bench = module_of(CONV), Bench()
        (op,) = gradients(module)
        op.attributes[CHOICE] = StringAttr("conv-to-matmul")
        tuner(bench).tune(module, TARGET)
        assert choices(module) == ["conv-to-matmul"]
        assert bench.measured_keys == []

    def test_a_forced_strategy_needs_no_measurement(self):
        module, bench = module_of(CONV, RESIZE), Bench()
        tuner(bench).tune(module, TARGET, find_strategy("conv-to-col2im"))
        assert bench.measured_keys == [RESIZE]
        assert choices(module)[0] is None

    def test_an_op_without_a_choice(self):
        module, bench = module_of("resize_backward_dynamic,f32,NCX,diff_dst=1x3x?x?"), Bench()
        (case,) = cases(module, TARGET, {})
        if len(case.applicable) > 1:
            pytest.skip("it has one by now")
        assert tuner(bench).tune(module, TARGET) == ({}, [])
        assert (bench.measured_keys, choices(module)) == ([], [None])

    def test_no_gradients(self):
        assert tuner(Bench()).tune(ModuleOp([]), TARGET) == ({}, [])


class TestBudget:
    def test_what_is_left_gets_the_predicted_choice(self):
        bench, module = Bench(), module_of(CONV, LARGER, RESIZE, CONV)
        _, remarks = tuner(bench, budget=15).tune(module, TARGET)
        assert len(bench.measured_keys) == 2
        left = [key for key in (CONV, LARGER, RESIZE) if key not in bench.measured_keys]
        (text,) = texts(remarks)
        count = 2 if left == [CONV] else 1
        gradients_left = "2 gradients" if count == 2 else "1 gradient"
        assert text == (
            f"{gradients_left} could not be measured within 15 seconds (tune_budget): "
            "the predicted choice is used"
        )
        assert choices(module).count(None) == count

    def test_none(self):
        bench, module = Bench(), module_of(CONV)
        _, remarks = tuner(bench, budget=0).tune(module, TARGET)
        assert bench.measured_keys == []
        assert choices(module) == [None]
        assert len(texts(remarks)) == 1

    def test_the_measurement_knows_the_deadline(self):
        seen = []

        def measuring(case: Case, target: Target, deadline: float) -> Mapping[str, float]:
            seen.append(deadline)
            return dict.fromkeys(case.applicable, 1.0)

        Tuner(Memory(), measuring, budget=7, clock=lambda: 100.0).tune(module_of(CONV), TARGET)
        assert seen == [107.0]


class TestProgress:
    def test_it_is_told_of_each(self):
        expected_message: list[tuple[int, int, str]] = []
        bench = Bench()
        tuner(bench, progress=lambda *args: expected_message.append(args)).tune(
            module_of(CONV, RESIZE), TARGET
        )
        assert expected_message == [
            (0, 2, bench.measured_keys[0]),
            (1, 2, bench.measured_keys[1]),
            (2, 2, ""),
        ]


class TestStored:
    def test_without_a_measure_nothing_is_measured(self):
        store = Memory({CONV: Tuning("conv-to-matmul", {"conv-to-matmul": 1.0}, "")})
        module = module_of(CONV, RESIZE)
        _, remarks = tuner(None, store).tune(module, TARGET)
        assert choices(module) == ["conv-to-matmul", None]
        assert texts(remarks) == ["no measurement of 1 gradient is stored: the predicted choice is used"]

    @pytest.mark.parametrize(
        ("problem", "choice", "reason"),
        [
            (CONV, "conv-to-nothing", "no strategy conv-to-nothing is known for it"),
            (CONV, "resize-to-matmul", "no strategy resize-to-matmul is known for it"),
            (CONV + ",strides=2x2", "conv-to-conv", "stride 2 on axis H"),
        ],
    )
    def test_a_choice_that_cannot_be_used(self, problem, choice, reason):
        problem = str(parse_problem(problem))
        stored = Memory({problem: Tuning(choice, {choice: 1.0}, "")})
        module = module_of(problem)
        _, remarks = tuner(None, stored).tune(module, TARGET)
        first, second = texts(remarks)
        assert f"the stored choice {choice} for this gradient is not used: " in first
        assert reason in first
        assert second.startswith("no measurement of 1 gradient is stored")
        assert choices(module) == [None]

    def test_and_it_is_measured_again(self):
        store = Memory({CONV: Tuning("gone", {"gone": 1.0}, "")})
        bench, module = Bench(), module_of(CONV)
        tuner(bench, store).tune(module, TARGET)
        assert bench.measured_keys == [CONV]
        assert store.tunings[CONV].choice == choices(module)[0] != "gone"

    def test_the_store_has_a_word(self):
        class Talks(Memory):
            def remarks(self):
                yield Diagnostic("remark", "so it is")

        assert texts(tuner(Bench(), Talks()).tune(module_of(CONV), TARGET)[1]) == ["so it is"]


class TestFailures:
    def test_what_cannot_be_measured_gets_the_predicted_choice(self):
        def fails(case: Case, target: Target, deadline: float) -> Mapping[str, float]:
            raise violation("the runtime is out of sorts")

        store = Memory()
        module = module_of(CONV)
        _, remarks = Tuner(store, fails).tune(module, TARGET)
        assert texts(remarks) == ["not measured: the runtime is out of sorts"]
        assert (choices(module), store.tunings) == ([None], {})

    def test_our_own_mistakes_are_not_hidden(self):
        def breaks(case: Case, target: Target, deadline: float) -> Mapping[str, float]:
            raise AssertionError("ours")

        with pytest.raises(AssertionError, match="ours"):
            Tuner(Memory(), breaks).tune(module_of(CONV), TARGET)


class TestSizes:
    def test_unknown_sizes_are_not_measured(self):
        bench, module = Bench(), module_of(UNKNOWN)
        _, remarks = tuner(bench).tune(module, TARGET)
        (text,) = texts(remarks)
        assert text.startswith("1 gradient cannot be measured without sizes, which shapes states: ")
        assert (bench.measured_keys, choices(module)) == ([], [None])

    def test_but_at_stated_ones(self):
        bench, module = Bench(), module_of(UNKNOWN)
        _, remarks = tuner(bench, shapes={"x0": (2, 4, 5, 5)}).tune(module, TARGET)
        assert bench.measured_keys == [f"{UNKNOWN} at {UNKNOWN.replace('?x4x?x?', '2x4x5x5')}"]
        assert remarks == []
        assert choices(module) != [None]
        (op,) = gradients(module)
        assert problem_of(op) == parse_problem(UNKNOWN), "what is compiled knows no more than before"

    @pytest.mark.parametrize(
        ("shapes", "message"),
        [
            ({"y0": (2, 4, 5, 5)}, "shapes: given y0, expected one of x0"),
            ({"x0": (2, 3, 5, 5)}, "shapes of x0: given"),
            ({"x0": (2, 4, 5)}, "shapes of x0: given"),
        ],
    )
    def test_that_fit(self, shapes, message):
        with pytest.raises(gradc.GradcError, match=message):
            tuner(Bench(), shapes=shapes).tune(module_of(UNKNOWN), TARGET)


class TestMeasuring:
    """On onnxruntime; the times themselves may be anything."""

    @pytest.fixture(autouse=True)
    def _in_haste(self, monkeypatch):
        monkeypatch.setattr(measuring, "race", partial(measuring.race, settle=lambda: None))

    @pytest.mark.parametrize("text", [CONV, RESIZE, CONV.replace("NCX", "NXC"), CONV + ",weights_are=input"])
    def test_every_candidate_has_a_time(self, text):
        problem = parse_problem(text)
        (case,) = cases(problem.module(), TARGET, {})
        found = measure(problem, problem, case.applicable, Target(threads=1), deadline=0.0)
        assert set(found) == set(case.applicable)
        assert min(found.values()) > 0

    def test_the_peak(self, monkeypatch):
        monkeypatch.setattr(measuring, "_PEAK_SECONDS", 0.0)
        assert 1e6 < measuring.measure_peak(Target(threads=1)) < 1e15

    def test_unknown_sizes_stay_unknown_in_what_is_measured(self):
        sizes = parse_problem(UNKNOWN.replace("?x4x?x?", "2x4x5x5"))
        assert set(measure(parse_problem(UNKNOWN), sizes, ["conv-to-conv-transpose"], TARGET, 0.0))

    def test_a_wrong_candidate_is_no_candidate(self, monkeypatch):
        right = measuring.lower_problem

        def wrong(problem: Problem, strategy: str, target: Target) -> ModuleOp:
            other = parse_problem(CONV.replace("pads=1x1:1x1", "pads=0x2:2x0"))
            return right(other if strategy == "conv-to-matmul" else problem, strategy, target)

        monkeypatch.setattr(measuring, "lower_problem", wrong)
        problem = parse_problem(CONV)
        with pytest.raises(gradc.GradcError, match="strategies conv-to-conv and conv-to-matmul disagree by"):
            measure(problem, problem, ["conv-to-conv", "conv-to-matmul"], TARGET)

    @pytest.mark.parametrize("seed", range(12))
    def test_random_problems(self, seed):
        """Every canonical gradient of a random graph can be measured, at sizes known or chosen."""
        module = apply(
            seeded([7, seed], dtypes=("f32",), kinds=CANONICAL).module(), pipelines.to_grad(TARGET)
        )
        for case in cases(module, TARGET, {}):
            if case.sizes is not None and case.applicable:
                measure(case.problem, case.sizes, case.applicable, TARGET, deadline=0.0)
