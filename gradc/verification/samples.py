"""Random inputs of a graph from a seed, with plausible sizes of dynamic dims."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from dialects.cann.resize import ResizeBilinearV2GradOp
from dialects.onednn.base import OneDNNConvOp
from dialects.onednn.conv_backward_data import ConvolutionBackwardDataOp
from dialects.onednn.interpolate_backward import InterpolateBackwardOp
from dialects.onnx.types import OptionalType, SequenceType
from dialects.support import dense, entry, layouts, limits, shapes
from dialects.support.diagnostics import diagnostic_at, suggest, violation
from dialects.support.dtypes import by_name
from dialects.support.error_list import Errors, combine
from dialects.support.interfaces import InfersOperands
from dialects.support.limits import LimitError
from dialects.support.option_names import option
from dialects.support.shapes import Dim, NamedShape, Shape
from gradc.graph.tensors import TensorInfo, tensor_info
from gradc.verification.computed_sizes import computed_sizes
from gradc.verification.operand_values import operand_values
from passes.infer_types import with_resolved_readings

UNKNOWN_BATCH, UNKNOWN_SIZE, UNKNOWN_IMAGE_SIZE = 2, 12, 7
"""Sizes of unknown dims: the first of a tensor, any other, and those of a resize's result."""


@dataclass(frozen=True)
class Guess:
    """Sizes of unknown dims: by name, else `batch` for the first dim of a tensor, `size` for any other; each
    name after the first gets a size that is `step` larger.

    With `values` the inputs that are read as sizes, axes or indices get valid numbers; each value of it
    chooses others.
    """

    batch: int = UNKNOWN_BATCH
    size: int = UNKNOWN_SIZE
    step: int = 0
    named: Mapping[str, int] = field(default_factory=dict)
    values: int | None = None


ANY_SIZES = Guess()


def random_inputs(
    module: ModuleOp,
    seed: int,
    given_shapes: Mapping[str, Sequence[int]] | None = None,
    guess: Guess = ANY_SIZES,
) -> dict[str, np.ndarray]:
    """Return input name -> array: normally distributed floats, and valid sizes for inputs that are sizes.

    Weights are scaled to preserve magnitudes along a chain of ops, for half types. `given_shapes` fixes the
    shapes of named inputs. Sizes that the graph computes, as those of labels, are those at this sample.
    Raises GradcError if a shape does not fit.
    """
    module = with_resolved_readings(module)
    found = _random_inputs(module, seed, given_shapes, guess)
    sizes = computed_sizes(module, found)
    if not sizes:
        return found
    return _random_inputs(module, seed, given_shapes, replace(guess, named={**sizes, **guess.named}))


def _random_inputs(
    module: ModuleOp, seed: int, given_shapes: Mapping[str, Sequence[int]] | None, guess: Guess
) -> dict[str, np.ndarray]:
    function = entry.entry_function(module)
    names = entry.input_names(function)
    arguments = dict(zip(function.args, names, strict=True))
    infos = _refine_infos(module, arguments)
    sizes = Sizes(infos, given_shapes or {}, guess)
    _fit_convolutions(module, arguments, sizes)
    _fit_resizes(module, arguments, sizes)
    found = _draw_inputs(infos, sizes, seed)
    defaults = {name: dense.to_numpy(value) for name, value in entry.defaults(function).items()}
    for name, argument in zip(names, function.args, strict=True):
        found[name] = defaults[name] if name in defaults else _scale_weights(argument, found[name])
        if (wanted := _size_input_value(argument, names, function.args, found)) is not None:
            found[name] = wanted
    if guess.values is not None:
        fitting = operand_values(function, found, guess.values)
        found |= {name: array for name, array in fitting.items() if name not in (given_shapes or {})}
    return found


def random_model_inputs(
    infos: Sequence[TensorInfo], seed: int, given_shapes: Mapping[str, Sequence[int]] | None = None
) -> dict[str, np.ndarray]:
    """Return random inputs for a model of which only the inputs are known. A shape of () may be of unknown
    rank: onnxruntime reports both alike."""
    known = [replace(info, shape=info.shape or None) for info in infos]
    return _draw_inputs(known, Sizes(known, given_shapes or {}), seed)


