"""`dynamic_shapes`: which dims of the arguments are dynamic, in the forms that `torch.onnx.export` reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from dialects.shapes.forms import Form, Size, name
from dialects.support.diagnostics import several, suggest, usage

LARGEST = 2**31


@dataclass
class Dims:
    """Named dims with their example sizes and bounds. With `link`, dims given as `Dim.AUTO` are the same if
    their example sizes are; `automatic` has the first dim of each size."""

    examples: dict[str, int] = field(default_factory=dict[str, int])
    bounds: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    link: bool = False
    automatic: dict[int, str] = field(default_factory=dict[int, str])

    def add(self, dim: str, size: int, where: str, bounds: tuple[int, int] = (0, LARGEST)) -> None:
        known = self.examples.setdefault(dim, size)
        if known != size:
            hint = "dims of different sizes take different names"
            raise usage(f"dynamic_shapes: dim {dim} of {where}", given=size, expected=known, hint=hint)
        low, high = self.bounds.get(dim, (0, LARGEST))
        self.bounds[dim] = max(low, bounds[0]), min(high, bounds[1])


def entry_at(dynamic_shapes: Any, keys: Sequence[Any]) -> Any:
    """Return the entry of a tensor, by the keys that lead to it; None where all is fixed."""
    entry = dynamic_shapes
    for key in keys:
        if entry is None:
            return None
        if isinstance(entry, Mapping):
            entry = cast(Mapping[Any, Any], entry).get(key)
        elif isinstance(entry, list | tuple):
            items = cast(Sequence[Any], entry)
            entry = items[key] if isinstance(key, int) and key < len(items) else None
        else:
            entry = getattr(entry, str(key), None)
    return entry


def check_keys(dynamic_shapes: Any, names: Sequence[str], count: int) -> None:
    """Raise the error of entries for arguments that do not exist."""
    if dynamic_shapes is None:
        return
    if isinstance(dynamic_shapes, Mapping):
        for key in cast(Mapping[Any, Any], dynamic_shapes):
            if key not in names:
                hint = suggest(str(key), names)
                raise usage("dynamic_shapes", given=key, expected=f"one of {', '.join(names)}", hint=hint)
    elif not isinstance(dynamic_shapes, list | tuple):
        raise usage("dynamic_shapes", given=type(dynamic_shapes).__name__, expected="a tuple or a dict")
    elif len(cast(Sequence[Any], dynamic_shapes)) != count:
        given = f"{len(cast(Sequence[Any], dynamic_shapes))} entries"
        raise usage("dynamic_shapes", given=given, expected=f"{count}, one for each argument")


def by_attributes(dynamic_shapes: Any, paths: Sequence[Sequence[Any]]) -> Any:
    """Return entries in which those of a named tuple or data class are a dict of its attributes.

    `paths` are the keys that lead to the leaves of the arguments.
    """
    keys = list(dict.fromkeys(path[0] for path in paths if path))
    if not isinstance(dynamic_shapes, Mapping | list | tuple) or not keys:
        return dynamic_shapes
    given = dict(_items(cast(Any, dynamic_shapes)))
    if not isinstance(dynamic_shapes, Mapping) and len(given) == len(keys):
        given = dict(zip(keys, given.values(), strict=True))
    return {
        key: by_attributes(item, [path[1:] for path in paths if path and path[0] == key])
        for key, item in given.items()
    }


def check_entries(dynamic_shapes: Any, paths: Sequence[Sequence[Any]], where: str = "") -> None:
    """Raise the error of entries that lead to no tensor; `paths` are the keys that lead to the tensors."""
    if dynamic_shapes is None or [] in map(list, paths):
        return
    keys = list(dict.fromkeys(path[0] for path in paths))
    if not isinstance(dynamic_shapes, Mapping | list | tuple):
        if keys and all(hasattr(dynamic_shapes, str(key)) for key in keys):
            return
        expected = f"a dict of {several(list(map(repr, keys)))}" if keys else "None, as there is no tensor"
        raise usage(f"dynamic_shapes{where}", given=repr(dynamic_shapes), expected=expected)
    for key, item in _items(cast(Any, dynamic_shapes)):
        if key in keys:
            check_entries(item, [path[1:] for path in paths if path[0] == key], f"{where}[{key!r}]")
        elif _has_dims(item):
            hint = suggest(str(key), [str(each) for each in keys]) if isinstance(key, str) else ""
            expected = "None, as there is no tensor"
            raise usage(f"dynamic_shapes{where}[{key!r}]", given=repr(item), expected=expected, hint=hint)


def _items(entries: Mapping[Any, Any] | Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return entries.items() if isinstance(entries, Mapping) else enumerate(entries)


def _has_dims(entry: Any) -> bool:
    """Return whether an entry of a tree makes an axis dynamic."""
    if isinstance(entry, Mapping | list | tuple):
        return any(_has_dims(item) for _, item in _items(cast(Any, entry)))
    return entry is not None


def shape_of(entry: Any, tensor: str, sizes: Sequence[int], dims: Dims) -> tuple[Form, ...]:
    """Return the shape of a tensor with its dynamic dims as sizes, which are added to `dims`."""
    specs = _by_axis(entry, tensor, len(sizes))
    return tuple(_size(specs.get(axis), tensor, axis, size, dims) for axis, size in enumerate(sizes))


def _by_axis(entry: Any, tensor: str, rank: int) -> dict[int, Any]:
    if entry is None:
        return {}
    if isinstance(entry, Mapping):
        given = dict(cast(Mapping[Any, Any], entry))
    elif isinstance(entry, list | tuple):
        given = dict[Any, Any](enumerate(cast(Sequence[Any], entry)))
    else:
        raise usage(
            f"dynamic_shapes: {tensor}",
            given=type(entry).__name__,
            expected="a dict of axis to name, or None",
        )
    for axis in given:
        if not isinstance(axis, int) or not -rank <= axis < rank:
            expected = f"axes from 0 to {rank - 1}" if rank else "none, as it is a scalar"
            raise usage(f"dynamic_shapes: {tensor}", given=axis, expected=expected)
    return {axis % rank: spec for axis, spec in given.items()}


def _size(spec: Any, tensor: str, axis: int, size: int, dims: Dims) -> Form:
    where = f"{tensor} axis {axis}"
    if spec is None:
        return size
    if isinstance(spec, int):
        return _size_of_number(spec, size, where)
    if isinstance(spec, str):
        dims.add(spec, size, where)
        return name(spec)
    hint = getattr(spec, "type", None)
    if hint is not None and hasattr(hint, "name"):
        return _size_of_hint(hint.name, spec, f"{tensor}_dim_{axis}", size, dims, where)
    if hasattr(spec, "root"):
        return _size_from_root(spec, size, dims, where)
    if hasattr(spec, "__name__"):
        dims.add(spec.__name__, size, where, _bounds(spec))
        return name(spec.__name__)
    raise usage(f"dynamic_shapes: {where}", given=repr(spec), expected="a name, a torch.export.Dim or None")


def _size_of_number(spec: int, size: int, where: str) -> Form:
    """Return the size of an axis that is fixed by a number, as in `{0: 3}`."""
    if isinstance(spec, bool) or spec != size:
        hint = "a number fixes an axis at the size of the example; a name makes it dynamic"
        raise usage(f"dynamic_shapes: {where}", given=spec, expected=size, hint=hint)
    return size


def _size_of_hint(word: str, spec: Any, dim: str, size: int, dims: Dims, where: str) -> Form:
    """Return the size of an axis with `Dim.DYNAMIC`, `Dim.AUTO` or `Dim.STATIC`."""
    if word == "STATIC":
        return size
    if word == "AUTO":
        first = dims.automatic.setdefault(size, dim)
        dim = first if dims.link else dim
    dims.add(dim, size, where, _bounds(spec))
    return name(dim)


def check_derived(shapes: Sequence[tuple[Form, ...]], dims: Dims) -> None:
    """Raise the error of a dim that is in expressions only: no axis has its size."""
    plain = {size.name for shape in shapes for size in shape if isinstance(size, Size)}
    for dim in dims.examples.keys() - plain:
        hint = "name the axis itself, or give an axis the dim"
        raise usage(f"dynamic_shapes: {dim}", given="expressions of it", expected="an axis", hint=hint)


def _size_from_root(spec: Any, size: int, dims: Dims, where: str) -> Form:
    """Return the size of a dim such as `2 * Dim("n") + 1`."""
    offset = int(spec.fn(0))
    factor = int(spec.fn(1)) - offset
    root = spec.root.__name__
    if (size - offset) % factor:
        raise usage(f"dynamic_shapes: {where}", given=size, expected=f"{factor}*{root} + {offset}")
    dims.add(root, (size - offset) // factor, where, _bounds(spec.root))
    return name(root) * factor + offset


def _bounds(spec: Any) -> tuple[int, int]:
    low, high = getattr(spec, "min", None), getattr(spec, "max", None)
    return (
        low if isinstance(low, int) else 0,
        high if isinstance(high, int) and high < LARGEST else LARGEST,
    )
