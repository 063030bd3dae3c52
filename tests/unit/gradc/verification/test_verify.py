"""`gradc verify` finds wrong numbers, and calls right ones right."""

import json
import tracemalloc

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cli import run_gradc
from support.documents import CONV, text_of
from support.examples import examples
from support.outputs import verify_outputs

import gradc
from dialects.evaluate import evaluate
from dialects.support import entry
from dialects.support.limits import Limits, using
from gradc.graph.tensors import tensor_info
from gradc.importers import import_text
from gradc.inspection import unexercised
from gradc.runtime.session import Session
from gradc.verification import verify as comparison
from gradc.verification.samples import random_inputs
from gradc.verification.verify import RTOL, bounds, compare, may_overflow_within, reference

HALVES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
WINDOW = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
NCX = {"data_format": "NCX", "weights_format": "OIX"}


def chain(length: int, dtype: str = "f32") -> gradc.Graph:
    g = gradc.Graph()
    value, w = g.input("dy", dtype, [1, 3, 6, 6]), g.input("w", dtype, [3, 3, 3, 3])
    for _ in range(length):
        value = g.convolution_backward_data(value, w, [1, 3, 6, 6], **WINDOW | NCX)
    g.output(value, "dx")
    return g


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "conv.json"
    path.write_text(text_of(CONV), encoding="utf-8")
    return path


def wrong(monkeypatch, change):
    """The runtime's outputs, changed."""
    run = Session.run
    monkeypatch.setattr(Session, "run", lambda *args: {k: change(v) for k, v in run(*args).items()})


class TestCommand:
    def test_right_numbers(self, document):
        result = run_gradc("verify", document)
        assert result.code == 0
        header, row = result.out.splitlines()
        assert header.split()[0] == "output"
        assert row.split()[:3] == ["t2", "f32", "1x2x5x5"]
        assert row.endswith("ok")

    def first_doubled(array):
        array = array.copy()
        array.flat[0] *= 2
        return array

    def one_nan(array):
        array = array.copy()
        array.flat[-1] = np.nan
        return array

    @pytest.mark.parametrize(
        "change",
        [
            lambda a: a * np.float32(1.001),
            lambda a: np.roll(a, 1, -1),
            lambda a: np.full_like(a, np.inf),
            lambda a: a[:, :1],
            lambda a: a.astype(np.float64),
            first_doubled,
            one_nan,
        ],
    )
    def test_wrong_numbers(self, change, document, monkeypatch):
        wrong(monkeypatch, change)
        result = run_gradc("verify", document)
        assert result.code == 1
        assert result.out.rstrip().endswith("FAILED")
        (row,) = json.loads(run_gradc("verify", document, "--json").out)
        assert row["ok"] is False
        assert row["worst"] is None or row["worst"] > row["rtol"]

    def test_rtol(self, document, monkeypatch):
        wrong(monkeypatch, lambda a: a * np.float32(1.001))
        assert run_gradc("verify", document, "--rtol", "2e-3").code == 0
        assert run_gradc("verify", document, "--rtol", "5e-4").code == 1
        for bad in ("-1", "nan"):
            result = run_gradc("verify", document, "--rtol", bad)
            assert (result.code, result.out) == (2, "")
            assert result.line.startswith("error: --rtol: given ")

    def test_json(self, document):
        (row,) = json.loads(run_gradc("verify", document, "--json").out)
        assert list(row) == ["name", "dtype", "shape", "worst", "typical", "rtol", "finite", "ok", "op"]
        assert (row["name"], row["shape"], row["ok"]) == ("t2", [1, 2, 5, 5], True)


