"""Modules that a plain compilation imports: start-up time follows from them."""

import subprocess
import sys

SCRIPT = """
import sys
import onnx
from onnx import TensorProto, helper

nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Mul", ["y", "x"], ["z"])]
x, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xz")
graph = helper.make_graph(nodes, "g", [x], [z])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
import gradc

gradc.compile(model)
print(*(name for name in sys.modules if name.partition(".")[0] in ("gradc", "passes", "dialects")))
"""
MOST = 290
UNUSED = (
    "passes.autodiff.vjp",
    "passes.decompositions.contrib",
    "passes.strategies.conv",
    "dialects.onednn",
    "xdsl.dialects.arith",
    "gradc.tuning.tuner",
)


def test_a_plain_model_needs_few_modules():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert "passes.select_strategy" in loaded
    assert not set(UNUSED) & set(loaded)
    assert len(loaded) <= MOST
