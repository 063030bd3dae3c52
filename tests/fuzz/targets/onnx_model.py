"""ONNX models: right ones, changed in their structure or byte by byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import ClassVar
from zlib import crc32

import numpy as np
import onnx.parser
from google.protobuf.message import DecodeError
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

from dialects.support.diagnostics import GradcError
from fuzz.mutate import octets, protos
from fuzz.oracle import Finding, check_line
from fuzz.originals import NotRun, runner
from fuzz.targets.base import Target, is_small
from gradc.compiler.compiled import Compiled
from gradc.compiler.driver import compile_module, load
from gradc.compiler.options import Options
from gradc.derivatives.gradient import gradient_of
from gradc.derivatives.request import GradientRequest
from gradc.inspection.verify_models import against
from gradc.verification.gradient_spec import CheckError
from gradc.verification.samples import random_inputs

TEXTS = (
    """<ir_version: 8, opset_import: ["" : 17]>
    f (float[N, 2, 6, 5] x) => (float[N, M] y)
    <float[3] b = {0.5, -1, 2}, int64[1] zero = {0}, int64[1] rest = {-1}>
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
    """<ir_version: 8, opset_import: ["" : 17]>
    f (float[T, 2, 3] x, float[1, 2, 4] h, float[2, 3] c, float[1, 16, 3] w, float[1, 16, 4] r)
        => (float[2, T, 4] y, float[2, 3] state, float[T, 2, 3] all)
    {
      a = LSTM <hidden_size = 4> (x, w, r, , , h)
      s = Squeeze (a, axis)
      axis = Constant <value_ints = [1]> ()
      y = Transpose <perm = [1, 0, 2]> (s)
      state, all = Scan <num_scan_inputs = 1,
        body = b (float[2, 3] p, float[2, 3] q) => (float[2, 3] n, float[2, 3] o) {
          t = Add (p, q)
          n = Tanh (t)
          o = Mul (n, q) }> (c, x)
    }""",
    """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "ai.onnx.ml" : 3]>
    f (float[batch, 4] x, int64[batch, 1] at) => (float[batch, 4] y, float[batch, 4] z, float[batch, 1] g)
    <float s = {0.05}, uint8 o = {128}, int8[4, 4] w = {1, -2, 3, 4, 5, 6, 7, -8, 9, 1, 2, 3, -4, 5, 6, 7},
     float[1] t = {0.1}, int8[1] i = {0}, float[4] one = {1, 1, 2, 2}, float[4] two = {0, 0.5, 0, 0.5}>
    {
      q = QuantizeLinear (x, s, o)
      m = QLinearMatMul (q, s, o, w, t, i, s, o)
      d = DequantizeLinear (m, s, o)
      y = com.microsoft.FastGelu (d)
      n = LayerNormalization <axis = -1> (x, one, two)
      z = com.microsoft.FusedMatMul <alpha = 0.5, transB = 1> (n, e)
      e = DequantizeLinear <axis = 0> (w, t, i)
      k = GatherElements <axis = 1> (z, at)
      g = ai.onnx.ml.Scaler <offset = [0.5], scale = [2.0]> (k)
    }""",
    """<ir_version: 9, opset_import: ["" : 19]>
    f (float[1, c, h, w] x, float[n] v) => (float[1, c, p, r] y, float[u] o, float[n] k, float[1, c] m)
    <float[4] up = {1, 1, 2, 1.5}, int64[1] last = {-1}, float half = {0.5}>
    {
      e = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (x, , up)
      y = AveragePool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (e)
      q = Greater (v, half)
      z = Compress (v, q)
      o = Softplus (z)
      s = ReduceSum <keepdims = 0> (v, last)
      a = CumSum (v, zero)
      zero = Constant <value_int = 0> ()
      k = Where (q, a, s)
      g = GlobalMaxPool (x)
      m = Flatten (g)
    }""",
)


WEIGHTS = np.linspace(-1, 1, 54, dtype=np.float32).tobytes()
"""What is in the file beside the first model."""


DIFFERENTIATED = 4
"""Of one in so many models that run the gradient is taken as well."""


def _gradient(path: Path, results: Sequence[str]) -> str:
    """How the gradient of results by all float inputs ends: proven by its own check, or refused in a line."""
    request = GradientRequest(of=results or None, reduce="sum", allow_unused=True, check=True)
    try:
        gradient_of(load(path, for_gradients=()), request, Options(threads=1))
    except CheckError as error:
        raise Finding(f"gradient: {error}") from None
    except GradcError as error:
        check_line(error)
        return "no gradient"
    return "gradient"


def _inputs(module: ModuleOp) -> Mapping[str, np.ndarray]:
    try:
        return random_inputs(module, 0)
    except GradcError:
        raise NotRun("no inputs can be drawn") from None


def _compiled(module: ModuleOp, path: Path) -> Compiled:
    """A model that runs is not one of which may be said that it is not valid."""
    source = module.clone()
    try:
        return compile_module(module, Options(threads=1))
    except GradcError as error:
        if "the model is not valid" in str(error):
            with suppress(NotRun):
                runner().run(path, _inputs(source))
                raise Finding(f"refused: the original runs: {error}") from None
        raise


class OnnxTarget(Target):
    name: ClassVar = "onnx"
    suffix: ClassVar = ".onnx"

    def seeds(self) -> list[bytes]:
        models = [onnx.parser.parse_model(text) for text in TEXTS]
        weight = models[0].graph.initializer.add(name="w", data_type=1, dims=[3, 2, 3, 3], data_location=1)
        for key, value in {"location": "w.bin", "offset": "0", "length": str(len(WEIGHTS))}.items():
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
        path.with_name("w.bin").write_bytes(WEIGHTS)
        module = load(path)
        if not is_small(module):
            return "too large to run"
        compiled = _compiled(module, path)
        if not is_small(compiled.module):
            return "too large once lowered"
        try:
            inputs = _inputs(compiled.source)
            expected = runner().run(path, inputs)
        except NotRun as error:
            return str(error)
        try:
            found = compiled.run(inputs, threads=1)
        except GradcError as error:
            raise Finding(f"run: the original runs: {error}") from None
        wrong = [row.name for row in against(expected, compiled, found) if not row.ok]
        if wrong:
            raise Finding(f"numbers: {', '.join(wrong)}")
        kinds = " ".join(sorted({node.op_type for node in compiled.proto.graph.node}))
        floats = [name for name, value in expected.items() if getattr(value, "dtype", None) == np.float32]
        if not floats or crc32(path.read_bytes()) % DIFFERENTIATED:
            return kinds
        return f"{kinds}, {_gradient(path, floats)}"

    def check(self, error: GradcError, path: Path) -> None:
        """A node, an initializer or an input; of what is no model, the file."""
        for diagnostic in error.diagnostics:
            placed = diagnostic.subject or diagnostic.position or '"' in diagnostic.message
            if not placed and str(path) not in diagnostic.message:
                raise Finding(f"no place: {diagnostic.message}")
