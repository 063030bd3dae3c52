"""Small models to time: ONNX ops on run-time inputs."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from dialects.support.entry import update_function_type
from dialects.support.shapes import tensor_type
from gradc.problems import OPS, Problem
from passes.builder.op_builder import OpBuilder
from passes.cost import features_of
from passes.cost.vector import Features
from passes.strategies import strategies_of
from passes.strategies.base import Strategy
from passes.targets.target import DEFAULT_OPSET, Target

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto

RUN = "run"
"""Feature of the overhead of a run."""

Build = Callable[[OpBuilder, Sequence[SSAValue]], SSAValue]


class Model(ABC):
    """`kind` groups models for reports; `name` is unique within its kind."""

    @property
    @abstractmethod
    def kind(self) -> str: ...

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    def label(self) -> str:
        """Unique label of the model, the key of its measurement."""
        return f"{self.kind} {self.name} {self.facts.digest}"

    @cached_property
    def facts(self) -> Facts:
        """Features and digest only; the ops of thousands of models would not fit in memory."""
        return facts(self.written())

    @abstractmethod
    def written(self) -> BuiltOps:
        """Return the ops."""

    @abstractmethod
    def proto(self) -> ModelProto: ...

    @abstractmethod
    def feeds(self) -> list[np.ndarray]:
        """Return random inputs, in order."""


@dataclass(frozen=True)
class BuiltOps:
    """Ops and their results. `owner` keeps alive the values that the ops use."""

    ops: list[Operation]
    results: Sequence[SSAValue]
    owner: object


@dataclass(frozen=True)
class Facts:
    """Cost features of the ops, and a digest that identifies them."""

    features: Features
    digest: str


def facts(written: BuiltOps) -> Facts:
    """Compute the facts; constants enter the digest by their types."""
    lines = [f"{op.name} {op.operand_types} {op.result_types} {_attributes(op)}" for op in written.ops]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
    return Facts(features_of(written.ops, written.results) | {RUN: 1.0}, digest)


def _attributes(op: Operation) -> str:
    if op.name == "onnx.Constant":
        return ""
    return " ".join(f"{name}={value}" for name, value in sorted(op.properties.items()))


@dataclass(frozen=True)
class NodeModel(Model):
    """A model that `build` creates on f32 inputs of these shapes."""

    of: str
    called: str
    shapes: tuple[tuple[int, ...], ...]
    build: Build

    @property
    def kind(self) -> str:
        return self.of

    @property
    def name(self) -> str:
        return self.called

    def written(self) -> BuiltOps:
        block = Block(arg_types=[tensor_type(f32, shape) for shape in self.shapes])
        emit = OpBuilder()
        return BuiltOps(emit.ops, [self.build(emit, block.args)], block)

    def proto(self) -> ModelProto:
        from gradc.model.exporter import export

        block = Block(arg_types=[tensor_type(f32, shape) for shape in self.shapes])
        emit = OpBuilder()
        result = self.build(emit, block.args)
        block.add_ops([*emit.ops, ReturnOp(result)])
        function = FuncOp("main", ([], []), Region(block))
        update_function_type(function)
        return export(ModuleOp([function]), opset=DEFAULT_OPSET, metadata={})

    def feeds(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        return [rng.standard_normal(shape).astype(np.float32) for shape in self.shapes]


@dataclass(frozen=True)
class CandidateModel(Model):
    """A problem lowered with a strategy."""

    problem: Problem
    strategy: Strategy
    target: Target

    @property
    def kind(self) -> str:
        return self.strategy.name

    @property
    def name(self) -> str:
        return str(self.problem)

    def written(self) -> BuiltOps:
        module = self.problem.module()
        emit = OpBuilder()
        results = self.strategy.write(canonical_op(module), self.target, emit)
        return BuiltOps(emit.ops, results, module)

    def proto(self) -> ModelProto:
        from gradc.compiler.driver import compile_module
        from gradc.compiler.options import Options

        target = self.target
        options = Options(target.name, target.opset, self.strategy.name, threads=target.threads)
        return compile_module(self.problem.module(), options).model

    def feeds(self) -> list[np.ndarray]:
        return list(self.problem.feeds().values())


def canonical_op(module: ModuleOp) -> Operation:
    (op,) = (op for op in module.walk() if type(op) in OPS)
    return op


def candidates(problem: Problem, target: Target) -> Iterator[CandidateModel]:
    """Yield a model for every strategy that applies to the problem."""
    module = problem.module()
    op = canonical_op(module)
    for strategy in strategies_of(op):
        if strategy.refusal(op, target) is None:
            yield CandidateModel(problem, strategy, target)
