"""Numbers as people read them."""

from __future__ import annotations

from math import isfinite


def number(value: float) -> str:
    """Three digits; a power of ten for what is very small or large."""
    if not isfinite(value):
        return str(value).replace("inf", "∞")
    text = f"{value:.3g}"
    mantissa, e, exponent = text.partition("e")
    if not e:
        return text
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{raised}"


def time(seconds: float) -> str:
    """In the unit that leaves one to three digits before the point."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def size(count: int) -> tuple[str, str]:
    """Bytes, as a number and its unit."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g}", unit
    return str(count), "bytes"


def in_words(count: int) -> str:
    """Bytes with their unit: `13.4 MB`."""
    return " ".join(size(count))


def amount(count: float) -> str:
    """With the prefix that leaves one to three digits before the point: `1.23 G`."""
    for prefix, unit in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= unit:
            return f"{count / unit:.3g} {prefix}"
    return f"{count:.3g} "
