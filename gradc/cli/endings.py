"""Check of the file name of `-o`: not empty, and without the suffix of another file format."""

from __future__ import annotations

from pathlib import PurePath

import click

MODEL = (".onnx",)
IR = (".mlir",)
PAGE = (".html", ".htm")
ARRAYS = (".npz",)
FOLDER = ()

KNOWN = {*MODEL, *IR, *PAGE, *ARRAYS, ".json", ".safetensors"}


def check_ending(output: str | None, expected: tuple[str, ...]) -> None:
    """Raise UsageError for an output with the suffix of another file format; unknown suffixes pass."""
    if output is None:
        return
    ending = PurePath(output).suffix.lower()
    if ending in KNOWN and ending not in expected:
        endings = f"a name that ends in {' or '.join(expected)}" if expected else "the name of a folder"
        content = ", as the output is MLIR text" if expected == IR else ""
        raise click.UsageError(f"-o: given {output}, expected {endings}{content}.")
