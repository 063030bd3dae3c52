"""Names that exporters replaced, such as `onnx::MatMul_349`, traced back to those of the module's parameters.

torch's exporter by torch.export leaves its program in the metadata of the graph and the nodes; its exporter
by TorchScript leaves the path of the module in the names of the nodes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from dialects.onnx import traits
from dialects.support.diagnostics import name_of
from dialects.support.names import name_of_value
from dialects.support.shapes import shape_of
from gradc.compiler.exported_program import LINEAR, Call, ExportedProgram
from gradc.compiler.weight_roles import (
    BIAS,
    RECURRENT_WEIGHT,
    SCALE,
    SLOPE,
    WEIGHT,
    Kind,
    Reader,
    is_vector,
    type_of,
)

TRANSPOSED, FOLDED, REORDERED, RESHAPED = "transposed", "folded", "reordered", "reshaped"
MERGED = "merged"
"""How the file stores a parameter under another name. Folded: with a BatchNormalization or an index. Merged:
with an equal one."""

_REPLACED = re.compile(r"onnx::[A-Z]\w*_\d+")
"""Names that TorchScript's exporter gives to folded constants."""

_EXPANDED = re.compile(r"(expand|repeat)(_\d+)?")
"""Names of values that torch's program expands, such as class tokens."""

_RECURRENT = ("GRU", "LSTM", "RNN")
_PARTS: Mapping[str, Sequence[str]] = {
    WEIGHT: ("weight_ih",),
    RECURRENT_WEIGHT: ("weight_hh",),
    BIAS: ("bias_ih", "bias_hh"),
}
"""Role in a recurrent op -> parameters of torch's module."""

_ENDINGS: Mapping[str, str] = {WEIGHT: "weight", SCALE: "weight", SLOPE: "weight", BIAS: "bias"}
_ENDINGS_OF_USES: Mapping[str, str] = {"multiplied": "weight", "added": "bias"}


@dataclass(frozen=True)
class Traced:
    """The names of a weight in the module, several if it holds several parameters, and how it is stored."""

    names: Sequence[str] = ()
    stored: str = ""


NO_NAMES = Traced()


def trace_names(weights: Mapping[str, Sequence[Reader]], program: ExportedProgram) -> dict[str, Traced]:
    """Return what is known of the replaced names among `weights`, given with their readers."""
    found = _by_calls(weights, program) if program.parameters else _by_paths(weights)
    return {name: traced for name, traced in found.items() if traced.names or traced.stored}


def tied_names(weights: Mapping[str, Sequence[Reader]], program: ExportedProgram) -> set[str]:
    """Return the names that tied parameters have in the modules of their readers: the file has one of them,
    and the program uses no other."""
    found = set[str]()
    for name, readers in weights.items():
        if name not in program.parameters.values():
            continue
        for reader in readers:
            scope = program.calls.get(name_of(reader.op), Call()).scope
            if scope and reader.kind is not Kind.OTHER_ROLE:
                found.add(f"{scope}.{_ending(reader) or 'weight'}")
    return found


def _by_calls(weights: Mapping[str, Sequence[Reader]], program: ExportedProgram) -> dict[str, Traced]:
    """Trace by the arguments of the calls, then by the module in which the reader is called."""
    known = set(program.parameters.values())
    missing = known - set(weights)
    replaced = {name: readers for name, readers in weights.items() if name not in known}
    layers = _layers(weights, lambda op: program.calls.get(name_of(op), Call()).text)
    found: dict[str, Traced] = {}
    for name, readers in replaced.items():
        found[name] = _first(_in_call(reader, program, missing, layers) for reader in readers)
    for name in known & weights.keys():
        found[name] = _names_of_equal(name, weights[name], program, missing)
        if any(_is_folded(reader, program) for reader in weights[name]):
            found[name] = Traced((), FOLDED)
    missing -= {name for traced in found.values() for name in traced.names}
    open_ = {name: readers for name, readers in replaced.items() if not found[name].names}
    return found | _by_scopes(open_, program, missing)


