"""Every canonical gradient is differentiated, in each layout: the table of derivatives is closed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from support.adjoint import is_adjoint
from support.networks import module_of, values_of
from xdsl.dialects.builtin import f64

from dialects.grad import GRAD
from dialects.grad.avg_pool import avg_pool_backward
from dialects.grad.conv import conv_backward_data, conv_transpose_backward_data, take_window
from dialects.grad.conv_weights import conv_backward_weights
from dialects.grad.geometry import conv_axes
from dialects.grad.max_pool import max_pool_backward
from dialects.grad.resize import resize_backward, resize_backward_dynamic
from dialects.grad.sampling import AxisSampling
from dialects.grad.stop_gradient import StopGradientOp
from dialects.support import layouts
from passes.autodiff.table import GRADIENT_RULES
from passes.builder.values import Value

AXES = conv_axes((3, 2), (2, 1), (1, 2), (1, 0), (0, 1))
GROUPS = 2


def data(x: Value, w: Value, layout: str) -> Value:
    return x.e(x.e.emit(conv_backward_data(x.value, w.value, AXES, [1, 0], GROUPS, layout)))


def transposed(x: Value, w: Value, layout: str) -> Value:
    return x.e(x.e.emit(conv_transpose_backward_data(x.value, w.value, AXES, GROUPS, layout)))


def weights(x: Value, y: Value, layout: str) -> Value:
    return x.e(x.e.emit(conv_backward_weights(x.value, y.value, AXES, GROUPS, layout)))


def largest(x: Value, y: Value, layout: str) -> Value:
    windows = [axis.window for axis in AXES]
    return x.e(x.e.emit(max_pool_backward(x.value, y.value, windows, [1, 0], layout)))


def mean(x: Value, layout: str) -> Value:
    return x.e(x.e.emit(avg_pool_backward(x.value, AXES, [1, 0], layout)))


def window(x: Value) -> Value:
    e = x.e
    return e(e.emit(take_window(x.value, e.ints([1, 0]).value, e.ints([3, 5]).value, [1, 2])))


SAMPLINGS = [AxisSampling(3, 5, Fraction(3, 5), "linear", "half_pixel")]
SAMPLINGS += [AxisSampling(4, 2, Fraction(3), "linear", "half_pixel")]


def resized(x: Value) -> Value:
    return x.e(x.e.emit(resize_backward(x.value, [1, 2], SAMPLINGS)))


def resized_dynamically(x: Value) -> Value:
    e, steps = x.e, [s.step for s in SAMPLINGS]
    sizes = e.ints([s.x for s in SAMPLINGS]).value
    numerators, denominators = (
        e.ints([getattr(s, part) for s in steps]).value for part in ("numerator", "denominator")
    )
    op = resize_backward_dynamic(x.value, sizes, (numerators, denominators), [1, 2], "linear", "half_pixel")
    return e(e.emit(op))


LAYOUT_PORTS = {
    "grad.conv_backward_data": (data, [("N", 4, 2, 3)], [(4, 2, 3, 2)]),
    "grad.conv_transpose_backward_data": (transposed, [("N", 4, 4, 5)], [(4, 2, 3, 2)]),
    "grad.conv_backward_weights": (weights, [("N", 4, 5, 4), ("N", 6, 2, 3)], []),
    "grad.avg_pool_backward": (mean, [("N", 2, 2, 3)], []),
    "grad.max_pool_backward": (largest, [("N", 2, 5, 4), ("N", 2, 2, 3)], []),
}
"""Op -> what makes it, the shapes of the operands that have a layout, in NCX, and of the others."""

OTHERS = {
    "grad.take_window": (window, [("N", 3, 4)]),
    "grad.resize_backward": (resized, [("N", 5, 2)]),
    "grad.resize_backward_dynamic": (resized_dynamically, [("N", 5, 2)]),
}


def test_the_table_is_closed():
    names = {op.name for op in GRAD.operations} - {StopGradientOp.name}
    assert names == set(GRADIENT_RULES)
    assert names == {*LAYOUT_PORTS, *OTHERS}


@pytest.mark.parametrize("layout", ["NCX", "NXC"])
@pytest.mark.parametrize("name", LAYOUT_PORTS)
def test_a_canonical_gradient_of_any_layout(name: str, layout: str):
    make, laid_out, others = LAYOUT_PORTS[name]
    shapes = [layouts.reorder(shape, "NCX", layout) for shape in laid_out]
    check(lambda **given: make(*given.values(), layout), [*shapes, *others])


@pytest.mark.parametrize("name", OTHERS)
def test_a_canonical_gradient(name: str):
    make, shapes = OTHERS[name]
    check(lambda **given: make(*given.values()), shapes)


def check(network, shapes: Sequence[Sequence[int | str]]) -> None:
    """It and its derivative are adjoints, with a batch that only run time knows."""
    inputs = {f"x{i}": shape for i, shape in enumerate(shapes)}
    values, rng = values_of(inputs, 2), np.random.default_rng(1)
    module = module_of(network, inputs, f64)
    gradient, cotangents = is_adjoint(module, values, rng, strict=False)
    is_adjoint(gradient, [*values, *cotangents], rng, strict=False)
