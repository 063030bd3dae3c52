"""Lowerings of convolutions and pools, forward and backward, against PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dialects.support.diagnostics import UnsupportedError  # noqa: E402
from tests.support.aten_samples import check, check_sizes, overload  # noqa: E402

F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16


def draw(*shape, dtype=F32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def backward_arguments(name, x, *rest):
    """Return the arguments of the backward op of a pool."""
    made = overload(f"{name}.default")(x, *rest)
    y, *indices = made if isinstance(made, tuple) else (made,)
    return (draw(*y.shape, dtype=y.dtype, seed=5), x, *rest, *indices)


def convolution(x, weight, *rest):
    """Return the arguments of a convolution and of its backward op."""
    bias = draw(weight.shape[1] * rest[5] if rest[3] else weight.shape[0], dtype=x.dtype, seed=4)
    y = torch.ops.aten.convolution(x, weight, bias, *rest)
    g = draw(*y.shape, dtype=x.dtype, seed=5)
    return (x, weight, bias, *rest), (g, x, weight, list(bias.shape), *rest, [True, True, True])


CONVOLUTIONS = {
    "1d": ((2, 4, 9), (6, 2, 3), [2], [1], [1], False, [0], 2),
    "2d": ((2, 4, 9, 8), (6, 4, 3, 2), [2, 1], [1, 0], [1, 2], False, [0, 0], 1),
    "depthwise": ((2, 4, 9, 8), (4, 1, 3, 3), [1], [1], [1], False, [0], 4),
    "3d": ((2, 4, 5, 6, 7), (6, 4, 3, 2, 2), [1], [1], [1], False, [0], 1),
    "transposed": ((2, 4, 5, 6), (4, 3, 3, 3), [2, 3], [1, 0], [1, 1], True, [1, 2], 2),
    "more than a stride added": ((2, 4, 5, 6), (4, 3, 3, 3), [1, 1], [0, 2], [2, 3], True, [1, 2], 2),
}


@pytest.mark.parametrize("dtype", [F32, pytest.param(F64, marks=pytest.mark.sweep)], ids=str)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, dtype):
    x, weight, *rest = CONVOLUTIONS[name]
    forward, backward = convolution(draw(*x, dtype=dtype), draw(*weight, dtype=dtype, seed=1), *rest)
    check("convolution.default", *forward)
    check("convolution_backward.default", *backward)


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_convolutions_of_halves(dtype):
    x, weight, *rest = CONVOLUTIONS["1d"]
    forward, _ = convolution(draw(*x, dtype=dtype), draw(*weight, dtype=dtype, seed=1), *rest)
    check("convolution.default", *forward, tolerance=0.05)


@pytest.mark.parametrize("dtype", [F32, pytest.param(F64, marks=pytest.mark.sweep)], ids=str)
@pytest.mark.sweep
@pytest.mark.parametrize("shape", [lambda n: (n, 4, 9, 8), lambda n: (2, 4, n + 4, n + 3)])
@pytest.mark.parametrize("name", ["2d", "transposed"])
def test_convolutions_with_dynamic_sizes(name, shape, dtype):
    _, weight, *rest = CONVOLUTIONS[name]
    rest = [[1, 1], *rest[1:4], [0, 0], rest[5]]  # results that are affine functions of the size

    def arguments(n, which):
        return convolution(draw(*shape(n), dtype=dtype), draw(*weight, dtype=dtype, seed=1), *rest)[which]

    check_sizes("convolution.default", lambda n: arguments(n, 0))
    check_sizes("convolution_backward.default", lambda n: arguments(n, 1))


@pytest.mark.parametrize("mask", [[True, False, False], [False, True, False], [True, True, False]])
def test_gradients_that_a_mask_leaves_out(mask):
    x, weight, *rest = CONVOLUTIONS["1d"]
    _, backward = convolution(draw(*x), draw(*weight, seed=1), *rest)
    check("convolution_backward.default", *backward[:-1], mask)


def test_weights_of_dynamic_sizes_as_in_second_derivatives():
    rest = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    check_sizes("convolution.default", lambda n: (draw(3, n, 9, 8), draw(2, n, 3, 2), None, *rest), (1, 3))
    check_sizes(
        "convolution.default", lambda n: (draw(3, 2, n + 2, 8), draw(2, 2, n, 2), None, *rest), (1, 3)
    )


@pytest.mark.parametrize("dtype", [F32, pytest.param(F64, marks=pytest.mark.sweep)], ids=str)
def test_a_dynamic_number_of_groups_as_in_gradients_for_each_sample(dtype):
    def arguments(n, which):
        rest = ([2, 1], [1, 0], [1, 2], False, [0, 0], n)
        forward, backward = convolution(
            draw(2, n, 7, 6, dtype=dtype), draw(3 * n, 1, 3, 2, dtype=dtype), *rest
        )
        mask = [dtype == F32, True, True]  # Col2Im has no kernel for f64
        return (*backward[:-1], mask) if which else forward

    check_sizes("convolution.default", lambda n: arguments(n, 0), (1, 3))
    if dtype == F32:
        check_sizes("convolution_backward.default", lambda n: arguments(n, 1), (1, 3))


POOLS = {
    "max_pool2d_with_indices": [
        ([2], [], [0], [1], False),
        ([3, 2], [2, 1], [1, 0], [1, 2], False),
        ([3, 2], [2, 2], [1, 1], [1], True),
    ],
    "max_pool3d_with_indices": [([3, 2, 3], [2], [1], [1], True)],
    "avg_pool2d": [
        ([2], [], [0], False, True, None),
        ([3, 2], [2, 1], [1, 0], False, False, None),
        ([3, 3], [2, 2], [1, 1], True, True, None),
        ([3, 3], [2, 2], [1, 1], True, False, None),
        ([3, 3], [2, 2], [1, 1], True, False, 7),
    ],
    "avg_pool3d": [([3, 2, 3], [2], [1], True, True, None)],
}
SHAPES = {"2d": [(2, 3, 9, 8), (3, 6, 7)], "3d": [(2, 3, 5, 6, 7)]}
CASES = [(name, rest) for name, cases in POOLS.items() for rest in cases]


@pytest.mark.parametrize("dtype", [F32, pytest.param(F64, marks=pytest.mark.sweep)], ids=str)
@pytest.mark.parametrize(("name", "rest"), CASES)
def test_pools(name, rest, dtype):
    for shape in SHAPES[name.split("pool")[1][:2]]:
        x = draw(*shape, dtype=dtype)
        check(f"{name}.default", x, *rest)
        check(f"{name}_backward.default", *backward_arguments(name, x, *rest))


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["max_pool2d_with_indices", "avg_pool2d"])
@pytest.mark.parametrize("shape", [lambda n: (n, 3, 9, 8), lambda n: (2, 3, 2 * n + 4, 6)])
def test_pools_with_dynamic_sizes(name, shape):
    for rest in (case for case in POOLS[name] if case[-1] != 7):
        rest = (rest[0], [2, 2], *rest[2:])
        check_sizes(f"{name}.default", lambda n, rest=rest: (draw(*shape(n)), *rest))
        check_sizes(
            f"{name}_backward.default",
            lambda n, rest=rest: backward_arguments(name, draw(*shape(n)), *rest),
        )


def test_a_divisor_of_windows_that_no_size_fixes_is_refused():
    rest = POOLS["avg_pool2d"][-1]
    with pytest.raises(UnsupportedError, match="ceil_mode"):
        check_sizes("avg_pool2d.default", lambda n: (draw(2, 3, 2 * n + 4, 6), *rest))


def test_pools_of_one_axis():
    check("max_pool1d.default", draw(2, 3, 9), [2], [], [0], [1], False)
    check("avg_pool1d.default", draw(2, 3, 9), [2], [], [0], True, True)
