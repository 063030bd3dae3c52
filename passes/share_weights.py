"""share-weights: replace a large constant that is a transpose or flip of another one by ops on that.

A gradient multiplies by the transposed weights of its model. onnxruntime folds the ops when it loads a model,
so the file need not contain both, and run time does not change: 180 MB of 3x3 weights take 90 MB, and a fifth
of a second more to load. OpenVINO and tract fold them, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from passes.builder.op_builder import OpBuilder
from passes.builder.rewriting import functions
from passes.targets.target import Target, TargetPass

BYTES_OF_A_NODE = 2**17
"""Bytes of constants that a node has to save."""

WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
"""Unsigned integer types by their size in bytes."""


@dataclass(frozen=True)
class Turn:
    """A Transpose, followed by a flip of the axes from `flipped` on, if not None."""

    perm: tuple[int, ...]
    flipped: int | None = None

    @property
    def nodes(self) -> int:
        return 1 if self.flipped is None else 2

    def of(self, array: np.ndarray) -> np.ndarray:
        turned = array.transpose(self.perm)
        axes = range(array.ndim if self.flipped is None else self.flipped, array.ndim)
        return np.flip(turned, tuple(axes))

    def write(self, value: SSAValue, sizes: Sequence[int], emit: OpBuilder) -> SSAValue:
        turned = emit(onnx.TransposeOp(value, perm=self.perm))
        if self.flipped is None:
            return turned
        axes = range(self.flipped, len(sizes))
        behind = [-sizes[axis] - 1 for axis in axes]
        back = emit.ints([-1] * len(axes))
        return emit(onnx.SliceOp(turned, back, emit.ints(behind), emit.ints([*axes]), back))


@dataclass(frozen=True)
class ShareWeightsPass(TargetPass):
    name = "share-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for block in function.body.blocks:
                share(block, self.env)


def share(block: Block, target: Target) -> None:
    """Replace the constants of a block that are turns of an earlier one."""
    known: dict[object, list[tuple[SSAValue, np.ndarray]]] = {}
    for op in block.ops:
        array = constant_of(op.results[0]) if isinstance(op, onnx.ConstantOp) else None
        if array is None or array.nbytes < BYTES_OF_A_NODE or array.itemsize not in WORDS:
            continue
        alike = known.setdefault(fingerprint(array), [])
        if not any(_replace_by_turn(op, array, *other, target) for other in alike):
            alike.append((op.results[0], array))


def fingerprint(array: np.ndarray) -> object:
    """Return a hash that is equal for arrays of the same elements in any order, and rarely for others."""
    words = array.reshape(-1).view(WORDS[array.itemsize])
    return array.dtype, array.size, int(np.bitwise_xor.reduce(words)), int(words.sum(dtype=np.uint64))


def _replace_by_turn(
    op: Operation, array: np.ndarray, other: SSAValue, given: np.ndarray, target: Target
) -> bool:
    """Replace a constant by a turn of another one; return whether that was possible."""
    for turn in _turns(given.ndim):
        if array.nbytes < turn.nodes * BYTES_OF_A_NODE or not _is_same(turn.of(given), array):
            continue
        emit = OpBuilder()
        value = turn.write(other, array.shape, emit)
        if any(isinstance(new, OnnxOp) and target.lacks_form(new) for new in emit.ops):
            return False
        for new in emit.ops:
            new.location = op.location
        Rewriter.replace_op(op, emit.ops, [value])
        return True
    return False


def _turns(rank: int) -> Iterator[Turn]:
    """Yield the turns of matrices, of batches of them, and of the weights of convolutions."""
    if rank < 2:
        return
    yield Turn((*range(rank - 2), rank - 1, rank - 2))
    if rank > 2:
        swapped = (1, 0, *range(2, rank))
        yield Turn(swapped)
        yield Turn(swapped, 2)


def _is_same(turned: np.ndarray, array: np.ndarray) -> bool:
    """Return whether arrays are equal bit by bit, including NaNs."""
    word = WORDS[array.itemsize]
    return turned.shape == array.shape and np.array_equal(
        np.ascontiguousarray(turned).view(word), np.ascontiguousarray(array).view(word)
    )
