"""Graphs of thousands of ops in a row: nothing follows them by calling itself."""

from __future__ import annotations

import ast
import copy
import pickle  # noqa: TID251
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from support import deep
from support.cli import run_gradc
from support.sources import ONE_WORKER, tree

import gradc
from dialects.support.constants import is_const
from dialects.support.entry import entry_function
from gradc.graph.printing import module_text
from gradc.importers import import_file

ROOT = Path(__file__).resolve().parents[4]
FILES = [path for layer in ("dialects", "passes", "gradc") for path in sorted((ROOT / layer).rglob("*.py"))]

VERBS = {
    "compile": ("-o", "{}.onnx"),
    "inspect": (),
    "explain": (),
    "verify": (),
    "report": ("-o", "{}.html"),
}

BOUNDED = {
    ("dialects/support/diagnostics.py", "_position"): "a location in a location",
    ("dialects/onnx/types.py", "unranked_type"): "a type in a type",
    ("dialects/onnx/types.py", "word_of"): "a type in a type",
    ("passes/cost/rates.py", "seconds"): "features of two kinds",
    ("passes/conv/phases.py", "of"): "the spatial axes",
    ("passes/autodiff/nan_safety/norm_at_zero.py", "is_flat_at_zero"): "at most `DEEPEST` ops",
    ("passes/autodiff/nan_safety/domain_edge.py", "_is_replaced"): "at most `DEEPEST` ops",
    ("passes/autodiff/nan_safety/domain_edge.py", "_replaces"): "at most `DEEPEST` ops",
    ("gradc/bench/peers/onednn_graph.py", "_load"): "libraries that miss each other",
    ("gradc/model/attribute_protos.py", "type_proto"): "a type in a type",
    ("gradc/model/tensors.py", "_word"): "a type in a type",
    ("gradc/model/value_infos.py", "edge_type"): "a type in a type",
    ("gradc/verification/widening.py", "_wide_type"): "a type in a type",
    ("gradc/verification/widening.py", "wide"): "a sequence in a sequence",
    ("gradc/model/lazy_tensors.py", "TensorCutter._slim"): "graphs in graphs, at most `lazy_tensors.DEEPEST`",
    ("passes/autodiff/rules/recurrent.py", "_by_batch"): "two layouts",
    ("passes/autodiff/rules/recurrent.py", "_rule"): "two layouts",
    ("gradc/importers/onnx/types.py", "type_of"): "a type in a type",
    ("gradc/verification/samples.py", "_random"): "a type in a type",
    ("gradc/verification/exact_match.py", "is_same"): "a sequence in a sequence",
    ("gradc/verification/verify.py", "_compare_exactly"): "a sequence in a sequence",
    ("gradc/verification/verify.py", "compare"): "a sequence in a sequence",
    ("gradc/cli/running.py", "_kind"): "a sequence in a sequence",
    ("gradc/files/json_text.py", "_finite"): "our own documents",
    ("gradc/losses/base.py", "_as_tuples"): "the axes of an array",
    ("gradc/compiler/driver.py", "load"): "a source under other names, or differentiated",
    ("gradc/compiler/pipeline_text.py", "parse_passes"): "a pipeline of passes",
    ("gradc/graph/printing.py", "ElidingPrinter.print_attribute"): "an attribute in an attribute",
    ("gradc/reporting/request.py", "_file"): "a list of paths",
    ("passes/targets/target.py", "Target.lacks_form"): "an op, and those of its older form",
    ("passes/targets/target.py", "Target._lacks_older_form"): "an op, and those of its older form",
    ("passes/autodiff/logarithms.py", "Logarithms._moved"): "at most `stable_forms.DEEPEST` ops",
    ("passes/autodiff/logarithms.py", "Logarithms._one_minus"): "at most `stable_forms.DEEPEST` ops",
    ("passes/autodiff/logarithms.py", "Logarithms.of"): "at most `stable_forms.DEEPEST` ops",
    ("dialects/onnx/interpreter/pairs.py", "pair_with"): "a sequence in a sequence",
    ("dialects/onnx/interpreter/pairs.py", "slices"): "a value and its tangent",
    ("dialects/onnx/interpreter/pairs.py", "tangent_of"): "a sequence in a sequence",
    ("dialects/onnx/interpreter/pairs.py", "value_of"): "a sequence in a sequence",
    ("gradc/verification/adjoint_identities.py", "Side.add"): "a sequence in a sequence",
    ("gradc/verification/adjoint_identities.py", "add_open"): "a sequence in a sequence",
    ("gradc/verification/evaluation.py", "_directional_derivative"): "a sequence in a sequence",
    ("gradc/verification/evaluation.py", "_is_plain"): "a sequence in a sequence",
    ("gradc/verification/evaluation.py", "open_elements"): "a sequence in a sequence",
    ("gradc/verification/point.py", "Point._direction"): "a sequence in a sequence",
    ("gradc/verification/point.py", "_directional_derivative"): "a sequence in a sequence",
    ("gradc/verification/point.py", "_with_tangent"): "a sequence in a sequence",
    ("gradc/verification/single_ops.py", "LocalPoint._drawn"): "a sequence in a sequence",
    ("gradc/verification/point.py", "_sum"): "a sequence in a sequence",
    ("gradc/verification/prove.py", "_has_numbers"): "a sequence in a sequence",
    ("gradc/verification/tangents/linear.py", "_exact"): "a sequence in a sequence",
    ("gradc/verification/tangents/linear.py", "_tangent_or_zeros"): "a sequence in a sequence",
    ("gradc/verification/tangents/directional_derivative.py", "_moves"): "a sequence in a sequence",
    ("gradc/verification/tangents/tangent.py", "total"): "a sequence in a sequence",
    ("gradc/compiler/driver.py", "_import_source"): "a source under other names, or differentiated",
}
"""What calls itself, and over what: nothing that a larger graph makes deeper."""

