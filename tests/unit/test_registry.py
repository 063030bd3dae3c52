"""What is registered by name is there, under the name and in the file that say so."""

import inspect
from pathlib import Path

import pytest

import passes
from passes import all_passes
from passes.strategies import STRATEGIES


def test_every_strategy_is_a_pass_and_every_strategy_pass_a_strategy():
    assert sorted(passes.STRATEGY_NAMES) == sorted(strategy.name for strategy in STRATEGIES)


@pytest.mark.parametrize("name", list(all_passes()))
def test_a_pass_is_called_as_it_is_registered(name):
    assert all_passes()[name]().name == name


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
def test_a_strategy_lies_in_the_file_of_its_name(strategy):
    assert Path(inspect.getfile(strategy)).stem == strategy.name.replace("-", "_")
    assert strategy.__doc__
