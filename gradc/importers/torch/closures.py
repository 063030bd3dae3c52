"""Modules and optimizers that a function reaches: its own, those of its closure, its globals, and so on."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from dialects.support.entry import free_name
from gradc.importers.torch.torch_internals import is_torch_file, torch

MAX_OBJECTS = 10_000
"""Objects that are looked at before the search ends."""


Holder = tuple[str, dict[Any, Any] | list[Any]]
"""A name, and the attributes of an object or the items of a dict or list."""


@dataclass
class Reachable:
    """Objects that a function reaches: modules by the names of variables, without parts of others;
    optimizers; leaf tensors outside of modules; and other holders of tensors."""

    modules: dict[str, Any] = field(default_factory=dict[str, Any])
    optimizers: list[Any] = field(default_factory=list[Any])
    leaves: list[Any] = field(default_factory=list[Any])
    holders: list[Holder] = field(default_factory=list[Holder])


def find_reachable(function: Callable[..., Any]) -> Reachable:
    """Return the objects that a function reaches through its closure, its globals, and functions it calls.

    Holders are also those that methods of its modules read.
    """
    found = Reachable()
    for name, value in _walk([("", function)]):
        if isinstance(value, torch.nn.Module):
            found.modules[free_name(name, found.modules)] = value
        elif isinstance(value, torch.optim.Optimizer):
            found.optimizers.append(value)
        elif isinstance(value, torch.Tensor):
            found.leaves += [value] if value.is_leaf and value.requires_grad else []
        else:
            found.holders += _holders(name, value)
    parts = {id(part) for one in found.modules.values() for part in one.modules() if part is not one}
    found.modules = {name: one for name, one in found.modules.items() if id(one) not in parts}
    for name, value in _walk(_read_by_classes(found.modules)):
        found.holders += _holders(name, value)
    found.holders = list({id(owner): (name, owner) for name, owner in found.holders}.values())
    return found


def _walk(start: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield name and object of what some objects reach, each once; parts of modules and optimizers are not
    looked for."""
    pending, seen = list(start), set[int]()
    while pending and len(seen) < MAX_OBJECTS:
        name, value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield name, value
        if not isinstance(value, torch.nn.Module | torch.optim.Optimizer | torch.Tensor):
            pending += reversed(list(_within(name, value)))


def _read_by_classes(modules: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the methods, dicts and lists of the classes of modules that are not torch's own."""
    parts = [part for one in modules.values() for part in one.modules()]
    classes = {one for part in parts for one in type(part).__mro__ if _is_own_class(one)}
    return [
        ("", item)
        for one in classes
        for item in vars(one).values()
        if isinstance(item, types.FunctionType | dict | list)
    ]


def _is_own_class(given: type) -> bool:
    return given.__module__.partition(".")[0] not in ("torch", "builtins", "numpy")


def _holders(name: str, value: Any) -> list[Holder]:
    if isinstance(value, dict | list):
        return [(name, cast("dict[Any, Any] | list[Any]", value))]
    if isinstance(value, types.FunctionType) and not is_torch_file(value.__code__.co_filename):
        return [("", value.__globals__), (value.__name__, vars(value))]
    return [(name, vars(value))] if _is_plain_object(value) else []


def _within(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and value of what an object reaches in one step."""
    if isinstance(value, types.FunctionType):
        yield from _of_function(value)
    elif isinstance(value, types.MethodType):
        yield name, value.__func__
        yield name, value.__self__
    elif isinstance(value, functools.partial):
        call = cast("functools.partial[Any]", value)
        yield name, call.func
        yield from ((f"{name}_{i}" if name else f"module_{i}", item) for i, item in enumerate(call.args))
        yield from call.keywords.items()
    elif isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in cast(Mapping[Any, Any], value).items())
    elif isinstance(value, list | tuple):
        yield from ((f"{name}_{i}", item) for i, item in enumerate(cast(list[Any], value)))
    elif isinstance(value, type):
        yield from ((key, item) for key, item in vars(value).items() if isinstance(item, dict | list))
    elif _is_plain_object(value):
        yield from vars(value).items()
        yield name, type(value)


def _is_plain_object(value: Any) -> bool:
    """Return whether an object is an instance of a class written in Python outside of torch."""
    if isinstance(value, type | types.ModuleType) or not hasattr(value, "__dict__"):
        return False
    return _is_own_class(type(value))


def _of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue
    for name, item in {**(function.__kwdefaults__ or {}), **_defaults(function)}.items():
        yield name, item
    if not is_torch_file(code.co_filename):
        yield from (
            (name, function.__globals__[name]) for name in _names(code) if name in function.__globals__
        )


def _defaults(function: types.FunctionType) -> dict[str, Any]:
    given = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return dict(zip(names[len(names) - len(given) :], given, strict=True))


def _names(code: types.CodeType) -> list[str]:
    """Return the names of the globals that code and the functions within it read."""
    pending, found = [code], list[str]()
    while pending:
        code = pending.pop()
        found += [one.argval for one in dis.get_instructions(code) if one.opname in _READS]
        pending += [item for item in code.co_consts if isinstance(item, types.CodeType)]
    return found


_READS = ("LOAD_GLOBAL", "LOAD_NAME")