SIZES_IN_SIZES = {
    "bounds": ("_lower", "_of_atom", "_of_quotient", "_relax", "interval", "lower", "upper"),
    "size_text": (
        "_Reader._extreme",
        "_Reader._factor",
        "_Reader._operand",
        "_Reader._product",
        "_Reader.sum",
    ),
    "sizes": ("_by_number", "_lone_quotient", "_map_leaves", "_map_atom", "floordiv"),
}
"""The same for size expressions, of which `forms.DEEPEST` says how deep they may be."""

BOUNDED |= {
    (f"dialects/shapes/{file}.py", name): "a size in a size"
    for file, names in SIZES_IN_SIZES.items()
    for name in names
}

BOUNDED |= {
    ("passes/size_checks/expressions.py", f"Expressions.{name}"): "a size in a size"
    for name in ("_atom", "_element", "_product", "_quotient", "_term", "_vector")
}

BOUNDED |= {
    ("gradc/importers/onnx/control.py", name): "a type in a type"
    for name in ("_argument", "join_types", "drop_names", "drop_rank")
}

BOUNDED |= {
    (
        "gradc/importers/onnx/node_reader.py",
        f"NodeReader.{name}",
    ): "graphs in graphs, at most `scope.DEEPEST`"
    for name in ("_add", "_call", "_opaque", "_region", "_results", "_refine_type", "fill")
}

BOUNDED |= {
    (file, name): "graphs in graphs, at most `scope.DEEPEST`"
    for file, names in {
        "gradc/verification/random_ops.py": (
            "_loop",
            "_random_ops_of_outputs",
            "_scan",
            "_visit",
            "_visit_control",
            "_yields",
        ),
        "gradc/inspection/memory.py": ("_Run.peak",),
        "gradc/model/branches.py": tuple(
            f"_Watcher.{name}" for name in ("_labels_of_node", "_of_body", "_of_if", "labels_of")
        ),
        "gradc/model/intermediate_outputs.py": ("_all",),
        "gradc/model/ordered_updates.py": ("_captured", "_order_graph", "_reads", "_rename"),
        "gradc/importers/onnx/gradient.py": ("_ops_before",),
        "passes/infer_types.py": ("refine_with_regions",),
        "passes/autodiff/control_flow/loop_shapes.py": (
            "_shapes_after_step",
            "_by_induction",
            "_normalize_loop",
            "carried_types",
        ),
    }.items()
    for name in names
}

BOUNDED |= {
    ("gradc/compiler/function_bodies.py", name): "bodies in bodies, at most `DEEPEST`"
    for name in ("_is_legal", "_legal_body", "_replace")
}

BOUNDED |= {
    ("gradc/importers/torch/dynamic.py", name): "trees of arguments"
    for name in ("_has_dims", "by_attributes", "check_entries")
}
BOUNDED |= {("passes/lower_aten/small_values.py", "_is_read_when_small"): "at most `FAR` ops"}
BOUNDED |= {
    ("passes/lower_aten/complex_numbers/formulas.py", "_whole_power"): "halves of an exponent",
    ("passes/lower_aten/rules/spectra.py", "_transform"): "factors of a size",
    ("passes/lower_aten/rules/spectra.py", "_in_stages"): "factors of a size",
    ("passes/lower_aten/rules/spectra.py", "_by_dft"): "once, for the imaginary part",
}
BOUNDED |= {
    ("gradc/graph/batch_probe.py", f"Probe.{name}"): "nested bodies"
    for name in ("_walk", "_visit", "_visit_branches", "_visit_loop")
}

