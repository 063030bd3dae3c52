"""Python's garbage collector while gradc compiles."""

import gc

import pytest
from support.documents import CONV
from support.interrupts import entered_interrupted

import gradc
from gradc.util.collector import NEW_OBJECTS, rare_collections


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def test_collections_are_rare_inside_and_as_before_after(thresholds):
    with rare_collections():
        assert gc.get_threshold() == (NEW_OBJECTS, *thresholds[1:])
        with rare_collections():
            assert gc.get_threshold()[0] == NEW_OBJECTS
        assert gc.get_threshold()[0] == NEW_OBJECTS
    assert gc.get_threshold() == thresholds


@pytest.mark.parametrize("young", [0, 10 * NEW_OBJECTS])
def test_what_the_user_set_stays(young):
    gc.set_threshold(young)
    with rare_collections():
        assert gc.get_threshold()[0] == young


def test_two_that_end_in_the_order_in_which_they_began(thresholds):
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] == NEW_OBJECTS
    second.__exit__(None, None, None)
    assert gc.get_threshold() == thresholds


def test_a_compilation_that_fails_leaves_them_as_they_were(thresholds):
    with pytest.raises(gradc.GradcError):
        gradc.compile(CONV, strategy="conv-to-col2im", target="cuda")
    assert gc.get_threshold() == thresholds


def test_an_interrupt_while_it_begins_leaves_them_as_they_were(thresholds):
    for line in entered_interrupted(rare_collections, "gradc/util/collector.py"):
        assert gc.get_threshold() == thresholds, line
    with rare_collections():
        assert gc.get_threshold()[0] == NEW_OBJECTS


def test_an_interrupt_while_it_ends_leaves_them_as_they_were(thresholds, monkeypatch):
    done = gc.set_threshold
    interrupts = [KeyboardInterrupt()]

    def interrupted(*given: int) -> None:
        if given == thresholds and interrupts:
            raise interrupts.pop()
        done(*given)

    monkeypatch.setattr(gc, "set_threshold", interrupted)
    with pytest.raises(KeyboardInterrupt), rare_collections():
        pass
    assert gc.get_threshold() == thresholds
