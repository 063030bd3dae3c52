"""The same input gives the same model bytes, and the threads change no more than roundings."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.generate import seeded
from support.specials import pattern
from support.tiers import some
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

import gradc
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.graph.printing import module_text
from gradc.verification.errors import ULPS_OF_TERMS, errors
from passes.assign_layout import Prices
from passes.targets.target import Target
from tools.accuracy.cases import Bound, cases

pytest.importorskip("onnxruntime")

EXAMPLES = Path(__file__).parents[2] / "examples"
SOURCES = sorted((*EXAMPLES.glob("*.json"), *EXAMPLES.glob("*.mlir")))
THREADS = (1, 2, 4)


def bytes_of(source, **options) -> bytes:
    model = gradc.compile(source, threads=2, **options).model
    return model.SerializeToString(deterministic=True)


@pytest.mark.sweep(entries=r".*(?=-)")
@pytest.mark.parametrize("options", [{}, {"strict_ieee": True}, {"target": "cuda"}], ids=str)
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_twice_in_one_process(path: Path, options: dict):
    assert bytes_of(path, **options) == bytes_of(path, **options)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_twice(seed: int):
    problem = seeded([5, seed], most_ops=3)
    assert bytes_of(problem.module()) == bytes_of(problem.module())


HASHES = """
import hashlib, sys, gradc
for path in sys.argv[1:]:
    model = gradc.compile(path, threads=2).model
    print(hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest())
"""


@pytest.mark.sweep(group="other processes", parts=3)
def test_in_processes_that_hash_differently():
    """The order of a set of strings differs from process to process, unless its seed is fixed."""
    wanted = [hashlib.sha256(bytes_of(path)).hexdigest() for path in SOURCES]
    for seed in some(("0", "1", "12345")):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", HASHES, *map(str, SOURCES)]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert result.stdout.split() == wanted


GRADIENTS = """
import hashlib, gradc
from onnx import parser

HEAD = '<ir_version: 9, opset_import: ["" : 18]> g '
PLAIN = HEAD + "(float[3,4] x, float[4,4] w, float[4] b, float[4,4] v, float[4] u) => (float[3,4] y) {"
PLAIN += "a = MatMul(x, w) c = Add(a, b) d = Tanh(c) e = MatMul(d, v) f = Mul(e, a)"
PLAIN += "h = Add(f, u) y = Mul(h, d) }"
BRANCH = HEAD + "(bool k, float[4] x, float[4] w, float[4] b, float[4] v, float[4] u) => (float[4] y) {"
BRANCH += "z = If(k) <then_branch = t () => (float[4] p) { q = Mul(x, w) p = Add(q, u) },"
BRANCH += "else_branch = e () => (float[4] p2) { q2 = Sub(u, v) p2 = Mul(q2, b) }>"
BRANCH += "r = Mul(z, x) y = Mul(r, v) }"
LOOP = HEAD + "(float[4] x, float[4] w, float[4] b, float[4] v, float[4] u) => (float[4] y) {"
LOOP += "m = Constant<value = int64 {3}>() k = Constant<value = bool {1}>()"
LOOP += "s_, r_ = Loop(m, k, x, u) <body = o "
LOOP += "(int64 i, bool c, float[4] s, float[4] r) => (bool d, float[4] s2, float[4] r2) { d = Identity(c)"
LOOP += "a = Mul(s, w) e = Add(a, b) s2 = Tanh(e) f = Mul(r, v) r2 = Add(f, e) }> y = Mul(s_, r_) }"
for text in (PLAIN, BRANCH, LOOP):
    for verb in (gradc.grad, gradc.value_and_grad, gradc.vjp, gradc.hvp):
        for names in ("x w b v u".split(), set("uvbwx")):
            how = {} if verb is gradc.vjp else {"reduce": "sum"}
            model = verb(parser.parse_model(text), wrt=names, check=False, threads=1, **how).model
            print(hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest())
"""


@pytest.mark.sweep(group="other processes", parts=3)
def test_gradients_in_processes_that_hash_differently():
    """Of several values, with subgraphs that they share and within regions; names may come as a set."""
    command = [sys.executable, "-c", GRADIENTS]
    environments = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("0", *some(("1", "2")))]
    first, *others = (subprocess.check_output(command, env=each, text=True) for each in environments)
    assert len(first.split()) == 24
    assert all(other == first for other in others)


ORDERS = """
import hashlib, os, random, sys, gradc

def digest(path):
    model = gradc.compile(path, threads=2).model
    return hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()

def forked(work):
    read, write = os.pipe()
    if not os.fork():
        os.write(write, work().encode())
        os._exit(0)
    os.close(write)
    os.wait()
    with os.fdopen(read) as pipe:
        return pipe.read()

