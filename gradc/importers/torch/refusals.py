"""Errors of functions that have no graph of fixed ops: what is wrong, the user's line, and the remedy."""

from __future__ import annotations

from collections.abc import Mapping

from dialects.aten.remedies import remedy_of
from dialects.support.diagnostics import Diagnostic, GradcError, Position, UnsupportedError, sentence


def position_from(location: str) -> Position | None:
    """Return the position of a location such as `file.py:12`."""
    file, _, line = location.rpartition(":")
    return Position(file, int(line), 1) if file and line.isdigit() else None


def refusal(what: str, location: str = "", remedy: str = "") -> GradcError:
    """Return the error of code that cannot be captured, at the user's line."""
    return UnsupportedError(
        Diagnostic("error", sentence(what, hint=remedy), position=position_from(location))
    )


def value_decides(op: str, location: str) -> GradcError:
    words = {
        "_local_scalar_dense": "a value of a tensor is read as a Python number, which would be frozen",
        "equal": "the values of two tensors are compared in Python, which would be frozen",
        "index": "a boolean mask selects elements, so the shape depends on values",
        "allclose": "the values of two tensors are compared in Python, which would be frozen",
        "masked_select": "a boolean mask selects elements, so the shape depends on values",
        "nonzero": "the number of nonzero elements, and so a shape, depends on values",
    }
    what = words.get(op, f"the shape of the result of aten.{op} depends on values")
    select = "keep all elements and select with torch.where, or pass the indices as an argument"
    remedy = {
        "_local_scalar_dense": "pass the number as an argument, or decide with torch.where",
        "equal": "decide with torch.where",
        "allclose": "decide with torch.where, or run a fixed number of iterations",
        "bincount": "sum ones into torch.zeros(count).index_add(0, indices, ones) for a known count",
        "repeat_interleave": "pass the indices of the rows as an argument",
    }.get(op) or remedy_of(op)
    return refusal(what, location, remedy or select)


def random_numbers(op: str, location: str, module: str = "") -> GradcError:
    is_dropout = "dropout" in op or op in ("bernoulli_", "bernoulli")
    remedy = (
        "put the module in eval(), or pass the mask as an argument"
        if is_dropout
        else "pass the noise as an argument"
    )
    within = f" in {module}" if module else ""
    return refusal(f"aten.{op}{within} draws random numbers, which would be frozen", location, remedy)


def change_of_closed_over(location: str) -> GradcError:
    return refusal(
        "the function changes a tensor that it closes over in place, and the change would be lost",
        location,
        "pass the tensor as an argument and return its new value, or register it as a buffer of a module",
    )


def accumulated_gradients(location: str) -> GradcError:
    return refusal(
        "the step adds to gradients that the step before left, as no model can",
        location,
        "call optimizer.zero_grad() before backward()",
    )


def uninitialised(name: str, location: str) -> GradcError:
    return refusal(
        f"the parameter {name} of a lazy module has no shape", location, "call the module once before"
    )


def no_tensors(location: str) -> GradcError:
    return refusal("the function returns no tensor", location, "return what it computes")


def lost_result(kind: str, location: str) -> GradcError:
    return refusal(
        f"a result of the function is a {kind}, whose tensors would be lost",
        location,
        "return tensors and numbers, or tuples, lists and dicts of them",
    )


def one_argument_twice(one: str, other: str, location: str) -> GradcError:
    return refusal(
        f"{one} and {other} are one tensor in the example, with one gradient; the model has two inputs",
        location,
        "pass a copy, as x.detach().clone().requires_grad_(), or one argument",
    )


def change_of_shared(one: str, other: str, location: str) -> GradcError:
    return refusal(
        f"the function changes {one} in place, which shares memory with {other} in the example",
        location,
        "pass copies, as the inputs of a model share no memory",
    )


def address_of_tensor(location: str) -> GradcError:
    return refusal(
        "the address of a tensor is read, which is another in each call", location, "use ops of torch"
    )


def default_dtype(location: str) -> GradcError:
    return refusal(
        "the function changes the default dtype of torch", location, "give dtype= to ops that need another"
    )


def caught_exception(location: str) -> GradcError:
    return refusal(
        "an exception of torch is caught, which other sizes may not raise",
        location,
        "decide by something that no size changes, or fix the dims",
    )


def derivative_of_closed_over(location: str) -> GradcError:
    return refusal(
        "a branch of torch.cond closes over a tensor that requires a gradient, and a derivative is taken",
        location,
        "pass the tensor as an operand, or torch.where for branches without infinite derivatives",
    )


def branches_differ(location: str) -> GradcError:
    return refusal(
        "the branches of torch.cond return tensors of different shapes or dtypes",
        location,
        "return the same shapes and dtypes from both",
    )


def empty_scan(location: str) -> GradcError:
    return refusal(
        "a scan over no elements has no result", location, "torch.export.Dim(name, min=1), or another size"
    )


def while_loop(location: str) -> GradcError:
    return refusal(
        "the number of steps of while_loop depends on values",
        location,
        "a loop over a fixed number, with torch.where for the steps after the last",
    )


def grad_scaler(location: str) -> GradcError:
    return refusal(
        "a GradScaler keeps its scale in a Python object, and the change would be lost",
        location,
        "train in float32 or bfloat16, which need no scale, or scale the loss by an argument",
    )


def averaged_model(location: str) -> GradcError:
    return refusal(
        "an AveragedModel reads its counter as a Python number, which would be frozen",
        location,
        "average outside of the step, or in it by average.lerp_(parameter.detach(), 1 - decay)",
    )


