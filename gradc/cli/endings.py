"""The file name of `-o`: not empty, and without the ending of another kind of file."""

from __future__ import annotations

from pathlib import PurePath

import click

MODEL = (".onnx",)
IR = (".mlir",)
PAGE = (".html", ".htm")
ARRAYS = (".npz",)

KNOWN = {*MODEL, *IR, *PAGE, *ARRAYS, ".json", ".safetensors"}


def check_ending(output: str | None, expected: tuple[str, ...]) -> None:
    """Raise UsageError for an output whose ending is that of another kind of file; any other is taken."""
    if output is None:
        return
    ending = PurePath(output).suffix.lower()
    if ending in KNOWN and ending not in expected:
        endings = " or ".join(expected)
        raise click.UsageError(f"-o: given {output}, expected a name that ends in {endings}.")