class TestCompare:
    @pytest.mark.parametrize(("got", "ok"), [([1, np.nan], True), ([np.nan, np.nan], False), ([1, 2], False)])
    def test_a_nan_is_right_only_where_the_reference_has_one(self, got, ok):
        want = np.array([1, np.nan], np.float32)
        assert compare("y", np.array(got, np.float32), want, 1e-5).ok is ok

    @pytest.mark.parametrize(
        ("values", "verdict"),
        [
            ([1, 2, 3, 4], "ok"),
            ([1, np.inf, 3, 4], "ok, 75.0% is finite"),
            ([np.nan, np.inf, np.nan, np.nan], "ok, but nothing is finite"),
            ([], "ok"),
        ],
    )
    def test_the_verdict_says_what_was_not_compared(self, values, verdict):
        """A chain that overflows is inf and NaN in the reference, too: an error of 0 says nothing then."""
        array = np.array(values, np.float32)
        assert compare("y", array, array, 1e-5).verdict == verdict

    @pytest.mark.parametrize(("got", "ok"), [(np.inf, True), (-np.inf, False), (3e38, False)])
    def test_infinities(self, got, ok):
        want = np.array([1, np.inf], np.float32)
        assert compare("y", np.array([1, got], np.float32), want, 1e-5).ok is ok

    @pytest.mark.parametrize(("got", "ok"), [([1, 7], True), ([1, np.nan], True), ([2, np.inf], False)])
    def test_an_overflow_within(self, got, ok):
        """Only where the reference overflowed, the numbers are free."""
        want = np.array([1, np.inf], np.float16)
        assert compare("y", np.array(got, np.float16), want, 1e-3, overflows_within=True).ok is ok

    def test_nothing_and_zeros(self):
        empty, zeros = np.zeros((0, 3), np.float32), np.zeros(3, np.float32)
        assert compare("y", empty, empty, 0.0).ok
        assert compare("y", zeros, zeros, 0.0).ok
        assert not compare("y", zeros + np.float32(1e-3), zeros, 1e-5).ok

    @pytest.mark.parametrize("word", HALVES)
    @examples(50)
    @given(number=st.floats(2.0**-8, 2.0**8))
    def test_the_bound_of_a_half_type_is_a_unit_in_the_last_place(self, word, number):
        """Next to the reference is right, three units away is wrong, wherever in the binade."""
        want = np.array([number], np.float32).astype(HALVES[word])
        bits = want.view(np.uint16)
        assert compare("y", (bits + 1).view(want.dtype), want, RTOL[word]).ok
        assert compare("y", (bits - 1).view(want.dtype), want, RTOL[word]).ok
        assert not compare("y", (bits + 3).view(want.dtype), want, RTOL[word]).ok


