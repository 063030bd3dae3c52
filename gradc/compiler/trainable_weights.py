"""The rule on which weights of a model are trainable: parameters, not statistics, bounds, masks or constants.

An initializer is trainable if an op reads it in one of the `ROLES`, or if it has the name of a parameter and
an op uses it as in `USES`. Where the file has the program of torch's exporter, that decides what is a
parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from dialects.onnx import traits
from dialects.onnx.ops import ConstantOp
from dialects.onnx.types import word_of
from dialects.onnx.values import constant_of
from dialects.support import entry
from dialects.support.diagnostics import name_of
from dialects.support.names import name_of_value
from dialects.support.shapes import shape_of
from gradc.compiler.exported_program import LINEAR, ExportedProgram
from gradc.compiler.parameter_names import (
    is_generated,
    is_irregular,
    is_of_buffer,
    is_of_layer,
    is_of_parameter,
    is_sinusoidal,
)
from gradc.compiler.traced_names import NO_NAMES, Traced, tied_names, trace_names
from gradc.compiler.weight_roles import (
    BIAS,
    EXPONENT,
    ROLES,
    SCALE,
    TABLE,
    Kind,
    Reader,
    is_vector,
    readers_of,
    type_of,
)
from passes.autodiff.activity.active_values import is_float

NORMS = ("BatchNormalization", "GroupNormalization", "InstanceNormalization", "LayerNormalization")

_OF_NODE = re.compile(r"/.*Constant(_\d+)?_output_0")
"""Names of constants that TorchScript's exporter writes for options, such as `affine=False`."""

PART_OF = "gradc.part_of"
"""Attribute of a weight that was made for one reader of a shared one: the name of that one."""


@dataclass(frozen=True)
class Weight:
    """A constant of a model. `source`: the module's names of a parameter that the file has under another
    one. `is_doubtful`: not trainable by the rule, but possibly a parameter, or computed from one."""

    name: str
    value: SSAValue
    is_trainable: bool
    reason: str
    source: Traced = NO_NAMES
    is_doubtful: bool = False


@dataclass(frozen=True)
class _Verdict:
    is_trainable: bool
    reason: str
    is_doubtful: bool = False


def find_weights(module: ModuleOp) -> dict[str, Weight]:
    """Return the constants of the function by name, and which of them are trainable."""
    program = ExportedProgram.of_module(module)
    ops = entry.entry_function(module).body.block.ops
    values = {name_of_value(op.output): op.output for op in ops if isinstance(op, ConstantOp)}
    readers = {
        name: list(readers_of(value)) if is_float(value) else [] for name, value in values.items() if name
    }
    refused = {
        name: _refuse(_origin(values[name]), values[name], of, program) for name, of in readers.items()
    }
    open_ = {name: of for name, of in readers.items() if refused[name] is None}
    traced = trace_names(open_, program)
    found: dict[str, Weight] = {}
    for name, of in readers.items():
        source = traced.get(name, NO_NAMES)
        value = values[name]
        is_copy = refused[name] is None and _is_copy(value, of, program, values)
        verdict = refused[name] or _accept(_origin(value), value, of, program, source, is_copy)
        source = source if verdict.is_trainable else NO_NAMES
        found[name] = Weight(name, value, verdict.is_trainable, verdict.reason, source, verdict.is_doubtful)
    return found


def _origin(value: SSAValue) -> str:
    """Return the name of a constant, or that of the weight from which `untie_weights` made it."""
    original = value.owner.attributes.get(PART_OF) if isinstance(value.owner, Operation) else None
    return original.data if isinstance(original, StringAttr) else name_of_value(value)


def lost_parameters(module: ModuleOp, weights: Mapping[str, Weight]) -> list[str]:
    """Return the parameters of the exported module that no weight of the file holds, under none of the names
    of tied ones."""
    program = ExportedProgram.of_module(module)
    floats = {name: one.value for name, one in weights.items() if is_float(one.value)}
    readers = {name: list(readers_of(value)) for name, value in floats.items()}
    held = {one for name, weight in weights.items() for one in (name, *weight.source.names)}
    held |= tied_names(readers, program)
    return [name for name in program.parameters.values() if name not in held]