def in_order(paths):
    return ",".join(path for path in paths if digest(path) != alone[path])

orders, *paths = sys.argv[1:]
gradc.compile(paths[0], threads=2)  # imports what a process imports once
alone = {path: forked(lambda: digest(path)) for path in paths}
assert all(alone.values())
for seed in range(int(orders)):
    random.Random(seed).shuffle(paths)
    print(seed, forked(lambda: in_order(paths)))
"""


@pytest.mark.sweep(group="other processes", parts=3)
@pytest.mark.parametrize(
    ("orders", "graphs"), [(1, 4), pytest.param(12, 80, marks=pytest.mark.heavy)], ids=["quick", "heavy"]
)
def test_in_any_order(orders: int, graphs: int, tmp_path: Path):
    """What a process has compiled before does not matter: each model is as in a process of its own."""
    paths = [*SOURCES, *(tmp_path / f"{seed}.mlir" for seed in range(graphs))]
    for seed, path in enumerate(paths[len(SOURCES) :]):
        path.write_text(module_text(seeded([6, seed], most_ops=4).module()), encoding="utf-8")
    command = [sys.executable, "-c", ORDERS, str(orders), *map(str, paths)]
    lines = subprocess.check_output(command, text=True).splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[str(seed)] for seed in range(orders)]


def test_prices_are_kept_by_type():
    """By its address a type would get the price of another one, which was freed."""
    prices = Prices(None, Target("cpu", threads=1))
    (value,) = Block(arg_types=[TensorType(f32, [1, 8, 16, 16])]).args
    price = prices.transpose(value, (0, 1, 2, 3), (0, 2, 3, 1))
    assert prices.known == {(value.type, (0, 1, 2, 3), (0, 2, 3, 1)): price}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_by_way_of_text(path: Path, tmp_path: Path):
    """What is read from JSON or MLIR, printed, and read again, is the same graph with the same names."""
    printed = tmp_path / "printed.mlir"
    printed.write_text(module_text(load(path)), encoding="utf-8")
    again = tmp_path / "again.mlir"
    again.write_text(module_text(load(printed)), encoding="utf-8")
    assert again.read_text(encoding="utf-8") == printed.read_text(encoding="utf-8")
    first, second = (compile_module(load(p), Options(threads=2)).model for p in (path, printed))
    assert without_places(first) == without_places(second)


def without_places(model) -> bytes:
    """Names of nodes, documentation and the graph that a model carries tell the place in the source, which
    is another file."""
    model = type(model).FromString(model.SerializeToString())
    for node in model.graph.node:
        node.ClearField("name")
        node.ClearField("doc_string")
        del node.metadata_props[:]
    for entry in model.metadata_props:
        entry.value = re.sub(r' loc\("[^"]*"(\("[^"]*":\d+:\d+\)|:\d+:\d+)\)', "", entry.value)
    return model.SerializeToString(deterministic=True)


HEAVY = pytest.mark.heavy


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize(
    "dtype", ["f32", *(pytest.param(dtype, marks=HEAVY) for dtype in ("f16", "bf16", "f64"))]
)
def test_the_threads_change_no_more_than_roundings(dtype: str):
    """The model of one compilation on other numbers of threads, and one compiled for each."""
    for case in some(cases(dtype)):
        if dtype == "f64" and "dst_shape" in case.what:
            continue
        bound = Bound(dtype, case.terms)
        compiled = [compile_module(case.module.clone(), Options(threads=n)) for n in THREADS]
        results = [compiled[0].run(case.inputs, threads=n) for n in THREADS]
        results += [each.run(case.inputs) for each in compiled]
        for result in results:
            (got,) = result.values()
            found = errors(got, case.exact, case.magnitude)
            assert found.mismatches == 0
            assert found.spreads[ULPS_OF_TERMS].worst <= bound.worst, case.what


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("threads", THREADS)
def test_the_same_run_twice_gives_the_same_bits(threads: int):
    for case in some(cases("f32")):
        compiled = compile_module(case.module.clone(), Options(threads=threads))
        first, second = (compiled.run(case.inputs) for _ in range(2))
        for name, array in first.items():
            assert array.tobytes() == second[name].tobytes(), case.what


def test_the_threads_do_not_change_what_is_finite():
    case = next(cases("f32"))
    inputs = {name: array.copy() for name, array in case.inputs.items()}
    inputs["diff_dst"].flat[7] = np.inf
    compiled = compile_module(case.module.clone(), Options(threads=1, strict_ieee=True))
    patterns = [pattern(compiled.run(inputs, threads=n)["diff_src"]) for n in THREADS]
    assert patterns[0].any()
    assert all(np.array_equal(patterns[0], other) for other in patterns[1:])
