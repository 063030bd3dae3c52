"""Made-up .npz archives: members, their headers and their arrays, right and wrong."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from random import Random

import ml_dtypes
import numpy as np

from fuzz import words

DTYPES = (
    "<f4", ">f4", "<f8", "<f2", "<i4", "<i8", "|u1", "|b1", "<c8", "|V2", "|V3", "|S4", "<U2", "|O",
    "<M8[s]", "<f16", "",
)  # fmt: skip

SHAPES = (
    (4, 2, 3, 3), (2, 4, 3, 3), (4, 2, 9), (72,), (), (0,), (4, 2, 3, 3, 1), (4, 2, 3, 0), (3, 3, 2, 4),
    (-1,), (1, 72), (10**6,), (True, 2), (2**63,), ("4",), (4.0, 2.0, 3.0, 3.0),
)  # fmt: skip
"""The largest that could be allocated is a million; claims of more are another test's business."""

HEADERS = (
    b"", b"{}", b"{'descr': '<f4'}", b"[", b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}",
    b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", b"__import__('os')",
    b"(" * 500, b"{'descr': '<f4', 'fortran_order': 1, 'shape': 4, }", b"\xff" * 20, b"1" * 70000,
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" + b" " * 20000,
)  # fmt: skip


def written(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The archive that numpy.savez would write, of any arrays but objects."""
    return packed([(f"{name}.npy", member(array)) for name, array in arrays.items()])


def member(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)
    return stream.getvalue()


def packed(members: Sequence[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", method) as archive:
        warnings.simplefilter("ignore")  # a name may come twice
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return stream.getvalue()


def made(random: Random, names: Sequence[str], wanted: Mapping[str, np.ndarray]) -> bytes:
    """An archive for inputs of these names, of which `wanted` are arrays that fit."""
    members = [(f"{name}.npy", member(array)) for name, array in wanted.items()]
    for _ in range(random.randint(0, 3)):
        random.choice(_CHANGES)(random, members, names)
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    return packed(members, method)


Members = list[tuple[str, bytes]]


def _array(random: Random, members: Members, names: Sequence[str]) -> None:
    """A name gets an array of some dtype and shape."""
    shape = random.choice([s for s in SHAPES if _is_real(s)])
    dtype = random.choice(
        (np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int32, bool, "S3", "V2")
    )
    array = np.zeros(shape, dtype) if random.random() < 0.5 else _filled(random, shape)
    if random.random() < 0.2:
        array = np.asfortranarray(array)
    _put(random, members, random.choice(names), member(array))


def _filled(random: Random, shape: Sequence[int]) -> np.ndarray:
    """Every value the same, from harmless to hostile."""
    value = random.choice((1.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38))
    return np.full(shape, value, np.float32)


def _is_real(shape: Sequence[object]) -> bool:
    return all(type(size) is int and 0 <= size <= 10**6 for size in shape)


def _header(random: Random, members: Members, names: Sequence[str]) -> None:
    """A member with a header of its own making, and some bytes."""
    descr, shape = random.choice(DTYPES), random.choice(SHAPES)
    text = f"{{'descr': {descr!r}, 'fortran_order': {random.choice((True, False))}, 'shape': {shape!r}, }}\n"
    header = random.choice((text.encode(), text.encode(), random.choice(HEADERS)))
    version = random.choice((b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"))
    length = len(header) if random.random() < 0.9 else random.choice((0, 1, 2**16 - 1))
    width = 2 if version[0] == 1 else 4
    prefix = b"\x93NUMPY" + version + (length % 256**width).to_bytes(width, "little")
    _put(random, members, random.choice(names), prefix + header + bytes(random.choice((0, 8, 288, 576))))


def _rename(random: Random, members: Members, names: Sequence[str]) -> None:
    if members:
        at = random.randrange(len(members))
        name = random.choice((*names, *words.STRINGS[:-2], "file", "../../x", "/etc/x", "t1.npy"))
        members[at] = (name + random.choice((".npy", ".npy", "", ".txt", "/")), members[at][1])


def _double(random: Random, members: Members, names: Sequence[str]) -> None:
    if members:
        members.append(random.choice(members))


def _drop(random: Random, members: Members, names: Sequence[str]) -> None:
    if members:
        members.pop(random.randrange(len(members)))


def _shorten(random: Random, members: Members, names: Sequence[str]) -> None:
    if members:
        at = random.randrange(len(members))
        name, data = members[at]
        members[at] = (name, data[: random.randint(0, len(data))])


def _junk(random: Random, members: Members, names: Sequence[str]) -> None:
    junk = (b"", b"x", b"\x80\x04N.", b"\x93NUMPY", b"PK\x03\x04", random.randbytes(40))
    _put(random, members, random.choice(names), random.choice(junk))


def _put(random: Random, members: Members, name: str, data: bytes) -> None:
    members[:] = [m for m in members if m[0] != f"{name}.npy"]
    members.insert(random.randint(0, len(members)), (f"{name}.npy", data))


_CHANGES: tuple[Callable[[Random, Members, Sequence[str]], None], ...] = (
    _array, _array, _header, _header, _rename, _double, _drop, _shorten, _junk,
)  # fmt: skip
