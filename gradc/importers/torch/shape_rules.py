"""Sizes of the results of convolutions and pools, where the traces alone leave the rounding open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dialects.shapes.forms import Form
from dialects.shapes.sizes import floordiv
from gradc.importers.torch.captured import ValueRef

_POOLS = ("max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
_MEANS = ("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")


def candidates(op: str, arguments: Sequence[Any], shapes: Sequence[tuple[Form, ...]]) -> list[Form]:
    """Return sizes that a result of the op may have; `shapes` are those of the tensors among the arguments.

    Results whose sizes in the traces differ from them have other ones.
    """
    if op == "convolution.default":
        return _convolution(arguments, shapes)
    if op in _POOLS:
        _, kernel, stride, padding, dilation, ceil = arguments[:6]
        return _pool(shapes[0], kernel, stride, padding, dilation, ceil)
    if op in _MEANS:
        _, kernel, stride, padding, ceil = arguments[:5]
        return _pool(shapes[0], kernel, stride, padding, (1,), ceil)
    return []


def _spread(given: Sequence[int], rank: int) -> list[int]:
    return list(given) * rank if len(given) == 1 else list(given)


def _convolution(arguments: Sequence[Any], shapes: Sequence[tuple[Form, ...]]) -> list[Form]:
    _, _, _, stride, padding, dilation, transposed, output_padding, _ = arguments
    source, weight = shapes[0][2:], shapes[1][2:]
    rank = len(source)
    found: list[Form] = []
    windows = zip(
        source,
        weight,
        *(_spread(given, rank) for given in (stride, padding, dilation, output_padding)),
        strict=True,
    )
    for size, kernel, step, pad, spread, extra in windows:
        reach = (kernel - 1) * spread
        if transposed:
            found.append((size - 1) * step - 2 * pad + reach + extra + 1)
        elif isinstance(step, int):
            found.append(floordiv(size + (2 * pad - reach - 1), step) + 1)
    return found


def _pool(
    shape: Sequence[Form],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil: bool,
) -> list[Form]:
    rank = len(kernel)
    found: list[Form] = []
    windows = zip(
        shape[-rank:],
        kernel,
        *(_spread(given, rank) for given in (stride or kernel, padding, dilation)),
        strict=True,
    )
    for size, width, step, pad, spread in windows:
        room = 2 * pad - spread * (width - 1) - 1 + (step - 1 if ceil else 0)
        found.append(floordiv(size + room, step) + 1)
    return found


def operand_shapes(
    arguments: Sequence[Any], shapes: Mapping[int, tuple[Form, ...]]
) -> list[tuple[Form, ...]]:
    """Return the shapes of the tensors among arguments, lists included."""
    found: list[tuple[Form, ...]] = []
    for argument in arguments:
        for item in argument if isinstance(argument, tuple) else (argument,):
            if isinstance(item, ValueRef):
                found.append(shapes[item.index])
    return found
