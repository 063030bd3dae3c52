"""Human-readable numbers."""

from __future__ import annotations

from math import isfinite


def number(value: float) -> str:
    """Format three digits, very small or large numbers with a power of ten."""
    if not isfinite(value):
        return str(value).replace("inf", "∞")
    text = f"{value:.3g}"
    mantissa, e, exponent = text.partition("e")
    if not e:
        return text
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{raised}"


def counted(count: int, what: str) -> str:
    """Format a number of things: `1 parameter`, `1,024 parameters`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def time(seconds: float) -> str:
    """Format seconds in the unit that leaves one to three digits before the point."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def size(count: int) -> tuple[str, str]:
    """Return a number of bytes in a suitable unit, and that unit."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g}", unit
    return str(count), "bytes"


def format_bytes(count: int) -> str:
    """Format a number of bytes with its unit: `13.4 MB`."""
    return " ".join(size(count))


def with_prefix(count: float) -> str:
    """Format a number with a prefix: `1.23 G`."""
    for prefix, unit in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= unit:
            return f"{count / unit:.3g} {prefix}"
    return f"{count:.3g} "