def check_runnable(module: ModuleOp) -> None:
    """Raise LimitError for a tensor with more elements than the limit for running a graph."""
    for op in module.walk():
        for value in op.results:
            shape = shapes.shape_of(value) if shapes.has_rank(value) else ()
            count = math.prod(dim for dim in shape if isinstance(dim, int))
            if count > limits.current().tensor_elements:
                what = f"elements of a tensor {shapes.show(shape)} of a graph that is to run"
                text = limits.too_large("tensor-elements", count, what)
                raise LimitError(diagnostic_at(op, "error", text))


def _draw_inputs(infos: Sequence[TensorInfo], sizes: Sizes, seed: int) -> dict[str, np.ndarray]:
    total = sum(math.prod(sizes.shape(info)) for info in infos)
    limits.check("input-elements", total, "elements of the random inputs")
    rng = np.random.default_rng(seed)
    return {info.name: _random(info, sizes.shape(info), rng) for info in infos}


class Sizes:
    """Concrete shapes of inputs: given, known, or chosen; equal names get equal sizes."""

    def __init__(
        self,
        infos: Sequence[TensorInfo],
        given: Mapping[str, Sequence[int]],
        guess: Guess = ANY_SIZES,
    ):
        names = [info.name for info in infos]
        expected = f"one of {', '.join(names)}"
        unknown = [
            violation(option("shapes"), given=name, expected=expected, hint=suggest(name, names))
            for name in given
            if name not in names
        ]
        if unknown:
            raise combine(unknown)
        self._given = {name: tuple(shape) for name, shape in given.items()}
        self._guess = guess
        self._symbols: dict[str, int] = _sizes_by_name(infos, guess)
        errors = Errors()
        for info in infos:
            errors.attempt(self._learn, info)
        errors.check()

    def _learn(self, info: TensorInfo) -> None:
        given = self._given.get(info.name)
        if given is None:
            return
        if info.shape is not None and not shapes.compatible(given, info.shape):
            raise violation(
                f"{option('shapes')} of {info.name}",
                given=list(given),
                expected=shapes.show(info.dims),
            )
        for dim, size in zip(info.dims, given, strict=False):
            if isinstance(dim, str) and self._symbols.setdefault(dim, size) != size:
                raise violation(
                    f"{option('shapes')} of {info.name}, dim {dim}",
                    given=size,
                    expected=self._symbols[dim],
                )

    def shape(self, info: TensorInfo) -> tuple[int, ...]:
        if info.name in self._given:
            return self._given[info.name]
        return tuple(self._size(dim, axis) for axis, dim in enumerate(info.dims))

    def known(self, info: TensorInfo) -> NamedShape:
        """Return the shape with the known sizes: given, or those of names."""
        given = self._given.get(info.name, info.dims)
        return tuple(self._symbols.get(dim, dim) if isinstance(dim, str) else dim for dim in given)

    def prefer(self, name: str, shape: Sequence[int]) -> None:
        """Set a preferred shape for an input without a given one."""
        self._given.setdefault(name, tuple(shape))

    def choose(self, dim: int | str | None, size: int) -> int:
        """Return the size of a dim: known, that of its name, else `size`, which its name then gets."""
        if isinstance(dim, int):
            return dim
        return self._symbols.setdefault(dim, size) if dim else size

    def _size(self, dim: int | str | None, axis: int) -> int:
        found = shapes.size_with(dim, self._symbols) if isinstance(dim, str) else None
        guessed = self._guess.size + self._guess.step * len(self._symbols) if axis else self._guess.batch
        return self.choose(dim, found if found is not None else guessed)


def _sizes_by_name(infos: Sequence[TensorInfo], guess: Guess) -> dict[str, int]:
    """Return the guessed sizes by name. Raises GradcError for an unknown name."""
    known = list(dict.fromkeys(dim for info in infos for dim in info.dims if isinstance(dim, str)))
    for name in guess.named:
        if name not in known:
            none = f"no {option('sizes')}: no dim has a name"
            expected = f"a named dim of an input: {', '.join(known)}" if known else none
            raise violation(option("sizes"), given=name, expected=expected, hint=suggest(name, known))
    return dict(guess.named)


