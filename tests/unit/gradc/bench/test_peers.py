"""Each peer that is installed gives the reference's numbers, or says what it does not have."""

from __future__ import annotations

import os
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from support.examples import examples
from support.problem_texts import texts

from dialects.evaluate import evaluate
from dialects.support.diagnostics import UsageError
from gradc.bench.peers import PEERS, check_names, open_peer
from gradc.bench.peers.base import NotAvailable, NotSupported, Peer
from gradc.bench.truth import truth
from gradc.problems import parse_problem

SEED = 2
CORES = os.sched_getaffinity(0)


@cache
def opened(name: str) -> Peer | str:
    try:
        return open_peer(name, 1)
    except NotAvailable as error:
        return str(error)


@pytest.fixture(params=sorted(PEERS))
def peer(request) -> Peer:
    found = opened(request.param)
    if isinstance(found, str):
        pytest.skip(found)
    return found


TYPICAL = (
    "conv_backward_data,{},diff_dst=2x8x9x9,weights=8x6x3x3,strides=2x2,pads=1x1:1x1,residue=1x1",
    "conv_backward_data,{},diff_dst=2x8x9,weights=8x6x3,weights_are=input",
    "conv_backward_data,{},diff_dst=1x8x3x4x5,weights=8x6x2x2x2,strides=2x1x1",
    "conv_transpose_backward_data,{},diff_dst=2x8x9x9,weights=6x4x3x3,strides=2x2,groups=2",
    "conv_transpose_backward_data,{},diff_dst=2x8x9x9,weights=6x8x2x2,strides=2x2,weights_are=input",
    "resize_backward,{},diff_dst=2x8x12,diff_src=2x8x6",
    "resize_backward,{},diff_dst=2x8x12x10,diff_src=2x8x6x7",
    "resize_backward,{},diff_dst=1x3x8x12x10,diff_src=1x3x6x6x5,interpolation=nearest_half_up",
)


@pytest.mark.sweep(parts=4)
@pytest.mark.parametrize("kind", ["f32,NCX", "f32,NXC", "bf16,NCX", "bf16,NXC"])
def test_typical_problems(peer: Peer, kind: str):
    for text in TYPICAL:
        if peer.name == "onnx-ad" and kind.startswith("bf16"):
            continue
        problem = parse_problem(text.format(kind))
        contestant = peer.prepare(problem, SEED)
        assert contestant.name == peer.name
        contestant.run()
        contestant.run()
        error = truth(problem, SEED).error(peer.name, contestant.result(), peer=True)
        assert error.ok, (text, error)


@given(st.data())
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much])
def test_random_problems(peer: Peer, data):
    # bf16 convolutions of some thin shapes are wrong in oneDNN, and so in torch
    text = data.draw(texts(most=6, dtypes=("f32", "f16"), unknown=False))
    problem = parse_problem(text)
    assume(problem.diff_dst[0] != 0)
    try:
        contestant = peer.prepare(problem, SEED)
    except NotSupported:
        return
    contestant.run()
    error = truth(problem, SEED).error(peer.name, contestant.result(), peer=True)
    assert error.ok, error


def test_what_is_refused(peer: Peer):
    reasons: Counter[str] = Counter()
    for text in (
        "conv_backward_data,f32,NCX,diff_dst=?x4x3x3,weights=4x3x2x2",
        "conv_backward_data,f32,NCX,diff_dst=0x4x3x3,weights=4x3x2x2",
        "resize_backward_dynamic,f32,NCX,diff_dst=1x4x?x?",
        "resize_backward,f32,NCX,diff_dst=1x4x8x8,diff_src=1x4x4x4,steps=1/3x1/3",
    ):
        with pytest.raises(NotSupported) as caught:
            peer.prepare(parse_problem(text), SEED)
        reasons[str(caught.value)] += 1
    assert reasons["empty or dynamic sizes"] == 3


def test_versions(peer: Peer):
    assert peer.version[0].isdigit()


def test_opening_leaves_the_process_its_cores(peer: Peer):
    assert os.sched_getaffinity(0) == CORES


def test_names():
    check_names(["torch", "onednn"])
    with pytest.raises(UsageError, match=r"--peers: given troch, expected one of .*; did you mean torch\?"):
        check_names(["troch"])


@given(texts(most=7, unknown=False))
@examples(80)
def test_the_truth_is_a_part_of_the_reference(text: str):
    problem = parse_problem(text)
    assume(problem.diff_dst[0] != 0)
    (whole,) = evaluate(problem.module(SEED), list(problem.feeds(SEED).values()))
    found = truth(problem, SEED)
    first = whole if problem.layout == "NCX" else np.moveaxis(whole, -1, 1)
    assert np.array_equal(first[found.index], found.want)
    assert found.want.size
    assert found.error("x", whole, peer=False).worst == 0
    assert not found.error("x", whole[:, :0], peer=True).ok
    assert not found.error("x", whole.astype(np.float64)[..., None], peer=True).ok
    wrong = whole.copy()
    moved = wrong if problem.layout == "NCX" else np.moveaxis(wrong, -1, 1)
    place = (slice(-1, None), found.index[1][-1:])
    moved[place] += np.asarray(1 + 2 * np.abs(whole.astype(np.float64)).max(), wrong.dtype)
    assert not found.error("x", wrong, peer=True).ok
    assert not found.agreement("x", wrong, whole).ok
    assert found.agreement("x", whole, whole).ok
