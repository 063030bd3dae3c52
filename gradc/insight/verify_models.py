"""Hold a compiled model against the model that it was compiled from, both on onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from dialects.onnx.ops import ConstantOp
from dialects.support import entry
from dialects.support.dtypes import of_numpy
from gradc.checking.verify import RTOL, OutputError, compare
from gradc.compiler.compiled import Compiled
from gradc.runtime.session import Session, ep_of


@dataclass(frozen=True)
class ModelError(OutputError):
    """How far an output is from that of the model as it was given."""

    identical: bool = False

    @property
    def verdict(self) -> str:
        return "ok, identical" if self.identical else super().verdict


def verify(
    compiled: Compiled,
    path: str | os.PathLike[str],
    inputs: Mapping[str, Any],
    rtol: float | None = None,
    ep: Any = None,
    threads: int | None = None,
) -> list[ModelError]:
    """A row per output. The bound grows with the ops in a row, since each may round in another order."""
    provider = ep_of(compiled.options.target) if ep is None else ep
    expected = Session(path, ep=provider, threads=threads).run(inputs)
    return against(expected, compiled, compiled.run(inputs, ep, threads), rtol)


def against(
    expected: Mapping[str, Any], compiled: Compiled, found: Mapping[str, Any], rtol: float | None = None
) -> list[ModelError]:
    """A row per output of the model as it was given."""
    ops = depth(compiled.source)
    placed = dict(zip(expected, found.values(), strict=False))  # an input that is a result has another name
    return [_row(name, found.get(name, placed[name]), want, rtol, ops) for name, want in expected.items()]


def depth(module: ModuleOp) -> int:
    """The most ops in a row."""
    known: dict[SSAValue, int] = {}
    for op in entry.entry_function(module).body.block.ops:
        before = max((known.get(operand, 0) for operand in op.operands), default=0)
        known.update(dict.fromkeys(op.results, before + (not isinstance(op, ConstantOp))))
    return max(known.values(), default=0)


def _row(name: str, got: Any, want: Any, rtol: float | None, ops: int) -> ModelError:
    dtype = of_numpy(want.dtype) if isinstance(want, np.ndarray) else None
    if dtype is None or (dtype.numpy.kind not in "fiub" and dtype.name not in RTOL):
        return _alike(name, got, want, dtype.name if dtype else type(want).__name__)
    bound = RTOL.get(dtype.name, 0.0) * max(ops, 1) if rtol is None else rtol
    return ModelError(**vars(compare(name, got, want, bound)), identical=is_same(got, want))


def _alike(name: str, got: Any, want: Any, kind: str) -> ModelError:
    """Of strings and containers: the same, or not."""
    same = is_same(got, want)
    error = 0.0 if same else np.inf
    shape = want.shape if isinstance(want, np.ndarray) else ()
    return ModelError(name, kind, shape, error, error, 0.0, identical=same)


def is_same(a: Any, b: Any) -> bool:
    """Whether two results are the same to the last bit; a NaN is as good as another."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_same, a, b))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a == b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.hasobject or a.dtype.kind in "OU":
        return a.tolist() == b.tolist()
    return a.tobytes() == b.tobytes() or (a.dtype.kind in "fc" and np.array_equal(a, b, equal_nan=True))
