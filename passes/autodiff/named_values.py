"""The values of a function by the names that requests use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.support.diagnostics import name_of, usage
from dialects.support.entry import input_names, output_names, return_op
from dialects.support.names import name_of_value
from dialects.support.option_names import option
from dialects.support.shapes import Dim, has_rank
from passes.builder.values import Builder, Value

_ELEMENT = re.compile(r"(.+)\[([^\]]*)\]")


def values_by_name(function: FuncOp) -> dict[str, SSAValue]:
    """Return the values by name: inner ones by the names of their ops, overridden by their own names, then by
    results and inputs. If results of one op share a name, it means the first."""
    nodes: dict[str, SSAValue] = {}
    inner: dict[str, SSAValue] = {}
    for op in function.body.block.ops:
        own = {name_of_value(result): result for result in reversed(op.results)}
        nodes |= {name_of(op): op.results[0]} if len(own) == 1 else {}
        inner |= own
    found = {name: value for name, value in (nodes | inner).items() if name}
    found |= zip(output_names(function), return_op(function).arguments, strict=True)
    return found | dict(zip(input_names(function), function.args, strict=True))


UNRANKED = ("a value of unknown rank", "a value of known rank")


def base_of(name: str) -> str:
    """Return the tensor's name in the name of an element."""
    match = _ELEMENT.fullmatch(name)
    return match[1] if match else name


def element_of(name: str, whole: Value) -> Value | None:
    """Return the element `logits[0,281]` of logits, `:` taking a whole axis; None for other names."""
    match = _ELEMENT.fullmatch(name)
    entries = match[2].replace(" ", "").split(",") if match else []
    if len(entries) != whole.rank or not all(re.fullmatch(r":|-?\d+", entry) for entry in entries):
        return None
    places = {axis: int(entry) for axis, entry in enumerate(entries) if entry != ":"}
    _check_indices(name, places, whole.shape)
    if not places:
        return whole
    e, taken = whole.e, whole
    known = {axis: n for axis, n in places.items() if n in (0, -1) or isinstance(whole.shape[axis], int)}
    for axis in places.keys() - known.keys():  # Gather fails at run time for an index out of range
        taken = taken.apply(onnx.GatherOp, e.ints([places[axis]]), axis=axis)
    if known:
        ends = [place + 1 if place != -1 else TO_THE_END for place in known.values()]
        taken = taken.apply(onnx.SliceOp, e.ints(list(known.values())), e.ints(ends), e.ints(list(known)))
    return taken.squeeze(list(places))


def _check_indices(name: str, places: Mapping[int, int], sizes: Sequence[Dim]) -> None:
    for axis, place in places.items():
        size = sizes[axis]
        if isinstance(size, int) and not -size <= place < size:
            given, expected = f"{place} on axis {axis}", f"{-size} to {size - 1}"
            raise usage(f"{option('of')} {name}", given, expected)


def add_elements(
    function: FuncOp, names: Sequence[str], values: Mapping[str, SSAValue]
) -> dict[str, SSAValue]:
    """Emit the elements among the names, such as logits[0,281], at the end of the function; exact names take
    precedence."""
    e, found = Builder(), dict[str, SSAValue]()
    for name in names:
        whole = values.get(base_of(name))
        if name in values or whole is None or not _ELEMENT.fullmatch(name):
            continue
        if not has_rank(whole):
            raise usage(f"{option('of')} {name}", *UNRANKED)
        part = element_of(name, e(whole))
        if part is not None:
            found[name] = part.value
    if e.emit.ops:
        function.body.block.insert_ops_before(e.emit.ops, return_op(function))
    return found