def plateau(location: str) -> GradcError:
    return refusal(
        "a ReduceLROnPlateau reads the value of the loss, which would be frozen",
        location,
        "call the scheduler outside of the step, and pass lr, which is then an input of the step",
    )


def change_of_list(op: str, location: str) -> GradcError:
    return refusal(
        f"aten.{op} changes tensors of a list in place, and the changes would be lost",
        location,
        "change each tensor by an op of its own, in a loop",
    )


def stale_tensor(location: str) -> GradcError:
    return refusal(
        "the function reads a tensor that an earlier call left in a Python object",
        location,
        "return the tensor, or register it as a buffer of a module",
    )


class StepsOnly(UnsupportedError):
    """The error of a recurrent layer that has no op, and can be captured only as ops of each step."""


def only_by_steps(what: str, location: str) -> StepsOnly:
    message = sentence(f"{what} can be captured only for a fixed number of steps", hint="fix the dim of time")
    return StepsOnly(Diagnostic("error", message, position=position_from(location)))


class CaptureFailure(UnsupportedError):
    """An exception that the function, or torch within it, raised."""


class FrozenValues(CaptureFailure):
    """An exception of torch because the function reads values."""


def failure_in_torch(error: BaseException, location: str) -> CaptureFailure:
    """Return the error of an exception that the function, or torch within it, raised."""
    for words, what, remedy in _KNOWN_FAILURES:
        if words in str(error):
            message = sentence(what, hint=remedy)
            return FrozenValues(Diagnostic("error", message, position=position_from(location)))
    message = f"the function fails while it is captured: {_text_of(error)}"
    return CaptureFailure(Diagnostic("error", message, position=position_from(location)))


def failure_of_run(error: BaseException, location: str) -> GradcError:
    """Return the error of an exception that the function raises when torch runs it for the check."""
    message = f"the function fails when torch runs it: {_text_of(error)}"
    return GradcError(Diagnostic("error", message, position=position_from(location)))


def _text_of(error: BaseException) -> str:
    """Return the type and the first line of the message of an exception."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0].strip() if lines else 'no message'}"


_KNOWN_FAILURES = (
    (
        ".numpy() is not supported",
        "values of a tensor are read as an array of numpy, which would be frozen",
        "use ops of torch, or pass the array as an argument",
    ),
    (
        "for HigherOrderOperator",
        "associative_scan, map and other ops of functions cannot be captured",
        "use torch.where, or a loop over a fixed number",
    ),
    (
        "registered for HOP ",
        "associative_scan, map and other ops of functions cannot be captured",
        "use torch.where, or a loop over a fixed number",
    ),
    (
        "Cannot access data pointer",
        "the memory of a tensor is read, which would freeze its values",
        "use ops of torch, or pass the values as an argument",
    ),
)
"""Text of an exception of torch, what it means for the user, and the remedy."""


def changes_between_calls(what: str, location: str) -> GradcError:
    return refusal(
        f"{what} changes between calls, and would be frozen",
        location,
        "random numbers of Python and numpy, counters and times are passed as arguments",
    )


def differs_in_second_call(location: str) -> GradcError:
    return refusal(
        "the function leaves a tensor in a Python object, and its next call does something else for it",
        location,
        "return the tensor, or register it as a buffer of a module",
    )


def state_outside_of_buffers(name: str, location: str) -> GradcError:
    return refusal(
        f"the function keeps a tensor in {name} from call to call, and the change would be lost",
        location,
        remedy="register it as a buffer of a module, or pass it as an argument and return its new value",
    )


def graph_depends_on_sizes(one: str, other: str, location: str, sizes: str, other_sizes: str) -> GradcError:
    if not sizes:
        found = f"{_op_text(one)}, then {_op_text(other)}"
        text = f"the function does something else when it is called again: {found}"
        return refusal(text, location, "register what it keeps from call to call as a buffer of a module")
    ops = f"{_op_text(one)} at {sizes}, {_op_text(other)} at {other_sizes}"
    remedy = "use ops over whole tensors in place of loops and branches over a size, or fix the dim"
    return refusal(f"the graph itself depends on the sizes: {ops}", location, remedy)


def _op_text(name: str) -> str:
    return f"aten.{name}" if "." in name else name


class FailureAtSizes(CaptureFailure):
    """An exception that the function raises at other sizes than the example's."""


def failure_at_sizes(
    error: CaptureFailure, sizes: Mapping[str, int], examples: Mapping[str, int]
) -> FailureAtSizes:
    found = error.diagnostic
    message = f"{found.message} (at {sizes_text(sizes)}; the example has {sizes_text(examples)})"
    remedy = "give equal dims one name, or bounds by torch.export.Dim(name, min=, max=), or fix them"
    return FailureAtSizes(Diagnostic("error", f"{message}; {remedy}", position=found.position))


def sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{dim}={size}" for dim, size in sizes.items())


def new_optimizer_state(location: str) -> GradcError:
    return refusal(
        "an optimizer creates its states in its first step, and they would be lost",
        location,
        remedy="gradc.torch.train_step makes them inputs and results; or take a step before",
    )


def changed_number(key: str, location: str) -> GradcError:
    return refusal(
        f"the function changes {key} of an optimizer, as a scheduler does, and the change would be lost",
        location,
        remedy="call the scheduler outside of the step, and pass lr, which is then an input of the step",
    )
