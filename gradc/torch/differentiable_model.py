"""A model with a session and its VJPs, both created when they are first needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dialects.support import entry
from dialects.support.diagnostics import suggest
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.derivatives.derivation import store_weights
from gradc.derivatives.gradient import vjp
from gradc.derivatives.request import REQUIRED
from gradc.derivatives.results import set_results_of
from gradc.model.exporter import ModelProto
from gradc.runtime.session import Session
from gradc.training.options import TRAINABLE
from gradc.util import arguments
from passes.autodiff.named_values import values_by_name
from passes.training.weights_as_inputs import weights_as_inputs

FLOATS = ("f32", "f64", "f16", "bf16")


@dataclass
class DifferentiableModel:
    """A model that runs and is differentiated.

    inputs, outputs: names in the order of the arguments and results of a run; the model may lack an input
    that nothing reads. floats: the outputs with a derivative.
    """

    model: ModelProto
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    floats: tuple[str, ...]
    check: bool | None = None
    vjps: dict[tuple[int, ...], DifferentiableModel] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, compiled: Compiled, check: bool | None) -> DifferentiableModel:
        """Return the model of a compiled graph."""
        inputs = tuple(info.name for info in compiled.inputs)
        outputs = tuple(info.name for info in compiled.outputs)
        floats = tuple(info.name for info in compiled.outputs if info.dtype in FLOATS)
        return cls(compiled.model, inputs, outputs, floats, check)

    @cached_property
    def session(self) -> Session:
        """The model on onnxruntime."""
        return Session(self.model)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the session, which cannot be copied or pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "session"}

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the model."""
        known = {info.name for info in self.session.inputs}
        return self.session.run({name: array for name, array in inputs.items() if name in known})

    def vjp(self, needed: tuple[int, ...]) -> DifferentiableModel:
        """Return the model of the gradients of some inputs. It takes the inputs, then a cotangent for each
        float output."""
        if needed not in self.vjps:
            wrt = [self.inputs[index] for index in needed]
            found = vjp(self.model, wrt=wrt, of=list(self.floats), allow_unused=True, check=self.check)
            inputs = (*self.inputs, *(found.cotangents[name] for name in self.floats))
            gradients = tuple(found.gradients[name] for name in wrt)
            self.vjps[needed] = DifferentiableModel(found.model, inputs, gradients, gradients, self.check)
        return self.vjps[needed]


def forward_model(
    source: Any, is_trainable: bool, features: Iterable[str], check: bool | None
) -> tuple[DifferentiableModel, Mapping[str, np.ndarray]]:
    """Return a model and its trainable weights. They are its last inputs, the features its last outputs."""
    given = source.model if isinstance(source, Compiled) else source
    module = load(given, for_gradients=())
    function = entry.entry_function(module)
    outputs, values = entry.output_names(function), values_by_name(function)
    for name in features:
        if name not in values:
            raise arguments.invalid("features", name, "a value of the model", suggest(name, values))
    set_results_of(function, {name: values[name] for name in dict.fromkeys((*outputs, *features))})
    weights_as_inputs(function, _trainable_weights(given) if is_trainable else ())
    compiled = store_weights(compile_module(module, Options()), REQUIRED)
    return DifferentiableModel.of(compiled, check), compiled.weights


def _trainable_weights(source: Any) -> list[str]:
    probe = vjp(source, wrt=TRAINABLE, weights=REQUIRED, allow_unused=True, check=False)
    return list(probe.weights)
