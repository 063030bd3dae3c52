"""One op that is off is found and named, however many others follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cli import run_gradc
from support.outputs import verify_outputs

import gradc
from dialects.onnx import ops as onnx
from dialects.support.dtypes import of_mlir
from dialects.support.shapes import element_type_of, shape_of
from gradc.inspection import verify_ops
from gradc.inspection.verify_ops import MOST_AT_ONCE, OpError
from gradc.reduction.faults import Mismatch
from gradc.verification.samples import random_inputs
from gradc.verification.verify import RTOL
from passes.builder.rewrite_cache import templates
from passes.strategies import base

CHANNELS = 7
"""Of no other test: what is remembered of strategies is remembered for good."""


def chain(length: int, dtype: str, odd: int | None = None, dst: Any = (1, CHANNELS, 4, 4)) -> gradc.Graph:
    """Gradients of 3x3 convolutions; that of number `odd` is of a 1x3 one."""
    g = gradc.Graph()
    value = g.input("dy", dtype, dst)
    random = np.random.default_rng(0)
    numpy = np.float16 if dtype == "f16" else np.float32
    for index in range(length):
        rows = 1 if index == odd else 3
        weights = random.standard_normal((CHANNELS, CHANNELS, rows, 3)) / (3 * rows * CHANNELS) ** 0.5
        value = g.convolution_backward_data(
            value,
            g.constant(weights.astype(numpy)),
            dst,
            strides=[1, 1],
            pads_begin=[rows // 2, 1],
            pads_end=[rows // 2, 1],
            dilations=[1, 1],
            data_format="NCX",
            weights_format="OIX",
            name=f"op{index}",
        )
    g.output(value, "dx")
    return g


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch):
    """Whatever writes the gradient of a kernel of 1x3 is 1 % off."""
    write = base.Strategy.write

    def off(self: base.Strategy, op: Any, target: Any, emit: Any):
        values = write(self, op, target, emit)
        if shape_of(op.operands[1])[2:] != (1, 3):
            return values
        (value,) = values
        dtype = of_mlir(element_type_of(value))
        assert dtype is not None
        return [emit(onnx.MulOp(value, emit.constant(np.array(1.01, dtype.numpy))))]

    monkeypatch.setattr(base, "_written", templates())
    monkeypatch.setattr(base.Strategy, "write", off)


def rows_of(compiled: gradc.Compiled) -> tuple[bool, list[OpError]]:
    """Whether the whole of it passes, and the rows of ops."""
    fed = random_inputs(compiled.source, 0)
    outputs = compiled.run(fed)
    rows = verify_ops.verify(compiled, fed, outputs)
    whole = [row for row in rows if not isinstance(row, OpError)]
    assert whole == verify_outputs(compiled.source, compiled.inputs, fed, outputs)
    return all(row.ok for row in whole), [row for row in rows if isinstance(row, OpError)]


@pytest.mark.usefixtures("faulty")
class TestFault:
    def test_of_a_percent_in_a_deep_graph(self):
        """The bound of the whole is 14 units in the last place of f16, 1.4 %."""
        whole, ops = rows_of(gradc.compile(chain(14, "f16", odd=5)))
        assert whole
        assert [(row.name, row.ok) for row in ops] == [('ConvolutionBackwardData "op5"', False)]
        assert ops[0].place.startswith(f"{__file__}:")
        assert 0.008 < ops[0].worst < 0.012
        assert ops[0].strategy

    def test_in_a_graph_that_is_not_deep(self):
        """Where the whole is off, the op is named."""
        whole, ops = rows_of(gradc.compile(chain(3, "f32", odd=1)))
        assert not whole
        assert [row.name for row in ops if not row.ok] == ['ConvolutionBackwardData "op1"']

    def test_with_sizes_that_only_run_time_knows(self):
        whole, ops = rows_of(gradc.compile(chain(14, "f16", odd=5, dst=("N", CHANNELS, 4, 4))))
        assert whole
        assert [row.name for row in ops if not row.ok] == ['ConvolutionBackwardData "op5"']

    def test_on_the_command_line(self, tmp_path: Path):
        path = tmp_path / "graph.mlir"
        chain(14, "f16", odd=5).save(path)
        ended = run_gradc("verify", path)
        assert ended.code == 1
        whole, ops = ended.out.split("\n\n")
        assert whole.endswith("ok")
        assert 'ConvolutionBackwardData "op5"' in ops
        assert "FAILED (conv-" in ops
        rows = json.loads(run_gradc("verify", path, "--json").out)
        assert [(row["ok"], row["op"] is None) for row in rows] == [(True, True), (False, False)]
        assert rows[1]["op"]["strategy"].startswith("conv-")

    def test_is_reduced_to_the_op(self):
        compiled = gradc.compile(chain(14, "f16", odd=5))
        assert Mismatch(compiled.options, 0, None, "").holds(chain(14, "f16", odd=5).module())

    @pytest.mark.heavy
    def test_behind_a_thousand(self):
        """The bound of the whole is 3 %."""
        whole, ops = rows_of(gradc.compile(chain(1000, "f32", odd=400)))
        assert whole
        assert [row.name for row in ops] == ['ConvolutionBackwardData "op400"']


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_right_ones_pass(dtype: str):
    whole, ops = rows_of(gradc.compile(chain(12, dtype, odd=5)))
    assert whole
    (worst,) = ops
    assert worst.ok
    assert worst.rtol == RTOL[dtype]


def test_few_ops_are_held_to_as_a_whole():
    for length, looked_at in ((MOST_AT_ONCE, 0), (MOST_AT_ONCE + 1, 1)):
        assert len(rows_of(gradc.compile(chain(length, "f32")))[1]) == looked_at


def test_a_bound_of_the_users_is_of_outputs():
    compiled = gradc.compile(chain(12, "f32"))
    fed = random_inputs(compiled.source, 0)
    assert len(verify_ops.verify(compiled, fed, compiled.run(fed), rtol=1e-3)) == 1


def test_ops_that_are_alike_are_compiled_once(monkeypatch: pytest.MonkeyPatch):
    g = gradc.Graph()
    value, w = g.input("dy", "f32", [1, 3, 6, 6]), g.input("w", "f32", [3, 3, 3, 3])
    names = ("strides", "pads_begin", "pads_end", "dilations")
    window: dict[str, Any] = {name: [1, 1] for name in names}
    for _ in range(20):
        value = g.convolution_backward_data(
            value, w, [1, 3, 6, 6], **window, data_format="NCX", weights_format="OIX"
        )
    g.output(value)
    compiled, calls = gradc.compile(g), []
    compile_module = verify_ops.compile_module
    monkeypatch.setattr(
        verify_ops, "compile_module", lambda *given: calls.append(1) or compile_module(*given)
    )
    assert rows_of(compiled)[0]
    assert len(calls) == 1


def test_ops_of_large_weights_are_not_kept(monkeypatch: pytest.MonkeyPatch):
    compiled, kept = gradc.compile(chain(12, "f32")), list[int]()
    fed = random_inputs(compiled.source, 0)
    error = verify_ops._Ops._error

    def counted(self: verify_ops._Ops, *given: Any) -> OpError:
        kept.append(len(self._kept))
        return error(self, *given)

    monkeypatch.setattr(verify_ops._Ops, "_error", counted)
    verify_ops.verify(compiled, fed, compiled.run(fed))
    assert kept == list(range(1, 13))
    monkeypatch.setattr(verify_ops, "KEPT_BYTES", 100)
    verify_ops.verify(compiled, fed, compiled.run(fed))
    assert kept[12:] == [0] * 12


def test_what_overflows_within_is_told():
    """The reference of a half type stores inf between ops, where the model need not."""
    compiled = gradc.compile(chain(12, "f16"))
    drawn = random_inputs(compiled.source, 0)
    fed = {name: np.full_like(array, 60000) for name, array in drawn.items()}
    rows = verify_ops.verify(compiled, fed, compiled.run(fed))
    assert all(row.ok for row in rows)
    assert any("inf or NaN" in row.verdict for row in rows)
