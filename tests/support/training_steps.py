"""Training steps of given gradients: a module whose results are its inputs, with an optimizer behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.parser import Parser

import dialects
import gradc
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import tensor_type
from gradc.training.reference import train_step
from passes.training.write_optimizer import WriteOptimizerPass

Arrays = dict[str, np.ndarray]


def module_of(types: Mapping[str, TensorType]) -> ModuleOp:
    """Return a function that returns the inputs `g.<name>` as `grad_<name>`."""
    names = [*types, *(f"g.{name}" for name in types)]
    arguments = ", ".join(
        f'%a{i} : {types[name.removeprefix("g.")]} {{gradc.name = "{name}"}}' for i, name in enumerate(names)
    )
    results = ", ".join(f'{type_} {{gradc.name = "grad_{name}"}}' for name, type_ in types.items())
    values = ", ".join(f"%a{len(types) + i}" for i in range(len(types)))
    listed = ", ".join(map(str, types.values()))
    text = f"func.func @main({arguments}) -> ({results}) {{ func.return {values} : {listed} }}"
    module = Parser(dialects.context(), text).parse_module()
    module.verify()
    return module


def types_of(arrays: Mapping[str, np.ndarray]) -> dict[str, TensorType]:
    return {name: tensor_type(known_dtype(a.dtype).mlir, a.shape) for name, a in arrays.items()}


def draw(
    shapes: Mapping[str, tuple[int, ...]], dtypes: Sequence[Any], steps: int
) -> tuple[Arrays, list[Arrays]]:
    """Return parameters `<shape name>.<dtype>`, and the gradients of each step."""
    rng = np.random.default_rng(0)
    start, *gradients = [
        {
            f"{name}.{np.dtype(dtype).name}": rng.normal(size=shape).astype(dtype)
            for dtype in dtypes
            for name, shape in shapes.items()
        }
        for _ in range(1 + steps)
    ]
    return start, gradients


class Steps:
    """A compiled step, and the values that it has computed so far."""

    def __init__(self, parameters: Arrays, optimizer: Any, **options: Any):
        self.types, self.optimizer, self.options = types_of(parameters), optimizer, options
        own = WriteOptimizerPass({name: f"grad_{name}" for name in parameters}, optimizer, **options)
        module = module_of(self.types)
        own.apply(Context(), module)
        module.verify()
        self.compiled = gradc.compile(module)
        self.updates, self.states = own.updates(self.types), own.states(self.types)
        self.values = {**parameters, **own.initial(parameters)}
        self.inputs = [one.name for one in self.compiled.model.graph.input]

    def run(self, gradients: Arrays, lr: float, step: int) -> Arrays:
        """Run one step; return the parameters and states after it."""
        given = {**self.values, **{f"g.{name}": array for name, array in gradients.items()}}
        given |= {"lr": np.array(lr, np.float32), "step": np.array(step)}
        found = self.compiled.run({name: given[name] for name in self.inputs})
        self.values = {name: found[new] for name, new in self.updates.items()}
        return self.values

    def run_all(self, gradients: Sequence[Arrays], lr: float) -> Arrays:
        for index, one in enumerate(gradients):
            self.run(one, lr, index + 1)
        return self.values

    def reference(self, gradients: Sequence[Arrays], lr: float) -> tuple[Arrays, dict[str, float]]:
        """Return what the numpy reference computes from the present values, and the largest change of each
        parameter in a step."""
        options = {"optimizer": self.optimizer, **self.options, "lr": self.options.get("lr") or lr}
        parameters = {name: self.values[name].astype(np.float64) for name in self.types}
        states = {name: value for name, value in self.values.items() if name not in parameters}
        moves = dict.fromkeys(parameters, 0.0)
        for index, one in enumerate(gradients):
            before = parameters
            parameters, states = train_step(parameters, one, states, step=index + 1, **options)
            for name, value in parameters.items():
                moves[name] = float(np.abs(value - before[name]).max(initial=moves[name]))
        return {**parameters, **states}, moves

    def check(self, gradients: Sequence[Arrays], lr: float) -> None:
        """Run all steps and compare with the numpy reference.

        A step rounds the parameter once, and its change in some 8 operations; a state as often.
        """
        expected, moves = self.reference(gradients, lr)
        found = self.run_all(gradients, lr)
        assert found.keys() == expected.keys()
        for name, value in found.items():
            of = name if name in moves else max((n for n in moves if name.startswith(f"{n}.")), key=len)
            eps = _eps(self.values[of].dtype)
            largest = np.abs(expected[name]).max(initial=1)
            atol = len(gradients) * eps * (largest + 8 * (moves[of] if name in moves else largest))
            if name in moves and value.dtype.itemsize == 2:
                atol += float(largest) * 2**-8 if value.dtype != np.float16 else float(largest) * 2**-11
            np.testing.assert_allclose(
                value.astype(np.float64), expected[name], rtol=0, atol=atol, err_msg=name
            )


def _eps(dtype: np.dtype) -> float:
    return float(np.finfo(np.float64 if dtype == np.float64 else np.float32).eps)
