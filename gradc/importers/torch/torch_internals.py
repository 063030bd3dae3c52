"""All private interfaces of torch that the capture uses, with the versions in which they were tried.

| interface | versions |
|---|---|
| `torch._subclasses.fake_tensor.FakeTensorMode`, `FakeTensor` | 2.8 to 2.14 |
| `torch._decomp.core_aten_decompositions` | 2.8 to 2.14 |
| `OpOverload._schema`, `.tags`, `.decompose`, `._can_decompose` | 2.8 to 2.14 |
| `torch.compiler.is_compiling` and `capturable`, as torch.optim reads them | 2.8 to 2.14 |
| `torch.utils._python_dispatch._disable_current_modes`, `UntypedStorage._cdata` | 2.8 to 2.14 |
| `torch.autograd.grad_mode._force_original_view_tracking` | 2.8 to 2.14 |
| `torch.set_anomaly_enabled`, as `detect_anomaly` reads it; `torch._weight_norm` | 2.8 to 2.14 |
| `torch.nn.modules.batchnorm._BatchNorm.forward`, with `momentum=None` | 2.8, 2.14 |
| `aten._ctc_loss.Tensor`, `_ctc_loss_backward.Tensor`, which `ctc_loss` calls for fake tensors | 2.8, 2.14 |
| `torch.autograd.has_torch_function`, as `torch.autograd.grad` and `backward` read it | 2.8, 2.14 |
| `torch.lstm`, `gru`, `rnn_tanh`, `rnn_relu`, which `nn.LSTM`, `nn.GRU` and `nn.RNN` call | 2.8, 2.14 |
| `torch.compiler.is_dynamo_compiling`, as `torch._higher_order_ops` reads it | 2.14 |
| `torch.ops.higher_order.cond`, `.scan`, `.while_loop` | 2.14 |
| `torch._subclasses.fake_tensor.CONSTANT_NUMEL_LIMIT` | 2.8 |
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from typing import Any, cast

torch: Any = import_module("torch")
aten: Any = torch.ops.aten
pytree: Any = import_module("torch.utils._pytree")
DispatchMode: Any = import_module("torch.utils._python_dispatch").TorchDispatchMode
FunctionMode: Any = import_module("torch.overrides").TorchFunctionMode

_TORCH_FOLDER = os.path.dirname(torch.__file__) + os.sep
_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(_OWN_FOLDER))) + os.sep
_SITE = f"{os.sep}site-packages{os.sep}"
_STDLIB = os.path.dirname(os.__file__) + os.sep

_HIGHER_ORDER = os.path.join(_TORCH_FOLDER, "_higher_order_ops") + os.sep

_VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])

DROPPED_TYPES = ("Device", "Layout", "MemoryFormat", "Generator")
DROPPED_NAMES = ("pin_memory", "non_blocking")


def fake_mode() -> Any:
    """Return a mode in which tensors have shapes and element types, and no values."""
    module = import_module("torch._subclasses.fake_tensor")
    return module.FakeTensorMode(allow_non_fake_inputs=True, allow_fallback_kernels=True)


def without_modes() -> Any:
    """Return a context in which ops run on tensors with values, whatever modes are active."""
    return import_module("torch.utils._python_dispatch")._disable_current_modes()


def is_fake(tensor: Any) -> bool:
    return isinstance(tensor, import_module("torch._subclasses.fake_tensor").FakeTensor)


def fake_constant(tensor: Any) -> Any:
    """Return the tensor of values that a fake tensor of a literal carries, or None."""
    return getattr(tensor, "constant", None)


@cache
def decompositions(kept: frozenset[str]) -> dict[Any, Callable[..., Any]]:
    """Return the decomposition of each core ATen decomposition whose overload is not in `kept`."""
    table = import_module("torch._decomp").core_aten_decompositions()
    return {op: table[op] for op in table if overload_name(op) not in kept}


def overload_name(op: Any) -> str:
    """Return `mm.default` of `aten.mm.default`, or of an op that gradc defines."""
    return str(op).removeprefix("gradc.").removeprefix("aten.")


def base_name(op: Any) -> str:
    return overload_name(op).partition(".")[0]


def has_tag(op: Any, tag: str) -> bool:
    return getattr(torch.Tag, tag) in op.tags


def without_meta_device(args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with the CPU as device in place of `meta`, on which nested forward mode computes
    shapes: fake tensors have no values either, and refuse operands on two devices."""
    if str(kwargs.get("device")) != "meta" or any(
        isinstance(one, torch.Tensor) and one.is_meta for one in args
    ):
        return kwargs
    return {**kwargs, "device": torch.device("cpu")}


