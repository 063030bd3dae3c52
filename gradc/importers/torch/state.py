"""Parameters and buffers of captured modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gradc.importers.torch import refusals
from gradc.importers.torch.captured import InputKind
from gradc.importers.torch.closures import Holder, find_reachable
from gradc.importers.torch.torch_internals import location_of_function, torch


@dataclass
class State:
    """Tensors with a name: those of `named_parameters()` and `named_buffers()`, each tensor once."""

    modules: Mapping[str, Any] = field(default_factory=dict[str, Any])
    holders: Sequence[Holder] = ()
    tensors: dict[str, Any] = field(default_factory=dict[str, Any])
    parameters: set[str] = field(default_factory=set[str])
    before: list[tuple[str, Any, dict[Any, Any]]] = field(
        default_factory=list[tuple[str, Any, dict[Any, Any]]]
    )

    location: str = ""
    """`file.py:12` of the function's definition."""

    has_left_tensors: bool = False
    """Whether a call left tensors outside of parameters and buffers, which a later call could read."""

    optimizers: Sequence[Any] = ()
    """Their states are tensors, too, named `<parameter>.<slot>`."""

    leaves: Sequence[Any] = ()
    """Tensors outside of modules that gradients are accumulated in."""

    def gradients(self) -> list[tuple[Any, Any]]:
        """Return each tensor that may have a gradient, and its gradient or None."""
        leaves = [tensor for tensor in self.tensors.values() if tensor.is_leaf]
        return [(tensor, tensor.grad) for tensor in (*leaves, *self.leaves)]

    def kind(self, name: str) -> InputKind:
        return "parameter" if name in self.parameters else "buffer"

    def new_buffers(self) -> dict[str, Any]:
        """Return the buffers to which another tensor was assigned."""
        now = {name: tensor for name, tensor, _ in _tensors_of(self.modules)}
        return {
            name: now[name]
            for name, tensor in self.tensors.items()
            if name in now and now[name] is not tensor
        }

    @contextmanager
    def preserve(self) -> Iterator[None]:
        """Undo what calls do to the attributes of modules, to torch's default dtype, and to gradients, which
        are None first."""
        before = [(owner, dict(owner)) for owner in self._attributes()]
        default_dtype = torch.get_default_dtype()
        try:
            with self.preserve_tensors():
                yield
        finally:
            torch.set_default_dtype(default_dtype)
            for owner, items in before:
                owner.clear()
                owner.update(items)

    @contextmanager
    def preserve_tensors(self) -> Iterator[None]:
        """Undo what a call does to tensors in modules, objects, dicts and lists, and to gradients.

        Gradients are None first, as after `zero_grad()`. Python numbers are left: what depends on them
        differs between calls, and is found by that.
        """
        gradients = self.gradients()
        set_gradients((tensor, None) for tensor, _ in gradients)
        self.before = [(name, owner, _items(owner)) for name, owner in self._holders()]
        optimizers = [
            (one, {key: dict(slots) for key, slots in one.state.items()}, [dict(g) for g in one.param_groups])
            for one in self.optimizers
        ]
        try:
            yield
            if any(_count_of_slots(one) > sum(map(len, slots.values())) for one, slots, _ in optimizers):
                raise refusals.new_optimizer_state(self.location)
            _check_groups(optimizers, self.location)
        finally:
            for one, slots, groups in optimizers:
                one.state.clear()
                one.state.update(slots)
                for group, values in zip(one.param_groups, groups, strict=True):
                    group.clear()
                    group.update(values)
            for _, owner, items in self.before:
                _restore_tensors(owner, items)
            set_gradients(gradients)

    @contextmanager
    def preserve_named(self) -> Iterator[None]:
        """Undo what a call does to parameters, buffers, optimizers and gradients, and to nothing else."""
        holders = [(owner, dict(owner)) for owner in self._named_owners()]
        gradients = self.gradients()
        slots = [(one, {key: dict(items) for key, items in one.state.items()}) for one in self.optimizers]
        try:
            yield
        finally:
            for owner, items in holders:
                owner.clear()
                owner.update(items)
            for one, items in slots:
                one.state.clear()
                one.state.update(items)
            set_gradients(gradients)

    @contextmanager
    def preserve_values(self) -> Iterator[None]:
        """Undo what a call does in place to parameters, buffers and states."""
        before = [(tensor, tensor.detach().clone()) for tensor in self.tensors.values()]
        try:
            yield
        finally:
            for tensor, value in before:
                tensor.data.copy_(value)

    def leaves_tensors(self) -> bool:
        """Return whether a call has left tensors in objects, dicts or lists that `preserve_tensors` undoes,
        besides the buffers of modules."""
        named = {id(owner) for owner in self._named_owners()}
        return any(id(owner) not in named and _is_changed(owner, items) for _, owner, items in self.before)

    def check_attributes(self, read: set[int]) -> None:
        """Raise the error of tensors that a call has read and replaced; `read` are their ids.

        Buffers may change, and so may tensors that are written before they are read.
        """
        buffers = {id(tensor) for tensor in self.tensors.values()}
        for name, owner, items in self.before:
            for key, value in items.items():
                if id(value) in read and id(value) not in buffers and _get(owner, key) is not value:
                    raise refusals.state_outside_of_buffers(
                        f"{name}.{key}" if name else str(key), self.location
                    )

    def _named_owners(self) -> Iterator[dict[Any, Any]]:
        for root in self.modules.values():
            for module in root.modules():
                yield from _dicts_of(module)

    def _attributes(self) -> Iterator[dict[Any, Any]]:
        for _, owner in self._module_holders():
            yield owner

    def _holders(self) -> Iterator[Holder]:
        yield from self._module_holders()
        yield from self.holders

    def _module_holders(self) -> Iterator[tuple[str, dict[Any, Any]]]:
        for prefix, root in self.modules.items():
            for name, module in root.named_modules(prefix=prefix):
                yield name, module.__dict__
                yield from ((name, owner) for owner in _dicts_of(module))