Functions = dict[str, set[str]]
"""The functions and methods of a file, each with those that it refers to."""


def functions(tree: ast.AST, owner: str = "") -> Functions:
    found: Functions = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            found[owner + node.name] = set(referred(node, owner))
        inner = f"{node.name}." if isinstance(node, ast.ClassDef) else owner
        found |= functions(node, "" if isinstance(node, ast.FunctionDef) else inner)
    return found


def referred(function: ast.FunctionDef, owner: str) -> Iterator[str]:
    """Names that are read, and attributes of `self`; a local variable is no function."""
    nodes = list(ast.walk(function))
    local = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    local |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id not in local:
            yield node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield owner + node.attr


def calling_themselves(found: Functions) -> set[str]:
    """Also by way of others in the file."""
    return {name for name in found if name in reached(found, name)}


def reached(found: Functions, start: str) -> set[str]:
    known: set[str] = set()
    waiting = [start]
    while waiting:
        new = (found[waiting.pop()] & found.keys()) - known
        known |= new
        waiting += new
    return known


@ONE_WORKER
def test_no_function_calls_itself_but_these():
    names = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in FILES
        for name in calling_themselves(functions(tree(path)))
    }
    assert names == BOUNDED.keys()


@pytest.mark.parametrize(
    "text",
    [
        "def f(v):\n    return all(map(f, v.operands))",
        "def f(v):\n    return g(v)\ndef g(v):\n    return f(v)",
        "class C:\n    def f(self, v):\n        self.g(v)\n    def g(self, v):\n        self.f(v)",
    ],
)
def test_what_calls_itself_is_found(text: str):
    assert calling_themselves(functions(ast.parse(text)))


def deepest(function: Any, *args: Any) -> int:
    """The most frames that a call has above it."""
    depth = most = 0

    def count(frame: FrameType, event: str, given: Any) -> None:
        nonlocal depth, most
        depth += (event == "call") - (event == "return")
        most = max(most, depth)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return most


def command(verb: str, path: Path, *further: str) -> None:
    ended = run_gradc(verb, str(path), *(word.format(path) for word in VERBS[verb]), *further)
    assert ended.code == 0, ended.err


@pytest.mark.sweep
@pytest.mark.parametrize("kind", deep.KINDS)
@pytest.mark.parametrize("verb", ["compile", "explain"])
def test_the_stack_does_not_grow_with_the_graph(tmp_path: Path, verb: str, kind: str):
    """Of a verb that was run before: the first time, modules are imported."""
    small, large = tmp_path / "small.mlir", tmp_path / "large.mlir"
    small.write_text(deep.KINDS[kind](8))
    large.write_text(deep.KINDS[kind](36 if kind == "sizes" else 120))
    command(verb, small)
    assert deepest(command, verb, large) - deepest(command, verb, small) < 10


@pytest.mark.sweep(group="deep", parts=4)
def test_weights_behind_thousands_of_ops(tmp_path: Path):
    path = tmp_path / "graph.mlir"
    path.write_text(deep.weights(1500))
    command("compile", path)


@pytest.mark.sweep(group="deep", parts=4)
@pytest.mark.parametrize("kind", ["weights", "doubled", "constants"])
def test_what_is_known_is_asked_once(tmp_path: Path, kind: str):
    path = tmp_path / "graph.mlir"
    path.write_text(deep.KINDS[kind](1200))
    (*_, conv, _) = entry_function(import_file(path)).body.block.ops
    assert is_const(conv.operands[1]) == (kind == "constants")


@pytest.mark.sweep(group="deep", parts=4)
@pytest.mark.parametrize("copied", [lambda made: pickle.loads(pickle.dumps(made)), copy.deepcopy])
def test_copies_of_a_deep_graph(tmp_path: Path, copied: Callable[[gradc.Compiled], gradc.Compiled]):
    path = tmp_path / "graph.mlir"
    path.write_text(deep.gradients(600))
    compiled = gradc.compile(path)
    again = copied(compiled)
    for before, after in ((compiled.source, again.source), (compiled.module, again.module)):
        assert module_text(after) == module_text(before)
        assert [op.location for op in after.walk()] == [op.location for op in before.walk()]


@pytest.mark.heavy
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", deep.KINDS)
def test_three_thousand_ops(tmp_path: Path, kind: str, verb: str):
    path = tmp_path / "graph.mlir"
    path.write_text(deep.KINDS[kind](3000))
    further = ("--shape", "d=1x4x6x6") if kind == "sizes" and verb == "verify" else ()
    command(verb, path, *further)
