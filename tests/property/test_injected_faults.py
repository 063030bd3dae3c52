"""The gradient check finds faults that are injected into the compiler, and blames the right op.

A fault that changes some gradient by more than 1e-4 of its size, as onnxruntime runs it with and without the
fault, has to be found. benchmarks/injected_faults.py prints the same as a table.
"""

from __future__ import annotations

import pytest

pytest.importorskip("onnxruntime")

from support.injected_faults import CAUGHT, FAULTS, Fault, change, outcome, pairs, slips, undecided
from support.proof.others import AT_KINKS
from support.proof_models import MODELS, proof_model

QUICK = {
    "bounds_of_clip_ignored": "mobilenet",
    "branches_of_if_swapped": "branches",
    "carried_state_one_step_off": "loop",
    "cast_through_bfloat16": "mixed",
    "branches_of_where_swapped": "branches",
    "contribution_counted_twice": "mlp",
    "cotangents_of_two_results_swapped": "divided",
    "coordinates_of_a_grid_swapped": "sampled",
    "emitted_product_as_sum": "siamese",
    "hidden_state_one_step_off": "rnn",
    "mean_for_sum_in_unbroadcasting": "mlp",
    "pad_one_off": "moved",
    "product_rounded_to_half": "mlp",
    "range_of_codes_ignored": "quantized",
    "second_operand_of_einsum_forgotten": "einsums",
    "sum_in_softmax_forgotten": "half",
    "top_k_one_place_off": "ranked",
    "transpose_not_inverted": "turned",
}
"""Fault -> model: a part that takes seconds."""

CONVENTIONS = {name: fault for name, fault in FAULTS.items() if fault.convention}
"""What no check has to find: at a kink several values are right."""

SETTINGS = [(fault, model) for fault, model in pairs() if not fault.convention]


def test_there_are_enough_kinds_and_models():
    assert len(FAULTS) - len(CONVENTIONS) >= 40
    assert len(MODELS) >= 30
    assert {model for fault, model in pairs() if not fault.convention} == set(MODELS)


def check(fault: Fault, model: str) -> None:
    found = outcome(fault, model)
    assert found.is_visible, f"{fault} does not change a gradient of {model}: take it off its list"
    assert found.verdict == CAUGHT, f"{found.verdict}: {found.message}"
    assert found.right_op is not False, f"{fault.blamed} expected: {found.message}"


@pytest.mark.sweep
@pytest.mark.parametrize(("fault", "model"), QUICK.items())
def test_a_fault_is_found_and_blamed(fault: str, model: str):
    check(FAULTS[fault], model)


@pytest.mark.heavy
@pytest.mark.parametrize(("fault", "model"), SETTINGS, ids=str)
def test_every_fault_is_found_and_blamed(fault: Fault, model: str):
    check(fault, model)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(80))
def test_an_op_of_a_random_graph_that_is_one_per_cent_off(seed: int):
    """One op of each graph. Which op of a pointwise subgraph is blamed is open."""
    faults = slips(seed)
    found = outcome(*faults[seed % len(faults)])
    assert not found.is_visible or found.verdict == CAUGHT, f"{found.verdict}: {found.message}"


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_convention_changes_a_gradient_at_a_kink(name: str):
    fault = CONVENTIONS[name]
    assert all(change(fault, model) > 0 for model in fault.models)


@pytest.mark.parametrize("name", AT_KINKS)
def test_a_gradient_at_a_kink_is_not_wrong(name: str):
    proof_model(name).gradient(check=True)


@pytest.mark.sweep
@pytest.mark.parametrize("name", MODELS)
def test_a_right_gradient_is_proved(name: str):
    assert not undecided(proof_model(name).gradient(check=True))