def _check_groups(optimizers: Sequence[tuple[Any, Any, Sequence[dict[str, Any]]]], location: str) -> None:
    """Raise the error of a call that changes a number of an optimizer, such as its rate."""
    for optimizer, _, groups in optimizers:
        for group, before in zip(optimizer.param_groups, groups, strict=True):
            for key, old in before.items():
                is_number = isinstance(old, int | float) and not isinstance(old, bool)
                if is_number and group[key] is not old and float(group[key]) != old:
                    raise refusals.changed_number(key, location)


def _items(owner: dict[Any, Any] | list[Any]) -> dict[Any, Any]:
    return dict(owner) if isinstance(owner, dict) else dict(enumerate(owner))


def _get(owner: dict[Any, Any] | list[Any], key: Any) -> Any:
    if isinstance(owner, dict):
        return owner.get(key)
    return owner[key] if key < len(owner) else None


def _dicts_of(module: Any) -> list[dict[Any, Any]]:
    """Return the dicts of parameters and buffers; those of a scripted module cannot change."""
    return [owner for owner in (module._parameters, module._buffers) if isinstance(owner, dict)]


def _is_changed(owner: dict[Any, Any] | list[Any], before: Mapping[Any, Any]) -> bool:
    """Return whether an item is another tensor than before, or no tensor any more."""
    now = _items(owner)
    return any(
        now.get(key) is not before.get(key)
        and (isinstance(now.get(key), torch.Tensor) or isinstance(before.get(key), torch.Tensor))
        for key in {*now, *before}
    )


def _restore_tensors(owner: dict[Any, Any] | list[Any], before: Mapping[Any, Any]) -> None:
    """Put back tensors, take away new ones."""
    if isinstance(owner, list):
        if any(isinstance(item, torch.Tensor) for item in (*owner, *before.values())):
            owner[:] = before.values()
        return
    for key in [*before, *owner]:
        now, old = owner.get(key), before.get(key)
        if now is old or not (isinstance(now, torch.Tensor) or isinstance(old, torch.Tensor)):
            continue
        if key in before:
            owner[key] = old
        else:
            del owner[key]


def _tensors_of(modules: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    for prefix, module in modules.items():
        for name, tensor in module.named_parameters(prefix):
            yield name, tensor, True
        for name, tensor in module.named_buffers(prefix):
            yield name, tensor, False


def set_gradients(gradients: Iterable[tuple[Any, Any]]) -> None:
    """Set the gradient of each tensor."""
    for tensor, gradient in gradients:
        tensor.grad = gradient


def find_state(function: Callable[..., Any]) -> State:
    """Return the state of a module, or of the modules that a function closes over.

    Names are those of the module; with several modules each has the name of its variable before them.
    """
    reached = find_reachable(function)
    modules = reached.modules
    if len(modules) == 1:
        modules = {"": next(iter(modules.values()))}
    state = State(modules, reached.holders, optimizers=reached.optimizers, leaves=reached.leaves)
    state.location = location_of_function(function)
    known: set[int] = set()
    for name, tensor, is_parameter in _tensors_of(modules):
        if id(tensor) in known or tensor.is_meta:
            continue
        if torch.nn.parameter.is_lazy(tensor):
            raise refusals.uninitialised(name, state.location)
        known.add(id(tensor))
        state.tensors[name] = tensor
        if is_parameter:
            state.parameters.add(name)
    for name, tensor in _slots(state):
        if id(tensor) not in known:
            known.add(id(tensor))
            state.tensors[name] = tensor
    return state


def _slots(state: State) -> Iterator[tuple[str, Any]]:
    """Yield the states of optimizers with their names."""
    names = {id(tensor): name for name, tensor in state.tensors.items()}
    for optimizer in state.optimizers:
        for parameter, slots in optimizer.state.items():
            name = names.get(id(parameter), "state")
            yield from ((f"{name}.{slot}", t) for slot, t in slots.items() if isinstance(t, torch.Tensor))


def _count_of_slots(optimizer: Any) -> int:
    return sum(map(len, optimizer.state.values()))
