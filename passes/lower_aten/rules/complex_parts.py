"""Real and imaginary parts of complex tensors, conjugates, and complex tensors of parts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dialects.onnx import ops as onnx
from passes.builder.values import Builder, Value
from passes.lower_aten.complex_numbers.call import ComplexCall, ComplexRule
from passes.lower_aten.complex_numbers.pair import Pair, unit


def conjugate(f: ComplexCall, e: Builder) -> Pair:
    return f.pair(f.self).conjugate()


def as_real(f: ComplexCall, e: Builder) -> Value:
    """Both parts along a last axis."""
    parts = [part.unsqueeze([part.rank]) for part in (f.self.real(), f.self.imag())]
    return e.concat(parts, parts[0].rank - 1)


def as_complex(f: ComplexCall, e: Builder) -> Pair:
    """The parts of a last axis."""
    axis = f.self.rank - 1
    return Pair(*(f.self.apply(onnx.GatherOp, e.ints([i]).squeeze([0]), axis=axis) for i in (0, 1)))


def of_parts(f: ComplexCall, e: Builder) -> Pair:
    return Pair(f.real, f.imag)


def of_angle(f: ComplexCall, e: Builder) -> Pair:
    """abs * e^(i angle)."""
    return unit(f.angle).times(f.abs)


def real_part(f: ComplexCall, e: Builder) -> Value:
    return f.self.real()


def imaginary_part(f: ComplexCall, e: Builder) -> Value:
    return f.self.imag()


RULES: Mapping[str, ComplexRule] = MappingProxyType(
    {
        "_conj.default": conjugate,
        "_conj_physical.default": conjugate,
        "complex.default": of_parts,
        "conj_physical.default": conjugate,
        "imag.default": imaginary_part,
        "polar.default": of_angle,
        "real.default": real_part,
        "view_as_complex.default": as_complex,
        "view_as_real.default": as_real,
    }
)