def _refuse(
    name: str, value: SSAValue, readers: Sequence[Reader], program: ExportedProgram
) -> _Verdict | None:
    """Return why a constant is not trainable whatever its name, or None."""
    if not is_float(value):
        return _Verdict(False, f"{word_of(value.type)}, not floats")
    if not readers:
        return _Verdict(False, "not read")
    if name in program.buffers.values():
        return _Verdict(False, "a buffer of the module")
    if is_sinusoidal(value):
        is_parameter = name in program.parameters.values()
        return _Verdict(False, "sines and cosines of the position", is_doubtful=is_parameter)
    if name in program.parameters.values():
        return None
    if all(reader.kind is Kind.OTHER_ROLE for reader in readers):
        is_doubtful = readers[0].word == EXPONENT and not (program.parameters or is_generated(name))
        return _Verdict(False, f"{readers[0].word} of {readers[0]}", is_doubtful)
    if is_of_buffer(name):
        return _Verdict(False, "has the name of a buffer")
    kinds = NORMS if _OF_NODE.fullmatch(name) else ("InstanceNormalization",)
    if is_generated(name) and all(_is_neutral(reader, kinds) for reader in readers):
        return _Verdict(False, f"{readers[0].word} that changes nothing, of {readers[0]}")
    if is_generated(name) and all(map(_is_multiplied_by_weight, readers)):
        return _Verdict(False, f"multiplied by a weight in {readers[0]}", is_doubtful=True)
    return None


def _accept(
    name: str,
    value: SSAValue,
    readers: Sequence[Reader],
    program: ExportedProgram,
    source: Traced,
    is_copy: bool,
) -> _Verdict:
    """Return whether a constant of floats that is read as data is trainable. `is_copy`: it equals a parameter
    that the program reads in its place."""
    roles = [reason for reader in readers if (reason := _role(reader))]
    uses = [f"{reader.word} by {reader}" for reader in readers if reader.kind is Kind.USE]
    if name in program.parameters.values():
        return _Verdict(True, next(iter((*roles, *uses)), f"a parameter, read by {readers[0]}"))
    if (source.names or source.stored) and (roles or uses or program.parameters):
        return _Verdict(True, next(iter((*roles, *uses)), f"read by {readers[0]}"))
    if roles and (is_copy or _may_be_parameter(name, readers, program)):
        return _Verdict(True, roles[0])
    if uses and not program.parameters and is_of_parameter(name, value):
        return _Verdict(True, f"{uses[0]}, with the name of a parameter")
    if roles:
        return _Verdict(False, f"{roles[0]}, but no parameter of the module")
    first = next((reader for reader in readers if reader.kind is not Kind.OTHER_ROLE), readers[0])
    is_computed = is_generated(name) and not (uses and is_irregular(value))
    is_doubtful = is_of_layer(name) if program.parameters else not is_computed
    return _Verdict(False, f"a constant of {first}", is_doubtful)


def _may_be_parameter(name: str, readers: Sequence[Reader], program: ExportedProgram) -> bool:
    """Return whether the program, if there is one, lets a constant be computed from parameters: a call has an
    argument that is no value of the file."""
    calls = [program.calls[name_of(reader.op)] for reader in readers if name_of(reader.op) in program.calls]
    weighed = [argument for call in calls for argument in call.arguments[call.function == LINEAR :]]
    return (
        not program.parameters
        or not calls
        or any(one == name or one not in program.values for one in weighed)
    )


def _is_copy(
    value: SSAValue,
    readers: Sequence[Reader],
    program: ExportedProgram,
    values: Mapping[str, SSAValue],
) -> bool:
    """Return whether a constant has the elements, also transposed, of another one that is a parameter and
    that the program reads in the place of the constant, as a tied embedding."""
    calls = [program.calls[name_of(reader.op)] for reader in readers if name_of(reader.op) in program.calls]
    names = {program.parameters.get(argument, "") for call in calls for argument in call.arguments}
    held = [values[name] for name in names if name in values and values[name] is not value]
    return any(_are_equal(value, one) for one in held)


