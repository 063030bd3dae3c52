"""The order of the packages: a file imports from its own package and from those below it.

A package is a folder; the files in the root of a layer are one, too. An import upwards is mended by moving
the imported code down, or by passing its result as an argument; an import within a function counts as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.arrows import arrows_of, circle, upward
from support.sources import ONE_WORKER

pytestmark = ONE_WORKER
ROOT = Path(__file__).resolve().parents[3]
LAYERS = ("dialects", "passes", "gradc", "tools")
PACKAGES = (
    "dialects",
    # passes
    "passes.__init__",
    "passes.builder",
    "passes.simplify",
    "passes.autodiff.common.primal",
    "passes.decompositions.registry",
    "passes.infer_types",
    "passes.name_sizes",
    "passes.fold_affine",
    "passes.unpack_sequences",
    "passes.kernel_tables",
    "passes.autodiff.common.slice_adjoint",
    "passes.autodiff.common.gather_adjoint",
    "passes.autodiff.common.resize_matrix",
    "passes.decompositions.sampling",
    "passes.decompositions.missing_kernels",
    "passes.decompositions.portable.pools",
    "passes.decompositions.older_opsets",
    "passes.decompositions.portable",
    "passes.onnxruntime.quirks",
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
    "passes.peepholes",
    "passes.training",
    "passes",
    "passes.size_checks",
    "passes.lower_aten.call",
    "passes.lower_aten.derivative",
    "passes.lower_aten.promotion",
    "passes.lower_aten.precision",
    "passes.lower_aten.indices",
    "passes.lower_aten.shapes",
    "passes.lower_aten.float64_functions",
    "passes.lower_aten.double",
    "passes.lower_aten.windows",
    "passes.lower_aten.dynamic_groups",
    "passes.lower_aten.small_values",
    "passes.lower_aten.elimination",
    "passes.lower_aten.jacobi",
    "passes.lower_aten.householder",
    "passes.lower_aten.complex_numbers.pair",
    "passes.lower_aten.complex_numbers.call",
    "passes.lower_aten.rules",
    "passes.lower_aten",
    # gradc
    "gradc.ops",
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
    "gradc.derivatives",
    "gradc.losses",
    "gradc.optim",
    "gradc.inspection",
    "gradc.training",
    "gradc.torch",
    "gradc.reporting",
    "gradc.reduction",
    "gradc.bench",
    "gradc.cli",
    "gradc",
    "tools",
)
"""From the bottom up: a file may import from its own package and from those before it."""


def test_nothing_imports_tools():
    """It is not in the wheel."""
    assert PACKAGES[-1] == "tools"


def test_arrows_go_downwards():
    wrong = upward(arrows_of(ROOT, LAYERS), PACKAGES)
    assert not wrong, "\n".join(wrong)


def test_importers_import_no_passes():
    """Their caller passes in how nodes are rewritten: `gradc/importers/onnx/rewrites.py`."""
    arrows = [arrow for arrow in arrows_of(ROOT, LAYERS) if arrow.source.startswith("gradc.importers.")]
    assert len(arrows) > 50
    assert not [arrow.place for arrow in arrows if arrow.target.startswith("passes.")]


@pytest.mark.parametrize("layer", ["passes", "gradc"])
def test_no_file_imports_itself_by_way_of_others(layer):
    """In dialects a class of ops is made when it is first asked for, by what the classes derive from."""
    found = circle(arrows_of(ROOT, [layer]))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_there(package):
    path = ROOT.joinpath(*package.split("."))
    assert path.is_dir() or path.with_suffix(".py").is_file()


FILES = {
    "small/__init__.py": "",
    "small/__main__.py": "from small.top import tiles\n",
    "small/base/__init__.py": "",
    "small/base/stones.py": "import os\n",
    "small/base/wine.py": "from small.base import stones\n",
    "small/top/__init__.py": "",
    "small/top/tiles.py": "from small.base.wine import bottle\n",
}
SMALL = ("small.base", "small.top", "small")


def small(folder: Path, **changed: str) -> Path:
    """The files of a package, some with another content: `base_wine` for `small/base/wine.py`."""
    texts = FILES | {f"small/{name.replace('_', '/')}.py": text for name, text in changed.items()}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


UPWARD = {
    "of a file": "import small.top.tiles\n",
    "of a file from its package": "from small.top import tiles\n",
    "of what is in a file": "from small.top.tiles import tile\n",
    "in a function": "def f():\n    from small.top import tiles\n",
    "for type checkers": "if TYPE_CHECKING:\n    from small.top.tiles import tile\n",
    "by name": "TILE = 'small.top.tiles:tile'\n",
}


class TestTheChecker:
    def test_all_is_well(self, tmp_path):
        arrows = arrows_of(small(tmp_path), ["small"])
        assert len(arrows) == 3
        assert upward(arrows, SMALL) == []
        assert circle(arrows) == []

    @pytest.mark.parametrize("text", UPWARD.values(), ids=UPWARD)
    def test_an_arrow_upwards(self, tmp_path, text):
        arrows = arrows_of(small(tmp_path, base_stones=text), ["small"])
        line = len(text.splitlines())
        expected = "imports small.top.tiles, but package small.base is below small.top"
        assert upward(arrows, SMALL) == [f"small/base/stones.py:{line}: {expected}"]

    def test_a_file_of_the_root(self, tmp_path):
        arrows = arrows_of(small(tmp_path, top_tiles="import small\n"), ["small"])
        expected = "imports small.__init__, but package small.top is below small"
        assert upward(arrows, SMALL) == [f"small/top/tiles.py:1: {expected}"]

    def test_a_package_that_nobody_listed(self, tmp_path):
        arrows = arrows_of(small(tmp_path, shed_tools="import small.base.wine\n"), ["small"])
        assert upward(arrows, SMALL[:-1]) == [
            "small/__main__.py:1: small.__main__ is in no package",
            "small/shed/tools.py:1: small.shed.tools is in no package",
        ]

    def test_a_circle_within_a_package(self, tmp_path):
        arrows = arrows_of(small(tmp_path, base_stones="def f():\n    import small.base.wine\n"), ["small"])
        assert upward(arrows, SMALL) == []
        assert sorted(circle(arrows)) == [
            "small/base/stones.py:2: small.base.stones imports small.base.wine",
            "small/base/wine.py:1: small.base.wine imports small.base.stones",
        ]
