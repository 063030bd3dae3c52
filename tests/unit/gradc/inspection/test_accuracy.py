"""The errors against float64: the measures, the table of docs/accuracy.md, and `verify --report`."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.cli import run_gradc
from support.documents import CONV, text_of
from support.problems import random_array

import gradc
from dialects.support.dtypes import FLOATS
from gradc.inspection.accuracy import report
from gradc.verification.errors import ABSOLUTE, MEASURES, OF_TERMS, ULPS_OF_RESULT, ULPS_OF_TERMS, errors, ulp
from gradc.verification.exact import exact, term_magnitudes
from gradc.verification.samples import random_inputs
from passes.strategies import all_strategies
from tools.accuracy import table
from tools.accuracy.__main__ import main
from tools.accuracy.cases import Bound, cases

PAGE = Path(__file__).parents[4] / "docs" / "accuracy.md"
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}


def row(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


class TestErrors:
    @pytest.mark.parametrize(("word", "dtype"), DTYPES.items())
    def test_an_ulp_is_the_distance_to_the_next_number(self, word, dtype):
        values = np.abs(random_array([1], word, (50,)).astype(np.float64))
        values = np.append(values, [1.0, 2.0, 0.5, 0.0]).astype(dtype)
        bits = values.view(f"u{values.itemsize}")
        beyond = (bits + 1).view(values.dtype).astype(np.float64)
        np.testing.assert_array_equal(ulp(values.astype(np.float64), values.dtype), beyond - values)

    def test_the_measures(self):
        """2 + 2 - 3 = 1 in f32, given as 1 and two units of 1, is off by half a unit of the terms' 7."""
        found = errors(np.array([1 + 2**-22], np.float32), row(1), row(7))
        assert (found.values, found.compared, found.mismatches) == (1, 1, 0)
        worst = {name: spread.worst for name, spread in found.spreads.items()}
        assert worst == {
            ABSOLUTE: 2**-22,
            OF_TERMS: 2**-22 / 7,
            ULPS_OF_TERMS: 0.5,
            ULPS_OF_RESULT: 2.0,
        }

    def test_the_spread(self):
        exact_values = np.zeros(1000)
        got = np.zeros(1000, np.float32)
        got[:400], got[:5] = 1, 3
        spread = errors(got, exact_values, np.ones(1000)).spreads[ABSOLUTE]
        assert (spread.worst, spread.p99, spread.median) == (3, 1, 0)

    @pytest.mark.parametrize(
        ("got", "want", "mismatches"),
        [
            ([np.inf, np.nan, 1], [np.inf, np.nan, 1], 0),
            ([np.inf, np.nan, 1], [-np.inf, np.nan, 1], 1),
            ([np.nan, 1, 1], [1, np.nan, np.inf], 3),
            ([np.inf, 65504, 1], [65520, 65519, 1], 0),
            ([np.inf, np.inf, 1], [65519, 65519, 1], 2),
        ],
    )
    def test_what_is_not_finite(self, got, want, mismatches):
        found = errors(np.array(got, np.float16), row(*want), np.abs(row(*want)))
        assert found.mismatches == mismatches

    def test_nothing_and_zeros(self):
        none = errors(np.zeros(0, np.float32), np.zeros(0), np.zeros(0))
        assert (none.values, none.spreads[ABSOLUTE].worst) == (0, 0)
        zeros = errors(np.zeros(3, np.float32), np.zeros(3), np.zeros(3))
        assert [spread.worst for spread in zeros.spreads.values()] == [0, 0, 0, 0]
        wrong = errors(np.ones(3, np.float32), np.zeros(3), np.zeros(3))
        assert wrong.spreads[OF_TERMS].worst == np.inf