def _by_scopes(
    weights: Mapping[str, Sequence[Reader]], program: ExportedProgram, missing: set[str]
) -> dict[str, Traced]:
    """Trace constants that the exporter computed to the parameters of the modules that read them. A parameter
    that several constants may be is that which is expanded, or none; as many expanded constants as parameters
    are these, without names."""
    claims: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, readers in weights.items():
        candidates = (_in_scope(name, reader, program, missing) for reader in readers)
        if parameters := next(filter(None, candidates), ()):
            claims[parameters].append(name)
    found: dict[str, Traced] = {}
    for parameters, names in claims.items():
        chosen = [name for name in names if _EXPANDED.fullmatch(name)]
        chosen = names if len(names) == len(parameters) == 1 else chosen
        if len(chosen) == len(parameters):
            found |= {name: Traced(parameters if len(chosen) == 1 else (), FOLDED) for name in chosen}
    return found


def _is_folded(reader: Reader, program: ExportedProgram) -> bool:
    """Return whether a product stands for a BatchNormalization behind it as well."""
    call = program.calls.get(name_of(reader.op), Call())
    return type_of(reader.op) in traits.PRODUCTS and "batch_norm" in call.function


def _first(found: Iterable[Traced]) -> Traced:
    return next((traced for traced in found if traced.names), Traced())


def _in_call(
    reader: Reader, program: ExportedProgram, missing: set[str], layers: Mapping[Operation, int]
) -> Traced:
    call = program.calls.get(name_of(reader.op), Call())
    given = [program.parameters[name] for name in call.arguments if name in program.parameters]
    names = [name for name in dict.fromkeys(given) if name in missing]
    if type_of(reader.op) in _RECURRENT:
        return Traced(_of_layer(names, reader, layers), REORDERED)
    ending = _ending(reader)
    own = [name for name in names if name.endswith(ending)] if ending else []
    if reader.kind is not Kind.ROLE and len(names) > 1 and not own:
        return Traced()
    return Traced((own or names)[:1], _storage(reader, call))


def _names_of_equal(
    name: str, readers: Sequence[Reader], program: ExportedProgram, missing: set[str]
) -> Traced:
    """Return the parameters that the exporter replaced by an equal one, whose readers have their names."""
    calls = [program.calls.get(name_of(reader.op), Call()) for reader in readers]
    given = [[program.parameters.get(one, "") for one in call.arguments] for call in calls]
    others = [_in_call(reader, program, missing, {}).names for reader in readers]
    if not any(name in one for one in given):
        return Traced()
    found = [one for names, own in zip(others, given, strict=True) if name not in own for one in names]
    return Traced(list(dict.fromkeys(found)), MERGED) if found else Traced()


def _in_scope(name: str, reader: Reader, program: ExportedProgram, missing: set[str]) -> tuple[str, ...]:
    """Return the parameters of the reader's module, or of the modules in it, that are not in the file, for a
    value of the program that the exporter computed; for an expanded one also of the modules around it."""
    call = program.calls.get(name_of(reader.op), Call())
    is_argument = name in call.arguments or name_of_value(reader.operand) in call.arguments
    if reader.kind is Kind.OTHER_ROLE or call.scope is None or not is_argument:
        return ()
    own = [one for one in missing if one.rpartition(".")[0] == call.scope]
    inner = [one for one in missing if call.scope and one.startswith(f"{call.scope}.")]
    found, scope = own or inner, call.scope
    while not found and scope and _EXPANDED.fullmatch(name):
        scope = scope.rpartition(".")[0]
        found = [one for one in missing if one.rpartition(".")[0] == scope]
    return tuple(sorted(found))


def _by_paths(weights: Mapping[str, Sequence[Reader]]) -> dict[str, Traced]:
    """Trace by the names of nodes, such as `/layer/0/MatMul`."""
    replaced = {name: readers for name, readers in weights.items() if _REPLACED.fullmatch(name)}
    layers = _layers(weights, _path_of)
    weighing: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for name, readers in weights.items():
        for reader in readers:
            weighing[_path_of(reader.op), _ending(reader)].add(name)
    found: dict[str, Traced] = {}
    for name, readers in replaced.items():
        found[name] = _first(_in_path(reader, weighing, layers) for reader in readers)
    return found


