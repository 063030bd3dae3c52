"""Value names that are not identifiers, such as `/model/0/Conv_output_0`, `x:0` or `457`.

A `name_hint` must be an identifier, and loses a trailing `_1`. Other characters are encoded as `$` and two
hexadecimal digits per byte: `$2fmodel$2f0$2fConv_output$5f0`. Hints survive passes, merging of equal ops, and
printing.
"""

from __future__ import annotations

import re

from xdsl.ir import SSAValue

_PLAIN = re.compile(r"[A-Za-z0-9_.-]")
_NUMBERED = re.compile(r"_(\d+)$")
_SPELLED = re.compile(r"\$([0-9a-f]{2})")


def hint_of(name: str) -> str | None:
    """Return the hint that encodes a name, None for an empty one."""
    text = "".join(c if _PLAIN.fullmatch(c) else _encode(c) for c in name)
    text = _NUMBERED.sub(r"$5f\1", text)
    return (_encode(text[0]) + text[1:] if text[:1].isdigit() else text) or None


def name_of_hint(hint: str) -> str:
    """Return the name that a hint encodes."""
    if "$" not in hint:
        return hint
    data = b"".join(
        bytes.fromhex(part) if index % 2 else part.encode() for index, part in enumerate(_SPELLED.split(hint))
    )
    try:
        return data.decode()
    except UnicodeDecodeError:
        return hint


def name_of_value(value: SSAValue) -> str:
    """Return the name of a value in its source, or ''."""
    return name_of_hint(value.name_hint) if value.name_hint else ""


def is_text(value: str) -> bool:
    """Return whether UTF-8 can encode a string: JSON and Python can spell lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _encode(character: str) -> str:
    return "".join(f"${byte:02x}" for byte in character.encode(errors="surrogateescape"))