def _refine_infos(module: ModuleOp, names: Mapping[BlockArgument, str]) -> list[TensorInfo]:
    """Return the inputs with the sizes that follow from their readers, also for all dims of the same name."""
    known = {argument: shapes.shape_of(argument) for argument in names if shapes.has_rank(argument)}
    symbols: dict[str, int] = {}
    for value, shape in _operand_shapes(module):
        if not isinstance(value, BlockArgument) or value not in known:
            continue
        for dim, size in zip(shapes.dim_names(known[value]), shape, strict=True):
            if isinstance(dim, str) and isinstance(size, int):
                symbols[dim] = size
        known[value] = shapes.merge(shape, known[value])
    infos = [tensor_info(name, argument) for argument, name in names.items()]
    dims = {names[a]: shapes.dim_texts(shapes.with_sizes(shape, symbols)) for a, shape in known.items()}
    elements = {name: _element_shape(argument.type) for argument, name in names.items()}
    return [replace(info, shape=dims.get(info.name, elements[info.name])) for info in infos]


def _element_shape(type_: Attribute) -> NamedShape | None:
    """Return the known shape of the tensors in a container."""
    is_container = isinstance(type_, SequenceType | OptionalType)
    while isinstance(type_, SequenceType | OptionalType):
        type_ = type_.element
    return (
        shapes.dim_texts(shapes.shape_of(type_)) if is_container and isinstance(type_, TensorType) else None
    )


def _operand_shapes(module: ModuleOp) -> Iterator[tuple[SSAValue, Shape]]:
    for op in module.walk():
        if isinstance(op, InfersOperands):
            yield from op.operand_shapes()


def _fit_convolutions(module: ModuleOp, names: Mapping[BlockArgument, str], sizes: Sizes) -> None:
    """Set the size of diff_dst that fits a known diff_src."""
    for op in module.walk():
        if not isinstance(op, ConvolutionBackwardDataOp) or op.diff_dst not in names:
            continue
        assert isinstance(op.diff_dst, BlockArgument)
        info = tensor_info(names[op.diff_dst], op.diff_dst)
        problem = op.problem()
        spatial = [
            _forward_size(window, x, y, pads)
            for window, x, y, pads in zip(
                problem.windows, problem.src, problem.dst, problem.pads, strict=True
            )
        ]
        if all(size is not None for size in spatial):
            batch, *_ = op.channels_first(op.diff_dst)
            full = (batch, problem.out_channels, *spatial)
            known = [d if isinstance(d, int) else UNKNOWN_BATCH for d in full]
            sizes.prefer(info.name, layouts.reorder(known, "NCX", op.data_format))


def _fit_resizes(module: ModuleOp, names: Mapping[BlockArgument, str], sizes: Sizes) -> None:
    """Set unknown image sizes that differ from the others, since a resize to the same size tests little."""
    for op in module.walk():
        if isinstance(op, InterpolateBackwardOp):
            donor, layout = op.src, op.data_format
        elif isinstance(op, ResizeBilinearV2GradOp):
            donor, layout = op.original_image, op.format
        else:
            continue
        if not isinstance(donor, BlockArgument):
            continue
        info = tensor_info(names[donor], donor)
        spatial = layouts.spatial_axes(layout, len(info.dims) - 2)
        scales = _deciding_scales(op, spatial)
        chosen = [
            sizes.choose(
                dim,
                _image_size(op, axis, scales) if axis in spatial else UNKNOWN_SIZE if axis else UNKNOWN_BATCH,
            )
            for axis, dim in enumerate(info.dims)
        ]
        sizes.prefer(info.name, chosen)
        if scales and isinstance(op, InterpolateBackwardOp) and isinstance(op.diff_dst, BlockArgument):
            _fit_scales(tensor_info(names[op.diff_dst], op.diff_dst), chosen, scales, sizes)


def _deciding_scales(op: Operation, spatial: Sequence[int]) -> dict[int, float]:
    """Return the scales by axis if they alone relate the sizes."""
    if not isinstance(op, InterpolateBackwardOp) or op.is_given("sizes") or not op.is_given("scales"):
        return {}
    return dict(zip(spatial, op.value("scales"), strict=True))