def _in_path(
    reader: Reader, weighing: Mapping[tuple[str, str], set[str]], layers: Mapping[Operation, int]
) -> Traced:
    path, ending = _path_of(reader.op), _ending(reader)
    if path and type_of(reader.op) in _RECURRENT:
        number = layers.get(reader.op, 0)
        directions = ("", "_reverse")[: _directions(reader)]
        parts = [(part, way) for way in directions for part in _PARTS.get(reader.word, ())]
        return Traced([f"{path}.{part}_l{number}{way}" for part, way in parts], REORDERED)
    if bias := _name_of_bias(reader):
        return Traced([f"{bias.removesuffix('bias')}weight"], _storage(reader, Call()))
    if not path or not ending or (reader.kind is Kind.USE and not is_vector(reader.operand)):
        return Traced()
    if len(weighing[path, ending]) > 1:
        return Traced()
    return Traced([f"{path}.{ending}"], _storage(reader, Call()))


def _name_of_bias(reader: Reader) -> str:
    """Return the name of the bias that is added to the product with a weight, or ''."""
    if type_of(reader.op) != "MatMul":
        return ""
    for use in reader.op.results[0].uses:
        if type_of(use.operation) == "Add":
            other = name_of_value(use.operation.operands[1 - use.index])
            if other.endswith("bias") and not _REPLACED.fullmatch(other):
                return other
    return ""


def is_of_module(op: Operation, weight: str) -> bool:
    """Return whether the name of a node, such as `/a/norm_1/Mul`, is that of a call of the module that has a
    weight, `a.norm.weight`: TorchScript's exporter numbers the calls of a module, `norm`, `norm_1`. A list of
    parameters, `a.gates.0`, belongs to the modules around it."""
    if not name_of(op).startswith("/"):
        return False
    path, module = (_parts(text) for text in (_path_of(op), weight.rpartition(".")[0]))
    pairs = zip(path, module, strict=False)
    called = all(re.fullmatch(rf"{re.escape(own)}(_\d+)?", part) for part, own in pairs)
    is_listed = weight.rpartition(".")[2] not in ("weight", "bias") and len(path) < len(module)
    return called and (len(path) == len(module) or is_listed)


def _parts(path: str) -> list[str]:
    return path.split(".") if path else []


def _path_of(op: Operation) -> str:
    """Return the path of the module in a node's name: `a.0.b` of `/a/a.0/b/MatMul`, or ''."""
    parts = name_of(op).split("/")
    if len(parts) < 3 or parts[0]:
        return ""
    found: list[str] = []
    for part in parts[1:-1]:
        if found and part.startswith(f"{found[-1]}."):
            found.pop()
        found.append(part)
    return ".".join(found)


def _ending(reader: Reader) -> str:
    return (_ENDINGS if reader.kind is Kind.ROLE else _ENDINGS_OF_USES).get(reader.word, "")


def _layers(
    weights: Mapping[str, Sequence[Reader]], module_of: Callable[[Operation], str]
) -> dict[Operation, int]:
    """Return the number of the layer of each recurrent op among those of its module."""
    ops = {reader.op: None for readers in weights.values() for reader in readers}
    counts: defaultdict[str, int] = defaultdict(int)
    found: dict[Operation, int] = {}
    for op in _in_order(op for op in ops if type_of(op) in _RECURRENT):
        module = module_of(op)
        found[op] = counts[module]
        counts[module] += 1
    return found


def _in_order(ops: Iterable[Operation]) -> Iterator[Operation]:
    wanted = set(ops)
    first = next(iter(wanted), None)
    block = first.parent if first is not None else None
    return (op for op in (block.ops if block is not None else ()) if op in wanted)


def _of_layer(names: Sequence[str], reader: Reader, layers: Mapping[Operation, int]) -> list[str]:
    parts = _PARTS.get(reader.word, ())
    wanted = (
        re.compile(rf"(?:.*\.)?({'|'.join(parts)})_l{layers.get(reader.op, 0)}(_reverse)?") if parts else None
    )
    return [name for name in names if wanted is not None and wanted.fullmatch(name)]


def _directions(reader: Reader) -> int:
    shape = shape_of(reader.operand)
    return 2 if shape and shape[0] == 2 else 1


def _storage(reader: Reader, call: Call) -> str:
    name = type_of(reader.op)
    if name == "MatMul" and call.function in ("", LINEAR):
        return TRANSPOSED
    if name in ("Conv", "ConvTranspose"):
        return FOLDED
    return RESHAPED if name in ("PRelu", "Mul", "Add") else ""
