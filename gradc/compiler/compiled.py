"""A compiled graph: the model, with saving, running and display."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp

from dialects.support import dense, entry
from dialects.support.diagnostics import (
    Diagnostic,
)
from dialects.support.limits import using
from dialects.support.module_pickle import flatten, unflatten
from gradc.compiler.model_edits import digest, report_edits
from gradc.compiler.options import Options
from gradc.compiler.source_errors import report_opaque_nodes
from gradc.crash_reports import crash
from gradc.crash_reports.recipes import SESSION, Recipe
from gradc.graph.printing import module_text
from gradc.graph.run_time_sizes import DynamicSizes
from gradc.graph.tensors import TensorInfo
from gradc.model.tensors import input_infos, optional_infos, output_infos
from gradc.util import arguments
from gradc.verification.proof import Proof

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto
    from gradc.model.split_model import ModelParts
    from gradc.runtime.other_runtimes import OtherSession
    from gradc.runtime.session import Ep, Session


@dataclass(frozen=True)
class Derivative:
    """A result that is a derivative.

    result: its name. kind: grad, jvp, hvp, ggnvp, jacobian ... of, wrt: what is differentiated, by what;
    twice by `wrt` for a second derivative.
    """

    result: str
    kind: str
    of: tuple[str, ...]
    wrt: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        return {"result": self.result, "kind": self.kind, "of": list(self.of), "wrt": list(self.wrt)}


@dataclass(frozen=True, eq=False, repr=False)
class Compiled:
    """A compiled graph: `model` is the ONNX model, `remarks` are the compiler's remarks."""

    parts: ModelParts
    """The compiled model, with its weights outside of the message."""

    remarks: tuple[Diagnostic, ...]
    """The compiler's remarks."""

    source: ModuleOp
    """The source module with constants bound, which defines the expected outputs."""

    module: ModuleOp
    """The module of ONNX ops that was exported."""

    options: Options

    gradients: Mapping[str, str] = field(default_factory=dict)
    """For a gradient: name of each differentiated input or value -> name of the result."""

    cotangents: Mapping[str, str] = field(default_factory=dict)
    """For a gradient: name of each differentiated output -> name of its cotangent input."""

    derivatives: tuple[Derivative, ...] = ()
    """The results that are derivatives, each with what is differentiated by what."""

    proof: Proof | None = None
    """For a gradient: the outcome of its check."""

    @cached_property
    def model(self) -> ModelProto:
        """The model as one message with a copy of the weights; changes to it are saved and run. New elements
        of weights beyond 1 kB are run only if the model was not run before."""
        return self.parts.whole()

    @property
    def _now(self) -> ModelParts | ModelProto:
        """The model with the changes made to `model`, if any."""
        return self.__dict__.get("model", self.parts)

    @property
    def proto(self) -> ModelProto:
        """The model, possibly without the contents of its weights."""
        return self.__dict__.get("model", self.parts.proto)

    @cached_property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Name, dtype and shape of each input, in order."""
        return tuple(input_infos(self.proto))

    @cached_property
    def optional_inputs(self) -> tuple[TensorInfo, ...]:
        """The inputs with a default value: weights that have a gradient."""
        return tuple(optional_infos(self.proto))

    @cached_property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Name, dtype and shape of each output, in order."""
        return tuple(output_infos(self.proto))

    @cached_property
    def dropped_inputs(self) -> tuple[str, ...]:
        """The unused inputs of the graph that the model does not have."""
        kept = {info.name for info in (*self.inputs, *self.optional_inputs)}
        names = entry.input_names(entry.entry_function(self.source))
        return tuple(name for name in names if name not in kept)

    @cached_property
    def weights(self) -> Mapping[str, np.ndarray]:
        """Initial values of the inputs that are weights, by name; they are read-only."""
        found = {name: dense.to_numpy(value) for name, value in self._defaults.items()}
        for array in found.values():
            array.flags.writeable = False
        return MappingProxyType(found)

    @property
    def required_weights(self) -> Mapping[str, np.ndarray]:
        """Initial values of the weights that have no default in the model."""
        return {info.name: self.weights[info.name] for info in self.inputs if info.name in self._defaults}

    @cached_property
    def _defaults(self) -> Mapping[str, DenseIntOrFPElementsAttr]:
        return entry.defaults(entry.entry_function(self.module))

    def save(self, path: str | os.PathLike[str], external_data: bool = False) -> None:
        """Write the model atomically. Weights beyond 2 GB, or with `external_data` all that are not small, go
        to a `.data` file next to it; initial values of weights without a default to
        `<path>.weights.safetensors`."""
        self.save_as(path, external_data)
        if stale := self.stale_weights(path):
            warn(f"{stale} is of an earlier model", stacklevel=2)

    def stale_weights(self, path: str | os.PathLike[str]) -> str:
        """Return the file of initial weights that another model left next to `path`, or ''."""
        from gradc.model.saving import stale_weights

        return "" if self.required_weights else stale_weights(path)

    def save_as(self, path: str | os.PathLike[str], external_data: bool) -> str:
        """Save the model; return the name of its data file, or ''."""
        from gradc.model.saving import save_model

        limit = {"limit": 0} if arguments.flag("external_data", external_data) else {}
        with self._report_edits():
            return save_model(self._now, arguments.path("path", path), **limit, initial=self.required_weights)

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        ep: Ep | None = None,
        threads: int | None = None,
        runtime: str | None = None,
    ) -> dict[str, np.ndarray]:
        """Run the model; return the outputs by name. bfloat16 is ml_dtypes' type.

        `inputs` may contain dropped inputs. `runtime` is `onnxruntime` (default), `openvino` or `tract`.
        `ep` is onnxruntime's execution provider, by default the target's; `threads` defaults to the number
        compiled for. Raises GradcError for sizes that the graph cannot have, and UnsupportedError for a
        runtime that is not installed.
        """
        session = self.session_on(runtime, ep, threads)
        return session.run(self._read(arguments.arrays("inputs", inputs)))

    def _read(self, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the inputs without the dropped ones."""
        return {name: array for name, array in given.items() if name not in self.dropped_inputs}

    def reference(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Evaluate the source with numpy, exactly and slowly; return the expected outputs by name."""
        from gradc.verification.samples import check_runnable
        from gradc.verification.verify import inputs_in_order, reference

        function = entry.entry_function(self.source)
        with using(self.options.limits):
            check_runnable(self.source)
            given = arguments.arrays("inputs", inputs)
            fed = (*self.inputs, *(info for info in self.optional_inputs if info.name in given))
            self._sizes.inputs_in_model_order(fed, self._read(given))
            arrays = inputs_in_order(self.source, self.inputs, given)
            self._sizes.check(dict(zip(entry.input_names(function), arrays, strict=True)))
            expected = reference(self.source, arrays)
        return dict(zip(entry.output_names(function), expected, strict=True))

    def session(self, ep: Ep | None = None, threads: int | None = None) -> Session:
        """Return the onnxruntime session of `run`, cached per provider and thread count until `model`
        changes."""
        from gradc.runtime.refusals import report_old_runtime
        from gradc.runtime.session import Session, ep_argument, ep_of, runtime_version, threads_argument
        from gradc.verification.samples import check_runnable

        with using(self.options.limits):
            check_runnable(self.module)
        provider = ep_of(self.options.target) if ep is None else ep_argument(ep)
        count = threads_argument(threads) or self.options.resolve_target().threads
        key, now = (provider, count), self._digest
        made, session = self._sessions.get(key, (None, None))
        if session is None or made != now:
            options = asdict(self.options) | {"threads": count}
            recipe = Recipe(SESSION, "onnxruntime, which refuses the model", options=options, ep=provider)
            written = crash.reproducer(recipe, lambda: module_text(self.module))
            old = report_old_runtime(runtime_version())
            with self._report_edits(), written, old, report_opaque_nodes(self.module):
                session = Session(self._now, ep=provider, threads=count, sizes=self._sizes)
            self._sessions[key] = now, session
        return session

    def session_on(
        self, runtime: str | None, ep: Ep | None = None, threads: int | None = None
    ) -> Session | OtherSession:
        """Return the session of `run` on a runtime."""
        from gradc.runtime.other_runtimes import SESSIONS, check_runtime, runtime_argument
        from gradc.runtime.session import threads_argument

        runtime = runtime_argument(runtime)
        if runtime not in SESSIONS:
            return self.session(ep, threads)
        check_runtime(runtime, ep)
        count = threads_argument(threads) or self.options.resolve_target().threads
        key, now = (runtime, count), self._digest
        made, session = self._other_sessions.get(key, (None, None))
        if session is None or made != now:
            session = SESSIONS[runtime](self._now, count, self._sizes)
            self._other_sessions[key] = now, session
        return session

    def __repr__(self) -> str:
        edge = f"{', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}"
        target = self.options.resolve_target()
        count = len(self.proto.graph.node)
        nodes = "1 node" if count == 1 else f"{count} nodes"
        return f"<gradc.Compiled {edge}; {nodes}, {target.name}, opset {target.opset}>"

    def _repr_html_(self) -> str:
        from gradc.drawing.notebook import html_of_compiled

        return html_of_compiled(
            self.module, self.inputs, self.outputs, self.options.resolve_target(), self.remarks
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields and a changed model, without sessions."""
        state = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        changed = {"model": self.model} if "model" in self.__dict__ else {}
        return state | changed | {"source": flatten(self.source), "module": flatten(self.module)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        modules = {name: unflatten(state[name]) for name in ("source", "module")}
        self.__dict__.update(state | modules)

    def _report_edits(self) -> AbstractContextManager[None]:
        return report_edits(self.__dict__.get("model"), self.module, self.options.resolve_target().opset)

    @property
    def _digest(self) -> bytes:
        """The digest of the current model."""
        return digest(self.model, self.parts.weights) if "model" in self.__dict__ else self._original_digest

    @cached_property
    def _original_digest(self) -> bytes:
        return digest(self.parts.proto, self.parts.weights)

    @cached_property
    def _sizes(self) -> DynamicSizes:
        return DynamicSizes(self.source, self.options.strict, self.options.limits)

    @cached_property
    def _other_sessions(self) -> dict[tuple[str, int], tuple[bytes, OtherSession]]:
        return {}

    @cached_property
    def _sessions(self) -> dict[tuple[str, int], tuple[bytes, Session]]:
        return {}