class TestExact:
    def graph(self, dtype: str, constant: bool) -> tuple[gradc.Compiled, dict[str, np.ndarray]]:
        g = gradc.Graph()
        dy, w = g.input("dy", dtype, [1, 8, 5, 5]), g.input("w", dtype, [8, 8, 1, 1])
        window = {"strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1]}
        formats = {"data_format": "NCX", "weights_format": "OIX"}
        for _ in range(2):
            dy = g.convolution_backward_data(dy, w, [1, 8, 5, 5], **window, **formats)
        g.output(dy, "dx")
        fed = {"dy": random_array([2], dtype, (1, 8, 5, 5)), "w": random_array([3], dtype, (8, 8, 1, 1))}
        given = {"w": fed.pop("w")} if constant else None
        return gradc.compile(g, constants=given), fed

    @pytest.mark.parametrize("constant", [False, True])
    @pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
    def test_two_products_in_float64(self, dtype, constant):
        """Not rounded between the ops, constants or not; the magnitudes are those of all paths."""
        compiled, fed = self.graph(dtype, constant)
        dy = random_array([2], dtype, (1, 8, 5, 5)).astype(np.float64)
        w = random_array([3], dtype, (8, 8, 1, 1)).astype(np.float64)[:, :, 0, 0]
        arrays = [fed["dy"]] if constant else [fed["dy"], random_array([3], dtype, (8, 8, 1, 1))]
        (got,), (terms,) = exact(compiled.source, arrays), term_magnitudes(compiled.source, arrays)
        np.testing.assert_allclose(got, np.einsum("noyx,oi,ij->njyx", dy, w, w), rtol=1e-12, atol=1e-12)
        wanted = np.einsum("noyx,oi,ij->njyx", np.abs(dy), np.abs(w), np.abs(w))
        np.testing.assert_allclose(terms, wanted, rtol=1e-12)
        assert got.dtype == terms.dtype == np.float64


OF_ONE_TERM = {("resize-to-upsample", 1), ("max-pool-to-tiles", 1), ("avg-pool-to-tiles", 1)}
"""Strategies that sum nothing: each result is one number, or one times a weight."""


class TestTable:
    def test_every_op_strategy_and_dtype_is_listed(self):
        rows = table.rows_of(PAGE.read_text(encoding="utf-8"))
        listed = [(f"grad.{op}", strategy) for op, strategy, _, _ in rows]
        wanted = sorted((op.name, s.name) for s in all_strategies() for op in s.ops)
        hint = "missing: a problem in PROBLEMS of tools/accuracy/cases.py, then tools.accuracy"
        assert sorted(listed) == wanted, hint
        for _, strategy, terms, refused in rows:
            shown = dict(zip(FLOATS, refused, strict=True))
            assert not any(shown[dtype] for dtype in ("f32", "bf16", "f16")), strategy
            assert int(terms) > 1 or (strategy, int(terms)) in OF_ONE_TERM

    @pytest.mark.heavy
    def test_measured_anew_every_error_is_within_its_bound(self, capsys):
        """The bounds follow from the lengths of the sums; the digits are this machine's."""
        code = main(["--check", str(PAGE)])
        assert (code, capsys.readouterr().out) == (0, "")

    def test_a_wrong_result_breaks_a_bound(self):
        case = next(cases("f32"))
        got = case.exact.astype(np.float32)
        right, wrong = table.Entry(), table.Entry()
        for entry, factor in ((right, 1), (wrong, 1 + 2**-12)):
            found = errors(got * np.float32(factor), case.exact, case.magnitude)
            entry.add(case, found.spreads[ULPS_OF_TERMS], found.mismatches)
        assert not right.broken
        assert "worst error" in wrong.broken[0]
        assert table.broken_bounds({("op", "s"): {"f32": wrong}})[0].startswith("s: conv_backward_data,")

    def test_stale_rows_are_found(self, tmp_path, capsys, monkeypatch):
        entries = {("grad.op", "s"): {"f32": table.Entry(terms=9)}}
        monkeypatch.setattr(table, "measure_all", lambda: entries)
        page = tmp_path / "page.md"
        page.write_text(f"a\n{table.PART.begin}\n{table.PART.end}\nb\n", encoding="utf-8")
        assert main(["--check", str(page)]) == 1
        assert "stale" in capsys.readouterr().out
        assert main([str(page)]) == 0
        assert main(["--check", str(page)]) == 0
        assert "| op | s | 9 | 0 / 0 / 0 | - | - | - |" in page.read_text(encoding="utf-8")

    def test_bounds(self):
        assert Bound("f32", 96).worst == 100
        assert Bound("f32", 96).p99 == 10
        assert Bound("f64", 96).worst == 200
        assert Bound("f16", 96).worst == 0.5 + 100 / 2**13
        assert Bound("bf16", 96).p99 == 0.5 + 10 / 2**16

    def test_the_lengths_of_sums(self):
        terms = {case.what.split(",weights_are")[0]: case.terms for case in cases("f32")}
        assert terms["conv_backward_data,f32,NCX,diff_dst=2x32x14x14,weights=32x16x3x3,pads=1x1:1x1"] == 288
        assert terms["resize_backward,f32,NCX,diff_dst=1x8x32x32,diff_src=1x8x16x16"] == 16
        assert terms["resize_backward_dynamic,f32,NCX,diff_dst=?x8x?x?"] == 16


CHAIN = """
func.func @main(
  %dy: tensor<1x4x12x12xf32>, %w: tensor<4x4x3x3xf32>, %x: tensor<1x4x6x6xf32>
) -> tensor<1x4x6x6xf32> {
  %a = onednn.conv_transpose_backward_data %dy, %w {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1],
    dilations = [1, 1], data_format = "NCX", weights_format = "IOX"}
    : (tensor<1x4x12x12xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x12x12xf32>
  %b = onednn.interpolate_backward %x, %a {mode = "linear", sizes = [12, 12], data_format = "NCX"}
    : (tensor<1x4x6x6xf32>, tensor<1x4x12x12xf32>) -> tensor<1x4x6x6xf32>
  func.return %b : tensor<1x4x6x6xf32>
}
"""


class TestReport:
    @pytest.fixture
    def document(self, tmp_path):
        path = tmp_path / "conv.json"
        path.write_text(text_of(CONV), encoding="utf-8")
        return path

    def test_text(self, document):
        result = run_gradc("verify", document, "--report")
        assert result.code == 0
        first, second = result.out.split("\n\n")
        assert first.splitlines()[1].endswith("ok")
        lines = second.splitlines()
        assert lines[0].split() == [
            "dtype",
            "shape",
            "error",
            "worst",
            "p99",
            "median",
            "not",
            "finite",
            "alike",
        ]
        assert lines[1].split()[:4] == ["t2", "f32", "1x2x5x5", "absolute"]
        assert [measure in line for measure, line in zip(MEASURES, lines[1:], strict=True)] == [True] * 4

    def test_json(self, document):
        found = json.loads(run_gradc("verify", document, "--report", "--json").out)
        assert list(found) == ["verified", "outputs", "ops"]
        assert found["verified"] == json.loads(run_gradc("verify", document, "--json").out)
        (output,) = found["outputs"]
        assert (output["name"], output["compared"], output["mismatches"]) == ("t2", 50, 0)
        for measure in ("absolute", "of_the_terms", "ulps_of_the_terms", "ulps_of_the_result"):
            assert set(output[measure]) == {"worst", "p99", "median"}
        assert found["ops"] == []

    def test_the_ops_of_a_graph(self, tmp_path):
        """Each alone, on what the ops before it give."""
        path = tmp_path / "chain.mlir"
        path.write_text(CHAIN, encoding="utf-8")
        result = run_gradc("verify", path, "--report", "--json")
        found = json.loads(result.out)
        names = ['ConvTransposeBackwardData "a"', 'InterpolateBackward "b"']
        assert [row["name"] for row in found["ops"]] == names
        assert [row["name"] for row in found["outputs"]] == ["b"]
        for given in (*found["outputs"], *found["ops"]):
            assert given["mismatches"] == 0
            assert 0 < given["ulps_of_the_terms"]["median"] < 1
        text = run_gradc("verify", path, "--report").out
        assert all(name in text for name in names)

    def test_an_error_is_seen(self):
        g = gradc.Graph()
        dy = g.input("dy", "f16", [1, 2, 6, 6])
        src = g.input("src", "f16", [1, 2, 3, 3])
        dx = g.interpolate_backward(src, dy, [6, 6], mode="linear", data_format="NCX")
        g.output(dx, "dx")
        compiled = gradc.compile(g)
        fed = random_inputs(compiled.source, 0)
        outputs = compiled.run(fed)
        (right,) = report(compiled, fed, outputs).outputs
        assert right.errors is not None
        assert right.errors.spreads[ULPS_OF_TERMS].worst <= 0.51
        outputs["dx"].flat[0] = np.nan
        outputs["dx"].flat[1] *= np.float16(1.1)
        (wrong,) = report(compiled, fed, outputs).outputs
        assert wrong.errors is not None
        assert (wrong.errors.mismatches, wrong.errors.compared) == (1, 17)
        assert wrong.errors.spreads[ULPS_OF_TERMS].worst > 1
        (misshapen,) = report(compiled, fed, {"dx": outputs["dx"][:, :1]}).outputs
        assert misshapen.errors is None
