"""`gradc.torch.module`: an ONNX model as an `nn.Module`, with gradc's derivatives as its backward."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dialects.support.diagnostics import Diagnostic, UnsupportedError
from gradc.importers.torch.elements import array_of, tensor_of
from gradc.importers.torch.torch_internals import torch
from gradc.torch.differentiable_model import DifferentiableModel, forward_model
from gradc.util import arguments

_VMAP = (
    "gradc.torch.module runs an ONNX model, which torch.func.vmap cannot batch; give the model a dynamic "
    "batch and call it once, or write all rows into one model: gradc.jacobian, gradc.vjp with num_cotangents"
)


_LAYERS = (
    "gradc.torch.module has no submodules for its layers, whose backward this method of captum changes "
    "(DeepLift, GuidedBackprop, Deconvolution): it would return the plain gradient; use Saliency, "
    "InputXGradient or IntegratedGradients, or write the method in torch for gradc.torch.export"
)


class _Run(torch.autograd.Function):
    """Runs a model; its backward runs the model's VJP, which is differentiable in the same way."""

    @staticmethod
    def forward(model: DifferentiableModel, *tensors: Any) -> tuple[Any, ...]:
        named = zip(model.inputs, tensors, strict=True)
        found = model.run({name: _array(tensor) for name, tensor in named})
        return tuple(_tensor(found[name], tensors) for name in model.outputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
        model, *tensors = inputs
        ctx.model, ctx.floats = model, [result.is_floating_point() for result in output]
        ctx.mark_non_differentiable(*(result for result in output if not result.is_floating_point()))
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        needed = [index for index, is_needed in enumerate(ctx.needs_input_grad[1:]) if is_needed]
        given = [each for each, is_float in zip(cotangents, ctx.floats, strict=True) if is_float]
        vjp = ctx.model.vjp(tuple(needed))
        found = dict(zip(needed, _Run.apply(vjp, *ctx.saved_tensors, *given), strict=True))
        return None, *(found.get(index) for index in range(len(ctx.saved_tensors)))

    @staticmethod
    def vmap(*_: Any) -> Any:
        raise UnsupportedError(Diagnostic("error", _VMAP))


def _array(tensor: Any) -> np.ndarray:
    """Return the values of a tensor, in its memory where numpy has the dtype."""
    plain = tensor.detach().cpu().contiguous()
    return array_of(plain) if plain.dtype == torch.bfloat16 else plain.numpy()


def _tensor(array: np.ndarray, like: Sequence[Any]) -> Any:
    device = next((tensor.device for tensor in like), "cpu")
    return tensor_of(array).to(device)


class OnnxModule(torch.nn.Module):
    """An ONNX model as a module. It takes tensors in the order of the model's inputs, or by name, and returns
    the results in order, or the one result.

    It can be copied and pickled. Weights are parameters if it was made with `trainable=True`.
    """

    def __init__(self, model: DifferentiableModel, weights: Mapping[str, np.ndarray]):
        super().__init__()
        self._model = model
        self._names = [name for name in model.inputs if name not in weights]
        self._weights = list(weights)
        for name, array in weights.items():
            _register(self, name, torch.nn.Parameter(tensor_of(array)))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(self._names, args, strict=False)) | kwargs
        if len(args) > len(self._names) or set(given) != set(self._names):
            expected = f"one tensor for each of {', '.join(self._names)}"
            raise arguments.invalid(
                "inputs", f"{len(args)} tensors and {', '.join(kwargs) or 'no names'}", expected
            )
        parameters = dict(self.named_parameters())
        tensors = [torch.as_tensor(given[name]) for name in self._names]
        found = _Run.apply(self._model, *tensors, *(parameters[name] for name in self._weights))
        return found[0] if len(found) == 1 else found

    def apply(self, fn: Any) -> Any:
        """Apply a function to the submodules. Raises UnsupportedError for captum's, which look for layers
        whose backward they change, and find none."""
        if (getattr(fn, "__module__", None) or "").partition(".")[0] == "captum":
            raise UnsupportedError(Diagnostic("error", _LAYERS))
        return super().apply(fn)

    def extra_repr(self) -> str:
        return f"{', '.join(self._names)} -> {', '.join(self._model.outputs)}"


def _register(root: Any, name: str, parameter: Any) -> None:
    """Register a parameter under a dotted name, in modules for its parts; `state_dict` has that name."""
    *parts, last = name.split(".")
    for part in parts:
        if part not in root._modules:
            root.add_module(part, torch.nn.Module())
        root = root._modules[part]
    root.register_parameter(last, parameter)


def module(
    source: Any, trainable: bool = False, *, features: Iterable[str] = (), check: bool | None = None
) -> Any:
    """Return an ONNX model as an `nn.Module` that runs on onnxruntime and whose backward is gradc's.

    source: a path, an `onnx.ModelProto` or a `gradc.Compiled`.
    trainable: make the trainable weights (docs/weights.md) parameters, under their names.
    features: names of inner values that are further results, differentiable as well.
    check: as in `gradc.grad`, for the derivatives, which are compiled when they are first needed.

    Gradients, gradients of gradients and so on are models, too. Raises GradcError for an invalid model, and
    UnsupportedError, in the backward, for an op without a derivative.
    """
    is_trainable = arguments.flag("trainable", trainable)
    model, weights = forward_model(source, is_trainable, arguments.names("features", features), check)
    return OnnxModule(model, weights)