def mutates(op: Any) -> bool:
    return op._schema.is_mutable


def composite(op: Any) -> bool:
    """Return whether an op is only a composition of others, which inference mode hides from autograd."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")


@cache
def solve_factors_transpose() -> bool:
    """Return whether `_linalg_solve_ex` returns the factors of the transpose of a contiguous matrix."""
    with torch.utils._python_dispatch._disable_current_modes():
        pivots = aten._linalg_solve_ex(torch.tensor([[1.0, 0.0], [2.0, 1.0]]), torch.ones(2, 1))[2]
        return pivots[0].item() == 1  # of the matrix itself it is the second row


def schema_arguments(op: Any) -> list[tuple[str, str, bool, Any]]:
    """Return name, type, whether there is a default, and the default of each argument of an overload."""
    return [
        (a.name, _type_word(a), a.has_default_value(), a.default_value if a.has_default_value() else None)
        for a in op._schema.arguments
    ]


def _type_word(argument: Any) -> str:
    """Return the declared type; `real_type` separates a ScalarType from an int."""
    return str(argument.real_type if hasattr(argument, "real_type") else argument.type)


def overload(packet: str, name: str) -> Any:
    """Return an overload of ATen, or of an op that gradc defines; None if there is none."""
    found = getattr(aten, packet, None) or getattr(torch.ops.gradc, packet)
    return getattr(found, name, None)


def is_dropped(name: str, kind: str) -> bool:
    """Return whether captured ops leave an argument out: where and how memory is laid out."""
    return name in DROPPED_NAMES or kind.removeprefix("Optional[").removesuffix("]") in DROPPED_TYPES


def is_torch_file(name: str) -> bool:
    return name.startswith(_TORCH_FOLDER)


def captured_schema(op: Any) -> list[tuple[str, str, bool]]:
    """Return name, type and whether it is keyword-only of each argument that captured ops have."""
    return [
        (argument.name, _type_word(argument), argument.kwarg_only)
        for argument in op._schema.arguments
        if not is_dropped(argument.name, _type_word(argument))
    ]


def user_location() -> str:
    """Return `file.py:12` of the innermost frame that is neither torch's nor this package's.

    Frames of installed packages are used only where there is none of the user's own, and the line that calls
    gradc only where all code of the function is torch's, as that of `nn.Sequential` is.
    """
    frame: Any = sys._getframe(1)
    installed = ""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_TORCH_FOLDER, _OWN_FOLDER, "<frozen")):
            here = f"{name}:{frame.f_lineno}"
            if _SITE not in name and not name.startswith(_STDLIB):
                return here
            installed = installed or here
        elif name.startswith(_OWN_FOLDER) and frame.f_code.co_name == "call_captured":
            break
        frame = frame.f_back
    return installed or _caller_location()


def _caller_location() -> str:
    """Return `file.py:12` of the line that calls gradc, or ''."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_TORCH_FOLDER, _PACKAGE_FOLDER, _STDLIB, "<frozen")) and _SITE not in name:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def module_being_run() -> str:
    """Return the type of the innermost `nn.Module` whose code runs, or ''."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, torch.nn.Module):
            return type(owner).__name__
        frame = frame.f_back
    return ""


def location_of_function(function: Any) -> str:
    """Return `file.py:12` of the definition of a function or module; for code of torch, of the line that
    calls gradc."""
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    called = function
    if not inspect.isroutine(function):
        name = "forward" if isinstance(function, torch.nn.Module) else "__call__"
        called = getattr(type(function), name, None)  # a scripted module's class has no forward
    code = getattr(inspect.unwrap(called), "__code__", None) if called else None
    if code is None or is_torch_file(code.co_filename) or _SITE in code.co_filename:
        return _caller_location()
    return f"{code.co_filename}:{code.co_firstlineno}"


def location_of_error(error: BaseException) -> str:
    """Return `file.py:12` of the innermost user frame of a traceback, or ''."""
    found = ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((_TORCH_FOLDER, _OWN_FOLDER, "<frozen")) and _SITE not in name:
            found = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


@contextmanager
def _values_of_literals() -> Iterator[None]:
    """Let fake tensors of short literal vectors carry their values in torch 2.8, where `jacrev` of several
    results reads offsets from one. Newer versions compute them in Python."""
    if _VERSION > (2, 8):
        yield
        return
    module: Any = import_module("torch._subclasses.fake_tensor")
    limit, module.CONSTANT_NUMEL_LIMIT = module.CONSTANT_NUMEL_LIMIT, 64
    try:
        yield
    finally:
        module.CONSTANT_NUMEL_LIMIT = limit


@contextmanager
def one_algorithm() -> Iterator[None]:
    """Switch off the kernels and fast paths that torch chooses by size, and keep views as the user wrote
    them."""
    attention = import_module("torch.nn.attention")
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    logger = logging.getLogger("torch._subclasses.fake_tensor")  # it logs what is raised as well
    disabled, logger.disabled = logger.disabled, True
    distribution = torch.distributions.Distribution
    validated = distribution._validate_args
    distribution.set_default_validate_args(False)
    try:
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            stack.enter_context(attention.sdpa_kernel(attention.SDPBackend.MATH))
            stack.enter_context(torch.backends.mkldnn.flags(enabled=False))
            stack.enter_context(torch.autograd.grad_mode._force_original_view_tracking(True))
            stack.enter_context(torch.jit.optimized_execution(False))
            stack.enter_context(torch.enable_grad())
            stack.enter_context(_no_anomaly_checks())
            stack.enter_context(_values_of_literals())
            stack.enter_context(_ops_of_functions())
            stack.enter_context(_modes_in_backward())
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
        logger.disabled = disabled
        distribution.set_default_validate_args(validated)


@contextmanager
def _ops_of_functions() -> Iterator[None]:
    """Let `torch.cond`, `scan` and `while_loop` call their op, as while torch compiles."""
    before = torch.compiler.is_dynamo_compiling

    def is_compiling() -> bool:
        return sys._getframe(1).f_code.co_filename.startswith(_HIGHER_ORDER) or before()

    torch.compiler.is_dynamo_compiling = is_compiling
    try:
        yield
    finally:
        torch.compiler.is_dynamo_compiling = before


@contextmanager
def _modes_in_backward() -> Iterator[None]:
    """Keep function modes active within derivatives, which run checkpointed functions again."""
    module = torch.autograd
    before, module.has_torch_function = module.has_torch_function, lambda _: False
    try:
        yield
    finally:
        module.has_torch_function = before


@contextmanager
def _no_anomaly_checks() -> Iterator[None]:
    """Ignore `detect_anomaly`, which reads the values of gradients."""
    enable, before = torch.set_anomaly_enabled, torch.is_anomaly_enabled()
    torch.set_anomaly_enabled = lambda *_: None
    try:
        enable(False)
        yield
    finally:
        torch.set_anomaly_enabled = enable
        enable(before)


@contextmanager
def trace_optimizers(optimizers: Sequence[Any]) -> Iterator[None]:
    """Let the steps of optimizers read no values: as `torch.compile` does, counters stay tensors."""
    with ExitStack() as stack:
        for optimizer in optimizers:
            own = optimizer.__dict__.get("step")
            stack.callback(_restore_step, optimizer, own)
            optimizer.step = _trace_step(optimizer, optimizer.step)
        yield


def _restore_step(optimizer: Any, own: Any) -> None:
    if own is None:
        del optimizer.step
    else:
        optimizer.step = own


def _trace_step(optimizer: Any, step: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        for group in optimizer.param_groups:
            group.update(dict.fromkeys({"capturable"} & set(group), True))
            group.update(dict.fromkeys({"foreach", "fused"} & set(group), False))
        before = torch.compiler.is_compiling
        torch.compiler.is_compiling = lambda: True
        try:
            with _wide_counters(optimizer):
                return step(*args, **kwargs)
        finally:
            torch.compiler.is_compiling = before

    return call


@contextmanager
def _wide_counters(optimizer: Any) -> Iterator[None]:
    """Let counters of float64 parameters be float64 in a step: powers of the decay rates by them are those of
    Python numbers, as torch computes them."""
    counted = [
        (slots, slots["step"])
        for parameter, slots in optimizer.state.items()
        if parameter.dtype is torch.float64 and isinstance(slots.get("step"), torch.Tensor)
    ]
    for slots, counter in counted:
        slots["step"] = counter.double()
    yield
    for slots, counter in counted:
        counter.copy_(slots["step"])
        slots["step"] = counter
