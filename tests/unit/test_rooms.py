"""The rooms of the packages, and that their arrows go downwards.

A room is a folder; the files of a package's root are one, too. An import upwards is mended by moving what
is imported down, or by handing over what it makes; not by importing later, which counts as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.arrows import arrows_of, circle, upward

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("dialects", "passes", "gradc", "tools")
ROOMS = (
    "dialects",
    # passes
    "passes.__init__",
    "passes.builder",
    "passes.infer_types",
    "passes.name_sizes",
    "passes.fold_affine",
    "passes.unpack_sequences",
    "passes.kernel_tables",
    "passes.decompositions.missing_kernels",
    "passes.decompositions.portable.pools",
    "passes.decompositions.older_opsets",
    "passes.decompositions.portable",
    "passes.decompositions.quirks",
    "passes.targets",
    "passes.cost.graph",
    "passes.onnxruntime",
    "passes.cost",
    "passes.layout",
    "passes.conv",
    "passes.resize",
    "passes.pool",
    "passes.autodiff.common",
    "passes.autodiff.nan_safety",
    "passes.autodiff.rules",
    "passes.autodiff.activity",
    "passes.autodiff.control_flow",
    "passes.autodiff",
    "passes.decompositions",
    "passes.strategies",
    "passes",
    "passes.size_checks",
    # gradc
    "gradc.util",
    "gradc.files",
    "gradc.terminal",
    "gradc.graph",
    "gradc.model",
    "gradc.crash_reports",
    "gradc.drawing",
    "gradc.builder",
    "gradc.importers",
    "gradc.runtime",
    "gradc.verification",
    "gradc.problems",
    "gradc.tuning",
    "gradc.compiler",
    "gradc.inspection",
    "gradc.reporting",
    "gradc.reduction",
    "gradc.bench",
    "gradc.cli",
    "gradc",
    "tools",
)
"""From the bottom up: a file may import from its own room and from those before it."""


def test_nothing_imports_tools():
    """It is not in the wheel."""
    assert ROOMS[-1] == "tools"


def test_arrows_go_downwards():
    wrong = upward(arrows_of(ROOT, LAYERS), ROOMS)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("layer", ["passes", "gradc"])
def test_no_file_imports_itself_by_way_of_others(layer):
    """In dialects a class of ops is made when it is first asked for, by what the classes derive from."""
    found = circle(arrows_of(ROOT, [layer]))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_there(room):
    path = ROOT.joinpath(*room.split("."))
    assert path.is_dir() or path.with_suffix(".py").is_file()


FILES = {
    "house/__init__.py": "",
    "house/__main__.py": "from house.roof import tiles\n",
    "house/cellar/__init__.py": "",
    "house/cellar/stones.py": "import os\n",
    "house/cellar/wine.py": "from house.cellar import stones\n",
    "house/roof/__init__.py": "",
    "house/roof/tiles.py": "from house.cellar.wine import bottle\n",
}
HOUSE = ("house.cellar", "house.roof", "house")


def house(folder: Path, **changed: str) -> Path:
    """The files of a package, some with another content: `cellar_wine` for `house/cellar/wine.py`."""
    texts = FILES | {f"house/{name.replace('_', '/')}.py": text for name, text in changed.items()}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


UPWARD = {
    "of a file": "import house.roof.tiles\n",
    "of a file from its package": "from house.roof import tiles\n",
    "of what is in a file": "from house.roof.tiles import tile\n",
    "in a function": "def f():\n    from house.roof import tiles\n",
    "for type checkers": "if TYPE_CHECKING:\n    from house.roof.tiles import tile\n",
    "by name": "TILE = 'house.roof.tiles:tile'\n",
}


class TestTheChecker:
    def test_all_is_well(self, tmp_path):
        arrows = arrows_of(house(tmp_path), ["house"])
        assert len(arrows) == 3
        assert upward(arrows, HOUSE) == []
        assert circle(arrows) == []

    @pytest.mark.parametrize("text", UPWARD.values(), ids=UPWARD)
    def test_an_arrow_upwards(self, tmp_path, text):
        arrows = arrows_of(house(tmp_path, cellar_stones=text), ["house"])
        line = len(text.splitlines())
        expected = "imports house.roof.tiles, but room house.cellar is below house.roof"
        assert upward(arrows, HOUSE) == [f"house/cellar/stones.py:{line}: {expected}"]

    def test_a_file_of_the_root(self, tmp_path):
        arrows = arrows_of(house(tmp_path, roof_tiles="import house\n"), ["house"])
        expected = "imports house.__init__, but room house.roof is below house"
        assert upward(arrows, HOUSE) == [f"house/roof/tiles.py:1: {expected}"]

    def test_a_room_that_nobody_listed(self, tmp_path):
        arrows = arrows_of(house(tmp_path, shed_tools="import house.cellar.wine\n"), ["house"])
        assert upward(arrows, HOUSE[:-1]) == [
            "house/__main__.py:1: house.__main__ is in no room",
            "house/shed/tools.py:1: house.shed.tools is in no room",
        ]

    def test_a_circle_within_a_room(self, tmp_path):
        arrows = arrows_of(
            house(tmp_path, cellar_stones="def f():\n    import house.cellar.wine\n"), ["house"]
        )
        assert upward(arrows, HOUSE) == []
        assert sorted(circle(arrows)) == [
            "house/cellar/stones.py:2: house.cellar.stones imports house.cellar.wine",
            "house/cellar/wine.py:1: house.cellar.wine imports house.cellar.stones",
        ]
