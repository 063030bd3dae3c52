"""Implementation of `gradc weights`."""

from __future__ import annotations

from dialects.support.diagnostics import usage
from gradc.files import safetensors
from gradc.files.arrays import read_files
from gradc.inspection import weights
from gradc.inspection.trainable import find_trainable
from gradc.terminal import messages
from gradc.terminal.numbers import size
from gradc.terminal.tables import PLAIN, Look


def list_weights(model: str, as_json: bool, look: Look = PLAIN) -> str:
    found = weights.weights_of(model)
    training, remarks = find_trainable(model, found)
    messages.show_remarks(*remarks)
    return weights.as_json(found, training) if as_json else weights.as_text(found, training, look)


def extract_to(model: str, output: str) -> None:
    to_npz = _is_npz(output)
    found = weights.extract_weights(model, to_npz=to_npz)
    messages.show_remarks(*found.remarks)
    weights.write_weights(output, found.arrays, to_npz=to_npz)
    total = sum(array.nbytes for array in found.arrays.values())
    messages.report_file(output, f"{_count_text(len(found.arrays))}, {' '.join(size(total))}")


def set_to(model: str, values: str | tuple[str, ...], output: str) -> None:
    arrays = read_files(values)
    weights.set_weights(model, arrays, output)
    messages.report_file(output, f"{_count_text(len(arrays))} set")


def _count_text(count: int) -> str:
    return "1 weight" if count == 1 else f"{count:,} weights"


def _is_npz(output: str) -> bool:
    """Return whether a file is .npz, not .safetensors. Raises UsageError for another suffix."""
    if safetensors.is_safetensors(output):
        return False
    if output.lower().endswith(".npz"):
        return True
    expected = "a name that ends in .safetensors or .npz"
    raise usage("-o", output, expected)