def _image_size(op: Operation, axis: int, scales: Mapping[int, float]) -> int:
    if axis not in scales or not isinstance(op, InterpolateBackwardOp):
        return UNKNOWN_IMAGE_SIZE
    y = shapes.shape_of(op.diff_dst)[axis]
    return max(1, round(y / scales[axis])) if isinstance(y, int) else UNKNOWN_IMAGE_SIZE


def _fit_scales(info: TensorInfo, src: Sequence[int], scales: Mapping[int, float], sizes: Sizes) -> None:
    """Set the size of diff_dst to that of src times the scales."""
    shape = [
        sizes.choose(dim, max(1, int(np.float32(size * np.float32(scales.get(axis, 1.0))))))
        for axis, (dim, size) in enumerate(zip(info.dims, src, strict=True))
    ]
    sizes.prefer(info.name, shape)


def _forward_size(window, x: Dim, y: Dim, pads) -> int | None:
    if isinstance(y, int):
        return y
    if not isinstance(x, int):
        return None
    return -(-x // window.stride) if pads is None else window.output_size(x, *pads)


def _random(info: TensorInfo, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    container, _, inner = info.dtype.partition("(")
    if inner:
        of_elements = (2, 3) if info.shape is None else shape
        element = _random(TensorInfo(info.name, inner[:-1], info.shape), of_elements, rng)
        return element if container == "optional" else [element, element]
    dtype = by_name(info.dtype)
    if dtype is not None and dtype.name == "string":
        return rng.choice(np.array(["a", "bc", "é"], object), shape)
    if dtype is None:
        raise violation(f"input {info.name}", given=info.dtype, expected="a dtype that gradc has")
    if np.issubdtype(dtype.numpy, np.integer) or dtype.name == "boolean":
        return rng.integers(0, 2, shape).astype(dtype.numpy)
    return rng.standard_normal(shape).astype(np.float32).astype(dtype.numpy, copy=False)


def _scale_weights(argument: BlockArgument, array: np.ndarray) -> np.ndarray:
    """Divide weights of a convolution by the square root of its number of terms."""
    for use in argument.uses:
        op = use.operation
        if isinstance(op, OneDNNConvOp) and use.index == 1:
            channels = layouts.axis_of(op.value("weights_format"), "I", array.ndim - 2)
            terms = array.size // (array.shape[channels] * op.groups)
            return (array.astype(np.float32) / np.float32(max(terms, 1) ** 0.5)).astype(array.dtype)
    return array


def _size_input_value(
    argument: BlockArgument,
    names: Sequence[str],
    arguments: Sequence[BlockArgument],
    found: Mapping[str, np.ndarray],
) -> np.ndarray | None:
    """Return the value of a size input for the first op that reads it as one, or None."""
    arrays = {a: found[n] for n, a in zip(names, arguments, strict=True)}
    for use in argument.uses:
        wanted = _size_value(use.operation, use.index, arrays)
        if wanted is not None:
            return np.array(wanted, np.int32)
    return None


def _size_value(
    op: Operation, index: int, arrays: Mapping[BlockArgument, np.ndarray]
) -> Sequence[int] | None:
    if index != 2:
        return None
    if isinstance(op, InterpolateBackwardOp) and op.diff_dst in arrays:
        shape = arrays[op.diff_dst].shape  # pyright: ignore[reportArgumentType]
        return [d for d in op.spatial(shape) if isinstance(d, int)]
    if isinstance(op, ConvolutionBackwardDataOp):
        return _natural_shape(op, arrays)
    return None


def _natural_shape(
    op: ConvolutionBackwardDataOp, arrays: Mapping[BlockArgument, np.ndarray]
) -> Sequence[int] | None:
    """Return the shape of diff_src without residue; X = s Y for `same_*`, which every rule admits."""
    if op.diff_dst not in arrays:
        return None
    shape = arrays[op.diff_dst].shape  # pyright: ignore[reportArgumentType]
    batch, _, *spatial = layouts.reorder(shape, op.data_format, "NCX")
    problem = op.problem()
    sizes = [
        window.stride * y if pads is None else window.input_size(y, *pads, 0)
        for window, y, pads in zip(problem.windows, spatial, problem.pads, strict=True)
    ]
    full = (batch, problem.in_channels, *sizes)
    return layouts.reorder(full, "NCX", op.data_format)
