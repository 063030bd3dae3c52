"""Sessions on onnxruntime. Only this module imports onnxruntime, on first use."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from dialects.onnx.opsets import OLDEST as OLDEST_OPSET
from dialects.support.diagnostics import Diagnostic, UnsupportedError, usage, violation
from dialects.support.option_names import option
from gradc.files import writing
from gradc.graph.tensors import TensorInfo, validate_inputs
from gradc.model.split_model import ModelParts
from gradc.model.tensors import input_infos, output_infos
from gradc.runtime.loading import PROVIDERS, check_started, load
from gradc.runtime.refusals import one_line
from gradc.runtime.values import info_of, on_cpu, ort_value, to_numpy
from gradc.util import arguments
from gradc.util.extras import install
from passes import kernel_tables
from passes.targets.spec import spec_of
from passes.targets.target import DEFAULT_OPSET, check_threads

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from gradc.graph.run_time_sizes import DynamicSizes
    from gradc.model.exporter import ModelProto

__all__ = [
    "DEFAULT_OPSET",
    "OLDEST_OPSET",
    "Session",
    "TensorInfo",
    "check_opset",
    "input_infos",
    "newest_opset",
    "newest_released_opset",
    "output_infos",
]

Ep = Literal["cpu", "cuda"]

_FATAL = 4  # onnxruntime's log severity: its errors are raised as exceptions and need no log
_RECORD = "session.record_ep_graph_assignment_info"


def check_opset(opset: int) -> None:
    """Raise UsageError unless gradc can emit the opset and the installed packages support it."""
    newest = newest_opset()
    if not OLDEST_OPSET <= opset <= newest:
        expected = f"{OLDEST_OPSET} to {newest} (the newest that gradc and the installed packages have)"
        raise usage(option("opset"), opset, expected)


def opset_argument(given: Any) -> int | None:
    """Check the argument `opset`; None passes."""
    if given is None:
        return None
    check_opset(opset := arguments.whole_number("opset", given))
    return opset


def threads_argument(given: Any) -> int | None:
    """Check the argument `threads`; None passes."""
    if given is None:
        return None
    check_threads(option("threads"), count := arguments.whole_number("threads", given, 1))
    return count


def ep_argument(given: Any) -> Ep:
    """Check the argument `ep`, an execution provider."""
    return cast("Ep", arguments.one_of("ep", given, tuple(PROVIDERS)))


def newest_opset() -> int:
    """Return the newest opset of gradc's kernel tables and the installed packages."""
    return min(kernel_tables.newest_opset(), newest_released_opset())


@functools.cache
def newest_released_opset() -> int:
    """Return the newest opset of the installed onnx that the installed onnxruntime has released.

    onnxruntime also contains unreleased opsets, and rejects their models unless
    ALLOW_RELEASED_ONNX_OPSET_ONLY=0. It is tested with one tiny model per opset. Without onnxruntime, onnx
    alone decides.
    """
    from gradc.model import exporter  # imports onnx

    candidates = range(exporter.newest_opset(), OLDEST_OPSET - 1, -1)
    try:
        runtime = _onnxruntime()
    except UnsupportedError:
        return candidates[0]
    return next(o for o in candidates if _accepts(runtime, exporter.identity_model(o)))


def _accepts(runtime: Any, model: bytes) -> bool:
    try:
        runtime.InferenceSession(model, _options(runtime, None), providers=[PROVIDERS["cpu"]])
    except Exception:
        return False
    return True


