"""`gradc.grad`, `gradc.vjp`, `gradc.value_and_grad`: gradients of any source that `compile` accepts."""

from __future__ import annotations

from typing import Any, Unpack
from warnings import warn

from xdsl.dialects.builtin import ModuleOp

from gradc.compiler.compiled import Compiled, Derivative
from gradc.compiler.options import Options
from gradc.compiler.pass_runner import Observer
from gradc.derivatives.casadi import finish_for_casadi
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.options import GradOptions, derive, takes
from gradc.derivatives.request import GradientRequest
from gradc.derivatives.row_requests import VjpRequest
from gradc.util import arguments
from gradc.verification.gradient_spec import Written


@takes(GradOptions, VjpRequest)
def grad(model: Any, **given: Unpack[GradOptions]) -> Compiled:
    """Return the gradient of a model as a plain ONNX model, with a result `grad_<wrt>` for each `wrt`.

    model: a path (ONNX, JSON or MLIR text), an `onnx.ModelProto`, a JSON document, a `gradc.Graph` or a
    module.
    wrt: names of inputs, weights or intermediate values, patterns such as `*.weight`, `:weights` (all
    trainable weights, docs/weights.md) or `:inputs`; default: every float input.
    frozen: names and patterns left out of what patterns, `:weights`, `:inputs` and the default select.
    untie: give each reader of a shared weight a separate one, `<name>`, `<name>.2` and so on.
    of: names of values to differentiate, or elements such as `logits[0,281]`; default: the one float output.
    cotangents: add an input `cotangent_<of>` in its shape for each `of`; otherwise `of` has one element.
    num_cotangents: a number or a name K: cotangents and gradients have a leading axis of K, and all rows are
    computed in one run; implies cotangents.
    family: `casadi` gives cotangents and gradients the names and shapes of CasADi's adj_<model>.onnx.
    per_sample: compute one gradient for each sample of the batch: `grad_<weight>` has a leading axis of the
    samples, `grad_<input>` the shape of the input. A loss that is a mean or sum over the batch is taken of
    each sample alone. Samples must be independent (docs/derivatives.md).
    batch_axis: input name -> 0 if its axis 0 has the samples, None if all samples share it; default: 0 for
    the inputs that share the size of axis 0 of `of`.
    reduce: `sum` or `mean`, the reduction of an `of` that is not a scalar.
    keep_outputs: `none`, `of`, `all`, or names of values that are also results, before the gradients.
    weights: how a weight among `wrt` is stored. `default`: an input whose value is its default; `required`:
    an input without a default, whose initial value is in `Compiled.weights` and next to the saved model;
    `constant`: no input. docs/weights.md lists the runtimes that accept defaults.
    weights_as_inputs: deprecated; True is `weights="default"`, False is `weights="constant"`.
    allow_unused: return zeros for a `wrt` that `of` does not depend on, instead of an error.
    straight_through: use the straight-through estimator for DequantizeLinear(QuantizeLinear(x)), with 0 where
    x is out of the type's range, and for z + (q - z) where q is z rounded or looked up.
    stop_gradient: names of values, or patterns, through which no gradient flows, in any order of
    differentiation, as `jax.lax.stop_gradient` and torch's `detach`.
    batchnorm: `train` lets each BatchNormalization use the statistics of the batch, and returns the updated
    running statistics as `new_<name>`; `eval` the running ones; default: as the file says.
    dropout: `hashed` drops elements by a mask from a new int64 scalar input `seed`; `off` drops none; `keep`,
    the default, does as the file says (docs/gradients.md).
    constants: input name -> array, or the path of an .npz or .safetensors, or several: these inputs become
    constants first.
    static_shapes: input name -> sizes, for inputs with dynamic shapes.
    rebatch: new batch for a source with a fixed one: a size, or a name for a dynamic size.
    name_template: template of the names of new results and inputs: `{what}` is grad or cotangent, `{name}`
    the name of the value.
    rules: op type, such as `com.example.Ramp` -> VJP rule `rule(f, g, e)`, written with `gradc.ops`;
    docs/gradient_recipes.md has an example.
    kernels: op type -> numpy implementation `f(*arrays, **attributes)`, for the check of user rules.
    check: True checks the gradient without a time limit, False not at all; default: within check_seconds
    (docs/gradients.md).
    check_seconds: limit of the CPU time of the check, default 30; `Compiled.proof` names the unchecked parts.
    rename: name of an input or output of the source, else of the gradient -> new name.
    scale: final name of a result -> factor, in the dtype of the result.
    target, opset, threads, strict_ieee, limits: as for `compile`.

    Raises GradcError: an UnsupportedError that names all ops without a derivative; a CheckError for a wrong
    gradient, located at the op at fault.
    """
    if given.get("weights_as_inputs") is not None:
        warn("weights_as_inputs is deprecated; use weights", DeprecationWarning, stacklevel=4)
    return derive(model, given, VjpRequest, gradient_of)


@takes(GradOptions, VjpRequest, keep_outputs="of")
def value_and_grad(model: Any, **given: Unpack[GradOptions]) -> Compiled:
    """Return the differentiated values and their gradient as results; arguments as for `grad`."""
    given.setdefault("keep_outputs", "of")
    return grad(model, **given)


@takes(GradOptions, VjpRequest, cotangents=True)
def vjp(model: Any, **given: Unpack[GradOptions]) -> Compiled:
    """Return the gradient with an input `cotangent_<of>` for each `of`; arguments as for `grad`."""
    if not arguments.flag("cotangents", given.setdefault("cotangents", True)):
        raise arguments.invalid("cotangents", False, "True, which makes it a vjp", "gradc.grad takes either")
    return grad(model, **given)


def gradient_of(
    module: ModuleOp,
    user_request: GradientRequest,
    options: Options,
    constants: Any = None,
    observer: Observer | None = None,
) -> Compiled:
    """Return the gradient of a module, which is modified."""
    derivation = Derivation.begin(module, user_request, options, constants, observer)
    found = derivation.differentiate(user_request.request(derivation.module))
    derivatives = [
        Derivative(result, "grad", tuple(found.of), (name,)) for name, result in found.gradients.items()
    ]
    written = Written(found.gradients, found.cotangents)
    rows = user_request.num_cotangents if isinstance(user_request, VjpRequest) else None
    if rows is not None:
        inputs, results = found.cotangents.values(), found.gradients.values()
        written = derivation.vectorize("num_cotangents", rows, inputs, results, written)
    if isinstance(user_request, VjpRequest) and user_request.family:
        return finish_for_casadi(derivation, written, derivatives, found.cotangents)
    return derivation.finish(written, derivatives)
