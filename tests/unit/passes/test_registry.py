"""What is registered by name is there, under the name and in the file that say so, and nothing else is."""

from pathlib import Path

import pytest
from xdsl.passes import ModulePass

import passes
from passes.registry import all_passes
from passes.strategies import all_strategies

FOLDER = Path(passes.__file__).parent
NO_PASSES = {"__init__", "differentiate", "pipelines", "registry"}
"""Files without a pass: what passes share, and a pipeline with a request."""

NO_STRATEGIES = {"__init__", "weights_strategy", *passes.FAMILIES}


def names_in(folder: Path, others: set[str]) -> list[str]:
    """The names that the files of a folder stand for."""
    return sorted(path.stem.replace("_", "-") for path in folder.glob("*.py") if path.stem not in others)


@pytest.mark.parametrize("name", names_in(FOLDER, NO_PASSES))
def test_a_file_of_a_pass_is_registered(name):
    assert name in passes.PASS_NAMES, f'missing: "{name}" in PASS_NAMES of passes/__init__.py'


@pytest.mark.parametrize(
    "package",
    [
        path.name
        for path in FOLDER.joinpath("strategies").iterdir()
        if path.is_dir() and path.name != "__pycache__"
    ],
)
def test_the_strategies_of_a_package_are_registered(package):
    registered = passes.STRATEGIES_BY_PACKAGE.get(package, ())
    shared = {name for names in passes.FAMILIES.values() for name in names}
    own = [name for name in registered if name not in shared]
    assert names_in(FOLDER / "strategies" / package, NO_STRATEGIES) == sorted(own)


@pytest.mark.parametrize("name", list(all_passes()))
def test_a_pass_is_called_as_it_is_registered(name):
    assert all_passes()[name]().name == name


@pytest.mark.parametrize("strategy", all_strategies(), ids=lambda s: s.name)
def test_a_strategy_says_what_it_is(strategy):
    assert strategy.__doc__, f"missing: a docstring of {strategy.__name__}, which its page shows"


def test_a_name_without_its_class_is_told():
    with pytest.raises(LookupError, match=r'pipelines.py has no ModulePass with name = "pipelines"'):
        passes.class_of("passes", "pipelines", ModulePass)
