"""Memory of models with many weights, from file to file: `pytest -m heavy tests/limits`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell"),
]

MEGABYTE = 2**20
LAYERS, WIDTH = 12, 2048
WEIGHTS = LAYERS * WIDTH * WIDTH * 4
"""200 MB."""

MOST = 1.3
"""What may be resident beyond an empty process, over the bytes of the weights."""


def perceptron(path: Path, dtype: int, external: bool) -> None:
    """A chain of products, written as exporters do: weights in the message, or in one file beside it."""
    rng = np.random.default_rng(0)
    item = np.dtype(helper.tensor_dtype_to_np_dtype(dtype))
    layers = LAYERS * 4 // item.itemsize
    nodes, weights, value = [], [], "x"
    with open(path.with_suffix(".bin"), "wb") as file:
        for index in range(layers):
            data = (rng.standard_normal((WIDTH, WIDTH), np.float32) / 64).astype(item).tobytes()
            tensor = TensorProto(name=f"w{index}", data_type=dtype, dims=[WIDTH, WIDTH])
            if external:
                tensor.data_location = TensorProto.EXTERNAL
                given = {"location": file.name.rpartition("/")[2], "offset": file.tell(), "length": len(data)}
                for key, word in given.items():
                    tensor.external_data.add(key=key, value=str(word))
                file.write(data)
            else:
                tensor.raw_data = data
            weights.append(tensor)
            product, value_after = f"p{index}", f"h{index}"
            nodes.append(helper.make_node("MatMul", [value, f"w{index}"], [product]))
            nodes.append(helper.make_node("Tanh", [product], [value_after]))
            value = value_after
    nodes.append(helper.make_node("ReduceSum", [value], ["y"], keepdims=0))
    graph = helper.make_graph(
        nodes,
        "perceptron",
        [helper.make_tensor_value_info("x", dtype, ["N", WIDTH])],
        [helper.make_tensor_value_info("y", dtype, [])],
        weights,
    )
    opsets = [helper.make_opsetid("", 18)]
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


COUNTED = """
import sys
from pathlib import Path
from gradc.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    (peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    print(peak.split()[1], end.code or 0)
"""
"""Prints the most that was resident, in KiB. What the system counts for a child begins with its parent's."""


def most_resident(*arguments: object) -> int:
    """Bytes of a `gradc` that ended well."""
    command = [sys.executable, "-c", COUNTED, *map(str, arguments)]
    peak, code = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert code == "0"
    return int(peak) * 1024


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> int:
    """What a compilation of a small model takes."""
    path = tmp_path_factory.mktemp("small") / "m.onnx"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Tanh", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return most_resident("compile", path, "-o", path.with_name("out.onnx"), "-q")


@pytest.mark.parametrize("external", [False, True], ids=["embedded", "external"])
@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.FLOAT16], ids=["f32", "f16"])
@pytest.mark.parametrize("command", ["compile", "grad --no-check"])
def test_weights_are_in_memory_once(command: str, dtype: int, external: bool, empty: int, tmp_path: Path):
    perceptron(tmp_path / "m.onnx", dtype, external)
    taken = most_resident(*command.split(), tmp_path / "m.onnx", "-o", tmp_path / "out.onnx", "-q") - empty
    print(f"{taken / MEGABYTE:.0f} MiB for {WEIGHTS / MEGABYTE:.0f}")
    assert taken < MOST * WEIGHTS


@pytest.mark.parametrize("limit", [1_000_000_000, 500_000_000])
@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.FLOAT16], ids=["f32", "f16"])
def test_the_check_of_a_gradient_stays_within_its_limit(dtype: int, limit: int, empty: int, tmp_path: Path):
    """It holds values, weights and tangents in float64."""
    perceptron(tmp_path / "m.onnx", dtype, external=True)
    command = (
        "grad",
        tmp_path / "m.onnx",
        "--limit",
        f"check-bytes={limit}",
        "-o",
        tmp_path / "out.onnx",
        "-q",
    )
    taken = most_resident(*command) - empty
    print(f"{taken / MEGABYTE:.0f} MiB for {WEIGHTS / MEGABYTE:.0f} and {limit / MEGABYTE:.0f} of the check")
    assert taken < MOST * WEIGHTS + limit