class Session:
    """A model, ready to run; immutable.

    `ep` is the execution provider: `cpu` (default) or `cuda`. On CUDA, f32 products are f32, not TF32.
    `threads` is the number of threads within an op, by default onnxruntime's choice. Weights beyond the size
    of a protobuf message are passed in memory. Inputs of a run are checked against `sizes`, by default those
    embedded in the model. `within` are values of the main graph to return as outputs. Raises UnsupportedError
    if onnxruntime, the provider or a kernel is missing, and GradcError for a missing or invalid file.
    """

    def __init__(
        self,
        model: ModelProto | ModelParts | writing.StrPath,
        *,
        ep: Ep | None = None,
        threads: int | None = None,
        sizes: DynamicSizes | None = None,
        within: Sequence[str] = (),
    ):
        runtime = _onnxruntime()
        provider = _provider(runtime, "cpu" if ep is None else ep)
        threads = threads_argument(threads)
        self._runtime = runtime
        self._weights: dict[str, Any] = {}
        self._session = load(runtime, model, _options(runtime, threads), provider, self._weights, within)
        check_started(self._session, provider)
        self.inputs = tuple(map(info_of, self._session.get_inputs()))
        self.outputs = tuple({o.name: info_of(o) for o in self._session.get_outputs()}.values())
        self.optional = tuple(map(info_of, self._session.get_overridable_initializers()))
        self._sizes = sizes or _embedded_sizes(self._session)

    @property
    def providers(self) -> tuple[str, ...]:
        """The execution providers, in order of preference."""
        return tuple(self._session.get_providers())

    @property
    def graph(self) -> ModuleOp | None:
        """The graph that inputs are checked against, None without one."""
        return None if self._sizes is None else self._sizes.source

    def run(
        self, inputs: Mapping[str, np.ndarray], only: Collection[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Run and return the outputs by name (all or those of `only`), as arrays over onnxruntime's buffers.

        Contiguous inputs are not copied. bfloat16 is ml_dtypes' on both sides; an input may also be numpy's
        `V2`. Raises GradcError naming an input that is missing or does not fit, or the op that does not allow
        its sizes, and for errors of onnxruntime.
        """
        inputs = arguments.arrays("inputs", inputs)
        kept = None if only is None else arguments.names("only", only)
        arrays = self._checked(inputs)
        wanted = [info for info in self.outputs if kept is None or info.name in kept]
        if not wanted:
            return {}
        names = [info.name for info in wanted]
        edge = (*self.inputs, *wanted)
        if not all(info.is_tensor and info.dtype != "string" for info in edge):
            return self._run_containers(arrays, names)
        feeds = {i.name: ort_value(self._runtime, i, arrays[i.name]) for i in self._input_infos(inputs)}
        try:
            values = self._session.run_with_ort_values(names, feeds)
        except Exception as error:
            raise violation(f"onnxruntime cannot run the model: {one_line(error)}") from error
        return {i.name: to_numpy(i, v) for i, v in zip(wanted, values, strict=True)}

    def _run_containers(self, inputs: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """Run with strings or values that are not tensors: sequences are lists, a map is a dict, and an empty
        optional is None."""
        try:
            values = self._session.run(names, inputs)
        except Exception as error:
            raise violation(f"onnxruntime cannot run the model: {one_line(error)}") from error
        return dict(zip(names, values, strict=True))

    def _checked(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        infos = self._input_infos(inputs)
        return (
            validate_inputs(infos, inputs)
            if self._sizes is None
            else self._sizes.inputs_in_model_order(infos, inputs)
        )

    def _input_infos(self, inputs: Mapping[str, np.ndarray]) -> tuple[TensorInfo, ...]:
        """Return the inputs, with those that have a default if they are given."""
        return (*self.inputs, *(info for info in self.optional if info.name in inputs))

    def bound(self, inputs: Mapping[str, np.ndarray]) -> Bound:
        """Bind a run to these inputs, for timing. Raises GradcError as `run` does."""
        arrays = self._checked(arguments.arrays("inputs", inputs))
        device = "cuda" if self.providers[0] == PROVIDERS["cuda"] else "cpu"
        binding = self._session.io_binding()
        for info in self._input_infos(inputs):
            binding.bind_ortvalue_input(info.name, ort_value(self._runtime, info, arrays[info.name], device))
        for info in self.outputs:
            binding.bind_output(info.name, device)
        bound = Bound(self._session, binding, self.outputs)
        try:
            bound()
        except Exception as error:
            raise violation(f"onnxruntime cannot run the model: {one_line(error)}") from error
        for info, value in zip(self.outputs, binding.get_outputs(), strict=True):
            binding.bind_ortvalue_output(info.name, value)
        return bound

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"<gradc.runtime.session.Session {inputs} -> {outputs}; {', '.join(self.providers)}>"

    def placement(self) -> dict[str, str]:
        """Return the execution provider of each node, by the node's name (its op type if it has none).

        This is the graph partitioner's decision, so no run is needed. Folded nodes are absent, fused nodes
        have their new names, and copies between devices are not nodes. Raises UnsupportedError if onnxruntime
        is too old to report it.
        """
        if not hasattr(self._session, "get_provider_graph_assignment_info"):
            version = self._runtime.__version__
            text = f"onnxruntime {version} does not report the placement of nodes; install a newer one"
            raise UnsupportedError(Diagnostic("error", text))
        placed: dict[str, str] = {}
        for part in self._session.get_provider_graph_assignment_info():
            for node in part.get_nodes():
                placed[_unique_name(node.name or node.op_type, placed)] = part.ep_name
        return placed


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound run: inputs and outputs stay on the device between calls.

    Without RunOptions: onnxruntime 1.31 looks there for a WebGPU graph by an exception, 30 to 40 us a run.
    """

    _session: Any
    _binding: Any
    _outputs: tuple[TensorInfo, ...]

    def __call__(self) -> None:
        self._session.run_with_iobinding(self._binding)
        self._binding.synchronize_outputs()

    def results(self) -> dict[str, np.ndarray]:
        """Return copies of the outputs of the last run, by name."""
        values = self._binding.get_outputs()
        pairs = zip(self._outputs, values, strict=True)
        return {info.name: to_numpy(info, on_cpu(value)).copy() for info, value in pairs}


def ep_of(target: str) -> Ep:
    """Return the execution provider for models of a target."""
    return ep_argument(spec_of(target).provider)


def check_provider(ep: str) -> None:
    """Raise UnsupportedError if the installed onnxruntime lacks an execution provider."""
    _provider(_onnxruntime(), ep)


def runtime_version() -> str:
    return _onnxruntime().__version__


def available_providers() -> list[str]:
    """Return the execution providers of the installed onnxruntime build."""
    return list(_onnxruntime().get_available_providers())


def kernels_in_registry(provider: str) -> list[Any]:
    """Return onnxruntime's kernel definitions of the standard domain, from its registry."""
    _onnxruntime()
    state: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    return [k for k in state.get_all_opkernel_def() if k.provider == provider and k.domain in ("", "ai.onnx")]


def ops_in_registry() -> dict[str, list[str]]:
    """Return the ops of each domain, of any version, from onnxruntime's registry."""
    _onnxruntime()
    state: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    found: dict[str, set[str]] = {}
    for schema in state.get_all_operator_schema():
        found.setdefault(schema.domain, set()).add(schema.name)
    return {domain: sorted(names) for domain, names in found.items()}


def _onnxruntime() -> Any:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # otherwise the import leaves files in $HOME and /tmp
    try:
        import onnxruntime
    except ImportError as error:
        text = f"onnxruntime cannot be imported ({error}); {install('cpu')}"
        raise UnsupportedError(Diagnostic("error", text)) from error
    return onnxruntime


def _cuda_hint() -> str:
    why = "onnxruntime and onnxruntime-gpu cannot both be installed"
    return f"pip uninstall onnxruntime, then {install('cuda')} ({why})"


def _provider(runtime: Any, ep: str) -> str:
    provider = PROVIDERS[ep_argument(ep)]
    if provider not in runtime.get_available_providers():
        raise UnsupportedError(
            Diagnostic("error", f"the installed onnxruntime has no {provider}; {_cuda_hint()}")
        )
    return provider


def _options(runtime: Any, threads: int | None) -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = _FATAL
    options.add_session_config_entry(_RECORD, "1")
    if threads is not None:
        options.intra_op_num_threads = threads
    return options


def _embedded_sizes(session: Any) -> DynamicSizes | None:
    carried = session.get_modelmeta().custom_metadata_map
    if not carried:
        return None
    from gradc.runtime.embedded_graph import sizes_of

    return sizes_of(carried)


def _unique_name(name: str, taken: Mapping[str, str]) -> str:
    count, candidate = 0, name
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    return candidate
