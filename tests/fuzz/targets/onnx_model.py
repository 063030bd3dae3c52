"""ONNX models: right ones, changed in their structure or byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

import onnx.parser
from google.protobuf.message import DecodeError
from onnx import ModelProto

from dialects.support.diagnostics import GradcError
from fuzz.mutate import octets, protos
from fuzz.oracle import Finding
from fuzz.targets.base import Target, is_small
from gradc.checking.samples import random_inputs
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.insight.verify_models import verify
from gradc.runtime.session import Session

TEXTS = (
    """<ir_version: 8, opset_import: ["" : 17]>
    f (float[N, 2, 6, 5] x) => (float[N, M] y)
    <float[3, 2, 3, 3] w, float[3] b = {0.5, -1, 2}, int64[1] zero = {0}, int64[1] rest = {-1}>
    {
      c = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w, b)
      r = Relu (c)
      p = MaxPool <kernel_shape = [2, 2], auto_pad = "SAME_LOWER"> (r)
      s = Shape (p)
      n = Gather (s, zero)
      f = Concat <axis = 0> (n, rest)
      y = Reshape (p, f)
    }""",
    """<ir_version: 8, opset_import: ["" : 18]>
    f (bool flag, float[4] x, int64 count) => (float[4] y, float[4] z)
    {
      y = If (flag) <
        then_branch = t () => (float[4] a) { a = Neg (x) },
        else_branch = e () => (float[4] b) { c = Add (x, x)
          b = Exp (c) }>
      z = Loop (count, flag, x) <
        body = l (int64 i, bool k, float[4] v) => (bool k2, float[4] v2) { k2 = Identity (k)
          v2 = Mul (v, x) }>
    }""",
    """<ir_version: 7, opset_import: ["" : 9]>
    f (float[2, 3] x) => (float[2, 3] y)
    {
      a = Softmax <axis = 1> (x)
      d = Dropout <ratio = 0.5> (a)
      c = Clip <min = 0.1, max = 0.6> (d)
      y = Pad <pads = [0, 0, 0, 0], mode = "constant"> (c)
    }""",
    """<ir_version: 8, opset_import: ["" : 18, "mine" : 1]>
    f (float[3, 4] x) => (float[3, 4] y, seq(float[3, 4]) s)
    {
      a = mine.Scaled <by = 2.0> (x)
      s = SequenceConstruct (a, x)
      one = Constant <value_int = 1> ()
      y = SequenceAt (s, one)
    }
    <domain: "mine", opset_import: ["" : 18]>
    Scaled <by> (v) => (r) {
      f = Constant <value_float: float = @by> ()
      r = Mul (v, f)
    }""",
    """<ir_version: 8, opset_import: ["" : 18]>
    f (uint8[2, 3] x, string[2] w) => (float[2, 2] y, string[2] v, int64[2, 1] at)
    <float scale = {0.5}, uint8 zero = {3}, float[3, 2] m = {1, 2, 3, 4, 5, 6}>
    {
      d = DequantizeLinear (x, scale, zero)
      q = MatMul (d, m)
      top, at = TopK <axis = 1> (q, k)
      k = Constant <value = int64[1] {1}> ()
      y = Sub (q, top)
      v = Identity (w)
    }""",
)


class OnnxTarget(Target):
    name: ClassVar = "onnx"
    suffix: ClassVar = ".onnx"

    def seeds(self) -> list[bytes]:
        models = [onnx.parser.parse_model(text) for text in TEXTS]
        weight = models[0].graph.initializer[0]
        weight.data_location = weight.EXTERNAL
        for key, value in {"location": "w.bin", "offset": "0", "length": "216"}.items():
            weight.external_data.add(key=key, value=value)
        return [model.SerializeToString() for model in models]

    def made(self, random: Random, pool: Sequence[bytes]) -> bytes:
        data = random.choice(self.seeds() if random.random() < 0.6 else pool)
        if random.random() < 0.15:
            return octets.mutated(random, data)
        try:
            model = ModelProto.FromString(data)
        except DecodeError:
            return octets.mutated(random, data)
        others = [ModelProto.FromString(seed) for seed in self.seeds()]
        changed = protos.mutated(random, model, others).SerializeToString()
        return changed if len(changed) <= octets.MOST_BYTES else data

    def run(self, path: Path) -> str:
        """What onnxruntime does not run is compiled and no more: nothing says what it means."""
        path.with_name("w.bin").write_bytes(bytes(range(216)))
        module = load(path)
        if not is_small(module):
            return "too large to run"
        compiled = compile_module(module, Options(threads=1))
        if not is_small(compiled.module):
            return "too large once lowered"
        try:
            inputs = random_inputs(compiled.source, 0)
            Session(path, threads=1).run(inputs)
        except GradcError:
            return "onnxruntime does not run it"
        wrong = [row.name for row in verify(compiled, str(path), inputs, None, None, 1) if not row.ok]
        if wrong:
            raise Finding(f"numbers: {', '.join(wrong)}")
        return f"{' '.join(sorted({node.op_type for node in compiled.proto.graph.node}))}"

    def check(self, error: GradcError, path: Path) -> None:
        """A node, an initializer or an input; of what is no model, the file."""
        for diagnostic in error.diagnostics:
            placed = diagnostic.subject or diagnostic.position or '"' in diagnostic.message
            if not placed and str(path) not in diagnostic.message:
                raise Finding(f"no place: {diagnostic.message}")
