"""Hexadecimal in a dense literal of floats spells bits, as in MLIR; xDSL alone reads an integer."""

import numpy as np
import pytest

from dialects.support.diagnostics import GradcError
from gradc.importers.mlir.parser import import_mlir

TEXT = """
func.func @main() -> tensor<{shape}x{dtype}> {{
  %c = arith.constant dense<{literal}> : tensor<{shape}x{dtype}>
  func.return %c : tensor<{shape}x{dtype}>
}}
"""


@pytest.mark.parametrize(
    ("dtype", "literal", "expected"),
    [
        ("f32", "[0x7F800000, 0x4B800001, 1.5]", [np.inf, 16777218.0, 1.5]),
        ("f16", "[0x7C00, 0xFC00, 0x3C00]", [np.inf, -np.inf, 1.0]),
        ("bf16", "[0x3F80, 0xC000, 0x7F80]", [1.0, -2.0, np.inf]),
        ("f64", "[0x7FF0000000000000, 3.0, 0x3FF0000000000000]", [np.inf, 3.0, 1.0]),
        ("i32", "[0x10, 2, 3]", [16, 2, 3]),
    ],
)
def test_hexadecimal_is_bits_for_floats(dtype, literal, expected):
    from dialects.evaluate import evaluate

    (value,) = evaluate(import_mlir(TEXT.format(shape=3, dtype=dtype, literal=literal), "c.mlir"), [])
    assert value.astype(np.float64).tolist() == expected


def test_a_wrong_number_of_digits_is_refused():
    with pytest.raises(GradcError, match=r"c\.mlir:3:.*expected 8 hexadecimal digits for f32"):
        import_mlir(TEXT.format(shape=1, dtype="f32", literal="0x7C00"), "c.mlir")
