"""Hashed masks: their ratio, their independence, and the same numbers from every form and runtime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from dialects.evaluate import evaluate
from dialects.onnx import ops as onnx
from dialects.support.entry import entry_function, set_names, update_function_type
from dialects.support.shapes import tensor_type
from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from passes.builder.values import Builder
from passes.targets.target import Target
from passes.training.dropout import hash_dropout

RATIOS = (0.1, 0.5, 0.5, 0.9)
SEEDS = range(24)
SIZE = 1 << 14
LAGS = (1, 2, 3, 7, 8, 16, 31, 64, 100, 128, 256, 512, 1000, 1024, 4096)
SIGMAS = 4.5
"""Largest deviation of some 2,000 numbers."""


def module_of(size: int | str) -> ModuleOp:
    """Dropouts of one input, in a row."""
    block, e = Block(arg_types=[tensor_type(f32, [size])]), Builder()
    x = e(block.args[0])
    results = [x.apply(onnx.DropoutOp, e.number(ratio, f32)).value for ratio in RATIOS]
    block.add_ops([*e.emit.ops, ReturnOp(*results)])
    function = FuncOp("main", ([], []), Region(block))
    set_names(function, ["x"], [f"y{i}" for i in range(len(RATIOS))])
    update_function_type(function)
    return ModuleOp([function])


def hash_all(size: int | str, target: str = "cpu", opset: int = 18) -> ModuleOp:
    module = module_of(size)
    hash_dropout(entry_function(module), Target(target, opset, threads=1))
    module.verify()
    return module


@pytest.fixture(scope="module")
def masks() -> np.ndarray:
    """[Dropout, seed, element]: whether an element is dropped."""
    module, x = hash_all("N"), np.ones(SIZE, np.float32)
    runs = [evaluate(module, [x, np.array(seed, np.int64)]) for seed in SEEDS]
    return np.stack([[run[i] == 0 for run in runs] for i in range(len(RATIOS))])


def normalize(masks: np.ndarray) -> np.ndarray:
    p = np.array(RATIOS)[:, None, None]
    return (masks - p) / np.sqrt(p * (1 - p))


def deviations(c: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield numbers of normal distribution for independent elements of mean 0 and variance 1."""
    yield "ratio", c.mean(-1) * np.sqrt(SIZE)
    for lag in LAGS:
        yield f"lag {lag}", (c[..., lag:] * c[..., :-lag]).mean(-1) * np.sqrt(SIZE - lag)
    for lag in (1, 16, 256):
        triple = c[..., 2 * lag :] * c[..., lag:-lag] * c[..., : -2 * lag]
        yield f"three at lag {lag}", triple.mean(-1) * np.sqrt(SIZE - 2 * lag)
    yield "streams", (c[1:] * c[:-1]).mean(-1) * np.sqrt(SIZE)
    yield "seeds", (c[:, 1:] * c[:, :-1]).mean(-1) * np.sqrt(SIZE)
    yield "seeds and streams", (c[1:, 1:] * c[:-1, :-1]).mean(-1) * np.sqrt(SIZE)


def failures(masks: np.ndarray) -> list[str]:
    found = list[str]()
    for name, z in deviations(normalize(masks)):
        spread = z.std() * np.sqrt(2 * z.size) - np.sqrt(2 * z.size)
        if abs(z).max() > SIGMAS or abs(spread) > SIGMAS or abs(z.mean()) * np.sqrt(z.size) > SIGMAS:
            found.append(f"{name}: largest {abs(z).max():.1f}, deviation {z.std():.2f}, mean {z.mean():.2f}")
    return found


def test_masks_are_independent(masks: np.ndarray):
    assert not failures(masks)


def test_each_ratio_is_within_three_sigma(masks: np.ndarray):
    z = normalize(masks).mean(-1) * np.sqrt(SIZE)
    assert (abs(z) <= 3).mean() >= 0.98
    p = np.array(RATIOS)
    whole = (masks.mean((1, 2)) - p) * np.sqrt(SIZE * len(SEEDS) / (p * (1 - p)))
    assert (abs(whole) <= 3).all(), whole


def test_the_measure_rejects_almost_linear_numbers():
    """Sums with shifted words instead of products."""
    index, seeds = np.arange(SIZE, dtype=np.uint32), np.arange(len(SEEDS), dtype=np.uint32)
    h = index * np.uint32(0x6C8E9CF5) + (seeds * np.uint32(0x1B873593))[:, None]
    h = (h + (h >> np.uint32(16))) * np.uint32(0x2C1B3C6D)
    h = (h + (h >> np.uint32(15))) * np.uint32(0x297A2D39)
    limits = (np.array(RATIOS) * 2**32).astype(np.uint32)[:, None, None]
    assert len(failures(h[None] < limits)) > len(LAGS)


@pytest.mark.parametrize("seed", [0, 1, -1, 2**31, 2**40 + 3, -(2**63), 2**63 - 1])
def test_both_forms_give_the_same_numbers(seed: int):
    x, given = np.ones(500, np.float32), np.array(seed, np.int64)
    found = [evaluate(hash_all("N", target), [x, given]) for target in ("cpu", "cuda")]
    assert "onnx.BitShift" not in str(hash_all("N", "cuda"))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("opset", [13, 18, 23])
@pytest.mark.parametrize("size", ["N", 300])
def test_the_runtime_gives_the_numbers_of_the_reference(target: str, opset: int, size: int | str):
    x = np.random.default_rng(0).normal(size=300).astype(np.float32)
    module = hash_all(size, target, opset)
    expected = evaluate(module, [x, np.array(7, np.int64)])
    compiled = compile_module(module, Options(target, opset))
    found: Sequence[np.ndarray] = list(compiled.run({"x": x, "seed": np.array(7, np.int64)}).values())
    for got, want, ratio in zip(found, expected, RATIOS, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
        kept = want != 0
        np.testing.assert_allclose(want[kept], x[kept] / (1 - ratio), rtol=1e-6)


@pytest.mark.parametrize("opset", [13, 18, 23])
def test_cuda_has_all_kernels(opset: int):
    compile_module(hash_all("N", "cuda", opset), Options("cuda", opset))
