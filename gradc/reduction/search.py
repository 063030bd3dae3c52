"""Search for the smallest module that is still interesting: the order of the attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute

from dialects.support import shapes
from dialects.support.attributes import documented_attributes
from dialects.support.documented_op import DocumentedOp
from dialects.support.dtypes import HALVES, name_of
from gradc.graph.checks import check_graph
from gradc.graph.printing import module_text
from gradc.reduction import graphs, sizes
from gradc.reduction.ddmin import minimal

Interesting = Callable[[ModuleOp], bool]
"""Return whether a module fails as the first one did; may modify the module."""

Make = Callable[[], ModuleOp]

DEPENDENT_ATTRIBUTES = (
    "data_format",
    "weights_format",
    "format",
    "dst_shape",
    "sizes",
    "inputSize",
    "outputSize",
)
"""Attributes that determine sizes or follow from them."""


@dataclass
class Search:
    """`best` is always interesting. At most `limit` modules are tested; `progress` is called after each."""

    best: ModuleOp
    interesting: Interesting
    limit: int
    progress: Callable[[], None] = lambda: None
    tests: int = 0
    known: dict[str, bool] = field(default_factory=dict)

    def run(self) -> ModuleOp:
        """Return the smallest module found; deterministic."""
        before = ""
        while before != (before := module_text(self.best)):
            self._drop_operations()
            self._drop_outputs()
            for moves in (_free_constants, _plain_attributes, _small_sizes, _plain_dtypes):
                self._accept_all(moves)
        return self.best

    def _drop_operations(self) -> None:
        whole_graph = self.best
        numbers = range(len(graphs.operations(whole_graph)))
        minimal(numbers, lambda kept: self.attempt(lambda: graphs.with_operations(whole_graph, set(kept))))

    def _drop_outputs(self) -> None:
        whole_graph = self.best
        numbers = range(graphs.outputs(whole_graph))
        minimal(numbers, lambda kept: self.attempt(lambda: graphs.with_outputs(whole_graph, set(kept))))

    def _accept_all(self, moves: Callable[[ModuleOp], Iterator[Make]]) -> None:
        """Restart after each accepted move, until none is accepted."""
        while any(self.attempt(make) for make in moves(self.best)):
            pass

    def attempt(self, make: Make) -> bool:
        """Return whether the module of `make` is valid and interesting; it then becomes the best."""
        candidate = _legal(make)
        if candidate is None or self.tests >= self.limit:
            return False
        text = module_text(candidate)
        if text not in self.known:
            self.tests += 1
            self.known[text] = self.interesting(candidate.clone())
            self.progress()
        if self.known[text]:
            self.best = candidate
        return self.known[text]


def _legal(make: Make) -> ModuleOp | None:
    """Return the module, None if it cannot be made: ops differ in what can be removed."""
    try:
        candidate = make()
        check_graph(candidate)
    except Exception:
        return None
    return candidate


def _free_constants(module: ModuleOp) -> Iterator[Make]:
    for number, op in enumerate(graphs.constants(module)):
        if not graphs.is_data(op):
            continue
        yield lambda number=number: graphs.with_input_for(module, number)
        if not graphs.is_splat(op):
            yield lambda number=number: graphs.with_splat_for(module, number)


def _plain_attributes(module: ModuleOp) -> Iterator[Make]:
    for number, op in enumerate(graphs.operations(module)):
        if not isinstance(op, DocumentedOp):
            continue
        if op.attributes:
            yield lambda number=number: sizes.without_discardable(module, number)
        for name, value in _plainer(op):
            change = {name: value}
            yield lambda number=number, change=change: sizes.with_attributes(module, number, change)


def _plainer(op: DocumentedOp) -> Iterator[tuple[str, Attribute | None]]:
    """Yield attributes removed, else a list or one element of it at its minimum."""
    for name, documented in documented_attributes(type(op)).items():
        if not op.is_given(name) or name in DEPENDENT_ATTRIBUTES:
            continue
        if not documented.required:
            yield name, None
        encode, value = documented.spec.encode, op.value(name)
        if documented.spec.tag == "s64" and value > 1:
            yield name, encode(1)
        if documented.spec.tag != "s64[]":
            continue
        least = 0 if name.startswith(("pads", "output_padding", "residue")) else 1
        plain = [(least,) * len(value), *((*value[:i], least, *value[i + 1 :]) for i in range(len(value)))]
        yield from ((name, encode(other)) for other in plain if other != value)


def _small_sizes(module: ModuleOp) -> Iterator[Make]:
    """Yield smaller sizes of inputs: all equal ones, those of one input, single ones, pairs; large sizes
    first."""
    types = sizes.input_types(module)
    places = [
        (number, axis, dim)
        for number, type_ in enumerate(types)
        for axis, dim in enumerate(shapes.shape_of(type_))
        if isinstance(dim, int) and dim > 1
    ]
    for size in sorted({dim for *_, dim in places}, reverse=True):
        equal = {(number, axis) for number, axis, dim in places if dim == size}
        single = [{place} for place in sorted(equal)]
        by_input = [{place for place in equal if place[0] == number} for number in range(len(types))]
        pairs = [{a, b} for a, b in combinations(sorted(equal), 2) if a[0] != b[0]]
        groups = [group for group in (equal, *by_input, *single, *pairs) if group]
        for smaller in sorted({1, 2, 3, size // 2, size - 1} & set(range(1, size))):
            for group in groups:
                changed = [_resize(t, n, group, smaller) for n, t in enumerate(types)]
                yield lambda changed=changed: sizes.with_types(module, changed)


def _resize(type_: TensorType, number: int, places: set[tuple[int, int]], size: int) -> TensorType:
    dims = enumerate(shapes.shape_of(type_))
    shape = [size if (number, axis) in places else dim for axis, dim in dims]
    return shapes.tensor_type(type_.element_type, shape)


def _plain_dtypes(module: ModuleOp) -> Iterator[Make]:
    types = sizes.input_types(module)
    plain = [_single(type_) for type_ in types]
    if plain != types:
        yield lambda: sizes.with_types(module, plain)


def _single(type_: TensorType) -> TensorType:
    """Replace half dtypes by f32."""
    half = name_of(type_.element_type) in HALVES
    return shapes.tensor_type(f32, shapes.shape_of(type_)) if half else type_