class TestBounds:
    @pytest.mark.parametrize("dtype", RTOL)
    def test_every_op_on_the_way_rounds(self, dtype):
        for length in (1, 3):
            assert bounds(chain(length, dtype).module()) == [length * RTOL[dtype]]

    def test_an_input_that_is_an_output(self):
        g = gradc.Graph()
        g.output(g.input("x", "f32", [2]), "y")
        assert bounds(g.module()) == [RTOL["f32"]]

    @pytest.mark.parametrize("dtype", HALVES)
    @pytest.mark.parametrize("seed", range(3))
    def test_chains_of_half_types_pass(self, dtype, seed):
        compiled = gradc.compile(chain(6, dtype))
        fed = random_inputs(compiled.source, seed)
        assert all(row.ok for row in verify_outputs(compiled.source, compiled.inputs, fed, compiled.run(fed)))

    def test_a_chain_that_overflows_within(self):
        """The reference stores f16 between the ops; the model does not."""
        compiled = gradc.compile(chain(6, "f16"))
        drawn = random_inputs(compiled.source, 0)
        fed = {name: array * array.dtype.type(100) for name, array in drawn.items()}
        (row,) = verify_outputs(compiled.source, compiled.inputs, fed, compiled.run(fed))
        assert row.ok
        (want,) = reference(compiled.source, list(fed.values()))
        assert not np.isfinite(want).all()

    @pytest.mark.parametrize(
        ("dtype", "length", "may"), [("f16", 2, True), ("f16", 1, False), ("f32", 2, False)]
    )
    def test_what_may_overflow_within(self, dtype, length, may):
        assert may_overflow_within(chain(length, dtype).module()) == [may]

    @staticmethod
    def cancelling(length: int, dtype: str, seed: int) -> tuple[gradc.Compiled, dict[str, np.ndarray]]:
        """A chain of kernels with rows (b, -b, b, -b, ..), where b nearly adds up to 0 that way, too: the
        results are much smaller than their terms."""
        channels = 256 if length == 1 else 4
        g = gradc.Graph()
        value = g.input("dy", dtype, [1, channels, 4, 4])
        w = g.input("w", dtype, [channels, channels, 1, 1])
        window = {**WINDOW, "pads_begin": [0, 0], "pads_end": [0, 0]}
        for _ in range(length):
            value = g.convolution_backward_data(value, w, [1, channels, 4, 4], **window | NCX)
        g.output(value, "dx")
        random = np.random.default_rng(seed)
        row = np.repeat(random.integers(64, 127, channels // 2), 2)
        row[1] += 1
        weights = np.outer(np.tile([1, -1], channels // 2), row).reshape(channels, channels, 1, 1)
        dy = random.standard_normal((1, channels, 4, 4))
        dy[:, 1::2] = dy[:, ::2] * (1 + 2.0**-20) if length == 1 else dy[:, 1::2]
        word = HALVES.get(dtype, np.float32)
        return gradc.compile(g), {"dy": dy.astype(word), "w": weights.astype(word)}

    @pytest.mark.parametrize(("dtype", "length"), [("bf16", 2), ("bf16", 3), ("f32", 1)])
    def test_terms_that_cancel(self, dtype, length):
        """Right, though some are far from the reference; and wrong is wrong."""
        far = 0
        for seed in range(12):
            compiled, fed = self.cancelling(length, dtype, seed)
            got = compiled.run(fed)
            assert all(row.ok for row in verify_outputs(compiled.source, compiled.inputs, fed, got))
            (want,) = reference(compiled.source, [fed["dy"], fed["w"]])
            far += not compare("dx", got["dx"], want, bounds(compiled.source)[0]).ok
            off = np.abs(want.astype(np.float64)).max() + (10.0 if dtype == "f32" else 0.0)
            wrong = {"dx": (got["dx"].astype(np.float64) + off).astype(want.dtype)}
            assert not all(row.ok for row in verify_outputs(compiled.source, compiled.inputs, fed, wrong))
        assert far

    def test_denormals(self):
        compiled = gradc.compile(chain(1))
        fed = {"dy": np.full((1, 3, 6, 6), 1e-45, np.float32), "w": np.full((3, 3, 3, 3), 0.4, np.float32)}
        assert all(row.ok for row in verify_outputs(compiled.source, compiled.inputs, fed, compiled.run(fed)))
        far = {"dx": compiled.run(fed)["dx"] + np.float32(1e-42)}
        assert not all(row.ok for row in verify_outputs(compiled.source, compiled.inputs, fed, far))

    @pytest.mark.parametrize("dtype", HALVES)
    def test_the_reference_is_rounded_once(self, dtype):
        """It is the float64 result, rounded: not one of an accumulation in the half type."""
        module, wide = chain(1, dtype).module(), chain(1, "f64").module()
        fed = random_inputs(module, 0)
        (got,) = evaluate(module, list(fed.values()))
        (exact,) = evaluate(wide, [a.astype(np.float64) for a in fed.values()])
        np.testing.assert_array_equal(got, exact.astype(HALVES[dtype]))


def test_npz_inputs_of_bfloat16(tmp_path):
    graph = chain(1, "bf16")
    compiled = gradc.compile(graph)
    fed = random_inputs(compiled.source, 0)
    raw = {name: array.view("V2") for name, array in fed.items()}
    (row,) = verify_outputs(compiled.source, compiled.inputs, raw, compiled.run(raw))
    assert row.ok


class TestParts:
    """Arrays are compared in parts, so that float64 of all of them is never in memory."""

    @pytest.mark.parametrize("overflows_within", [False, True])
    @pytest.mark.parametrize("odd", [None, np.inf, np.nan])
    def test_the_same_in_parts(
        self, monkeypatch: pytest.MonkeyPatch, odd: float | None, overflows_within: bool
    ):
        random = np.random.default_rng(0)
        want = random.standard_normal((5, 21)).astype(np.float32)
        got = want * np.float32(1 + 1e-6)
        got[3, 20] += 1
        if odd is not None:
            want[2, 2] = odd
        terms = np.abs(random.standard_normal(want.shape))
        for alike in (False, True):
            if alike and odd is not None:
                got[2, 2] = odd
            whole = compare("y", got, want, 1e-3, overflows_within, terms)
            with monkeypatch.context() as patch:
                patch.setattr(comparison, "PART", 16)
                parts = compare("y", got, want, 1e-3, overflows_within, terms)
            assert parts.worst == whole.worst
            assert parts.typical == pytest.approx(whole.typical)
            assert parts.finite == whole.finite == 1 - (odd is not None) / 105
            assert np.isfinite(whole.worst) == (alike or odd is None or overflows_within)

    def test_memory(self):
        want = np.ones(2**22, np.float32)
        tracemalloc.start()
        try:
            assert compare("y", want, want, 0.0).ok
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 2**22 * 16


def test_what_is_off_is_told_where_a_second_look_would_take_too_much():
    """In float64 all values take twice the bytes."""
    kind = "tensor<100000xf32>"
    source = import_text(
        f"func.func @main(%x: {kind}, %z: {kind}) -> {kind} {{"
        f" %y = onnx.Add %x, %z : ({kind}, {kind}) -> {kind} return %y : {kind} }}",
        "mlir",
        "graph.mlir",
    )
    data = np.ones(10**5, np.float32)
    function = entry.entry_function(source)
    infos = [tensor_info(n, a) for n, a in zip(entry.input_names(function), function.args, strict=True)]
    (name,) = entry.output_names(function)
    with using(Limits(reference_bytes=3_500_000)):
        (row,) = verify_outputs(source, infos, {"x": data, "z": data}, {name: 3 * data})
    assert not row.ok


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("hard_sigmoid", {"alpha": 0.3, "beta": 0.4}),
        ("hard_swish", {}),
        ("elu", {"alpha": 0.1}),
        ("leaky_relu", {"alpha": 0.1}),
    ],
)
def test_attributes_beside_f64_keep_its_precision(op: str, attributes: dict[str, float]):
    """What ONNX has for an attribute is f32."""
    g = gradc.Graph()
    g.output(getattr(g, op)(g.input("x", "f64", [64]), **attributes), "y")
    c = gradc.compile(g, threads=1)
    fed = {"x": np.linspace(-3, 3, 64)}
    assert all(row.ok for row in verify_outputs(c.source, c.inputs, fed, c.run(fed)))


class TestBranchesOfAModel:
    """What the model with flags cannot be run with is left out; a fault of gradc's is none of that."""

    TEXT = """<ir_version: 8, opset_import: ["": 18]> g (float[2] x, bool c) => (float[2] y) {
        y = If (c) <then_branch = a () => (float[2] p) { p = Exp (x) },
                    else_branch = b () => (float[2] q) { q = Neg (x) }> }"""

    def test_a_fault_is_not_swallowed(self, tmp_path, monkeypatch):
        path = tmp_path / "m.onnx"
        onnx.save(onnx.parser.parse_model(self.TEXT), path)
        assert unexercised.branches_of(str(path), None, 1) is not None

        def faulty(*given, **named):
            raise KeyError("flag")

        monkeypatch.setattr(unexercised, "FixedInputsSession", faulty)
        with pytest.raises(KeyError):
            unexercised.branches_of(str(path), None, 1)

    def test_a_model_that_the_runtime_refuses(self, tmp_path, monkeypatch):
        path = tmp_path / "m.onnx"
        onnx.save(onnx.parser.parse_model(self.TEXT), path)
        unknown = unexercised.observe_branches(str(path))
        unknown.model.graph.node[0].op_type = "Iff"
        monkeypatch.setattr(unexercised, "observe_branches", lambda _: unknown)
        assert unexercised.branches_of(str(path), None, 1) is None
