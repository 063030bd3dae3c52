"""Training steps of given gradients: a module whose results are its inputs, with an optimizer behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnxruntime import InferenceSession
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.parser import Parser

import dialects
import gradc
from dialects.support.dtypes import known_dtype
from dialects.support.shapes import tensor_type
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


class Steps:
    """A compiled step, and what it has computed so far."""

    def __init__(self, parameters: Arrays, optimizer: Any, **options: Any):
        types = self.types = types_of(parameters)
        own = WriteOptimizerPass({name: f"grad_{name}" for name in parameters}, optimizer, **options)
        module = module_of(types)
        own.apply(Context(), module)
        module.verify()
        self.compiled = gradc.compile(module)
        self.session = InferenceSession(self.compiled.model.SerializeToString())
        self.updates = own.updates(types)
        self.values = {**parameters, **own.initial(parameters)}
        self.inputs = [one.name for one in self.session.get_inputs()]

    def run(self, gradients: Arrays, lr: float, step: int) -> Arrays:
        """Run one step; return the parameters and states after it."""
        given = {**self.values, **{f"g.{name}": array for name, array in gradients.items()}}
        given |= {"lr": np.array(lr, np.float32), "step": np.array(step)}
        names = list(self.updates.values())
        found = self.session.run(names, {name: given[name] for name in self.inputs})
        self.values = dict(zip(self.updates, map(np.asarray, found), strict=True))
        return self.values

    def run_all(self, gradients: Sequence[Arrays], lr: float) -> Arrays:
        for index, one in enumerate(gradients):
            self.run(one, lr, index + 1)
        return self.values