def _are_equal(one: SSAValue, other: SSAValue) -> bool:
    if sorted(map(str, shape_of(one))) != sorted(map(str, shape_of(other))):
        return False
    a, b = constant_of(one), constant_of(other)
    return a is not None and b is not None and (np.array_equal(a, b) or np.array_equal(a, b.T))


def _role(reader: Reader) -> str:
    """Return the role in which a weight is read, such as `weight of Conv c`, or ''."""
    if reader.kind is Kind.ROLE:
        return f"{reader.word} of {reader}"
    if _is_embedding(reader):
        return f"{TABLE} of {reader}"
    if reader.kind is Kind.USE and (written := _role_of_vector(reader)):
        return written
    return ""


def _is_embedding(reader: Reader) -> bool:
    """Return whether a Gather looks rows up by indices that are no constant."""
    if type_of(reader.op) != "Gather" or reader.index != 0 or len(shape_of(reader.operand)) < 2:
        return False
    return constant_of(reader.op.operands[1]) is None


def _role_of_vector(reader: Reader) -> str:
    """Return the role of a vector that is multiplied or added behind an op without that operand: the bias of
    a product, and scale and bias of a normalization of groups."""
    if type_of(reader.op) not in ("Add", "Mul") or not is_vector(reader.operand):
        return ""
    other = _maker(reader.op.operands[1 - reader.index])
    if type_of(reader.op) == "Add" and other is not None and _is_product_with_weight(other):
        return f"{BIAS} of {_title(other)}"
    if (norm := _norm_of_groups(reader.op.operands[1 - reader.index])) is not None:
        return f"{SCALE if type_of(reader.op) == 'Mul' else BIAS} of {_title(norm)}"
    scaled = other.operands if other is not None and type_of(other) == "Mul" else ()
    norms = [norm for value in scaled if (norm := _norm_of_groups(value)) is not None]
    return f"{BIAS} of {_title(norms[0])}" if norms and type_of(reader.op) == "Add" else ""


def _norm_of_groups(value: SSAValue) -> Operation | None:
    """Return the InstanceNormalization of which a value is a view: a GroupNormalization in older opsets."""
    made = _maker(value)
    while made is not None and type_of(made) in traits.VIEWS:
        made = _maker(made.operands[0])
    return made if made is not None and type_of(made) == "InstanceNormalization" else None


def _is_product_with_weight(op: Operation) -> bool:
    roles = ROLES.get(type_of(op), {})
    if type_of(op) not in traits.PRODUCTS:
        return False
    return any(index in roles and constant_of(value) is not None for index, value in enumerate(op.operands))


def _is_neutral(reader: Reader, kinds: Sequence[str]) -> bool:
    """Return whether a normalization of some kinds scales by 1 or adds 0."""
    array = constant_of(reader.operand)
    if array is None or type_of(reader.op) not in kinds:
        return False
    return bool((array == (1 if reader.word == SCALE else 0)).all())


def _is_multiplied_by_weight(reader: Reader) -> bool:
    """Return whether a product has a weight with a name as its second factor: the first one is data, as the
    initial state of an unrolled cell."""
    if type_of(reader.op) not in ("Gemm", "MatMul") or reader.index != 0:
        return False
    other = reader.op.operands[1]
    while (made := _maker(other)) is not None and type_of(made) in traits.VIEWS | {"Transpose"}:
        other = made.operands[0]
    return constant_of(other) is not None and not is_generated(name_of_value(other))


def _maker(value: SSAValue) -> Operation | None:
    return value.owner if isinstance(value.owner, Operation) else None


def _title(op: Operation) -> str:
    return f"{type_of(op)} {name_of(op)}".strip()
